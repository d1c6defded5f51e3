#include "go_asm.h"
#include "textflag.h"

// func snappyElements(dst, src []byte, out, in int, t *snappyTables) (o, i int)
//
// SI is where the next element is, DI where its bytes go. R8 is the beginning of dst, R9 and R10 are
// the last places of DI and SI from which an element is copied without a look at the ends, and R11
// is the tables.
TEXT ·snappyElements(SB), NOSPLIT, $24-88
	MOVQ dst_base+0(FP), R8
	MOVQ dst_len+8(FP), R9
	MOVQ src_base+24(FP), SI
	MOVQ src_len+32(FP), R10
	MOVQ out+48(FP), DI
	MOVQ in+56(FP), BX
	MOVQ t+64(FP), R11
	LEAQ -70(SI)(R10*1), R10 // a tag, a literal of 64 bytes and the tag behind it
	ADDQ BX, SI
	LEAQ -80(R8)(R9*1), R9   // 64 bytes, or those up to the end of a pattern
	ADDQ R8, DI
	MOVQ R9, limit-8(SP)
	MOVQ $8, run-24(SP)

// Pairs: a literal of one to four bytes and the copy behind it, which lie in one word. Numbers come
// so: the low bytes of a value are new, the others those of a value before.
pairs:
	MOVQ limit-8(SP), R9
	MOVQ DI, began-16(SP)

pair:
	CMPQ SI, R10
	JA done
	CMPQ DI, R9
	JA done
	MOVQ (SI), AX
	TESTB $0xf3, AL
	JNE other
	MOVBLZX AL, CX
	LEAQ 16(CX)(CX*1), BX // bits in front of the copy
	SHRXQ BX, AX, DX
	SHRQ $8, AX
	MOVBLZX DL, R12
	MOVL snappyTables_seconds(R11)(R12*4), R13
	SHRQ $8, DX
	BZHIL R13, DX, DX
	ANDL $3, R12
	SHRL $8, R13
	MOVBLZX R13, R14 // length of the copy
	ADDQ R13, DX
	SUBQ R14, DX     // its distance
	SHRL $2, CX      // length of the literal less one
	LEAQ 1(CX)(R14*1), R15
	CMPQ R15, $8
	JA longer

	// Both make at most a word: the word that lies the distance before, with the literal in its front.
	CMPQ DX, $8
	JB other
	MOVQ DI, R13
	SUBQ DX, R13
	CMPQ R13, R8
	JB other
	MOVQ (R13), R13
	SUBQ $8, BX
	XORQ R13, AX
	BZHIQ BX, AX, AX
	XORQ R13, AX
	MOVQ AX, (DI)
	ADDQ R15, DI
	LEAQ 3(SI)(CX*1), SI
	ADDQ R12, SI
	JMP pair

longer:
	CMPQ R14, $16
	JA other
	CMPQ DX, $16
	JB other
	LEAQ 1(DI)(CX*1), R13
	SUBQ DX, R13
	CMPQ R13, R8
	JB other
	MOVQ AX, (DI)
	VMOVDQU (R13), X0
	VMOVDQU X0, 1(DI)(CX*1)
	ADDQ R15, DI
	LEAQ 3(SI)(CX*1), SI
	ADDQ R12, SI
	JMP pair

// Something else comes. Pairs are tried again soon if many came in a row, else later and later.
other:
	MOVQ DI, AX
	SUBQ began-16(SP), AX
	MOVQ run-24(SP), BX
	ADDQ BX, BX
	MOVQ $1024, CX
	CMPQ BX, CX
	CMOVQHI CX, BX
	MOVQ $8, CX
	CMPQ AX, $32
	CMOVQHI CX, BX
	MOVQ BX, run-24(SP)
	ADDQ DI, BX
	CMPQ BX, R9
	CMOVQCS BX, R9

// One element after the other, without a branch on what it is. The tags behind it as a literal and
// as a copy are both loaded before that is known.
next:
	CMPQ SI, R10
	JA done
	MOVBLZX (SI), AX

element:
	CMPQ SI, R10
	JA done
	CMPQ DI, R9
	JA limits
	MOVL (R11)(AX*4), CX
	MOVL 1(SI), BX
	MOVL AX, DX
	BZHIL CX, BX, BX
	SHRL $8, CX
	SHRL $2, AX
	ANDL $3, DX
	MOVBLZX 1(SI)(DX*1), R13
	MOVBLZX 2(SI)(AX*1), R12
	LEAQ 2(SI)(AX*1), AX
	CMOVLEQ R12, R13
	LEAQ 1(SI)(DX*1), R12
	CMOVQEQ AX, R12
	MOVBLZX CX, R14 // length
	LEAQ 1(SI), AX
	ADDQ CX, BX
	SUBQ R14, BX    // distance; of a literal 256
	CMPQ BX, R14
	JB special
	MOVQ DI, R15
	SUBQ BX, R15
	CMPQ R15, R8
	JB early

copy:
	TESTL DX, DX
	CMOVQEQ AX, R15
	MOVQ R12, SI
	MOVL R13, AX
	VMOVDQU (R15), X0
	VMOVDQU X0, (DI)
	CMPQ R14, $16
	JA more
	ADDQ R14, DI
	JMP element

more:
	VMOVDQU 16(R15), Y0
	VMOVDQU 48(R15), X1
	VMOVDQU Y0, 16(DI)
	VMOVDQU X1, 48(DI)
	ADDQ R14, DI
	JMP element

limits:
	CMPQ DI, limit-8(SP)
	JLS pairs
	JMP done

early:
	TESTL DX, DX
	JEQ copy
	JMP done // copied from before the beginning

// A literal that says its length in bytes of its own, a copy that overlaps itself, or what is left
// to the caller.
special:
	TESTL DX, DX
	JEQ long
	CMPL DX, $3
	JEQ done
	MOVQ DI, R15
	SUBQ BX, R15
	CMPQ R15, R8
	JB done
	TESTQ BX, BX
	JEQ done
	LEAQ 1(SI)(DX*1), SI
	CMPQ BX, $16
	JB pattern
	VMOVDQU (R15), X0
	VMOVDQU X0, (DI)
	VMOVDQU 16(R15), X0
	VMOVDQU X0, 16(DI)
	VMOVDQU 32(R15), X0
	VMOVDQU X0, 32(DI)
	VMOVDQU 48(R15), X0
	VMOVDQU X0, 48(DI)
	ADDQ R14, DI
	JMP next

// Less than 16 bytes again and again: as often as they fit into 16, and a step of whole patterns.
pattern:
	VMOVDQU (R15), X0
	MOVQ BX, CX
	SHLQ $4, CX
	VPSHUFB snappyTables_patterns(R11)(CX*1), X0, X0
	MOVBLZX snappyTables_steps(R11)(BX*1), BX
	ADDQ DI, R14

fill:
	VMOVDQU X0, (DI)
	ADDQ BX, DI
	CMPQ DI, R14
	JB fill
	MOVQ R14, DI
	JMP next

long:
	SUBQ $60, R14 // bytes of the length
	CMPQ R14, $2
	JA done
	MOVL 1(SI), BX
	LEAQ 1(SI)(R14*1), R15
	SHLQ $3, R14
	BZHIL R14, BX, BX
	INCQ BX
	MOVQ R10, CX
	SUBQ R15, CX
	CMPQ BX, CX
	JGT done
	MOVQ limit-8(SP), CX
	SUBQ DI, CX
	CMPQ BX, CX
	JGT done
	LEAQ (R15)(BX*1), SI
	ADDQ DI, BX

wide:
	VMOVDQU (R15), Y0
	VMOVDQU 32(R15), Y1
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	ADDQ $64, R15
	ADDQ $64, DI
	CMPQ DI, BX
	JB wide
	MOVQ BX, DI
	JMP next

done:
	SUBQ R8, DI
	MOVQ src_base+24(FP), BX
	SUBQ BX, SI
	MOVQ DI, o+72(FP)
	MOVQ SI, i+80(FP)
	VZEROUPPER
	RET
