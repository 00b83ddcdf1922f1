// Codes of samples and samples of codes (model.OpQuantize, model.OpDequantize). Dimension 0 of
// the work-items is eight columns, 1 the channel, or the word of four channels, 2 the row. Expects the prelude,
// lines.cl and planar's codes.cl.

// Words of codes: channels of the view's source past its last hold the code of zero.
__kernel void codes_quantize(__global const data_t *src, ring_t rs, __global uint *dst, ring_t rd, int y0, float inverse, float zero) {
    const int x = 8 * (int)get_global_id(0), g = get_global_id(1), y = y0 + (int)get_global_id(2), w = R_W(rd);
    if (x >= w) return;
    uint8 q = (uint8)(0);
    for (int b = 0; b < 4; b++) {
        const int c = 4 * g + b;
        uint8 code = (uint8)((uint)zero);
        if (c < R_C(rs)) code = convert_uint8(CODE_OF(load8(src + ring_row(rs, y) + (size_t)c * R_PITCH(rs) + x), inverse, zero));
        q |= code << (uint8)(8 * b);
    }
    __global uint *line = dst + codes_row(rd, y) + (size_t)g * R_PITCH(rd);
    if (x > RIM && x + 7 < w - 1 - RIM) {
        *(__global uint8 *)(line + x) = q;
        return;
    }
    const uint s[8] = {q.s0, q.s1, q.s2, q.s3, q.s4, q.s5, q.s6, q.s7};
    for (int i = 0; i < 8 && x + i < w; i++) codes_put(line, x + i, w, s[i], (uint)zero * 0x1010101u);
}

// Codes as samples: least is 0, or -128 of signed codes, and zero that of bytes.
__kernel void codes_number(__global const data_t *src, ring_t rs, __global data_t *dst, ring_t rd, int y0, float inverse, float zero, float least) {
    const int x = 8 * (int)get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    const float8 v = load8(src + ring_row(rs, y) + (size_t)c * R_PITCH(rs) + x);
    put8(dst + ring_row(rd, y) + (size_t)c * R_PITCH(rd), x, R_W(rd), CODE_OF(v, inverse, zero) + least);
}

__kernel void codes_dequantize(__global const uint *src, ring_t rs, __global data_t *dst, ring_t rd, int y0, float step, int zero) {
    const int x = 8 * (int)get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    const uint8 q = *(__global const uint8 *)(src + codes_row(rs, y) + (size_t)(c / 4) * R_PITCH(rs) + x);
    const int8 code = convert_int8(q >> (uint8)(8 * (c % 4)) & 255u) - zero;
    put8(dst + ring_row(rd, y) + (size_t)c * R_PITCH(rd), x, R_W(rd), convert_float8(code) * step);
}
