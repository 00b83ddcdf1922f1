// conv_rows: direct convolution for CPUs.
//
// One work-item (work-groups of one) makes VB outputs channels of one output
// row. It walks the row in tiles of XV vectors, keeps VB×XV accumulators in
// registers, and for every source sample of a tile does VB multiply-adds per
// load; weights are broadcast from a packed stream that is read in order. The
// sum of an output runs over sources, channels, kernel rows and kernel columns
// in that order, whatever the tile, so tiles and row ranges never change a bit.
//
// Expects: NAME (kernel), KS (side of the kernel), VB (outputs per block),
// XV (vectors per tile), VW (floats per vector: 4, 8, 16) and the prelude.
// Weights: [block][source channel][KS][KS][VB]; bias: [block][VB].

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
typedef CAT(float, VW) CAT(NAME, _vec);
#define VEC CAT(NAME, _vec)
#define LDV CAT(LD, VW)
#define STV CAT(ST, VW)

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void NAME(__global const data_t *src0, ring_t r0, __global const data_t *src1, ring_t r1,
          __global const data_t *src2, ring_t r2, __global const data_t *src3, ring_t r3,
          __global const float *weights, int bias_at,
          __global const data_t *res, ring_t rres, __global data_t *dst, ring_t rdst,
          int y0, int act, float slope) {
    const int block = get_global_id(0), y = y0 + (int)get_global_id(1);
    const int w = R_W(rdst), h = R_H(rdst), pitch = R_PITCH(rdst);
    const int channels = R_C(r0) + R_C(r1) + R_C(r2) + R_C(r3);
    const int outs = min(VB, R_C(rdst) - block * VB);
    __global const float *bias = weights + bias_at;
    weights += (size_t)block * channels * (KS * KS * VB);
    bias += block * VB;

    size_t row[4][KS];
    for (int ky = 0; ky < KS; ky++) {
        const int yy = reflect(y + ky - KS / 2, h);
        row[0][ky] = ring_row(r0, yy);
        row[1][ky] = ring_row(r1, yy);
        row[2][ky] = ring_row(r2, yy);
        row[3][ky] = ring_row(r3, yy);
    }
    __global data_t *out = dst + ring_row(rdst, y) + (size_t)block * VB * pitch;

    for (int x = 0; x < w; x += XV * VW) {
        VEC acc[VB][XV];
#pragma unroll
        for (int j = 0; j < VB; j++)
#pragma unroll
            for (int v = 0; v < XV; v++) acc[j][v] = (VEC)(bias[j]);
        __global const float *wt = weights;
        for (int s = 0; s < 4; s++) {
            __global const data_t *src = s == 0 ? src0 : s == 1 ? src1 : s == 2 ? src2 : src3;
            const int cs = s == 0 ? R_C(r0) : s == 1 ? R_C(r1) : s == 2 ? R_C(r2) : R_C(r3);
            for (int c = 0; c < cs; c++) {
                for (int ky = 0; ky < KS; ky++) {
                    __global const data_t *line = src + row[s][ky] + (size_t)c * pitch + x - KS / 2;
#pragma unroll
                    for (int kx = 0; kx < KS; kx++) {
                        VEC in[XV];
#pragma unroll
                        for (int v = 0; v < XV; v++) in[v] = LDV(line + kx + v * VW);
#pragma unroll
                        for (int j = 0; j < VB; j++)
#pragma unroll
                            for (int v = 0; v < XV; v++) acc[j][v] = fma((VEC)(wt[kx * VB + j]), in[v], acc[j][v]);
                    }
                    wt += KS * VB;
                }
            }
        }
#pragma unroll
        for (int j = 0; j < VB; j++) {
            if (j >= outs) break;
#pragma unroll
            for (int v = 0; v < XV; v++) {
                const int xv = x + v * VW;
                if (xv >= w) break;
                VEC o = acc[j][v];
                if (act == 1) o = select(o * slope, o, o >= 0.0f);
                else if (act == 2) o = 1.0f / (1.0f + exp(-o));
                if (res) o += LDV(res + ring_row(rres, y) + (size_t)(block * VB + j) * pitch + xv);
                STV(o, out + (size_t)j * pitch + xv);
            }
        }
    }
    for (int j = 0; j < outs; j++) put_rim(out + (size_t)j * pitch, w);
}

#undef CAT2
#undef CAT
#undef VEC
#undef LDV
#undef STV
