#include "textflag.h"

// func largestUnits(samples *uint16, n int) uint16
TEXT ·largestUnits(SB), NOSPLIT, $0-18
	MOVQ    samples+0(FP), SI
	MOVQ    n+8(FP), CX
	PCMPEQW X15, X15
	PSLLW   $15, X15     // words are compared as signed ones
	MOVOU   X15, X0
	MOVOU   X15, X1

loop:
	MOVOU  (SI), X2
	MOVOU  16(SI), X3
	PXOR   X15, X2
	PXOR   X15, X3
	PMAXSW X2, X0
	PMAXSW X3, X1
	ADDQ   $32, SI
	SUBQ   $16, CX
	JGT    loop
	PMAXSW X1, X0
	MOVOU  X0, X1
	PSRLO  $8, X1
	PMAXSW X1, X0
	MOVOU  X0, X1
	PSRLO  $4, X1
	PMAXSW X1, X0
	MOVOU  X0, X1
	PSRLO  $2, X1
	PMAXSW X1, X0
	PXOR   X15, X0
	MOVQ   X0, AX
	MOVW   AX, ret+16(FP)
	RET
