// Steps of tensors of octets (see package planar), which are the same arithmetic as those of planes. Dimension 0 of
// the work-items is the column, 1 the octet of channels, 2 the row; a work-item makes one octet or two side by side,
// 16 bytes each. Expects the prelude for fp16, lines.cl, enlarge.cl and planar's octets.cl.

#define OCTETS_OF(p, r, g, y) ((p) + octets_row(r, y) + (size_t)(g) * R_PITCH(r))

// Maximum of each 2×2 block.
__kernel void octets_max_pool(__global const octet_t *src, ring_t rs, __global octet_t *dst, ring_t rd, int y0) {
    const int x = get_global_id(0), g = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    __global const octet_t *a = OCTETS_OF(src, rs, g, 2 * y) + 2 * x, *b = OCTETS_OF(src, rs, g, 2 * y + 1) + 2 * x;
    const float8 top = fmax(octet_samples(a[0]), octet_samples(a[1])), low = fmax(octet_samples(b[0]), octet_samples(b[1]));
    octets_put(OCTETS_OF(dst, rd, g, y), x, R_W(rd), octet_of(fmax(top, low)));
}

// Bilinear ×2, as ops_upsample: columns 2m and 2m+1.
__kernel void octets_upsample(__global const octet_t *src, ring_t rs, __global const octet_t *res, ring_t rr, __global octet_t *dst, ring_t rd, int y0, int align_corners) {
    const int m = get_global_id(0), g = get_global_id(1), y = y0 + (int)get_global_id(2), h = R_H(rs), w = R_W(rs);
    if (m >= w) return;
    float wy, even = 0.75f, odd = 0.25f;
    const int sy = enlarge(y, h, align_corners, &wy);
    if (align_corners) {
        const float den = (float)(2 * w - 1);
        even = (float)(2 * w - 1 - m) / den;
        odd = (float)(w - 1 - m) / den;
    }
    __global const octet_t *a = OCTETS_OF(src, rs, g, sy), *b = OCTETS_OF(src, rs, g, min(sy + 1, h - 1));
    const int before = max(m - 1, 0), after = min(m + 1, w - 1);
    const float8 a1 = octet_samples(a[m]), b1 = octet_samples(b[m]);
    const float8 top0 = fma((float8)(even), a1, (1.0f - even) * octet_samples(a[before])), low0 = fma((float8)(even), b1, (1.0f - even) * octet_samples(b[before]));
    const float8 top1 = fma((float8)(odd), octet_samples(a[after]), (1.0f - odd) * a1), low1 = fma((float8)(odd), octet_samples(b[after]), (1.0f - odd) * b1);
    octet_t v0 = octet_of(fma((float8)(wy), low0, (1.0f - wy) * top0)), v1 = octet_of(fma((float8)(wy), low1, (1.0f - wy) * top1));
    if (res) { // which is added to what is stored without it
        __global const octet_t *r = OCTETS_OF(res, rr, g, y) + 2 * m;
        v0 = octet_of(octet_samples(v0) + octet_samples(r[0]));
        v1 = octet_of(octet_samples(v1) + octet_samples(r[1]));
    }
    __global octet_t *line = OCTETS_OF(dst, rd, g, y);
    octets_put(line, 2 * m, R_W(rd), v0);
    octets_put(line, 2 * m + 1, R_W(rd), v1);
}

// dst = act(src·scale + shift) + res, where scales, which may be null, are as those of ops_pointwise. Absent channels, of which channels is the first, stay zero.
__kernel void octets_pointwise(__global const octet_t *src, ring_t rs, __global const float *scales, ring_t rscales, int c0, __global const octet_t *res, ring_t rr, __global octet_t *dst, ring_t rd,
                               int y0, int act, float slope, int channels) {
    const int x = get_global_id(0), g = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    float8 v = octet_samples(OCTETS_OF(src, rs, g, y)[x]);
    if (scales) {
        __global const float *s = scales + R_FLOATS(rscales) + c0 + 8 * g;
        float scale[8], shift[8];
        for (int c = 0; c < 8; c++) {
            scale[c] = shift[c] = 0.0f;
            if (8 * g + c < channels) {
                scale[c] = s[c];
                shift[c] = s[R_C(rscales) + c];
            }
        }
        v = fma(v, vload8(0, scale), vload8(0, shift));
    }
    if (act == 1) v = select(v * slope, v, v >= 0.0f);
    if (act == 2) v = select((float8)(0.0f), 1.0f / (1.0f + exp(-v)), 8 * g + (int8)(0, 1, 2, 3, 4, 5, 6, 7) < channels);
    if (res) v += octet_samples(OCTETS_OF(res, rr, g, y)[x]);
    octets_put(OCTETS_OF(dst, rd, g, y), x, R_W(rd), octet_of(v));
}

// Pixel shuffle from octets to planes: a work-item has four columns of an octet, which are eight of two rows of two channels. Of the
// rows those from y0 to y1-1 are made.
__kernel void octets_shuffle(__global const octet_t *src, ring_t rs, __global data_t *dst, ring_t rd, int y0, int y1) {
    const int x = 4 * (int)get_global_id(0), g = get_global_id(1), sy = y0 / 2 + (int)get_global_id(2);
    if (x >= R_W(rs)) return;
    __global const octet_t *from = OCTETS_OF(src, rs, g, sy) + x;
    uint v[4][4]; // column, then channel 2g and 2g+1 by row
    for (int k = 0; k < 4; k++) {
        const octet_t o = from[k];
        v[k][0] = o.x; v[k][1] = o.y; v[k][2] = o.z; v[k][3] = o.w;
    }
    for (int k = 0; k < 4; k++) {
        const int c = 2 * g + k / 2, y = 2 * sy + k % 2;
        if (c >= R_C(rd) || y < y0 || y >= y1) continue;
        const octet_t line = (octet_t)(v[0][k], v[1][k], v[2][k], v[3][k]);
        put8(dst + ring_row(rd, y) + (size_t)c * R_PITCH(rd), 2 * x, R_W(rd), octet_samples(line));
    }
}

// Planes as octets.
__kernel void octets_convert(__global const data_t *src, ring_t rs, __global octet_t *dst, ring_t rd, int y0) {
    const int x = 2 * (int)get_global_id(0), g = get_global_id(1), y = y0 + (int)get_global_id(2), w = R_W(rd);
    if (x >= w) return;
    __global const data_t *from = src + ring_row(rs, y) + (size_t)(8 * g) * R_PITCH(rs) + x;
    uint v[8];
    for (int c = 0; c < 8; c++) v[c] = 8 * g + c < R_C(rs) ? *(__global const uint *)(from + (size_t)c * R_PITCH(rs)) : 0;
    __global octet_t *line = OCTETS_OF(dst, rd, g, y);
#define HALVES(a, b) ((a) & 0xffff | (b) << 16)
    octets_put(line, x, w, (octet_t)(HALVES(v[0], v[1]), HALVES(v[2], v[3]), HALVES(v[4], v[5]), HALVES(v[6], v[7])));
#undef HALVES
#define HALVES(a, b) ((a) >> 16 | (b) & 0xffff0000)
    if (x + 1 < w) octets_put(line, x + 1, w, (octet_t)(HALVES(v[0], v[1]), HALVES(v[2], v[3]), HALVES(v[4], v[5]), HALVES(v[6], v[7])));
#undef HALVES
}

// Columns 0 to 7 of channel c of the octets at line.
static float8 octets_eight(__global const octet_t *line, int c) {
    float v[8];
    for (int i = 0; i < 8; i++) v[i] = LD1((__global const half *)(line + i), c);
    return vload8(0, v);
}
