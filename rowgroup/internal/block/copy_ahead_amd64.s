#include "go_asm.h"
#include "textflag.h"

#define AHEAD const_copyAheadFrom

// COPY copies 128 bytes.
#define COPY(SRC, DST) \
	VMOVDQU (SRC), Y0; \
	VMOVDQU 32(SRC), Y1; \
	VMOVDQU 64(SRC), Y2; \
	VMOVDQU 96(SRC), Y3; \
	VMOVDQU Y0, (DST); \
	VMOVDQU Y1, 32(DST); \
	VMOVDQU Y2, 64(DST); \
	VMOVDQU Y3, 96(DST)

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
	COPY(SI, DI)
	SUBQ $-128, SI
	SUBQ $-128, DI
	JMP inside

tail:
	CMPQ SI, R9
	JAE last
	PREFETCHT1 (R8)
	PREFETCHT1 64(R8)
	SUBQ $-128, R8
	COPY(SI, DI)
	SUBQ $-128, SI
	SUBQ $-128, DI
	JMP tail

last:
	COPY(R9, R10)
	VZEROUPPER
	RET
