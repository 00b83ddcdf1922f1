#include "textflag.h"

// PAETH makes of eight bytes a (left), b (above) and c (above left), in X0, X1 and X2, the
// prediction in X3, in words: pa = |b-c|, pb = |a-c|, pc = |(b-c)+(a-c)|. It is a where pa is the
// least of them, else b where pb is, else c. X15 is 0.
#define PAETH \
	PUNPCKLBW X15, X0; \
	PUNPCKLBW X15, X1; \
	PUNPCKLBW X15, X2; \
	MOVO      X1, X3;  \
	PSUBW     X2, X3;  \ // b-c
	MOVO      X0, X4;  \
	PSUBW     X2, X4;  \ // a-c
	MOVO      X3, X5;  \
	PADDW     X4, X5;  \
	MOVO      X15, X6; \
	PSUBW     X3, X6;  \
	PMAXSW    X6, X3;  \ // pa
	MOVO      X15, X6; \
	PSUBW     X4, X6;  \
	PMAXSW    X6, X4;  \ // pb
	MOVO      X15, X6; \
	PSUBW     X5, X6;  \
	PMAXSW    X6, X5;  \ // pc
	MOVO      X3, X7;  \
	PMINSW    X4, X7;  \
	PMINSW    X5, X7;  \ // the least
	PCMPEQW   X7, X3;  \ // where a is taken
	PCMPEQW   X7, X4;  \ // where b is, unless a is
	PAND      X4, X1;  \
	PANDN     X2, X4;  \ // c elsewhere
	POR       X1, X4;  \
	PAND      X3, X0;  \
	PANDN     X4, X3;  \
	POR       X0, X3

// func paethUnits(dst, x, a, b, c *byte, n int)
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
	MOVQ     (R8)(DX*1), X0
	MOVQ     (R9)(DX*1), X1
	MOVQ     (R10)(DX*1), X2
	PAETH
	PACKUSWB X3, X3
	MOVQ     (SI)(DX*1), X8
	PSUBB    X3, X8
	MOVQ     X8, (DI)(DX*1)
	ADDQ     $8, DX
	CMPQ     DX, CX
	JLT      loop
	RET

// COST adds the magnitudes of the signed bytes of v to sum. It leaves v and X5 changed.
#define COST(v, sum) \
	MOVO   X15, X5; \
	PSUBB  v, X5;   \
	PMINUB X5, v;   \
	PSADBW X15, v;  \
	PADDQ  v, sum

// func costUnits(costs *[5]int, x, a, b, c *byte, n int)
TEXT ·costUnits(SB), NOSPLIT, $0-48
	MOVQ    costs+0(FP), DI
	MOVQ    x+8(FP), SI
	MOVQ    a+16(FP), R8
	MOVQ    b+24(FP), R9
	MOVQ    c+32(FP), R10
	MOVQ    n+40(FP), CX
	PXOR    X15, X15
	MOVQ    0(DI), X9           // none
	MOVQ    8(DI), X10          // sub
	MOVQ    16(DI), X11         // up
	MOVQ    24(DI), X12         // average
	MOVQ    32(DI), X13         // Paeth
	PCMPEQB X14, X14
	PSRLW   $15, X14
	PACKUSWB X14, X14           // 1 in each byte
	XORQ    DX, DX

costs:
	MOVQ     (SI)(DX*1), X8
	MOVQ     (R8)(DX*1), X0
	MOVQ     (R9)(DX*1), X1
	MOVO     X8, X3
	COST(X3, X9)
	MOVO     X8, X3
	PSUBB    X0, X3
	COST(X3, X10)
	MOVO     X8, X3
	PSUBB    X1, X3
	COST(X3, X11)
	MOVO     X0, X4
	PXOR     X1, X4
	PAND     X14, X4            // where the mean is rounded up
	MOVO     X0, X6
	PAVGB    X1, X6
	PSUBB    X4, X6
	MOVO     X8, X3
	PSUBB    X6, X3
	COST(X3, X12)
	MOVQ     (R10)(DX*1), X2
	PAETH
	PACKUSWB X15, X3
	PSUBB    X3, X8
	COST(X8, X13)
	ADDQ     $8, DX
	CMPQ     DX, CX
	JLT      costs
	MOVQ     X9, 0(DI)
	MOVQ     X10, 8(DI)
	MOVQ     X11, 16(DI)
	MOVQ     X12, 24(DI)
	MOVQ     X13, 32(DI)
	RET

// func reduceUnits(dst *byte, src *uint16, n int)
//
// Sixteen samples v at a time: w = v + 128, at most 65535, and (w - w/256) / 256.
TEXT ·reduceUnits(SB), NOSPLIT, $0-24
	MOVQ    dst+0(FP), DI
	MOVQ    src+8(FP), SI
	MOVQ    n+16(FP), CX
	PCMPEQW X15, X15
	PSRLW   $15, X15
	PSLLW   $7, X15             // 128 in each word
	XORQ    DX, DX

reduce:
	MOVOU    (SI)(DX*2), X0
	MOVOU    16(SI)(DX*2), X1
	PADDUSW  X15, X0
	PADDUSW  X15, X1
	MOVO     X0, X2
	MOVO     X1, X3
	PSRLW    $8, X2
	PSRLW    $8, X3
	PSUBW    X2, X0
	PSUBW    X3, X1
	PSRLW    $8, X0
	PSRLW    $8, X1
	PACKUSWB X1, X0
	MOVOU    X0, (DI)(DX*1)
	ADDQ     $16, DX
	CMPQ     DX, CX
	JLT      reduce
	RET
