// The operations that imported networks bring (fuse.Apply). Dimension 0 of the work-items is
// the column, or eight of them where operations work sample by sample, 1 the channel, 2 the
// row. What lies outside a plane here is what a step's node says, not the program. Expects
// the prelude and lines.cl.

// Whether i is none of 0..n-1.
#define OUT_OF(i, n) ((uint)(i) >= (uint)(n))
#define LINE_OF(p, r, c, y) ((p) + ring_row(r, y) + (size_t)(c) * R_PITCH(r))

// model.Func, in its order.
static float8 apply_func(float8 x, int func, float a, float b) {
    switch (func) {
    case 1: return select(fmin(fmax(x, (float8)(a)), (float8)(b)), x, isnan(x));
    case 2: return tanh(x);
    case 3: return select(clamp(fma(x, a, b), 0.0f, 1.0f), x, isnan(x));
    case 4: return x * clamp(x / 6.0f + 0.5f, 0.0f, 1.0f);
    case 5: return x / (1.0f + exp(-a * x));
    case 6: return 0.5f * x * (1.0f + erf(x * M_SQRT1_2_F));
    case 7: return 0.5f * x * (1.0f + tanh(0.7978845608f * fma(x * x * x, 0.044715f, x)));
    case 8: return select(a * expm1(x), x, x >= 0.0f);
    case 9: return select(b * a * expm1(x), b * x, x > 0.0f);
    case 10: return fmax(x, 0.0f) + fmin(a * expm1(x / a), 0.0f);
    case 11: return select(0.0f * x, x, x > a);
    case 12: return fmax(x, 0.0f) + log1p(exp(-fabs(x)));
    case 13: return x / (1.0f + fabs(x));
    case 14: return x * tanh(fmax(x, 0.0f) + log1p(exp(-fabs(x))));
    case 15: return exp(x);
    case 16: return log(x);
    case 17: return sqrt(x);
    case 18: return 1.0f / x;
    case 19: return fabs(x);
    case 20: return -x;
    case 21: return x * x;
    case 22: return erf(x);
    case 23: return floor(x);
    case 24: return ceil(x);
    case 25: return rint(x);
    case 26: return select(sign(x), x, isnan(x));
    case 27: return sin(x);
    case 28: return cos(x);
    }
    return x;
}

// model.Binary, in its order. NaN wins over numbers.
static float8 apply_two(float8 x, float8 y, int op) {
    switch (op) {
    case 1: return x + y;
    case 2: return x - y;
    case 3: return x * y;
    case 4: return x / y;
    case 5: return pow(x, y);
    case 6: return select(select(fmin(x, y), x, isnan(x)), y, isnan(y));
    case 7: return select(select(fmax(x, y), x, isnan(x)), y, isnan(y));
    }
    return 0.5f * (x + y);
}

__kernel void apply_map(__global const data_t *src, ring_t rs, __global data_t *dst, ring_t rd, int y0, int func, float a, float b) {
    const int x = 8 * (int)get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    put8(LINE_OF(dst, rd, c, y), x, R_W(rd), apply_func(load8(LINE_OF(src, rs, c, y) + x), func, a, b));
}

// What has one or two constants for each channel: params holds the first of all of the
// step's channels, then the second. op is that of apply_two, 100 more if the constant stands
// to the left; 0 is x·first + second, -1 a leaky ReLU of slope first.
__kernel void apply_channel(__global const data_t *src, ring_t rs, __global data_t *dst, ring_t rd, int y0, int op, __global const float *params) {
    const int x = 8 * (int)get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    const float8 v = load8(LINE_OF(src, rs, c, y) + x), first = (float8)(params[c]);
    float8 o;
    if (op == 0) o = fma(v, first, (float8)(params[R_C(rd) + c]));
    else if (op == -1) o = select(v * first, v, v >= 0.0f);
    else o = op > 100 ? apply_two(first, v, op - 100) : apply_two(v, first, op);
    put8(LINE_OF(dst, rd, c, y), x, R_W(rd), o);
}

// Eight samples of an operand that may have one channel, one row or one column for all.
static float8 apply_operand(__global const data_t *p, ring_t r, ring_t rd, int c, int y, int x) {
    __global const data_t *line = LINE_OF(p, r, R_C(r) == 1 ? 0 : c, R_H(r) == 1 ? 0 : y);
    return R_W(r) == 1 && R_W(rd) > 1 ? (float8)(LD1(line, 0)) : load8(line + x);
}

__kernel void apply_binary(__global const data_t *a, ring_t ra, __global const data_t *b, ring_t rb, __global data_t *dst, ring_t rd, int y0, int op) {
    const int x = 8 * (int)get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    put8(LINE_OF(dst, rd, c, y), x, R_W(rd), apply_two(apply_operand(a, ra, rd, c, y, x), apply_operand(b, rb, rd, c, y, x), op));
}

// Index outside 0..n-1 by model.PadMode: reflected, zero (-1), edge, constant (-1).
static int apply_outside(int i, int n, int pad) {
    if (i >= 0 && i < n) return i;
    if (pad == 2) return clamp(i, 0, n - 1);
    if (pad != 0) return -1;
    if (n == 1) return 0;
    const int period = 2 * n - 2;
    i = abs(i) % period;
    return i < n ? i : period - i;
}

// Moves samples. kind 0 crops: p is top, left and the strides; 1 pads: top, left, mode; 2 is space
// to depth: the side of blocks, and whether the channel is outermost.
__kernel void apply_move(__global const data_t *src, ring_t rs, __global data_t *dst, ring_t rd, int y0, int kind, int4 p, float value) {
    const int x = get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    int sc = c, sy, sx;
    if (kind == 0) {
        sy = y * p.z + p.x;
        sx = x * p.w + p.y;
    } else if (kind == 1) {
        sy = apply_outside(y - p.x, R_H(rs), p.z);
        sx = apply_outside(x - p.y, R_W(rs), p.z);
    } else {
        const int f = p.x, place = p.y ? c % (f * f) : c / R_C(rs);
        sc = p.y ? c / (f * f) : c % R_C(rs);
        sy = y * f + place / f;
        sx = x * f + place % f;
    }
    const float v = sy < 0 || sx < 0 ? value : LD1(LINE_OF(src, rs, sc, sy), sx);
    put(LINE_OF(dst, rd, c, y), x, R_W(rd), v);
}

// Depth to space, and the sum with base where that is not null: blocks of side by side columns of dst
// come from as many channels of src. crd: the channel is outermost. base has the planes of src and is
// enlarged by repeating its samples.
__kernel void apply_shuffle(__global const data_t *src, ring_t rs, __global const data_t *base, ring_t rb, __global data_t *dst, ring_t rd, int y0, int side, int crd) {
    const int x = 8 * (int)get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    const int row = y / side, i = y - row * side, step = crd ? 1 : R_C(rd);
    int from = x / side, j = x - from * side; // the column of src, and that of the block
    __global const data_t *line = LINE_OF(src, rs, crd ? (c * side + i) * side : i * side * R_C(rd) + c, row);
    __global const data_t *plain = base ? LINE_OF(base, rb, c, row) : src;
    float v[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        v[k] = LD1(line + (size_t)(j * step) * R_PITCH(rs), from);
        if (base) v[k] += LD1(plain, from);
        if (++j == side) {
            j = 0;
            from++;
        }
    }
    put8(LINE_OF(dst, rd, c, y), x, R_W(rd), (float8)(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]));
}

// Pooling by any window: k is its sides and strides, d the dilations, top and left.
__kernel void apply_pool(__global const data_t *src, ring_t rs, __global data_t *dst, ring_t rd, int y0, int4 k, int4 d, int bottom, int right, int reduce, float power) {
    const int x = get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    float best = reduce == 1 ? -INFINITY : 0.0f;
    int inside = 0, padded = 0;
    for (int i = 0; i < k.x; i++) {
        const int sy = y * k.z + i * d.x - d.z;
        for (int j = 0; j < k.y; j++) {
            const int sx = x * k.w + j * d.y - d.w;
            padded += sy < R_H(rs) + bottom && sx < R_W(rs) + right;
            if (OUT_OF(sy, R_H(rs)) || OUT_OF(sx, R_W(rs))) continue;
            const float v = LD1(LINE_OF(src, rs, c, sy), sx);
            inside++;
            if (reduce == 1) best = isnan(v) || v > best ? v : best;
            else best += reduce == 4 ? pow(fabs(v), power) : v;
        }
    }
    if (reduce == 2) best = inside > 0 ? best / (float)inside : 0.0f;
    if (reduce == 3) best /= (float)padded;
    if (reduce == 4) best = pow(best, 1.0f / power);
    put(LINE_OF(dst, rd, c, y), x, R_W(rd), best);
}

// What depends on all channels of a place, which one work-item makes. kind 0 reduces them, 1 is
// a norm over them with params weight and bias, 2 softmax, 3 local response normalisation.
__kernel void apply_across(__global const data_t *src, ring_t rs, __global data_t *dst, ring_t rd, int y0, int kind, int reduce, int size,
                           float a, float b, float power, __global const float *params) {
    const int x = get_global_id(0), y = y0 + (int)get_global_id(2), n = R_C(rs), pitch = R_PITCH(rs), w = R_W(rd);
    if (x >= w) return;
    __global const data_t *from = LINE_OF(src, rs, 0, y) + x;
#define CHANNEL(c) LD1(from + (size_t)(c) * pitch, 0)
    if (kind == 0) {
        float best = reduce == 1 || reduce == 6 ? CHANNEL(0) : 0.0f;
        for (int c = 0; c < n; c++) {
            const float v = CHANNEL(c);
            if (reduce == 1) best = isnan(v) || v > best ? v : best;
            else if (reduce == 6) best = isnan(v) || v < best ? v : best;
            else best += reduce == 4 ? pow(fabs(v), power) : v;
        }
        if (reduce == 2 || reduce == 3) best /= (float)n;
        if (reduce == 4) best = pow(best, 1.0f / power);
        put(LINE_OF(dst, rd, 0, y), x, w, best);
    } else if (kind == 1) {
        float mean = 0.0f, squares = 0.0f;
        for (int c = 0; c < n; c++) mean += CHANNEL(c);
        mean /= (float)n;
        for (int c = 0; c < n; c++) {
            const float e = CHANNEL(c) - mean;
            squares = fma(e, e, squares);
        }
        const float scale = 1.0f / sqrt(squares / (float)n + a);
        for (int c = 0; c < n; c++) put(LINE_OF(dst, rd, c, y), x, w, fma((CHANNEL(c) - mean) * scale, params[c], params[n + c]));
    } else if (kind == 2) {
        float largest = -INFINITY, sum = 0.0f;
        for (int c = 0; c < n; c++) largest = fmax(largest, CHANNEL(c));
        for (int c = 0; c < n; c++) sum += exp(CHANNEL(c) - largest);
        for (int c = 0; c < n; c++) put(LINE_OF(dst, rd, c, y), x, w, exp(CHANNEL(c) - largest) / sum);
    } else {
        for (int c = 0; c < n; c++) {
            float sum = 0.0f;
            for (int k = max(0, c - (size - 1) / 2); k <= min(n - 1, c + size / 2); k++) sum = fma(CHANNEL(k), CHANNEL(k), sum);
            put(LINE_OF(dst, rd, c, y), x, w, CHANNEL(c) / pow(b + a / (float)size * sum, power));
        }
    }
#undef CHANNEL
}

// Resizing: taps holds, for every row of dst, n rows of src as int and their n weights, and the same for every
// column with m; those that do not count weigh nothing. Rows or columns of -1 lie beyond src.
__kernel void apply_resize(__global const data_t *src, ring_t rs, __global data_t *dst, ring_t rd, int y0, int n, int m, float outside,
                           __global const float *taps) {
    const int x = get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    __global const float *row = taps + (size_t)y * 2 * n, *column = taps + (size_t)R_H(rd) * 2 * n + (size_t)x * 2 * m;
    float sum = 0.0f;
    if (as_int(row[0]) < 0 || as_int(column[0]) < 0) sum = outside;
    else for (int i = 0; i < n; i++) {
        __global const data_t *line = LINE_OF(src, rs, c, as_int(row[i]));
        float across = 0.0f;
        for (int j = 0; j < m; j++) across = fma(column[m + j], LD1(line, as_int(column[j])), across);
        sum = fma(row[n + i], across, sum);
    }
    put(LINE_OF(dst, rd, c, y), x, R_W(rd), sum);
}

// Adds to a place in the source (x, c, y of p) what index i of a side of the result stands for; its
// factors are n triples at f: size, side, stride.
static int3 apply_moved(int3 p, int i, __global const float *f, int n) {
    for (int k = 0; k < n; k++) {
        const int size = as_int(f[3 * k]), side = as_int(f[3 * k + 1]), by = i % size * as_int(f[3 * k + 2]);
        i /= size;
        if (side == 0) p.y += by;
        else if (side == 1) p.z += by;
        else p.x += by;
    }
    return p;
}

__kernel void apply_rearrange(__global const data_t *src, ring_t rs, __global data_t *dst, ring_t rd, int y0, __global const float *moves) {
    const int x = get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    const int n0 = as_int(moves[0]), n1 = as_int(moves[1]), n2 = as_int(moves[2]);
    int3 p = apply_moved((int3)(0), c, moves + 3, n0);
    p = apply_moved(p, y, moves + 3 * (1 + n0), n1);
    p = apply_moved(p, x, moves + 3 * (1 + n0 + n1), n2);
    put(LINE_OF(dst, rd, c, y), x, R_W(rd), LD1(LINE_OF(src, rs, p.y, p.z), p.x));
}

// Products of matrices, one pair in each row: a's channels meet b's columns.
__kernel void apply_matmul(__global const data_t *a, ring_t ra, __global const data_t *b, ring_t rb, __global data_t *dst, ring_t rd, int y0) {
    const int x = 8 * (int)get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2), n = R_C(ra), pitch = R_PITCH(ra);
    if (x >= R_W(rd)) return;
    __global const data_t *left = LINE_OF(a, ra, 0, y) + x, *right = LINE_OF(b, rb, c, y);
    float8 sum = (float8)(0.0f);
    for (int k = 0; k < n; k++) sum = fma(load8(left + (size_t)k * pitch), (float8)(LD1(right, k)), sum);
    put8(LINE_OF(dst, rd, c, y), x, R_W(rd), sum);
}

// Where the number of row y of a view's first channel is.
static size_t apply_stats(ring_t r, int y) { return R_FLOATS(r) + (size_t)(y % R_SLOTS(r)) * (size_t)(2 * R_ALL(r)) + (size_t)R_FIRST(r); }

// A row of every channel becomes one number, and all rows' numbers one sample.
__kernel void apply_row_reduce(__global const data_t *src, ring_t rs, __global float *rows, ring_t rr, int y0, int reduce, float power) {
    const int c = get_global_id(0), y = y0 + (int)get_global_id(1);
    if (c >= R_C(rs)) return;
    __global const data_t *line = LINE_OF(src, rs, c, y);
    float best = reduce == 1 || reduce == 6 ? LD1(line, 0) : 0.0f;
    for (int x = 0; x < R_W(rs); x++) {
        const float v = LD1(line, x);
        if (reduce == 1) best = isnan(v) || v > best ? v : best;
        else if (reduce == 6) best = isnan(v) || v < best ? v : best;
        else best += reduce == 4 ? pow(fabs(v), power) : v;
    }
    rows[apply_stats(rr, y) + c] = best;
}

__kernel void apply_merge(__global const float *rows, ring_t rr, __global data_t *dst, ring_t rd, int reduce, float power, int width) {
    const int c = get_global_id(0);
    if (c >= R_C(rd)) return;
    float best = rows[apply_stats(rr, 0) + c];
    for (int y = 1; y < R_H(rr); y++) {
        const float v = rows[apply_stats(rr, y) + c];
        if (reduce == 1) best = isnan(v) || v > best ? v : best;
        else if (reduce == 6) best = isnan(v) || v < best ? v : best;
        else best += v;
    }
    if (reduce == 2 || reduce == 3) best /= (float)R_H(rr) * (float)width;
    if (reduce == 4) best = pow(best, 1.0f / power);
    put(LINE_OF(dst, rd, c, 0), 0, 1, best);
}
