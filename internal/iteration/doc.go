// Package iteration is what the loaders of the host and of devices share: a [Loop] has one pass over
// a data set at a time, each of which begins where the one before was left, and [Watch] finds a wait
// that can never end, because the consumer dropped its batches. It starts no goroutines but those of
// timers.
package iteration
