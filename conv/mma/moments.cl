// What conv_mma leaves of its tile for instance norm (see mma.cl). Expects what mma.cl
// does.

#define OUTPUTS (WO * MT * 16)
// Statistics of the tile: each warp finds those of its rows, whose lanes all take
// part (bias has a value for absent outputs too), then they are merged in the
// order of the warps.
#define MOMENTS \
    __local float *const moments = (__local float *)patches; /* [warp][output] means, then squares; the patch has been read */ \
    const int columns = min(w - x0, 32), made = clamp(y1 - top - wr * ROWS, 0, ROWS); \
    _Pragma("unroll") for (int m = 0; m < MT; m++) \
        _Pragma("unroll") for (int e = 0; e < 2; e++) { \
            barrier(CLK_LOCAL_MEM_FENCE); /* keeps registers few */ \
            const float shift = bias[((int)get_group_id(0) * WO + wo) * MT * 16 + m * 16 + e * 8 + quad]; \
            float sum = 0.0f, m2 = 0.0f; \
            _Pragma("unroll") for (int r = 0; r < ROWS; r++) \
                _Pragma("unroll") for (int i = 0; i < 8; i++) \
                    sum += r < made && x + i < w ? acc[r][i % 4][m][e * 2 + i / 4] : 0.0f; \
            QUAD_SUM(sum) \
            const float mean = sum / (float)max(columns * made, 1); \
            _Pragma("unroll") for (int r = 0; r < ROWS; r++) \
                _Pragma("unroll") for (int i = 0; i < 8; i++) { \
                    const float d = r < made && x + i < w ? acc[r][i % 4][m][e * 2 + i / 4] - mean : 0.0f; \
                    m2 = fma(d, d, m2); \
                } \
            QUAD_SUM(m2) \
            if (t == 0) { \
                const int k = (wo * MT + m) * 16 + e * 8 + quad; \
                moments[wr * OUTPUTS + k] = mean + shift; \
                moments[(WR + wr) * OUTPUTS + k] = m2; \
            } \
        } \
    barrier(CLK_LOCAL_MEM_FENCE); \
    for (int i = lid; i < OUTPUTS; i += GROUP) { \
        const int k = (int)get_group_id(0) * OUTPUTS + i, rows = min(y1 - top, TILE_H); \
        float mean = 0.0f, m2 = 0.0f; \
        _Pragma("unroll") for (int j = 0; j < WR; j++) \
            mean = fma((float)clamp(rows - j * ROWS, 0, ROWS), moments[j * OUTPUTS + i], mean); \
        mean /= (float)rows; \
        _Pragma("unroll") for (int j = 0; j < WR; j++) { \
            const float d = moments[j * OUTPUTS + i] - mean; \
            m2 += fma((float)(clamp(rows - j * ROWS, 0, ROWS) * columns) * d, d, moments[(WR + j) * OUTPUTS + i]); \
        } \
        if (k >= outs) continue; \
        __global float *to = partials + ((size_t)get_group_id(2) * get_num_groups(1) + get_group_id(1)) * (size_t)(2 * outs) + k; \
        to[0] = mean; \
        to[outs] = m2; \
    }
