// Codes of samples and samples of codes (model.OpQuantize, model.OpDequantize). Dimension 0 of
// the work-items is along the line, 1 the channel, or the word of four channels, 2 the row. Expects the prelude,
// lines.cl and planar's codes.cl.

// The word of channels 4g to 4g+3 at column x; channels past the source's last have the code of zero.
static uint codes_word(__global const data_t *src, ring_t rs, int y, int g, int x, float inverse, float zero) {
    uint q = 0;
    for (int b = 0; b < 4; b++) {
        const int c = 4 * g + b;
        float code = zero;
        if (c < R_C(rs)) code = CODE_OF(LD1(src + ring_row(rs, y) + (size_t)c * R_PITCH(rs), x), inverse, zero);
        q |= (uint)code << (8 * b);
    }
    return q;
}

// Writes what of line g's rim the columns from x on stand for, n of them, from the samples: others may not have stored theirs.
static void codes_rims(__global uint *line, __global const data_t *src, ring_t rs, int y, int g, int x, int n, int w, float inverse, float zero) {
    if (x > 0 && x + n < w) return;
    for (int b = 1; b <= RIM; b++) {
        if (x == 0) line[-b] = CODES_RIM(codes_word(src, rs, y, g, pad_index(-b, w), inverse, zero), (uint)zero * 0x1010101u);
        if (x + n >= w) line[w - 1 + b] = CODES_RIM(codes_word(src, rs, y, g, pad_index(w - 1 + b, w), inverse, zero), (uint)zero * 0x1010101u);
    }
}

// Words of codes along a whole line, sixteen columns at a time.
__kernel void codes_quantize(__global const data_t *src, ring_t rs, __global uint *dst, ring_t rd, int y0, float inverse, float zero) {
    const int g = get_global_id(1), y = y0 + (int)get_global_id(2), w = R_W(rd);
    __global uint *line = dst + codes_row(rd, y) + (size_t)g * R_PITCH(rd);
    __global const data_t *from = src + ring_row(rs, y) + (size_t)4 * g * R_PITCH(rs);
    const int channels = min(4, R_C(rs) - 4 * g);
    for (int x = 16 * (int)get_global_id(0); x < w; x += 16 * (int)get_global_size(0)) {
        uint16 q = (uint16)(0);
        for (int b = 0; b < 4; b++) {
            uint16 code = (uint16)((uint)zero);
            if (b < channels) code = convert_uint16(CODE_OF(LD16(from + (size_t)b * R_PITCH(rs) + x), inverse, zero));
            q |= code << (uint16)(8 * b);
        }
        vstore16(q, 0, line + x);
        codes_rims(line, src, rs, y, g, x, 16, w, inverse, zero);
    }
}

// The same, a word of four columns for a work-item. Where the conversions of floats take long, as on GPUs, the bits of a float of 1.5·2^23 and
// more serve: adding to it rounds halves to the even integer, and its low bits are that.
__kernel void codes_quantize4(__global const data_t *src, ring_t rs, __global uint *dst, ring_t rd, int y0, float inverse, float zero) {
    const int x = 4 * (int)get_global_id(0), g = get_global_id(1), y = y0 + (int)get_global_id(2), w = R_W(rd);
    if (x >= w) return;
    __global uint *line = dst + codes_row(rd, y) + (size_t)g * R_PITCH(rd);
    __global const data_t *from = src + ring_row(rs, y) + (size_t)4 * g * R_PITCH(rs) + x;
    const int last = min(3, R_C(rs) - 4 * g - 1), pitch = R_PITCH(rs);
    float4 v[4];
    for (int b = 0; b < 4; b++) v[b] = load4(from + (size_t)(uint)(min(b, last) * pitch));
    uint4 q = (uint4)(0);
    for (int b = 0; b < 4; b++) {
        const uint4 code = (as_uint4(fmin(fmax(v[b] * inverse, -zero), 255.0f - zero) + 12582912.0f) + (uint)zero) & 255u;
        q |= (b > last ? (uint4)((uint)zero) : code) << (uint4)(8 * b);
    }
    *(__global uint4 *)(line + x) = q;
    codes_rims(line, src, rs, y, g, x, 4, w, inverse, zero);
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
