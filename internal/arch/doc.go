// Package arch holds the tests that keep the shape of the module: its folders, which package may
// import which, what every package brings along (doc.go, a leak check), how long files and
// functions grow, and that a big-endian machine is refused at build. It has no code.
package arch
