#include "textflag.h"

// What a byte's high half, its low half and the next byte's high half may mean, a bit for each kind of error: 1 too short, 2 too long,
// 4 overlong of three, 8 too large, 16 surrogate, 32 overlong of two, 64 overlong of four or too large, 128 two continuations.

DATA high1<>+0(SB)/8, $0x0202020202020202
DATA high1<>+8(SB)/8, $0x4915012180808080
GLOBL high1<>(SB), RODATA|NOPTR, $16

DATA low1<>+0(SB)/8, $0xcbcbcb8b8383a3e7
DATA low1<>+8(SB)/8, $0xcbcbdbcbcbcbcbcb
GLOBL low1<>(SB), RODATA|NOPTR, $16

DATA high2<>+0(SB)/8, $0x0101010101010101
DATA high2<>+8(SB)/8, $0x01010101babaaee6
GLOBL high2<>(SB), RODATA|NOPTR, $16

DATA halves<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA halves<>+8(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL halves<>(SB), RODATA|NOPTR, $16

DATA third<>+0(SB)/8, $0x6060606060606060
DATA third<>+8(SB)/8, $0x6060606060606060
GLOBL third<>(SB), RODATA|NOPTR, $16

DATA fourth<>+0(SB)/8, $0x7070707070707070
DATA fourth<>+8(SB)/8, $0x7070707070707070
GLOBL fourth<>(SB), RODATA|NOPTR, $16

DATA highs<>+0(SB)/8, $0x8080808080808080
DATA highs<>+8(SB)/8, $0x8080808080808080
GLOBL highs<>(SB), RODATA|NOPTR, $16

// func validBlocks(p *byte, n int) bool
TEXT ·validBlocks(SB), NOSPLIT, $0-17
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	VPXOR Y0, Y0, Y0 // the block before
	VPXOR Y1, Y1, Y1 // errors
	XORL R8, R8      // bytes of the block before that are not ASCII
	VBROADCASTI128 high1<>(SB), Y8
	VBROADCASTI128 low1<>(SB), Y9
	VBROADCASTI128 high2<>(SB), Y10
	VBROADCASTI128 halves<>(SB), Y11
	VBROADCASTI128 third<>(SB), Y12
	VBROADCASTI128 fourth<>(SB), Y13
	VBROADCASTI128 highs<>(SB), Y14

loop:
	VMOVDQU (SI), Y2
	VPMOVMSKB Y2, AX
	MOVL AX, BX
	ORL R8, BX
	MOVL AX, R8
	JZ next

	// The bytes one, two and three before each.
	VPERM2I128 $0x21, Y2, Y0, Y3
	VPALIGNR $15, Y3, Y2, Y4
	VPALIGNR $14, Y3, Y2, Y5
	VPALIGNR $13, Y3, Y2, Y6

	// Errors that two neighbours show.
	VPSRLW $4, Y4, Y7
	VPAND Y11, Y7, Y7
	VPSHUFB Y7, Y8, Y7
	VPAND Y11, Y4, Y4
	VPSHUFB Y4, Y9, Y4
	VPAND Y4, Y7, Y7
	VPSRLW $4, Y2, Y4
	VPAND Y11, Y4, Y4
	VPSHUFB Y4, Y10, Y4
	VPAND Y4, Y7, Y7

	// Two continuations in a row are right where a longer character began two or three bytes before, and only there.
	VPSUBUSB Y12, Y5, Y5
	VPSUBUSB Y13, Y6, Y6
	VPOR Y5, Y6, Y5
	VPAND Y14, Y5, Y5
	VPXOR Y7, Y5, Y5
	VPOR Y5, Y1, Y1

next:
	VMOVDQA Y2, Y0
	ADDQ $32, SI
	SUBQ $32, CX
	JNZ loop

	VPTEST Y1, Y1
	SETEQ ret+16(FP)
	VZEROUPPER
	RET
