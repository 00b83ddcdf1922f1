// conv_im2col: unfolds rows of the input into a matrix, and conv_emit: what the
// product of the weights and that matrix ends with.
//
// The matrix has a row for every (channel, ky, kx), in that order, and a column for
// every pixel of the row range: rows of the picture one after another, each rounded
// up to `width` columns, a multiple of VW. Columns past the picture hold whatever
// the lines do. One work-item of conv_im2col moves VW columns of one line:
// dimension 0 is the vector, 1 the matrix's row from t0 on, 2 the picture's.
//
// Expects: NAME, EMIT, KS, VW (4, 8 or 16), put4.cl and the prelude. Samples are
// stored as activations are.

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define FLOATS CAT(float, VW)

__kernel void NAME(__global const data_t *src0, ring_t r0, __global const data_t *src1, ring_t r1,
                   __global const data_t *src2, ring_t r2, __global const data_t *src3, ring_t r3,
                   __global data_t *matrix, int y0, int rows, int width, int t0) {
    const int x = get_global_id(0) * VW, t = t0 + (int)get_global_id(1), row = get_global_id(2);
    if (x >= width) return;
    int c = t / (KS * KS), tap = t % (KS * KS);
    __global const data_t *src = src0;
    ring_t r = r0;
    for (int s = 1; s < 4 && c >= R_C(r); s++) {
        c -= R_C(r);
        src = s == 1 ? src1 : s == 2 ? src2 : src3;
        r = s == 1 ? r1 : s == 2 ? r2 : r3;
    }
    const int y = pad_index(y0 + row + tap / KS - KS / 2, R_H(r));
    __global const data_t *from = src + ring_row(r, y) + (size_t)c * R_PITCH(r) + x + tap % KS - KS / 2;
    __global data_t *to = matrix + ((size_t)t * rows + row) * width + x;
#if VW == 4 && defined(STORE_HALF)
    vstorea_half4(LD4(from), 0, to);
#elif VW == 4
    *(__global float4 *)to = LD4(from); // widths are multiples of four
#else
    CAT(ST, VW)(CAT(LD, VW)(from), to);
#endif
}

// Finishes and stores columns x to x+VW-1 of output k in row y.
static void EMIT(__global const data_t *res, ring_t rres, __global data_t *dst, ring_t rdst, int k, int y, int x,
                 int act, float slope, FLOATS v) {
    const int w = R_W(rdst);
    __global data_t *line = dst + ring_row(rdst, y) + (size_t)k * R_PITCH(rdst);
    if (x >= w) return;
    if (RES_FIRST && res) v += CAT(LD, VW)(res + ring_row(rres, y) + (size_t)k * R_PITCH(rres) + x);
    if (act == 2) v = 1.0f / (1.0f + exp(-v));
    if (act == 1) v = select(v * slope, v, v >= 0.0f);
    if (!RES_FIRST && res) v += CAT(LD, VW)(res + ring_row(rres, y) + (size_t)k * R_PITCH(rres) + x);
#if VW == 4
    conv_put4(line, x, w, v);
#else
    if (x > RIM && x + VW - 1 < w - 1 - RIM) {
        CAT(ST, VW)(v, line + x);
        return;
    }
    float e[VW];
    CAT(vstore, VW)(v, 0, e);
    for (int j = 0; j < VW && x + j < w; j++) put(line, x + j, w, e[j]);
#endif
}

#undef CAT_
#undef CAT
#undef FLOATS
