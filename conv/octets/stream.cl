// conv_octets_stream: the convolution of octets.cl for kernels and channels whose weights do not fit into local memory.
//
// A work-group's TEAMS warpgroups make R rows each of the same 64 columns, one below the other. A stage is the patch of
// two octets of the sources for all teams; SLOTS of them are on their way or in use. The weights of a stage for one column of
// the kernel are a piece; PIECES of them are in local memory. Warp 0 has both copied.
//
// Pixels are the left factor and come from registers: 64 pixels of a row of the patch are loaded once and multiplied for all rows
// that they are a source of. The sum of an output runs over stages, columns of the kernel and rows of the kernel in
// that order, as in octets.cl where stages are of two octets.
//
// Expects what octets.cl does, but OS and LOCAL_BYTES, and: SLOTS; PIECES; MOST_STAGES, no less than stages; FRAGS, the rows of
// pixels in registers at a time; SUMS (leaves statistics: see conv.Summing and moments.cl); SCALED (takes in the norm of its
// source, if it is given scales: see conv.Scaling) and PRE, the activation that follows. Weights: see pack.go.

#define OS 2
#define TILE_H (R * TEAMS)
#define TOP (y0 + tile / across * TILE_H + team * R) // first row of a team's
#define TAP_BYTES (OUTS * 32)
#define PIECE_BYTES (KS * TAP_BYTES)
#define SLOTS_AT (PIECES * PIECE_BYTES)
#define BIASES_AT (SLOTS_AT + SLOTS * SLOT_BYTES)
#define SCALES_AT (BIASES_AT + OUTS * 8)
#define BARS_AT (SCALES_AT + SCALED * MOST_STAGES * 128)
#define LOCAL_BYTES (BARS_AT + (SLOTS + PIECES) * 16)
// Barrier objects: what was copied is there, and all warps are done with it.
#define PATCH_FULL(slot) (bars + (slot) * 16)
#define PATCH_FREE(slot) (bars + (slot) * 16 + 8)
#define PIECE_FULL(slot) (bars + (SLOTS + (slot)) * 16)
#define PIECE_FREE(slot) (bars + (SLOTS + (slot)) * 16 + 8)

// Has the next piece copied, if there is one.
#define FILL_PIECE \
    if (pieces_left > 0) { \
        if (lane == 0) { \
            OCT_BAR_EXPECT(PIECE_FULL(piece_slot), PIECE_BYTES) \
            OCT_BULK_COPY(taps + piece_slot * PIECE_BYTES, factors + fill_piece * PIECE_BYTES, PIECE_BYTES, PIECE_FULL(piece_slot)) \
        } \
        pieces_left--; \
        if (++fill_piece == stages * KS) fill_piece = 0; \
        if (++piece_slot == PIECES) piece_slot = 0; \
    }
// Has the next patch copied, a lane some of its lines.
#define FILL_PATCH \
    if (fill_tile < tiles) { \
        if (lane == 0) OCT_BAR_EXPECT(PATCH_FULL(patch_slot), SLOT_BYTES) \
        for (int l_ = lane; l_ < 2 * PATCH_H; l_ += 32) { \
            __global const uint4 *from_ = zeros; \
            FIND_LINE \
            OCT_BULK_COPY(slots + patch_slot * SLOT_BYTES + l_ * LINE_BYTES, from_, LINE_BYTES, PATCH_FULL(patch_slot)) \
        } \
        if (++patch_slot == SLOTS) patch_slot = 0; \
        if (++fill_stage == stages) { \
            fill_stage = 0; \
            fill_tile += workers; \
            AIM \
        } \
    }

// Normalises the patch in local memory, which all teams do together. Channels that are not there have scales of zero.
#if SCALED
#define NORMALISE if (scales) { \
    _Pragma("unroll 1") for (int o_ = 0; o_ < 2; o_++) { \
        float f_[8][2]; \
        _Pragma("unroll") for (int c_ = 0; c_ < 8; c_++) { \
            uint q_[2]; \
            OCT_LD2(q_, taps + SCALES_AT + ((stage * 2 + o_) * 8 + c_) * 8) \
            f_[c_][0] = as_float(q_[0]); \
            f_[c_][1] = as_float(q_[1]); \
        } \
        for (int i_ = lid; i_ < PATCH_H * PATCH_W; i_ += GROUP) { \
            uint words_[4]; \
            OCT_LD4(words_, patch + o_ * OCTET_BYTES + i_ * 16) \
            _Pragma("unroll") for (int c_ = 0; c_ < 4; c_++) { \
                float a_, b_; \
                OCT_UNPACK2(a_, b_, words_[c_]) \
                a_ = activate(fma(a_, f_[2 * c_][0], f_[2 * c_][1]), PRE, pre_slope); \
                b_ = activate(fma(b_, f_[2 * c_ + 1][0], f_[2 * c_ + 1][1]), PRE, pre_slope); \
                OCT_PACK2(words_[c_], a_, b_) \
            } \
            OCT_ST4(patch + o_ * OCTET_BYTES + i_ * 16, words_) \
        } \
    } \
    OCT_FENCE_STORES \
    barrier(CLK_LOCAL_MEM_FENCE); \
    }
#else
#define NORMALISE
#endif

// Products of a piece, whose first row of pixels is at pixels.
#define ROWS (R + KS - 1)
#define TAPS_OF_ROW(p) \
    _Pragma("unroll") for (int r = 0; r < R; r++) \
        if ((p) >= r && (p) - r < KS) PRODUCT(p, r)
#define PRODUCT(p, r) OCT_WGMMA_RS(acc[r], a[(p) % FRAGS], b + ((p) - r) * (TAP_BYTES / 16))
#define MULTIPLY { \
    uint a[FRAGS][4]; \
    _Pragma("unroll") for (int p = 0; p < FRAGS - 1; p++) OCT_PIXELS(a[p], pixels + p * LINE_BYTES) \
    _Pragma("unroll") for (int p = 0; p < ROWS; p++) { \
        OCT_BEGIN \
        TAPS_OF_ROW(p) \
        OCT_COMMIT \
        if (p < ROWS - 1) { OCT_WAIT_BUT_LAST } else { OCT_WAIT_PRODUCTS } \
        if (p + FRAGS - 1 < ROWS) OCT_PIXELS(a[(p + FRAGS - 1) % FRAGS], pixels + (p + FRAGS - 1) * LINE_BYTES) \
    } }

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void NAME(__global const data_t *restrict src0, ring_t r0, __global const data_t *restrict src1, ring_t r1,
          __global const data_t *restrict src2, ring_t r2, __global const data_t *restrict src3, ring_t r3,
          __global const uint *restrict weights, int groups, int bias_at, int zeros_at, int outs, int stages,
          __global const data_t *restrict res, ring_t rres, __global data_t *restrict dst, ring_t rdst,
          int y0, int y1, float slope
#if SUMS
          , __global float *restrict partials
#endif
#if SCALED
          , __global const float *restrict scales, ring_t rscales, float pre_slope
#endif
          ) {
    OCT_LATE_BEGIN
    OCT_GROUPS_AT_ONCE(1);
    OCT_SHARED(taps, LOCAL_BYTES)
    const int lid = get_local_id(0), lane = lid & 31, g = lane / 4, t = lane % 4;
    int warps = lid / 32;
    OCT_UNIFORM(warps)
    const int team = warps / WARPS, warp = warps % WARPS;
    // Where the row of a core matrix lies that this lane names, of the warp's 16 pixels of two octets.
    const uint lane_at = (warp * 16 + lane % 16) * 16 + lane / 16 * OCTET_BYTES;
    const uint slots = taps + SLOTS_AT, biases = taps + BIASES_AT, bars = taps + BARS_AT;
    const int w = R_W(rdst), h = R_H(rdst), pitch = R_PITCH(rdst);
    const int first = (int)get_group_id(0) % groups * OUTS; // output
    __global const uchar *const factors = (__global const uchar *)weights + (size_t)((int)get_group_id(0) % groups) * (stages * KS * PIECE_BYTES);
    __global const float *const bias = (__global const float *)weights + bias_at + first;
    __global const uint4 *const zeros = (__global const uint4 *)(weights + zeros_at);
    const int across = (w + TILE_W - 1) / TILE_W, tiles = across * ((y1 - y0 + TILE_H - 1) / TILE_H);
    const int worker = (int)get_group_id(0) / groups, workers = (int)get_num_groups(0) / groups;

    if (lid == 0) {
#pragma unroll 1
        for (int i = 0; i < SLOTS + PIECES; i++) {
            OCT_BAR_INIT(PATCH_FULL(i), 1)
            OCT_BAR_INIT(PATCH_FREE(i), WARPS * TEAMS)
        }
        OCT_FENCE_BARS
    }
    for (int i = lid; i < OUTS; i += GROUP) {
        OCT_ST1(biases + i * 4, as_uint(bias[i]))
#ifdef ACT_SLOPES
        OCT_ST1(biases + OUTS * 4 + i * 4, as_uint(SLOPE_OF(slope, (__global const float *)weights, min(first + i, outs - 1))))
#endif
    }
#if SCALED
    for (int i = scales ? lid : stages * 16; i < stages * 16; i += GROUP) {
        __global const float *from = scales + R_FLOATS(rscales) + R_FIRST(rscales) + i;
        const bool is = i < R_C(rscales);
        OCT_ST1(taps + SCALES_AT + i * 8, is ? as_uint(from[0]) : 0)
        OCT_ST1(taps + SCALES_AT + i * 8 + 4, is ? as_uint(from[R_ALL(rscales)]) : 0)
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    int fill_tile = worker, fill_stage = 0, fill_x, fill_y, patch_slot = 0;
    int fill_piece = 0, piece_slot = 0, pieces_left = (tiles - worker + workers - 1) / workers * (stages * KS);
    AIM
    if (warps == 0) {
#pragma unroll 1
        for (int i = 0; i < SLOTS; i++) FILL_PATCH
#pragma unroll 1
        for (int i = 0; i < PIECES; i++) FILL_PIECE
    }

    int slot = 0, phase = 0, pslot = 0, pphase = 0; // of the patch and the piece in use
    int before = -1, before_phase = 0, pbefore = -1, pbefore_phase = 0; // and of those before them
    for (int tile = worker; tile < tiles; tile += workers) {
        float acc[R][NT][4];
        BEGIN_SUMS
        int stage = 0;
#pragma unroll 1
        do {
            const uint patch = slots + slot * SLOT_BYTES;
            OCT_BAR_WAIT(PATCH_FULL(slot), phase)
            NORMALISE
#pragma unroll 1
            for (int kx = 0; kx < KS; kx++) {
                const uint pixels = patch + team * (R * LINE_BYTES) + kx * 16;
                const ulong b = FACTOR(taps + pslot * PIECE_BYTES, OUTS * 16, 128);
                OCT_BAR_WAIT(PIECE_FULL(pslot), pphase)
                MULTIPLY
                if (lane == 0) OCT_BAR_ARRIVE(PIECE_FREE(pslot))
                if (warps == 0) {
                    if (pbefore >= 0 && pieces_left > 0) {
                        OCT_BAR_WAIT_ALONE(PIECE_FREE(pbefore), pbefore_phase)
                        FILL_PIECE
                    }
                    if (kx == (KS > 1) && before >= 0 && fill_tile < tiles) {
                        OCT_BAR_WAIT_ALONE(PATCH_FREE(before), before_phase)
                        FILL_PATCH
                    }
                }
                pbefore = pslot;
                pbefore_phase = pphase;
                if (++pslot == PIECES) {
                    pslot = 0;
                    pphase ^= 1;
                }
            }
            if (lane == 0) OCT_BAR_ARRIVE(PATCH_FREE(slot))
            before = slot;
            before_phase = phase;
            if (++slot == SLOTS) {
                slot = 0;
                phase ^= 1;
            }
        } while (++stage < stages);
#pragma unroll
        for (int r = 0; r < R; r++) OCT_WAIT_TOGETHER(acc[r])
#if SUMS
        MOMENTS
#endif
        STORE
    }
}
// Ends what is assembled late (see clrt).
__kernel void END_NAME(__global int *a) { OCT_LATE_END }
