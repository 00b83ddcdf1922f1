// conv_wgmma: implicit GEMM on the warpgroup matrix units of NVIDIA's Hopper
// GPUs (wgmma).
//
// M is 64: 64/BLOCK outputs of BLOCK rows of the picture each, the lower row first. N is 128: 16 blocks of BLOCK rows, one below the other, of 8 columns. K is 16 source
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
// copy for which a barrier object waits. The sum of an output runs over stages,
// kernel rows and columns in that order, wherever the output lies in its tile.
//
// Parts are in patch.cl, products.cl and sums.cl. Expects the prelude,
// instructions.cl and NAME, KS, BLOCK (1 or 2), BUFFERS, PIECE, SLOTS, ACT; SUMS
// (leaves statistics: see conv.Summing; without activation and residual); SCALED
// (takes in the norm of its source: see conv.Scaling), PRE, the activation that
// follows, and CHANNELS, the most there can be. Weights: see pack.go.
#ifndef CONV_WGMMA_PUT
#define CONV_WGMMA_PUT
#ifdef PAD_ZERO
#define RIM_BITS(v) 0
#else
#define RIM_BITS(v) (v)
#endif
// Writes the eight columns from x on, two to a word, into the line whose column x
// is at to, as far as it goes, and the columns of the rim that they stand for. The
// line is longer than the rim, so there is one reflected column at most on each side.
static void conv_wgmma_put(__global ushort *to, int x, int w, uint a, uint b, uint c, uint d) {
#pragma unroll 1
    for (int i = 0; i < min(8, w - x); i++) {
        const ushort v = (i < 4 ? (i < 2 ? a : b) : (i < 6 ? c : d)) >> (16 * (i & 1));
        const int l = x + i, r = w - 1 - l;
        to[i] = v;
#if defined(PAD_ZERO) || defined(PAD_EDGE)
        for (int k = 1; k <= RIM; k++) {
            if (l == 0) to[-k] = RIM_BITS(v);
            if (r == 0) to[i + k] = RIM_BITS(v);
        }
#else
        if (l > 0 && l <= RIM) to[i - 2 * l] = v;
        if (r > 0 && r <= RIM) to[i + 2 * r] = v;
#endif
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
#define OUTS (64 / BLOCK)
#define PIECE_BYTES (PIECE * KS * OUTS * 32)
#define SOURCES (SCALED ? 1 : 4)
#define RESULT (TILE_H * TILE_W * 2 + 16) // bytes of an output's results
#define NEED (BUFFERS * PATCH + (SLOTS + BLOCK - 1) * PIECE_BYTES + SLOTS * 16)
#define SHARED (NEED > OUTS * RESULT ? NEED : OUTS * RESULT)

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
    __local size_t row_at[SOURCES * PATCH_H];
#if SUMS
    __local float2 part[PARTS][BLOCK][OUTS];
#endif
#if SCALED
    __local float2 scale_of[CHANNELS] __attribute__((aligned(16)));
#endif
    GROUPS_AT_ONCE(2);
    SHARED_AT(patches);
    const uint ring = patches + BUFFERS * PATCH, bars = ring + (SLOTS + BLOCK - 1) * PIECE_BYTES;
    const int lid = get_local_id(0), q = lid & 1, lane = lid & 31, quad = lane / 4, t = lane % 4;
    const int wg = lid / 128, warp = lid / 32 % 4;
    const int x0 = get_group_id(1) * TILE_W, top = y0 + (int)get_group_id(2) * TILE_H;
    const int w = R_W(rdst), h = R_H(rdst), pitch = R_PITCH(rdst);
    const int pieces = (stages * ROWS + PIECE - 1) / PIECE;
    __global const uchar *const left = (__global const uchar *)weights + (size_t)get_group_id(0) * PIECES * PIECE_BYTES;
#if SCALED
    float2 mine[CHANNELS / GROUP]; // on their way while rows are found
    scales += R_FLOATS(rscales) + R_FIRST(rscales) + lid;
#pragma unroll
    for (int i = 0; i < CHANNELS / GROUP; i++) {
        mine[i] = 0.0f;
        if (lid + i * GROUP < R_C(r0)) mine[i] = (float2)(scales[i * GROUP], scales[R_ALL(rscales) + i * GROUP]);
    }
#endif

    // Rows below those that this launch's outputs need may not exist. Where
    // BLOCK > 1 they enter other outputs' sums times zero, so others stand for them.
    for (int i = lid; i < SOURCES * PATCH_H; i += GROUP) {
        const int k = i / PATCH_H, y = top + i % PATCH_H - KS / 2;
        row_at[i] = ring_row(k == 0 ? r0 : k == 1 ? r1 : k == 2 ? r2 : r3, pad_index(min(y, y1 - 1 + KS / 2), h));
#ifdef PAD_ZERO
        if (OUTSIDE(min(y, y1 - 1 + KS / 2), h)) row_at[i] = NO_ROW;
#endif
    }
#if SCALED
#pragma unroll
    for (int i = 0; i < CHANNELS / GROUP; i++) scale_of[lid + i * GROUP] = mine[i];
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
        for (int i = 0; i < min(SLOTS - 1, PIECES); i++) FILL(i, i)

    float acc[64];
#pragma unroll
    for (int i = 0; i < 64; i++) acc[i] = 0.0f;
#if BLOCK == 2
    BAR_WAIT(FULL(0), 0);
#endif
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

    // A lane has the sums of columns 2t and 2t+1 of each block, of two outputs (e).
    const int outs = R_C(rdst), x = x0 + 8 * wg;
    __global const float *bias = (__global const float *)weights + bias_at;
#if SUMS
    MOMENTS
#endif
    // They go to local memory as [output][row][16 columns], whose outputs begin in
    // different banks, and from there in whole sectors of a line.
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int e = 0; e < 2; e++) {
        const int k = OUTPUT(e);
        const float b = bias[k], a = SLOPE_OF(slope, (__global const float *)weights, min(k, outs - 1));
#pragma unroll
        for (int j = 0; j < 16; j++) {
            const int y = top + ROW(j);
            float s[2];
#pragma unroll
            for (int i = 0; i < 2; i++) s[i] = acc[j * 4 + e * 2 + i] + b;
            const bool sum = !SUMS && res && k < outs && y < y1;
            float r[2] = {0.0f, 0.0f};
            if (sum) UNPACK2(r[0], r[1], *(__global const uint *)(res + ring_row(rres, y) + (size_t)k * pitch + x + 2 * t));
#pragma unroll
            for (int i = 0; i < 2; i++) {
                if (RES_FIRST && sum) s[i] += r[i];
                s[i] = activate(s[i], ACT, a);
                if (!RES_FIRST && sum) s[i] += r[i];
            }
            uint p;
            PACK2(p, s[0], s[1]);
            STORE1(patches + k % OUTS * RESULT + ROW(j) * 32 + wg * 16 + t * 4, p);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int side = lid & 1, r = lid / 2 % TILE_H, y = top + r, x8 = x0 + 8 * side;
    if (y >= y1) return;
    const bool inside = x8 > RIM && x8 + 7 < w - 1 - RIM;
    __global data_t *const line = dst + ring_row(rdst, y) + x8;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int o = lid / 2 / TILE_H + i * (OUTS / 8), k = (int)get_group_id(0) * OUTS + o;
        if (k >= outs) break;
        uint p[4];
        LOAD4(p, patches + o * RESULT + r * 32 + side * 16);
        if (inside)
            *(__global uint4 *)(line + (size_t)k * pitch) = (uint4)(p[0], p[1], p[2], p[3]);
        else
            conv_wgmma_put((__global ushort *)line + (size_t)k * pitch, x8, w, p[0], p[1], p[2], p[3]);
    }
}
