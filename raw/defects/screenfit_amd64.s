#include "textflag.h"
#include "go_asm.h"

// LIGHT makes roots of the samples in doublewords of V, with the whole part and the rest of a level.
#define LIGHT(V, WHOLE, REST, ZERO) \
	VPSUBD    WHOLE, V, V; \
	VCVTDQ2PS V, V;        \
	VSUBPS    REST, V, V;  \
	VMAXPS    ZERO, V, V;  \
	VSQRTPS   V, V

// LINE makes roots of a row of 23 samples at SI: those of even columns, and after 64 bytes of odd ones.
#define LINE(Y0B, Y1B, Y0F, Y1F, X0B, X1B, X0F, X1F) \
	VMOVDQU  (SI), Y0;                \
	VPSRLD   $16, Y0, Y1;             \
	VPBLENDW $0xaa, Y7, Y0, Y0;       \
	LIGHT(Y0, Y0B, Y0F, Y7);          \
	LIGHT(Y1, Y1B, Y1F, Y7);          \
	VMOVUPS  Y0, (DI);                \
	VMOVUPS  Y1, 64(DI);              \
	VMOVDQU  30(SI), X2;              \ // the last eight samples: nothing beyond them is read
	VPSRLDQ  $2, X2, X2;              \
	VPSRLD   $16, X2, X3;             \
	VPBLENDW $0xaa, X7, X2, X2;       \
	LIGHT(X2, X0B, X0F, X7);          \
	LIGHT(X3, X1B, X1F, X7);          \
	VMOVUPS  X2, 32(DI);              \
	VMOVUPS  X3, 96(DI);              \
	ADDQ     R8, SI;                  \
	ADDQ     $128, DI

// PAIR makes the sums of samples at a and b, of nine columns, a feature.
#define PAIR(a, b, to) \
	VMOVUPS (a)(DI), Y0;       \
	VADDPS  (b)(DI), Y0, Y0;   \
	VMOVUPS Y0, (to*384)(DX);  \
	VMOVUPS (32+a)(DI), X1;    \
	VADDPS  (32+b)(DI), X1, X1; \
	VMOVUPS X1, (to*384+32)(DX)

// APART takes the spot's feature from those of eight samples, and adds its square.
#define APART(j, OWN) \
	VMOVUPS     (j*384)(DX), Y11; \
	VSUBPS      OWN, Y11, Y11;    \
	VMOVUPS     Y11, (j*384)(DX); \
	VFMADD231PS Y11, Y11, Y10

#define WEIGH(i, V) \
	VMOVUPS fitting_weight+(32*i)(BX), V; \
	VMULPS  (32*i)(SI), V, V

#define MULADD(i, V) \
	VFMADD231PS (32*i)(DX), V, Y11;      \
	VFMADD231PS (384+32*i)(DX), V, Y12;  \
	VFMADD231PS (768+32*i)(DX), V, Y13;  \
	VFMADD231PS (1152+32*i)(DX), V, Y14

// func fitUnits(a *fitting, sample *uint16, stride uintptr)
TEXT ·fitUnits(SB), NOSPLIT, $0-24
	MOVQ         a+0(FP), BX
	MOVQ         sample+8(FP), SI
	MOVQ         stride+16(FP), R8
	VPBROADCASTD fitting_base+0(BX), Y8
	VPBROADCASTD fitting_base+4(BX), Y9
	VBROADCASTSS fitting_frac+0(BX), Y10
	VBROADCASTSS fitting_frac+4(BX), Y11
	VPBROADCASTD fitting_base+8(BX), Y12
	VPBROADCASTD fitting_base+12(BX), Y13
	VBROADCASTSS fitting_frac+8(BX), Y14
	VBROADCASTSS fitting_frac+12(BX), Y15
	VPXOR        Y7, Y7, Y7
	LEAQ         fitting_rows(BX), DI
	MOVQ         $11, CX

lines:
	LINE(Y8, Y9, Y10, Y11, X8, X9, X10, X11)
	LINE(Y12, Y13, Y14, Y15, X12, X13, X14, X15)
	DECQ CX
	JNE  lines
	LINE(Y8, Y9, Y10, Y11, X8, X9, X10, X11)

	LEAQ fitting_rows+(3*128)(BX), DI // the samples' rows
	LEAQ fitting_v(BX), DX
	MOVQ $9, CX

features:
	PAIR(72, 64, 0)                   // in the order of pairs
	PAIR(324, -188, 1)
	PAIR(328, -192, 2)
	PAIR(320, -184, 3)
	PAIR(136, -124, 4)
	PAIR(132, -120, 5)
	PAIR(8, 4, 6)
	PAIR(196, -60, 7)
	PAIR(12, 0, 8)
	PAIR(452, -316, 9)
	PAIR(68, 68, 10)
	ADDQ $256, DI
	ADDQ $36, DX
	DECQ CX
	JNE  features

	LEAQ         fitting_v(BX), DX
	VBROADCASTSS (160+0*384)(DX), Y0  // of the spot, the 41st of the samples
	VBROADCASTSS (160+1*384)(DX), Y1
	VBROADCASTSS (160+2*384)(DX), Y2
	VBROADCASTSS (160+3*384)(DX), Y3
	VBROADCASTSS (160+4*384)(DX), Y4
	VBROADCASTSS (160+5*384)(DX), Y5
	VBROADCASTSS (160+6*384)(DX), Y6
	VBROADCASTSS (160+7*384)(DX), Y7
	VBROADCASTSS (160+8*384)(DX), Y8
	VBROADCASTSS (160+9*384)(DX), Y9
	VXORPS       Y12, Y12, Y12
	VXORPS       Y14, Y14, Y14
	XORQ         CX, CX

differ:
	VXORPS  Y10, Y10, Y10
	APART(0, Y0)
	APART(1, Y1)
	APART(2, Y2)
	APART(3, Y3)
	APART(4, Y4)
	APART(5, Y5)
	APART(6, Y6)
	APART(7, Y7)
	APART(8, Y8)
	APART(9, Y9)
	VMOVUPS 3840(DX), Y11
	VSUBPS  Y0, Y11, Y11
	VMOVUPS Y11, 3840(DX)
	VMOVUPS Y10, fitting_weight(BX)(CX*1)
	VMOVUPS fitting_near(BX)(CX*1), Y13
	VCMPPS  $4, Y14, Y13, Y13         // those in use
	VANDPS  Y13, Y10, Y10
	VADDPS  Y10, Y12, Y12
	ADDQ    $32, DX
	ADDQ    $32, CX
	CMPQ    CX, $352
	JLT     differ

	VEXTRACTF128 $1, Y12, X0
	VADDPS       X0, X12, X12
	VHADDPS      X12, X12, X12
	VHADDPS      X12, X12, X12
	VMULSS       fitting_like(BX), X12, X12
	VADDSS       fitting_tiny(BX), X12, X12
	VBROADCASTSS X12, Y0              // half
	XORQ         CX, CX

weights:
	VADDPS  fitting_weight(BX)(CX*1), Y0, Y1
	VDIVPS  Y1, Y0, Y1
	VMULPS  fitting_near(BX)(CX*1), Y1, Y1
	VMOVUPS Y1, fitting_weight(BX)(CX*1)
	ADDQ    $32, CX
	CMPQ    CX, $352
	JLT     weights

	LEAQ fitting_v(BX), SI            // of the row of products
	LEAQ fitting_gram(BX), DI
	XORQ CX, CX                       // number of the row

row:
	WEIGH(0, Y0)
	WEIGH(1, Y1)
	WEIGH(2, Y2)
	WEIGH(3, Y3)
	WEIGH(4, Y4)
	WEIGH(5, Y5)
	WEIGH(6, Y6)
	WEIGH(7, Y7)
	WEIGH(8, Y8)
	WEIGH(9, Y9)
	WEIGH(10, Y10)
	MOVQ  CX, AX
	ANDQ  $-4, AX                     // first of four columns
	IMUL3Q $384, AX, DX
	LEAQ  fitting_v(BX)(DX*1), DX

four:
	VMULPS (DX), Y0, Y11
	VMULPS 384(DX), Y0, Y12
	VMULPS 768(DX), Y0, Y13
	VMULPS 1152(DX), Y0, Y14
	MULADD(1, Y1)
	MULADD(2, Y2)
	MULADD(3, Y3)
	MULADD(4, Y4)
	MULADD(5, Y5)
	MULADD(6, Y6)
	MULADD(7, Y7)
	MULADD(8, Y8)
	MULADD(9, Y9)
	MULADD(10, Y10)
	VHADDPS Y12, Y11, Y11
	VHADDPS Y14, Y13, Y13
	VHADDPS Y13, Y11, Y11
	VEXTRACTF128 $1, Y11, X12
	VADDPS  X12, X11, X11
	VMOVUPS X11, (DI)(AX*4)
	ADDQ    $1536, DX
	ADDQ    $4, AX
	CMPQ    AX, $12
	JLT     four
	ADDQ    $384, SI
	ADDQ    $48, DI
	INCQ    CX
	CMPQ    CX, $12
	JLT     row
	VZEROUPPER
	RET

// func solveUnits(a *[features]fitRow, w *[features]float64) bool
TEXT ·solveUnits(SB), NOSPLIT, $0-17
	MOVQ   a+0(FP), SI
	MOVQ   w+8(FP), R9
	VXORPD X7, X7, X7
	MOVQ   $0x3ff0000000000000, AX
	VMOVQ  AX, X8                  // 1
	XORQ   CX, CX                  // the pivot's number

pivot:
	VMOVSD   (SI)(CX*8), X3
	VUCOMISD X7, X3
	JLS      fails                 // not above 0, or no number
	VDIVSD   X3, X8, X3
	VMOVSD   X3, 88(SI)            // its inverse stands where no column is
	VBROADCASTSD X3, Y3
	VMOVUPD  (SI), Y0
	VMOVUPD  32(SI), Y1
	VMOVUPD  64(SI), Y2
	MOVQ     CX, DX
	MOVQ     SI, DI

below:
	INCQ         DX
	ADDQ         $96, DI
	CMPQ         DX, $10
	JGE          done
	VBROADCASTSD (SI)(DX*8), Y4
	VMULPD       Y3, Y4, Y4
	VMOVUPD      (DI), Y5
	VFNMADD231PD Y0, Y4, Y5
	VMOVUPD      Y5, (DI)
	VMOVUPD      32(DI), Y5
	VFNMADD231PD Y1, Y4, Y5
	VMOVUPD      Y5, 32(DI)
	VMOVUPD      64(DI), Y5
	VFNMADD231PD Y2, Y4, Y5
	VMOVUPD      Y5, 64(DI)
	JMP          below

done:
	ADDQ $96, SI
	INCQ CX
	CMPQ CX, $10
	JLT  pivot

	MOVQ a+0(FP), R8

back:
	SUBQ   $96, SI                 // the last row whose unknown is not known
	DECQ   CX
	VMOVSD 80(SI), X0
	VMULSD 88(SI), X0, X0
	VMOVSD X0, (R9)(CX*8)
	MOVQ   R8, DI

above:
	CMPQ         DI, SI
	JGE          known
	VMOVSD       80(DI), X1
	VFNMADD231SD (DI)(CX*8), X0, X1
	VMOVSD       X1, 80(DI)
	ADDQ         $96, DI
	JMP          above

known:
	TESTQ CX, CX
	JNE   back
	MOVB  $1, ret+16(FP)
	VZEROUPPER
	RET

fails:
	MOVB $0, ret+16(FP)
	VZEROUPPER
	RET
