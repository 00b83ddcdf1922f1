// What instructions.cl does, in plain OpenCL C, for tests on other devices. Those of
// a warp go through local memory and need barriers; copies are done at once.
#ifndef MMA_INSTRUCTIONS
#define MMA_INSTRUCTIONS
#define SHARED(name, words) __local uint name[words] __attribute__((aligned(16)));
#define EXCHANGE __local uint factors[GROUP * 6];
#define GATHER(a, b) \
    for (int g_ = 0; g_ < 4; g_++) factors[lid * 6 + g_] = (a)[g_]; \
    for (int g_ = 0; g_ < 2; g_++) factors[lid * 6 + 4 + g_] = (b)[g_]; \
    barrier(CLK_LOCAL_MEM_FENCE);
// The lane that holds row or column n of a factor at quarter k of its words.
#define LANE(n, k) ((lid & ~31) + (n) * 4 + (k))
#define ADD_PRODUCT(d, terms) { \
    float sum_[4] = {0.0f, 0.0f, 0.0f, 0.0f}; \
    for (int e_ = 0; e_ < 4; e_++) \
        for (int k_ = 0; k_ < 8; k_++) { \
            const uint l_ = factors[LANE(quad, k_ % 4) * 6 + e_ / 2 + k_ / 4 * 2], r_ = factors[LANE(2 * t + e_ % 2, k_ % 4) * 6 + 4 + k_ / 4]; \
            terms \
        } \
    barrier(CLK_LOCAL_MEM_FENCE); \
    for (int e_ = 0; e_ < 4; e_++) (d)[e_] += sum_[e_]; \
    }
#define MMA_FP16(d, a, b) { \
    GATHER(a, b) \
    ADD_PRODUCT(d, float l0_; float l1_; float r0_; float r1_; UNPACK2(l0_, l1_, l_) UNPACK2(r0_, r1_, r_) sum_[e_] += l0_ * r0_ + l1_ * r1_;) }
#define MMA_TF32(d, a, b) { \
    GATHER(a, b) \
    ADD_PRODUCT(d, sum_[e_] += as_float(l_) * as_float(r_);) }
#define MMA_CODES(d, a, b, na) { \
    for (int g_ = 0; g_ < (na); g_++) factors[lid * 6 + g_] = (a)[g_]; \
    for (int g_ = 0; g_ < (na) / 2; g_++) factors[lid * 6 + 4 + g_] = (b)[g_]; \
    barrier(CLK_LOCAL_MEM_FENCE); \
    for (int e_ = 0; e_ < 4; e_++) \
        for (int k_ = 0; k_ < 2 * (na); k_++) { \
            const uint l_ = factors[LANE(quad, k_ % 4) * 6 + e_ / 2 + k_ / 4 * 2], r_ = factors[LANE(2 * t + e_ % 2, k_ % 4) * 6 + 4 + k_ / 4]; \
            for (int byte_ = 0; byte_ < 32; byte_ += 8) (d)[e_] += (int)(char)(l_ >> byte_) * (int)(r_ >> byte_ & 255u); \
        } \
    barrier(CLK_LOCAL_MEM_FENCE); }
#define MMA_S8(d, a, b) MMA_CODES(d, a, b, 4)
#define MMA_S8_HALF(d, a, b) MMA_CODES(d, a, b, 2)

#define TF32(d, v) (d) = as_uint(v) + 0x1000 & ~0x1fffu
#define PACK2(d, lo, hi) { ushort h_[2]; vstore_half(lo, 0, (half *)h_); vstore_half(hi, 1, (half *)h_); (d) = h_[0] | (uint)h_[1] << 16; }
#define UNPACK2(lo, hi, v) { const uint v_ = (v); (lo) = vload_half(0, (const half *)&v_); (hi) = vload_half(1, (const half *)&v_); }
#define COPY16(to, from) *(__local uint4 *)(to) = *(__global const uint4 *)(from);
#define COPY8(to, from) *(__local uint2 *)(to) = *(__global const uint2 *)(from);
#define COPY16_OF(to, from, bytes) { uint4 p_ = 0; if (bytes) p_ = *(__global const uint4 *)(from); *(__local uint4 *)(to) = p_; }
#define COMMIT
#define WAIT_ALL_BUT(n)
#define BELOW(d, lo, hi) (d) = (d) << 16 | (uint)clamp(hi, 0, 255) << 8 | (uint)clamp(lo, 0, 255);
#define FROM_NEIGHBOUR(v) { \
    factors[lid * 6] = (v); \
    barrier(CLK_LOCAL_MEM_FENCE); \
    (v) = factors[(lid ^ 4) * 6]; \
    barrier(CLK_LOCAL_MEM_FENCE); }
#define QUAD_SUM(v) { \
    factors[lid * 6] = as_uint(v); \
    barrier(CLK_LOCAL_MEM_FENCE); \
    const int at_ = (lid & ~3) * 6, mine_ = lid & 3; \
    v = (v + as_float(factors[at_ + (mine_ ^ 1) * 6])) + (as_float(factors[at_ + (mine_ ^ 2) * 6]) + as_float(factors[at_ + (mine_ ^ 3) * 6])); \
    barrier(CLK_LOCAL_MEM_FENCE); }
#endif
