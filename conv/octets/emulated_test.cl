// What instructions.cl does, in plain OpenCL C, for tests on other devices. Those of a warp go
// through local memory and need barriers; copies are done at once.
#ifndef OCTETS_INSTRUCTIONS
#define OCTETS_INSTRUCTIONS
#define OCTETS_EMULATED
#define OCT_GROUPS_AT_ONCE(n)
#define OCT_SHARED(at, bytes) \
    __local uint4 oct_memory[(bytes) / 16 + 1]; \
    __local uint oct_exchange[GROUP * 6]; \
    const uint at = 0;
#define OCT_UNIFORM(v)
#define OCT_WARP_SYNC
#define OCT_WORDS ((__local uint *)oct_memory)
#define OCT_ST1(at, a) OCT_WORDS[(at) / 4] = (a);
#define OCT_LD2(v, at) { (v)[0] = OCT_WORDS[(at) / 4]; (v)[1] = OCT_WORDS[(at) / 4 + 1]; }
#define OCT_LD4(v, w, at) { OCT_LD2(v, at) OCT_LD2(w, (at) + 8) }
#define OCT_LDMATRIX(v, at) { \
    oct_exchange[lid] = (at); \
    barrier(CLK_LOCAL_MEM_FENCE); \
    for (int m_ = 0; m_ < 4; m_++) (v)[m_] = OCT_WORDS[oct_exchange[(lid & ~31) + m_ * 8 + lane / 4] / 4 + lane % 4]; \
    barrier(CLK_LOCAL_MEM_FENCE); \
    }
#define OCT_PACK2(d, lo, hi) { ushort h_[2]; vstore_half(lo, 0, (half *)h_); vstore_half(hi, 1, (half *)h_); (d) = h_[0] | (uint)h_[1] << 16; }
#define OCT_UNPACK2(lo, hi, v) { const uint v_ = (v); (lo) = vload_half(0, (const half *)&v_); (hi) = vload_half(1, (const half *)&v_); }
// The lane that holds row or column n of a factor at quarter k of its words.
#define OCT_LANE(n, k) ((lid & ~31) + (n) * 4 + (k))
#define OCT_MMA(d, a, b) { \
    for (int g_ = 0; g_ < 4; g_++) oct_exchange[lid * 6 + g_] = (a)[g_]; \
    for (int g_ = 0; g_ < 2; g_++) oct_exchange[lid * 6 + 4 + g_] = (b)[g_]; \
    barrier(CLK_LOCAL_MEM_FENCE); \
    for (int e_ = 0; e_ < 4; e_++) \
        for (int k_ = 0; k_ < 8; k_++) { \
            float l0_, l1_, r0_, r1_; \
            OCT_UNPACK2(l0_, l1_, oct_exchange[OCT_LANE(lane / 4, k_ % 4) * 6 + e_ / 2 + k_ / 4 * 2]) \
            OCT_UNPACK2(r0_, r1_, oct_exchange[OCT_LANE(2 * (lane % 4) + e_ % 2, k_ % 4) * 6 + 4 + k_ / 4]) \
            (d)[e_] += l0_ * r0_ + l1_ * r1_; \
        } \
    barrier(CLK_LOCAL_MEM_FENCE); \
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
#define OCT_WAIT_ALL(d)
#define OCT_BEGIN
#define OCT_COMMIT
#define OCT_WAIT_BUT_LAST
#define OCT_BAR_INIT(at, n)
#define OCT_FENCE_BARS
#define OCT_BAR_ARRIVE(at) {}
#define OCT_BAR_EXPECT(at, n) {}
#define OCT_BAR_WAIT(at, parity) barrier(CLK_LOCAL_MEM_FENCE);
#define OCT_BAR_POLL OCT_BAR_WAIT
#define OCT_COPY16(to, from) oct_memory[(to) / 16] = *(__global const uint4 *)(from);
#define OCT_COPIES_ARRIVE(at) {}
#define OCT_BULK_COPY(to, from, n, bar) \
    for (int c_ = 0; c_ < (n) / 16; c_++) oct_memory[(to) / 16 + c_] = ((__global const uint4 *)(from))[c_];
#endif
