#include "textflag.h"

// func paethUnits(dst, x, a, b, c *byte, n int)
//
// Eight bytes at a time in words: pa = |b-c|, pb = |a-c|, pc = |(b-c)+(a-c)|. The
// prediction is a where pa is the least of them, else b where pb is, else c.
TEXT ·paethUnits(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ a+16(FP), R8
	MOVQ b+24(FP), R9
	MOVQ c+32(FP), R10
	MOVQ n+40(FP), CX
	PXOR X15, X15
	XORQ DX, DX

loop:
	MOVQ      (R8)(DX*1), X0
	MOVQ      (R9)(DX*1), X1
	MOVQ      (R10)(DX*1), X2
	PUNPCKLBW X15, X0           // a
	PUNPCKLBW X15, X1           // b
	PUNPCKLBW X15, X2           // c
	MOVO      X1, X3
	PSUBW     X2, X3            // b-c
	MOVO      X0, X4
	PSUBW     X2, X4            // a-c
	MOVO      X3, X5
	PADDW     X4, X5
	MOVO      X15, X6
	PSUBW     X3, X6
	PMAXSW    X6, X3            // pa
	MOVO      X15, X6
	PSUBW     X4, X6
	PMAXSW    X6, X4            // pb
	MOVO      X15, X6
	PSUBW     X5, X6
	PMAXSW    X6, X5            // pc
	MOVO      X3, X7
	PMINSW    X4, X7
	PMINSW    X5, X7            // the least
	PCMPEQW   X7, X3            // where a is taken
	PCMPEQW   X7, X4            // where b is, unless a is
	PAND      X4, X1
	PANDN     X2, X4            // c elsewhere
	POR       X1, X4
	PAND      X3, X0
	PANDN     X4, X3
	POR       X0, X3
	PACKUSWB  X3, X3
	MOVQ      (SI)(DX*1), X8
	PSUBB     X3, X8
	MOVQ      X8, (DI)(DX*1)
	ADDQ      $8, DX
	CMPQ      DX, CX
	JLT       loop
	RET
