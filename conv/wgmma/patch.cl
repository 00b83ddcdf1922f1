// How patches of activations come into local memory (see wgmma.cl).
//
// A unit is four columns of a chunk in a row. Units of even work-items are of one
// chunk, those of odd ones of the other. First come those of the tile's own
// columns, four of which are a sector of memory, then those beside.
#define ROWS4 ((PATCH_H + 3) / 4)
#define OWN (ROWS4 * 16)
#define PER ((ROWS4 * 4 * QUADS + GROUP / 2 - 1) / (GROUP / 2)) // units of a work-item
#define UNIT(i) ((lid >> 1) + (i) * (GROUP / 2))
#define UNIT_QUAD(i) (UNIT(i) < OWN ? LEFT / 4 + UNIT(i) / 4 % 4 : UNIT(i) / 4 % 2 * 5)
#define UNIT_ROW(i) ((UNIT(i) < OWN ? UNIT(i) / 16 : (UNIT(i) - OWN) / 8) * 4 + UNIT(i) % 4)
#define UNIT_AT(i) ((q * PLANE + UNIT_ROW(i) * PITCH + UNIT_QUAD(i) * 4) * 16)
#define UNIT_LINE(i) row_at[source * PATCH_H + min(UNIT_ROW(i), PATCH_H - 1)]
#define UNIT_FROM(i) (from + UNIT_LINE(i) + UNIT_QUAD(i) * 4)
#define UNIT_IS(i) (UNIT(i) < ROWS4 * 4 * QUADS && UNIT_ROW(i) < PATCH_H)

// Kernels that normalise ask for the work-item's number anew for every patch, and so find
// where units lie anew: kept meanwhile, that would take the registers that they lack, and
// they would spill. The others have them, and are a little slower so.
#if SCALED
#define ITEM_ANEW int lid; ITEM(lid); const int q = lid & 1;
#else
#define ITEM_ANEW
#endif

// Points from, source and valid at chunk q of stage s.
#if SCALED // of one source
#define SEEK(s) \
    const int source = 0, valid = R_C(r0) - (2 * (s) + q) * 8; \
    __global const data_t *from = src0 + (size_t)(2 * (s) + q) * (8 * pitch) + (x0 - LEFT);
#else
#define NEXT_SOURCE(sk, rk, k) \
    if (chunk >= (R_C(r) + 7) / 8) { chunk -= (R_C(r) + 7) / 8; from = sk; r = rk; source = k; }
#define SEEK(s) \
    __global const data_t *from = src0; \
    ring_t r = r0; \
    int source = 0, chunk = 2 * (s) + q; \
    NEXT_SOURCE(src1, r1, 1) NEXT_SOURCE(src2, r2, 2) NEXT_SOURCE(src3, r3, 3) \
    const int valid = R_C(r) - chunk * 8; \
    from += (size_t)chunk * (8 * pitch) + (x0 - LEFT);
#endif

// Loads this work-item's units of stage s into v: two words of each of eight
// channels. What lies below the patch is in its last row and is not stored.
#define FETCH(s) { \
    ITEM_ANEW \
    SEEK(s) \
    if (FULL_ROWS && valid >= 8) { \
        EACH_LOAD(LOAD2(v[u_][2 * c_], v[u_][2 * c_ + 1], from_ + (size_t)(uint)(c_ * pitch))) \
    } else { \
        EACH_LOAD(LOAD2_IF(v[u_][2 * c_], v[u_][2 * c_ + 1], from_ + (size_t)(uint)(c_ * pitch), c_ < valid && IN_PLANE(u_))) \
    } }
#ifdef PAD_ZERO // in the table of rows: a row of zeros
#define NO_ROW (~(size_t)0)
#define FULL_ROWS 0
#define IN_PLANE(u) (UNIT_LINE(u) != NO_ROW)
#else
#define FULL_ROWS 1
#define IN_PLANE(u) 1
#endif
#define EACH_LOAD(load) \
    _Pragma("unroll") for (int u_ = 0; u_ < PER; u_++) { \
        __global const data_t *from_ = UNIT_FROM(u_); \
        _Pragma("unroll") for (int c_ = 0; c_ < 8; c_++) load; \
    }

// Normalises unit u, loaded of stage s. Places without a channel have scales of zero.
#if SCALED
#define NORMALISE(s, u) { \
    __local const float4 *scale_ = (__local const float4 *)(scale_of + ((s) * 2 + q) * 8); \
    _Pragma("unroll") for (int c_ = 0; c_ < 8; c_ += 2) { \
        const float4 f_ = scale_[c_ / 2]; \
        NORMALISE2(v[u][2 * c_], f_.x, f_.y) \
        NORMALISE2(v[u][2 * c_ + 1], f_.x, f_.y) \
        NORMALISE2(v[u][2 * c_ + 2], f_.z, f_.w) \
        NORMALISE2(v[u][2 * c_ + 3], f_.z, f_.w) \
    } }
#define NORMALISE2(d, scale, shift) { \
    float a_, b_; \
    UNPACK2(a_, b_, d); \
    PACK2(d, activate(fma(a_, scale, shift), PRE, pre_slope), activate(fma(b_, scale, shift), PRE, pre_slope)); \
    }
#else
#define NORMALISE(s, u)
#endif

// Sorts them by column and stores them into the patch at to.
#define EVEN(v, c) (((v)[2 * (c)] & 0xffff) | (v)[2 * (c) + 2] << 16)
#define ODD(v, c) ((v)[2 * (c)] >> 16 | ((v)[2 * (c) + 2] & 0xffff0000))
#define STASH(s, to) { \
    ITEM_ANEW \
    _Pragma("unroll") for (int u_ = 0; u_ < PER; u_++) \
        if (UNIT_IS(u_)) { \
            NORMALISE(s, u_) \
            const uint at_ = (to) + UNIT_AT(u_); \
            STORE4(at_, EVEN(v[u_], 0), EVEN(v[u_], 2), EVEN(v[u_], 4), EVEN(v[u_], 6)); \
            STORE4(at_ + 16, ODD(v[u_], 0), ODD(v[u_], 2), ODD(v[u_], 4), ODD(v[u_], 6)); \
            STORE4(at_ + 32, EVEN(v[u_] + 1, 0), EVEN(v[u_] + 1, 2), EVEN(v[u_] + 1, 4), EVEN(v[u_] + 1, 6)); \
            STORE4(at_ + 48, ODD(v[u_] + 1, 0), ODD(v[u_] + 1, 2), ODD(v[u_] + 1, 4), ODD(v[u_] + 1, 6)); \
        } \
    FENCE_STORES; \
    }
