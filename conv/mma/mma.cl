// conv_mma: implicit GEMM on NVIDIA's matrix units by inline PTX (mma.sync).
//
// M is output channels, N pixels, K source channels times taps. A work-group
// makes a tile of 32 columns × TILE_H rows and 16·MT·WO outputs; each of its
// WO·WR warps makes ROWS rows of it and 16·MT outputs, with sums in registers.
//
// A fragment of activations has 8 pixels of a row: columns i, i+4, .., i+28 for
// one i of 0..3. Two things follow from that stride. Moving the kernel by one
// column turns fragment i into fragment i+1, so a warp that goes through a
// kernel row loads one new fragment per tap and row and keeps three. And a lane
// ends up with sums of eight neighbouring columns of a channel: it stores
// them as one vector into the planar line.
//
// A stage is the patch of two chunks of source channels in local memory, eight
// 32-bit words per pixel: 2×8 channels of binary16, or 2×4 of float32. SETS of
// them are fetched one after the other; meanwhile other work-groups compute. On the
// way in they are transposed from planar lines. Of a pixel's words lane t of a quad
// takes 2t and 2t+1 in one load, the two registers of a fragment. Columns of a
// patch row are sorted by their remainder modulo 4, CLASS words apart. All reads
// and writes are so free of bank conflicts: a half-warp reads 4 pixels, and eight
// lanes write halves of 4 pixels, in one line of the banks.
//
// Weights come in the order in which lanes need them, PIECE taps at a time,
// through registers into a ring of two pieces in local memory: read straight
// from global memory, each warp at its own pace, they would pass through the L1
// cache once for each warp. The sum of an output runs over stages, kernel
// rows and columns in that order, wherever the output lies in its tile.
//
// Expects the prelude and NAME; KS; MODE 0 (binary16), 1 (tf32) or 2 (tf32 in
// three products: both factors split in a large and a small part); MT, WO, WR,
// ROWS; PIECE; SETS (stages between two computations, each its patch); ACT; SUMS (leaves
// statistics of its tiles: see conv.Summing; without activation and residual);
// SCALED (takes in the norm of its source: see conv.Scaling) and PRE, the activation
// that follows.
// Weights: see pack.go.

#define GROUP (32 * WO * WR)
#define TILE_H (ROWS * WR)
#define PATCH_H (TILE_H + KS - 1)
#define LEFT (KS > 1 ? 4 : 0) // columns of the patch before the tile's
#define OFF (LEFT - KS / 2)
#define COLS ((31 + OFF + KS + 3) / 4 * 4)
#define CLASS (COLS / 4 * 8)
#define LINE (4 * CLASS)
#define UNITS (PATCH_H * (COLS / 2)) // a unit is four columns of a chunk
#define PER ((UNITS + GROUP - 1) / GROUP) // units of a work-item in a patch
#define PATCH (PATCH_H * LINE)
#define PARTS (MODE == 2 ? 2 : 1)
#define CHUNK (MODE == 0 ? 8 : 4)

#if MODE == 0
#define MMA(d, a, b) \
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
        : "+f"((d)[0]), "+f"((d)[1]), "+f"((d)[2]), "+f"((d)[3]) \
        : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]))
#else
#define MMA(d, a, b) \
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
        : "+f"((d)[0]), "+f"((d)[1]), "+f"((d)[2]), "+f"((d)[3]) \
        : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]))
#endif
#define TF32(d, v) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(d) : "f"(v))

// Loads the samples of a unit, whose first channel's are at from, into v: two or
// four words of each channel.
#if MODE == 0
#define samples_t uint2
#define SAMPLES_TO(v, c, p) (v)[2 * (c)] = (p).x; (v)[2 * (c) + 1] = (p).y;
#define NORMALISED(p, scale, shift) (uint2)(mma_scaled2((p).x, scale, shift, PRE, pre_slope), mma_scaled2((p).y, scale, shift, PRE, pre_slope))
#else
#define samples_t uint4
#define SAMPLES_TO(v, c, p) (v)[4 * (c)] = (p).x; (v)[4 * (c) + 1] = (p).y; (v)[4 * (c) + 2] = (p).z; (v)[4 * (c) + 3] = (p).w;
#define NORMALISED(p, scale, shift) (uint4)(mma_scaled1((p).x, scale, shift, PRE, pre_slope), mma_scaled1((p).y, scale, shift, PRE, pre_slope), \
    mma_scaled1((p).z, scale, shift, PRE, pre_slope), mma_scaled1((p).w, scale, shift, PRE, pre_slope))
#endif
// Places without a channel stay zero: their scales would be anything.
#if SCALED
#define SCALE(c, p) { const float scale_ = scales[chunk * CHUNK + (c)], shift_ = scales[channels + chunk * CHUNK + (c)]; p = NORMALISED(p, scale_, shift_); }
#else
#define SCALE(c, p)
#endif
#define FETCH(v, from) { \
    __global const data_t *from_ = (from); \
    if (valid >= CHUNK) { \
        _Pragma("unroll") for (int c_ = 0; c_ < CHUNK; c_++) { \
            samples_t p_ = *(__global const samples_t *)(from_ + (size_t)(uint)(c_ * pitch)); \
            SCALE(c_, p_) \
            SAMPLES_TO(v, c_, p_) \
        } \
    } else { \
        _Pragma("unroll") for (int c_ = 0; c_ < CHUNK; c_++) { \
            samples_t p_ = 0u; \
            if (c_ < valid) { \
                p_ = *(__global const samples_t *)(from_ + (size_t)(uint)(c_ * pitch)); \
                SCALE(c_, p_) \
            } \
            SAMPLES_TO(v, c_, p_) \
        } \
    } }

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

// Where unit i of this work-item lies.
#define UNIT(i) (lid + (i) * GROUP)
#define UNIT_QUAD(i) (UNIT(i) / 2 % (COLS / 4))
#define UNIT_ROW(i) (UNIT(i) / (COLS / 2))
#define UNIT_AT(i) (patch + UNIT_ROW(i) * LINE + UNIT_QUAD(i) * 8 + q * 4)
#define UNIT_FROM(i) (from + row_at[source * PATCH_H + UNIT_ROW(i)] + UNIT_QUAD(i) * 4)

// Points from, source and valid at chunk q of stage s.
#define NEXT_SOURCE(sk, rk, k) \
    if (chunk >= (R_C(r) + CHUNK - 1) / CHUNK) { chunk -= (R_C(r) + CHUNK - 1) / CHUNK; from = sk; r = rk; source = k; }
#define SEEK(s) \
    __global const data_t *from = src0; \
    ring_t r = r0; \
    int source = 0, chunk = 2 * (s) + q; \
    NEXT_SOURCE(src1, r1, 1) NEXT_SOURCE(src2, r2, 2) NEXT_SOURCE(src3, r3, 3) \
    const int valid = R_C(r) - chunk * CHUNK; \
    from += (size_t)chunk * (CHUNK * pitch) + (x0 - LEFT);

// Fragment j of the patch row at line: columns j, j+4, ..
#define FRAGMENT(f, line, j) { \
    const uint2 v_ = *(__local const uint2 *)((line) + (j) % 4 * CLASS + (j) / 4 * 8); \
    SPLIT(f, 0, v_.x) SPLIT(f, 1, v_.y) \
    }
#if MODE == 2
#define SPLIT(f, k, v) TF32((f)[0][k], as_float(v)); TF32((f)[PARTS - 1][k], as_float(v) - as_float((f)[0][k]));
#else
#define SPLIT(f, k, v) (f)[0][k] = v;
#endif

// All products of weights (large parts or small) and activations (likewise).
#define MULTIPLY(wpart, part) \
    _Pragma("unroll") for (int r_ = 0; r_ < ROWS; r_++) \
        _Pragma("unroll") for (int i_ = 0; i_ < 4; i_++) \
            _Pragma("unroll") for (int m_ = 0; m_ < MT; m_++) \
                MMA(acc[r_][i_][m_], a[(wpart) * MT + m_], f[r_][(kx + OFF + i_) % 4][part]);

#define TAP_WORDS (MT * 128 * PARTS)
#define PIECE_WORDS (PIECE * WO * TAP_WORDS)
#define PIECE_PER ((PIECE_WORDS / 2 + GROUP - 1) / GROUP)
// Loads this work-item's share of the next piece, of so many taps, into
// registers, and stores it to the other half of the ring.
#define PIECE_IS(i, taps) (lid + (i) * GROUP < (taps) * WO * TAP_WORDS / 2)
#define PIECE_LOAD(taps) { \
    _Pragma("unroll") for (int i_ = 0; i_ < PIECE_PER; i_++) \
        if (PIECE_IS(i_, taps)) piece[i_] = *(__global const uint2 *)(wt + i_ * GROUP * 2); \
    wt += (taps) * WO * TAP_WORDS; \
    }
#define PIECE_STORE(taps) { \
    _Pragma("unroll") for (int i_ = 0; i_ < PIECE_PER; i_++) \
        if (PIECE_IS(i_, taps)) *(__local uint2 *)(ring + half_ring + (lid + i_ * GROUP) * 2) = piece[i_]; \
    }
#define OUTPUTS (WO * MT * 16)
// Statistics of the tile: each warp finds those of its rows, whose lanes all take
// part (bias has a value for absent outputs too), then they are merged in the
// order of the warps.
#define MOMENTS \
    __local float *const moments = (__local float *)patches; /* [warp][output] means, then squares; all read patches by now */ \
    const int columns = min(w - x0, 32), made = clamp(y1 - top - wr * ROWS, 0, ROWS); \
    _Pragma("unroll") for (int m = 0; m < MT; m++) \
        _Pragma("unroll") for (int e = 0; e < 2; e++) { \
            barrier(CLK_LOCAL_MEM_FENCE); /* keeps registers few */ \
            const float shift = bias[((int)get_group_id(0) * WO + wo) * MT * 16 + m * 16 + e * 8 + quad]; \
            float sum = 0.0f, m2 = 0.0f; \
            _Pragma("unroll") for (int r = 0; r < ROWS; r++) \
                _Pragma("unroll") for (int i = 0; i < 8; i++) \
                    sum += r < made && x + i < w ? acc[r][i % 4][m][e * 2 + i / 4] : 0.0f; \
            const float mean = mma_quad_sum(sum) / (float)max(columns * made, 1); \
            _Pragma("unroll") for (int r = 0; r < ROWS; r++) \
                _Pragma("unroll") for (int i = 0; i < 8; i++) { \
                    const float d = r < made && x + i < w ? acc[r][i % 4][m][e * 2 + i / 4] - mean : 0.0f; \
                    m2 = fma(d, d, m2); \
                } \
            m2 = mma_quad_sum(m2); \
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

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void NAME(__global const data_t *restrict src0, ring_t r0, __global const data_t *restrict src1, ring_t r1,
          __global const data_t *restrict src2, ring_t r2, __global const data_t *restrict src3, ring_t r3,
          __global const uint *restrict weights, int stages, int bias_at,
          __global const data_t *restrict res, ring_t rres, __global data_t *restrict dst, ring_t rdst,
          int y0, int y1, float slope
#if SUMS
          , __global float *restrict partials
#endif
#if SCALED
          , __global const float *restrict scales, ring_t rscales, float pre_slope
#endif
          ) {
    __local uint patches[SETS * PATCH] __attribute__((aligned(16)));
    __local uint ring[2 * PIECE_WORDS] __attribute__((aligned(16)));
    __local size_t row_at[4 * PATCH_H];
    const int lid = get_local_id(0), q = lid & 1, lane = lid & 31, quad = lane / 4, t = lane % 4;
    const int wr = lid / 32 % WR, wo = lid / 32 / WR;
    const int x0 = get_group_id(1) * 32, top = y0 + (int)get_group_id(2) * TILE_H;
    const int w = R_W(rdst), h = R_H(rdst), pitch = R_PITCH(rdst);
    __global const uint *wt = weights + (size_t)get_group_id(0) * stages * (KS * KS * WO * TAP_WORDS) + lid * 2;
#if SCALED
    const int channels = R_ALL(rscales);
    scales += R_FLOATS(rscales) + R_FIRST(rscales);
#endif
    uint2 piece[PIECE_PER];
    int half_ring = 0; // where in the ring the piece in use is

    for (int i = lid; i < 4 * PATCH_H; i += GROUP) {
        const int k = i / PATCH_H, y = top + i % PATCH_H - KS / 2;
        row_at[i] = ring_row(k == 0 ? r0 : k == 1 ? r1 : k == 2 ? r2 : r3, reflect(min(y, h - 1 + KS / 2), h));
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    float acc[ROWS][4][MT][4];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int m = 0; m < MT; m++)
#pragma unroll
                for (int e = 0; e < 4; e++) acc[r][i][m][e] = 0.0f;

    PIECE_LOAD(min(PIECE, KS));
    PIECE_STORE(min(PIECE, KS));
#pragma unroll 1
    for (int first = 0; first < stages; first += SETS) {
#pragma unroll 1
        for (int set = 0; set < SETS; set++) {
            if (first + set >= stages) break;
            SEEK(first + set);
            __local uint *const patch = patches + set * PATCH;
#pragma unroll 2
            for (int i = 0; i < PER; i++)
                if (UNIT(i) < UNITS) {
                    uint v[16];
                    FETCH(v, UNIT_FROM(i));
                    STASH(UNIT_AT(i), v);
                }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        __local const uint *line = patches + wr * ROWS * LINE + quad * 8 + t * 2;
        const int rows = min(SETS, stages - first) * KS;
        int ky = 0;
#pragma unroll 1
        for (int row = 0; row < rows; row++) {
            uint f[ROWS][4][PARTS][2];
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int j = OFF; j < OFF + 3; j++) FRAGMENT(f[r][j % 4], line + r * LINE, j);
#pragma unroll
            for (int kx = 0; kx < KS; kx++) {
                if (kx % PIECE == 0) PIECE_LOAD(kx + PIECE < KS ? min(PIECE, KS - kx - PIECE) : min(PIECE, KS));
                uint a[MT * PARTS][4];
#pragma unroll
                for (int m = 0; m < MT * PARTS; m++) {
                    const uint4 v = *(__local const uint4 *)(ring + half_ring + (kx % PIECE * WO + wo) * TAP_WORDS + m * 128 + lane * 4);
                    a[m][0] = v.x; a[m][1] = v.y; a[m][2] = v.z; a[m][3] = v.w;
                }
#pragma unroll
                for (int r = 0; r < ROWS; r++) FRAGMENT(f[r][(kx + OFF + 3) % 4], line + r * LINE, kx + OFF + 3);
#if MODE == 2
                MULTIPLY(0, PARTS - 1) // the small terms first
                MULTIPLY(PARTS - 1, 0)
#endif
                MULTIPLY(0, 0)
                if (kx % PIECE == PIECE - 1 || kx == KS - 1) {
                    half_ring = PIECE_WORDS - half_ring;
                    PIECE_STORE(kx + 1 < KS ? min(PIECE, KS - kx - 1) : min(PIECE, KS));
                    barrier(CLK_LOCAL_MEM_FENCE);
                }
            }
            line += LINE;
            if (SETS > 1 && ++ky == KS) { // on to the next patch
                ky = 0;
                line += PATCH - KS * LINE;
            }
        }
    }

    const int outs = R_C(rdst), x = x0 + 8 * t;
    __global const float *bias = (__global const float *)weights + bias_at;
#if SUMS
    MOMENTS
#endif
    const bool inside = x > RIM && x + 7 < w - 1 - RIM;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int y = top + wr * ROWS + r;
        if (y >= y1) continue;
        const size_t at = ring_row(rdst, y) + x, res_at = res ? ring_row(rres, y) + x : 0;
#pragma unroll
        for (int m = 0; m < MT; m++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int k = (((int)get_group_id(0) * WO + wo) * MT + m) * 16 + e * 8 + quad;
                if (k >= outs) continue;
                float v[8];
#pragma unroll
                for (int i = 0; i < 8; i++) v[i] = activate(acc[r][i % 4][m][e * 2 + i / 4] + bias[k], ACT, slope);
                __global data_t *to = dst + at + (size_t)k * pitch;
                if (inside) {
                    if (res) mma_add8(v, res + res_at + (size_t)k * pitch);
                    mma_store8(to, v);
                } else {
#pragma unroll
                    for (int i = 0; i < 8; i++) {
                        if (x + i >= w) continue;
                        if (res) v[i] += LD1(res, res_at + (size_t)k * pitch + i);
                        mma_put(to, x, i, w, v[i]);
                    }
                }
            }
    }
}

#undef GROUP
#undef TILE_H
#undef PATCH_H
#undef LEFT
#undef OFF
#undef COLS
#undef CLASS
#undef LINE
#undef UNITS
#undef PER
#undef PATCH
#undef PARTS
#undef CHUNK
#undef MMA
#undef TF32
#undef samples_t
#undef SAMPLES_TO
#undef NORMALISED
#undef SCALE
#undef FETCH
#undef EVEN
#undef ODD
#undef STASH
#undef ROUND
#undef UNIT
#undef UNIT_QUAD
#undef UNIT_ROW
#undef UNIT_AT
#undef UNIT_FROM
#undef NEXT_SOURCE
#undef SEEK
#undef FRAGMENT
#undef SPLIT
#undef MULTIPLY
#undef TAP_WORDS
#undef PIECE_WORDS
#undef PIECE_PER
#undef PIECE_IS
#undef PIECE_LOAD
#undef PIECE_STORE
#undef OUTPUTS
#undef MOMENTS
