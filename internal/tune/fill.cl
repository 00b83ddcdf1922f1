// tune_fill: fills rows of a tensor with numbers in [-1,1) that depend on nothing
// but a seed and their place, mirrored rims included. One work-item makes one sample:
// dimension 0 is the column, 1 the channel, 2 the slot. Package tune computes the
// same numbers on the host (uniform in check.go).
//
// Expects: the prelude.
static float tune_uniform(ulong n) {
    n += 0x9E3779B97F4A7C15UL;
    n = (n ^ (n >> 30)) * 0xBF58476D1CE4E5B9UL;
    n = (n ^ (n >> 27)) * 0x94D049BB133111EBUL;
    n ^= n >> 31;
    return (float)((int)(n >> 40) - (1 << 23)) / (float)(1 << 23);
}

__kernel void tune_fill(__global data_t *dst, ring_t r, int seed, int rows) {
    const int x = get_global_id(0), c = get_global_id(1), y = get_global_id(2);
    if (x >= R_W(r) || y >= rows) return;
    const ulong place = ((ulong)c * (ulong)R_H(r) + (ulong)y) * (ulong)R_W(r) + (ulong)x;
    put(dst + ring_row(r, y) + (size_t)c * R_PITCH(r), x, R_W(r), tune_uniform(((ulong)seed << 44) + place));
}
