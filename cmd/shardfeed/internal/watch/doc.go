// Package watch looks at the engines of this user on this machine, again and again, for programs
// that show them live. What an engine counts becomes rates by the difference of two looks.
package watch
