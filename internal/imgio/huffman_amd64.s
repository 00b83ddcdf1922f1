#include "textflag.h"

// LOOK makes of the bytes in Z12 their entries in a table of 256 bytes, in four registers. K1 has
// the bytes' upper bits.
#define LOOK(T0, T1, T2, T3, to, more) \
	VMOVDQA64 Z12, to;         \
	VPERMI2B  T1, T0, to;      \
	VMOVDQA64 Z12, more;       \
	VPERMI2B  T3, T2, more;    \
	VPBLENDMB more, to, K1, to

// JOIN makes of words with codes, in D, and with the numbers of their bits, in N, the codes of four
// and their number of bits, in quadruple words. Z30 and Z31 have the lower halves of double and
// quadruple words.
#define JOIN(D, N, T, U) \
	VPANDD  Z30, N, U;  \
	VPSRLD  $16, N, N;  \
	VPSRLD  $16, D, T;  \
	VPANDD  Z30, D, D;  \
	VPSLLVD U, T, T;    \
	VPORD   T, D, D;    \
	VPADDD  U, N, N;    \
	VPANDQ  Z31, N, U;  \
	VPSRLQ  $32, N, N;  \
	VPSRLQ  $32, D, T;  \
	VPANDQ  Z31, D, D;  \
	VPSLLVQ U, T, T;    \
	VPORQ   T, D, D;    \
	VPADDQ  U, N, N

// PUT writes four codes behind the bits that are held in R9, R10 of them.
#define PUT(codes, bits) \
	MOVQ  codes, R11;    \
	SHLXQ R10, R11, R11; \
	ORQ   R11, R9;       \
	ADDQ  bits, R10;     \
	MOVQ  R9, (DI);      \
	MOVQ  R10, AX;       \
	SHRQ  $3, AX;        \
	ADDQ  AX, DI;        \
	MOVQ  R10, AX;       \
	ANDQ  $56, AX;       \
	SHRXQ AX, R9, R9;    \
	ANDQ  $7, R10

// func codeManyUnits(out, data *byte, n int, tables *[3][256]byte, held, bits uint64) (written int, rest, left uint64)
//
// 64 bytes at a time: their codes and the numbers of their bits out of tables, joined by four.
TEXT ·codeManyUnits(SB), NOSPLIT, $256-72
	MOVQ      out+0(FP), DI
	MOVQ      data+8(FP), SI
	MOVQ      n+16(FP), CX
	MOVQ      tables+24(FP), R8
	MOVQ      held+32(FP), R9
	MOVQ      bits+40(FP), R10
	ADDQ      SI, CX
	VMOVDQU64 0(R8), Z0          // the codes' lower bytes
	VMOVDQU64 64(R8), Z1
	VMOVDQU64 128(R8), Z2
	VMOVDQU64 192(R8), Z3
	VMOVDQU64 256(R8), Z4        // their upper bytes
	VMOVDQU64 320(R8), Z5
	VMOVDQU64 384(R8), Z6
	VMOVDQU64 448(R8), Z7
	VMOVDQU64 512(R8), Z8        // the numbers of bits
	VMOVDQU64 576(R8), Z9
	VMOVDQU64 640(R8), Z10
	VMOVDQU64 704(R8), Z11
	VPXORQ    Z29, Z29, Z29
	VPTERNLOGD $0xff, Z30, Z30, Z30
	VPSRLQ    $32, Z30, Z31
	VPSRLD    $16, Z30, Z30

many:
	VMOVDQU64  (SI), Z12
	VPMOVB2M   Z12, K1
	LOOK(Z0, Z1, Z2, Z3, Z13, Z16)
	LOOK(Z4, Z5, Z6, Z7, Z14, Z17)
	LOOK(Z8, Z9, Z10, Z11, Z15, Z18)
	VPUNPCKLBW Z14, Z13, Z16     // of each sixteen bytes the first eight
	VPUNPCKHBW Z14, Z13, Z17     // and the others
	VPUNPCKLBW Z29, Z15, Z18
	VPUNPCKHBW Z29, Z15, Z19
	JOIN(Z16, Z18, Z20, Z21)
	JOIN(Z17, Z19, Z22, Z23)
	VMOVDQU64  Z16, codes-256(SP)
	VMOVDQU64  Z17, codes-192(SP)
	VMOVDQU64  Z18, codes-128(SP)
	VMOVDQU64  Z19, codes-64(SP)
	PUT(codes-256(SP), codes-128(SP))
	PUT(codes-248(SP), codes-120(SP))
	PUT(codes-192(SP), codes-64(SP))
	PUT(codes-184(SP), codes-56(SP))
	PUT(codes-240(SP), codes-112(SP))
	PUT(codes-232(SP), codes-104(SP))
	PUT(codes-176(SP), codes-48(SP))
	PUT(codes-168(SP), codes-40(SP))
	PUT(codes-224(SP), codes-96(SP))
	PUT(codes-216(SP), codes-88(SP))
	PUT(codes-160(SP), codes-32(SP))
	PUT(codes-152(SP), codes-24(SP))
	PUT(codes-208(SP), codes-80(SP))
	PUT(codes-200(SP), codes-72(SP))
	PUT(codes-144(SP), codes-16(SP))
	PUT(codes-136(SP), codes-8(SP))
	ADDQ       $64, SI
	CMPQ       SI, CX
	JLT        many
	VZEROUPPER
	SUBQ       out+0(FP), DI
	MOVQ       DI, written+48(FP)
	MOVQ       R9, rest+56(FP)
	MOVQ       R10, left+64(FP)
	RET
