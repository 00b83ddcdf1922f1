// What conv_octets_stream leaves for instance norm (see stream.cl): statistics of R rows × 16 columns, which are a warp's. A lane has two
// outputs of an octet and two of these columns. Where a warp's samples go beyond the plane, they are added up output by output.
// Elsewhere a lane's mean and squares are merged with those of other lanes (Chan, Golub and LeVeque 1983), eight outputs at
// a time: with each lane that it meets, a lane keeps one half of the outputs and gives the other away.
#define MOMENTS { \
    PLACE \
    const int column_ = left_ + warp * 16, columns_ = clamp(w - column_, 0, 16), made_ = clamp(y1 - top_, 0, R); \
    __global float *const to_ = partials + ((size_t)((top_ - y0) / R) * (size_t)((w + 15) / 16) + (size_t)(column_ / 16)) * (size_t)(2 * outs) + first; \
    const bool whole_ = columns_ == 16 && made_ == R, partly_ = !whole_ && columns_ > 0 && made_ > 0; \
    if (OCT_WARP_IF(whole_)) { \
        _Pragma("unroll") for (int j_ = 0; j_ < NT; j_ += 4) MERGED(j_) \
    } \
    if (OCT_WARP_IF(partly_)) _Pragma("unroll 1") for (int j_ = 0; j_ < NT; j_++) { \
        _Pragma("unroll") for (int i = 0; i < 2; i++) PARTIAL(j_, i) \
        NEXT_OCTET \
    } }
// Moves the lane's sums on by an octet, and those of the first to the last place: a loop cannot choose among registers, and
// unrolled this would be half of the program.
#define NEXT_OCTET \
    EACH_ROW _Pragma("unroll") for (int c_ = 0; c_ < 4; c_++) { \
        const float first_ = acc[r][0][c_]; \
        _Pragma("unroll") for (int k_ = 0; k_ < NT - 1; k_++) acc[r][k_][c_] = acc[r][k_ + 1][c_]; \
        acc[r][NT - 1][c_] = first_; \
    }
#define LEAVE(is, n, mean, m2) \
    if ((is) && first + (n) < outs) { \
        uint b_[2]; \
        OCT_LD2(b_, biases + ((n) & ~1) * 4) \
        to_[n] = (mean) + as_float(b_[(n) & 1]); \
        to_[outs + (n)] = m2; \
    }
// Output i of the lane's in octet j, which is in the first place.
#define PARTIAL(j, i) { \
    const float count_ = (float)max(columns_ * made_, 1); \
    float mean_ = 0.0f, m2_ = 0.0f; \
    EACH_ROW EACH_PIXEL mean_ += r < made_ && g + 8 * e < columns_ ? acc[r][0][2 * e + (i)] : 0.0f; \
    ADD_LANES(mean_) \
    mean_ /= count_; \
    EACH_ROW EACH_PIXEL { \
        const float d_ = r < made_ && g + 8 * e < columns_ ? acc[r][0][2 * e + (i)] - mean_ : 0.0f; \
        m2_ = fma(d_, d_, m2_); \
    } \
    ADD_LANES(m2_) \
    LEAVE(partly_ && g == 0, (j) * 8 + 2 * t + (i), mean_, m2_) \
    }
#define ADD_LANES(v) { \
    _Pragma("unroll") for (int b_ = 4; b_ < 32; b_ *= 2) { \
        float other_; \
        OCT_OTHER(other_, v, b_) \
        (v) += other_; \
    } }
// The lane's outputs of octets j to j+3.
#define MERGED(j) { \
    float mean_[8], m2_[8]; \
    _Pragma("unroll") for (int i = 0; i < 8; i++) { \
        mean_[i] = m2_[i] = 0.0f; \
        if ((j) + i / 2 < NT) { \
            EACH_ROW EACH_PIXEL mean_[i] += acc[r][(j) + i / 2][2 * e + i % 2]; \
            mean_[i] *= 1.0f / (2 * R); \
            EACH_ROW EACH_PIXEL { \
                const float d_ = acc[r][(j) + i / 2][2 * e + i % 2] - mean_[i]; \
                m2_[i] = fma(d_, d_, m2_[i]); \
            } \
        } \
    } \
    MEET(4, 16, 2 * R) \
    MEET(2, 8, 4 * R) \
    MEET(1, 4, 8 * R) \
    const int n_ = ((j) + g / 2) * 8 + 2 * t + g % 2; \
    LEAVE(whole_ && n_ < OUTS, n_, mean_[0], m2_[0]) \
    }
// Merges statistics of n samples each with those of the lane whose number differs in bit, half outputs of twice as many.
#define MEET(half, bit, n) \
    _Pragma("unroll") for (int i = 0; i < (half); i++) { \
        const bool high_ = lane & (bit); \
        float mean1_, m21_; \
        OCT_OTHER(mean1_, high_ ? mean_[i] : mean_[i + (half)], bit) \
        OCT_OTHER(m21_, high_ ? m2_[i] : m2_[i + (half)], bit) \
        const float mean0_ = high_ ? mean_[i + (half)] : mean_[i], d_ = mean0_ - mean1_; \
        m2_[i] = fma(d_ * d_, 0.5f * (n), (high_ ? m2_[i + (half)] : m2_[i]) + m21_); \
        mean_[i] = 0.5f * (mean0_ + mean1_); \
    }
