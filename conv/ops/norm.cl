// Instance normalisation: statistics of each row, and their merge.
//
// Both reduce over LS work-items of one group in an order that depends only on
// the width or height, so that results do not depend on how rows are divided
// into launches. The variance never comes from E[x²]-E[x]². Expects LS (a power
// of two) and the prelude.

#define KEEP 4

static float sum_group(float v, __local float *part, int lid) {
    barrier(CLK_LOCAL_MEM_FENCE);
    part[lid] = v;
    for (int n = LS / 2; n > 0; n /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < n) part[lid] += part[lid + n];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return part[0];
}

// For channel get_group_id(1) of row y0+get_group_id(2): mean to stats[c], sum of
// squared deviations from it to stats[C+c] of the row's slot.
__kernel __attribute__((reqd_work_group_size(LS, 1, 1)))
void norm_row_stats(__global const data_t *src, ring_t rs, __global float *stats, ring_t rstats, int y0) {
    __local float part[LS];
    const int lid = get_local_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2), w = R_W(rs);
    __global const data_t *line = src + ring_row(rs, y) + (size_t)c * R_PITCH(rs);
    const int8 lane = (int8)(0, 1, 2, 3, 4, 5, 6, 7);
    // The first vectors of every work-item wait in registers for the second pass.
    float8 kept[KEEP], acc = 0.0f;
#pragma unroll
    for (int i = 0; i < KEEP; i++) {
        const int x = 8 * (lid + i * LS);
        kept[i] = 0.0f;
        if (x < w) {
            kept[i] = LD8(line + x);
            acc += select((float8)(0.0f), kept[i], x + lane < w);
        }
    }
    for (int x = 8 * (lid + KEEP * LS); x < w; x += 8 * LS)
        acc += select((float8)(0.0f), LD8(line + x), x + lane < w);
    float4 q = acc.lo + acc.hi;
    const float mean = sum_group(q.x + q.y + q.z + q.w, part, lid) / (float)w;
    acc = 0.0f;
#pragma unroll
    for (int i = 0; i < KEEP; i++) {
        const int x = 8 * (lid + i * LS);
        const float8 v = kept[i] - mean;
        acc += select((float8)(0.0f), v * v, x + lane < w);
    }
    for (int x = 8 * (lid + KEEP * LS); x < w; x += 8 * LS) {
        const float8 v = LD8(line + x) - mean;
        acc += select((float8)(0.0f), v * v, x + lane < w);
    }
    q = acc.lo + acc.hi;
    const float m2 = sum_group(q.x + q.y + q.z + q.w, part, lid);
    if (lid == 0) {
        __global float *out = stats + R_FLOATS(rstats) + (size_t)(y % R_SLOTS(rstats)) * (2 * R_C(rs));
        out[c] = mean;
        out[R_C(rs) + c] = m2;
    }
}

// Merges all rows of statistics of a plane and turns them, with the affine
// parameters of channels [c0,c0+n), into scale and shift:
//     x·scale + shift = (x - mean)/sqrt(M2/(h·w) + eps)·weight + bias
// Rows have equal counts, so the mean is the mean of row means and
// M2 = sum(M2_row + w·(mean_row - mean)²) (Chan, Golub and LeVeque 1983).
__kernel __attribute__((reqd_work_group_size(LS, 1, 1)))
void norm_affine(__global const float *stats, ring_t rstats, int c0, __global const float *params, int n, float eps,
                 __global float *scales, ring_t rscales) {
    __local float part[LS];
    const int lid = get_local_id(0), i = get_global_id(1), c = c0 + i;
    const int all = R_C(rstats), h = R_H(rstats), w = R_W(rstats);
    stats += R_FLOATS(rstats);
    scales += R_FLOATS(rscales);
    float s = 0.0f;
    for (int y = lid; y < h; y += LS) s += stats[(size_t)y * (2 * all) + c];
    const float mean = sum_group(s, part, lid) / (float)h;
    s = 0.0f;
    for (int y = lid; y < h; y += LS) {
        const float d = stats[(size_t)y * (2 * all) + c] - mean;
        s += fma((float)w * d, d, stats[(size_t)y * (2 * all) + all + c]);
    }
    const float m2 = sum_group(s, part, lid);
    if (lid == 0) {
        const float scale = params[i] / sqrt(m2 / ((float)h * (float)w) + eps);
        scales[c] = scale;
        scales[all + c] = params[n + i] - mean * scale;
    }
}

#undef KEEP
