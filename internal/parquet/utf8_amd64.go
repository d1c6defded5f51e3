package parquet

import "golang.org/x/sys/cpu"

// validBlocks reports whether n bytes from p on, a multiple of 32, are UTF-8, except for a
// character that continues after them. It is the algorithm of Keiser and Lemire, "Validating UTF-8
// In Less Than One Instruction Per Byte" (2021).
//
//go:noescape
func validBlocks(p *byte, n int) bool

func canValidateBlocks() bool { return cpu.X86.HasAVX2 }
