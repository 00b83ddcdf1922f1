// conv_wgmma: implicit GEMM on the warpgroup matrix units of NVIDIA's Hopper
// GPUs (wgmma).
//
// M is 64: 64/BLOCK outputs of BLOCK rows of the picture each. N is 128: 16 blocks of
// BLOCK rows, one below the other, of 8 columns. K is 16 source channels, once for each
// tap. A work-group is two warpgroups side by side: 16 columns × 16·BLOCK rows.
//
// Both factors are in local memory as the units take them without swizzling: eight
// rows (pixels, outputs) of eight channels are 128 bytes in a line. The patch
// of a stage, two chunks of eight channels, is [chunk][row][column][8 channels],
// so that eight columns are such a matrix wherever they begin, and a tap is
// nothing but another start address. On the way in pixels are transposed from
// planar lines; meanwhile another work-group computes.
//
// With BLOCK rows in M a row of the patch meets another kernel row for each of
// them, none (zeros) for some: a stage has (KS+BLOCK-1)·KS taps. Weights come PIECE
// taps at a time into a ring of SLOTS, each piece by one bulk copy for which a barrier
// object waits. The sum of an output runs over stages, kernel rows and columns
// in that order, wherever the output lies in its tile.
//
// Expects the prelude, instructions.cl and NAME, KS, BLOCK, SETS, PIECE, SLOTS, ACT.
// Weights: see pack.go.
#ifndef CONV_WGMMA_PUT
#define CONV_WGMMA_PUT
// Writes column x+i of the line, whose column x is at to, and the columns of the
// rim that mirror it. The line is longer than the rim, so there is one at most
// on each side.
static void conv_wgmma_put(__global data_t *to, int x, int i, int w, float v) {
    const int c = x + i, d = w - 1 - c;
    ST1(v, to, i);
    if (c > 0 && c <= RIM) ST1(v, to, i - 2 * c);
    if (d > 0 && d <= RIM) ST1(v, to, i + 2 * d);
}
#endif

#define GROUP 256
#define TILE_W 16
#define TILE_H (16 * BLOCK)
#define PATCH_H (TILE_H + KS - 1)
#define LEFT (KS > 1 ? 4 : 0) // columns of the patch before the tile's
#define OFF (LEFT - KS / 2)
#define QUADS ((TILE_W + OFF + KS - 1 + 3) / 4)
#define PITCH (QUADS * 4 + 1) // pixels; odd, so that rows begin in different banks
#define PLANE ((PATCH_H * PITCH + 3) / 8 * 8 + 4) // pixels; chunks do, too
#define PATCH (2 * PLANE * 16)
#define TAPS ((KS + BLOCK - 1) * KS)
#define TAP 2048
#define PIECE_BYTES (PIECE * TAP)
#define OUTS (64 / BLOCK)
#define SHARED (SETS * PATCH + SLOTS * (PIECE_BYTES + 16))

// A unit is four columns of a chunk in a row. Units of even work-items are of one
// chunk, those of odd ones of the other.
#define PER (((PATCH_H + 3) / 4 * 4 * QUADS + GROUP / 2 - 1) / (GROUP / 2)) // units of a work-item
#define UNIT(i) ((lid >> 1) + (i) * (GROUP / 2))
#define UNIT_QUAD(i) (UNIT(i) / 4 % QUADS)
#define UNIT_ROW(i) (UNIT(i) / (4 * QUADS) * 4 + UNIT(i) % 4)
#define UNIT_AT(i) ((q * PLANE + UNIT_ROW(i) * PITCH + UNIT_QUAD(i) * 4) * 16)
#define UNIT_FROM(i) (from + row_at[source * PATCH_H + min(UNIT_ROW(i), PATCH_H - 1)] + UNIT_QUAD(i) * 4)
#define UNIT_IS(i) (UNIT_ROW(i) < PATCH_H)

// Points from, source and valid at chunk q of stage s.
#define NEXT_SOURCE(sk, rk, k) \
    if (chunk >= (R_C(r) + 7) / 8) { chunk -= (R_C(r) + 7) / 8; from = sk; r = rk; source = k; }
#define SEEK(s) \
    __global const data_t *from = src0; \
    ring_t r = r0; \
    int source = 0, chunk = 2 * (s) + q; \
    NEXT_SOURCE(src1, r1, 1) NEXT_SOURCE(src2, r2, 2) NEXT_SOURCE(src3, r3, 3) \
    const int valid = R_C(r) - chunk * 8; \
    from += (size_t)chunk * (8 * pitch) + from_x;

// Loads this work-item's units of stage s into v: two words of each of eight
// channels.
#define FETCH(s) { \
    SEEK(s) \
    _Pragma("unroll") for (int u_ = 0; u_ < PER; u_++) { \
        __global const data_t *from_ = UNIT_FROM(u_); \
        _Pragma("unroll") for (int c_ = 0; c_ < 8; c_++) \
            LOAD2(v[u_][2 * c_], v[u_][2 * c_ + 1], from_ + (size_t)(uint)(c_ * pitch), UNIT_IS(u_) && c_ < valid); \
    } }

// Sorts them by column and stores them into the patch at to.
#define EVEN(v, c) (((v)[2 * (c)] & 0xffff) | (v)[2 * (c) + 2] << 16)
#define ODD(v, c) ((v)[2 * (c)] >> 16 | ((v)[2 * (c) + 2] & 0xffff0000))
#define STASH(to) \
    _Pragma("unroll") for (int u_ = 0; u_ < PER; u_++) \
        if (UNIT_IS(u_)) { \
            const uint at_ = (to) + UNIT_AT(u_); \
            STORE4(at_, EVEN(v[u_], 0), EVEN(v[u_], 2), EVEN(v[u_], 4), EVEN(v[u_], 6)); \
            STORE4(at_ + 16, ODD(v[u_], 0), ODD(v[u_], 2), ODD(v[u_], 4), ODD(v[u_], 6)); \
            STORE4(at_ + 32, EVEN(v[u_] + 1, 0), EVEN(v[u_] + 1, 2), EVEN(v[u_] + 1, 4), EVEN(v[u_] + 1, 6)); \
            STORE4(at_ + 48, ODD(v[u_] + 1, 0), ODD(v[u_] + 1, 2), ODD(v[u_] + 1, 4), ODD(v[u_] + 1, 6)); \
        }

// The barrier objects of a slot: its piece has come, all warps are done with it.
#define FULL(slot) (bars + (slot) * 16)
#define FREE(slot) (bars + (slot) * 16 + 8)
// Has a slot filled with the next piece.
#define FILL(slot) { \
    BAR_EXPECT(FULL(slot), PIECE_BYTES); \
    BULK_COPY(ring + (slot) * PIECE_BYTES, wt, PIECE_BYTES, FULL(slot)); \
    wt += PIECE_BYTES / 4; \
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
        FILL(last_); \
    } \
    tap = 0; \
    piece++; \
    if (++slot == SLOTS) { slot = 0; phase ^= 1; } \
    BEGIN; \
    }

// Where a factor begins, in units of 16 bytes, and its strides along the channels
// and along the rows of M or N.
#define FACTOR(at, k, n) ((ulong)((at) >> 4) | (ulong)((k) >> 4) << 16 | (ulong)((n) >> 4) << 32)

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void NAME(__global const data_t *restrict src0, ring_t r0, __global const data_t *restrict src1, ring_t r1,
          __global const data_t *restrict src2, ring_t r2, __global const data_t *restrict src3, ring_t r3,
          __global const uint *restrict weights, int stages, int bias_at,
          __global const data_t *restrict res, ring_t rres, __global data_t *restrict dst, ring_t rdst,
          int y0, int y1, float slope) {
    __local size_t row_at[4 * PATCH_H];
    GROUPS_AT_ONCE(2);
    SHARED_AT(patches);
    const uint ring = patches + SETS * PATCH, bars = ring + SLOTS * PIECE_BYTES;
    const int lid = get_local_id(0), q = lid & 1, lane = lid & 31, quad = lane / 4, t = lane % 4;
    const int wg = lid / 128, warp = lid / 32 % 4;
    const int x0 = get_group_id(1) * TILE_W, top = y0 + (int)get_group_id(2) * TILE_H;
    const int w = R_W(rdst), h = R_H(rdst), pitch = R_PITCH(rdst);
    const int from_x = min(x0, (w - 1) / TILE_W * TILE_W) - LEFT;
    const int pieces = (stages * TAPS + PIECE - 1) / PIECE;
    __global const uint *wt = weights + (size_t)get_group_id(0) * pieces * (PIECE_BYTES / 4);

    // Rows below those that this launch's outputs need may not exist. Where
    // BLOCK > 1 they enter other outputs' sums times zero, so others stand for them.
    for (int i = lid; i < 4 * PATCH_H; i += GROUP) {
        const int k = i / PATCH_H, y = top + i % PATCH_H - KS / 2;
        row_at[i] = ring_row(k == 0 ? r0 : k == 1 ? r1 : k == 2 ? r2 : r3, reflect(min(y, y1 - 1 + KS / 2), h));
    }
    if (lid == 0) {
        for (int i = 0; i < SLOTS; i++) {
            BAR_INIT(FULL(i), 1);
            BAR_INIT(FREE(i), GROUP / 32);
        }
        FENCE_BARS;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0)
        for (int i = 0; i < min(SLOTS - 1, pieces); i++) FILL(i);

    float acc[64];
#pragma unroll
    for (int i = 0; i < 64; i++) acc[i] = 0.0f;
    int tap = 0, slot = 0, phase = 0, piece = 0; // tap in the piece, its slot, the parity of that one's use, its number
#pragma unroll 1
    for (int first = 0; first < stages; first += SETS) {
        const int sets = min(SETS, stages - first);
#pragma unroll 1
        for (int set = 0; set < sets; set++) {
            uint v[PER][16];
            FETCH(first + set)
            STASH(patches + set * PATCH)
        }
        FENCE_STORES;
        barrier(CLK_LOCAL_MEM_FENCE);
        BEGIN;
#pragma unroll 1
        for (int set = 0; set < sets; set++) {
            ulong pixels = FACTOR(patches + set * PATCH + (wg * 8 + OFF) * 16, PLANE * 16, BLOCK * PITCH * 16);
#pragma unroll 1
            for (int row = 0; row < KS + BLOCK - 1; row++) {
#pragma unroll
                for (int kx = 0; kx < KS; kx++) {
                    if (tap == 0) BAR_WAIT(FULL(slot), phase);
                    MULTIPLY_ADD(FACTOR(ring + slot * PIECE_BYTES + tap * TAP, 128, 256), pixels + kx);
                    if (++tap == PIECE) NEXT_PIECE
                }
                pixels += PITCH;
            }
        }
        COMMIT;
        WAIT_ALL;
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    // A lane has the sums of columns 2t and 2t+1 of each block, of outputs quad and
    // quad+8 of its warp's 16 rows of M.
    const int outs = R_C(rdst);
    __global const float *bias = (__global const float *)weights + bias_at;
#pragma unroll
    for (int e = 0; e < 2; e++) {
        const int m = warp * 16 + quad + e * 8, k = (int)get_group_id(0) * OUTS + m % OUTS;
        const float b = bias[k];
#pragma unroll
        for (int j0 = 0; j0 < 16; j0 += 4) {
            const int x = x0 + 8 * (wg + j0 / 16), y_ = top + j0 % 16 * BLOCK + m / OUTS;
            const bool inside = x > RIM && x + 7 < w - 1 - RIM;
            uint p[4];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int y = y_ + j * BLOCK;
                const bool is = k < outs && y < y1;
                float v[2];
#pragma unroll
                for (int i = 0; i < 2; i++) v[i] = activate(acc[(j0 + j) * 4 + e * 2 + i] + b, ACT, slope);
                if (res && is) {
#pragma unroll
                    for (int i = 0; i < 2; i++)
                        if (x + 2 * t + i < w) v[i] += LD1(res, ring_row(rres, y) + (size_t)k * pitch + x + 2 * t + i);
                }
                if (!inside && is) {
                    __global data_t *to = dst + ring_row(rdst, y) + (size_t)k * pitch + x + 2 * t;
#pragma unroll
                    for (int i = 0; i < 2; i++)
                        if (x + 2 * t + i < w) conv_wgmma_put(to, x + 2 * t, i, w, v[i]);
                }
                PACK2(p[j], v[0], v[1]);
            }
            TRANSPOSE(p) // lane t: the eight columns of block j0+t
            const int y = y_ + t * BLOCK;
            if (inside && k < outs && y < y1)
                *(__global uint4 *)(dst + ring_row(rdst, y) + (size_t)k * pitch + x) = (uint4)(p[0], p[1], p[2], p[3]);
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
#undef TAPS
#undef TAP
#undef PIECE_BYTES
#undef OUTS
#undef SHARED
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
