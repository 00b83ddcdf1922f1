// Prelude: storage type and row addressing. See package planar for the layout.
// Expects STORE_HALF to be defined for fp16 storage; arithmetic is always float.

#ifdef STORE_HALF
typedef half data_t;
#define DATA_BYTES 2
#define LD1(p, i) vload_half((size_t)(i), (p))
#define LD4(p) vload_half4(0, (p))
#define LD8(p) vload_half8(0, (p))
#define LD16(p) vload_half16(0, (p))
#define ST1(v, p, i) vstore_half((v), (size_t)(i), (p))
#define ST4(v, p) vstore_half4((v), 0, (p))
#define ST8(v, p) vstore_half8((v), 0, (p))
#define ST16(v, p) vstore_half16((v), 0, (p))
#else
typedef float data_t;
#define DATA_BYTES 4
#define LD1(p, i) ((p)[i])
#define LD4(p) vload4(0, (p))
#define LD8(p) vload8(0, (p))
#define LD16(p) vload16(0, (p))
#define ST1(v, p, i) ((p)[i] = (v))
#define ST4(v, p) vstore4((v), 0, (p))
#define ST8(v, p) vstore8((v), 0, (p))
#define ST16(v, p) vstore16((v), 0, (p))
#endif

#define PAD 16
#define RIM 4

// A ring of rows, or some channels of it, by value: s0 slots, s1 samples per
// slot, s2 first sample of the view in a slot, s3 channels, s4 height, s5 width,
// s6 pitch, s7 place of slot 0 in the buffer in units of 64 bytes.
typedef int8 ring_t;
#define R_SLOTS(r) (r).s0
#define R_C(r) (r).s3
#define R_H(r) (r).s4
#define R_W(r) (r).s5
#define R_PITCH(r) (r).s6
// Channels of the tensor that a ring is a view of, and the view's first.
#define R_ALL(r) ((r).s1 / (r).s6)
#define R_FIRST(r) ((r).s2 / (r).s6)
// First float of a ring of statistics or scales.
#define R_FLOATS(r) ((size_t)(r).s7 * 16)

// Sample offset of column 0 of channel 0 of the view in row y.
static size_t ring_row(ring_t r, int y) {
    return (size_t)r.s7 * (64 / DATA_BYTES) + (size_t)(y % r.s0) * (size_t)r.s1 + (size_t)(r.s2 + PAD);
}

// What lies outside a plane is reflected, or as PAD_EDGE or PAD_ZERO say. pad_index is
// the row or column that stands for one outside, OUTSIDE whether that counts as zero, and WITHIN its
// opposite: !OUTSIDE behind && is a constant that clang warns of.
#if defined(PAD_ZERO) || defined(PAD_EDGE)
static int pad_index(int i, int n) { return clamp(i, 0, n - 1); }
#else
// By reflection that does not repeat the edge; its period is 2n-2.
static int pad_index(int i, int n) {
    if (n == 1) return 0;
    int period = 2 * n - 2;
    i %= period;
    if (i < 0) i += period;
    return i < n ? i : period - i;
}
#endif
#ifdef PAD_ZERO
#define OUTSIDE(i, n) ((uint)(i) >= (uint)(n))
#define WITHIN(i, n) (!OUTSIDE(i, n))
#define RIM_VALUE(v) 0.0f
#else
#define OUTSIDE(i, n) 0
#define WITHIN(i, n) 1
#define RIM_VALUE(v) (v)
#endif

#if defined(PAD_ZERO) || defined(PAD_EDGE)
// Writes column x of a line and, if it is at an edge, the rim there.
static void put(__global data_t *line, int x, int w, float v) {
    ST1(v, line, x);
    if (x == 0)
        for (int b = 1; b <= RIM; b++) ST1(RIM_VALUE(v), line, -b);
    if (x == w - 1)
        for (int b = 1; b <= RIM; b++) ST1(RIM_VALUE(v), line, x + b);
}
#else
// Writes column x of a line and whatever columns of the rim mirror it.
static void put(__global data_t *line, int x, int w, float v) {
    ST1(v, line, x);
    if (x > RIM && x < w - 1 - RIM) return;
    if (w > RIM) { // one column at most on each side
        const int d = w - 1 - x;
        if (x > 0 && x <= RIM) ST1(v, line, -x);
        if (d > 0 && d <= RIM) ST1(v, line, w - 1 + d);
        return;
    }
    for (int b = 1; b <= RIM; b++) {
        if (pad_index(-b, w) == x) ST1(v, line, -b);
        if (pad_index(w - 1 + b, w) == x) ST1(v, line, w - 1 + b);
    }
}
#endif

// Writes the rim of a finished line.
static void put_rim(__global data_t *line, int w) {
    for (int b = 1; b <= RIM; b++) {
        float l = LD1(line, pad_index(-b, w)), r = LD1(line, pad_index(w - 1 + b, w));
        ST1(RIM_VALUE(l), line, -b);
        ST1(RIM_VALUE(r), line, w - 1 + b);
    }
}

// Activations: 0 none, 1 leaky ReLU, 2 sigmoid; of others a program has one, ACT_OF, which is
// written so that v may be a vector. Where that takes the slopes of channels (ACT_SLOPES), the
// argument slope holds the bits of their place among a step's parameters.
static float activate(float v, int act, float slope) {
    if (act == 1) return v >= 0.0f ? v : v * slope;
    if (act == 2) return 1.0f / (1.0f + exp(-v));
#ifdef ACT_OF
    if (act > 2) return ACT_OF(v, slope);
#endif
    return v;
}
#ifdef ACT_SLOPES
#define SLOPE_OF(slope, params, k) ((params)[as_int(slope) + (k)])
#else
#define SLOPE_OF(slope, params, k) (slope)
#endif
// The residual of a convolution is added behind the activation, or before it where RES_FIRST is 1.
#ifndef RES_FIRST
#define RES_FIRST 0
#endif
// What is stored of sum v, with sample i of the residual, if that is not the null pointer.
static float finished(float v, __global const data_t *res, size_t i, int act, float slope) {
    if (RES_FIRST && res) v += LD1(res, i);
    v = activate(v, act, slope);
    if (!RES_FIRST && res) v += LD1(res, i);
    return v;
}
