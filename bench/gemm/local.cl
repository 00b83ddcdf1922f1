// gemm_local: C = A·B through local memory, for GPUs.
//
// A is m×k and B k×n, row-major. A work-group of MY·NX work-items makes a tile of
// BM = MY·TM rows × BN = NX·TN columns, BK terms at a time; while one pair of
// tiles is multiplied the next is on its way from global memory in registers.
// A's tile is stored by columns, its lines four longer than BM against bank
// conflicts. Each work-item keeps TM×TN sums in registers. The sum of an element
// begins with its bias and runs over the terms in order, whatever the tile.
//
// Expects: NAME, BK, MY, NX, TM, TN (TM and TN multiples of 4), and the hooks
// B_TYPE, B_LOAD(p, i), PARAMS, BIAS(i, j), STORE4(i, j, v), where the
// product's i < m, j < n, j is a multiple of 4 and v are columns j..j+3.

#define BM (MY * TM)
#define BN (NX * TN)
#define ITEMS (MY * NX)
#define ALINE (BM + 4)
#define ALOAD ((BM * BK + ITEMS - 1) / ITEMS)
#define BLOAD (BN * BK / ITEMS)

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void NAME(__global const float *a, __global const B_TYPE *b, int m, int n, int k, PARAMS) {
    __local float4 a_tile[2][BK * ALINE / 4];
    __local float4 b_tile[2][BK * BN / 4];
    const int lid = get_local_id(0), tc = lid % NX, tr = lid / NX;
    const int col0 = get_group_id(0) * BN, row0 = get_group_id(1) * BM;

    float4 acc[TM][TN / 4];
#pragma unroll
    for (int i = 0; i < TM; i++) {
        const int row = row0 + (tr + i / 4 * MY) * 4 + i % 4;
#pragma unroll
        for (int j = 0; j < TN / 4; j++) {
            const int col = col0 + (tc + j * NX) * 4;
            acc[i][j] = (float4)(0.0f);
            if (row < m && col < n)
                acc[i][j] = (float4)(BIAS(row, col), BIAS(row, min(col + 1, n - 1)), BIAS(row, min(col + 2, n - 1)), BIAS(row, min(col + 3, n - 1)));
        }
    }
    const int steps = (k + BK - 1) / BK;
    for (int step = -1; step < steps; step++) {
        float a_next[ALOAD], b_next[BLOAD];
        if (step + 1 < steps) {
            const int t0 = (step + 1) * BK;
#pragma unroll
            for (int i = 0; i < ALOAD; i++) {
                const int e = lid + i * ITEMS, t = t0 + e % BK, row = row0 + e / BK;
                a_next[i] = row < row0 + BM && t < k && row < m ? a[(size_t)row * k + t] : 0.0f;
            }
#pragma unroll
            for (int i = 0; i < BLOAD; i++) {
                const int e = lid + i * ITEMS, col = col0 + e % BN, t = t0 + e / BN;
                b_next[i] = t < k && col < n ? B_LOAD(b, (size_t)t * n + col) : 0.0f;
            }
        }
        if (step >= 0) {
            __local const float4 *at = a_tile[step & 1] + tr, *bt = b_tile[step & 1] + tc;
#pragma unroll 4
            for (int t = 0; t < BK; t++, at += ALINE / 4, bt += BN / 4) {
                float4 bv[TN / 4];
#pragma unroll
                for (int j = 0; j < TN / 4; j++) bv[j] = bt[j * NX];
#pragma unroll
                for (int i = 0; i < TM / 4; i++) {
                    const float4 av = at[i * MY];
#pragma unroll
                    for (int j = 0; j < TN / 4; j++) {
                        acc[4 * i][j] = fma((float4)(av.x), bv[j], acc[4 * i][j]);
                        acc[4 * i + 1][j] = fma((float4)(av.y), bv[j], acc[4 * i + 1][j]);
                        acc[4 * i + 2][j] = fma((float4)(av.z), bv[j], acc[4 * i + 2][j]);
                        acc[4 * i + 3][j] = fma((float4)(av.w), bv[j], acc[4 * i + 3][j]);
                    }
                }
            }
        }
        if (step + 1 < steps) {
            __local float *at = (__local float *)a_tile[(step + 1) & 1], *bt = (__local float *)b_tile[(step + 1) & 1];
#pragma unroll
            for (int i = 0; i < ALOAD; i++) {
                const int e = lid + i * ITEMS;
                if (BM * BK % ITEMS == 0 || e < BM * BK) at[e % BK * ALINE + e / BK] = a_next[i];
            }
#pragma unroll
            for (int i = 0; i < BLOAD; i++) bt[lid + i * ITEMS] = b_next[i];
        }
        // One barrier a step: the tiles written above were last read in the step
        // before this one.
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int i = 0; i < TM; i++) {
        const int row = row0 + (tr + i / 4 * MY) * 4 + i % 4;
        if (row >= m) continue;
#pragma unroll
        for (int j = 0; j < TN / 4; j++) {
            const int col = col0 + (tc + j * NX) * 4;
            if (col < n) { STORE4(row, col, acc[i][j]); }
        }
    }
}

#undef BM
#undef BN
#undef ITEMS
#undef ALINE
#undef ALOAD
#undef BLOAD
