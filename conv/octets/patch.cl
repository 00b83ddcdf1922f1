// What octets.cl and stream.cl have in common: sizes of a work-group and of a patch of the sources in local memory, and where its
// lines come from. Expects KS, NT, TEAMS and OS, and at use TILE_H, the rows of a tile.

#define WARPS 4
#define GROUP (128 * TEAMS)
#define TILE_W 64
#define OUTS (8 * NT)
#define PATCH_H (TILE_H + KS - 1)
#define PATCH_W (TILE_W + KS - 1)
#define LINE_BYTES (PATCH_W * 16)
#define OCTET_BYTES (PATCH_H * LINE_BYTES)
#define SLOT_BYTES (OS * OCTET_BYTES)
// Where a factor begins, in units of 16 bytes, and its strides along the channels
// and along the rows of M or N.
#define FACTOR(at, k, n) ((ulong)((at) >> 4) | (ulong)((k) >> 4) << 16 | (ulong)((n) >> 4) << 32)

// Points from_ at line l_ of the patch if it is there. Sources that are not there have no octets.
#define FIND_LINE \
    int o_ = fill_stage * OS + l_ / PATCH_H; \
    const int y_ = min(fill_y + l_ % PATCH_H, h - 1 + KS / 2); \
    ring_t r_ = r0; \
    __global const uint4 *source_ = (__global const uint4 *)src0; \
    NEXT_SOURCE(src1, r1) NEXT_SOURCE(src2, r2) NEXT_SOURCE(src3, r3) \
    if (o_ < R_C(r_) && WITHIN(y_, h)) from_ = source_ + octets_row(r_, (uint)y_ < (uint)h ? y_ : pad_index(y_, h)) + (size_t)o_ * R_PITCH(r_) + fill_x;
#define NEXT_SOURCE(s, r) \
    if (o_ >= R_C(r_)) { o_ -= R_C(r_); r_ = r; source_ = (__global const uint4 *)s; }
// Where the patch of the tile to be filled begins.
#define AIM { \
    fill_x = fill_tile % across * TILE_W - KS / 2; \
    fill_y = y0 + fill_tile / across * TILE_H - KS / 2; \
    }
