package crc

import "golang.org/x/sys/cpu"

// fold makes 64 bytes of n bytes from p on, a multiple of foldBytes: their CRC-32, from a register
// of zero on, is that of the n bytes from the given register on. It is the algorithm of Gopal et
// al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (2009), sixteen
// lanes wide.
//
//go:noescape
func fold(rest *[64]byte, register uint32, p *byte, n int)

func canFold() bool { return cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPCLMULQDQ }
