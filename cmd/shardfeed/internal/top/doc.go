// Package top draws engines in a terminal. Frame draws them as text of a given width, and Run shows
// that live.
package top
