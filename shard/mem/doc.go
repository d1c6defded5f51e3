// Package mem is a store of byte slices under mem:// addresses, for tests and for programs that
// hold their parquet in memory.
//
// The store holds the slices that it is given, without copies; an open object keeps its version's
// slice alive.
package mem
