//go:build race

package rowgroup

// underRace says that the race detector makes everything ten times slower.
const underRace = true
