package crc

import "golang.org/x/sys/cpu"

// fold reduces n bytes from p on, a multiple of foldBytes, to 64 bytes: their CRC-32 with a zero
// register equals the CRC-32 of the n bytes with the given register. It is the algorithm of Gopal
// et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (2009),
// sixteen lanes wide.
//
//go:noescape
func fold(rest *[64]byte, register uint32, p *byte, n int)

func canFold() bool { return cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPCLMULQDQ }
