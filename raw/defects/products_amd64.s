#include "textflag.h"

// A row is 12 numbers, three registers of four. Products are rounded before they are added, in the
// order of the rows, as in Go.

// func centerAVX(rows *fitRow, weight *float64, n int, total float64, mean *fitRow)
TEXT ·centerAVX(SB), NOSPLIT, $0-40
	MOVQ rows+0(FP), SI
	MOVQ weight+8(FP), DI
	MOVQ n+16(FP), CX
	MOVQ mean+32(FP), DX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	MOVQ SI, R8
	MOVQ CX, R9

sum:
	VBROADCASTSD (DI), Y3
	VMULPD (R8), Y3, Y4
	VMULPD 32(R8), Y3, Y5
	VMULPD 64(R8), Y3, Y6
	VADDPD Y4, Y0, Y0
	VADDPD Y5, Y1, Y1
	VADDPD Y6, Y2, Y2
	ADDQ $8, DI
	ADDQ $96, R8
	DECQ R9
	JNZ  sum

	VBROADCASTSD total+24(FP), Y3
	VDIVPD Y3, Y0, Y0
	VDIVPD Y3, Y1, Y1
	VDIVPD Y3, Y2, Y2
	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VMOVUPD Y2, 64(DX)

less:
	VMOVUPD (SI), Y4
	VMOVUPD 32(SI), Y5
	VMOVUPD 64(SI), Y6
	VSUBPD Y0, Y4, Y4
	VSUBPD Y1, Y5, Y5
	VSUBPD Y2, Y6, Y6
	VMOVUPD Y4, (SI)
	VMOVUPD Y5, 32(SI)
	VMOVUPD Y6, 64(SI)
	ADDQ $96, SI
	DECQ CX
	JNZ  less
	VZEROUPPER
	RET

// BROADCAST leaves the weight of a row times its feature in Y15.
#define BROADCAST(at) \
	VBROADCASTSD at(R8), Y15; \
	VMULPD       Y14, Y15, Y15

// TIMES adds the products of Y15 with four features to a sum.
#define TIMES(features, sum) \
	VMULPD features, Y15, Y13; \
	VADDPD Y13, sum, sum

#define ZERO(r) VXORPD r, r, r

// func productsAVX(rows *fitRow, weight *float64, n int, sums *[features]fitRow)
//
// The sums of features 0 to 3 with all, then those of 4 to 9 with those from 4 on.
TEXT ·productsAVX(SB), NOSPLIT, $0-32
	MOVQ rows+0(FP), SI
	MOVQ weight+8(FP), DI
	MOVQ n+16(FP), CX
	MOVQ sums+24(FP), DX
	ZERO(Y0)
	ZERO(Y1)
	ZERO(Y2)
	ZERO(Y3)
	ZERO(Y4)
	ZERO(Y5)
	ZERO(Y6)
	ZERO(Y7)
	ZERO(Y8)
	ZERO(Y9)
	ZERO(Y10)
	ZERO(Y11)
	MOVQ SI, R8
	MOVQ DI, R9
	MOVQ CX, R10

first:
	VBROADCASTSD (R9), Y14
	BROADCAST(0)
	TIMES((R8), Y0)
	TIMES(32(R8), Y1)
	TIMES(64(R8), Y2)
	BROADCAST(8)
	TIMES((R8), Y3)
	TIMES(32(R8), Y4)
	TIMES(64(R8), Y5)
	BROADCAST(16)
	TIMES((R8), Y6)
	TIMES(32(R8), Y7)
	TIMES(64(R8), Y8)
	BROADCAST(24)
	TIMES((R8), Y9)
	TIMES(32(R8), Y10)
	TIMES(64(R8), Y11)
	ADDQ $8, R9
	ADDQ $96, R8
	DECQ R10
	JNZ  first

	VMOVUPD Y0, 0(DX)
	VMOVUPD Y1, 32(DX)
	VMOVUPD Y2, 64(DX)
	VMOVUPD Y3, 96(DX)
	VMOVUPD Y4, 128(DX)
	VMOVUPD Y5, 160(DX)
	VMOVUPD Y6, 192(DX)
	VMOVUPD Y7, 224(DX)
	VMOVUPD Y8, 256(DX)
	VMOVUPD Y9, 288(DX)
	VMOVUPD Y10, 320(DX)
	VMOVUPD Y11, 352(DX)

	ZERO(Y0)
	ZERO(Y1)
	ZERO(Y2)
	ZERO(Y3)
	ZERO(Y4)
	ZERO(Y5)
	ZERO(Y6)
	ZERO(Y7)
	ZERO(Y8)
	ZERO(Y9)
	MOVQ SI, R8
	MOVQ DI, R9
	MOVQ CX, R10

rest:
	VBROADCASTSD (R9), Y14
	BROADCAST(32)
	TIMES(32(R8), Y0)
	TIMES(64(R8), Y1)
	BROADCAST(40)
	TIMES(32(R8), Y2)
	TIMES(64(R8), Y3)
	BROADCAST(48)
	TIMES(32(R8), Y4)
	TIMES(64(R8), Y5)
	BROADCAST(56)
	TIMES(32(R8), Y6)
	TIMES(64(R8), Y7)
	BROADCAST(64)
	TIMES(64(R8), Y8)
	BROADCAST(72)
	TIMES(64(R8), Y9)
	ADDQ $8, R9
	ADDQ $96, R8
	DECQ R10
	JNZ  rest

	VMOVUPD Y0, 416(DX)
	VMOVUPD Y1, 448(DX)
	VMOVUPD Y2, 512(DX)
	VMOVUPD Y3, 544(DX)
	VMOVUPD Y4, 608(DX)
	VMOVUPD Y5, 640(DX)
	VMOVUPD Y6, 704(DX)
	VMOVUPD Y7, 736(DX)
	VMOVUPD Y8, 832(DX)
	VMOVUPD Y9, 928(DX)

	VZEROUPPER
	RET
