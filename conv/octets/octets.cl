// conv_octets: implicit GEMM on NVIDIA's matrix units over rows of octets (see package planar).
//
// M is pixels of a row, N outputs, K two octets of source channels at a tap. As an octet of a pixel is
// 16 bytes, which is a row of a core matrix, a factor of pixels is what lies in memory, and the next tap begins 16 bytes
// further on.
//
// Work-groups stay on their compute unit with the weights of OUTS outputs in local memory. Each of their TEAMS
// teams of warps makes tiles of TILE_W columns × TILE_H rows, one after the other: WC warps side by side, WR below each
// other, WN along the outputs; a warp makes R rows of P·16 columns and 8·NT outputs, by mma.sync or, with WGMMA, four
// warps side by side together. A stage is the patch of OS octets of the sources; SLOTS of them are on their way or
// in use, copied by lines.
//
// A step is what is multiplied for each kernel row: two octets at one column of the kernel, for all columns,
// or, where OS is odd, the last octet at two columns. The sum of an output runs over stages, steps and kernel rows in an order that
// is the same wherever the output lies.
//
// Expects the prelude, instructions.cl, planar's octets.cl and NAME; KS; WGMMA; NT, WN, P, WC, R, WR, TEAMS, OS, SLOTS, STAGES, BULK (copies are those of Hopper GPUs), PER
// (work-groups on a compute unit); SOURCES; ACT; RAGGED (outputs are no multiple of 8); PLANAR (the destination and residual
// are planar lines). Weights: see pack.go.

#define WARPS (WC * WR * WN)
#define TEAM (32 * WARPS)
#define GROUP (TEAM * TEAMS)
#define TILE_W (16 * P * WC)
#define TILE_H (R * WR)
#define OUTS (8 * NT * WN)
#define PATCH_H (TILE_H + KS - 1)
#define PATCH_W (TILE_W + KS - 1)
#define LINE_BYTES (PATCH_W * 16)
#define OCTET_BYTES (PATCH_H * LINE_BYTES)
#define LINES (OS * PATCH_H)
#define SLOT_BYTES (OS * OCTET_BYTES)
#define PAIRS (OS / 2 * KS)
#define STEPS (PAIRS + OS % 2 * ((KS + 1) / 2))
#define STEP_BYTES (OUTS * 32)
#define STAGE_BYTES (STEPS * KS * STEP_BYTES)
#define LOCAL_BYTES (STAGES * STAGE_BYTES + TEAMS * SLOTS * SLOT_BYTES + OUTS * 8 + 8 + TEAMS * SLOTS * 16)
#define FULL(slot) (bars + (slot) * 16)
#define FREE(slot) (bars + (slot) * 16 + 8)

// Has slot filled with the stage that comes next, if there is one: each warp its lines.
#define FILL(slot) { \
    COPY_LINES(slot) \
    if (++fill_stage == STAGES) { \
        fill_stage = 0; \
        fill_tile += workers; \
        AIM \
    } }
#if BULK // a lane a line
#define COPY_LINES(slot) \
    if (lane == 0) OCT_BAR_EXPECT(FULL(slot), (LINES - warp + WARPS - 1) / WARPS * LINE_BYTES) \
    for (int l_ = warp + lane * WARPS; l_ < LINES; l_ += 32 * WARPS) { \
        FIND_LINE \
        OCT_BULK_COPY(slots + (slot) * SLOT_BYTES + l_ * LINE_BYTES, from_, LINE_BYTES, FULL(slot)) \
    }
#define COPIERS 1 // of a warp, that arrive
#define WAIT OCT_BAR_WAIT
#else
#define COPY_LINES(slot) \
    _Pragma("unroll 1") for (int l_ = warp; l_ < LINES; l_ += WARPS) { \
        FIND_LINE \
        for (int c_ = lane; c_ < PATCH_W; c_ += 32) OCT_COPY16(slots + (slot) * SLOT_BYTES + l_ * LINE_BYTES + c_ * 16, from_ + c_) \
    } \
    OCT_COPIES_ARRIVE(FULL(slot))
#define COPIERS 32
#define WAIT OCT_BAR_POLL
#endif
// Points from_ at line l_ of the patch.
#define FIND_LINE \
    int o_ = fill_stage * OS + l_ / PATCH_H; \
    const int y_ = min(fill_y + l_ % PATCH_H, h - 1 + KS / 2); \
    ring_t r_ = r0; \
    __global const uint4 *from_ = (__global const uint4 *)src0; \
    NEXT_SOURCE(1, src1, r1) NEXT_SOURCE(2, src2, r2) NEXT_SOURCE(3, src3, r3) \
    if (o_ < R_C(r_) && !OUTSIDE(y_, h)) from_ += octets_row(r_, (uint)y_ < (uint)h ? y_ : pad_index(y_, h)) + (size_t)o_ * R_PITCH(r_) + fill_x; \
    else from_ = zeros;
#define NEXT_SOURCE(k, s, r) \
    if (SOURCES > k && o_ >= R_C(r_)) { o_ -= R_C(r_); r_ = r; from_ = (__global const uint4 *)s; }
// Where the patch of the tile to be filled begins.
#define AIM { \
    fill_x = fill_tile % across * TILE_W - KS / 2; \
    fill_y = y0 + fill_tile / across * TILE_H - KS / 2; \
    }

#if WGMMA
// Where a factor begins, in units of 16 bytes, and its strides along the channels
// and along the rows of M or N.
#define FACTOR(at, k, n) ((ulong)((at) >> 4) | (ulong)((k) >> 4) << 16 | (ulong)((n) >> 4) << 32)
#endif

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void NAME(__global const data_t *restrict src0, ring_t r0, __global const data_t *restrict src1, ring_t r1,
          __global const data_t *restrict src2, ring_t r2, __global const data_t *restrict src3, ring_t r3,
          __global const uint *restrict weights, int groups, int bias_at, int zeros_at, int outs,
          __global const data_t *restrict res, ring_t rres, __global data_t *restrict dst, ring_t rdst,
          int y0, int y1, float slope) {
#if BULK
    OCT_GROUPS_AT_ONCE(PER);
#endif
    OCT_SHARED(taps, LOCAL_BYTES)
    const int lid = get_local_id(0), lane = lid & 31, g = lane / 4, t = lane % 4;
    int warps = lid / 32;
    OCT_UNIFORM(warps)
    const int team = warps / WARPS, warp = warps % WARPS;
    const int wc = warp % WC, wr = warp / WC % WR, wn = warp / (WC * WR);
    const uint slots = taps + STAGES * STAGE_BYTES + team * (SLOTS * SLOT_BYTES);
    const uint biases = taps + STAGES * STAGE_BYTES + TEAMS * SLOTS * SLOT_BYTES, loaded = biases + OUTS * 8;
    const uint bars = loaded + 8 + team * (SLOTS * 16);
    const int w = R_W(rdst), h = R_H(rdst), pitch = R_PITCH(rdst);
    const int first = (int)get_group_id(0) % groups * OUTS; // output
    __global const uchar *const factors = (__global const uchar *)weights + (size_t)((int)get_group_id(0) % groups) * (STAGES * STAGE_BYTES);
    __global const float *const bias = (__global const float *)weights + bias_at + first;
    __global const uint4 *const zeros = (__global const uint4 *)(weights + zeros_at);

    const int across = (w + TILE_W - 1) / TILE_W, tiles = across * ((y1 - y0 + TILE_H - 1) / TILE_H);
    const int worker = (int)get_group_id(0) / groups * TEAMS + team, workers = (int)get_num_groups(0) / groups * TEAMS;

    if (lid == 0) {
        OCT_BAR_INIT(loaded, BULK ? 1 : GROUP)
        for (int i = 0; i < TEAMS * SLOTS; i++) {
            OCT_BAR_INIT(loaded + 8 + i * 16, WARPS * COPIERS)
            OCT_BAR_INIT(loaded + 16 + i * 16, WARPS)
        }
#if BULK
        OCT_FENCE_BARS
#endif
    }
    for (int i = lid; i < OUTS; i += GROUP) {
        OCT_ST1(biases + i * 4, as_uint(bias[i]))
#ifdef ACT_SLOPES
        OCT_ST1(biases + OUTS * 4 + i * 4, as_uint(SLOPE_OF(slope, (__global const float *)weights, min(first + i, outs - 1))))
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if BULK
    if (lid == 0) {
        OCT_BAR_EXPECT(loaded, STAGES * STAGE_BYTES)
        for (int i = 0; i < STAGES; i++) OCT_BULK_COPY(taps + i * STAGE_BYTES, factors + i * STAGE_BYTES, STAGE_BYTES, loaded)
    }
#else
    for (int i = lid * 16; i < STAGES * STAGE_BYTES; i += GROUP * 16) OCT_COPY16(taps + i, factors + i)
    OCT_COPIES_ARRIVE(loaded)
#endif
    int fill_tile = worker, fill_stage = 0, fill_x, fill_y;
    AIM
    for (int i = 0; i < SLOTS; i++)
        if (fill_tile < tiles) FILL(i)
    WAIT(loaded, 0)

    int slot = 0, phase = 0, last = -1, last_phase = 0;
    for (int tile = worker; tile < tiles; tile += workers) {
        float acc[R][P][NT][4];
        BEGIN_SUMS
#pragma unroll 1
        for (int stage = 0; stage < STAGES; stage++) {
            WAIT(FULL(slot), phase)
#if WGMMA
            const uint pixels = slots + slot * SLOT_BYTES + (wr * R * PATCH_W + wc / 4 * 64) * 16;
            const uint part = taps + stage * STAGE_BYTES + wn * (NT * 128);
            OCT_BEGIN
#pragma unroll
            for (int s = 0; s < STEPS; s++) {
                const int q = s - PAIRS;
                const uint at = pixels + (s < PAIRS ? s / KS * (2 * OCTET_BYTES) + s % KS * 16 : OS / 2 * 2 * OCTET_BYTES + q * 32);
                const uint beside = s < PAIRS ? OCTET_BYTES : 2 * q + 1 < KS ? 16 : 0;
#pragma unroll
                for (int ky = 0; ky < KS; ky++) {
                    const ulong b = FACTOR(part + (s * KS + ky) * STEP_BYTES, OUTS * 16, 128);
#pragma unroll
                    for (int r = 0; r < R; r++) {
                        const ulong a = FACTOR(at + (r + ky) * LINE_BYTES, beside, 128);
                        OCT_WGMMA(acc[r][0], a, b)
                    }
                }
            }
            OCT_COMMIT
            OCT_WAIT_BUT_LAST
            if (stage > 0 && lane == 0) OCT_BAR_ARRIVE(FREE(last))
#else
            const uint pixels = slots + slot * SLOT_BYTES + (wr * R * PATCH_W + wc * (16 * P) + lane % 16) * 16;
            const uint at_pair = pixels + lane / 16 * OCTET_BYTES, at_tail = pixels + OS / 2 * 2 * OCTET_BYTES + lane / 16 * 16;
            const uint part = taps + stage * STAGE_BYTES + wn * (NT * 256);
#pragma unroll
            for (int s = 0; s < STEPS; s++) {
                const int q = s - PAIRS;
                const uint at = s < PAIRS ? at_pair + s / KS * (2 * OCTET_BYTES) + s % KS * 16 : (2 * q + 1 < KS ? at_tail : pixels + OS / 2 * 2 * OCTET_BYTES) + q * 32;
                uint b[KS][NT][2];
#pragma unroll
                for (int ky = 0; ky < KS; ky++) {
                    const uint from = part + (s * KS + ky) * STEP_BYTES;
#pragma unroll
                    for (int j = 0; j + 1 < NT; j += 2) OCT_LD4(b[ky][j], b[ky][j + 1], from + j * 256 + lane * 16)
                    if (NT % 2) OCT_LD2(b[ky][NT - 1], from + (NT - 1) * 256 + lane * 8)
                }
#pragma unroll
                for (int y = 0; y < R + KS - 1; y++) {
                    uint a[P][4];
#pragma unroll
                    for (int p = 0; p < P; p++) OCT_LDMATRIX(a[p], at + y * LINE_BYTES + p * 256)
#pragma unroll
                    for (int ky = (y < R ? 0 : y - R + 1); ky < (y < KS ? y + 1 : KS); ky++)
#pragma unroll
                        for (int p = 0; p < P; p++)
#pragma unroll
                            for (int j = 0; j < NT; j++) OCT_MMA(acc[y - ky][p][j], a[p], b[ky][j])
                }
            }
            OCT_WARP_SYNC
            if (lane == 0) OCT_BAR_ARRIVE(FREE(slot))
#endif
            // The slot of the stage before is free when all warps are done with it.
            if (last >= 0 && fill_tile < tiles) {
                WAIT(FREE(last), last_phase)
                FILL(last)
            }
            last = slot;
            last_phase = phase;
            if (++slot == SLOTS) {
                slot = 0;
                phase ^= 1;
            }
        }
#if WGMMA
#pragma unroll
        for (int r = 0; r < R; r++) OCT_WAIT_ALL(acc[r][0])
        if (lane == 0) OCT_BAR_ARRIVE(FREE(last))
#endif
        STORE
    }
}
