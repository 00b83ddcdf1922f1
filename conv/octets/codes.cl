// conv_octets_codes: convolution of codes of 8 bits by integer products of warpgroups (wgmma), of octets of samples (see package
// planar) and to them. The codes are made in local memory and never stored.
//
// Where BLOCK is 1, two convolutions follow each other, the inner and the outer, and the codes between them stay in local memory
// too: a residual block reads its input and writes its result.
//
// M is 64 columns of a row, N the outputs, K = 32: two groups of 16 channels at one tap, or, of a last odd group, one at two columns
// of the kernel. Codes lie in local memory as [row][group][column][16 channels], so a column's group is a row of a core matrix,
// and the next column of the kernel begins 16 bytes further on.
//
// Work-groups stay on their compute unit with all weights in local memory. Each of their TEAMS warpgroups walks down strips of
// TILE_W columns and `rows` rows. For each row of the source it makes the codes of the row below while products of this one
// run, and stores one row of the result. Four rows of codes are kept of the source, and four between the convolutions: three are read by
// products while the fourth is written.
//
// The outer convolution reads a row of codes above the plane and one below. Reflected, such a row mirrors one inside, so its
// sums are those of the mirrored source with the kernel's rows in reverse order. Where zeros lie outside, it is zeros.
//
// Sums are integers: their order does not matter. Expects the prelude, instructions.cl, planar's octets.cl and NAME; TEAMS;
// OCTETS (of the source); BLOCK; KI, GI, NI (the inner's kernel side, groups of channels that it reads, octets of outputs; 1, 1, 0 if BLOCK
// is 0); KO, GO, NO (the same of the outer); ACT; ACT_INNER; RAGGED (there are fewer outputs than the work-groups make). Weights: see codespack.go.

#define TEAM 128
#define GROUP (TEAM * TEAMS)
#define KEPT 4 // rows of codes
#define HALO_I (KI / 2)
#define HALO_O (KO / 2)
#define HALO (HALO_I + HALO_O)
#define TILE_W (64 - 2 * HALO_O * BLOCK)
#define SOURCE_W (64 + 2 * (BLOCK ? HALO_I : HALO_O))
#define SOURCE_ROW ((BLOCK ? GI : GO) * SOURCE_W * 16)
#define BETWEEN_W (64 + 2 * HALO_O)
#define BETWEEN_ROW (BLOCK * GO * BETWEEN_W * 16)
#define STEPS(k, groups) ((groups) / 2 * (k) + (groups) % 2 * (((k) + 1) / 2))
// Of either convolution: weights; first sums, factors and biases of the outputs.
#define WEIGHTS_BYTES(k, groups, n) ((k) * STEPS(k, groups) * (n) * 256)
#define INNER_BYTES (BLOCK * (WEIGHTS_BYTES(KI, GI, NI) + NI * 96))
#define PARAMS_BYTES (INNER_BYTES + WEIGHTS_BYTES(KO, GO, NO) + NO * 96)
#define CODES_AT ((PARAMS_BYTES + 127) / 128 * 128)
#define TEAM_BYTES (KEPT * (SOURCE_ROW + BETWEEN_ROW))
#define LOCAL_BYTES (CODES_AT + TEAMS * TEAM_BYTES)
#define CHUNKS ((OCTETS * SOURCE_W + TEAM - 1) / TEAM) // octets of a row for each lane

#define EACH_CHUNK _Pragma("unroll") for (int c = 0; c < CHUNKS; c++)
#define EACH_COLUMN _Pragma("unroll") for (int e = 0; e < 2; e++) // of the lane's two, 8 apart

// Where a factor begins and its stride along the channels, from the place in units of 16 bytes on.
#define FACTOR(begin, at, k) ((begin) + (((at) >> 4) + ((k) >> 4 << 16)))

// Sums of n octets of outputs for a row of columns: of k rows of codes from row i of a ring on, with kernel rows in reverse if
// flip.
#define PRODUCTS(sums, n, k, groups, ring, row_bytes, width, i, taps, flip) \
    _Pragma("unroll") for (int ky = 0; ky < (k); ky++) { \
        const uint row_ = ((ring) + (uint)((i) + ky) % KEPT * (row_bytes)) >> 4; \
        const uint taps_ = ((taps) >> 4) + ((flip) ? (k) - 1 - ky : ky) * (STEPS(k, groups) * (n) * 16); \
        _Pragma("unroll") for (int s = 0; s < STEPS(k, groups); s++) { \
            const int q_ = s - (groups) / 2 * (k); \
            const uint at_ = q_ < 0 ? s / (k) * (32 * (width)) + s % (k) * 16 : (groups) / 2 * (32 * (width)) + q_ * 32; \
            const uint beside_ = q_ < 0 ? 16 * (width) : 2 * q_ + 1 < (k) ? 16 : 0; \
            C8_WGMMA(n, sums, FACTOR(row_, at_, beside_), FACTOR(taps_, s * ((n) * 256), (n) * 128), ky + s > 0) \
        } \
    }

// Has raw hold the octets of row y of the source that the lane makes codes of.
#define LOAD(y) { \
    const int y_ = (y); \
    __global const uint4 *from_ = (__global const uint4 *)src + octets_of_row(rsrc, (uint)y_ < (uint)h ? y_ : pad_index(y_, h)) + (left - HALO); \
    EACH_CHUNK { \
        const int at_ = l + c * TEAM; \
        if (THERE(c)) raw[c] = from_[at_ / SOURCE_W * R_PITCH(rsrc) + at_ % SOURCE_W]; \
        if (OUTSIDE(y_, h)) raw[c] = (uint4)(0); \
    } }
// Whether the lane has an octet in chunk c.
#define THERE(c) ((c) * TEAM + TEAM <= OCTETS * SOURCE_W || l + (c) * TEAM < OCTETS * SOURCE_W)
// Stores codes of raw as row i of the source's ring.
#define QUANTIZE(i) EACH_CHUNK { \
        const int at_ = l + c * TEAM, o_ = at_ / SOURCE_W; \
        if (THERE(c)) { \
            const uint lo_ = octets_word(raw[c].s0, raw[c].s1, inverse, zero), hi_ = octets_word(raw[c].s2, raw[c].s3, inverse, zero); \
            C8_ST2(source + (uint)(i) % KEPT * SOURCE_ROW + (o_ / 2 * SOURCE_W + at_ % SOURCE_W) * 16 + o_ % 2 * 8, lo_, hi_) \
        } \
    }

#ifndef OCTETS_CODES_FUNCTIONS
#define OCTETS_CODES_FUNCTIONS
#pragma OPENCL FP_CONTRACT OFF
// octets_row, which divides only where a ring is shorter than the plane.
static size_t octets_of_row(ring_t r, int y) {
    return (size_t)r.s7 * 4 + (size_t)(y < r.s0 ? y : y % r.s0) * (size_t)r.s1 + (size_t)(r.s2 + PAD);
}
// A number whose lowest byte is the code of v, as CODE_OF of planar's codes.cl has it, by multiplications and additions alone, of
// which GPUs do twice as many as of others. 12582912 is 1.5·2^23: what is added to it is rounded to an integer. So then is
// what 255ths, within 0 to 1, give of 8388608.
static uint octets_code(float v, float inverse, float zero) {
    const float rounded = c8_product(v, inverse) + 12582912.0f;
    return as_uint(fma(c8_saturated(rounded - (12582912.0f - zero), 1.0f / 255.0f), 255.0f, 8388608.0f));
}
// The activation, with slopes of 0 to 1.
static float octets_leaky(float v, int act, float slope) { return act == 1 ? fmax(v, v * slope) : activate(v, act, slope); }
// The codes of four samples of binary16.
static uint octets_word(uint lo, uint hi, float inverse, float zero) {
    float a, b, c, d;
    OCT_UNPACK2(a, b, lo)
    OCT_UNPACK2(c, d, hi)
    return C8_WORD(octets_code(a, inverse, zero), octets_code(b, inverse, zero), octets_code(c, inverse, zero), octets_code(d, inverse, zero));
}
#endif

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void NAME(__global const data_t *restrict src, ring_t rsrc, __global const uint *restrict weights, int groups, int outs,
          __global const data_t *restrict res, ring_t rres, __global data_t *restrict dst, ring_t rdst, int y0, int y1, int rows,
          float slope, float inverse, float zero, float inner_slope, float inner_inverse, float inner_zero) {
    OCT_GROUPS_AT_ONCE(1);
    OCT_SHARED(params, LOCAL_BYTES)
    const int lid = get_local_id(0), lane = lid & 31, g = lane / 4, t = lane % 4;
    int warps = lid / 32;
    OCT_UNIFORM(warps)
    const int team = warps / 4, warp = warps % 4;
    // Octets of a row are shared out from another warp on in each team: those with the rest are of different schedulers.
    const int l = (warps + team) % 4 * 32 + lane;
    const uint source = params + CODES_AT + team * TEAM_BYTES, between = source + KEPT * SOURCE_ROW;
    const int w = R_W(rdst), h = R_H(rdst), pitch = R_PITCH(rdst);
    const int first = (int)get_group_id(0) % groups * (NO * 8); // output
    const int across = (w + TILE_W - 1) / TILE_W, tiles = across * ((y1 - y0 + rows - 1) / rows);
    const int worker = (int)get_group_id(0) / groups * TEAMS + team, workers = (int)get_num_groups(0) / groups * TEAMS;
    __global const uint4 *const packed = (__global const uint4 *)weights + (size_t)((int)get_group_id(0) % groups) * (PARAMS_BYTES / 16);
    for (int i = lid; i < PARAMS_BYTES / 16; i += GROUP) C8_ST4(params + i * 16, packed[i])
    C8_FENCE
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int tile = worker; tile < tiles; tile += workers) {
        const int left = tile % across * TILE_W, top = y0 + tile / across * rows, end = min(top + rows, y1);
        const int reads = end - top + 2 * HALO; // rows of the source
        uint4 raw[CHUNKS];
        PLACE
        C8_TEAM_BARRIER(team)
        LOAD(top - HALO)
        QUANTIZE(0)
        if (reads > 1) LOAD(top - HALO + 1)
        C8_FENCE
#pragma unroll 1
        for (int i = 0; i < reads + BLOCK; i++) {
            const int y = top + i - 2 * HALO - BLOCK; // of the result
            C8_TEAM_BARRIER(team)
            OCT_BEGIN
#if BLOCK
            const int between_y = top - HALO_O + i - 2 * HALO_I;
            const bool outside = (uint)between_y >= (uint)h;
            int inner[NI][4];
            PRODUCTS(inner, NI, KI, GI, source, SOURCE_ROW, SOURCE_W, i + 2 * KEPT - 2 * HALO_I, params, outside)
            OCT_COMMIT
#endif
            int sums[NO][4];
#if BLOCK
            PRODUCTS(sums, NO, KO, GO, between, BETWEEN_ROW, BETWEEN_W, i + 2 * KEPT - 2 * HALO_O - 1, params + INNER_BYTES, false)
#else
            PRODUCTS(sums, NO, KO, GO, source, SOURCE_ROW, SOURCE_W, i + 2 * KEPT - 2 * HALO_O, params, false)
#endif
            OCT_COMMIT
            uint added[NO][2];
            LOAD_RESIDUAL
            if (i + 1 < reads) QUANTIZE(i + 1)
            if (i + 2 < reads) LOAD(top - HALO + i + 2)
#if BLOCK
            C8_WAIT_BUT_LAST(NI, inner)
            STORE_BETWEEN
#endif
            C8_WAIT(NO, sums)
            STORE
            C8_FENCE
        }
    }
}
