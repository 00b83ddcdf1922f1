// gemm_morton: C = A·B in blocks of 4 rows × BC columns along Z-order curves (see
// layout.go).
//
// One work-item makes 8 rows × 8 columns of C, 2 × 8/BC blocks, in registers: per
// four terms it reads 2 × 4/BC blocks of A and 8/BC blocks of B, each one or two
// whole vectors. Z-order keeps the blocks of neighbouring work-items near each
// other in every direction. Blocks past the last are the last again, and not
// stored. What partial blocks of A and B hold beyond the matrix must be zero; C's
// is made zero.
//
// Expects: NAME, BC (2 or 4). logs are the binary logarithms of the grids' sides:
// rows of A, columns of A, columns of B, rows of B; C's has A's rows, B's columns.

#ifndef GEMM_Z_ORDER
#define GEMM_Z_ORDER
static uint gemm_spread(uint v) {
    v = (v | v << 8) & 0x00ff00ffu;
    v = (v | v << 4) & 0x0f0f0f0fu;
    v = (v | v << 2) & 0x33333333u;
    return (v | v << 1) & 0x55555555u;
}

// Block (i,j)'s place in a grid whose shorter side has 1<<common blocks.
static size_t gemm_z_order(uint i, uint j, int common) {
    const uint mask = (1u << common) - 1u;
    return (size_t)(i >> common | j >> common) << (2 * common) | gemm_spread(i & mask) << 1 | gemm_spread(j & mask);
}
#endif

#if BC == 4
#define VEC float4
#define LOADV(i, p) vload4(i, p)
#define STOREV(v, i, p) vstore4(v, i, p)
#else
#define VEC float2
#define LOADV(i, p) vload2(i, p)
#define STOREV(v, i, p) vstore2(v, i, p)
#endif

__kernel void NAME(__global const float *a, __global const float *b, int m, int n, int k, int4 logs,
                   __global float *c, __global const float *bias) {
    const int rows = (m + 3) / 4, cols = (n + BC - 1) / BC; // blocks of C
    const int bj0 = get_global_id(0) * (8 / BC), bi0 = get_global_id(1) * 2;
    if (bi0 >= rows || bj0 >= cols) return;
    const int za = min(logs.s0, logs.s1), a_cols = (k + BC - 1) / BC;
    // Rows of B's grid are blocks of four terms.
    const int zb = min(logs.s3, logs.s2), zc = min(logs.s0, logs.s2);
    VEC acc[8][8 / BC];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const float v = bias ? bias[min(bi0 * 4 + i, m - 1)] : 0.0f;
#pragma unroll
        for (int j = 0; j < 8 / BC; j++) acc[i][j] = (VEC)(v);
    }
    for (int t = 0; t < k; t += 4) {
        float4 av[8];
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int bi = min(bi0 + r, rows - 1);
#if BC == 4
            __global const float *p = a + gemm_z_order(bi, t / 4, za) * 16;
#pragma unroll
            for (int i = 0; i < 4; i++) av[4 * r + i] = vload4(i, p);
#else
            const bool two = t / 2 + 1 < a_cols;
            __global const float *p = a + gemm_z_order(bi, t / 2, za) * 8;
            __global const float *q = two ? a + gemm_z_order(bi, t / 2 + 1, za) * 8 : p;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float2 lo = vload2(i, p), hi = vload2(i, q);
                av[4 * r + i] = (float4)(lo, two ? hi : (float2)(0.0f));
            }
#endif
        }
#pragma unroll
        for (int j = 0; j < 8 / BC; j++) {
            __global const float *p = b + gemm_z_order(t / 4, min(bj0 + j, cols - 1), zb) * (4 * BC);
            const VEC b0 = LOADV(0, p), b1 = LOADV(1, p), b2 = LOADV(2, p), b3 = LOADV(3, p);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                VEC s = fma((VEC)(av[i].x), b0, acc[i][j]);
                s = fma((VEC)(av[i].y), b1, s);
                s = fma((VEC)(av[i].z), b2, s);
                acc[i][j] = fma((VEC)(av[i].w), b3, s);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < 2; r++) {
#pragma unroll
        for (int j = 0; j < 8 / BC; j++) {
            const int bi = bi0 + r, bj = bj0 + j;
            if (bi >= rows || bj >= cols) continue;
            __global float *p = c + gemm_z_order(bi, bj, zc) * (4 * BC);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                VEC v = acc[4 * r + i][j];
                if (bi * 4 + i >= m) v = (VEC)(0.0f);
                if (bj * BC + 1 >= n) v.y = 0.0f;
#if BC == 4
                if (bj * BC + 2 >= n) v.z = 0.0f;
                if (bj * BC + 3 >= n) v.w = 0.0f;
#endif
                STOREV(v, i, p);
            }
        }
    }
}

#undef VEC
#undef LOADV
#undef STOREV
