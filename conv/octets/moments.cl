// What conv_octets_stream leaves for instance norm (see stream.cl): statistics of R rows × 16 columns, which are a warp's. A lane has two
// outputs of an octet and two of these columns. Lanes are added in one order, as are the rows and
// columns of a lane.
#define MOMENTS { \
    PLACE \
    const int column_ = left_ + warp * 16, columns_ = clamp(w - column_, 0, 16), made_ = clamp(y1 - top_, 0, R); \
    const float count_ = (float)max(columns_ * made_, 1); \
    __global float *const to_ = partials + ((size_t)((top_ - y0) / R) * (size_t)((w + 15) / 16) + (size_t)(column_ / 16)) * (size_t)(2 * outs) + first; \
    EACH_OCTET { \
        float mean_[2], m2_[2]; \
        _Pragma("unroll") for (int i = 0; i < 2; i++) { \
            mean_[i] = m2_[i] = 0.0f; \
            EACH_ROW EACH_PIXEL mean_[i] += r < made_ && g + 8 * e < columns_ ? acc[r][j][2 * e + i] : 0.0f; \
            ADD_LANES(mean_[i]) \
            mean_[i] /= count_; \
            EACH_ROW EACH_PIXEL { \
                const float d_ = r < made_ && g + 8 * e < columns_ ? acc[r][j][2 * e + i] - mean_[i] : 0.0f; \
                m2_[i] = fma(d_, d_, m2_[i]); \
            } \
            ADD_LANES(m2_[i]) \
        } \
        if (g == 0 && columns_ > 0 && made_ > 0) { \
            const int n_ = j * 8 + 2 * t; \
            uint b_[2]; \
            OCT_LD2(b_, biases + n_ * 4) \
            _Pragma("unroll") for (int i = 0; i < 2; i++) \
                if (first + n_ + i < outs) { \
                    to_[n_ + i] = mean_[i] + as_float(b_[i]); \
                    to_[outs + n_ + i] = m2_[i]; \
                } \
        } \
    } }
// Sums over the lanes of eight columns.
#define ADD_LANES(v) OCT_ADD_OTHER(v, 4) OCT_ADD_OTHER(v, 8) OCT_ADD_OTHER(v, 16)
