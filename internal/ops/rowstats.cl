// Statistics of rows for instance and group normalisation. Sums are in an order that depends on the width
// alone. Expects the prelude and lines.cl; NAME; LS, the size of a group, a power of two; STORED, what a line
// is of, LINE, which finds that of channel c of row y, and EIGHT(x), its columns from x on.
#ifndef OPS_SUMS
#define OPS_SUMS
// Sums over those of size work-items whose indices are equal modulo side.
static float sum_group(float v, __local float *part, int lid, int size, int side) {
    barrier(CLK_LOCAL_MEM_FENCE);
    part[lid] = v;
    for (int n = size / 2; n >= side; n /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < n) part[lid] += part[lid + n];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return part[lid % side];
}

// Where the statistics of row y of a view's first channel are.
static size_t stats_row(ring_t r, int y) { return R_FLOATS(r) + (size_t)(y % R_SLOTS(r)) * (size_t)(2 * R_ALL(r)) + (size_t)R_FIRST(r); }
#endif

// For channel get_group_id(1) of row y0+get_group_id(2): mean to stats[c], sum of
// squared deviations from it to stats[all+c] of the row's slot, where rstats' first
// channel is the first c of all.
__kernel __attribute__((reqd_work_group_size(LS, 1, 1)))
void NAME(__global const STORED *src, ring_t rs, __global float *stats, ring_t rstats, int y0) {
    __local float part[LS];
    const int lid = get_local_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2), w = R_W(rs);
    LINE
    const int8 lane = (int8)(0, 1, 2, 3, 4, 5, 6, 7);
    // The first four vectors of every work-item wait in registers for the second pass.
    float8 kept[4], acc = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int x = 8 * (lid + i * LS);
        kept[i] = 0.0f;
        if (x < w) {
            kept[i] = EIGHT(x);
            acc += select((float8)(0.0f), kept[i], x + lane < w);
        }
    }
    for (int x = 8 * (lid + 4 * LS); x < w; x += 8 * LS)
        acc += select((float8)(0.0f), EIGHT(x), x + lane < w);
    float4 q = acc.lo + acc.hi;
    const float mean = sum_group(q.x + q.y + q.z + q.w, part, lid, LS, 1) / (float)w;
    acc = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int x = 8 * (lid + i * LS);
        const float8 v = kept[i] - mean;
        acc += select((float8)(0.0f), v * v, x + lane < w);
    }
    for (int x = 8 * (lid + 4 * LS); x < w; x += 8 * LS) {
        const float8 v = EIGHT(x) - mean;
        acc += select((float8)(0.0f), v * v, x + lane < w);
    }
    q = acc.lo + acc.hi;
    const float m2 = sum_group(q.x + q.y + q.z + q.w, part, lid, LS, 1);
    if (lid == 0) {
        __global float *out = stats + stats_row(rstats, y) + c;
        out[0] = mean;
        out[R_ALL(rstats)] = m2;
    }
}
