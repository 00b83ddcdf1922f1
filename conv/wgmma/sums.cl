// Where sums lie, and their statistics (see wgmma.cl).

// Output and row in the tile of a lane's sums of block j.
#define OUTPUT(e) ((int)get_group_id(0) * OUTS + (BLOCK == 1 ? warp : warp % 2) * 16 + (e) * 8 + quad)
#define ROW(j) (BLOCK == 1 ? (j) : (j) * 2 + 1 - warp / 2)

// Statistics of tiles of 16 rows × 16 columns, of which a tile has BLOCK. Where
// BLOCK is 2, a warp has every other row. Parts of tiles, which the lanes of a quad
// have together, are merged in a fixed order (Chan, Golub and LeVeque 1983).
#define PARTS (2 * BLOCK) // columns 0 to 7 and 8 to 15 of the rows of a warp
#define BLOCKS (16 / BLOCK) // a lane's blocks in a tile of statistics
#define MADE(p) clamp(y1 - top - (p) * 16, 0, 16) /* rows of its tile p */
#define MADE_BY(p, other) (BLOCK == 1 ? MADE(p) : (MADE(p) + 1 - (other)) / 2) /* of them, even or other ones */
#define MOMENTS { \
    const int columns = clamp(w - x, 0, 8), other = ROW(0); \
    _Pragma("unroll") for (int e_ = 0; e_ < 2; e_++) \
        _Pragma("unroll") for (int p_ = 0; p_ < BLOCK; p_++) { \
            const int made = MADE_BY(p_, other); \
            float sum_ = 0.0f, m2_ = 0.0f; \
            _Pragma("unroll") for (int i_ = 0; i_ < 2 * BLOCKS; i_++) \
                sum_ += i_ / 2 < made && 2 * t + i_ % 2 < columns ? acc[(p_ * BLOCKS + i_ / 2) * 4 + e_ * 2 + i_ % 2] : 0.0f; \
            QUAD_SUM(sum_) \
            const float mean_ = sum_ / (float)max(columns * made, 1); \
            _Pragma("unroll") for (int i_ = 0; i_ < 2 * BLOCKS; i_++) { \
                const float d_ = i_ / 2 < made && 2 * t + i_ % 2 < columns ? acc[(p_ * BLOCKS + i_ / 2) * 4 + e_ * 2 + i_ % 2] - mean_ : 0.0f; \
                m2_ = fma(d_, d_, m2_); \
            } \
            QUAD_SUM(m2_) \
            if (t == 0) part[wg * BLOCK + other][p_][OUTPUT(e_) % OUTS] = (float2)(mean_, m2_); \
        } \
    barrier(CLK_LOCAL_MEM_FENCE); \
    const int p_ = lid / OUTS, k_ = (int)get_group_id(0) * OUTS + lid % OUTS; \
    if (lid < 64 && k_ < outs && MADE(p_) > 0) { \
        float n_ = 0.0f, sum_ = 0.0f, m2_ = 0.0f; \
        _Pragma("unroll") for (int i_ = 0; i_ < PARTS; i_++) { \
            const float these_ = (float)(MADE_BY(p_, i_ % BLOCK) * clamp(w - x0 - i_ / BLOCK * 8, 0, 8)); \
            n_ += these_; \
            sum_ = fma(these_, part[i_][p_][lid % OUTS].x, sum_); \
        } \
        const float mean_ = sum_ / n_; \
        _Pragma("unroll") for (int i_ = 0; i_ < PARTS; i_++) { \
            const float these_ = (float)(MADE_BY(p_, i_ % BLOCK) * clamp(w - x0 - i_ / BLOCK * 8, 0, 8)); \
            const float d_ = part[i_][p_][lid % OUTS].x - mean_; \
            m2_ += fma(these_ * d_, d_, part[i_][p_][lid % OUTS].y); \
        } \
        __global float *to = partials + (((size_t)get_group_id(2) * BLOCK + p_) * get_num_groups(1) + get_group_id(1)) * (size_t)(2 * outs) + k_; \
        to[0] = mean_ + bias[k_]; \
        to[outs] = m2_; \
    } }
