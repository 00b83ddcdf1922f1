// How conv_mma makes the patch of a stage in local memory (see mma.cl): units of four
// columns of a chunk of channels go through a work-item's registers, where they are
// normalised and sorted by column. Expects what mma.cl does.

// A unit's samples are two or four words of each of CHUNK channels. TAKE gets those of
// one; NORMALISE applies scale and shift to them.
#if MODE == 0
#define samples_t uint2
#define TAKE(v, c, p) (v)[2 * (c)] = (p).x; (v)[2 * (c) + 1] = (p).y;
#define NORMALISE(v, c, scale, shift) \
    _Pragma("unroll") for (int i_ = 0; i_ < 2; i_++) (v)[2 * (c) + i_] = mma_scaled2((v)[2 * (c) + i_], scale, shift, PRE, pre_slope);
#else
#define samples_t uint4
#define TAKE(v, c, p) (v)[4 * (c)] = (p).x; (v)[4 * (c) + 1] = (p).y; (v)[4 * (c) + 2] = (p).z; (v)[4 * (c) + 3] = (p).w;
#define NORMALISE(v, c, scale, shift) \
    _Pragma("unroll") for (int i_ = 0; i_ < 4; i_++) (v)[4 * (c) + i_] = mma_scaled1((v)[4 * (c) + i_], scale, shift, PRE, pre_slope);
#endif
// Scales and shifts of two channels to a load. Places without a channel have zeros
// and stay zero.
#if SCALED
#define SCALE(v, stage) \
    _Pragma("unroll") for (int c_ = 0; c_ < CHUNK; c_ += 2) { \
        const float4 two_ = *(__local const float4 *)(table + (2 * (stage) + q) * CHUNK + c_); \
        NORMALISE(v, c_, two_.x, two_.y) \
        NORMALISE(v, c_ + 1, two_.z, two_.w) \
    }
#else
#define SCALE(v, stage)
#endif
// Where unit i of this work-item lies.
#define UNIT(i) (lid + (i) * GROUP)
#define UNIT_QUAD(i) (UNIT(i) / 2 % (COLS / 4))
#define UNIT_ROW(i) (UNIT(i) / (COLS / 2))
#define UNIT_AT(i) (patches + UNIT_ROW(i) * LINE + UNIT_QUAD(i) * 8 + q * 4)

#if AHEAD
// Lines as they are, in units of 16 bytes: [chunk][row][channel][RAW_UNITS]. A unit of
// the patch is within them RAW_SKIP samples further than its quad says.
#define SIDE (16 / DATA_BYTES)
#define RAW_LEFT ((LEFT + SIDE - 1) / SIDE * SIDE)
#define RAW_SKIP (RAW_LEFT - LEFT)
#define RAW_UNITS ((RAW_SKIP + COLS + SIDE - 1) / SIDE)
#define RAW_PLANE (PATCH_H * CHUNK * RAW_UNITS + 4) // so that chunks begin in different banks
#define RAW_LANES (2 * CHUNK * RAW_UNITS) // units of a row
#define RAW_ROWS (GROUP / RAW_LANES > 1 ? GROUP / RAW_LANES : 1) // copied side by side
// Starts copying the lines of stage s.
#define COPY_LINES(s) { \
    if (lid < RAW_LANES * RAW_ROWS) \
        for (int u_ = lid % RAW_LANES; u_ < RAW_LANES; u_ += GROUP) { \
            const int c_ = u_ / RAW_UNITS; \
            SEEK(s, c_ / CHUNK) \
            const int bytes_ = c_ % CHUNK < valid ? 16 : 0; \
            from += (size_t)(uint)(min(c_ % CHUNK, max(valid - 1, 0)) * pitch) + (u_ % RAW_UNITS * SIDE - RAW_LEFT); \
            __local const size_t *rows_ = row_at + source * PATCH_H; \
            _Pragma("unroll 2") for (int y_ = lid / RAW_LANES; y_ < PATCH_H; y_ += RAW_ROWS) \
                COPY16_OF(raw + c_ / CHUNK * RAW_PLANE + (y_ * CHUNK + c_ % CHUNK) * RAW_UNITS + u_ % RAW_UNITS, \
                          from + (IN_PLANE(rows_[y_]) ? rows_[y_] : RAW_LEFT), IN_PLANE(rows_[y_]) ? bytes_ : 0) \
        } \
    }
#define FETCH(v, i) { \
    __local const data_t *from_ = (__local const data_t *)(raw + q * RAW_PLANE + UNIT_ROW(i) * (CHUNK * RAW_UNITS)) + RAW_SKIP + UNIT_QUAD(i) * 4; \
    _Pragma("unroll") for (int c_ = 0; c_ < CHUNK; c_++) { \
        const samples_t p_ = *(__local const samples_t *)(from_ + c_ * RAW_UNITS * SIDE); \
        TAKE(v, c_, p_) \
    } }
#else
#define FETCH(v, i) { \
    const size_t row_ = row_at[source * PATCH_H + UNIT_ROW(i)]; \
    __global const data_t *from_ = from + row_ + (UNIT_QUAD(i) * 4 - LEFT); \
    if (valid >= CHUNK && IN_PLANE(row_)) { \
        _Pragma("unroll") for (int c_ = 0; c_ < CHUNK; c_++) { \
            const samples_t p_ = *(__global const samples_t *)(from_ + (size_t)(uint)(c_ * pitch)); \
            TAKE(v, c_, p_) \
        } \
    } else { \
        _Pragma("unroll") for (int c_ = 0; c_ < CHUNK; c_++) { \
            samples_t p_ = 0u; \
            if (c_ < valid && IN_PLANE(row_)) p_ = *(__global const samples_t *)(from_ + (size_t)(uint)(c_ * pitch)); \
            TAKE(v, c_, p_) \
        } \
    } }
#endif

// Sorts them by column and stores them.
#if MODE == 0
#define EVEN(v, c) (((v)[2 * (c)] & 0xffff) | (v)[2 * (c) + 2] << 16)
#define ODD(v, c) ((v)[2 * (c)] >> 16 | ((v)[2 * (c) + 2] & 0xffff0000))
#define STASH(at, v) { \
    __local uint *at_ = (at); \
    *(__local uint4 *)at_ = (uint4)(EVEN(v, 0), EVEN(v, 2), EVEN(v, 4), EVEN(v, 6)); \
    *(__local uint4 *)(at_ + CLASS) = (uint4)(ODD(v, 0), ODD(v, 2), ODD(v, 4), ODD(v, 6)); \
    *(__local uint4 *)(at_ + 2 * CLASS) = (uint4)(EVEN((v) + 1, 0), EVEN((v) + 1, 2), EVEN((v) + 1, 4), EVEN((v) + 1, 6)); \
    *(__local uint4 *)(at_ + 3 * CLASS) = (uint4)(ODD((v) + 1, 0), ODD((v) + 1, 2), ODD((v) + 1, 4), ODD((v) + 1, 6)); \
    }
#else
#if MODE == 1
#define ROUND(v) _Pragma("unroll") for (int c_ = 0; c_ < 16; c_++) TF32((v)[c_], as_float((v)[c_]))
#else
#define ROUND(v)
#endif
#define STASH(at, v) { \
    __local uint *at_ = (at); \
    ROUND(v); \
    _Pragma("unroll") for (int c_ = 0; c_ < 4; c_++) \
        *(__local uint4 *)(at_ + c_ * CLASS) = (uint4)((v)[c_], (v)[c_ + 4], (v)[c_ + 8], (v)[c_ + 12]); \
    }
#endif

// Points from, source and valid at chunk q of stage s.
#define NEXT_SOURCE(sk, rk, k) \
    if (chunk >= (R_C(r) + CHUNK - 1) / CHUNK) { chunk -= (R_C(r) + CHUNK - 1) / CHUNK; from = sk; r = rk; source = k; }
#define SEEK(s, q) \
    __global const data_t *from = src0; \
    ring_t r = r0; \
    int source = 0, chunk = 2 * (s) + (q); \
    NEXT_SOURCE(src1, r1, 1) NEXT_SOURCE(src2, r2, 2) NEXT_SOURCE(src3, r3, 3) \
    const int valid = R_C(r) - chunk * CHUNK; \
    from += (size_t)chunk * (CHUNK * pitch) + x0;
