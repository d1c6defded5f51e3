#include "textflag.h"

// func transposeRecords(dst *uint64, step, words int, from *[4]unsafe.Pointer)
TEXT ·transposeRecords(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ step+8(FP), DX
	MOVQ words+16(FP), CX
	MOVQ from+24(FP), BX
	MOVQ (BX), R8
	MOVQ 8(BX), R9
	MOVQ 16(BX), R10
	MOVQ 24(BX), R11
	SHLQ $3, DX
	LEAQ (DX)(DX*2), R12
	XORL AX, AX
	SUBQ $4, CX
	JLT rest

four:
	VMOVDQU (R8)(AX*8), Y0
	VMOVDQU (R9)(AX*8), Y1
	VMOVDQU (R10)(AX*8), Y2
	VMOVDQU (R11)(AX*8), Y3
	VPUNPCKLQDQ Y1, Y0, Y4 // words 0 and 2 of records 0 and 1
	VPUNPCKHQDQ Y1, Y0, Y5 // words 1 and 3
	VPUNPCKLQDQ Y3, Y2, Y6 // of records 2 and 3
	VPUNPCKHQDQ Y3, Y2, Y7
	VPERM2I128 $0x20, Y6, Y4, Y0
	VPERM2I128 $0x20, Y7, Y5, Y1
	VPERM2I128 $0x31, Y6, Y4, Y2
	VPERM2I128 $0x31, Y7, Y5, Y3
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, (DI)(DX*1)
	VMOVDQU Y2, (DI)(DX*2)
	VMOVDQU Y3, (DI)(R12*1)
	LEAQ (DI)(DX*4), DI
	ADDQ $4, AX
	CMPQ AX, CX
	JLE four

rest:
	ADDQ $4, CX

one:
	CMPQ AX, CX
	JGE done
	MOVQ (R8)(AX*8), BX
	MOVQ BX, (DI)
	MOVQ (R9)(AX*8), BX
	MOVQ BX, 8(DI)
	MOVQ (R10)(AX*8), BX
	MOVQ BX, 16(DI)
	MOVQ (R11)(AX*8), BX
	MOVQ BX, 24(DI)
	ADDQ DX, DI
	INCQ AX
	JMP one

done:
	VZEROUPPER
	RET

// func packHalves(dst []uint32, half unsafe.Pointer)
TEXT ·packHalves(SB), NOSPLIT, $0-32
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ half+24(FP), SI
	SHRQ $3, CX
	JEQ packed

eight:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VSHUFPS $0x88, Y1, Y0, Y0 // halves 0 1 4 5 2 3 6 7
	VPERMQ $0xd8, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $64, SI
	ADDQ $32, DI
	DECQ CX
	JNE eight

packed:
	VZEROUPPER
	RET

// func packBits(dst []byte, words *uint64, bit int)
TEXT ·packBits(SB), NOSPLIT, $0-40
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ words+24(FP), SI
	MOVQ $63, AX
	SUBQ bit+32(FP), AX
	MOVQ AX, X4 // how far the bit is from the sign
	TESTQ CX, CX
	JEQ bits

octet:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VPSLLQ X4, Y0, Y0
	VPSLLQ X4, Y1, Y1
	VMOVMSKPD Y0, AX
	VMOVMSKPD Y1, BX
	SHLL $4, BX
	ORL BX, AX
	MOVB AX, (DI)
	ADDQ $64, SI
	INCQ DI
	DECQ CX
	JNE octet

bits:
	VZEROUPPER
	RET
