// How sums of codes leave (see codes.cl). A lane has columns 16·warp + g and 8 more of the team's 64. Of the outer convolution it
// has outputs 2t and 2t+1 of an octet, so that eight columns of an octet leave together; of the inner one four channels from 4t on of a
// group (see codespack.go), which are a word, or channels 2t and 2t+1 of a last half of a group.

// The value of sum s of an output with those parameters.
#define VALUE(s, first, factor, bias) fma((float)((s) + (int)(first)), as_float(factor), as_float(bias))

// What a lane has of a strip: the columns, whether they are there, which columns between stand for which.
#define PLACE \
    const int x0_ = left + warp * 16 + g; \
    const bool at_edge = left <= RIM || left + TILE_W >= w - 1 - RIM; \
    bool stores_[2]; \
    uint copies_[2] = {0, 0}; \
    EACH_COLUMN { \
        stores_[e] = warp * 16 + g + e * 8 < TILE_W && x0_ + e * 8 < w; \
        if (at_edge && stores_[e]) copies_[e] = octets_copies(x0_ + e * 8, w); \
    } \
    PLACE_BETWEEN
#if BLOCK
#define PLACE_BETWEEN \
    int own_[2], mirror_[2]; \
    EACH_COLUMN { \
        const int m_ = warp * 16 + g + e * 8, x_ = left - HALO_O + m_; \
        own_[e] = m_; \
        mirror_[e] = -1; \
        if (at_edge) MIRROR \
    }
#ifdef PAD_ZERO
#define MIRROR { if ((uint)x_ >= (uint)w) mirror_[e] = m_; } // what is stored there is zero
#else
#define MIRROR { \
    if ((uint)x_ >= (uint)w) own_[e] = -1; \
    else if (HALO_O > 0 && x_ == pad_index(-1, w) && left == 0) mirror_[e] = 0; \
    else if (HALO_O > 0 && x_ == pad_index(w, w) && w - (left - HALO_O) < BETWEEN_W) mirror_[e] = w - (left - HALO_O); \
    }
#endif
#else
#define PLACE_BETWEEN
#endif

// Stores codes v of column e between by op at `at` of its group.
#ifdef PAD_ZERO
#define PUT_BETWEEN(op, q, at, v) op(to_ + ((q) * BETWEEN_W + own_[e]) * 16 + (at), outside || mirror_[e] >= 0 ? zeros_ : (v))
#else
#define PUT_BETWEEN(op, q, at, v) { \
    const uint v_ = (v); \
    if (own_[e] >= 0) op(to_ + ((q) * BETWEEN_W + own_[e]) * 16 + (at), v_) \
    if (at_edge && mirror_[e] >= 0) op(to_ + ((q) * BETWEEN_W + mirror_[e]) * 16 + (at), v_) \
    }
#endif
#define CODE_BETWEEN(s, k) octets_code(activate(VALUE(s, c_[k], f_[k], b_[k]), ACT_INNER, inner_slope), inner_inverse, inner_zero)
#define STORE_BETWEEN { \
    const uint to_ = between + (uint)i % KEPT * BETWEEN_ROW, at_ = params + WEIGHTS_BYTES(KI, GI, NI); \
    const uint zeros_ = (uint)inner_zero * 0x1010101; \
    _Pragma("unroll") for (int q = 0; q < NI / 2; q++) { \
        uint c_[4], f_[4], b_[4]; \
        C8_LD4(c_, at_ + (16 * q + 4 * t) * 4) \
        C8_LD4(f_, at_ + NI * 32 + (16 * q + 4 * t) * 4) \
        C8_LD4(b_, at_ + NI * 64 + (16 * q + 4 * t) * 4) \
        EACH_COLUMN PUT_BETWEEN(OCT_ST1, q, t * 4, C8_WORD(CODE_BETWEEN(inner[2 * q][2 * e], 0), CODE_BETWEEN(inner[2 * q][2 * e + 1], 1), \
            CODE_BETWEEN(inner[2 * q + 1][2 * e], 2), CODE_BETWEEN(inner[2 * q + 1][2 * e + 1], 3))) \
    } \
    if (NI % 2 == 1) { \
        uint c_[2], f_[2], b_[2]; \
        OCT_LD2(c_, at_ + (8 * NI - 8 + 2 * t) * 4) \
        OCT_LD2(f_, at_ + NI * 32 + (8 * NI - 8 + 2 * t) * 4) \
        OCT_LD2(b_, at_ + NI * 64 + (8 * NI - 8 + 2 * t) * 4) \
        EACH_COLUMN PUT_BETWEEN(C8_ST_HALF, NI / 2, t * 2, C8_WORD(CODE_BETWEEN(inner[NI - 1][2 * e], 0), CODE_BETWEEN(inner[NI - 1][2 * e + 1], 1), 0, 0)) \
    } }

// The residual of the row is on its way while products run.
#define LOAD_RESIDUAL \
    _Pragma("unroll") for (int j = 0; j < NO; j++) added[j][0] = added[j][1] = 0; \
    if (res && y >= top) { \
        __global const uint *from_ = (__global const uint *)res + (octets_of_row(rres, y) + (size_t)(first / 8) * R_PITCH(rres) + x0_) * 4 + t; \
        _Pragma("unroll") for (int j = 0; j < NO; j++) \
            EACH_COLUMN if (HAS(j) && stores_[e]) added[j][e] = from_[4 * (j * (size_t)R_PITCH(rres) + e * 8)]; \
    }

#if RAGGED
#define HAS(j) (first + (j) * 8 < outs)
#define PRESENT(o, v) ((o) < outs ? (v) : 0.0f)
#else
#define HAS(j) true
#define PRESENT(o, v) (v)
#endif
#define STORE if (y >= top) { \
    const uint at_ = params + INNER_BYTES + WEIGHTS_BYTES(KO, GO, NO); \
    __global uint *line_ = (__global uint *)dst + (octets_of_row(rdst, y) + (size_t)(first / 8) * pitch) * 4 + t; \
    _Pragma("unroll") for (int j = 0; j < NO; j++) \
        if (HAS(j)) { \
            const int n_ = 8 * j + 2 * t; \
            uint c_[2], f_[2], b_[2]; \
            OCT_LD2(c_, at_ + n_ * 4) \
            OCT_LD2(f_, at_ + NO * 32 + n_ * 4) \
            OCT_LD2(b_, at_ + NO * 64 + n_ * 4) \
            EACH_COLUMN { \
                float v_[2], r_[2]; \
                uint d_; \
                OCT_UNPACK2(r_[0], r_[1], added[j][e]) \
                _Pragma("unroll") for (int k = 0; k < 2; k++) { \
                    v_[k] = VALUE(sums[j][2 * e + k], c_[k], f_[k], b_[k]); \
                    if (RES_FIRST && res) v_[k] += r_[k]; \
                    v_[k] = activate(v_[k], ACT, slope); \
                    if (!RES_FIRST && res) v_[k] += r_[k]; \
                    v_[k] = PRESENT(first + n_ + k, v_[k]); \
                } \
                OCT_PACK2(d_, v_[0], v_[1]) \
                __global uint *to_ = line_ + 4 * (j * (size_t)pitch); \
                if (stores_[e]) { \
                    to_[4 * (x0_ + e * 8)] = d_; \
                    if (at_edge) PUT_COPIES \
                } \
            } \
        } \
    }
#define PUT_COPIES \
    _Pragma("unroll 1") for (uint m_ = copies_[e]; m_ != 0; m_ &= m_ - 1) { \
        const int b_ = 31 - clz(m_ & -m_); \
        to_[4 * (b_ < RIM ? -1 - b_ : w + b_ - RIM)] = OCTETS_RIM_WORD(d_); \
    }
