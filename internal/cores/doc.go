// Package cores says how many processors the process may use and how many are idle, and lets C code
// keep them.
package cores
