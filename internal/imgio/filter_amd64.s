#include "textflag.h"

// PAETH makes of bytes a (left), b (above) and c (above left), in X0, X1 and X2 or their Y, the
// prediction in P. pa = |b-c|, pb = |a-c|, pc = |(b-c)+(a-c)|. It is a where pa is the least of
// them, else b where pb is, else c. Where both differences have one sign, pc is not less than either
// and 255 does for it; elsewhere it is |pa-pb|. ZERO is 0, the others are changed.
#define PAETH(A, B, C, P, T1, T2, T3, T4, T5, ZERO) \
	VPSUBUSB C, B, T1;     \ // b-c
	VPSUBUSB B, C, T2;     \ // c-b
	VPSUBUSB C, A, T3;     \ // a-c
	VPSUBUSB A, C, T4;     \ // c-a
	VPMINUB  T1, T4, T5;   \
	VPMINUB  T2, T3, P;    \
	VPOR     P, T5, T5;    \
	VPCMPEQB ZERO, T5, T5; \ // where there is one sign
	VPOR     T1, T2, T1;   \ // pa
	VPOR     T3, T4, T3;   \ // pb
	VPSUBUSB T1, T3, T2;   \
	VPSUBUSB T3, T1, T4;   \
	VPOR     T2, T5, T5;   \
	VPOR     T4, T5, T5;   \ // pc
	VPMINUB  T1, T3, T4;   \
	VPMINUB  T4, T5, T4;   \ // the least
	VPCMPEQB T4, T1, T1;   \ // where a is taken
	VPCMPEQB T4, T3, T3;   \ // where b is, unless a is
	VPBLENDVB T3, B, C, P; \
	VPBLENDVB T1, A, P, P

// func paethUnits(dst, x, a, b, c *byte, n int)
TEXT ·paethUnits(SB), NOSPLIT, $0-48
	MOVQ  dst+0(FP), DI
	MOVQ  x+8(FP), SI
	MOVQ  a+16(FP), R8
	MOVQ  b+24(FP), R9
	MOVQ  c+32(FP), R10
	MOVQ  n+40(FP), CX
	VPXOR Y15, Y15, Y15
	XORQ  DX, DX

loop:
	VMOVDQU (R8)(DX*1), Y0
	VMOVDQU (R9)(DX*1), Y1
	VMOVDQU (R10)(DX*1), Y2
	PAETH(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y15)
	VMOVDQU (SI)(DX*1), Y9
	VPSUBB  Y3, Y9, Y9
	VMOVDQU Y9, (DI)(DX*1)
	ADDQ    $32, DX
	CMPQ    DX, CX
	JLT     loop
	VZEROUPPER
	RET

// func subtractUnits(dst, x, y *byte, n int)
TEXT ·subtractUnits(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), R8
	MOVQ n+24(FP), CX
	XORQ DX, DX

subtract:
	VMOVDQU (SI)(DX*1), Y0
	VPSUBB  (R8)(DX*1), Y0, Y0
	VMOVDQU Y0, (DI)(DX*1)
	ADDQ    $32, DX
	CMPQ    DX, CX
	JLT     subtract
	VZEROUPPER
	RET

// ONES makes 1 in each byte.
#define ONES(V) \
	VPCMPEQB V, V, V; \
	VPABSB   V, V

// MEAN is the mean of bytes a and b rounded down.
#define MEAN(A, B, M, T, ONE) \
	VPXOR  A, B, T;   \
	VPAND  ONE, T, T; \ // where the instruction rounds up
	VPAVGB A, B, M;   \
	VPSUBB T, M, M

// func meanUnits(dst, x, y, z *byte, n int)
TEXT ·meanUnits(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), R8
	MOVQ z+24(FP), R9
	MOVQ n+32(FP), CX
	ONES(Y14)
	XORQ DX, DX

mean:
	VMOVDQU (R8)(DX*1), Y0
	VMOVDQU (R9)(DX*1), Y1
	MEAN(Y0, Y1, Y2, Y3, Y14)
	VMOVDQU (SI)(DX*1), Y4
	VPSUBB  Y2, Y4, Y4
	VMOVDQU Y4, (DI)(DX*1)
	ADDQ    $32, DX
	CMPQ    DX, CX
	JLT     mean
	VZEROUPPER
	RET

// COST adds the magnitudes of the signed bytes of v to sum. It leaves v and X5 changed.
#define COST(v, sum) \
	VPABSB  v, v;        \ // -128 stays, and is 128 unsigned
	VPSADBW X15, v, v;   \
	VPADDQ  v, sum, sum

// SUM is the sum of the halves of v, in CX.
#define SUM(v, at) \
	VPSRLDQ $8, v, X5; \
	VPADDQ  X5, v, v;  \
	MOVQ    v, CX;     \
	ADDQ    CX, at

// func costUnits(costs *[5]int, x, a, b, c *byte, n int)
TEXT ·costUnits(SB), NOSPLIT, $0-48
	MOVQ  costs+0(FP), DI
	MOVQ  x+8(FP), SI
	MOVQ  a+16(FP), R8
	MOVQ  b+24(FP), R9
	MOVQ  c+32(FP), R10
	MOVQ  n+40(FP), CX
	VPXOR X15, X15, X15
	VPXOR X9, X9, X9            // none
	VPXOR X10, X10, X10         // sub
	VPXOR X11, X11, X11         // up
	VPXOR X12, X12, X12         // average
	VPXOR X13, X13, X13         // Paeth
	ONES(X14)
	XORQ  DX, DX

costs:
	VMOVDQU (SI)(DX*1), X8
	VMOVDQU (R8)(DX*1), X0
	VMOVDQU (R9)(DX*1), X1
	VMOVDQA X8, X3
	COST(X3, X9)
	VPSUBB  X0, X8, X3
	COST(X3, X10)
	VPSUBB  X1, X8, X3
	COST(X3, X11)
	MEAN(X0, X1, X6, X4, X14)
	VPSUBB  X6, X8, X3
	COST(X3, X12)
	VMOVDQU (R10)(DX*1), X2
	PAETH(X0, X1, X2, X3, X4, X5, X6, X7, X8, X15)
	VMOVDQU (SI)(DX*1), X8
	VPSUBB  X3, X8, X8
	COST(X8, X13)
	ADDQ    $16, DX
	CMPQ    DX, CX
	JLT     costs
	SUM(X9, 0(DI))
	SUM(X10, 8(DI))
	SUM(X11, 16(DI))
	SUM(X12, 24(DI))
	SUM(X13, 32(DI))
	RET

// func reduceUnits(dst *byte, src *uint16, n int)
//
// Thirty-two samples v at a time: w = v + 128, at most 65535, and (w - w/256) / 256.
TEXT ·reduceUnits(SB), NOSPLIT, $0-24
	MOVQ     dst+0(FP), DI
	MOVQ     src+8(FP), SI
	MOVQ     n+16(FP), CX
	VPCMPEQW Y15, Y15, Y15
	VPSRLW   $15, Y15, Y15
	VPSLLW   $7, Y15, Y15       // 128 in each word
	XORQ     DX, DX

reduce:
	VPADDUSW  (SI)(DX*2), Y15, Y0
	VPADDUSW  32(SI)(DX*2), Y15, Y1
	VPSRLW    $8, Y0, Y2
	VPSRLW    $8, Y1, Y3
	VPSUBW    Y2, Y0, Y0
	VPSUBW    Y3, Y1, Y1
	VPSRLW    $8, Y0, Y0
	VPSRLW    $8, Y1, Y1
	VPACKUSWB Y1, Y0, Y0        // within halves: quarters 0, 2, 1, 3
	VPERMQ    $0xd8, Y0, Y0
	VMOVDQU   Y0, (DI)(DX*1)
	ADDQ      $32, DX
	CMPQ      DX, CX
	JLT       reduce
	VZEROUPPER
	RET

// Weights of 32 bytes, 32 to 1.
DATA weights<>+0(SB)/8, $0x191a1b1c1d1e1f20
DATA weights<>+8(SB)/8, $0x1112131415161718
DATA weights<>+16(SB)/8, $0x090a0b0c0d0e0f10
DATA weights<>+24(SB)/8, $0x0102030405060708
GLOBL weights<>(SB), RODATA|NOPTR, $32

// func adlerUnits(sums *[3]uint64, p *byte, n int)
//
// Of the units of 32 bytes: the sum of bytes, the sum over units of the bytes before each, and the
// sum of bytes by their weights in their unit.
TEXT ·adlerUnits(SB), NOSPLIT, $0-24
	MOVQ     sums+0(FP), DI
	MOVQ     p+8(FP), SI
	MOVQ     n+16(FP), CX
	VMOVDQU  weights<>(SB), Y14
	VPCMPEQW Y13, Y13, Y13
	VPSRLW   $15, Y13, Y13      // 1 in each word
	VPXOR    Y15, Y15, Y15
	VPXOR    Y0, Y0, Y0         // bytes
	VPXOR    Y1, Y1, Y1         // bytes before
	VPXOR    Y2, Y2, Y2         // weighted, in double words
	XORQ     DX, DX

adler:
	VMOVDQU    (SI)(DX*1), Y3
	VPADDQ     Y0, Y1, Y1
	VPSADBW    Y15, Y3, Y4
	VPADDQ     Y4, Y0, Y0
	VPMADDUBSW Y14, Y3, Y3
	VPMADDWD   Y13, Y3, Y3
	VPADDD     Y3, Y2, Y2
	ADDQ       $32, DX
	CMPQ       DX, CX
	JLT        adler
	VPSRLQ     $32, Y2, Y3
	VPSLLQ     $32, Y2, Y2
	VPSRLQ     $32, Y2, Y2
	VPADDQ     Y3, Y2, Y2
	VEXTRACTI128 $1, Y0, X3
	VPADDQ     X3, X0, X0
	VEXTRACTI128 $1, Y1, X3
	VPADDQ     X3, X1, X1
	VEXTRACTI128 $1, Y2, X3
	VPADDQ     X3, X2, X2
	VPXOR      X5, X5, X5
	VMOVDQU    X5, 0(DI)
	MOVQ       X5, 16(DI)
	SUM(X0, 0(DI))
	SUM(X1, 8(DI))
	SUM(X2, 16(DI))
	VZEROUPPER
	RET

// CODE takes the entry of the next byte: its code in T, the number of its bits in the lowest of E.
#define CODE(i, E, T) \
	MOVBLZX i(SI), E;      \
	MOVL    (R8)(E*4), E;  \
	MOVL    E, T;          \
	SHRL    $8, T

// func codeUnits(out, data *byte, n int, entries *[256]uint32, held, bits uint64) (written int, rest, left uint64)
//
// Four bytes at a time: their codes, which are at most 56 bits, go behind the bits that are held. A
// shift counts by the lowest six bits of a register, so that entries need not be taken apart.
TEXT ·codeUnits(SB), NOSPLIT, $0-72
	MOVQ out+0(FP), DI
	MOVQ data+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ entries+24(FP), R8
	MOVQ held+32(FP), R9
	MOVQ bits+40(FP), R10
	ADDQ SI, CX                 // the end

codes:
	CODE(0, AX, R11)
	CODE(1, BX, R12)
	CODE(2, DX, R13)
	CODE(3, R15, R14)
	SHLXQ AX, R12, R12
	ORQ   R12, R11
	SHLXQ DX, R14, R14
	ORQ   R14, R13
	ADDL  BX, AX
	ADDL  R15, DX
	SHLXQ AX, R13, R13
	ORQ   R13, R11
	ADDL  DX, AX
	SHLXQ R10, R11, R11
	ORQ   R11, R9
	ADDL  AX, R10
	ANDL  $63, R10
	MOVQ  R9, (DI)
	MOVL  R10, AX
	SHRL  $3, AX
	ADDQ  AX, DI
	MOVL  R10, AX
	ANDL  $56, AX
	SHRXQ AX, R9, R9
	ANDL  $7, R10
	ADDQ  $4, SI
	CMPQ  SI, CX
	JLT   codes
	SUBQ  out+0(FP), DI
	MOVQ  DI, written+48(FP)
	MOVQ  R9, rest+56(FP)
	MOVQ  R10, left+64(FP)
	RET
