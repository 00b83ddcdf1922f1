// gemm_naive, gemm_vector, gemm_pack: products without local memory, by rows.
//
//	C[i][j] = bias + sum over t of A[i][t]·B[t][j]
//
// A is m×k, B k×n, C m×n, all row-major. bias may be null; bias_axis says whether
// it has one value a row of C (0) or one a column (1). A product by columns is the
// product of the swapped matrices by rows.

#define GEMM_BIAS(i, j) (bias ? bias[bias_axis ? (j) : (i)] : 0.0f)

// One work-item an element of C: dimension 0 is the column, 1 the row.
__kernel void gemm_naive(__global const float *a, __global const float *b, int m, int n, int k,
                         __global float *c, __global const float *bias, int bias_axis) {
    const int j = get_global_id(0), i = get_global_id(1);
    if (i >= m || j >= n) return;
    float sum = GEMM_BIAS(i, j);
    for (int t = 0; t < k; t++) sum = fma(a[(size_t)i * k + t], b[(size_t)t * n + j], sum);
    c[(size_t)i * n + j] = sum;
}

// The same where B lies by columns.
__kernel void gemm_naive_columns(__global const float *a, __global const float *b, int m, int n, int k,
                                 __global float *c, __global const float *bias, int bias_axis) {
    const int j = get_global_id(0), i = get_global_id(1);
    if (i >= m || j >= n) return;
    float sum = GEMM_BIAS(i, j);
    for (int t = 0; t < k; t++) sum = fma(a[(size_t)i * k + t], b[(size_t)j * k + t], sum);
    c[(size_t)i * n + j] = sum;
}

// Up to four floats of a line from column j on, zeros past its end.
static float4 gemm_load4(__global const float *line, int j, int n) {
    if (j + 3 < n) return vload4(0, line + j);
    return (float4)(j < n ? line[j] : 0.0f, j + 1 < n ? line[j + 1] : 0.0f, j + 2 < n ? line[j + 2] : 0.0f, 0.0f);
}

static void gemm_store4(__global float *line, int j, int n, float4 v) {
    if (j + 3 < n) {
        vstore4(v, 0, line + j);
        return;
    }
    if (j < n) line[j] = v.x;
    if (j + 1 < n) line[j + 1] = v.y;
    if (j + 2 < n) line[j + 2] = v.z;
}

static float4 gemm_row(float4 x, float4 b0, float4 b1, float4 b2, float4 b3, float4 sum) {
    sum = fma((float4)(x.x), b0, sum);
    sum = fma((float4)(x.y), b1, sum);
    sum = fma((float4)(x.z), b2, sum);
    return fma((float4)(x.w), b3, sum);
}

// One work-item 4 rows × 4 columns of C, four terms at a time, all loads vectors.
__kernel void gemm_vector(__global const float *a, __global const float *b, int m, int n, int k,
                          __global float *c, __global const float *bias, int bias_axis) {
    const int j = 4 * get_global_id(0), i = 4 * get_global_id(1);
    if (i >= m || j >= n) return;
    // Rows past the last are the last one again, and not stored.
    const int i1 = min(i + 1, m - 1), i2 = min(i + 2, m - 1), i3 = min(i + 3, m - 1);
    const int j1 = min(j + 1, n - 1), j2 = min(j + 2, n - 1), j3 = min(j + 3, n - 1);
    float4 s0 = (float4)(GEMM_BIAS(i, j), GEMM_BIAS(i, j1), GEMM_BIAS(i, j2), GEMM_BIAS(i, j3));
    float4 s1 = (float4)(GEMM_BIAS(i1, j), GEMM_BIAS(i1, j1), GEMM_BIAS(i1, j2), GEMM_BIAS(i1, j3));
    float4 s2 = (float4)(GEMM_BIAS(i2, j), GEMM_BIAS(i2, j1), GEMM_BIAS(i2, j2), GEMM_BIAS(i2, j3));
    float4 s3 = (float4)(GEMM_BIAS(i3, j), GEMM_BIAS(i3, j1), GEMM_BIAS(i3, j2), GEMM_BIAS(i3, j3));
    for (int t = 0; t < k; t += 4) {
        const float4 zero = (float4)(0.0f);
        __global const float *line = b + (size_t)t * n;
        const float4 b0 = gemm_load4(line, j, n), b1 = t + 1 < k ? gemm_load4(line + n, j, n) : zero;
        const float4 b2 = t + 2 < k ? gemm_load4(line + 2 * (size_t)n, j, n) : zero;
        const float4 b3 = t + 3 < k ? gemm_load4(line + 3 * (size_t)n, j, n) : zero;
        s0 = gemm_row(gemm_load4(a + (size_t)i * k, t, k), b0, b1, b2, b3, s0);
        s1 = gemm_row(gemm_load4(a + (size_t)i1 * k, t, k), b0, b1, b2, b3, s1);
        s2 = gemm_row(gemm_load4(a + (size_t)i2 * k, t, k), b0, b1, b2, b3, s2);
        s3 = gemm_row(gemm_load4(a + (size_t)i3 * k, t, k), b0, b1, b2, b3, s3);
    }
    gemm_store4(c + (size_t)i * n, j, n, s0);
    if (i + 1 < m) gemm_store4(c + (size_t)i1 * n, j, n, s1);
    if (i + 2 < m) gemm_store4(c + (size_t)i2 * n, j, n, s2);
    if (i + 3 < m) gemm_store4(c + (size_t)i3 * n, j, n, s3);
}

// Packs row-major A for gemm_panel: [lanes-block of rows][k][lanes], rows past the
// last zero. Dimension 0 is the term, 1 the block.
__kernel void gemm_pack(__global const float *a, int m, int k, __global float *packed, int lanes) {
    const int t = get_global_id(0), block = get_global_id(1);
    if (t >= k) return;
    __global float *to = packed + ((size_t)block * k + t) * lanes;
    for (int i = 0; i < lanes; i++) {
        const int row = block * lanes + i;
        to[i] = row < m ? a[(size_t)row * k + t] : 0.0f;
    }
}

#undef GEMM_BIAS
