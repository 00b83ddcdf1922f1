// Planes of a network out of a mosaic's stored samples. Dimension 0 of the work-items is the
// column, eight at a time, 1 the place in the quad, 2 the row. Expects TABLE, the prelude and lines.cl.

// Place c of the quads is at row (pack >> 2c) & 1 and column (pack >> (2c + 1)) & 1 of them. Plane
// c has what table c says of its samples, and plane c+4, where there are planes of noise, what
// table c+4 does. A row of src holds the two rows of the mosaic that a row of dst packs.
__kernel void samples_unpack(__global const ushort *src, ring_t rs, __global data_t *dst, ring_t rd,
                             __global const data_t *tables, int y0, int pack, int noise) {
    const int x = 8 * (int)get_global_id(0), c = get_global_id(1), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    const int r = (pack >> 2 * c) & 1, j = (pack >> (2 * c + 1)) & 1;
    __global const ushort *line = src + (size_t)rs.s7 * 32 + (size_t)(y % R_SLOTS(rs)) * rs.s1 + r * R_PITCH(rs) + 2 * x;
    const ushort16 both = vload16(0, line);
    const ushort8 v = j ? both.odd : both.even;
    for (int k = c; k <= c + 4 * noise; k += 4) {
        __global const data_t *t = tables + (size_t)k * TABLE;
        put8(dst + ring_row(rd, y) + (size_t)k * R_PITCH(rd), x, R_W(rd),
             (float8)(LD1(t, v.s0), LD1(t, v.s1), LD1(t, v.s2), LD1(t, v.s3), LD1(t, v.s4), LD1(t, v.s5), LD1(t, v.s6), LD1(t, v.s7)));
    }
}
