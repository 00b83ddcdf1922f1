// Instance and group normalisation: statistics of each row, and their merge.
//
// Both reduce over the work-items of a group in an order that depends only on
// the width or height, so that results do not depend on how rows are divided
// into launches. The variance never comes from E[x²]-E[x]². Expects the prelude
// lines.cl and rowstats.cl; MS and SIDE, that of a group for a
// plane and how many channels it has; ACROSS and SLICES, how many channels and
// shares of the tiles a group has that merges tiles. MS and SIDE are powers of
// two, SIDE at most MS. MS is 1 on CPUs, whose compilers are not asked to unroll
// sums that must keep their order: PoCL's warns that it cannot.

// Tiles and rows that wait in registers for a second pass: most of those of a photo of 12 MP.
#define TILES (MS > 1 ? 8 : 1)
#define ROWS (MS > 1 ? 12 : 1)

// Sums over the slices of a group, in their order.
static float sum_slices(float v, __local float *part) {
    const int x = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    part[get_local_id(1) * ACROSS + x] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    v = 0.0f;
    for (int i = 0; i < SLICES; i++) v += part[i * ACROSS + x];
    return v;
}

// Merges statistics of tiles of height×width samples (see conv.StatsTile) into those
// of rows [y0,y1), in the order of the tiles:
//     mean = sum(n·mean_tile)/n_all, M2 = sum(M2_tile + n·(mean_tile - mean)²)
// Rows of tiles share their statistics evenly, which leaves the plane's as they
// are.
__kernel __attribute__((reqd_work_group_size(ACROSS, SLICES, 1)))
void norm_merge_tiles(__global const float *tiles, int height, int width, __global float *stats, ring_t rstats, int y0, int y1) {
    __local float part[SLICES * ACROSS];
    const int c = get_global_id(0), slice = get_local_id(1), down = get_group_id(1), y = y0 + down * height;
    const int channels = R_C(rstats), w = R_W(rstats), n = (w + width - 1) / width, rows = min(y1 - y, height);
    __global const float *p = tiles + (size_t)down * n * (2 * channels) + min(c, channels - 1);
    // The first tiles of every slice wait in registers for the second pass.
    float means[TILES], squares[TILES], s = 0.0f;
#pragma unroll
    for (int k = 0; k < TILES; k++) {
        const int i = slice + k * SLICES;
        means[k] = squares[k] = 0.0f;
        if (i < n) {
            means[k] = p[(size_t)i * (2 * channels)];
            squares[k] = p[(size_t)i * (2 * channels) + channels];
        }
    }
#pragma unroll
    for (int k = 0; k < TILES; k++) {
        const int i = slice + k * SLICES;
        if (i < n) s = fma((float)min(w - i * width, width), means[k], s);
    }
#if MS > 1
#pragma unroll 4
#endif
    for (int i = slice + TILES * SLICES; i < n; i += SLICES) s = fma((float)min(w - i * width, width), p[(size_t)i * (2 * channels)], s);
    const float mean = sum_slices(s, part) / (float)w;
    s = 0.0f;
#pragma unroll
    for (int k = 0; k < TILES; k++) {
        const int i = slice + k * SLICES;
        const float d = means[k] - mean;
        if (i < n) s += fma((float)(min(w - i * width, width) * rows) * d, d, squares[k]);
    }
#if MS > 1
#pragma unroll 4
#endif
    for (int i = slice + TILES * SLICES; i < n; i += SLICES) {
        const float d = p[(size_t)i * (2 * channels)] - mean;
        s += fma((float)(min(w - i * width, width) * rows) * d, d, p[(size_t)i * (2 * channels) + channels]);
    }
    const float m2 = sum_slices(s, part) / (float)rows;
    if (c >= channels) return;
    for (int r = slice; r < rows; r += SLICES) {
        __global float *out = stats + stats_row(rstats, y + r) + c;
        out[0] = mean;
        out[R_ALL(rstats)] = m2;
    }
}

// Merges all rows of statistics of a plane and turns them, with the affine
// parameters of its channels (C weights, C biases, C times eps), into scale and
// shift:
//     x·scale + shift = (x - mean)/sqrt(M2/(h·w) + eps)·weight + bias
// With moments they remain mean and M2, for norm_group. Rows have equal counts, so the mean is the mean of row means and
// M2 = sum(M2_row + w·(mean_row - mean)²) (Chan, Golub and LeVeque 1983). A group
// has SIDE channels side by side, which share cache lines, times MS/SIDE rows.
__kernel __attribute__((reqd_work_group_size(MS, 1, 1)))
void norm_affine(__global const float *stats, ring_t rstats, __global const float *params, __global float *scales, ring_t rscales, int moments) {
    __local float part[MS];
    const int lid = get_local_id(0), all = R_C(rstats), h = R_H(rstats), w = R_W(rstats);
    const int c = (int)get_group_id(0) * SIDE + lid % SIDE, at = min(c, all - 1), first = lid / SIDE;
    stats += R_FLOATS(rstats) + at;
    scales += R_FLOATS(rscales);
    float means[ROWS], squares[ROWS], s = 0.0f;
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        const int y = first + k * (MS / SIDE);
        means[k] = squares[k] = 0.0f;
        if (y < h) {
            means[k] = stats[(size_t)y * (2 * all)];
            squares[k] = stats[(size_t)y * (2 * all) + all];
        }
    }
#pragma unroll
    for (int k = 0; k < ROWS; k++)
        if (first + k * (MS / SIDE) < h) s += means[k];
#if MS > 1
#pragma unroll 4
#endif
    for (int y = first + ROWS * (MS / SIDE); y < h; y += MS / SIDE) s += stats[(size_t)y * (2 * all)];
    const float mean = sum_group(s, part, lid, MS, SIDE) / (float)h;
    s = 0.0f;
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        const float d = means[k] - mean;
        if (first + k * (MS / SIDE) < h) s += fma((float)w * d, d, squares[k]);
    }
#if MS > 1
#pragma unroll 4
#endif
    for (int y = first + ROWS * (MS / SIDE); y < h; y += MS / SIDE) {
        const float d = stats[(size_t)y * (2 * all)] - mean;
        s += fma((float)w * d, d, stats[(size_t)y * (2 * all) + all]);
    }
    const float m2 = sum_group(s, part, lid, MS, SIDE);
    if (lid < SIDE && c < all) {
        const float scale = params[c] / sqrt(m2 / ((float)h * (float)w) + params[2 * all + c]);
        scales[c] = moments ? mean : scale;
        scales[all + c] = moments ? m2 : params[all + c] - mean * scale;
    }
}

// Makes scale and shift, in place, of the means and M2 of channels of samples samples, of which
// together consecutive ones have mean and variance in common: one work-item for each such group.
__kernel void norm_group(__global float *scales, ring_t r, __global const float *params, int together, float samples) {
    const int all = R_C(r), first = (int)get_global_id(0) * together;
    if (first >= all) return;
    scales += R_FLOATS(r);
    float mean = 0.0f, m2 = 0.0f;
    for (int c = first; c < first + together; c++) mean += scales[c];
    mean /= (float)together;
    for (int c = first; c < first + together; c++) {
        const float d = scales[c] - mean;
        m2 += fma(samples * d, d, scales[all + c]);
    }
    const float variance = m2 / (samples * (float)together);
    for (int c = first; c < first + together; c++) {
        const float scale = params[c] / sqrt(variance + params[2 * all + c]);
        scales[c] = scale;
        scales[all + c] = params[all + c] - mean * scale;
    }
}

#undef TILES
#undef ROWS
