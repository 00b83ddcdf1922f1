// Lines of codes: words of four channels, see package planar. Several kernels of a program bring
// this text; the first counts. Expects the prelude.
#ifndef PLANAR_CODES
#define PLANAR_CODES
// Sums and products are rounded one by one, as the definition has them.
#pragma OPENCL FP_CONTRACT OFF

// Word offset of column 0 of line 0 of the view in row y.
static size_t codes_row(ring_t r, int y) {
    return (size_t)r.s7 * 16 + (size_t)(y % r.s0) * (size_t)r.s1 + (size_t)(r.s2 + PAD);
}

#ifdef PAD_ZERO
#define CODES_RIM(v, zero) (zero)
#else
#define CODES_RIM(v, zero) (v)
#endif

// Writes column x of a line and whatever columns of the rim it stands for; zero is the word of zeros.
static void codes_put(__global uint *line, int x, int w, uint v, uint zero) {
    line[x] = v;
    if (x > RIM && x < w - 1 - RIM) return;
    for (int b = 1; b <= RIM; b++) {
        if (pad_index(-b, w) == x) line[-b] = CODES_RIM(v, zero);
        if (pad_index(w - 1 + b, w) == x) line[w - 1 + b] = CODES_RIM(v, zero);
    }
}

// Writes the rim of a finished line.
static void codes_rim(__global uint *line, int w, uint zero) {
    for (int b = 1; b <= RIM; b++) {
        line[-b] = CODES_RIM(line[pad_index(-b, w)], zero);
        line[w - 1 + b] = CODES_RIM(line[pad_index(w - 1 + b, w)], zero);
    }
}

// The code of a sample, or of a vector of them, as model.Node.Code has it, for the bytes of an
// unsigned code: NaN has the least.
#define CODE_OF(v, inverse, zero) fmin(fmax(rint((v) * (inverse)) + (zero), 0.0f), 255.0f)
#endif
