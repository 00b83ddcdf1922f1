// gemm_convert: moves a rows×cols matrix from one layout to another (see
// layout.go). One work-item moves one element; dimension 0 is the column, 1 the
// row, both rounded up to whole blocks of the destination, whose padding becomes
// zero. A layout is (block rows, block columns, common bits of the Z-order curve);
// block rows 0 is row-major, -1 column-major. Expects gemm_z_order of morton.cl.
static size_t gemm_index(int4 layout, int rows, int cols, int i, int j) {
    const int br = layout.s0, bc = layout.s1;
    if (br == 0) return (size_t)i * cols + j;
    if (br < 0) return (size_t)j * rows + i;
    return gemm_z_order(i / br, j / bc, layout.s2) * (size_t)(br * bc) + i % br * bc + j % bc;
}

__kernel void gemm_convert(__global const float *src, int4 from, __global float *dst, int4 to, int rows, int cols) {
    const int j = get_global_id(0), i = get_global_id(1);
    const bool inside = i < rows && j < cols;
    if (!inside && (to.s0 <= 0 || i >= (rows + to.s0 - 1) / to.s0 * to.s0 || j >= (cols + to.s1 - 1) / to.s1 * to.s1)) return;
    dst[gemm_index(to, rows, cols, i, j)] = inside ? src[gemm_index(from, rows, cols, i, j)] : 0.0f;
}
