// Package cores counts the processors that the process may use and the idle ones, and lets C code
// keep its processor.
package cores
