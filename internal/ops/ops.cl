// Steps that are not convolutions: pooling, enlargement, pointwise arithmetic,
// pixel shuffle. Dimension 0 of the work-items is the column, 1 the channel, 2 the
// row; a work-item makes eight samples side by side, which makes wide loads and
// stores. Expects the prelude, lines.cl and enlarge.cl.

// Maximum of each 2×2 block.
__kernel void ops_max_pool(__global const data_t *src, ring_t rs, __global data_t *dst, ring_t rd, int y0) {
    const int x = 8 * (int)get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    __global const data_t *a = src + ring_row(rs, 2 * y) + (size_t)c * R_PITCH(rs) + 2 * x;
    __global const data_t *b = src + ring_row(rs, 2 * y + 1) + (size_t)c * R_PITCH(rs) + 2 * x;
    const float8 l = fmax(load8(a), load8(b)), r = fmax(load8(a + 8), load8(b + 8));
    put8(dst + ring_row(rd, y) + (size_t)c * R_PITCH(rd), x, R_W(rd), (float8)(fmax(l.even, l.odd), fmax(r.even, r.odd)));
}

// Columns m-1 to m+6 of a line of n, of which six count; what lies outside repeats
// its ends. m is a multiple of four.
static float8 clamped8(__global const data_t *line, int m, int n) {
    const int8 at = m - 1 + (int8)(0, 1, 2, 3, 4, 5, 6, 7);
    const float4 p = load4(line + m), next = load4(line + m + 4);
    float8 v = (float8)(load4(line + m - 4).w, p, next.xyz);
    if (m == 0) v.s0 = v.s1;
    if (m + 6 >= n) v = select(v, (float8)(LD1(line, n - 1)), at >= n);
    return v;
}

// Bilinear ×2: columns first, then rows. Outputs 2m and 2m+1 lie between columns
// m-1 and m, and m and m+1 (see enlarge). res, if not null, is added to what is stored
// without it.
__kernel void ops_upsample(__global const data_t *src, ring_t rs, __global const data_t *res, ring_t rr, __global data_t *dst, ring_t rd, int y0, int align_corners) {
    const int x = 8 * (int)get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    const int h = R_H(rs), w = R_W(rs), m = x / 2;
    float wy;
    const int sy = enlarge(y, h, align_corners, &wy);
    float4 even = 0.75f, odd = 0.25f;
    if (align_corners) {
        const int4 at = m + (int4)(0, 1, 2, 3);
        const float den = (float)(2 * w - 1);
        even = convert_float4(2 * w - 1 - at) / den;
        odd = convert_float4(w - 1 - at) / den;
    }
    const float8 a = clamped8(src + ring_row(rs, sy) + (size_t)c * R_PITCH(rs), m, w);
    const float8 b = clamped8(src + ring_row(rs, min(sy + 1, h - 1)) + (size_t)c * R_PITCH(rs), m, w);
    float8 top, low;
    top.even = fma(even, a.s1234, (1.0f - even) * a.s0123);
    top.odd = fma(odd, a.s2345, (1.0f - odd) * a.s1234);
    low.even = fma(even, b.s1234, (1.0f - even) * b.s0123);
    low.odd = fma(odd, b.s2345, (1.0f - odd) * b.s1234);
    float8 v = fma(wy, low, (1.0f - wy) * top);
    if (res) v = stored8(v) + load8(res + ring_row(rr, y) + (size_t)c * R_PITCH(rr) + x);
    put8(dst + ring_row(rd, y) + (size_t)c * R_PITCH(rd), x, R_W(rd), v);
}

// dst = act(src·scale[c] + shift[c]) + res; scales (may be null) holds the scales
// of a tensor's channels and then as many shifts; the step's first is at c0. In
// place is allowed.
__kernel void ops_pointwise(__global const data_t *src, ring_t rs, __global const float *scales, ring_t rscales, int c0,
                            __global const data_t *res, ring_t rr, __global data_t *dst, ring_t rd,
                            int y0, int act, float slope) {
    const int x = 8 * (int)get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    float8 v = load8(src + ring_row(rs, y) + (size_t)c * R_PITCH(rs) + x);
    if (scales) {
        __global const float *s = scales + R_FLOATS(rscales) + c0 + c;
        v = fma(v, (float8)(s[0]), (float8)(s[R_C(rscales)]));
    }
    if (act == 1) v = select(v * slope, v, v >= 0.0f);
    if (act == 2) v = 1.0f / (1.0f + exp(-v));
    if (res) v += load8(res + ring_row(rr, y) + (size_t)c * R_PITCH(rr) + x);
    put8(dst + ring_row(rd, y) + (size_t)c * R_PITCH(rd), x, R_W(rd), v);
}

// Channel 4c+2i+j at (y,x) becomes channel c at (2y+i, 2x+j).
__kernel void ops_shuffle(__global const data_t *src, ring_t rs, __global data_t *dst, ring_t rd, int y0) {
    const int x = 8 * (int)get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    __global const data_t *from = src + ring_row(rs, y >> 1) + (size_t)(4 * c + 2 * (y & 1)) * R_PITCH(rs) + (x >> 1);
    float8 v;
    v.even = load4(from);
    v.odd = load4(from + R_PITCH(rs));
    put8(dst + ring_row(rd, y) + (size_t)c * R_PITCH(rd), x, R_W(rd), v);
}
