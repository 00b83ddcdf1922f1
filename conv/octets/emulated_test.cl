// What instructions.cl does, in plain OpenCL C, for tests on other devices. Copies and products are done at once.
#ifndef OCTETS_INSTRUCTIONS
#define OCTETS_INSTRUCTIONS
#define OCTETS_EMULATED
#define OCT_GROUPS_AT_ONCE(n)
#define OCT_LATE_BEGIN
#define OCT_LATE_END
#define OCT_SHARED(at, bytes) \
    __local uint4 oct_memory[(bytes) / 16 + 1]; \
    __local uint oct_lanes[GROUP]; \
    const uint at = 0;
#define OCT_UNIFORM(v)
// Where one team has a tile, all make one, as they meet at barriers. Nothing of tiles below the plane is stored.
#define OCT_TILE_THERE(tile) ((tile) - team < tiles)
#define OCT_WORDS ((__local uint *)oct_memory)
#define OCT_ST1(at, a) OCT_WORDS[(at) / 4] = (a);
#define OCT_LD2(v, at) { (v)[0] = OCT_WORDS[(at) / 4]; (v)[1] = OCT_WORDS[(at) / 4 + 1]; }
#define OCT_PACK2(d, lo, hi) { ushort h_[2]; vstore_half(lo, 0, (half *)h_); vstore_half(hi, 1, (half *)h_); (d) = h_[0] | (uint)h_[1] << 16; }
#define OCT_UNPACK2(lo, hi, v) { const uint v_ = (v); (lo) = vload_half(0, (const half *)&v_); (hi) = vload_half(1, (const half *)&v_); }
#define OCT_TRANSPOSE(d, a) { \
    barrier(CLK_LOCAL_MEM_FENCE); \
    oct_lanes[lid] = (a); \
    barrier(CLK_LOCAL_MEM_FENCE); \
    const uint l_ = oct_lanes[lid / 32 * 32 + 8 * t + g / 2], h_ = oct_lanes[lid / 32 * 32 + 8 * t + 4 + g / 2]; \
    (d) = (l_ >> 16 * (g % 2) & 0xffff) | (h_ >> 16 * (g % 2)) << 16; \
    }
// The place of row i, channel k of a factor, in binary16.
#define OCT_ELEMENT(d, i, k) ((((uint)(d) & 0x3fff) * 16 + ((uint)((d) >> 32) & 0x3fff) * 16 * ((i) / 8) + ((uint)((d) >> 16) & 0x3fff) * 16 * ((k) / 8)) / 2 + (i) % 8 * 8 + (k) % 8)
#define OCT_WGMMA(d, a, b) { \
    __local const half *memory_ = (__local const half *)oct_memory; \
    for (int e_ = 0; e_ < 2; e_++) { \
        float f_[16]; \
        for (int k_ = 0; k_ < 16; k_++) f_[k_] = vload_half(OCT_ELEMENT(a, warp % 4 * 16 + lane / 4 + e_ * 8, k_), memory_); \
        for (int j_ = 0; j_ < 2 * NT; j_++) \
            for (int k_ = 0; k_ < 16; k_++) (d)[j_ / 2][e_ * 2 + j_ % 2] += f_[k_] * vload_half(OCT_ELEMENT(b, j_ / 2 * 8 + 2 * (lane % 4) + j_ % 2, k_), memory_); \
    } }
// A left factor in registers is an address here, as a lane's sums need what its neighbours load.
#define OCT_PIXELS(a, at) (a)[0] = (at);
#define OCT_WGMMA_RS(d, a, b) { \
    __local const half *memory_ = (__local const half *)oct_memory; \
    for (int e_ = 0; e_ < 2; e_++) { \
        float f_[16]; \
        for (int k_ = 0; k_ < 16; k_++) f_[k_] = vload_half(((a)[0] + (warp * 16 + g + e_ * 8) * 16 + k_ / 8 * OCTET_BYTES) / 2 + k_ % 8, memory_); \
        for (int j_ = 0; j_ < 2 * NT; j_++) \
            for (int k_ = 0; k_ < 16; k_++) (d)[j_ / 2][e_ * 2 + j_ % 2] += f_[k_] * vload_half(OCT_ELEMENT(b, j_ / 2 * 8 + 2 * t + j_ % 2, k_), memory_); \
    } }
#define OCT_LD4(v, at) { const uint4 l_ = oct_memory[(at) / 16]; (v)[0] = l_.x; (v)[1] = l_.y; (v)[2] = l_.z; (v)[3] = l_.w; }
#define OCT_ST4(at, v) oct_memory[(at) / 16] = (uint4)((v)[0], (v)[1], (v)[2], (v)[3]);
#define OCT_FENCE_STORES
// Lanes meet at barriers of the work-group, so all of it comes there.
#define OCT_WARP_IF(c) ((c) || true)
#define OCT_OTHER(d, v, bit) { \
    barrier(CLK_LOCAL_MEM_FENCE); \
    oct_lanes[lid] = as_uint((float)(v)); \
    barrier(CLK_LOCAL_MEM_FENCE); \
    (d) = as_float(oct_lanes[lid ^ (bit)]); \
    }
#define OCT_WAIT_PRODUCTS
#define OCT_BAR_WAIT_ALONE(at, parity) {}
// Warpgroups have tiles of their own, and not as many each: no barrier.
#define OCT_WAIT_ALL(d)
// PoCL 3.1 makes wrong code of what follows the products of stream.cl if there is no barrier between.
#define OCT_WAIT_TOGETHER(d) barrier(CLK_LOCAL_MEM_FENCE);
#define OCT_BEGIN
#define OCT_COMMIT
#define OCT_WAIT_BUT_LAST
#define OCT_BAR_INIT(at, n)
#define OCT_FENCE_BARS
#define OCT_BAR_ARRIVE(at) {}
#define OCT_BAR_EXPECT(at, n) {}
#define OCT_BAR_WAIT(at, parity) barrier(CLK_LOCAL_MEM_FENCE);
#define OCT_BULK_COPY(to, from, n, bar) \
    for (int c_ = 0; c_ < (n) / 16; c_++) oct_memory[(to) / 16 + c_] = ((__global const uint4 *)(from))[c_];
#endif
