// Package iteration is shared by the loaders of the host and of devices. A [Loop] has one pass over
// a data set at a time, each of which starts where the previous one stopped, and [Watch] detects a
// wait that can never end because the consumer dropped its batches. It starts no goroutines except
// for timers.
package iteration
