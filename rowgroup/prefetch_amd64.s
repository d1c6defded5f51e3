#include "textflag.h"

// func prefetch(p unsafe.Pointer, n uintptr)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ n+8(FP), CX
	ADDQ AX, CX

next:
	PREFETCHT1 (AX)
	ADDQ $64, AX
	CMPQ AX, CX
	JB   next
	RET

// func prefetchNear(p unsafe.Pointer, n uintptr)
TEXT ·prefetchNear(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ n+8(FP), CX
	ADDQ AX, CX

next:
	PREFETCHT0 (AX)
	ADDQ $64, AX
	CMPQ AX, CX
	JB   next
	RET
