// How sums of codes leave (see codes.cl). A lane has columns 16·warp + g and 8 more of the team's 64, and of these four channels from
// 4t on of each group of 16 (see codespack.go), or, of a last half of a group, channels 2t and 2t+1.

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
#define CODE_BETWEEN(s, k) octets_code(octets_leaky(VALUE(s, c_[k], f_[k], b_[k]), ACT_INNER, inner_slope), inner_inverse, inner_zero)
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

#if RAGGED
#define HAS(j) (first + (j) * 8 < outs)
#define PRESENT(o, v) (first + (o) < outs ? (v) : 0.0f)
#else
#define HAS(j) true
#define PRESENT(o, v) (v)
#endif
// Words of octet j of the lane's first column in row y of ring r.
#define LINES(type, data, r) ((type)(data) + (octets_of_row(r, y) + (size_t)(first / 8) * R_PITCH(r) + x0_) * 4)
#define WORDS(r, j) ((j) * (4 * R_PITCH(r)))

// The residual of the row is on its way while products run. Where there is none, it is -0, which changes nothing.
#define LOAD_RESIDUAL if (res && y >= top) { \
    __global const uint *const from_ = LINES(__global const uint *, res, rres); \
    _Pragma("unroll") for (int q = 0; q < NO / 2; q++) \
        EACH_COLUMN if (HAS(2 * q + t / 2)) { \
            const uint2 words_ = *(__global const uint2 *)(from_ + WORDS(rres, 2 * q + t / 2) + t % 2 * 2 + e * 32); \
            added[2 * q][e] = words_.s0; \
            added[2 * q + 1][e] = words_.s1; \
        } \
    if (NO % 2 == 1) EACH_COLUMN if (HAS(NO - 1)) added[NO - 1][e] = from_[WORDS(rres, NO - 1) + t + e * 32]; \
    } else { \
        _Pragma("unroll") for (int j = 0; j < NO; j++) added[j][0] = added[j][1] = 0x80008000; \
    }

// Makes d two samples of outputs o and o+1 of column e, of sums j, with parameters k and k+1; d holds their residuals before.
#define FINISH(d, j, k, o) { \
    float r_[2], v_[2]; \
    OCT_UNPACK2(r_[0], r_[1], d) \
    _Pragma("unroll") for (int i_ = 0; i_ < 2; i_++) { \
        v_[i_] = VALUE(sums[j][2 * e + i_], c_[(k) + i_], f_[(k) + i_], b_[(k) + i_]); \
        if (RES_FIRST) v_[i_] += r_[i_]; \
        v_[i_] = octets_leaky(v_[i_], ACT, slope); \
        if (!RES_FIRST) v_[i_] += r_[i_]; \
        v_[i_] = PRESENT((o) + i_, v_[i_]); \
    } \
    OCT_PACK2(d, v_[0], v_[1]) \
    }
// Stores what FINISH made of column e at another column, so many words further on.
#define PUT(words, rim) { \
    __global uint *const at_ = to_ + (words); \
    _Pragma("unroll") for (int q = 0; q < NO / 2; q++) \
        if (HAS(2 * q + t / 2)) *(__global uint2 *)(at_ + WORDS(rdst, 2 * q + t / 2) + t % 2 * 2) = (uint2)(rim(added[2 * q][e]), rim(added[2 * q + 1][e])); \
    if (NO % 2 == 1 && HAS(NO - 1)) at_[WORDS(rdst, NO - 1) + t] = rim(added[NO - 1][e]); \
    }
#define SAME(v) (v)
#define STORE if (y >= top) { \
    const uint consts_ = params + INNER_BYTES + WEIGHTS_BYTES(KO, GO, NO); \
    _Pragma("unroll") for (int q = 0; q < NO / 2; q++) { \
        uint c_[4], f_[4], b_[4]; \
        C8_LD4(c_, consts_ + (16 * q + 4 * t) * 4) \
        C8_LD4(f_, consts_ + NO * 32 + (16 * q + 4 * t) * 4) \
        C8_LD4(b_, consts_ + NO * 64 + (16 * q + 4 * t) * 4) \
        EACH_COLUMN { \
            FINISH(added[2 * q][e], 2 * q, 0, 16 * q + 4 * t) \
            FINISH(added[2 * q + 1][e], 2 * q + 1, 2, 16 * q + 4 * t + 2) \
        } \
    } \
    if (NO % 2 == 1) { \
        uint c_[2], f_[2], b_[2]; \
        OCT_LD2(c_, consts_ + (8 * NO - 8 + 2 * t) * 4) \
        OCT_LD2(f_, consts_ + NO * 32 + (8 * NO - 8 + 2 * t) * 4) \
        OCT_LD2(b_, consts_ + NO * 64 + (8 * NO - 8 + 2 * t) * 4) \
        EACH_COLUMN FINISH(added[NO - 1][e], NO - 1, 0, 8 * NO - 8 + 2 * t) \
    } \
    __global uint *const to_ = LINES(__global uint *, dst, rdst); \
    EACH_COLUMN if (stores_[e]) PUT(e * 32, SAME) \
    if (at_edge) EACH_COLUMN \
        _Pragma("unroll 1") for (uint m_ = copies_[e]; m_ != 0; m_ &= m_ - 1) { \
            const int bit_ = 31 - clz(m_ & -m_); \
            PUT(4 * ((bit_ < RIM ? -1 - bit_ : w + bit_ - RIM) - x0_), OCTETS_RIM_WORD) \
        } \
    }
