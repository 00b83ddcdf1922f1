// What the kernels of conv_mma share, once a program: vectors of four samples
// of a planar line. Expects the prelude.
#ifndef MMA_COMMON
#define MMA_COMMON

// vload_half4 promises an alignment of two bytes only; these use eight.
static void mma_add4(float *v, __global const data_t *from) {
#ifdef STORE_HALF
    const uint2 p = *(__global const uint2 *)from;
    float f[4];
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}" : "=f"(f[0]), "=f"(f[1]) : "r"(p.x));
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}" : "=f"(f[2]), "=f"(f[3]) : "r"(p.y));
    v[0] += f[0]; v[1] += f[1]; v[2] += f[2]; v[3] += f[3];
#else
    const float4 p = *(__global const float4 *)from;
    v[0] += p.x; v[1] += p.y; v[2] += p.z; v[3] += p.w;
#endif
}

static void mma_store4(__global data_t *to, const float *v) {
#ifdef STORE_HALF
    uint2 p;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(p.x) : "f"(v[1]), "f"(v[0]));
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(p.y) : "f"(v[3]), "f"(v[2]));
    *(__global uint2 *)to = p;
#else
    *(__global float4 *)to = (float4)(v[0], v[1], v[2], v[3]);
#endif
}

// Writes column x+i of the line, whose column x is at to, and the columns of the
// rim that mirror it. The line is longer than the rim, so there is one at most
// on each side.
static void mma_put(__global data_t *to, int x, int i, int w, float v) {
    const int c = x + i, d = w - 1 - c;
    ST1(v, to, i);
    if (c > 0 && c <= RIM) ST1(v, to, i - 2 * c);
    if (d > 0 && d <= RIM) ST1(v, to, i + 2 * d);
}
#endif
