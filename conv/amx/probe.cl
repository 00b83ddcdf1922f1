// conv_amx_probe: a product of bytes and one of bfloat16 as tiles.cl has them, of the factors a and b, 16 rows of 16 words each.
// sums: 16 × 16 of each. Expects instructions.cl.
__constant uint probe_config[16] = {1, 0, 0, 0, 0x400040, 0x400040, 0x400040, 0x400040, 0, 0, 0, 0, 0x10101010, 0x10101010, 0, 0};
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void conv_amx_probe(__global const uint *a, __global const uint *b, __global uint *sums) {
    TILE_STATE
    TILE_CONFIGURE(probe_config);
    TILE_ZERO(0);
    TILE_ZERO(3);
    TILE_LOAD(5, a, 64);
    TILE_LOAD(6, b, 64);
    TILE_CODES(0, 5, 6);
    TILE_PAIRS(3, 5, 6);
    TILE_STORE(0, sums, 64);
    TILE_STORE(3, sums + 256, 64);
    TILE_RELEASE();
}
