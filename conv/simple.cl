// conv_simple: direct convolution as the definition has it.
//
// One work-item makes one output sample and reads everything it needs from
// global memory: dimension 0 is the column, 1 the output channel, 2 the row. It
// pads columns itself and so does kernels of any side, wider than the rim.
//
// Expects: NAME, KS and the prelude. Weights: [output][source channel][KS][KS];
// bias, from bias_at on: [output].
__kernel void NAME(__global const data_t *src0, ring_t r0, __global const data_t *src1, ring_t r1,
                   __global const data_t *src2, ring_t r2, __global const data_t *src3, ring_t r3,
                   __global const float *weights, int bias_at,
                   __global const data_t *res, ring_t rres, __global data_t *dst, ring_t rdst,
                   int y0, int act, float slope) {
    const int x = get_global_id(0), k = get_global_id(1), y = y0 + (int)get_global_id(2);
    const int w = R_W(rdst), h = R_H(rdst), pitch = R_PITCH(rdst);
    if (x >= w) return;
    const int channels = R_C(r0) + R_C(r1) + R_C(r2) + R_C(r3);
    __global const float *wt = weights + (size_t)k * channels * (KS * KS);
    float sum = weights[bias_at + k];
    for (int s = 0; s < 4; s++) {
        __global const data_t *src = s == 0 ? src0 : s == 1 ? src1 : s == 2 ? src2 : src3;
        const ring_t r = s == 0 ? r0 : s == 1 ? r1 : s == 2 ? r2 : r3;
        for (int c = 0; c < R_C(r); c++) {
            for (int ky = 0; ky < KS; ky++) {
                const int yy = y + ky - KS / 2;
                __global const data_t *line = src + ring_row(r, pad_index(yy, h)) + (size_t)c * pitch;
                for (int kx = 0; kx < KS; kx++, wt++) {
                    const int xx = x + kx - KS / 2;
                    if (WITHIN(yy, h) && WITHIN(xx, w)) sum = fma(*wt, LD1(line, pad_index(xx, w)), sum);
                }
            }
        }
    }
    const float v = finished(sum, res, ring_row(rres, y) + (size_t)k * pitch + x, act, SLOPE_OF(slope, weights, k));
    put(dst + ring_row(rdst, y) + (size_t)k * pitch, x, w, v);
}
