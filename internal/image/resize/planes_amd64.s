#include "textflag.h"

// The channels of two pixels, which are in bytes 0, 3 and 6 of each, as words r0 r1 g0 g1 b0 b1.
DATA gather<>+0(SB)/8, $0x80800e060b030800
DATA gather<>+8(SB)/8, $0x8080808080808080
GLOBL gather<>(SB), RODATA|NOPTR, $16

// Words 0 4 1 5 2 6 3 7: those of the two lanes in turn.
DATA inTurn<>+0(SB)/8, $0x0b0a030209080100
DATA inTurn<>+8(SB)/8, $0x0f0e07060d0c0504
GLOBL inTurn<>(SB), RODATA|NOPTR, $16

// The same from the last byte to the first.
DATA inTurnReversed<>+0(SB)/8, $0x04050c0d06070e0f
DATA inTurnReversed<>+8(SB)/8, $0x0001080902030a0b
GLOBL inTurnReversed<>(SB), RODATA|NOPTR, $16

// Quarters 0 2 1 3 of a register, as pairs of double words.
DATA quarters<>+0(SB)/8, $0x0000000100000000
DATA quarters<>+8(SB)/8, $0x0000000500000004
DATA quarters<>+16(SB)/8, $0x0000000300000002
DATA quarters<>+24(SB)/8, $0x0000000700000006
GLOBL quarters<>(SB), RODATA|NOPTR, $32

// Quarters 1 3 0 2.
DATA quartersReversed<>+0(SB)/8, $0x0000000300000002
DATA quartersReversed<>+8(SB)/8, $0x0000000700000006
DATA quartersReversed<>+16(SB)/8, $0x0000000100000000
DATA quartersReversed<>+24(SB)/8, $0x0000000500000004
GLOBL quartersReversed<>(SB), RODATA|NOPTR, $32

// CHANNELS loads four pixels and leaves the channels of each two in the lower words of a lane.
#define CHANNELS(offset, out) \
	VMOVDQU offset(SI), out; \
	VPSLLQ $3, out, Y8; \
	VPSLLQ $6, out, Y9; \
	VPBLENDW $0x22, Y8, out, out; \
	VPBLENDW $0x88, Y9, out, out; \
	VPSHUFB Y12, out, out

// FIRST does so for the first channel alone.
#define FIRST(offset, out) \
	VMOVDQU offset(SI), out; \
	VPSHUFB Y12, out, out

// PUT writes 32 bytes in their order.
#define PUT(of, to) \
	VPERMD of, Y13, of; \
	VPSHUFB Y14, of, of; \
	VMOVDQU of, (to)

// ORDER loads the order of the bytes for the step in DX.
#define ORDER(forward) \
	VBROADCASTI128 gather<>(SB), Y12; \
	VMOVDQU quarters<>(SB), Y13; \
	VBROADCASTI128 inTurn<>(SB), Y14; \
	TESTQ DX, DX; \
	JNS forward; \
	VMOVDQU quartersReversed<>(SB), Y13; \
	VBROADCASTI128 inTurnReversed<>(SB), Y14

// func packPlanes(red, green, blue *byte, row *uint64, n, step int)
TEXT ·packPlanes(SB), NOSPLIT, $0-48
	MOVQ red+0(FP), R8
	MOVQ green+8(FP), R9
	MOVQ blue+16(FP), R10
	MOVQ row+24(FP), SI
	MOVQ n+32(FP), CX
	MOVQ step+40(FP), DX
	ORDER(pixels)

pixels: // 32
	CHANNELS(0, Y0)
	CHANNELS(32, Y1)
	CHANNELS(64, Y2)
	CHANNELS(96, Y3)
	CHANNELS(128, Y4)
	CHANNELS(160, Y5)
	CHANNELS(192, Y6)
	CHANNELS(224, Y7)
	VPUNPCKLWD Y1, Y0, Y0
	VPUNPCKLWD Y3, Y2, Y2
	VPUNPCKLWD Y5, Y4, Y4
	VPUNPCKLWD Y7, Y6, Y6
	VPUNPCKLDQ Y2, Y0, Y1
	VPUNPCKLDQ Y6, Y4, Y3
	VPUNPCKHDQ Y2, Y0, Y5
	VPUNPCKHDQ Y6, Y4, Y7
	VPUNPCKLQDQ Y3, Y1, Y0
	VPUNPCKHQDQ Y3, Y1, Y2
	VPUNPCKLQDQ Y7, Y5, Y4
	PUT(Y0, R8)
	PUT(Y2, R9)
	PUT(Y4, R10)
	ADDQ $256, SI
	ADDQ DX, R8
	ADDQ DX, R9
	ADDQ DX, R10
	SUBQ $32, CX
	JNZ pixels
	VZEROUPPER
	RET

// func packPlane(o *byte, row *uint64, n, step int)
TEXT ·packPlane(SB), NOSPLIT, $0-32
	MOVQ o+0(FP), R8
	MOVQ row+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ step+24(FP), DX
	ORDER(pixels)

pixels: // 32
	FIRST(0, Y0)
	FIRST(32, Y1)
	FIRST(64, Y2)
	FIRST(96, Y3)
	FIRST(128, Y4)
	FIRST(160, Y5)
	FIRST(192, Y6)
	FIRST(224, Y7)
	VPUNPCKLWD Y1, Y0, Y0
	VPUNPCKLWD Y3, Y2, Y2
	VPUNPCKLWD Y5, Y4, Y4
	VPUNPCKLWD Y7, Y6, Y6
	VPUNPCKLDQ Y2, Y0, Y0
	VPUNPCKLDQ Y6, Y4, Y4
	VPUNPCKLQDQ Y4, Y0, Y0
	PUT(Y0, R8)
	ADDQ $256, SI
	ADDQ DX, R8
	SUBQ $32, CX
	JNZ pixels
	VZEROUPPER
	RET
