#include "textflag.h"

// func copyBlocks(dst []byte, from []unsafe.Pointer, lens []uint32) (n, bytes int)
TEXT ·copyBlocks(SB), NOSPLIT, $0-88
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), R9
	MOVQ from_base+24(FP), R10
	MOVQ lens_base+48(FP), R11
	MOVQ lens_len+56(FP), R12
	LEAQ -64(DI)(R9*1), R9 // the last end of a value behind which a block fits
	XORL CX, CX

value:
	CMPQ CX, R12
	JGE done
	MOVQ (R10)(CX*8), SI
	MOVL (R11)(CX*4), BX
	TESTL BX, BX
	JEQ next
	LEAQ (DI)(BX*1), DX
	CMPQ DX, R9
	JA done
	CMPL BX, $1024
	JA done
	LEAQ -1(SI)(BX*1), AX
	ANDL $4095, AX
	CMPL AX, $4032 // less than a block before the end of a page
	JA done

block:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	ADDQ $64, SI
	ADDQ $64, DI
	CMPQ DI, DX
	JB block
	MOVQ DX, DI

next:
	INCQ CX
	JMP value

done:
	SUBQ dst_base+0(FP), DI
	MOVQ CX, n+72(FP)
	MOVQ DI, bytes+80(FP)
	VZEROUPPER
	RET
