// What instructions.cl does, in plain OpenCL C, for tests on other devices, behind that of conv_octets.
#ifndef OCTETS_CODES_INSTRUCTIONS
#define OCTETS_CODES_INSTRUCTIONS
#define C8_ST2(at, a, b) { OCT_WORDS[(at) / 4] = (a); OCT_WORDS[(at) / 4 + 1] = (b); }
#define C8_ST4(at, v) oct_memory[(at) / 16] = (v);
#define C8_ST_HALF(at, v) ((__local ushort *)oct_memory)[(at) / 2] = (ushort)(v);
#define C8_LD4(v, at) for (int k_ = 0; k_ < 4; k_++) (v)[k_] = OCT_WORDS[(at) / 4 + k_];
#define C8_FENCE
#define C8_TEAM_BARRIER(team) barrier(CLK_LOCAL_MEM_FENCE);
#pragma OPENCL FP_CONTRACT OFF
static float c8_product(float a, float b) { return a * b; }
static float c8_saturated(float a, float b) { return fmin(fmax(a * b, 0.0f), 1.0f); }
#define C8_WORD(a, b, c, d) (((a) & 0xff) | ((b) & 0xff) << 8 | ((c) & 0xff) << 16 | (d) << 24)
// The place of row i, byte k of a factor.
#define C8_ELEMENT(d, i, k) (((d) & 0x3fff) * 16 + 128 * ((i) / 8) + ((d) >> 16 & 0x3fff) * 16 * ((k) / 16) + (i) % 8 * 16 + (k) % 16)
#define C8_WGMMA(n, d, a, b, more) { \
    __local const uchar *memory_ = (__local const uchar *)oct_memory; \
    const uint pixels_ = (a), weights_ = (b); \
    for (int e_ = 0; e_ < 4; e_++) \
        for (int j_ = 0; j_ < (n); j_++) { \
            int sum_ = (more) ? (d)[j_][e_] : 0; \
            for (int k_ = 0; k_ < 32; k_++) \
                sum_ += memory_[C8_ELEMENT(pixels_, warp * 16 + g + e_ / 2 * 8, k_)] * (int)as_char(memory_[C8_ELEMENT(weights_, j_ * 8 + 2 * t + e_ % 2, k_)]); \
            (d)[j_][e_] = sum_; \
        } \
    }
#define C8_WAIT(n, d)
#define C8_WAIT_BUT_LAST(n, d)
#endif
