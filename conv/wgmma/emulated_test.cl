// What instructions.cl does, in plain OpenCL C, for tests on other devices. There
// is no ring of weights: products read them where they come from.
#ifndef CONV_WGMMA_INSTRUCTIONS
#define CONV_WGMMA_INSTRUCTIONS
#define GROUPS_AT_ONCE(n)
#define SHARED_AT(at) __local uint4 emulated[SHARED / 16 + GROUP]; const uint at = 0
#define LOAD2(a, b, from) LOAD2_IF(a, b, from, true)
#define LOAD2_IF(a, b, from, is) { uint2 p_ = 0; if (is) p_ = *(__global const uint2 *)(from); (a) = p_.x; (b) = p_.y; }
#define STORE4(at, a, b, c, d) emulated[(at) / 16] = (uint4)(a, b, c, d)
#define STORE1(at, a) ((__local uint *)emulated)[(at) / 4] = (a)
#define LOAD4(v, at) { const uint4 l_ = emulated[(at) / 16]; (v)[0] = l_.x; (v)[1] = l_.y; (v)[2] = l_.z; (v)[3] = l_.w; }
#define PACK2(d, lo, hi) { ushort h_[2]; vstore_half(lo, 0, (half *)h_); vstore_half(hi, 1, (half *)h_); (d) = h_[0] | (uint)h_[1] << 16; }
#define UNPACK2(lo, hi, v) { const uint v_ = (v); (lo) = vload_half(0, (const half *)&v_); (hi) = vload_half(1, (const half *)&v_); }

// The place of row i, channel k of a factor, in binary16.
#define ELEMENT(d, i, k) ((((uint)(d) & 0x3fff) * 16 + ((uint)((d) >> 32) & 0x3fff) * 16 * ((i) / 8) + ((uint)((d) >> 16) & 0x3fff) * 16 * ((k) / 8)) / 2 + (i) % 8 * 8 + (k) % 8)
#define MULTIPLY_ADD(a, b) { \
    const ulong a_ = (a) - FACTOR(ring + slot * PIECE_BYTES, 0, 0), b_ = (b); \
    __local const half *right_ = (__local const half *)emulated; \
    for (int e_ = 0; e_ < 2; e_++) { \
        const int row_ = warp * 16 + quad + e_ * 8; \
        __global const half *left_ = (__global const half *)(left + (size_t)piece * PIECE_BYTES); \
        float l_[16]; \
        for (int k_ = 0; k_ < 16; k_++) l_[k_] = vload_half(ELEMENT(a_, row_, k_), left_); \
        for (int j_ = 0; j_ < 32; j_++) { \
            const int col_ = j_ / 2 * 8 + 2 * t + j_ % 2; \
            for (int k_ = 0; k_ < 16; k_++) acc[j_ / 2 * 4 + e_ * 2 + j_ % 2] += l_[k_] * vload_half(ELEMENT(b_, col_, k_), right_); \
        } \
    } }
#define FENCE_STORES
#define BEGIN
#define COMMIT
#define WAIT_BUT_LAST
#define WAIT_ALL
#define BAR_INIT(at, n)
#define FENCE_BARS
#define BAR_ARRIVE(at) {}
#define BAR_EXPECT(at, n)
#define BAR_WAIT(at, parity) {}
#define ITEM(v) (v) = get_local_id(0)
#define BULK_COPY(to, from, n, bar)

#define QUAD_SUM(v) { \
    __local float *all_ = (__local float *)(emulated + SHARED / 16); \
    all_[lid] = (v); \
    barrier(CLK_LOCAL_MEM_FENCE); \
    (v) = (all_[lid & ~3] + all_[(lid & ~3) + 1]) + (all_[(lid & ~3) + 2] + all_[(lid & ~3) + 3]); \
    barrier(CLK_LOCAL_MEM_FENCE); \
    }
#endif
