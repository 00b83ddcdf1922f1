// Where sums lie, and their statistics (see wgmma.cl).

// Output and row in the tile of a lane's sums of block j.
#define OUTPUT(e) ((int)get_group_id(0) * OUTS + (BLOCK == 1 ? warp * 16 + (e) * 8 : warp * 8) + quad)
#define ROW(j, e) (BLOCK == 1 ? (j) : (j) * 2 + (e))

// Statistics of pieces of 16 rows × 16 columns. The lanes of a quad have one side of
// them, of both of a lane's outputs or of both halves of its rows; the sides are then
// merged (Chan, Golub and LeVeque 1983).
#define SUM(p, n, i) acc[(BLOCK == 1 ? (n) * 4 + (p) * 2 : ((p) * 8 + (n) / 2) * 4 + (n) % 2 * 2) + (i)] /* row n of piece p */
#define DOWN(p) (BLOCK == 1 ? 0 : (p)) /* piece p's place below the tile's first */
#define MADE(p) clamp(y1 - top - DOWN(p) * 16, 0, 16)
#define SIDE(p) side[warp * 16 + (p) * 8 + quad]
#define MOMENTS { \
    float mean[2], m2[2]; \
    _Pragma("unroll") for (int p_ = 0; p_ < 2; p_++) { \
        const int columns = clamp(w - x, 0, 8), made = MADE(p_); \
        float s_ = 0.0f; \
        _Pragma("unroll") for (int n_ = 0; n_ < 32; n_++) \
            s_ += n_ / 2 < made && 2 * t + n_ % 2 < columns ? SUM(p_, n_ / 2, n_ % 2) : 0.0f; \
        QUAD_SUM(s_) \
        mean[p_] = s_ / (float)max(columns * made, 1); \
        s_ = 0.0f; \
        _Pragma("unroll") for (int n_ = 0; n_ < 32; n_++) { \
            const float d = n_ / 2 < made && 2 * t + n_ % 2 < columns ? SUM(p_, n_ / 2, n_ % 2) - mean[p_] : 0.0f; \
            s_ = fma(d, d, s_); \
        } \
        QUAD_SUM(s_) \
        m2[p_] = s_; \
        if (wg == 1 && t == 0) SIDE(p_) = (float2)(mean[p_], s_); \
    } \
    barrier(CLK_LOCAL_MEM_FENCE); \
    if (wg == 0 && t == 0) { \
        const int ln = min(w - x0, 8), rn = clamp(w - x0 - 8, 0, 8); \
        _Pragma("unroll") for (int p_ = 0; p_ < 2; p_++) { \
            const int k = OUTPUT(p_), made = MADE(p_); \
            if (k >= outs || made == 0) continue; \
            const float2 right = SIDE(p_); \
            const float all = fma((float)rn, right.x, (float)ln * mean[p_]) / (float)(ln + rn), l = mean[p_] - all, r = right.x - all; \
            __global float *to = partials + (((size_t)get_group_id(2) * BLOCK + DOWN(p_)) * get_num_groups(1) + get_group_id(1)) * (size_t)(2 * outs) + k; \
            to[0] = all + bias[k]; \
            to[outs] = fma((float)(made * ln) * l, l, m2[p_]) + fma((float)(made * rn) * r, r, right.y); \
        } \
    } }
