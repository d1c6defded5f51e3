#include "textflag.h"

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
	PREFETCHT0 (DI)(AX*1)
	ADDQ $4, SI
	JMP  each

end:
	RET

// func loadEach(base unsafe.Pointer, offsets *uint32, n int)
TEXT ·loadEach(SB), NOSPLIT, $0-24
	MOVQ base+0(FP), DI
	MOVQ offsets+8(FP), SI
	MOVQ n+16(FP), CX
	LEAQ (SI)(CX*4), CX

load:
	CMPQ SI, CX
	JGE  done
	MOVL (SI), AX
	MOVQ (DI)(AX*1), DX
	ADDQ $4, SI
	JMP  load

done:
	RET
