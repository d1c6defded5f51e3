//go:build !race

package racetest

// Enabled is true in builds with the race detector.
const Enabled = false
