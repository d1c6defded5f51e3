// Package racetest reports whether a build has the race detector, under which everything takes ten
// times as long, so that tests can read less data.
package racetest
