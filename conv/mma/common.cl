// What the kernels of conv_mma share, once a program: vectors of eight samples
// of a planar line. Expects the prelude and instructions.cl.
#ifndef MMA_COMMON
#define MMA_COMMON

// act(x·scale + shift) of a float32 sample.
static uint mma_scaled1(uint x, float scale, float shift, int act, float slope) {
    return as_uint(activate(fma(as_float(x), scale, shift), act, slope));
}

#ifdef STORE_HALF
// The same of two binary16 samples, rounded to such.
static uint mma_scaled2(uint x, float scale, float shift, int act, float slope) {
    float l, h;
    UNPACK2(l, h, x);
    l = activate(fma(l, scale, shift), act, slope);
    h = activate(fma(h, scale, shift), act, slope);
    PACK2(x, l, h);
    return x;
}
#endif

// vload_half8 and vstore_half8 promise an alignment of two bytes only; these use
// sixteen.
static void mma_add8(float *v, __global const data_t *from) {
#ifdef STORE_HALF
    const uint4 p = *(__global const uint4 *)from;
    const uint w[4] = {p.x, p.y, p.z, p.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float l, h;
        UNPACK2(l, h, w[i]);
        v[2 * i] += l;
        v[2 * i + 1] += h;
    }
#else
    const float4 p = *(__global const float4 *)from, q = *(__global const float4 *)(from + 4);
    v[0] += p.x; v[1] += p.y; v[2] += p.z; v[3] += p.w;
    v[4] += q.x; v[5] += q.y; v[6] += q.z; v[7] += q.w;
#endif
}

static void mma_store8(__global data_t *to, const float *v) {
#ifdef STORE_HALF
    uint w[4];
#pragma unroll
    for (int i = 0; i < 4; i++) PACK2(w[i], v[2 * i], v[2 * i + 1]);
    *(__global uint4 *)to = (uint4)(w[0], w[1], w[2], w[3]);
#else
    *(__global float4 *)to = (float4)(v[0], v[1], v[2], v[3]);
    *(__global float4 *)(to + 4) = (float4)(v[4], v[5], v[6], v[7]);
#endif
}

// Four samples of a line, at a multiple of four from its start.
#ifdef STORE_HALF
typedef uint2 four_t;
static void mma_add4(float *v, four_t p) {
    float l, h;
    UNPACK2(l, h, p.x);
    v[0] += l;
    v[1] += h;
    UNPACK2(l, h, p.y);
    v[2] += l;
    v[3] += h;
}
static void mma_store4(__global data_t *to, const float *v) {
    uint a, b;
    PACK2(a, v[0], v[1]);
    PACK2(b, v[2], v[3]);
    *(__global uint2 *)to = (uint2)(a, b);
}
#else
typedef float4 four_t;
static void mma_add4(float *v, four_t p) { v[0] += p.x; v[1] += p.y; v[2] += p.z; v[3] += p.w; }
static void mma_store4(__global data_t *to, const float *v) { *(__global float4 *)to = (float4)(v[0], v[1], v[2], v[3]); }
#endif

// Writes column x+i of the line, whose column x is at to, and the columns of the
// rim that it stands for.
static void mma_put(__global data_t *to, int x, int i, int w, float v) {
#if defined(PAD_ZERO) || defined(PAD_EDGE)
    put(to - x, x + i, w, v);
#else // the line is longer than the rim, so there is one at most on each side
    const int c = x + i, d = w - 1 - c;
    ST1(v, to, i);
    if (c > 0 && c <= RIM) ST1(v, to, i - 2 * c);
    if (d > 0 && d <= RIM) ST1(v, to, i + 2 * d);
#endif
}
#endif
