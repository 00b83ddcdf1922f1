// How sums begin and leave (see octets.cl): a lane has outputs 2t and 2t+1 of an octet of pixels g and g+8, so that
// eight pixels of an octet leave together.
#if RAGGED
#define PRESENT(n, v) (first + (n) < outs ? (v) : 0.0f)
#else
#define PRESENT(n, v) (v)
#endif
#ifdef ACT_SLOPES
#define SLOPES(v, n) OCT_LD2(v, biases + OUTS * 4 + (n) * 4)
#define SLOPE(v, i) as_float((v)[i])
#else
#define SLOPES(v, n)
#define SLOPE(v, i) slope
#endif

// What a lane has of a tile: its first column, its first row, its first octet; and whether all of the tile is there and none of its
// columns stands for one of the rim.
#define PLACE \
    const int left_ = tile % across * TILE_W, x0_ = left_ + warp * 16 + g, top_ = TOP, octet_ = first / 8;
#define INSIDE \
    const bool at_edge_ = left_ <= RIM || left_ + TILE_W >= w - 1 - RIM, inside_ = !at_edge_ && top_ + R <= y1;
#define EACH_ROW _Pragma("unroll") for (int r = 0; r < R; r++)
#define EACH_OCTET _Pragma("unroll") for (int j = 0; j < NT; j++)
#define EACH_PIXEL _Pragma("unroll") for (int e = 0; e < 2; e++) // of the lane's two
#define EACH_OUTPUT _Pragma("unroll") for (int i = 0; i < 2; i++) // of the lane's two of an octet
#define X (x0_ + e * 8)
#define SUM(i) acc[r][j][2 * e + (i)]

// Where it is added before an activation, or there is none, a residual is what sums begin with (RESIDUALS 1), so that it is on its
// way while patches are. With 2 it is added in the end, with 0 there is none.
#define ZERO_SUMS EACH_ROW EACH_OCTET EACH_PIXEL EACH_OUTPUT SUM(i) = 0.0f;
#if RESIDUALS == 1
#define BEGIN_SUMS \
    if (res) { \
        PLACE \
        EACH_ROW { \
            RESIDUAL_ROW(r) \
            EACH_OCTET EACH_PIXEL RESIDUAL(SUM(0), SUM(1)) \
        } \
    } else ZERO_SUMS
#define ADD_RESIDUALS
#else
#define BEGIN_SUMS ZERO_SUMS
#define ADD_RESIDUALS \
    if (RESIDUALS == 2 && res) EACH_ROW { \
        RESIDUAL_ROW(r) \
        EACH_PIXEL { \
            float l_, h_; \
            RESIDUAL(l_, h_) \
            SUM(0) += l_; \
            SUM(1) += h_; \
        } \
    }
#endif

// COPY_TO_RIM copies what the lane has stored to the columns of the rim that its columns stand for. Sums are in registers, which no loop
// can choose from: unrolled, this would be half of the program.
#if PLANAR
#define RESIDUAL_ROW(r) __global const data_t *from_ = res + ring_row(rres, min(top_ + r, y1 - 1));
#define RESIDUAL(l, h) { \
    const int o_ = first + j * 8 + 2 * t; \
    l = o_ < outs ? LD1(from_ + (size_t)o_ * R_PITCH(rres), X) : 0.0f; \
    h = o_ + 1 < outs ? LD1(from_ + (size_t)(o_ + 1) * R_PITCH(rres), X) : 0.0f; \
    }
// Inside, a lane gets one output of pixels 2t and 2t+1.
#define LINES \
    __global data_t *line_[R]; \
    EACH_ROW line_[r] = dst + ring_row(rdst, min(top_ + r, y1 - 1)) + (size_t)first * pitch;
#define PUT_INSIDE \
    EACH_ROW EACH_PIXEL { \
        uint d_; \
        OCT_PACK2(d_, SUM(0), SUM(1)) \
        OCT_TRANSPOSE(d_, d_) \
        if (first + j * 8 + g < outs) *(__global uint *)(line_[r] + (size_t)(j * 8 + g) * pitch + left_ + warp * 16 + e * 8 + 2 * t) = d_; \
    }
#define PUT if (inside_) { PUT_INSIDE } else if (first + j * 8 < outs) { PUT_AT_EDGE }
#define PUT_AT_EDGE \
    EACH_ROW EACH_PIXEL EACH_OUTPUT { \
        const int n_ = j * 8 + 2 * t + i; \
        if (first + n_ < outs && X < w && top_ + r < y1) ST1(SUM(i), line_[r] + (size_t)n_ * pitch, X); \
    }
#define COPY_TO_RIM \
    if (at_edge_) _Pragma("unroll 1") for (int e = 0; e < 2; e++) \
        _Pragma("unroll 1") for (int r = 0; r < R && top_ + r < y1 && X < w; r++) \
            _Pragma("unroll 1") for (int n_ = 2 * t; n_ < OUTS && first + n_ < outs; n_ += n_ % 2 ? 7 : 1) { \
                __global data_t *to_ = dst + ring_row(rdst, top_ + r) + (size_t)(first + n_) * pitch; \
                put(to_, X, w, LD1(to_, X)); \
            }
#else
#define RESIDUAL_ROW(r) \
    __global const uint *from_ = (__global const uint *)res + (octets_row(rres, min(top_ + r, y1 - 1)) + octet_ * (size_t)R_PITCH(rres)) * 4 + t;
#define RESIDUAL(l, h) { \
    const uint q_ = octet_ + j < R_C(rres) ? from_[4 * (j * (size_t)R_PITCH(rres) + X)] : 0; \
    OCT_UNPACK2(l, h, q_) \
    }
// Which of the lane's pixels of a tile are there, in bits.
#define LINES \
    __global uint *line_[R]; \
    uint there_ = 0; \
    EACH_ROW { \
        line_[r] = (__global uint *)dst + (octets_row(rdst, min(top_ + r, y1 - 1)) + octet_ * (size_t)pitch + x0_) * 4 + t; \
        EACH_PIXEL if (inside_ || (top_ + r < y1 && X < w)) there_ |= 1u << (2 * r + e); \
    }
#define PUT { \
    const uint stored_ = first + j * 8 < outs ? there_ : 0; \
    EACH_ROW EACH_PIXEL { \
        uint d_; \
        OCT_PACK2(d_, SUM(0), SUM(1)) \
        if (stored_ >> (2 * r + e) & 1) line_[r][4 * (j * (size_t)pitch) + 32 * e] = d_; \
    } }
#define COPY_TO_RIM \
    if (at_edge_) _Pragma("unroll 1") for (int e = 0; e < 2; e++) { \
        const uint copies_ = octets_copies(X, w); \
        if (copies_ != 0) _Pragma("unroll 1") for (int r = 0; r < R && top_ + r < y1; r++) { \
            __global uint *from_ = (__global uint *)dst + (octets_row(rdst, top_ + r) + octet_ * (size_t)pitch + X) * 4 + t; \
            uint d_[NT]; \
            EACH_OCTET d_[j] = first + j * 8 < outs ? from_[4 * (j * (size_t)pitch)] : 0; \
            _Pragma("unroll 1") for (uint c_ = copies_; c_ != 0; c_ &= c_ - 1) { \
                const int b_ = 31 - clz(c_ & -c_); \
                __global uint *to_ = from_ + 4 * ((b_ < RIM ? -1 - b_ : w + b_ - RIM) - X); \
                EACH_OCTET if (first + j * 8 < outs) to_[4 * (j * (size_t)pitch)] = OCTETS_RIM_WORD(d_[j]); \
            } \
        } \
    }
#endif

// An octet's results are computed for all rows and then stored, without branches that depend on the tile: branches between
// rows would leave each lane to wait for its last few instructions again and again.
#define STORE { \
    PLACE \
    INSIDE \
    LINES \
    uint b_[2], s_[2] = {0, 0}; \
    OCT_LD2(b_, biases + 8 * t) \
    SLOPES(s_, 2 * t) \
    EACH_OCTET { \
        EACH_ROW EACH_PIXEL EACH_OUTPUT SUM(i) = PRESENT(j * 8 + 2 * t + i, activate(SUM(i) + as_float(b_[i]), ACT, SLOPE(s_, i))); \
        ADD_RESIDUALS \
        if (j + 1 < NT) { \
            OCT_LD2(b_, biases + 32 * (j + 1) + 8 * t) \
            SLOPES(s_, 8 * (j + 1) + 2 * t) \
        } \
        PUT \
    } \
    COPY_TO_RIM \
    }
