// Codes of a picture out of a network's light, as the host makes them (packages highlights, colour
// and sharpen are the definitions; names are theirs). The result of a pixel depends on nothing but
// the picture: not on how rows come. Expects the prelude, lines.cl and the constants of picture.go.
//
// tables holds PARAMS numbers and then the tables LIGHT (value and rise, LIGHT_STEPS + 1 times),
// NOISE, CODES (three numbers a chord) and CURVE (two a chord).

#pragma OPENCL FP_CONTRACT OFF

// Rows of floats: as those of activations in fp32.
static size_t float_row(ring_t r, int y) {
    return (size_t)r.s7 * 16 + (size_t)(y % r.s0) * (size_t)r.s1 + PAD;
}

// Eight pixels side by side.
typedef struct { float8 r, g, b; } rgb8;

#define EACH8(f) (float8)(f(s0), f(s1), f(s2), f(s3), f(s4), f(s5), f(s6), f(s7))
static float8 gather8(__global const float *p, int8 at) {
#define ONE(k) p[at.k]
    return EACH8(ONE);
#undef ONE
}

static float8 most8(rgb8 v) { return fmax(fmax(v.r, v.g), v.b); }
static float8 least8(rgb8 v) { return fmin(fmin(v.r, v.g), v.b); }
static float8 weighed8(__global const float *m, rgb8 v) { return m[0] * v.r + m[1] * v.g + m[2] * v.b; }

// The light of network's samples; of one that is not a number, 0.
static float8 light8(__global const float *tables, float8 v) {
    const float8 f = fmin(fmax(v, 0.0f), 1.0f) * (float)LIGHT_STEPS;
    const int8 k = convert_int8(f);
    return gather8(tables + LIGHT, 2 * k) + gather8(tables + LIGHT + 1, 2 * k) * (f - convert_float8(k));
}

static rgb8 lights8(__global const float *tables, __global const data_t *src, int pitch) {
    rgb8 v;
    v.r = light8(tables, LD8(src));
    v.g = light8(tables, LD8(src + pitch));
    v.b = light8(tables, LD8(src + 2 * (size_t)pitch));
    return v;
}

// Notes the first of n columns from x on, of all lines, whose sample is not finite.
static void note_bad(__global const data_t *src, int pitch, int x, int n, __global int *bad) {
    for (int i = 0; i < n; i++)
        if (!isfinite(LD1(src, i)) || !isfinite(LD1(src, i + pitch)) || !isfinite(LD1(src, i + 2 * (size_t)pitch))) {
            atomic_min(bad, x + i);
            return;
        }
}

static float sum8(float8 v) {
    const float4 s = v.lo + v.hi;
    return (s.x + s.z) + (s.y + s.w);
}

// Sums of the bright, unclipped light of cells: dimension 0 is the cell's column, 1 its row. The
// picture, of w x h pixels, begins at row y0 and column x0 of src. bad has, by row of the
// picture, the first column of a sample that is not finite.
__kernel void picture_cells(__global const data_t *src, ring_t rs, __global float *dst, ring_t rd, __global const float *tables,
                            __global int *bad, int k0, int y0, int x0, int h, int w) {
    const int i = get_global_id(0), k = k0 + (int)get_global_id(1), pitch = R_PITCH(rs);
    if (i >= R_W(rd)) return;
    const int8 lane = (int8)(0, 1, 2, 3, 4, 5, 6, 7);
    rgb8 sum;
    sum.r = sum.g = sum.b = 0.0f;
    float8 all = 0.0f;
    for (int y = SIDE * k; y < min(SIDE * (k + 1), h); y++) {
        for (int x = SIDE * i; x < min(SIDE * (i + 1), w); x += 8) {
            __global const data_t *at = src + ring_row(rs, y0 + y) + x0 + x;
            const float8 a = LD8(at), b = LD8(at + pitch), c = LD8(at + 2 * (size_t)pitch);
            const int8 there = x + lane < w;
            if (any(there && !(isfinite(a) && isfinite(b) && isfinite(c)))) note_bad(at, pitch, x, min(8, w - x), bad + y);
            const float8 r = light8(tables, a), g = light8(tables, b), l = light8(tables, c);
            float8 top = fmax(fmax(r * tables[INVERSE], g * tables[INVERSE + 1]), l * tables[INVERSE + 2]);
            const int8 counts = there && top >= BRIGHT_OF && top <= CLIP_FROM;
            top *= top;
            top = select((float8)(0.0f), top * top, counts);
            sum.r += top * r;
            sum.g += top * g;
            sum.b += top * l;
            all += top * (r + g + l);
        }
    }
    __global float *to = dst + float_row(rd, k) + i;
    to[0] = sum8(sum.r);
    to[R_PITCH(rd)] = sum8(sum.g);
    to[2 * R_PITCH(rd)] = sum8(sum.b);
    to[3 * R_PITCH(rd)] = sum8(all);
}

// The sum over three rows of cells around row k, in column i.
static float4 cells_at(__global const float *src, ring_t rs, int k, int i) {
    float4 sum = 0.0f;
    for (int d = -1; d <= 1; d++) {
        if (k + d < 0 || k + d >= R_H(rs)) continue;
        __global const float *at = src + float_row(rs, k + d) + i;
        sum += (float)(2 - d * d) * (float4)(at[0], at[R_PITCH(rs)], at[2 * R_PITCH(rs)], at[3 * R_PITCH(rs)]);
    }
    return sum;
}

// The colour around cells: of three rows of cells, and along them in both directions as far as
// FAR, where weights fall by DECAY from cell to cell. Dimension 0 is a run of RUN cells, 1 the row.
__kernel void picture_colours(__global const float *src, ring_t rs, __global float *dst, ring_t rd, int k0) {
    const int first = RUN * (int)get_global_id(0), k = k0 + (int)get_global_id(1), n = R_W(rd);
    if (first >= n) return;
    float4 back[RUN], v = 0.0f;
    for (int i = min(first + RUN + FAR, n) - 1; i >= first; i--) {
        v = cells_at(src, rs, k, i) + DECAY * v;
        if (i < first + RUN) back[i - first] = v;
    }
    float4 ahead = 0.0f;
    for (int i = max(first - FAR, 0); i < first; i++) ahead = DECAY * (ahead + cells_at(src, rs, k, i));
    for (int i = first; i < min(first + RUN, n); i++) {
        v = ahead + back[i - first];
        ahead = DECAY * (ahead + cells_at(src, rs, k, i));
        const float scale = 3.0f / (v.w + 3 * NEUTRAL);
        __global float *to = dst + float_row(rd, k) + i;
        to[0] = (v.x + NEUTRAL) * scale;
        to[R_PITCH(rd)] = (v.y + NEUTRAL) * scale;
        to[2 * R_PITCH(rd)] = (v.z + NEUTRAL) * scale;
    }
}

// The cell whose centre is before place v, and how far v is from it to the next.
static int between(int v, int cells, float *weight) {
    const int at = v - SIDE / 2, i = at / SIDE;
    *weight = 0.0f;
    if (at < 0) return 0;
    if (i >= cells - 1) return cells - 1;
    *weight = ((float)(at % SIDE) + 0.5f) / SIDE;
    return i;
}

static float3 colour_in(__global const float *row, int i, int pitch) {
    return (float3)(row[i], row[i + pitch], row[i + 2 * pitch]);
}

static float3 param3(__global const float *tables, int at) { return vload3(0, tables + at); }
static float most(float3 v) { return fmax(fmax(v.x, v.y), v.z); }
static float least(float3 v) { return fmin(fmin(v.x, v.y), v.z); }
static float total(float3 v) { return v.x + v.y + v.z; }

// The colour around a pixel, bilinear between the centres of cells.
static float3 colour_at(__global const float *colours, ring_t rc, int x, int y) {
    float fx, fy;
    const int i = between(x, R_W(rc), &fx), k = between(y, R_H(rc), &fy), j = min(i + 1, R_W(rc) - 1);
    __global const float *top = colours + float_row(rc, k);
    __global const float *low = colours + float_row(rc, fy > 0.0f ? k + 1 : k);
    const float3 a = colour_in(top, i, R_PITCH(rc)), b = colour_in(low, i, R_PITCH(rc));
    const float3 u = a + fx * (colour_in(top, j, R_PITCH(rc)) - a), v = b + fx * (colour_in(low, j, R_PITCH(rc)) - b);
    return u + fy * (v - u);
}

static float smooth(float v, float low, float high) {
    const float t = fmin(fmax((v - low) / (high - low), 0.0f), 1.0f);
    return t * t * (3.0f - 2.0f * t);
}

static float3 rebuild(__global const float *tables, float3 v, float3 colour) {
    const float3 rel = v * param3(tables, INVERSE);
    const float3 taken = (float3)(smooth(rel.x, CLIP_FROM, CLIP_TO), smooth(rel.y, CLIP_FROM, CLIP_TO), smooth(rel.z, CLIP_FROM, CLIP_TO));
    const float3 keep = (1.0f - taken) * colour;
    float scale = total(keep * v) / (1e-6f + keep.x * colour.x + keep.y * colour.y + keep.z * colour.z);
    scale = fmax(scale, most(taken * v / (colour + 1e-6f)));
    v += taken * fmax(scale * colour - v, 0.0f);
    const float white = most(taken) * smooth(least(rel), WHITE_OF, CLIP_TO);
    return v + white * (fmin(most(v), tables[WHITE]) - v);
}

// Rebuilds the pixels of eight, n of which are there, that are clipped.
static void rebuild8(__global const float *tables, __global const float *colours, ring_t rc, rgb8 *v, int x, int y, int n) {
    float r[8], g[8], b[8];
    vstore8(v->r, 0, r);
    vstore8(v->g, 0, g);
    vstore8(v->b, 0, b);
    for (int i = 0; i < n; i++) {
        if (!(r[i] > tables[CLIPPED] || g[i] > tables[CLIPPED + 1] || b[i] > tables[CLIPPED + 2])) continue;
        const float3 p = rebuild(tables, (float3)(r[i], g[i], b[i]), colour_at(colours, rc, x + i, y));
        r[i] = p.x;
        g[i] = p.y;
        b[i] = p.z;
    }
    v->r = vload8(0, r);
    v->g = vload8(0, g);
    v->b = vload8(0, b);
}

// The tone curve of light that is at least 0.
static float8 curve8(__global const float *tables, float8 x) {
    x *= tables[SCALE];
    const int8 at = (as_int8(x) - as_int(tables[FIRST])) >> CURVE_SHIFT;
    const int8 k = 2 * clamp(at, 0, as_int(tables[CHORDS]) - 1);
    const float8 chord = fmin(gather8(tables + CURVE, k) + gather8(tables + CURVE + 1, k) * x, 1.0f);
    return select((float8)(1.0f), select(chord, tables[SLOPE] * x, at < 0), x < 1.0f);
}

// Colours of luminance y brought into 0..1.
static rgb8 in_gamut8(rgb8 v, float8 y) {
    const float8 t = fmax((y - least8(v)) / y, (most8(v) - y) / (1.0f - y));
    const float8 x = fmin((t - GAMUT_KNEE) / (1.0f - GAMUT_KNEE), 1e6f);
    const float8 k = (GAMUT_KNEE + (1.0f - GAMUT_KNEE) * (x / sqrt(1.0f + x * x))) / t;
    const int8 moves = t > GAMUT_KNEE, black = !(y > 0.0f), white = y >= 1.0f;
#define MOVED(c) select(select(select(c, fmin(fmax(y + k * (c - y), 0.0f), 1.0f), moves), (float8)(1.0f), white), (float8)(0.0f), black)
    v.r = MOVED(v.r);
    v.g = MOVED(v.g);
    v.b = MOVED(v.b);
#undef MOVED
    return v;
}

static rgb8 tone8(__global const float *tables, rgb8 v) {
    __global const float *m = tables + TO_WIDE, *o = tables + TO_OUTPUT;
    rgb8 w;
    w.r = weighed8(m, v);
    w.g = weighed8(m + 3, v);
    w.b = weighed8(m + 6, v);
    // What is not above 0, -0 too, becomes 0.
    w.r = select((float8)(0.0f), w.r, w.r > 0.0f);
    w.g = select((float8)(0.0f), w.g, w.g > 0.0f);
    w.b = select((float8)(0.0f), w.b, w.b > 0.0f);
    const float8 high = most8(w), low = least8(w), base = curve8(tables, low);
    const float8 scale = select((float8)(0.0f), (curve8(tables, high) - base) / (high - low), high > low);
    w.r = base + scale * (weighed8(o, v) - low);
    w.g = base + scale * (weighed8(o + 3, v) - low);
    w.b = base + scale * (weighed8(o + 6, v) - low);
    const float8 y = weighed8(tables + LUMINANCE, w);
    const int8 near = least8(w) < (1.0f - GAMUT_KNEE) * y || most8(w) > GAMUT_KNEE + (1.0f - GAMUT_KNEE) * y;
    if (any(near)) {
        const rgb8 moved = in_gamut8(w, y);
        w.r = select(w.r, moved.r, near);
        w.g = select(w.g, moved.g, near);
        w.b = select(w.b, moved.b, near);
    }
    return w;
}

// The display light of eight pixels, n of which are there.
static rgb8 render8(__global const data_t *src, ring_t rs, __global const float *colours, ring_t rc, __global const float *tables, int x, int y, int x0, int y0, int n) {
    rgb8 v = lights8(tables, src + ring_row(rs, y0 + y) + x0 + x, R_PITCH(rs));
    if (any(v.r > tables[CLIPPED] || v.g > tables[CLIPPED + 1] || v.b > tables[CLIPPED + 2])) rebuild8(tables, colours, rc, &v, x, y, n);
    return tone8(tables, v);
}

// The codes of 16 bits of light.
static ushort8 codes8(__global const float *tables, float8 x) {
    const int8 at = clamp((as_int8(x) - CODE_FIRST) >> CODE_SHIFT, 0, CODE_CHORDS - 1);
    const float8 from = as_float8(CODE_FIRST + (at << CODE_SHIFT));
    __global const float *c = tables + CODES;
    const int8 beyond = convert_int8(gather8(c, 3 * at)) + convert_int8(gather8(c + 1, 3 * at) + gather8(c + 2, 3 * at) * (x - from));
    const int8 below = convert_int8(tables[CODE_SLOPE] * fmin(fmax(x, 0.0f), 1.0f) + 0.5f);
    const int8 v = select(below, beyond, x > tables[KNEE]);
    return convert_ushort8(select(v, (int8)(65535), x >= 1.0f));
}

// The nearest of 256 levels.
static ushort8 of_bytes(ushort8 v) {
    v = add_sat(v, (ushort8)(128));
    return (v - (v >> (ushort8)(8))) >> (ushort8)(8);
}

// Writes the codes of eight pixels from column x on, n of which are there, in 8 bits or in 16.
static void put_codes8(__global uchar *dst, ring_t rd, int bytes, __global const float *tables, int x, int y, int n, rgb8 v) {
    ushort8 r = codes8(tables, v.r), g = codes8(tables, v.g), b = codes8(tables, v.b);
    const size_t at = (size_t)(y % R_SLOTS(rd)) * rd.s1 + 3 * x;
    dst += (size_t)rd.s7 * 64;
    if (bytes) {
        r = of_bytes(r);
        g = of_bytes(g);
        b = of_bytes(b);
    }
    const ushort16 first = (ushort16)(r.s0, g.s0, b.s0, r.s1, g.s1, b.s1, r.s2, g.s2, b.s2, r.s3, g.s3, b.s3, r.s4, g.s4, b.s4, r.s5);
    const ushort8 rest = (ushort8)(g.s5, b.s5, r.s6, g.s6, b.s6, r.s7, g.s7, b.s7);
    ushort all[24];
    if (n == 8 && bytes) {
        vstore16(convert_uchar16(first), 0, dst + at);
        vstore8(convert_uchar8(rest), 2, dst + at);
    } else if (n == 8) {
        vstore16(first, 0, (__global ushort *)dst + at);
        vstore8(rest, 2, (__global ushort *)dst + at);
    } else {
        vstore16(first, 0, all);
        vstore8(rest, 2, all);
        for (int i = 0; i < 3 * n; i++)
            if (bytes)
                dst[at + i] = all[i];
            else
                ((__global ushort *)dst)[at + i] = all[i];
    }
}

#if SHARPENED

// Display light of w columns, and the square root of its luminance as the fourth line, whose ends
// go on beyond the picture. Dimension 0 is the column, eight at a time, 1 the row.
__kernel void picture_render(__global const data_t *src, ring_t rs, __global const float *colours, ring_t rc, __global float *dst, ring_t rd,
                             __global const float *tables, int first, int y0, int x0, int w) {
    const int x = 8 * (int)get_global_id(0), y = first + (int)get_global_id(1), pitch = R_PITCH(rd);
    if (x >= w) return;
    const rgb8 v = render8(src, rs, colours, rc, tables, x, y, x0, y0, min(8, w - x));
    __global float *to = dst + float_row(rd, y) + x;
    vstore8(v.r, 0, to);
    vstore8(v.g, 0, to + pitch);
    vstore8(v.b, 0, to + 2 * (size_t)pitch);
    to += 3 * (size_t)pitch;
    vstore8(sqrt(fmax(weighed8(tables + LUMINANCE, v), 0.0f)), 0, to);
    if (x == 0) to[-2] = to[-1] = to[0];
    if (x + 8 >= w) to[w - x] = to[w - x + 1] = to[w - x - 1];
}

// Codes of display light, sharpened.
__kernel void picture_sharpen(__global const float *src, ring_t rs, __global uchar *dst, ring_t rd, __global const float *tables, int bytes, int first, int w) {
    const int x = 8 * (int)get_global_id(0), y = first + (int)get_global_id(1), last = R_H(rs) - 1, pitch = R_PITCH(rs);
    if (x >= w) return;
    __global const float *roots = src + 3 * (size_t)pitch + x - 2;
    __global const float *a = roots + float_row(rs, max(y - 2, 0)), *b = roots + float_row(rs, max(y - 1, 0)), *c = roots + float_row(rs, y);
    __global const float *d = roots + float_row(rs, min(y + 1, last)), *e = roots + float_row(rs, min(y + 2, last));
#define COLUMN(n, i) ((vload##n(0, a + i) + vload##n(0, e + i)) + 4.0f * (vload##n(0, b + i) + vload##n(0, d + i)) + 6.0f * vload##n(0, c + i))
    const float8 k = COLUMN(8, 0);
    const float4 l = COLUMN(4, 8);
#undef COLUMN
    const float8 sum = (k + (float8)(k.s4567, l)) + 4.0f * ((float8)(k.s1234, k.s567, l.x) + (float8)(k.s3456, k.s7, l.xyz)) + 6.0f * (float8)(k.s2345, k.s67, l.xy);
    const float8 root = vload8(0, c + 2), detail = root - sum * (1.0f / 256.0f), power = detail * detail;
    const float8 noise = gather8(tables + NOISE, convert_int8(fmin(fmax(root, 0.0f), 1.0f) * (float)SHARPEN_LEVELS));
    const float8 change = 1.0f + fmin(fmax(tables[AMOUNT] * detail * power / ((power + noise) * root), -SHARPEN_MOST), SHARPEN_MOST);
    const float8 scale = select((float8)(1.0f), change * change, root > 1.0f / SHARPEN_LEVELS);
    __global const float *at = src + float_row(rs, y) + x;
    rgb8 v;
    v.r = vload8(0, at) * scale;
    v.g = vload8(0, at + pitch) * scale;
    v.b = vload8(0, at + 2 * (size_t)pitch) * scale;
    put_codes8(dst, rd, bytes, tables, x, y, min(8, w - x), v);
}

#else

// Codes of display light of w columns. Dimension 0 is the column, eight at a time, 1 the row.
__kernel void picture_codes(__global const data_t *src, ring_t rs, __global const float *colours, ring_t rc, __global uchar *dst, ring_t rd,
                            __global const float *tables, int bytes, int first, int y0, int x0, int w) {
    const int x = 8 * (int)get_global_id(0), y = first + (int)get_global_id(1), n = min(8, w - x);
    if (x < w) put_codes8(dst, rd, bytes, tables, x, y, n, render8(src, rs, colours, rc, tables, x, y, x0, y0, n));
}

#endif
