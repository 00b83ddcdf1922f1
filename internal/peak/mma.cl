// peak_mma: products of matrix units out of registers, for NVIDIA GPUs (inline
// PTX). Every warp keeps CHAINS independent sums of 16×8; one turn adds a product to
// each. Factors come from outside, so that nothing is known to the compiler.
//
// Expects: TF32 to be defined for m16n8k8 of tf32, CODES for m16n8k32 of integers of 8 bits, else m16n8k16 of binary16.
#define CHAINS 8
#ifdef CODES
typedef int sum_t;
#else
typedef float sum_t;
#endif

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void peak_mma(__global float *out, int turns, uint factor) {
    sum_t d[CHAINS][4];
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
#pragma unroll
        for (int i = 0; i < 4; i++) d[c][i] = (sum_t)(get_local_id(0) + c);
    const uint a = factor, b = factor + 1;
    for (int t = 0; t < turns; t++) {
#pragma unroll
        for (int c = 0; c < CHAINS; c++) {
#ifdef TF32
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
                         : "+f"(d[c][0]), "+f"(d[c][1]), "+f"(d[c][2]), "+f"(d[c][3]) : "r"(a), "r"(b));
#elif defined(CODES)
            asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
                         : "+r"(d[c][0]), "+r"(d[c][1]), "+r"(d[c][2]), "+r"(d[c][3]) : "r"(a), "r"(b));
#else
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
                         : "+f"(d[c][0]), "+f"(d[c][1]), "+f"(d[c][2]), "+f"(d[c][3]) : "r"(a), "r"(b));
#endif
        }
    }
    float s = 0.0f;
#pragma unroll
    for (int c = 0; c < CHAINS; c++) s += (float)(d[c][0] + d[c][1] + d[c][2] + d[c][3]);
    out[get_global_id(0)] = s;
}
