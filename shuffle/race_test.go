//go:build race

package shuffle

// underRace says that the race detector makes everything ten times slower; nothing here has
// goroutines, so the long tests keep to a part.
const underRace = true
