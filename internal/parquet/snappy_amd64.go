package parquet

import "golang.org/x/sys/cpu"

// snappyElements decompresses elements of src from in on to dst from out on, as long as neither end
// is near, and returns how far it came. It stops in front of an element that is rare or not right.
//
// Short elements of any order cost most by branches that are mispredicted, so it takes elements
// without a branch on their kind, as Google's decoder does since its version 1.1.9, and small
// literals together with the copy behind them.
//
//go:noescape
func snappyElements(dst, src []byte, out, in int, t *snappyTables) (o, i int)

func hasSnappyElements() bool { return cpu.X86.HasAVX2 && cpu.X86.HasBMI2 }
