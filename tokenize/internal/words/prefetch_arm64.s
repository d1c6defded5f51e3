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

// func loadEach(base unsafe.Pointer, offsets *uint32, n int)
TEXT ·loadEach(SB), NOSPLIT, $0-24
	MOVD base+0(FP), R0
	MOVD offsets+8(FP), R1
	MOVD n+16(FP), R2
	ADD  R2<<2, R1, R2

load:
	CMP  R2, R1
	BHS  done
	MOVWU.P 4(R1), R3
	MOVD (R0)(R3), R4
	B    load

done:
	RET
