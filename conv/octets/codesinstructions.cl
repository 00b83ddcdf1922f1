// The instructions of conv_octets_codes beside those of conv_octets, once a program.
#ifndef OCTETS_CODES_INSTRUCTIONS
#define OCTETS_CODES_INSTRUCTIONS
#define C8_ST2(at, a, b) asm volatile("st.shared.v2.b32 [%0], {%1,%2};" :: "r"(at), "r"(a), "r"(b) : "memory");
#define C8_ST4(at, v) { const uint4 v_ = (v); asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" :: "r"(at), "r"(v_.s0), "r"(v_.s1), "r"(v_.s2), "r"(v_.s3) : "memory"); }
#define C8_ST_HALF(at, v) asm volatile("{.reg .b16 l, h; mov.b32 {l, h}, %1; st.shared.b16 [%0], l;}" :: "r"(at), "r"(v) : "memory");
#define C8_LD4(v, at) asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];" : "=r"((v)[0]), "=r"((v)[1]), "=r"((v)[2]), "=r"((v)[3]) : "r"(at) : "memory");
// Has products see what was stored before.
#define C8_FENCE asm volatile(OCT_LATE "fence.proxy.async.shared::cta;" ::: "memory");
#define C8_TEAM_BARRIER(team) asm volatile("bar.sync %0, 128;" :: "r"((team) + 1) : "memory");
// The product, which is rounded before anything is added to it, and the product within 0 to 1, 0 for NaN.
static float c8_product(float a, float b) {
    float v;
    asm("mul.rn.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
    return v;
}
static float c8_saturated(float a, float b) {
    float v;
    asm("mul.rn.sat.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
    return v;
}
// The lowest bytes of four words.
static uint c8_word(uint a, uint b, uint c, uint d) {
    uint lo, hi, v;
    asm("prmt.b32 %0, %1, %2, 0x0040;" : "=r"(lo) : "r"(a), "r"(b));
    asm("prmt.b32 %0, %1, %2, 0x0040;" : "=r"(hi) : "r"(c), "r"(d));
    asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(v) : "r"(lo), "r"(hi));
    return v;
}
#define C8_WORD(a, b, c, d) c8_word(a, b, c, d)
#endif
