// Lines of octets: eight channels of binary16 in 16 bytes, see package planar. Several kernels of a program
// bring this text; the first counts. Expects the prelude.
#ifndef PLANAR_OCTETS
#define PLANAR_OCTETS
typedef uint4 octet_t;

// Octet offset of column 0 of line 0 of the view in row y.
static size_t octets_row(ring_t r, int y) {
    return (size_t)r.s7 * 4 + (size_t)(y % r.s0) * (size_t)r.s1 + (size_t)(r.s2 + PAD);
}

#ifdef PAD_ZERO
#define OCTETS_RIM(v) ((octet_t)(0))
#else
#define OCTETS_RIM(v) (v)
#endif

// Writes column x of a line and whatever columns of the rim it stands for.
static void octets_put(__global octet_t *line, int x, int w, octet_t v) {
    line[x] = v;
    if (x > RIM && x < w - 1 - RIM) return;
    for (int b = 1; b <= RIM; b++) {
        if (pad_index(-b, w) == x) line[-b] = OCTETS_RIM(v);
        if (pad_index(w - 1 + b, w) == x) line[w - 1 + b] = OCTETS_RIM(v);
    }
}

// The samples of an octet, and the octet of samples.
static float8 octet_samples(octet_t v) { return vload_half8(0, (const half *)&v); }
static octet_t octet_of(float8 v) {
    octet_t o;
    vstore_half8(v, 0, (half *)&o);
    return o;
}
#endif
