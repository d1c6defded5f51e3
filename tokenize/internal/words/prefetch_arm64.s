#include "textflag.h"

// func prefetchEach(base unsafe.Pointer, offsets *uint32, n int)
TEXT ·prefetchEach(SB), NOSPLIT, $0-24
	MOVD base+0(FP), R0
	MOVD offsets+8(FP), R1
	MOVD n+16(FP), R2
	ADD  R2<<2, R1, R2

each:
	CMP  R2, R1
	BHS  end
	MOVWU.P 4(R1), R3
	ADD  R0, R3
	PRFM (R3), PLDL1KEEP
	B    each

end:
	RET
