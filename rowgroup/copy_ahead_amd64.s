#include "textflag.h"

#define AHEAD 2048 // copyAheadFrom

// func copyAhead(dst, src unsafe.Pointer, n uintptr, next unsafe.Pointer)
TEXT ·copyAhead(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), BX
	MOVQ next+24(FP), R8
	LEAQ -128(SI)(BX*1), R9 // the last block
	LEAQ -128(DI)(BX*1), R10
	LEAQ -(AHEAD-128)(R9), R11 // before here what is ahead lies in the value

inside:
	CMPQ SI, R11
	JAE tail
	PREFETCHT1 AHEAD(SI)
	PREFETCHT1 (AHEAD+64)(SI)
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU 64(SI), Y2
	VMOVDQU 96(SI), Y3
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	SUBQ $-128, SI
	SUBQ $-128, DI
	JMP inside

tail:
	CMPQ SI, R9
	JAE last
	PREFETCHT1 (R8)
	PREFETCHT1 64(R8)
	SUBQ $-128, R8
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU 64(SI), Y2
	VMOVDQU 96(SI), Y3
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	SUBQ $-128, SI
	SUBQ $-128, DI
	JMP tail

last:
	VMOVDQU (R9), Y0
	VMOVDQU 32(R9), Y1
	VMOVDQU 64(R9), Y2
	VMOVDQU 96(R9), Y3
	VMOVDQU Y0, (R10)
	VMOVDQU Y1, 32(R10)
	VMOVDQU Y2, 64(R10)
	VMOVDQU Y3, 96(R10)
	VZEROUPPER
	RET
