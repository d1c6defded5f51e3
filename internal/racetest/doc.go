// Package racetest says whether a build has the race detector, under which everything takes ten
// times as long: tests then read less data.
package racetest
