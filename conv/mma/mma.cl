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
// 32-bit words per pixel: 2×8 channels of binary16, or 2×4 of float32. On the way in
// they are transposed from planar lines. Of a pixel's words lane t of a quad
// takes 2t and 2t+1 in one load, the two registers of a fragment. Columns of a
// patch row are sorted by their remainder modulo 4, CLASS words apart. All reads
// and writes are so free of bank conflicts: a half-warp reads 4 pixels, and eight
// lanes write halves of 4 pixels, in one line of the banks.
//
// Weights come in the order in which lanes need them, by asynchronous copies into a
// ring in local memory: read straight from global memory, each warp at its own pace,
// they would pass through the L1 cache once for each warp.
//
// With AHEAD, for small kernels, lines and weights of the next stage are copied to local
// memory while this one is computed, and a stage has two barriers: before its patch is made
// and after. Without, patches are made straight from global memory, while other
// work-groups compute, and weights come PIECE taps at a time, SLOTS-1 pieces ahead.
//
// The sum of an output runs over stages, kernel rows and columns in that order,
// wherever the output lies in its tile.
//
// Expects the prelude, instructions.cl, common.cl, patch.cl, weights.cl, moments.cl and
// NAME; KS; MODE 0 (binary16), 1 (tf32) or 2 (tf32 in three products: both factors split
// in a large and a small part); MT, WO, WR, ROWS; PIECE, SLOTS; AHEAD; ACT; SUMS (leaves
// statistics of its tiles: see conv.Summing; without activation and residual);
// SCALED (takes in the norm of its source: see conv.Scaling), CHANNELS, at least how many
// places for channels its stages have, and PRE, the activation that follows.
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
#ifdef PAD_ZERO // in the table of rows: a row of zeros
#define NO_ROW (~(size_t)0)
#define IN_PLANE(row) ((row) != NO_ROW)
#else
#define IN_PLANE(row) 1
#endif

#if MODE == 0
#define MMA MMA_FP16
#else
#define MMA MMA_TF32
#endif

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
#if AHEAD
    SHARED(patches, PATCH + RAW_WORDS + WEIGHTS_WORDS)
    __local uint4 *const raw = (__local uint4 *)(patches + PATCH);
    __local uint *const ring = patches + PATCH + RAW_WORDS;
#else
    __local uint patches[PATCH] __attribute__((aligned(16)));
    __local uint ring[WEIGHTS_WORDS] __attribute__((aligned(16)));
#endif
    __local size_t row_at[4 * PATCH_H];
    EXCHANGE
    const int lid = get_local_id(0), q = lid & 1, lane = lid & 31, quad = lane / 4, t = lane % 4;
    const int wr = lid / 32 % WR, wo = lid / 32 / WR;
    const int x0 = get_group_id(1) * 32, top = y0 + (int)get_group_id(2) * TILE_H;
    const int w = R_W(rdst), h = R_H(rdst), pitch = R_PITCH(rdst);
    __global const uint *wt = weights + (size_t)get_group_id(0) * stages * (KS * KS * WO * TAP_WORDS) + lid * 4;
#if SCALED
    __local float2 table[CHANNELS] __attribute__((aligned(16)));
    scales += R_FLOATS(rscales) + R_FIRST(rscales);
    for (int i = lid; i < CHANNELS; i += GROUP)
        table[i] = i < R_C(r0) ? (float2)(scales[i], scales[R_ALL(rscales) + i]) : (float2)(0.0f);
#endif
#if !AHEAD
    const int pieces = stages * (KS * ROW_PIECES);
    int copied = 0, slot = SLOTS - 1; // pieces whose copies have begun; where the piece in use is
#endif

    for (int i = lid; i < 4 * PATCH_H; i += GROUP) {
        const int k = i / PATCH_H, y = top + i % PATCH_H - KS / 2;
        row_at[i] = ring_row(k == 0 ? r0 : k == 1 ? r1 : k == 2 ? r2 : r3, pad_index(min(y, h - 1 + KS / 2), h));
#ifdef PAD_ZERO
        if (OUTSIDE(y, h)) row_at[i] = NO_ROW;
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if AHEAD
    COPY_LINES(0)
    COPY_TAPS(ring, KS * KS)
    COMMIT
#else
#pragma unroll
    for (int j = 0; j < SLOTS - 1; j++) PIECE_COPY(j, TAPS_OF(j))
#endif

    float acc[ROWS][4][MT][4];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int m = 0; m < MT; m++)
#pragma unroll
                for (int e = 0; e < 4; e++) acc[r][i][m][e] = 0.0f;

#pragma unroll 1
    for (int stage = 0; stage < stages; stage++) {
#if AHEAD
        // Lines and weights of this stage have come, and all are done with the one
        // before.
        WAIT_ALL_BUT(0)
        barrier(CLK_LOCAL_MEM_FENCE);
        if (stage + 1 < stages) {
            wt += PIECE_WORDS;
            COPY_TAPS(ring + (1 - stage % 2) * PIECE_WORDS, KS * KS)
        }
#else
        if (stage > 0) barrier(CLK_LOCAL_MEM_FENCE);
        SEEK(stage, q)
#endif
#pragma unroll 2
        for (int i = 0; i < PER; i++)
            if (UNIT(i) < UNITS) {
                uint v[16];
                FETCH(v, i)
                SCALE(v, stage)
                STASH(UNIT_AT(i), v)
            }
        __local const uint *line = patches + wr * ROWS * LINE + quad * 8 + t * 2;
#if AHEAD
        barrier(CLK_LOCAL_MEM_FENCE);
        if (stage + 1 < stages) COPY_LINES(stage + 1)
        COMMIT
        __local const uint *taps = ring + stage % 2 * PIECE_WORDS + wo * TAP_WORDS + lane * 4;
#pragma unroll
#else
#pragma unroll 1
#endif
        for (int ky = 0; ky < KS; ky++) {
#if !AHEAD
            NEXT_PIECE(0)
            __local const uint *taps = ring + slot * PIECE_WORDS + wo * TAP_WORDS + lane * 4;
#endif
            uint f[ROWS][4][PARTS][2];
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int j = OFF; j < OFF + 3; j++) FRAGMENT(f[r][j % 4], line + r * LINE, j);
#pragma unroll
            for (int kx = 0; kx < KS; kx++) {
#if !AHEAD
                if (kx > 0 && kx % PIECE == 0) {
                    NEXT_PIECE(kx / PIECE)
                    taps = ring + slot * PIECE_WORDS + wo * TAP_WORDS + lane * 4;
                }
#endif
                uint a[MT * PARTS][4];
#pragma unroll
                for (int m = 0; m < MT * PARTS; m++) {
                    const uint4 v = *(__local const uint4 *)(taps + m * 128);
                    a[m][0] = v.x; a[m][1] = v.y; a[m][2] = v.z; a[m][3] = v.w;
                }
#pragma unroll
                for (int r = 0; r < ROWS; r++) FRAGMENT(f[r][(kx + OFF + 3) % 4], line + r * LINE, kx + OFF + 3);
#if MODE == 2
                MULTIPLY(0, PARTS - 1) // the small terms first
                MULTIPLY(PARTS - 1, 0)
#endif
                MULTIPLY(0, 0)
                taps += WO * TAP_WORDS;
            }
            line += LINE;
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
                for (int i = 0; i < 8; i++) v[i] = acc[r][i % 4][m][e * 2 + i / 4] + bias[k];
                __global data_t *to = dst + at + (size_t)k * pitch;
                const float a = SLOPE_OF(slope, (__global const float *)weights, k);
                if (inside) {
                    if (RES_FIRST && res) mma_add8(v, res + res_at + (size_t)k * pitch);
#pragma unroll
                    for (int i = 0; i < 8; i++) v[i] = activate(v[i], ACT, a);
                    if (!RES_FIRST && res) mma_add8(v, res + res_at + (size_t)k * pitch);
                    mma_store8(to, v);
                } else {
#pragma unroll
                    for (int i = 0; i < 8; i++) {
                        if (x + i >= w) continue;
                        mma_put(to, x, i, w, finished(v[i], res, res_at + (size_t)k * pitch + i, ACT, a));
                    }
                }
            }
    }
}
