// samples_unpack to octets: a work-item makes the octet of a column. Expects TABLE, the prelude and planar's octets.cl.
__kernel void samples_unpack_octets(__global const ushort *src, ring_t rs, __global octet_t *dst, ring_t rd,
                                    __global const data_t *tables, int y0, int pack, int noise) {
    const int x = get_global_id(0), y = y0 + (int)get_global_id(2);
    if (x >= R_W(rd)) return;
    __global const ushort *line = src + (size_t)rs.s7 * 32 + (size_t)(y % R_SLOTS(rs)) * rs.s1 + 2 * x;
    const ushort2 rows[2] = {*(__global const ushort2 *)line, *(__global const ushort2 *)(line + R_PITCH(rs))};
    __global const ushort *t = (__global const ushort *)tables;
    uint v[8];
    for (int c = 0; c < 4; c++) {
        const ushort2 two = (pack >> 2 * c) & 1 ? rows[1] : rows[0];
        const uint s = (pack >> (2 * c + 1)) & 1 ? two.y : two.x;
        v[c] = t[c * TABLE + s];
        v[4 + c] = noise ? t[(4 + c) * TABLE + s] : 0;
    }
    octets_put(dst + octets_row(rd, y), x, R_W(rd), (octet_t)(v[0] | v[1] << 16, v[2] | v[3] << 16, v[4] | v[5] << 16, v[6] | v[7] << 16));
}
