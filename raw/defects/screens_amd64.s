#include "textflag.h"
#include "go_asm.h"

// ROOTS makes of eight words in X0 roots in doublewords of R, with levels from whole and rest.
#define ROOTS(R) \
	VPMOVZXWD X0, R;    \
	VPSUBD    Y11, R, R; \
	VCVTDQ2PS R, R;     \
	VSUBPS    Y12, R, R; \
	VMAXPS    Y15, R, R; \
	VSQRTPS   R, R;     \
	VMULPS    Y13, R, R; \
	VCVTPS2DQ R, R

// func rootUnits(dst, src *uint16, n int, row *screenRow) uint16
TEXT ·rootUnits(SB), NOSPLIT, $0-34
	MOVQ    dst+0(FP), DI
	MOVQ    src+8(FP), SI
	MOVQ    n+16(FP), CX
	MOVQ    row+24(FP), R8
	VMOVDQU screenRow_base(R8), Y11
	VMOVUPS screenRow_frac(R8), Y12
	VMOVUPS screenRow_scale(R8), Y13
	VPXOR   Y14, Y14, Y14
	VPXOR   Y15, Y15, Y15
	XORQ    DX, DX

roots:
	VMOVDQU    (SI)(DX*2), X0
	VPMAXUW    X0, X14, X14
	ROOTS(Y1)
	VMOVDQU    16(SI)(DX*2), X0
	VPMAXUW    X0, X14, X14
	ROOTS(Y2)
	VPACKUSDW  Y2, Y1, Y1
	VPERMQ     $0xd8, Y1, Y1
	VMOVDQU    Y1, (DI)(DX*2)
	ADDQ       $16, DX
	CMPQ       DX, CX
	JLT        roots
	VPCMPEQW   X1, X1, X1
	VPXOR      X1, X14, X14
	VPHMINPOSUW X14, X14
	VMOVD      X14, AX
	NOTL       AX
	MOVW       AX, ret+32(FP)
	VZEROUPPER
	RET

// NEIGHBOUR takes a neighbour into Y1, the largest so far, and Y2, the least.
#define NEIGHBOUR(at) \
	VMOVDQU at, Y3;     \
	VPMAXUW Y3, Y1, Y1; \
	VPMINUW Y3, Y2, Y2

// func markUnits(a *marking, from, to int)
TEXT ·markUnits(SB), NOSPLIT, $0-24
	MOVQ     a+0(FP), AX
	MOVQ     from+8(FP), DX
	MOVQ     to+16(FP), CX
	MOVQ     marking_above(AX), DI
	MOVQ     marking_planes(AX), R13
	MOVQ     marking_excess(AX), BX
	MOVQ     marking_up(AX), SI
	MOVQ     marking_stride(AX), R9
	MOVQ     marking_roots(AX), R8
	MOVQ     marking_rootStride(AX), R10
	MOVQ     marking_row(AX), R11
	VMOVDQU  screenRow_step(R11), Y14
	VMOVDQU  screenRow_dark(R11), Y13
	VMOVDQU  screenRow_zero(R11), Y12
	VPXOR    Y15, Y15, Y15
	VPCMPEQW Y10, Y10, Y10
	VPSRLW   $15, Y10, Y10           // ones
	LEAQ     (SI)(DX*2), SI
	LEAQ     (R8)(DX*2), R8
	LEAQ     (BX)(DX*2), BX
	MOVQ     DX, AX
	SHRQ     $3, AX
	ADDQ     AX, DI
	SUBQ     DX, CX

mark:
	VMOVDQU (SI)(R9*1), Y0           // the samples
	VMOVDQU -4(SI), Y1               // their neighbours: the largest
	VMOVDQA Y1, Y2                   // and the least
	NEIGHBOUR((SI))
	NEIGHBOUR(4(SI))
	NEIGHBOUR(-4(SI)(R9*1))
	NEIGHBOUR(4(SI)(R9*1))
	NEIGHBOUR(-4(SI)(R9*2))
	NEIGHBOUR((SI)(R9*2))
	NEIGHBOUR(4(SI)(R9*2))
	VPSUBUSW Y1, Y0, Y3              // by how much they are above
	VPSUBUSW Y0, Y2, Y4              // and below
	VPCMPEQW Y15, Y3, Y5             // not above
	VPCMPEQW Y15, Y4, Y6             // not below
	VPACKSSWB Y6, Y5, Y7
	VPERMQ   $0xd8, Y7, Y7
	VPMOVMSKB Y7, AX
	NOTL     AX
	MOVW     AX, (DI)
	SHRL     $16, AX
	MOVW     AX, (DI)(R13*1)

	VMOVDQU  -4(R8), Y7              // the mean of the neighbours' roots
	VPAVGW   4(R8), Y7, Y7
	VMOVDQU  -4(R8)(R10*2), Y8
	VPAVGW   4(R8)(R10*2), Y8, Y8
	VPAVGW   Y7, Y8, Y7
	VMOVDQU  -4(R8)(R10*1), Y8
	VPAVGW   4(R8)(R10*1), Y8, Y8
	VMOVDQU  (R8), Y9
	VPAVGW   (R8)(R10*2), Y9, Y9
	VPAVGW   Y8, Y9, Y8
	VPAVGW   Y7, Y8, Y7
	VMOVDQU  (R8)(R10*1), Y9
	VPSUBW   Y7, Y9, Y9              // excess
	VPMAXSW  Y15, Y9, Y7
	VPANDN   Y7, Y5, Y7              // of those above
	VPMINSW  Y15, Y9, Y9
	VPANDN   Y9, Y6, Y9              // of those below
	VPSUBUSW Y12, Y0, Y8
	VPCMPEQW Y15, Y8, Y8             // whose root may be 0
	VPANDN   Y9, Y8, Y9
	VPOR     Y7, Y9, Y9
	VMOVDQU  Y9, (BX)

	VPOR     Y3, Y4, Y3              // the step
	VPMAXUW  Y14, Y3, Y7
	VPCMPEQW Y3, Y7, Y7              // is large enough
	VPSUBW   Y2, Y1, Y8
	VPSRLW   $3, Y8, Y8
	VPSUBUSW Y8, Y3, Y8
	VPCMPEQW Y15, Y8, Y8             // is not beyond an eighth of the neighbours' range
	VPSUBUSW Y13, Y0, Y1
	VPSUBUSW Y13, Y2, Y2
	VPSRLW   $2, Y2, Y2
	VPADDUSW Y10, Y2, Y2
	VPSUBUSW Y2, Y1, Y1
	VPCMPEQW Y15, Y1, Y1             // black beside the neighbours
	VPANDN   Y1, Y6, Y1
	VPANDN   Y8, Y1, Y8
	VPANDN   Y7, Y8, Y7
	VEXTRACTI128 $1, Y7, X8
	VPACKSSWB X8, X7, X7
	VPMOVMSKB X7, AX
	MOVW     AX, (DI)(R13*2)

	ADDQ $32, SI
	ADDQ $32, R8
	ADDQ $32, BX
	ADDQ $2, DI
	SUBQ $16, CX
	JGT  mark
	VZEROUPPER
	RET

// WIDENEIGHBOUR is NEIGHBOUR of 32 samples.
#define WIDENEIGHBOUR(at) \
	VMOVDQU16 at, Z3;     \
	VPMAXUW   Z3, Z1, Z1; \
	VPMINUW   Z3, Z2, Z2

// func markWide(a *marking, from, to int)
TEXT ·markWide(SB), NOSPLIT, $0-24
	MOVQ         a+0(FP), AX
	MOVQ         from+8(FP), DX
	MOVQ         to+16(FP), CX
	MOVQ         marking_above(AX), DI
	MOVQ         marking_planes(AX), R13
	MOVQ         marking_excess(AX), BX
	MOVQ         marking_up(AX), SI
	MOVQ         marking_stride(AX), R9
	MOVQ         marking_roots(AX), R8
	MOVQ         marking_rootStride(AX), R10
	MOVQ         marking_row(AX), R11
	VBROADCASTI64X4 screenRow_step(R11), Z14
	VBROADCASTI64X4 screenRow_dark(R11), Z13
	VBROADCASTI64X4 screenRow_zero(R11), Z12
	VPXORQ       Z15, Z15, Z15
	VPTERNLOGD   $0xff, Z10, Z10, Z10
	VPSRLW       $15, Z10, Z10         // ones
	LEAQ         (SI)(DX*2), SI
	LEAQ         (R8)(DX*2), R8
	LEAQ         (BX)(DX*2), BX
	MOVQ         DX, AX
	SHRQ         $3, AX
	ADDQ         AX, DI
	SUBQ         DX, CX

wide:
	VMOVDQU16 (SI)(R9*1), Z0
	VMOVDQU16 -4(SI), Z1
	VMOVDQA64 Z1, Z2
	WIDENEIGHBOUR((SI))
	WIDENEIGHBOUR(4(SI))
	WIDENEIGHBOUR(-4(SI)(R9*1))
	WIDENEIGHBOUR(4(SI)(R9*1))
	WIDENEIGHBOUR(-4(SI)(R9*2))
	WIDENEIGHBOUR((SI)(R9*2))
	WIDENEIGHBOUR(4(SI)(R9*2))
	VPSUBUSW  Z1, Z0, Z3
	VPSUBUSW  Z0, Z2, Z4
	VPTESTMW  Z3, Z3, K1               // above
	VPTESTMW  Z4, Z4, K2               // below
	KMOVD     K1, (DI)
	KMOVD     K2, (DI)(R13*1)

	VMOVDQU16 -4(R8), Z7
	VPAVGW    4(R8), Z7, Z7
	VMOVDQU16 -4(R8)(R10*2), Z8
	VPAVGW    4(R8)(R10*2), Z8, Z8
	VPAVGW    Z7, Z8, Z7
	VMOVDQU16 -4(R8)(R10*1), Z8
	VPAVGW    4(R8)(R10*1), Z8, Z8
	VMOVDQU16 (R8), Z9
	VPAVGW    (R8)(R10*2), Z9, Z9
	VPAVGW    Z8, Z9, Z8
	VPAVGW    Z7, Z8, Z7
	VMOVDQU16 (R8)(R10*1), Z9
	VPSUBW    Z7, Z9, Z9
	VPMAXSW.Z Z15, Z9, K1, Z7
	VPCMPUW   $6, Z12, Z0, K2, K3      // those below whose root is not 0
	VPMINSW.Z Z15, Z9, K3, Z9
	VPORQ     Z7, Z9, Z9
	VMOVDQU16 Z9, (BX)

	VPORQ     Z3, Z4, Z3
	VPCMPUW   $5, Z14, Z3, K4          // the step is large enough
	VPSUBW    Z2, Z1, Z8
	VPSRLW    $3, Z8, Z8
	VPCMPUW   $6, Z8, Z3, K5           // and beyond an eighth of the neighbours' range
	VPSUBUSW  Z13, Z0, Z1
	VPSUBUSW  Z13, Z2, Z2
	VPSRLW    $2, Z2, Z2
	VPADDUSW  Z10, Z2, Z2
	VPCMPUW   $2, Z2, Z1, K2, K6       // black beside the neighbours
	KORD      K5, K6, K5
	KANDD     K4, K5, K4
	KMOVD     K4, (DI)(R13*2)

	ADDQ $64, SI
	ADDQ $64, R8
	ADDQ $64, BX
	ADDQ $4, DI
	SUBQ $32, CX
	JGT  wide
	VZEROUPPER
	RET

// DIFFER makes the differences of words a and b, in T.
#define DIFFER(A, B, T) \
	VPMAXUW A, B, T;    \
	VPMINUW A, B, X13;  \
	VPSUBW  X13, T, T

// Of eight words from a column on, those that are of its filter place,
DATA lanes<>+0(SB)/8, $0x0000ffff0000ffff
DATA lanes<>+8(SB)/8, $0x0000ffff0000ffff

// without the two differences from the sample in its row,
DATA lanes<>+16(SB)/8, $0x000000000000ffff
DATA lanes<>+24(SB)/8, $0x0000ffff00000000

// without that in its column,
DATA lanes<>+32(SB)/8, $0x0000ffff0000ffff
DATA lanes<>+40(SB)/8, $0x0000ffff00000000

// and the last alone.
DATA lanes<>+48(SB)/8, $0x0000000000000000
DATA lanes<>+56(SB)/8, $0x0000ffff00000000
GLOBL lanes<>(SB), RODATA|NOPTR, $64

#define ADDROOT(at) \
	MOVWLZX at, R12; \
	ADDL    R12, CX

#define SUBROOT(at) \
	MOVWLZX at, R12; \
	SUBL    R12, CX

// func siftUnits(a *sifting)
TEXT ·siftUnits(SB), NOSPLIT, $8-8
	MOVQ a+0(FP), SI
	MOVQ sifting_candidates(SI), DI
	MOVQ sifting_words(SI), DX
	LEAQ (DI)(DX*8), DX
	MOVQ DX, end-8(SP)
	XORQ DX, DX
	MOVQ sifting_roots(SI), R8
	MOVQ sifting_rootStride(SI), R9
	LEAQ (R9)(R9*2), R10

word:
	MOVQ  (DI), AX
	TESTQ AX, AX
	JEQ   next
	MOVQ  AX, BX

candidate:
	BSFQ AX, R15
	LEAQ -1(AX), R11
	ANDQ R11, AX
	ADDQ DX, R15            // the column
	LEAQ (R8)(R15*2), R14   // roots four rows above
	LEAQ (R14)(R9*4), R11   // and of its row

	VMOVDQU  -8(R14), X0    // every second row, from four columns before on
	VMOVDQU  -8(R14)(R9*2), X1
	VMOVDQU  -8(R11), X2
	VMOVDQU  -8(R11)(R9*2), X3
	VMOVDQU  -8(R11)(R9*4), X4
	VMOVDQU  -4(R14), X5    // and two columns on
	VMOVDQU  -4(R14)(R9*2), X6
	VMOVDQU  -4(R11), X7
	VMOVDQU  -4(R11)(R9*2), X8
	VMOVDQU  -4(R11)(R9*4), X9
	DIFFER(X0, X5, X10)     // within rows
	DIFFER(X1, X6, X11)
	VPADDUSW X11, X10, X10
	DIFFER(X3, X8, X11)
	VPADDUSW X11, X10, X10
	DIFFER(X4, X9, X11)
	VPADDUSW X11, X10, X10
	DIFFER(X0, X1, X11)     // within columns
	VPADDUSW X11, X10, X10
	DIFFER(X3, X4, X11)
	VPADDUSW X11, X10, X10
	VPAND    lanes<>+0(SB), X10, X10
	DIFFER(X2, X7, X11)
	VPAND    lanes<>+16(SB), X11, X11
	VPADDUSW X11, X10, X10
	DIFFER(X1, X2, X11)
	DIFFER(X2, X3, X12)
	VPADDUSW X12, X11, X11
	VPAND    lanes<>+32(SB), X11, X11
	VPADDUSW X11, X10, X10
	DIFFER(X5, X6, X11)     // within the last column
	DIFFER(X6, X7, X12)
	VPADDUSW X12, X11, X11
	DIFFER(X7, X8, X12)
	VPADDUSW X12, X11, X11
	DIFFER(X8, X9, X12)
	VPADDUSW X12, X11, X11
	VPAND    lanes<>+48(SB), X11, X11
	VPADDUSW X11, X10, X10
	VPSHUFD  $0x4e, X10, X11
	VPADDD   X11, X10, X10
	VPSHUFD  $0xb1, X10, X11
	VPADDD   X11, X10, X10

	XORL CX, CX             // how far the neighbours of other colours stand out
	ADDROOT(-2(R11))
	ADDROOT(2(R11))
	ADDROOT((R11)(R9*1))
	ADDROOT((R14)(R10*1))
	LEAL (CX)(CX*2), CX
	SUBROOT(-6(R11))
	SUBROOT(6(R11))
	SUBROOT((R11)(R10*1))
	SUBROOT((R14)(R9*1))
	SUBROOT(-2(R14)(R9*2))
	SUBROOT(2(R14)(R9*2))
	SUBROOT(-2(R11)(R9*2))
	SUBROOT(2(R11)(R9*2))
	SUBROOT(-4(R14)(R10*1))
	SUBROOT(4(R14)(R10*1))
	SUBROOT(-4(R11)(R9*1))
	SUBROOT(4(R11)(R9*1))
	LEAL (CX)(CX*4), CX

	MOVQ    sifting_excess(SI), R12
	MOVWLSX (R12)(R15*2), R12
	TESTL   R12, R12
	JEQ     kept
	MOVL    R12, R13
	SARL    $31, R13        // -1 where the sample is below
	XORL    R13, CX
	SUBL    R13, CX
	XORL    R13, R12
	SUBL    R13, R12
	IMUL3L  $const_activityTimes, R12, R11
	ADDL    $const_activitySlack, R11
	VMOVD   X10, R14
	CMPL    R14, R11
	JGT     turnedDown
	IMUL3L  $const_companyTimes, R12, R12
	ADDL    $const_companySlack, R12
	CMPL    CX, R12
	JLT     kept

	MOVQ    sifting_own(SI), R11
	LEAQ    (R11)(R15*2), R11
	MOVQ    sifting_row(SI), R14
	MOVQ    R15, R12
	ANDQ    $1, R12
	LEAQ    (R14)(R12*8), R14
	MOVWLZX (R11), CX
	TESTL   R13, R13
	JNE     dark
	CMPQ    CX, screenRow_hot(R14)
	JLT     turnedDown
	JMP     kept

dark:
	MOVWLZX -4(R11), R12
	MOVWLZX 4(R11), R13
	CMPL    R13, R12
	CMOVLLT R13, R12
	SUBQ    screenRow_black(R14), R12
	SARQ    $3, R12
	SUBQ    screenRow_black(R14), CX
	SUBQ    $2, CX
	JLT     kept
	CMPQ    CX, R12
	JLT     kept

turnedDown:
	BTRQ R15, BX

kept:
	TESTQ AX, AX
	JNE   candidate
	MOVQ  BX, (DI)

next:
	ADDQ $8, DI
	ADDQ $64, DX
	CMPQ DI, end-8(SP)
	JLT  word
	VZEROUPPER
	RET

// Masks of words: those of the three columns beyond sixteen, and of the sixteen those that are
// not nearby.
DATA columns<>+0(SB)/8, $0x0000ffffffffffff
DATA columns<>+8(SB)/8, $0x0000000000000000
DATA columns<>+16(SB)/8, $0xffffffffffffffff
DATA columns<>+24(SB)/8, $0x0000ffffffffffff
DATA columns<>+32(SB)/8, $0x0000000000000000
DATA columns<>+40(SB)/8, $0xffffffffffffffff
GLOBL columns<>(SB), RODATA|NOPTR, $48

// ABOVE and BELOW count in A and B those of a row that are farther than Y15 above, below.
#define ABOVE(A) \
	VMOVDQU  (SI), Y0;      \
	VPCMPGTW Y15, Y0, Y0;   \
	VPSUBW   Y0, A, A;      \
	VMOVDQU  32(SI), X1;    \
	VPCMPGTW X15, X1, X1;   \
	VPSUBW   X1, X13, X13;  \
	ADDQ     R8, SI

#define BELOW(A) \
	VPCMPGTW (SI), Y15, Y0;   \
	VPSUBW   Y0, A, A;        \
	VPCMPGTW 32(SI), X15, X1; \
	VPSUBW   X1, X13, X13;    \
	ADDQ     R8, SI

// func countPeers(excess *int16, stride uintptr, limit int16) int
TEXT ·countPeers(SB), NOSPLIT, $0-32
	MOVQ         excess+0(FP), SI
	MOVQ         stride+8(FP), R8
	MOVWLSX      limit+16(FP), AX
	VMOVD        AX, X15
	VPBROADCASTW X15, Y15
	VPXOR        Y12, Y12, Y12 // of the rows beyond those nearby
	VPXOR        Y13, Y13, Y13 // of the last columns
	VPXOR        Y14, Y14, Y14 // of the rows nearby
	TESTL        AX, AX
	JLT          under
	ABOVE(Y12)
	ABOVE(Y12)
	ABOVE(Y12)
	ABOVE(Y12)
	ABOVE(Y12)
	ABOVE(Y12)
	ABOVE(Y12)
	ABOVE(Y14)
	ABOVE(Y14)
	ABOVE(Y14)
	ABOVE(Y14)
	ABOVE(Y14)
	ABOVE(Y12)
	ABOVE(Y12)
	ABOVE(Y12)
	ABOVE(Y12)
	ABOVE(Y12)
	ABOVE(Y12)
	ABOVE(Y12)
	JMP          counted

under:
	BELOW(Y12)
	BELOW(Y12)
	BELOW(Y12)
	BELOW(Y12)
	BELOW(Y12)
	BELOW(Y12)
	BELOW(Y12)
	BELOW(Y14)
	BELOW(Y14)
	BELOW(Y14)
	BELOW(Y14)
	BELOW(Y14)
	BELOW(Y12)
	BELOW(Y12)
	BELOW(Y12)
	BELOW(Y12)
	BELOW(Y12)
	BELOW(Y12)
	BELOW(Y12)

counted:
	VPAND        columns<>+0(SB), X13, X13
	VPAND        columns<>+16(SB), Y14, Y14
	VPADDW       Y13, Y12, Y12
	VPADDW       Y14, Y12, Y12
	VEXTRACTI128 $1, Y12, X0
	VPADDW       X0, X12, X12
	VPXOR        X1, X1, X1
	VPSADBW      X1, X12, X12  // no count has more than a byte
	VPSHUFD      $0x4e, X12, X0
	VPADDD       X0, X12, X12
	VMOVD        X12, AX
	MOVQ         AX, ret+24(FP)
	VZEROUPPER
	RET

// func largePeers(excess *int16, stride uintptr, sign, least int16, large *[19]uint32)
TEXT ·largePeers(SB), NOSPLIT, $0-32
	MOVQ         excess+0(FP), SI
	MOVQ         stride+8(FP), R8
	MOVWLSX      sign+16(FP), AX
	VMOVD        AX, X14
	VPBROADCASTW X14, Y14
	MOVWLSX      least+18(FP), AX
	VMOVD        AX, X15
	VPBROADCASTW X15, Y15
	MOVQ         large+24(FP), DI
	VPXOR        Y13, Y13, Y13
	MOVQ         $19, CX

peers:
	VMOVDQU      (SI), Y0
	VPSIGNW      Y14, Y0, Y1
	VPCMPGTW     Y15, Y1, Y1
	VPCMPEQW     Y13, Y0, Y0
	VPOR         Y0, Y1, Y0
	VEXTRACTI128 $1, Y0, X1
	VPACKSSWB    X1, X0, X0
	VPMOVMSKB    X0, AX
	VMOVDQU      32(SI), X0
	VPSIGNW      X14, X0, X1
	VPCMPGTW     X15, X1, X1
	VPCMPEQW     X13, X0, X0
	VPOR         X0, X1, X0
	VPACKSSWB    X0, X0, X0
	VPMOVMSKB    X0, BX
	ANDL         $7, BX
	SHLL         $16, BX
	ORL          BX, AX
	MOVL         AX, (DI)
	ADDQ         $4, DI
	ADDQ         R8, SI
	DECQ         CX
	JNE          peers
	VZEROUPPER
	RET
