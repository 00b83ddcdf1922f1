// conv_tile: direct convolution for GPUs, input staged in local memory.
//
// A work-group of 16×TY×nk work-items makes a tile of 64×(2·TY) pixels and nk·KT
// output channels. Channels of the source pass through local memory CC at a
// time; each work-item keeps 4×2 pixels × KT channels of sums in registers. Its
// pixels are 16 columns apart, so that neighbours in a warp read neighbouring
// words. Weights are the same for all pixels: uniform loads that the cache
// broadcasts. The sum of an output runs over sources, channels, kernel rows and
// columns in that order, whatever the tile.
//
// Expects: NAME, KS, KT (4 or 8), CC, TY and the prelude.
// Weights: [KT-block][source channel][KS][KS][KT]; bias: [KT-block][KT].

#define TILE_W (64 + KS - 1)
#define TILE_H (2 * TY + KS - 1)

__kernel void NAME(__global const data_t *src0, ring_t r0, __global const data_t *src1, ring_t r1,
                   __global const data_t *src2, ring_t r2, __global const data_t *src3, ring_t r3,
                   __global const float *weights, int bias_at,
                   __global const data_t *res, ring_t rres, __global data_t *dst, ring_t rdst,
                   int y0, int y1, int act, float slope) {
    __local float tile[CC * TILE_H * TILE_W];
    const int tx = get_local_id(0), ty = get_local_id(1), tk = get_local_id(2);
    const int lid = (tk * TY + ty) * 16 + tx, threads = 16 * TY * (int)get_local_size(2);
    const int x0 = get_group_id(0) * 64, top = y0 + (int)get_group_id(1) * 2 * TY;
    const int block = get_global_id(2);
    const int w = R_W(rdst), h = R_H(rdst), pitch = R_PITCH(rdst), outs = R_C(rdst);
    const int channels = R_C(r0) + R_C(r1) + R_C(r2) + R_C(r3);
    // A block past the last output works on the last one's weights and stores nothing.
    const int wblock = min(block, (outs - 1) / KT);
    __global const float *bias = weights + bias_at;
    __global const float *wt = weights + (size_t)wblock * channels * (KS * KS * KT);

    float acc[2][4][KT];
#pragma unroll
    for (int j = 0; j < KT; j++) {
        const float b = bias[wblock * KT + j];
#pragma unroll
        for (int p = 0; p < 4; p++) { acc[0][p][j] = b; acc[1][p][j] = b; }
    }
    for (int s = 0; s < 4; s++) {
        __global const data_t *src = s == 0 ? src0 : s == 1 ? src1 : s == 2 ? src2 : src3;
        const ring_t r = s == 0 ? r0 : s == 1 ? r1 : s == 2 ? r2 : r3;
        for (int c0 = 0; c0 < R_C(r); c0 += CC) {
            const int cc = min(CC, R_C(r) - c0);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int i = lid; i < cc * TILE_H * TILE_W; i += threads) {
                const int x = i % TILE_W, yc = i / TILE_W, y = yc % TILE_H, c = yc / TILE_H;
                // The line's rim covers the columns left and right of the picture;
                // columns further right belong to pixels that are not stored.
                const int gx = min(x0 + x - KS / 2, w - 1 + KS / 2);
                const int gy = pad_index(min(top + y - KS / 2, h - 1 + KS / 2), h);
                tile[i] = OUTSIDE(top + y - KS / 2, h) ? 0.0f : LD1(src, ring_row(r, gy) + (size_t)(c0 + c) * pitch + gx);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int c = 0; c < cc; c++) {
                __local const float *t = tile + (c * TILE_H + ty) * TILE_W + tx;
                for (int ky = 0; ky < KS; ky++, t += TILE_W) {
#pragma unroll
                    for (int kx = 0; kx < KS; kx++) {
                        float wv[KT];
#pragma unroll
                        for (int j = 0; j < KT; j += 4) {
                            const float4 v = vload4(0, wt + kx * KT + j);
                            wv[j] = v.x; wv[j + 1] = v.y; wv[j + 2] = v.z; wv[j + 3] = v.w;
                        }
#pragma unroll
                        for (int p = 0; p < 4; p++) {
                            const float a = t[kx + 16 * p], b = t[kx + 16 * p + TY * TILE_W];
#pragma unroll
                            for (int j = 0; j < KT; j++) {
                                acc[0][p][j] = fma(wv[j], a, acc[0][p][j]);
                                acc[1][p][j] = fma(wv[j], b, acc[1][p][j]);
                            }
                        }
                    }
                    wt += KS * KT;
                }
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int y = top + ty + i * TY;
        if (y >= y1) continue;
        const size_t line = ring_row(rdst, y), rline = res ? ring_row(rres, y) : 0;
#pragma unroll
        for (int j = 0; j < KT; j++) {
            const int k = block * KT + j;
            if (k >= outs) continue;
#pragma unroll
            for (int p = 0; p < 4; p++) {
                const int x = x0 + tx + 16 * p;
                if (x >= w) continue;
                put(dst + line + (size_t)k * pitch, x, w,
                    finished(acc[i][p][j], res, rline + (size_t)k * pitch + x, act, SLOPE_OF(slope, weights, k)));
            }
        }
    }
}

#undef TILE_W
#undef TILE_H
