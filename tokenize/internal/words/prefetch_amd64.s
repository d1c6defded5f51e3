#include "textflag.h"

// It loads from each line: processors drop a prefetch whose page has no entry in the TLB.
//
// func prefetchEach(base unsafe.Pointer, offsets *uint32, n int)
TEXT ·prefetchEach(SB), NOSPLIT, $0-24
	MOVQ base+0(FP), DI
	MOVQ offsets+8(FP), SI
	MOVQ n+16(FP), CX
	LEAQ (SI)(CX*4), CX

each:
	CMPQ SI, CX
	JGE  end
	MOVL (SI), AX
	MOVQ (DI)(AX*1), DX
	ADDQ $4, SI
	JMP  each

end:
	RET
