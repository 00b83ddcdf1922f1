#include "textflag.h"

// func extremeUnits(above, below *uint64, up, own, down *uint16, from, to int)
//
// Sixteen samples at a time, in two halves of signed words: the largest and the least of the
// eight neighbours, and one bit for each sample that is above the one or below the other.

// NEIGHBOUR takes eight neighbours into X1, the largest so far, and X3, the least.
#define NEIGHBOUR(at) \
	MOVOU  at, X2;  \
	PXOR   X15, X2; \
	PMAXSW X2, X1;  \
	PMINSW X2, X3

// HALF leaves in high which of eight samples are above their neighbours, in X3 which are below.
#define HALF(off, high) \
	MOVOU    (off)(R8)(DX*2), X0;    \
	PXOR     X15, X0;                \
	MOVOU    (off-4)(R8)(DX*2), X1;  \
	PXOR     X15, X1;                \
	MOVO     X1, X3;                 \
	NEIGHBOUR((off+4)(R8)(DX*2));    \
	NEIGHBOUR((off-4)(SI)(DX*2));    \
	NEIGHBOUR((off)(SI)(DX*2));      \
	NEIGHBOUR((off+4)(SI)(DX*2));    \
	NEIGHBOUR((off-4)(R9)(DX*2));    \
	NEIGHBOUR((off)(R9)(DX*2));      \
	NEIGHBOUR((off+4)(R9)(DX*2));    \
	MOVO     X0, high;               \
	PCMPGTW  X1, high;               \
	PCMPGTW  X0, X3

TEXT ·extremeUnits(SB), NOSPLIT, $0-56
	MOVQ    above+0(FP), DI
	MOVQ    below+8(FP), R10
	MOVQ    up+16(FP), SI
	MOVQ    own+24(FP), R8
	MOVQ    down+32(FP), R9
	MOVQ    from+40(FP), DX
	MOVQ    to+48(FP), CX
	MOVQ    DX, AX
	SHRQ    $3, AX
	ADDQ    AX, DI
	ADDQ    AX, R10
	PCMPEQW X15, X15
	PSLLW   $15, X15            // the sign of each word

loop:
	HALF(0, X4)
	MOVO     X3, X5
	HALF(16, X6)
	PACKSSWB X6, X4
	PACKSSWB X3, X5
	PMOVMSKB X4, AX
	PMOVMSKB X5, BX
	MOVW     AX, (DI)
	MOVW     BX, (R10)
	ADDQ     $2, DI
	ADDQ     $2, R10
	ADDQ     $16, DX
	CMPQ     DX, CX
	JLT      loop
	RET
