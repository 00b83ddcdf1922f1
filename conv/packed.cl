// conv_packed: direct convolution for GPUs with the input patch and the filter
// block in local memory and channels packed by four.
//
// A work-group of 16×TY×NK work-items makes a tile of 64×(2·TY) pixels and
// NK·QK·4 output channels. Four channels of the source at a time become one patch
// of float4 on their way into local memory (lines hold one channel each), and WR
// rows of the filters of those four channels join them; channels that a source
// does not have are zeros. Each work-item keeps 4×2 pixels × QK·4 sums in
// registers; per tap it reads 8 patch float4 and 4·QK filter float4 for 128·QK
// multiply-adds. Its pixels are 16 columns apart, so that neighbours read
// neighbouring float4. The sum of an output runs over sources, blocks of four
// channels, kernel rows, kernel columns and the four channels in that order.
//
// Expects: NAME, KS, QK (1 or 2), TY, NK, WR and the prelude.
// Weights: [output/4][source][channel/4][KS][KS][4 channels][4 outputs];
// bias, from bias_at on: [output/4][4].

#define TILE_W (64 + KS - 1)
#define TILE_H (2 * TY + KS - 1)
#define FILTERS (WR * KS * 4)

__kernel __attribute__((reqd_work_group_size(16, TY, NK)))
void NAME(__global const data_t *src0, ring_t r0, __global const data_t *src1, ring_t r1,
          __global const data_t *src2, ring_t r2, __global const data_t *src3, ring_t r3,
          __global const float *weights, int bias_at,
          __global const data_t *res, ring_t rres, __global data_t *dst, ring_t rdst,
          int y0, int y1, int act, float slope) {
    __local float4 patch[TILE_H * TILE_W];
    __local float4 filters[NK * QK * FILTERS];
    const int tx = get_local_id(0), ty = get_local_id(1), tk = get_local_id(2);
    const int lid = (tk * TY + ty) * 16 + tx;
    const int x0 = get_group_id(0) * 64, top = y0 + (int)get_group_id(1) * 2 * TY;
    const int w = R_W(rdst), h = R_H(rdst), pitch = R_PITCH(rdst), outs = R_C(rdst);
    const int quads = (R_C(r0) + 3) / 4 + (R_C(r1) + 3) / 4 + (R_C(r2) + 3) / 4 + (R_C(r3) + 3) / 4;
    const int group_quad = get_group_id(2) * (NK * QK), last_quad = (outs - 1) / 4;
    __global const float4 *all = (__global const float4 *)weights;

    float4 acc[QK][2][4];
#pragma unroll
    for (int q = 0; q < QK; q++) {
        const float4 b = vload4(min(group_quad + tk * QK + q, last_quad), weights + bias_at);
#pragma unroll
        for (int p = 0; p < 4; p++) { acc[q][0][p] = b; acc[q][1][p] = b; }
    }
    int quad = 0; // of all sources
    for (int s = 0; s < 4; s++) {
        __global const data_t *src = s == 0 ? src0 : s == 1 ? src1 : s == 2 ? src2 : src3;
        const ring_t r = s == 0 ? r0 : s == 1 ? r1 : s == 2 ? r2 : r3;
        for (int c0 = 0; c0 < R_C(r); c0 += 4, quad++) {
            const int cc = R_C(r) - c0;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int i = lid; i < TILE_H * TILE_W; i += 16 * TY * NK) {
                const int x = i % TILE_W, y = i / TILE_W;
                // The line's rim covers the columns left and right of the picture;
                // columns further right belong to pixels that are not stored.
                const int gx = min(x0 + x - KS / 2, w - 1 + KS / 2);
                const int gy = pad_index(min(top + y - KS / 2, h - 1 + KS / 2), h);
                __global const data_t *p = src + ring_row(r, gy) + (size_t)c0 * pitch + gx;
                float4 v = (float4)(0.0f);
                if (WITHIN(top + y - KS / 2, h)) {
                    v.x = LD1(p, 0);
                    if (cc > 1) v.y = LD1(p, pitch);
                    if (cc > 2) v.z = LD1(p, 2 * pitch);
                    if (cc > 3) v.w = LD1(p, 3 * pitch);
                }
                patch[i] = v;
            }
            for (int row0 = 0; row0 < KS; row0 += WR) {
                const int rows = min(WR, KS - row0);
                if (row0 > 0) barrier(CLK_LOCAL_MEM_FENCE);
                for (int i = lid; i < NK * QK * FILTERS; i += 16 * TY * NK) {
                    const int e = i % FILTERS, k = min(group_quad + i / FILTERS, last_quad);
                    if (e < rows * KS * 4) filters[i] = all[((size_t)k * quads + quad) * (KS * KS * 4) + row0 * KS * 4 + e];
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                for (int ky = 0; ky < rows; ky++) {
                    __local const float4 *line = patch + (ty + row0 + ky) * TILE_W + tx;
                    __local const float4 *f = filters + tk * QK * FILTERS + ky * KS * 4;
                    for (int kx = 0; kx < KS; kx++) {
                        float4 a[2][4];
#pragma unroll
                        for (int p = 0; p < 4; p++) {
                            a[0][p] = line[kx + 16 * p];
                            a[1][p] = line[kx + 16 * p + TY * TILE_W];
                        }
#pragma unroll
                        for (int q = 0; q < QK; q++) {
                            __local const float4 *fq = f + q * FILTERS + kx * 4;
                            const float4 f0 = fq[0], f1 = fq[1], f2 = fq[2], f3 = fq[3];
#pragma unroll
                            for (int p = 0; p < 8; p++) {
                                const float4 v = a[p / 4][p % 4];
                                float4 t = acc[q][p / 4][p % 4];
                                t = fma(f0, (float4)(v.x), t);
                                t = fma(f1, (float4)(v.y), t);
                                t = fma(f2, (float4)(v.z), t);
                                acc[q][p / 4][p % 4] = fma(f3, (float4)(v.w), t);
                            }
                        }
                    }
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
        for (int q = 0; q < QK; q++) {
            const int k0 = (group_quad + tk * QK + q) * 4;
#pragma unroll
            for (int p = 0; p < 4; p++) {
                const int x = x0 + tx + 16 * p;
                const float4 sum = acc[q][i][p];
                if (x >= w) continue;
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    if (k0 + j >= outs) continue;
                    const float v = j == 0 ? sum.x : j == 1 ? sum.y : j == 2 ? sum.z : sum.w;
                    put(dst + line + (size_t)(k0 + j) * pitch, x, w,
                        finished(v, res, rline + (size_t)(k0 + j) * pitch + x, act, SLOPE_OF(slope, weights, k0 + j)));
                }
            }
        }
    }
}

#undef TILE_W
#undef TILE_H
#undef FILTERS
