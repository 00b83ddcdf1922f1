// How sums begin and leave (see octets.cl): a lane has outputs 2t and 2t+1 of an octet of pixels g and g+8, so that
// eight pixels of an octet leave together.
#ifndef OCTETS_COPIES
#define OCTETS_COPIES
#ifdef PAD_ZERO
#define OCTETS_RIM_WORD(v) 0
#else
#define OCTETS_RIM_WORD(v) (v)
#endif
// The columns of the rim that column x stands for, the left ones in the lower RIM bits.
static uint octets_copies(int x, int w) {
    uint all = 0;
    if (x < w && (x <= RIM || x >= w - 1 - RIM))
#pragma unroll 1
        for (int b = 0; b < RIM; b++) {
            if (pad_index(-1 - b, w) == x) all |= 1u << b;
            if (pad_index(w + b, w) == x) all |= 1u << (RIM + b);
        }
    return all;
}
#endif

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

// What a lane has of a tile: its first column, its first row, which of its columns there are.
#define PLACE \
    const int left_ = tile % across * TILE_W, x0_ = left_ + warp * 16 + g, top_ = y0 + tile / across * R, octet_ = first / 8;
#define EACH_ROW _Pragma("unroll") for (int r = 0; r < R; r++)
#define EACH_OCTET _Pragma("unroll") for (int j = 0; j < NT; j++)
#define EACH_PIXEL _Pragma("unroll") for (int e = 0; e < 2; e++) // of the lane's two
#define X (x0_ + e * 8)

// Without an activation, or before it, a residual is what sums begin with, so that it is on its way while patches are.
#if ACT == 0 || RES_FIRST
#define BEGIN_SUMS \
    if (res) { \
        PLACE \
        EACH_ROW { \
            RESIDUAL_ROW(r) \
            EACH_OCTET EACH_PIXEL RESIDUAL(acc[r][j][2 * e], acc[r][j][2 * e + 1]) \
        } \
    } else ZERO_SUMS
#define ADD_RESIDUAL(r)
#else
#define BEGIN_SUMS ZERO_SUMS
#define ADD_RESIDUAL(r) \
    if (res) { \
        RESIDUAL_ROW(r) \
        EACH_PIXEL { \
            float l_, h_; \
            RESIDUAL(l_, h_) \
            v_[e][0] += l_; \
            v_[e][1] += h_; \
        } \
    }
#endif
#define ZERO_SUMS EACH_ROW EACH_OCTET _Pragma("unroll") for (int e = 0; e < 4; e++) acc[r][j][e] = 0.0f;

#if PLANAR
#define RESIDUAL_ROW(r) __global const data_t *from_ = res + ring_row(rres, min(top_ + r, y1 - 1));
#define RESIDUAL(l, h) { \
    const int o_ = first + j * 8 + 2 * t; \
    l = o_ < outs ? LD1(from_ + (size_t)o_ * R_PITCH(rres), X) : 0.0f; \
    h = o_ + 1 < outs ? LD1(from_ + (size_t)(o_ + 1) * R_PITCH(rres), X) : 0.0f; \
    }
#define PUT_ROW(r) \
    __global data_t *to_ = dst + ring_row(rdst, top_ + r); \
    EACH_PIXEL \
        for (int i = 0; i < 2; i++) \
            if (first + n_ + i < outs && X < w) put(to_ + (size_t)(first + n_ + i) * pitch, X, w, v_[e][i]);
#define COPIES
#else
#define RESIDUAL_ROW(r) \
    __global const uint *from_ = (__global const uint *)res + (octets_row(rres, min(top_ + r, y1 - 1)) + octet_ * (size_t)R_PITCH(rres)) * 4 + t;
#define RESIDUAL(l, h) { \
    const uint q_ = octet_ + j < R_C(rres) ? from_[4 * (j * (size_t)R_PITCH(rres) + X)] : 0; \
    OCT_UNPACK2(l, h, q_) \
    }
#define PUT_ROW(r) \
    __global uint *to_ = line_[r] + 4 * (j * (size_t)pitch); \
    EACH_PIXEL { \
        uint d_; \
        OCT_PACK2(d_, v_[e][0], v_[e][1]) \
        if (X < w) to_[32 * e] = d_; \
        if (at_edge_) PUT_COPIES \
    }
#define PUT_COPIES \
    _Pragma("unroll 1") for (uint c_ = copies_[e]; c_ != 0; c_ &= c_ - 1) { \
        const int b_ = 31 - clz(c_ & -c_); \
        to_[4 * ((b_ < RIM ? -1 - b_ : w + b_ - RIM) - x0_)] = OCTETS_RIM_WORD(d_); \
    }
// The columns of the rim that the lane's columns stand for.
#define COPIES \
    const bool at_edge_ = left_ <= RIM || left_ + TILE_W >= w - 1 - RIM; \
    uint copies_[2] = {0, 0}; \
    if (at_edge_) EACH_PIXEL copies_[e] = octets_copies(X, w);
#endif

#define STORE { \
    PLACE \
    COPIES \
    __global uint *line_[R]; \
    EACH_ROW line_[r] = (__global uint *)dst + (octets_row(rdst, min(top_ + r, y1 - 1)) + octet_ * (size_t)pitch + x0_) * 4 + t; \
    EACH_OCTET \
        if (first + j * 8 < outs) { \
            const int n_ = j * 8 + 2 * t; \
            uint b_[2], s_[2] = {0, 0}; \
            OCT_LD2(b_, biases + n_ * 4) \
            SLOPES(s_, n_) \
            EACH_ROW if (top_ + r < y1) { \
                float v_[2][2]; \
                EACH_PIXEL _Pragma("unroll") for (int i = 0; i < 2; i++) \
                    v_[e][i] = PRESENT(n_ + i, activate(acc[r][j][2 * e + i] + as_float(b_[i]), ACT, SLOPE(s_, i))); \
                ADD_RESIDUAL(r) \
                PUT_ROW(r) \
            } \
        } \
    }
