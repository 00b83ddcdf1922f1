// conv_mma_codes: convolution of codes of 8 bits on NVIDIA's matrix units by inline PTX
// (mma.sync of signed weights and unsigned codes). Sums are of integers and exact.
//
// M is output channels, N pixels, K words of four source channels times taps. A work-group
// makes 32 columns × TILE_H rows and 16·MT·WO outputs at a time, tiles times below each other;
// each of its WO·WR warps makes ROWS rows of that and 16·MT outputs, with sums in registers.
//
// A register of a fragment of pixels is four channels of one column: a word of a line as it
// lies in memory. Lane 4n+t needs the words of lines t and t+4 at column n. Column n of
// fragment i is column 4(n/2) + n%2 + 2(i%2) + 16(i/2) of the tile, so that sums of a lane are of twice four
// neighbouring columns, and a quad stores sixteen; and lines begin in the banks 0, 2, 16 and 18 by turns, so that
// the 32 lanes read 32 banks.
//
// A stage is WORDS lines of the source: rows of 32 columns and what the kernel takes beside them, by asynchronous
// copies. The next stage, of the same tile or of the next, is copied while this one is
// computed. With one stage (RESIDENT) weights are copied once a work-group, else with every stage.
//
// Rows of a fragment of weights are the outputs in another order: lane 4q+t has rows q and q+8 of
// each fragment, and these are outputs 4q to 4q+3 of two fragments together, a whole word of codes, or
// outputs 2q and 2q+1 of one that remains, which neighbours put together.
//
// Expects the prelude, instructions.cl, planar's codes.cl, common.cl and NAME; KS; MT, WO, WR, ROWS; WORDS, a multiple of
// four; RESIDENT; REUSE; TILES, at most how many tiles below each other; ACT; STORE (codes are stored, else samples). Weights:
// see codespack.go.

#define GROUP (32 * WO * WR)
#define TILE_H (ROWS * WR)
#define PATCH_H (TILE_H + KS - 1)
#define LEFT ((KS / 2 + 1) / 2 * 2) // columns of the patch before the tile's, for copies of eight bytes
#define ROW (32 + 2 * LEFT)
#define LINE ((PATCH_H * ROW + 49) / 32 * 32)
#define LINE_AT(l) ((l) * LINE + (l) % 2 * 2 + (l) / 2 % 2 * 16)
#define PATCH (WORDS * LINE + 32)
#define STEPS (WORDS / 8) // products of eight words; one of four may follow
#define TAIL (WORDS % 8 / 4)
#define TAP_WORDS (MT * (128 * STEPS + 64 * TAIL))
#define STAGE_WORDS (KS * KS * WO * TAP_WORDS)
#define OUTPUTS (16 * MT * WO)
#define PAIR_UNITS (ROW / 2)
#define COPIED_ROWS (GROUP / PAIR_UNITS) // of a line, at a time

// Starts copying stage s of tile n to a patch.
#define COPY_PATCH(to, s, n) { \
    if (lid < COPIED_ROWS * PAIR_UNITS) { \
        const int unit_ = lid % PAIR_UNITS, last_ = min(WORDS, R_C(rs) - (s) * WORDS); \
        for (int row_ = lid / PAIR_UNITS; row_ < PATCH_H; row_ += COPIED_ROWS) { \
            const size_t at_ = row_at[(n) * TILE_H + row_]; \
            __local uint *to_ = (to) + row_ * ROW + 2 * unit_; \
            __global const uint *from_ = src + (at_ + (size_t)(uint)((s) * WORDS * R_PITCH(rs))) + (x0 - LEFT + 2 * unit_); \
            if (ABSENT(at_)) { \
                for (int line_ = 0; line_ < last_; line_++) *(__local uint2 *)(to_ + LINE_AT(line_)) = (uint2)((uint)outside); \
                continue; \
            } \
            _Pragma("unroll 4") for (int line_ = 0; line_ < last_; line_++, from_ += R_PITCH(rs)) \
                COPY8(to_ + LINE_AT(line_), from_) \
        } \
    } }
#ifdef PAD_ZERO
#define NO_ROW (~(size_t)0)
#define ABSENT(row) ((row) == NO_ROW)
#else
#define ABSENT(row) 0
#endif

#define COPY_WEIGHTS(to, s) { \
    __global const uint *from_ = weights + ((size_t)get_group_id(0) * stages + (s)) * STAGE_WORDS; \
    _Pragma("unroll 4") for (int i_ = lid; i_ < STAGE_WORDS / 4; i_ += GROUP) COPY16((to) + 4 * i_, from_ + 4 * i_) \
    }

// All products of a step of four or eight words: NA registers of weights and NB of pixels. With REUSE a
// row of pixels is loaded once for all rows of the kernel, whose weights take more registers.
#define WEIGHTS4(a, from) { const uint4 v_ = *(__local const uint4 *)(from); (a)[0] = v_.x; (a)[1] = v_.y; (a)[2] = v_.z; (a)[3] = v_.w; }
#define WEIGHTS2(a, from) { const uint2 v_ = *(__local const uint2 *)(from); (a)[0] = v_.x; (a)[1] = v_.y; }
#define COLUMN(i) ((i) % 2 * 2 + (i) / 2 * 16) // of fragment i, for its column 0
#define PIXELS(b, NB, row, kx) \
    _Pragma("unroll") for (int i_ = 0; i_ < 4; i_++) { \
        (b)[i_][0] = line[(row) * ROW + (kx) + COLUMN(i_)]; \
        if (NB == 2) (b)[i_][NB - 1] = line[4 * LINE + (row) * ROW + (kx) + COLUMN(i_)]; \
    }
#if REUSE
#define PRODUCTS(NA, NB, MMA) \
    _Pragma("unroll") for (int kx = 0; kx < KS; kx++) { \
        uint a[KS][MT][NA]; \
        _Pragma("unroll") for (int ky = 0; ky < KS; ky++) \
            _Pragma("unroll") for (int m = 0; m < MT; m++) WEIGHTS##NA(a[ky][m], taps + (ky * KS + kx) * (WO * TAP_WORDS) + m * (32 * NA)) \
        _Pragma("unroll") for (int j = 0; j < ROWS + KS - 1; j++) { \
            uint b[4][NB]; \
            PIXELS(b, NB, j, kx) \
            _Pragma("unroll") for (int ky = 0; ky < KS; ky++) \
                if (j - ky >= 0 && j - ky < ROWS) \
                    _Pragma("unroll") for (int i = 0; i < 4; i++) \
                        _Pragma("unroll") for (int m = 0; m < MT; m++) MMA(acc[j - ky][i][m], a[ky][m], b[i]) \
        } \
    }
#else
#define PRODUCTS(NA, NB, MMA) \
    _Pragma("unroll 1") for (int ky = 0; ky < KS; ky++) \
        _Pragma("unroll") for (int kx = 0; kx < KS; kx++) { \
            uint a[MT][NA]; \
            _Pragma("unroll") for (int m = 0; m < MT; m++) WEIGHTS##NA(a[m], taps + (ky * KS + kx) * (WO * TAP_WORDS) + m * (32 * NA)) \
            _Pragma("unroll") for (int r = 0; r < ROWS; r++) { \
                uint b[4][NB]; \
                PIXELS(b, NB, r + ky, kx) \
                _Pragma("unroll") for (int i = 0; i < 4; i++) \
                    _Pragma("unroll") for (int m = 0; m < MT; m++) MMA(acc[r][i][m], a[m], b[i]) \
            } \
        }
#endif

// The output, among those of the work-group, whose sums row q + 8e of fragment m has.
#define OUTPUT(m, e) (wo * (16 * MT) + ((m) < MT / 2 * 2 ? (m) / 2 * 32 + 4 * quad + (m) % 2 * 2 : 16 * (m) + 2 * quad) + (e))
// The sums of column c (of eight), output e (of two) of fragment m.
#define SUM_OF(c, m, e) acc[r][(c) / 2][m][2 * (e) + (c) % 2]

// Column c of a lane's eight lies so many columns behind its first.
#define BEHIND(c) ((c) + (c) / 4 * 12)

// Values of output o: v[0] to v[7].
#define VALUES(m, e, o) { \
    const float factor_ = table[OUTPUTS + (o)], bias_ = table[2 * OUTPUTS + (o)], slope_ = SLOPE_OF(slope, (__global const float *)weights, min(k0 + (o), outs - 1)); \
    _Pragma("unroll") for (int c_ = 0; c_ < 8; c_++) v[c_] = fma((float)SUM_OF(c_, m, e), factor_, bias_); \
    if (RES_FIRST) ADD_RESIDUAL(m, e, k0 + (o)) \
    _Pragma("unroll") for (int c_ = 0; c_ < 8; c_++) v[c_] = activate(v[c_], ACT, slope_); \
    if (!RES_FIRST) ADD_RESIDUAL(m, e, k0 + (o)) \
    }
#define RESIDUAL_OF(k) (res + res_at + (size_t)(uint)((k) * R_PITCH(rres)))
#define ADD_RESIDUAL(m, e, k) \
    if (adds && (k) < outs) { \
        if (inside) { \
            mma_add4(v, added[m][e][0]); \
            mma_add4(v + 4, added[m][e][1]); \
        } else { \
            for (int c_ = 0; c_ < 8; c_++) if (x + BEHIND(c_) < w) v[c_] += LD1(RESIDUAL_OF(k), BEHIND(c_)); \
        } \
    }

// The code of value v, which may be more than 255. The bits of a float of 1.5·2^23 and more grow with it by one
// for each integer, and rounding to it takes halves to the even one.
#define CODE(v) (as_int(fmax((v) * inverse, -zero) + 12582912.0f) + code_shift)
// Puts the codes of the outputs of fragment m below what q[0] to q[7] have in their low halves.
#define CODES_OF(m) { \
    int even_[8]; \
    VALUES(m, 0, OUTPUT(m, 0)) \
    _Pragma("unroll") for (int c_ = 0; c_ < 8; c_++) even_[c_] = CODE(v[c_]); \
    VALUES(m, 1, OUTPUT(m, 1)) \
    _Pragma("unroll") for (int c_ = 0; c_ < 8; c_++) BELOW(q[c_], even_[c_], CODE(v[c_])) \
    }

// Stores four words of line g from column x + c on. Bytes of channels beyond the last are of zero.
#define PUT_WORDS(q, g, c) { \
    __global uint *to_ = dst + at + (size_t)(g) * R_PITCH(rdst) + (c); \
    const uint zeros_ = (uint)zero * 0x1010101u, beyond_ = 4 * (g) + 3 < outs ? 0u : ~0u << (8 * (outs - 4 * (g))); \
    _Pragma("unroll") for (int i_ = 0; i_ < 4; i_++) (q)[i_] = (q)[i_] & ~beyond_ | zeros_ & beyond_; \
    if (inside) *(__global uint4 *)to_ = (uint4)((q)[0], (q)[1], (q)[2], (q)[3]); \
    else \
        for (int i_ = 0; i_ < 4; i_++) \
            if (x + (c) + i_ < w) codes_put(to_ - x - (c), x + (c) + i_, w, (q)[i_], zeros_); \
    }

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void NAME(__global const uint *restrict src, ring_t rs, __global const uint *restrict weights, int stages, int first_at, int factors_at, int bias_at, int outside,
          __global const data_t *restrict res, ring_t rres,
#if STORE
          __global uint *restrict dst,
#else
          __global data_t *restrict dst,
#endif
          ring_t rdst, int outs, int y0, int y1, int tiles, float slope, float inverse, float zero) {
    SHARED(patches, 2 * PATCH + (2 - RESIDENT) * STAGE_WORDS)
    __local uint *const ring = patches + 2 * PATCH;
    __local size_t row_at[TILES * TILE_H + KS - 1];
    EXCHANGE
    const int lid = get_local_id(0), lane = lid & 31, quad = lane / 4, t = lane % 4;
    const int wr = lid / 32 % WR, wo = lid / 32 / WR;
    const int x0 = get_group_id(1) * 32, w = R_W(rdst), h = R_H(rdst);
    int top = y0 + (int)get_group_id(2) * tiles * TILE_H;
    const int stop = min(y1, top + tiles * TILE_H), total = (stop - top + TILE_H - 1) / TILE_H * stages;
    const int k0 = (int)get_group_id(0) * OUTPUTS, code_shift = (int)zero - 0x4b400000;
    __local float table[3 * OUTPUTS]; // first sums, factors, biases

    for (int i = lid; i < stop - top + TILE_H + KS - 1 && i < TILES * TILE_H + KS - 1; i += GROUP) {
        const int y = top + i - KS / 2;
        row_at[i] = codes_row(rs, pad_index(min(y, h - 1 + KS / 2), h));
#ifdef PAD_ZERO
        if (OUTSIDE(y, h)) row_at[i] = NO_ROW;
#endif
    }
    for (int i = lid; i < 3 * OUTPUTS; i += GROUP)
        table[i] = ((__global const float *)weights)[(i < OUTPUTS ? first_at : i < 2 * OUTPUTS ? factors_at : bias_at) + k0 + i % OUTPUTS];
    barrier(CLK_LOCAL_MEM_FENCE);
    COPY_PATCH(patches, 0, 0)
    COPY_WEIGHTS(ring, 0)
    COMMIT

    int acc[ROWS][4][MT][4];
    int tile = 0, stage = 0;
#pragma unroll 1
    for (int n = 0; n < total; n++) {
        const int following = stage + 1 == stages ? 0 : stage + 1;
        WAIT_ALL_BUT(0)
        barrier(CLK_LOCAL_MEM_FENCE); // this stage has come, and all are done with the one before
        if (n + 1 < total) {
            COPY_PATCH(patches + (n + 1) % 2 * PATCH, following, tile + (following == 0 ? 1 : 0))
            if (!RESIDENT) COPY_WEIGHTS(ring + (n + 1) % 2 * STAGE_WORDS, following)
        }
        COMMIT
        if (stage == 0) {
#pragma unroll
            for (int m = 0; m < MT; m++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const int s = as_int(table[OUTPUT(m, e)]);
#pragma unroll
                    for (int r = 0; r < ROWS; r++)
#pragma unroll
                        for (int i = 0; i < 4; i++) acc[r][i][m][2 * e] = acc[r][i][m][2 * e + 1] = s;
                }
        }
        __local const uint *line = patches + n % 2 * PATCH + LINE_AT(t) + wr * ROWS * ROW + 4 * (quad / 2) + quad % 2 + LEFT - KS / 2;
        __local const uint *taps = ring + (RESIDENT ? 0 : n % 2 * STAGE_WORDS) + wo * TAP_WORDS + lane * 4;
#if STEPS
#pragma unroll 1
        for (int step = 0; step < STEPS; step++) {
            PRODUCTS(4, 2, MMA_S8)
            line += 8 * LINE;
            taps += MT * 128;
        }
#endif
#if TAIL
        taps -= lane * 2;
        PRODUCTS(2, 1, MMA_S8_HALF)
#endif
        stage = following;
        if (stage == 0) {
            const int x = x0 + 4 * t;
            const bool inside = x > RIM && x + 19 < w - 1 - RIM;
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const int y = top + wr * ROWS + r;
                const bool there = y < y1;
                const bool adds = res && there;
                const size_t res_at = adds ? ring_row(rres, y) + x : 0;
                float v[8];
                four_t added[MT][2][2]; // all are on their way before the first is waited for
                if (adds && inside)
#pragma unroll
                    for (int m = 0; m < MT; m++)
#pragma unroll
                        for (int e = 0; e < 2; e++)
                            if (k0 + OUTPUT(m, e) < outs) {
                                added[m][e][0] = *(__global const four_t *)RESIDUAL_OF(k0 + OUTPUT(m, e));
                                added[m][e][1] = *(__global const four_t *)(RESIDUAL_OF(k0 + OUTPUT(m, e)) + 16);
                            }
#if STORE
                const size_t at = there ? codes_row(rdst, y) + x : 0;
                uint q[8];
#pragma unroll
                for (int p = 0; p < MT / 2; p++) {
                    const int g = (k0 + OUTPUT(2 * p, 0)) / 4;
#pragma unroll
                    for (int c = 0; c < 8; c++) q[c] = 0;
                    CODES_OF(2 * p + 1)
                    CODES_OF(2 * p)
                    if (there && g < R_C(rdst)) {
                        PUT_WORDS(q, g, 0)
                        PUT_WORDS(q + 4, g, 16)
                    }
                }
#if MT % 2
                const int odd = quad % 2, g = (k0 + OUTPUT(MT - 1, 0)) / 4;
#pragma unroll
                for (int c = 0; c < 8; c++) q[c] = 0;
                CODES_OF(MT - 1)
                uint sent[2], word[4];
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    sent[i] = odd ? q[2 * i] | q[2 * i + 1] << 16 : q[4 + 2 * i] | q[5 + 2 * i] << 16;
                    FROM_NEIGHBOUR(sent[i])
                }
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const uint other = sent[i / 2] >> (16 * (i % 2)) & 0xffffu;
                    word[i] = odd ? other | q[4 + i] << 16 : q[i] | other << 16;
                }
                if (there && g < R_C(rdst)) PUT_WORDS(word, g, 16 * odd)
#endif
#else
                const size_t at = there ? ring_row(rdst, y) + x : 0;
#pragma unroll
                for (int m = 0; m < MT; m++)
#pragma unroll
                    for (int e = 0; e < 2; e++) {
                        const int k = k0 + OUTPUT(m, e);
                        VALUES(m, e, OUTPUT(m, e))
                        if (!there || k >= outs) continue;
                        __global data_t *to = dst + at + (size_t)k * R_PITCH(rdst);
                        if (inside) {
                            mma_store4(to, v);
                            mma_store4(to + 16, v + 4);
                        } else
#pragma unroll
                            for (int c = 0; c < 8; c++)
                                if (x + BEHIND(c) < w) mma_put(to, x, BEHIND(c), w, v[c]);
                    }
#endif
            }
            top += TILE_H;
            tile++;
        }
    }
}
