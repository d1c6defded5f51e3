#include "textflag.h"

// Factors that carry a lane on by 256 bytes and by 64: x^(n+32) for its low half and x^(n-32) for its high one, n in bits, modulo the polynomial,
// bits reversed, and one to the left.

DATA by256<>+0(SB)/8, $0x11542778a
DATA by256<>+8(SB)/8, $0x1322d1430
GLOBL by256<>(SB), RODATA|NOPTR, $16

DATA by64<>+0(SB)/8, $0x154442bd4
DATA by64<>+8(SB)/8, $0x1c6e41596
GLOBL by64<>(SB), RODATA|NOPTR, $16

// func fold(rest *[64]byte, register uint32, p *byte, n int)
TEXT ·fold(SB), NOSPLIT, $0-32
	MOVQ rest+0(FP), DI
	MOVL register+8(FP), AX
	MOVQ p+16(FP), SI
	MOVQ n+24(FP), CX
	VMOVDQU64 (SI), Z1
	VMOVDQU64 64(SI), Z2
	VMOVDQU64 128(SI), Z3
	VMOVDQU64 192(SI), Z4
	VMOVD AX, X5 // and zeros above it
	VPXORQ Z5, Z1, Z1
	VBROADCASTI32X4 by256<>(SB), Z0
	ADDQ $256, SI
	SUBQ $256, CX
	JZ one

// What lies 2 KiB ahead is asked for: the processor's own prefetcher ends with each page.
loop:
	PREFETCHT0 2048(SI)
	PREFETCHT0 2112(SI)
	PREFETCHT0 2176(SI)
	PREFETCHT0 2240(SI)
	VPCLMULQDQ $0x11, Z0, Z1, Z5
	VPCLMULQDQ $0x11, Z0, Z2, Z6
	VPCLMULQDQ $0x11, Z0, Z3, Z7
	VPCLMULQDQ $0x11, Z0, Z4, Z8
	VPCLMULQDQ $0x00, Z0, Z1, Z1
	VPCLMULQDQ $0x00, Z0, Z2, Z2
	VPCLMULQDQ $0x00, Z0, Z3, Z3
	VPCLMULQDQ $0x00, Z0, Z4, Z4
	VPTERNLOGQ $0x96, (SI), Z5, Z1 // the sum of all three
	VPTERNLOGQ $0x96, 64(SI), Z6, Z2
	VPTERNLOGQ $0x96, 128(SI), Z7, Z3
	VPTERNLOGQ $0x96, 192(SI), Z8, Z4
	ADDQ $256, SI
	SUBQ $256, CX
	JNZ loop

one: // of the four
	VBROADCASTI32X4 by64<>(SB), Z0
	VPCLMULQDQ $0x11, Z0, Z1, Z5
	VPCLMULQDQ $0x00, Z0, Z1, Z1
	VPTERNLOGQ $0x96, Z1, Z5, Z2
	VPCLMULQDQ $0x11, Z0, Z2, Z5
	VPCLMULQDQ $0x00, Z0, Z2, Z2
	VPTERNLOGQ $0x96, Z2, Z5, Z3
	VPCLMULQDQ $0x11, Z0, Z3, Z5
	VPCLMULQDQ $0x00, Z0, Z3, Z3
	VPTERNLOGQ $0x96, Z3, Z5, Z4
	VMOVDQU64 Z4, (DI)
	VZEROUPPER
	RET
