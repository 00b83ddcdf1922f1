// conv_wgmma: implicit GEMM on the warpgroup matrix units of NVIDIA's Hopper
// GPUs (wgmma).
//
// M is 64: 64/BLOCK outputs of BLOCK rows of the picture each, [output/8][row][output%8].
// N is 128: 16 blocks of BLOCK rows, one below the other, of 8 columns. K is 16 source
// channels, once for each tap. A work-group is two warpgroups side by side: 16 columns ×
// 16·BLOCK rows.
//
// Both factors are in local memory as the units take them without swizzling: eight
// rows (pixels, outputs) of eight channels are 128 bytes in a line. The patch
// of a stage, two chunks of eight channels, is [chunk][row][column][8 channels],
// so that eight columns are such a matrix wherever they begin, and a tap is
// nothing but another start address. On the way in pixels are transposed from
// planar lines: with one of BUFFERS, meanwhile another work-group computes; with
// more, loads wait in registers while the stage before is computed.
//
// With BLOCK rows in M a row of the patch meets another kernel row for each of
// them, none (zeros) for some: a stage has KS+BLOCK-1 rows of KS taps. Weights
// come PIECE such rows at a time into a ring of SLOTS, each piece by one bulk
// copy, or four, for which a barrier object waits. The sum of an output runs over stages,
// kernel rows and columns in that order, wherever the output lies in its
// tile.
//
// Expects the prelude, instructions.cl and NAME, KS, BLOCK (1 or 2), BUFFERS, PIECE,
// SLOTS, ACT; SUMS (leaves statistics: see conv.Summing; without activation and
// residual); SCALED (takes in the norm of its source: see conv.Scaling), PRE, the
// activation that follows, and CHANNELS, the most there can be. Weights: see pack.go.
#ifndef CONV_WGMMA_PUT
#define CONV_WGMMA_PUT
// Writes the eight columns from x on, two to a word, into the line whose column x
// is at to, as far as it goes, and the columns of the rim that mirror them. The
// line is longer than the rim, so there is one at most on each side.
static void conv_wgmma_put(__global ushort *to, int x, int w, uint a, uint b, uint c, uint d) {
#pragma unroll 1
    for (int i = 0; i < min(8, w - x); i++) {
        const ushort v = (i < 4 ? (i < 2 ? a : b) : (i < 6 ? c : d)) >> (16 * (i & 1));
        const int l = x + i, r = w - 1 - l;
        to[i] = v;
        if (l > 0 && l <= RIM) to[i - 2 * l] = v;
        if (r > 0 && r <= RIM) to[i + 2 * r] = v;
    }
}
#endif

#define GROUP 256
#define TILE_W 16
#define TILE_H (16 * BLOCK)
#define PATCH_H (TILE_H + KS - 1)
#define LEFT (KS > 1 ? 4 : 0) // columns of the patch before the tile's
#define OFF (LEFT - KS / 2)
#define QUADS (KS > 1 ? 6 : 4)
#define PITCH (QUADS * 4 + 1) // pixels; odd, so that rows begin in different banks
#define PLANE ((PATCH_H * PITCH + 3) / 8 * 8 + 4) // pixels; chunks do, too
#define PATCH (2 * PLANE * 16)
#define ROWS (KS + BLOCK - 1)
#define PIECE_BYTES (PIECE * KS * 2048)
#define OUTS (64 / BLOCK)
#define SHARED (BUFFERS * PATCH + SLOTS * (PIECE_BYTES + 16))

// Weights of a group: LEFT_AT is where those of a piece for rows 8·i to 8·i+7 of M
// begin. For BLOCK 2 kernel rows stand in descending order, so that what both rows
// of a block need is one stretch for every eight outputs.
#if BLOCK == 1
#define COPIES 1
#define LEFT_TAP 2048
#define LEFT_STRIDE 256
#define LEFT_BYTES ((size_t)pieces * PIECE_BYTES)
#define LEFT_AT(piece, i) ((size_t)(piece) * PIECE_BYTES + (i) * LEFT_STRIDE)
#else // PIECE is 1
#define COPIES 4
#define LEFT_TAP 256
#define LEFT_STRIDE (KS * LEFT_TAP)
#define LEFT_BYTES ((size_t)stages * (4 * (KS + 2) * LEFT_STRIDE))
#define LEFT_AT(piece, i) ((size_t)(((piece) / ROWS * 4 + (i) / 2) * (KS + 2) + KS - (piece) % ROWS + (i) % 2) * LEFT_STRIDE)
#endif

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
#define UNIT_FROM(i) (from + row_at[source * PATCH_H + min(UNIT_ROW(i), PATCH_H - 1)] + UNIT_QUAD(i) * 4)
#define UNIT_IS(i) (UNIT(i) < ROWS4 * 4 * QUADS && UNIT_ROW(i) < PATCH_H)

// Points from, source and valid at chunk q of stage s.
#define NEXT_SOURCE(sk, rk, k) \
    if (chunk >= (R_C(r) + 7) / 8) { chunk -= (R_C(r) + 7) / 8; from = sk; r = rk; source = k; }
#define SEEK(s) \
    __global const data_t *from = src0; \
    ring_t r = r0; \
    int source = 0, chunk = 2 * (s) + q; \
    NEXT_SOURCE(src1, r1, 1) NEXT_SOURCE(src2, r2, 2) NEXT_SOURCE(src3, r3, 3) \
    const int valid = R_C(r) - chunk * 8; \
    from += (size_t)chunk * (8 * pitch) + (x0 - LEFT);

// Loads this work-item's units of stage s into v: two words of each of eight
// channels.
#define FETCH(s) { \
    SEEK(s) \
    _Pragma("unroll") for (int u_ = 0; u_ < PER; u_++) { \
        __global const data_t *from_ = UNIT_FROM(u_); \
        _Pragma("unroll") for (int c_ = 0; c_ < 8; c_++) \
            LOAD2(v[u_][2 * c_], v[u_][2 * c_ + 1], from_ + (size_t)(uint)(c_ * pitch), UNIT_IS(u_) && c_ < valid); \
    } }

// Normalises what was loaded of stage s. Places without a channel have scales of zero.
#if SCALED
#define NORMALISE(s) { \
    __local const float4 *scale_ = (__local const float4 *)(scale_of + ((s) * 2 + q) * 8); \
    _Pragma("unroll") for (int c_ = 0; c_ < 8; c_ += 2) { \
        const float4 f_ = scale_[c_ / 2]; \
        _Pragma("unroll") for (int u_ = 0; u_ < PER; u_++) { \
            NORMALISE2(v[u_][2 * c_], f_.x, f_.y) \
            NORMALISE2(v[u_][2 * c_ + 1], f_.x, f_.y) \
            NORMALISE2(v[u_][2 * c_ + 2], f_.z, f_.w) \
            NORMALISE2(v[u_][2 * c_ + 3], f_.z, f_.w) \
        } \
    } }
#define NORMALISE2(d, scale, shift) { \
    float a_, b_; \
    UNPACK2(a_, b_, d); \
    PACK2(d, activate(fma(a_, scale, shift), PRE, pre_slope), activate(fma(b_, scale, shift), PRE, pre_slope)); \
    }
#else
#define NORMALISE(s)
#endif

// Sorts them by column and stores them into the patch at to.
#define EVEN(v, c) (((v)[2 * (c)] & 0xffff) | (v)[2 * (c) + 2] << 16)
#define ODD(v, c) ((v)[2 * (c)] >> 16 | ((v)[2 * (c) + 2] & 0xffff0000))
#define STASH(s, to) { \
    NORMALISE(s) \
    _Pragma("unroll") for (int u_ = 0; u_ < PER; u_++) \
        if (UNIT_IS(u_)) { \
            const uint at_ = (to) + UNIT_AT(u_); \
            STORE4(at_, EVEN(v[u_], 0), EVEN(v[u_], 2), EVEN(v[u_], 4), EVEN(v[u_], 6)); \
            STORE4(at_ + 16, ODD(v[u_], 0), ODD(v[u_], 2), ODD(v[u_], 4), ODD(v[u_], 6)); \
            STORE4(at_ + 32, EVEN(v[u_] + 1, 0), EVEN(v[u_] + 1, 2), EVEN(v[u_] + 1, 4), EVEN(v[u_] + 1, 6)); \
            STORE4(at_ + 48, ODD(v[u_] + 1, 0), ODD(v[u_] + 1, 2), ODD(v[u_] + 1, 4), ODD(v[u_] + 1, 6)); \
        } \
    FENCE_STORES; \
    }

// The barrier objects of a slot: its piece has come, all warps are done with it.
#define FULL(slot) (bars + (slot) * 16)
#define FREE(slot) (bars + (slot) * 16 + 8)
// Has a slot filled with piece n.
#define FILL(slot, n) { \
    BAR_EXPECT(FULL(slot), PIECE_BYTES); \
    _Pragma("unroll") for (int i_ = 0; i_ < COPIES; i_++) \
        BULK_COPY(ring + (slot) * PIECE_BYTES + i_ * (PIECE_BYTES / COPIES), left + LEFT_AT(n, i_ * (8 / COPIES)), PIECE_BYTES / COPIES, FULL(slot)); \
    }
// Ends a piece: this warp is then done with the one before, and its slot can be
// filled again when all warps are.
#define NEXT_PIECE { \
    COMMIT; \
    WAIT_BUT_LAST; \
    const int last_ = slot == 0 ? SLOTS - 1 : slot - 1; \
    if (piece > 0 && lane == 0) BAR_ARRIVE(FREE(last_)); \
    if (lid == 0 && piece + SLOTS - 1 < pieces) { \
        if (piece > 0) BAR_WAIT(FREE(last_), (piece - 1) / SLOTS & 1); \
        FILL(last_, piece + SLOTS - 1) \
    } \
    row = 0; \
    piece++; \
    if (++slot == SLOTS) { slot = 0; phase ^= 1; } \
    BEGIN; \
    }

// Where a factor begins, in units of 16 bytes, and its strides along the channels
// and along the rows of M or N.
#define FACTOR(at, k, n) ((ulong)((at) >> 4) | (ulong)((k) >> 4) << 16 | (ulong)((n) >> 4) << 32)

// Starts all products of the stage whose patch is at from.
#define MULTIPLY(from) { \
    ulong pixels_ = FACTOR((from) + (wg * 8 + OFF) * 16, PLANE * 16, BLOCK * PITCH * 16); \
    BEGIN; \
    _Pragma("unroll 1") for (int y_ = 0; y_ < ROWS; y_++) { \
        if (row == 0) BAR_WAIT(FULL(slot), phase); \
        const ulong taps_ = FACTOR(ring + slot * PIECE_BYTES + row * KS * LEFT_TAP, 128, LEFT_STRIDE); \
        _Pragma("unroll") for (int kx_ = 0; kx_ < KS; kx_++) MULTIPLY_ADD(taps_ + kx_ * LEFT_TAP / 16, pixels_ + kx_); \
        if (++row == PIECE) NEXT_PIECE \
        pixels_ += PITCH; \
    } }

// Output and row in the tile of a lane's sums of block j.
#define OUTPUT(e) ((int)get_group_id(0) * OUTS + (BLOCK == 1 ? warp * 16 + (e) * 8 : warp * 8) + quad)
#define ROW(j, e) (BLOCK == 1 ? (j) : (j) * 2 + (e))

// Statistics of pieces of 16 rows × 16 columns. The lanes of a quad have one side of
// them, of both of a lane's outputs or of both halves of its rows; the sides are then
// merged (Chan, Golub and LeVeque 1983).
#define SUM(p, n, i) acc[(BLOCK == 1 ? (n) * 4 + (p) * 2 : ((p) * 8 + (n) / 2) * 4 + (n) % 2 * 2) + (i)] /* row n of piece p */
#define DOWN(p) (BLOCK == 1 ? 0 : (p)) /* piece p's place below the tile's first */
#define MADE(p) clamp(y1 - top - DOWN(p) * 16, 0, 16)
#define SIDE(p) side[warp * 16 + (p) * 8 + quad]
#define MOMENTS { \
    float mean[2], m2[2]; \
    _Pragma("unroll") for (int p_ = 0; p_ < 2; p_++) { \
        const int columns = clamp(w - x, 0, 8), made = MADE(p_); \
        float s_ = 0.0f; \
        _Pragma("unroll") for (int n_ = 0; n_ < 32; n_++) \
            s_ += n_ / 2 < made && 2 * t + n_ % 2 < columns ? SUM(p_, n_ / 2, n_ % 2) : 0.0f; \
        QUAD_SUM(s_) \
        mean[p_] = s_ / (float)max(columns * made, 1); \
        s_ = 0.0f; \
        _Pragma("unroll") for (int n_ = 0; n_ < 32; n_++) { \
            const float d = n_ / 2 < made && 2 * t + n_ % 2 < columns ? SUM(p_, n_ / 2, n_ % 2) - mean[p_] : 0.0f; \
            s_ = fma(d, d, s_); \
        } \
        QUAD_SUM(s_) \
        m2[p_] = s_; \
        if (wg == 1 && t == 0) SIDE(p_) = (float2)(mean[p_], s_); \
    } \
    barrier(CLK_LOCAL_MEM_FENCE); \
    if (wg == 0 && t == 0) { \
        const int ln = min(w - x0, 8), rn = clamp(w - x0 - 8, 0, 8); \
        _Pragma("unroll") for (int p_ = 0; p_ < 2; p_++) { \
            const int k = OUTPUT(p_), made = MADE(p_); \
            if (k >= outs || made == 0) continue; \
            const float2 right = SIDE(p_); \
            const float all = fma((float)rn, right.x, (float)ln * mean[p_]) / (float)(ln + rn), l = mean[p_] - all, r = right.x - all; \
            __global float *to = partials + (((size_t)get_group_id(2) * BLOCK + DOWN(p_)) * get_num_groups(1) + get_group_id(1)) * (size_t)(2 * outs) + k; \
            to[0] = all + bias[k]; \
            to[outs] = fma((float)(made * ln) * l, l, m2[p_]) + fma((float)(made * rn) * r, r, right.y); \
        } \
    } }

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
    __local size_t row_at[4 * PATCH_H];
#if SUMS
    __local float2 side[64];
#endif
#if SCALED
    __local float2 scale_of[CHANNELS] __attribute__((aligned(16)));
#endif
    GROUPS_AT_ONCE(2);
    SHARED_AT(patches);
    const uint ring = patches + BUFFERS * PATCH, bars = ring + SLOTS * PIECE_BYTES;
    const int lid = get_local_id(0), q = lid & 1, lane = lid & 31, quad = lane / 4, t = lane % 4;
    const int wg = lid / 128, warp = lid / 32 % 4;
    const int x0 = get_group_id(1) * TILE_W, top = y0 + (int)get_group_id(2) * TILE_H;
    const int w = R_W(rdst), h = R_H(rdst), pitch = R_PITCH(rdst);
    const int pieces = (stages * ROWS + PIECE - 1) / PIECE;
    __global const uchar *const left = (__global const uchar *)weights + get_group_id(0) * LEFT_BYTES;

    // Rows below those that this launch's outputs need may not exist. Where
    // BLOCK > 1 they enter other outputs' sums times zero, so others stand for them.
    for (int i = lid; i < 4 * PATCH_H; i += GROUP) {
        const int k = i / PATCH_H, y = top + i % PATCH_H - KS / 2;
        row_at[i] = ring_row(k == 0 ? r0 : k == 1 ? r1 : k == 2 ? r2 : r3, reflect(min(y, y1 - 1 + KS / 2), h));
    }
#if SCALED
    scales += R_FLOATS(rscales) + R_FIRST(rscales);
    for (int i = lid; i < stages * 16; i += GROUP)
        scale_of[i] = i < R_C(r0) ? (float2)(scales[i], scales[R_ALL(rscales) + i]) : (float2)(0.0f);
#endif
    if (lid == 0) {
        for (int i = 0; i < SLOTS; i++) {
            BAR_INIT(FULL(i), 1);
            BAR_INIT(FREE(i), GROUP / 32);
        }
        FENCE_BARS;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0)
        for (int i = 0; i < min(SLOTS - 1, pieces); i++) FILL(i, i)

    float acc[64];
#pragma unroll
    for (int i = 0; i < 64; i++) acc[i] = 0.0f;
    uint v[PER][16];
    int row = 0, piece = 0, slot = 0, phase = 0; // row of the piece in use, its number, its slot and the parity of that one's use
#if BUFFERS > 1
    uint at = patches, to = patches + PATCH; // of the stage and of the next
    FETCH(0)
    STASH(0, at)
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
    for (int stage = 0; stage < stages; stage++) {
        const bool more = stage + 1 < stages;
        if (more) FETCH(stage + 1)
        MULTIPLY(at)
#if ROWS % PIECE != 0
        COMMIT;
        WAIT_BUT_LAST;
#endif
        // Some of this stage's products may be under way, but none of this warpgroup's
        // before; with three buffers nothing reads the one that comes next.
#if BUFFERS == 2
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
        if (more) STASH(stage + 1, to)
        barrier(CLK_LOCAL_MEM_FENCE);
        at = to;
        to = to == patches + (BUFFERS - 1) * PATCH ? patches : to + PATCH;
    }
    COMMIT;
    WAIT_ALL;
#else
#pragma unroll 1
    for (int stage = 0; stage < stages; stage++) {
        FETCH(stage)
        STASH(stage, patches)
        barrier(CLK_LOCAL_MEM_FENCE);
        MULTIPLY(patches)
        COMMIT;
        WAIT_ALL;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif

    // A lane has the sums of columns 2t and 2t+1 of each block, of two outputs or rows
    // of the block (e).
    const int outs = R_C(rdst), x = x0 + 8 * wg;
    __global const float *bias = (__global const float *)weights + bias_at;
#if SUMS
    MOMENTS
#endif
    const bool inside = x > RIM && x + 7 < w - 1 - RIM;
#pragma unroll
    for (int e = 0; e < 2; e++) {
        const int k = OUTPUT(e);
        const float b = bias[k];
#pragma unroll
        for (int j0 = 0; j0 < 16; j0 += 4) {
            uint p[4];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int y = top + ROW(j0 + j, e);
                float s[2];
#pragma unroll
                for (int i = 0; i < 2; i++) s[i] = activate(acc[(j0 + j) * 4 + e * 2 + i] + b, ACT, slope);
                if (!SUMS && res && k < outs && y < y1) {
                    float r[2];
                    UNPACK2(r[0], r[1], *(__global const uint *)(res + ring_row(rres, y) + (size_t)k * pitch + x + 2 * t));
                    s[0] += r[0];
                    s[1] += r[1];
                }
                PACK2(p[j], s[0], s[1]);
            }
            TRANSPOSE(p) // lane t: the eight columns of block j0+t
            const int y = top + ROW(j0 + t, e);
            if (k < outs && y < y1) {
                __global data_t *line = dst + ring_row(rdst, y) + (size_t)k * pitch + x;
                if (inside)
                    *(__global uint4 *)line = (uint4)(p[0], p[1], p[2], p[3]);
                else
                    conv_wgmma_put((__global ushort *)line, x, w, p[0], p[1], p[2], p[3]);
            }
        }
    }
}

#undef GROUP
#undef TILE_W
#undef TILE_H
#undef PATCH_H
#undef LEFT
#undef OFF
#undef QUADS
#undef PITCH
#undef PLANE
#undef PATCH
#undef ROWS
#undef PIECE_BYTES
#undef OUTS
#undef SHARED
#undef ROWS4
#undef OWN
#undef PER
#undef UNIT
#undef UNIT_QUAD
#undef UNIT_ROW
#undef UNIT_AT
#undef UNIT_FROM
#undef UNIT_IS
#undef NEXT_SOURCE
#undef SEEK
#undef FETCH
#undef EVEN
#undef ODD
#undef STASH
#undef FULL
#undef FREE
#undef FILL
#undef NEXT_PIECE
#undef FACTOR
#undef MULTIPLY
#undef NORMALISE
#undef NORMALISE2
#undef OUTPUT
#undef ROW
#undef SUM
#undef MOMENTS
#undef DOWN
#undef MADE
#undef SIDE
#undef COPIES
#undef LEFT_TAP
#undef LEFT_STRIDE
#undef LEFT_BYTES
#undef LEFT_AT
