// conv_octets: implicit GEMM on the warpgroup matrix units of NVIDIA's Hopper GPUs (wgmma) over rows of octets (see package
// planar).
//
// M is 64 pixels of a row, N 8·NT outputs, K two octets of source channels at a tap. As an octet of a pixel is
// 16 bytes, which is a row of a core matrix, a factor of pixels is what lies in memory, and the next tap begins 16 bytes
// further on.
//
// Work-groups stay on their compute unit with the weights of OUTS outputs in local memory. Each of their TEAMS
// warpgroups makes tiles of 64 columns × R rows, one after the other. A stage is the patch of OS octets of the
// sources; slot_count of them are on their way or in use, copied by lines, a lane a line.
//
// A step is what is multiplied for each kernel row: two octets at one column of the kernel, for all columns,
// or, where OS is odd, the last octet at two columns. The sum of an output runs over stages, steps and kernel rows in an order that
// is the same wherever the output lies.
//
// How many stages and slots there are is an argument: kernels that differ in it alone are one program, as each takes NVIDIA's
// compiler a second.
//
// Expects the prelude, instructions.cl, planar's octets.cl, store.cl, patch.cl and NAME; KS; NT, R, TEAMS, OS; LOCAL_BYTES of local
// memory; ACT; RESIDUALS; RAGGED (outputs are no multiple of 8); PLANAR (the destination and residual are planar lines). Weights: see
// pack.go.

#define TILE_H R
#define TOP (y0 + tile / across * R) // first row of a tile
#define PAIRS (OS / 2 * KS)
#define STEPS (PAIRS + OS % 2 * ((KS + 1) / 2))
#define STEP_BYTES (OUTS * 32)
#define STAGE_BYTES (STEPS * KS * STEP_BYTES)
// Local memory holds biases and slopes, barrier objects, weights and slots, in that order.
#define BARS_AT (OUTS * 8)
#define BARS_BYTES (8 + MOST_SLOTS * TEAMS * 16)
#define MOST_SLOTS 4
#define TAPS_AT ((BARS_AT + BARS_BYTES + 127) / 128 * 128)
#define FULL(slot) (bars + (slot) * 16)
#define FREE(slot) (bars + (slot) * 16 + 8)

// Has slot filled with the stage that comes next: each warp its lines.
#define FILL(slot) { \
    if (lane == 0) OCT_BAR_EXPECT(FULL(slot), (OS * PATCH_H - warp + WARPS - 1) / WARPS * LINE_BYTES) \
    for (int l_ = warp + lane * WARPS; l_ < OS * PATCH_H; l_ += 32 * WARPS) { \
        __global const uint4 *from_ = zeros; \
        FIND_LINE \
        OCT_BULK_COPY(slots + (slot) * SLOT_BYTES + l_ * LINE_BYTES, from_, LINE_BYTES, FULL(slot)) \
    } \
    if (++fill_stage == stages) { \
        fill_stage = 0; \
        fill_tile += workers; \
        AIM \
    } }
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void NAME(__global const data_t *restrict src0, ring_t r0, __global const data_t *restrict src1, ring_t r1,
          __global const data_t *restrict src2, ring_t r2, __global const data_t *restrict src3, ring_t r3,
          __global const uint *restrict weights, int groups, int bias_at, int zeros_at, int outs, int stages, int slot_count,
          __global const data_t *restrict res, ring_t rres, __global data_t *restrict dst, ring_t rdst,
          int y0, int y1, float slope) {
    OCT_LATE_BEGIN
    OCT_GROUPS_AT_ONCE(1);
    OCT_SHARED(memory, LOCAL_BYTES)
    const int lid = get_local_id(0), lane = lid & 31, g = lane / 4, t = lane % 4;
    int warps = lid / 32;
    OCT_UNIFORM(warps)
    const int team = warps / WARPS, warp = warps % WARPS;
    const uint biases = memory, loaded = memory + BARS_AT, bars = loaded + 8 + team * (MOST_SLOTS * 16);
    const uint taps = memory + TAPS_AT, slots = taps + stages * STAGE_BYTES + team * slot_count * SLOT_BYTES;
    const int w = R_W(rdst), h = R_H(rdst), pitch = R_PITCH(rdst);
    const int first = (int)get_group_id(0) % groups * OUTS; // output
    __global const uchar *const factors = (__global const uchar *)weights + (size_t)((int)get_group_id(0) % groups) * (stages * STAGE_BYTES);
    __global const float *const bias = (__global const float *)weights + bias_at + first;
    __global const uint4 *const zeros = (__global const uint4 *)(weights + zeros_at);
    const int across = (w + TILE_W - 1) / TILE_W, tiles = across * ((y1 - y0 + R - 1) / R);
    const int worker = (int)get_group_id(0) / groups * TEAMS + team, workers = (int)get_num_groups(0) / groups * TEAMS;

    if (lid == 0) {
        OCT_BAR_INIT(loaded, 1)
#pragma unroll 1
        for (int i = 0; i < TEAMS * MOST_SLOTS; i++) {
            OCT_BAR_INIT(loaded + 8 + i * 16, WARPS)
            OCT_BAR_INIT(loaded + 16 + i * 16, WARPS)
        }
        OCT_FENCE_BARS
    }
    for (int i = lid; i < OUTS; i += GROUP) {
        OCT_ST1(biases + i * 4, as_uint(bias[i]))
#ifdef ACT_SLOPES
        OCT_ST1(biases + OUTS * 4 + i * 4, as_uint(SLOPE_OF(slope, (__global const float *)weights, min(first + i, outs - 1))))
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) {
        OCT_BAR_EXPECT(loaded, stages * STAGE_BYTES)
#pragma unroll 1
        for (int i = 0; i < stages; i++) OCT_BULK_COPY(taps + i * STAGE_BYTES, factors + i * STAGE_BYTES, STAGE_BYTES, loaded)
    }
    int fill_tile = worker, fill_stage = 0, fill_x, fill_y;
    AIM
#pragma unroll 1
    for (int i = 0; i < slot_count; i++)
        if (OCT_TILE_THERE(fill_tile)) FILL(i)
    OCT_BAR_WAIT(loaded, 0)

    int slot = 0, phase = 0, last = -1, last_phase = 0;
    for (int tile = worker; OCT_TILE_THERE(tile); tile += workers) {
        float acc[R][NT][4];
        BEGIN_SUMS
        int stage = 0;
#pragma unroll 1
        do { // no path around it: one would have the assembler wait for every product
            OCT_BAR_WAIT(FULL(slot), phase)
            const uint pixels = slots + slot * SLOT_BYTES, part = taps + stage * STAGE_BYTES;
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
                        OCT_WGMMA(acc[r], a, b)
                    }
                }
            }
            OCT_COMMIT
            OCT_WAIT_BUT_LAST
            if (stage > 0 && lane == 0) OCT_BAR_ARRIVE(FREE(last))
            // The slot of the stage before is free when all warps are done with it.
            if (last >= 0 && OCT_TILE_THERE(fill_tile)) {
                OCT_BAR_WAIT(FREE(last), last_phase)
                FILL(last)
            }
            last = slot;
            last_phase = phase;
            if (++slot == slot_count) {
                slot = 0;
                phase ^= 1;
            }
        } while (++stage < stages);
#pragma unroll
        for (int r = 0; r < R; r++) OCT_WAIT_ALL(acc[r])
        if (lane == 0) OCT_BAR_ARRIVE(FREE(last))
        STORE
    }
}
// Ends what is assembled late (see clrt).
__kernel void END_NAME(__global int *a) { OCT_LATE_END }
