// conv_implicit: convolution as a matrix product for GPUs whose left matrix, the
// unfolded input, exists only as tiles in local memory.
//
//	product[m][n] = sum over k of input[m][k]·weights[k][n]
//	m = pixel of the row range, n = output channel, k = (channel, ky, kx)
//
// A work-group of MX·NX work-items makes BM = MX·TM pixels × BN = NX·TN outputs,
// BK terms at a time through two pairs of tiles: while one pair is multiplied the
// next one is on its way from global memory in registers. Rows are numbered as if
// they were a multiple of four wide, so that four consecutive pixels never
// straddle two rows and are stored as one vector; pixels of consecutive work-items
// are consecutive when they are loaded. Which slot of the ring holds the row that
// kernel row ky of pixel m reads is looked up in local memory. The sum of an
// output runs over sources, channels, kernel rows and columns in that order,
// whatever the tile: the order of the direct kernels.
//
// Expects: put4.cl, NAME, KS, BK, MX, NX, TM, TN (TM and TN multiples of 4; BM a multiple of
// 32, MX·NX too) and the prelude.
// Weights: per source [channels·KS·KS rounded up to BK][outputs rounded up to BN],
// absent ones zero; bias, from bias_at on.

#define BM (MX * TM)
#define BN (NX * TN)
#define ITEMS (MX * NX)
#define KSTEP (ITEMS / 32)
#define NLOAD (BK / KSTEP)
#define MLOAD (BM / 32)
#define WLOAD ((BK * BN / 4 + ITEMS - 1) / ITEMS)
#ifdef PAD_ZERO
#define IN_PLANE(slot) ((slot) >= 0)
#else
#define IN_PLANE(slot) 1
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void NAME(__global const data_t *src0, ring_t r0, __global const data_t *src1, ring_t r1,
          __global const data_t *src2, ring_t r2, __global const data_t *src3, ring_t r3,
          __global const float *packed, int bias_at,
          __global const data_t *res, ring_t rres, __global data_t *dst, ring_t rdst,
          int y0, int y1, int act, float slope) {
    __local float4 in_tile[2][BK * BM / 4];
    __local float4 wt_tile[2][BK * BN / 4];
    __local int slots[KS * BM];
    const int lid = get_local_id(0), tm = lid % MX, tn = lid / MX;
    const int w = R_W(rdst), h = R_H(rdst), pitch = R_PITCH(rdst), outs = R_C(rdst);
    const int w4 = (w + 3) & ~3, pixels = w4 * (y1 - y0);
    const int m0 = get_group_id(0) * BM, n0 = get_group_id(1) * BN;
    const int width4 = (int)get_num_groups(1) * (BN / 4); // of packed rows
    __global const float4 *wt = (__global const float4 *)packed + n0 / 4;

    // acc[n][j] holds four pixels of output n: registers, every index a constant.
    float4 acc[TN][TM / 4];
#pragma unroll
    for (int n = 0; n < TN; n++) {
        const float b = packed[bias_at + n0 + (tn + n / 4 * NX) * 4 + n % 4];
#pragma unroll
        for (int j = 0; j < TM / 4; j++) acc[n][j] = (float4)(b);
    }
    int xs[MLOAD];
#pragma unroll
    for (int j = 0; j < MLOAD; j++) xs[j] = min(m0 + lid % 32 + 32 * j, pixels - 1) % w4 - KS / 2;

    for (int s = 0; s < 4; s++) {
        __global const data_t *src = s == 0 ? src0 : s == 1 ? src1 : s == 2 ? src2 : src3;
        const ring_t r = s == 0 ? r0 : s == 1 ? r1 : s == 2 ? r2 : r3;
        if (R_C(r) == 0) break;
        const int terms = R_C(r) * (KS * KS), steps = (terms + BK - 1) / BK;
        const size_t base = ring_row(r, 0);
        for (int i = lid; i < KS * BM; i += ITEMS) {
            const int y = y0 + min(m0 + i % BM, pixels - 1) / w4;
            const int yy = y + i / BM - KS / 2;
            slots[i] = OUTSIDE(yy, h) ? -1 : pad_index(yy, h) % R_SLOTS(r);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = -1; step < steps; step++) {
            float in_next[NLOAD][MLOAD];
            float4 wt_next[WLOAD];
            if (step + 1 < steps) {
#pragma unroll
                for (int i = 0; i < NLOAD; i++) {
                    const int k = (step + 1) * BK + lid / 32 + i * KSTEP;
                    const int c = k / (KS * KS), tap = k - c * (KS * KS), ky = tap / KS, kx = tap - ky * KS;
                    __global const data_t *line = src + base + (size_t)c * pitch + kx;
                    __local const int *slot = slots + ky * BM + lid % 32;
#pragma unroll
                    for (int j = 0; j < MLOAD; j++) {
                        // Columns past the picture are read from the line's slack.
                        in_next[i][j] = k < terms && IN_PLANE(slot[32 * j]) ? LD1(line + (size_t)slot[32 * j] * r.s1 + xs[j], 0) : 0.0f;
                    }
                }
#pragma unroll
                for (int i = 0; i < WLOAD; i++) {
                    const int e = lid + i * ITEMS;
                    if (BK * BN / 4 % ITEMS == 0 || e < BK * BN / 4)
                        wt_next[i] = wt[(size_t)((step + 1) * BK + e / (BN / 4)) * width4 + e % (BN / 4)];
                }
            }
            if (step >= 0) {
                __local const float4 *a = in_tile[step & 1] + tm, *b = wt_tile[step & 1] + tn;
#pragma unroll 4
                for (int k = 0; k < BK; k++, a += BM / 4, b += BN / 4) {
                    float4 av[TM / 4];
#pragma unroll
                    for (int j = 0; j < TM / 4; j++) av[j] = a[j * MX];
#pragma unroll
                    for (int n = 0; n < TN / 4; n++) {
                        const float4 bv = b[n * NX];
#pragma unroll
                        for (int j = 0; j < TM / 4; j++) {
                            acc[4 * n][j] = fma((float4)(bv.x), av[j], acc[4 * n][j]);
                            acc[4 * n + 1][j] = fma((float4)(bv.y), av[j], acc[4 * n + 1][j]);
                            acc[4 * n + 2][j] = fma((float4)(bv.z), av[j], acc[4 * n + 2][j]);
                            acc[4 * n + 3][j] = fma((float4)(bv.w), av[j], acc[4 * n + 3][j]);
                        }
                    }
                }
            }
            if (step + 1 < steps) {
                __local float *a = (__local float *)in_tile[(step + 1) & 1];
                __local float4 *b = wt_tile[(step + 1) & 1];
#pragma unroll
                for (int i = 0; i < NLOAD; i++) {
#pragma unroll
                    for (int j = 0; j < MLOAD; j++) a[(lid / 32 + i * KSTEP) * BM + lid % 32 + 32 * j] = in_next[i][j];
                }
#pragma unroll
                for (int i = 0; i < WLOAD; i++) {
                    const int e = lid + i * ITEMS;
                    if (BK * BN / 4 % ITEMS == 0 || e < BK * BN / 4) b[e] = wt_next[i];
                }
            }
            // One barrier a step: the tiles written above were last read in the
            // step before this one.
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        wt += (size_t)steps * BK * width4;
    }
#pragma unroll
    for (int j = 0; j < TM / 4; j++) {
        const int m = m0 + (tm + j * MX) * 4, x = m % w4, y = y0 + m / w4;
        if (m >= pixels) continue;
        const size_t line = ring_row(rdst, y), rline = res ? ring_row(rres, y) + x : 0;
#pragma unroll
        for (int n = 0; n < TN; n++) {
            const int k = n0 + (tn + n / 4 * NX) * 4 + n % 4;
            if (k >= outs) continue;
            float4 v = acc[n][j];
            const float a = SLOPE_OF(slope, packed, k);
            if (RES_FIRST && res) v += LD4(res + rline + (size_t)k * pitch);
            v = (float4)(activate(v.x, act, a), activate(v.y, act, a), activate(v.z, act, a), activate(v.w, act, a));
            if (!RES_FIRST && res) v += LD4(res + rline + (size_t)k * pitch);
            conv_put4(dst + line + (size_t)k * pitch, x, w, v);
        }
    }
}

#undef BM
#undef BN
#undef ITEMS
#undef KSTEP
#undef NLOAD
#undef MLOAD
#undef WLOAD
#undef IN_PLANE
