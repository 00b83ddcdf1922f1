// Steps of tensors of pairs (see package planar), for CPUs: arithmetic is that of planes, in float32, and what is stored
// is rounded once. Dimension 0 of the work-items is the line of words (of pairs_split three), 1 the row; a work-item makes a line. Expects the prelude for
// float32, enlarge.cl and planar's codes.cl and pairs.cl.

#define PAIRS_KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
#define PAIRS_OF(p, r, g, y) ((p) + codes_row(r, y) + (size_t)(g) * R_PITCH(r))

// Planes as split samples: a work-item makes the three lines of two channels.
PAIRS_KERNEL pairs_split(__global const data_t *src, ring_t rs, __global uint *dst, ring_t rd, int y0) {
    const int g = get_global_id(0), y = y0 + (int)get_global_id(1), w = R_W(rd), two = 2 * g + 1 < R_C(rs);
    __global const data_t *from = src + ring_row(rs, y) + (size_t)(2 * g) * R_PITCH(rs);
    __global uint *line = PAIRS_OF(dst, rd, 3 * g, y);
    for (int x = 0; x < w; x += 16) {
        const float16 even = LD16(from + x);
        float16 odd = 0.0f;
        if (two) odd = LD16(from + R_PITCH(rs) + x);
        const uint16 high = PAIR_OF(16, even, odd);
        WORDS16(line + x) = high;
        WORDS16(line + R_PITCH(rd) + x) = high;
        WORDS16(line + 2 * R_PITCH(rd) + x) = PAIR_OF(16, even - PAIR_EVEN(16, high), odd - PAIR_ODD(16, high));
    }
    for (int k = 0; k < 3; k++) codes_rim(line + k * R_PITCH(rd), w, 0);
}

// Maximum of each 2×2 block.
PAIRS_KERNEL pairs_max_pool(__global const uint *src, ring_t rs, __global uint *dst, ring_t rd, int y0) {
    const int g = get_global_id(0), y = y0 + (int)get_global_id(1), w = R_W(rd);
    __global const uint *a = PAIRS_OF(src, rs, g, 2 * y), *b = PAIRS_OF(src, rs, g, 2 * y + 1);
    __global uint *line = PAIRS_OF(dst, rd, g, y);
#define LARGEST(HALF) fmax(fmax(HALF(8, p.even), HALF(8, p.odd)), fmax(HALF(8, q.even), HALF(8, q.odd)))
    for (int x = 0; x < w; x += 8) {
        const uint16 p = CONST_WORDS16(a + 2 * x), q = CONST_WORDS16(b + 2 * x);
        vstore8(PAIR_OF(8, LARGEST(PAIR_EVEN), LARGEST(PAIR_ODD)), 0, line + x);
    }
#undef LARGEST
    codes_rim(line, w, 0);
}

// Eight words of a line from column m on, which lies up to one before its first; those outside are the nearest within.
static uint8 pairs_clamped(__global const uint *line, int m, int w) {
    if (m >= 0 && m + 8 <= w) return vload8(0, line + m);
    uint v[8];
    for (int i = 0; i < 8; i++) v[i] = line[clamp(m + i, 0, w - 1)];
    return vload8(0, v);
}

// Bilinear ×2, as ops_upsample, eight columns of the source at a time.
PAIRS_KERNEL pairs_upsample(__global const uint *src, ring_t rs, __global const uint *res, ring_t rr, __global uint *dst, ring_t rd, int y0, int align_corners) {
    const int g = get_global_id(0), y = y0 + (int)get_global_id(1), h = R_H(rs), w = R_W(rs);
    float wy;
    const int sy = enlarge(y, h, align_corners, &wy);
    __global const uint *a = PAIRS_OF(src, rs, g, sy), *b = PAIRS_OF(src, rs, g, min(sy + 1, h - 1));
    __global const uint *add = res ? PAIRS_OF(res, rr, g, y) : res;
    __global uint *line = PAIRS_OF(dst, rd, g, y);
    float8 even = 0.75f, odd = 0.25f;
    for (int m = 0; m < w; m += 8) {
        if (align_corners) {
            const int8 at = m + (int8)(0, 1, 2, 3, 4, 5, 6, 7);
            const float den = (float)(2 * w - 1);
            even = convert_float8(2 * w - 1 - at) / den;
            odd = convert_float8(w - 1 - at) / den;
        }
        const uint8 a0 = pairs_clamped(a, m - 1, w), a1 = pairs_clamped(a, m, w), a2 = pairs_clamped(a, m + 1, w);
        const uint8 b0 = pairs_clamped(b, m - 1, w), b1 = pairs_clamped(b, m, w), b2 = pairs_clamped(b, m + 1, w);
        float16 v[2];
#define ENLARGE(k, HALF) { \
            const float8 top0 = fma(even, HALF(8, a1), (1.0f - even) * HALF(8, a0)), low0 = fma(even, HALF(8, b1), (1.0f - even) * HALF(8, b0)); \
            const float8 top1 = fma(odd, HALF(8, a2), (1.0f - odd) * HALF(8, a1)), low1 = fma(odd, HALF(8, b2), (1.0f - odd) * HALF(8, b1)); \
            v[k].even = fma((float8)(wy), low0, (1.0f - wy) * top0); \
            v[k].odd = fma((float8)(wy), low1, (1.0f - wy) * top1); \
        }
        ENLARGE(0, PAIR_EVEN)
        ENLARGE(1, PAIR_ODD)
#undef ENLARGE
        if (add) {
            const uint16 r = CONST_WORDS16(add + 2 * m);
            v[0] += PAIR_EVEN(16, r);
            v[1] += PAIR_ODD(16, r);
        }
        WORDS16(line + 2 * m) = PAIR_OF(16, v[0], v[1]);
    }
    codes_rim(line, R_W(rd), 0);
}

// dst = act(src) + res. Absent channels, of which channels is the first, stay zero.
PAIRS_KERNEL pairs_pointwise(__global const uint *src, ring_t rs, __global const uint *res, ring_t rr, __global uint *dst, ring_t rd,
                             int y0, int act, float slope, int channels) {
    const int g = get_global_id(0), y = y0 + (int)get_global_id(1), w = R_W(rd);
    __global const uint *from = PAIRS_OF(src, rs, g, y), *add = res ? PAIRS_OF(res, rr, g, y) : res;
    __global uint *line = PAIRS_OF(dst, rd, g, y);
    for (int x = 0; x < w; x += 16) {
        const uint16 word = CONST_WORDS16(from + x);
        float16 v[2] = {PAIR_EVEN(16, word), PAIR_ODD(16, word)};
        for (int k = 0; k < 2; k++) {
            if (act == 1) v[k] = select(v[k] * slope, v[k], v[k] >= 0.0f);
            if (act == 2) v[k] = 2 * g + k < channels ? 1.0f / (1.0f + exp(-v[k])) : (float16)(0.0f);
        }
        if (add) {
            const uint16 r = CONST_WORDS16(add + x);
            v[0] += PAIR_EVEN(16, r);
            v[1] += PAIR_ODD(16, r);
        }
        WORDS16(line + x) = PAIR_OF(16, v[0], v[1]);
    }
    codes_rim(line, w, 0);
}
