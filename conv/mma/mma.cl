// conv_mma: implicit GEMM on NVIDIA's matrix units by inline PTX (mma.sync).
//
// M is pixels, N output channels, K source channels times taps. A work-group
// makes a tile of 32 columns × TILE_H rows and 8·NT·WN outputs; each of its
// WM·WN warps makes RP pairs of rows of it and 8·NT outputs, with sums in
// registers.
//
// A matrix fragment has 16 pixels: columns i, i+4, .., i+28 (for one i of 0..3)
// of two rows. Two things follow from that stride. Moving the kernel by one
// column turns fragment i into fragment i+1, so a warp that goes through a
// kernel row loads one new fragment per tap and keeps three. And a lane ends up
// with sums of four neighbouring columns of a channel: it stores them as one
// vector into the planar line.
//
// A stage is the patch of two chunks of source channels in local memory, eight
// 32-bit words per pixel: 2×8 channels of binary16, or 2×4 of float32. On the way
// in it is transposed from planar lines. Of a pixel's words a lane t of a quad
// reads 2t and 2t+1. Columns of a patch row are sorted by their remainder
// modulo 4, CLASS words apart, which makes all reads and writes free of bank
// conflicts: a half-warp reads 4 pixels in one line of the banks; eight
// lanes that write two columns each fill all banks as 2·CLASS is 16 modulo 32.
//
// Weights come in the order in which lanes need them, PIECE taps at a time,
// through registers into a ring of two pieces in local memory: read straight
// from global memory, each warp at its own pace, they would pass through the L1
// cache once for each warp. The sum of an output runs over stages, kernel
// rows and columns in that order, wherever the output lies in its tile.
//
// Expects the prelude and NAME; KS; MODE 0 (binary16), 1 (tf32) or 2 (tf32 in
// three products: both factors split in a large and a small part); NT, WN, WM,
// RP; PIECE; PATCHES (2: the next stage is fetched during this one); ACT.
// Weights: see pack.go.

#define GROUP (32 * WM * WN)
#define TILE_H (2 * RP * WM)
#define PATCH_H (TILE_H + KS - 1)
#define LEFT (((KS / 2) + 1) / 2 * 2) // columns of the patch before the tile's
#define OFF (LEFT - KS / 2)
#define COLS ((31 + OFF + KS + 3) / 4 * 4)
#define CLASS ((COLS / 4 | 1) * 8)
#define LINE (4 * CLASS)
#define UNITS (PATCH_H * COLS) // a unit is two columns of a chunk
#define PER ((UNITS + GROUP - 1) / GROUP) // units of a work-item
#define PER_ROW ((PER + KS - 1) / KS)      // of them, fetched during a kernel row
#define PATCH (PATCH_H * LINE)
#define PARTS (MODE == 2 ? 2 : 1)
#define CHUNK (MODE == 0 ? 8 : 4)

#if MODE == 0
#define MMA(d, a, b0, b1) \
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
        : "+f"((d)[0]), "+f"((d)[1]), "+f"((d)[2]), "+f"((d)[3]) \
        : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"(b0), "r"(b1))
#else
#define MMA(d, a, b0, b1) \
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
        : "+f"((d)[0]), "+f"((d)[1]), "+f"((d)[2]), "+f"((d)[3]) \
        : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"(b0), "r"(b1))
#endif
#define TF32(d, v) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(d) : "f"(v))

// Loads the words of a unit, channel c of chunk q on, into v.
#if MODE == 0
#define FETCH(v, from) { \
    _Pragma("unroll") for (int c_ = 0; c_ < 8; c_++) \
        (v)[c_] = c_ < valid ? *(__global const uint *)((from) + (size_t)c_ * pitch) : 0u; \
    }
#else
#define FETCH(v, from) { \
    _Pragma("unroll") for (int c_ = 0; c_ < 4; c_++) { \
        uint2 f_ = c_ < valid ? *(__global const uint2 *)((from) + (size_t)c_ * pitch) : (uint2)(0u, 0u); \
        (v)[2 * c_] = f_.x; (v)[2 * c_ + 1] = f_.y; \
    } }
#endif

// Sorts them by column and stores them.
#if MODE == 0
#define STASH(at, v) { \
    *(__local uint4 *)(at) = (uint4)(((v)[0] & 0xffff) | (v)[1] << 16, ((v)[2] & 0xffff) | (v)[3] << 16, \
                                     ((v)[4] & 0xffff) | (v)[5] << 16, ((v)[6] & 0xffff) | (v)[7] << 16); \
    *(__local uint4 *)((at) + CLASS) = (uint4)((v)[0] >> 16 | ((v)[1] & 0xffff0000), (v)[2] >> 16 | ((v)[3] & 0xffff0000), \
                                               (v)[4] >> 16 | ((v)[5] & 0xffff0000), (v)[6] >> 16 | ((v)[7] & 0xffff0000)); \
    }
#else
#if MODE == 1
#define ROUND(v) _Pragma("unroll") for (int c_ = 0; c_ < 8; c_++) TF32((v)[c_], as_float((v)[c_]))
#else
#define ROUND(v)
#endif
#define STASH(at, v) { \
    ROUND(v); \
    *(__local uint4 *)(at) = (uint4)((v)[0], (v)[2], (v)[4], (v)[6]); \
    *(__local uint4 *)((at) + CLASS) = (uint4)((v)[1], (v)[3], (v)[5], (v)[7]); \
    }
#endif

// Where unit i of this work-item lies.
#define UNIT_COLUMN(i) ((lid + (i) * GROUP) / 2 % (COLS / 2) * 2)
#define UNIT_ROW(i) ((lid + (i) * GROUP) / COLS)
#define UNIT_AT(i) (to + UNIT_ROW(i) * LINE + UNIT_COLUMN(i) % 4 * CLASS + UNIT_COLUMN(i) / 4 * 8 + q * 4)
#define UNIT_FROM(i) (from + row_at[source * PATCH_H + UNIT_ROW(i)] + UNIT_COLUMN(i))
#define UNIT_IS(i) (lid + (i) * GROUP < units)

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

// Fragment j of the kernel row at line: columns j, j+4, ..
#define FRAGMENT(f, line, j) { \
    const uint2 lo_ = *(__local const uint2 *)((line) + (j) % 4 * CLASS + (j) / 4 * 8); \
    const uint2 hi_ = *(__local const uint2 *)((line) + (j) % 4 * CLASS + (j) / 4 * 8 + LINE); \
    SPLIT(f, 0, lo_.x) SPLIT(f, 1, hi_.x) SPLIT(f, 2, lo_.y) SPLIT(f, 3, hi_.y) \
    }
#if MODE == 2
#define SPLIT(f, k, v) TF32((f)[0][k], as_float(v)); TF32((f)[PARTS - 1][k], as_float(v) - as_float((f)[0][k]));
#else
#define SPLIT(f, k, v) (f)[0][k] = v;
#endif

#define TAP_WORDS (NT * 64 * PARTS)
#define PIECE_WORDS (PIECE * WN * TAP_WORDS)
#define PIECE_PER ((PIECE_WORDS / 2 + GROUP - 1) / GROUP)
// Loads this work-item's share of the next piece, of so many taps, into
// registers, and stores it to the other half of the ring.
#define PIECE_IS(i, taps) (lid + (i) * GROUP < (taps) * WN * TAP_WORDS / 2)
#define PIECE_LOAD(taps) { \
    _Pragma("unroll") for (int i_ = 0; i_ < PIECE_PER; i_++) \
        if (PIECE_IS(i_, taps)) piece[i_] = *(__global const uint2 *)(wt + i_ * GROUP * 2); \
    wt += (taps) * WN * TAP_WORDS; \
    }
#define PIECE_STORE(taps) { \
    _Pragma("unroll") for (int i_ = 0; i_ < PIECE_PER; i_++) \
        if (PIECE_IS(i_, taps)) *(__local uint2 *)(ring + half_ring + (lid + i_ * GROUP) * 2) = piece[i_]; \
    }
// Weights of one tap: n-tiles in pairs, then the odd one.
#define WEIGHTS(b, p) { \
    _Pragma("unroll") for (int n_ = 0; n_ + 1 < NT * PARTS; n_ += 2) { \
        const uint4 w_ = *(__local const uint4 *)((p) + n_ * 64 + lane * 4); \
        (b)[n_][0] = w_.x; (b)[n_][1] = w_.y; (b)[n_ + 1][0] = w_.z; (b)[n_ + 1][1] = w_.w; \
    } \
    if (NT * PARTS % 2) { \
        const uint2 w_ = *(__local const uint2 *)((p) + (NT * PARTS - 1) * 64 + lane * 2); \
        (b)[NT * PARTS - 1][0] = w_.x; (b)[NT * PARTS - 1][1] = w_.y; \
    } }

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void NAME(__global const data_t *restrict src0, ring_t r0, __global const data_t *restrict src1, ring_t r1,
          __global const data_t *restrict src2, ring_t r2, __global const data_t *restrict src3, ring_t r3,
          __global const uint *restrict weights, int stages, int bias_at,
          __global const data_t *restrict res, ring_t rres, __global data_t *restrict dst, ring_t rdst,
          int y0, int y1, float slope) {
    __local uint patches[PATCHES * PATCH] __attribute__((aligned(16)));
    __local uint ring[2 * PIECE_WORDS] __attribute__((aligned(16)));
    __local size_t row_at[4 * PATCH_H];
    const int lid = get_local_id(0), q = lid & 1, lane = lid & 31, quad = lane / 4, t = lane % 4;
    const int wm = lid / 32 % WM, wn = lid / 32 / WM;
    const int x0 = get_group_id(1) * 32, top = y0 + (int)get_group_id(2) * TILE_H;
    const int w = R_W(rdst), h = R_H(rdst), pitch = R_PITCH(rdst);
    __global const uint *wt = weights + (size_t)get_group_id(0) * stages * (KS * KS * WN * TAP_WORDS) + lid * 2;
    uint2 piece[PIECE_PER];
    int half_ring = 0; // where in the ring the piece in use is

    for (int i = lid; i < 4 * PATCH_H; i += GROUP) {
        const int k = i / PATCH_H, y = top + i % PATCH_H - KS / 2;
        row_at[i] = ring_row(k == 0 ? r0 : k == 1 ? r1 : k == 2 ? r2 : r3, reflect(min(y, h - 1 + KS / 2), h));
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    float acc[RP][4][NT][4];
#pragma unroll
    for (int r = 0; r < RP; r++)
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int n = 0; n < NT; n++)
#pragma unroll
                for (int e = 0; e < 4; e++) acc[r][i][n][e] = 0.0f;

    PIECE_LOAD(min(PIECE, KS));
    PIECE_STORE(min(PIECE, KS));
    int now = 0; // where this stage's patch begins
#pragma unroll 1
    for (int s = 0; s < stages; s++) {
        if (s == 0 || PATCHES == 1) {
            SEEK(s);
            const int units = UNITS;
            __local uint *to = patches;
#pragma unroll 2
            for (int i = 0; i < PER; i++)
                if (UNIT_IS(i)) {
                    uint v[8];
                    FETCH(v, UNIT_FROM(i));
                    STASH(UNIT_AT(i), v);
                }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        __local const uint *line = patches + now + wm * (2 * RP) * LINE + quad * 8 + t * 2;
#if PATCHES == 2
        SEEK(s + 1);
        const int units = s + 1 < stages ? UNITS : 0;
        now = PATCH - now;
        __local uint *to = patches + now;
#endif
#pragma unroll 1
        for (int ky = 0; ky < KS; ky++, line += LINE) {
#if PATCHES == 2
            uint raw[PER_ROW][8];
#pragma unroll
            for (int i = 0; i < PER_ROW; i++)
                if (UNIT_IS(ky + i * KS)) FETCH(raw[i], UNIT_FROM(ky + i * KS));
#endif
            uint f[RP][4][PARTS][4];
#pragma unroll
            for (int r = 0; r < RP; r++)
#pragma unroll
                for (int j = OFF; j < OFF + 3; j++) FRAGMENT(f[r][j % 4], line + 2 * r * LINE, j);
#pragma unroll
            for (int kx = 0; kx < KS; kx++) {
                if (kx % PIECE == 0) PIECE_LOAD(kx + PIECE < KS ? min(PIECE, KS - kx - PIECE) : min(PIECE, KS));
                uint b[NT * PARTS][2];
                WEIGHTS(b, ring + half_ring + (kx % PIECE * WN + wn) * TAP_WORDS);
#pragma unroll
                for (int r = 0; r < RP; r++) FRAGMENT(f[r][(kx + OFF + 3) % 4], line + 2 * r * LINE, kx + OFF + 3);
#if MODE == 2
#pragma unroll
                for (int r = 0; r < RP; r++)
#pragma unroll
                    for (int i = 0; i < 4; i++)
#pragma unroll
                        for (int n = 0; n < NT; n++) MMA(acc[r][i][n], f[r][(kx + OFF + i) % 4][PARTS - 1], b[n][0], b[n][1]);
#pragma unroll
                for (int r = 0; r < RP; r++)
#pragma unroll
                    for (int i = 0; i < 4; i++)
#pragma unroll
                        for (int n = 0; n < NT; n++)
                            MMA(acc[r][i][n], f[r][(kx + OFF + i) % 4][0], b[NT * (PARTS - 1) + n][0], b[NT * (PARTS - 1) + n][1]);
#endif
#pragma unroll
                for (int r = 0; r < RP; r++)
#pragma unroll
                    for (int i = 0; i < 4; i++)
#pragma unroll
                        for (int n = 0; n < NT; n++) MMA(acc[r][i][n], f[r][(kx + OFF + i) % 4][0], b[n][0], b[n][1]);
                if (kx % PIECE == PIECE - 1 || kx == KS - 1) {
#if PATCHES == 2
                    if (kx == KS - 1) {
#pragma unroll
                        for (int i = 0; i < PER_ROW; i++)
                            if (UNIT_IS(ky + i * KS)) STASH(UNIT_AT(ky + i * KS), raw[i]);
                    }
#endif
                    half_ring = PIECE_WORDS - half_ring;
                    PIECE_STORE(kx + 1 < KS ? min(PIECE, KS - kx - 1) : min(PIECE, KS));
                    barrier(CLK_LOCAL_MEM_FENCE);
                }
            }
        }
    }

    const int outs = R_C(rdst), x = x0 + 4 * quad;
    __global const float *bias = (__global const float *)weights + bias_at;
    const bool inside = x > RIM && x + 3 < w - 1 - RIM;
#pragma unroll
    for (int r = 0; r < RP; r++)
#pragma unroll
        for (int half_ = 0; half_ < 2; half_++) {
            const int y = top + (wm * RP + r) * 2 + half_;
            if (y >= y1) continue;
            const size_t at = ring_row(rdst, y) + x, res_at = res ? ring_row(rres, y) + x : 0;
#pragma unroll
            for (int n = 0; n < NT; n++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const int k = (((int)get_group_id(0) * WN + wn) * NT + n) * 8 + t * 2 + e;
                    if (k >= outs) continue;
                    float v[4];
#pragma unroll
                    for (int i = 0; i < 4; i++) v[i] = activate(acc[r][i][n][half_ * 2 + e] + bias[k], ACT, slope);
                    __global data_t *to = dst + at + (size_t)k * pitch;
                    if (inside) {
                        if (res) mma_add4(v, res + res_at + (size_t)k * pitch);
                        mma_store4(to, v);
                    } else {
#pragma unroll
                        for (int i = 0; i < 4; i++) {
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
#undef PER_ROW
#undef PATCH
#undef PARTS
#undef CHUNK
#undef MMA
#undef TF32
#undef FETCH
#undef STASH
#undef ROUND
#undef UNIT_COLUMN
#undef UNIT_ROW
#undef UNIT_AT
#undef UNIT_FROM
#undef UNIT_IS
#undef NEXT_SOURCE
#undef SEEK
#undef FRAGMENT
#undef SPLIT
#undef TAP_WORDS
#undef PIECE_WORDS
#undef PIECE_PER
#undef PIECE_IS
#undef PIECE_LOAD
#undef PIECE_STORE
#undef WEIGHTS
