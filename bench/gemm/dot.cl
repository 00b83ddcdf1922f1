// gemm_dot: C = A·B where A has the terms of a row side by side and B those of a
// column, so that four terms of either are one vector.
//
// One work-item makes SIDE × SIDE elements of C by dot products of four terms. A lies
// by rows, or in tiles of TILE rows × 4 terms, by rows inside and one row of tiles after
// another; B likewise with columns for rows. C lies by rows if TILE is 0, else in
// tiles of 4 rows × TILE columns, by columns inside and one column of tiles after
// another, as B does. What tiles hold beyond A and B must be zero; in C it is made
// zero.
//
// Expects: NAME, SIDE (1 or 2), TILE (0, 2 or 4; SIDE divides it).

// Terms t..t+3 of a line of A (a row) or B (a column), zeros past the last.
static float4 NAME(four)(__global const float *p, int line, int t, int k) {
#if TILE > 0
    return vload4(0, p + ((size_t)(line / TILE) * ((k + 3) / 4) + t / 4) * (4 * TILE) + line % TILE * 4);
#else
    p += (size_t)line * k + t;
    if (t + 3 < k) return vload4(0, p);
    return (float4)(p[0], t + 1 < k ? p[1] : 0.0f, t + 2 < k ? p[2] : 0.0f, 0.0f);
#endif
}

__kernel void NAME(dot)(__global const float *a, __global const float *b, int m, int n, int k,
                        __global float *c, __global const float *bias) {
    const int j0 = SIDE * get_global_id(0), i0 = SIDE * get_global_id(1);
#if TILE > 0
    const int rows = (m + 3) / 4 * 4, cols = (n + TILE - 1) / TILE * TILE;
    const int last_row = (m + TILE - 1) / TILE * TILE - 1, last_col = cols - 1;
#else
    const int rows = m, cols = n, last_row = m - 1, last_col = n - 1;
#endif
    if (i0 >= rows || j0 >= cols) return;
    float sum[SIDE][SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int j = 0; j < SIDE; j++) sum[i][j] = bias && i0 + i < m ? bias[i0 + i] : 0.0f;
    for (int t = 0; t < k; t += 4) {
        float4 row[SIDE], col[SIDE];
        // Lines past the last are the last again, and not stored.
#pragma unroll
        for (int i = 0; i < SIDE; i++) row[i] = NAME(four)(a, min(i0 + i, last_row), t, k);
#pragma unroll
        for (int j = 0; j < SIDE; j++) col[j] = NAME(four)(b, min(j0 + j, last_col), t, k);
#pragma unroll
        for (int i = 0; i < SIDE; i++)
#pragma unroll
            for (int j = 0; j < SIDE; j++) sum[i][j] += dot(row[i], col[j]);
    }
#pragma unroll
    for (int j = 0; j < SIDE; j++)
#pragma unroll
        for (int i = 0; i < SIDE; i++) {
            const int y = i0 + i, x = j0 + j;
            if (y >= rows || x >= cols) continue;
#if TILE > 0
            c[((size_t)(x / TILE) * (rows / 4) + y / 4) * (4 * TILE) + x % TILE * 4 + y % 4] = y < m && x < n ? sum[i][j] : 0.0f;
#else
            c[(size_t)y * n + x] = sum[i][j];
#endif
        }
}
