#include "textflag.h"

// EACH does an instruction with each cache line of CX bytes from AX on.
#define EACH(INSTRUCTION) \
	ADDQ AX, CX; \
next: \
	INSTRUCTION (AX); \
	ADDQ $64, AX; \
	CMPQ AX, CX; \
	JB   next; \
	RET

// func prefetch(p unsafe.Pointer, n uintptr)
TEXT ·prefetch(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ n+8(FP), CX
	EACH(PREFETCHT1)

// func prefetchNear(p unsafe.Pointer, n uintptr)
TEXT ·prefetchNear(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ n+8(FP), CX
	EACH(PREFETCHT0)
