// Package loads records for traces what streams load: each load of rows with its place, its bytes,
// and what held it up.
//
// A [Log] is a process's. A [Recorder] adds the loads of one rank of one data set to it, and a
// [Follower] reads the loads of one rank. Without a follower the log holds no memory, and a
// recorder only reads one number; with one it keeps the last 16,384 loads, so that a follower that
// reads rarely misses the oldest. All of them are safe for concurrent use.
package loads
