// conv_mma_probe: one warp multiplies a 16×16 and a 16×8 matrix of binary16,
// a 16×8 and an 8×8 one of tf32, all of small integers, and a 16×32 and a 32×8 one of integers
// of 8 bits, and once more half of that. Lane 4g+t holds rows g
// and g+8 of the left and column g of the right factor. They come by asynchronous
// copies through the end of LOCAL_WORDS words of local memory.
//
// Expects instructions.cl and LOCAL_WORDS.
#define GROUP 32
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void conv_mma_probe(__global const uint *in, __global float *out) {
    SHARED(shared, LOCAL_WORDS)
    EXCHANGE
    const int lid = get_local_id(0), quad = lid / 4, t = lid % 4;
    __local uint *p = shared + LOCAL_WORDS - GROUP * 20;
    for (int i = 0; i < 4; i++) COPY16(p + (i * GROUP + lid) * 4, in + (i * GROUP + lid) * 4)
    COPY8(p + (4 * GROUP + lid / 2) * 4 + lid % 2 * 2, in + (4 * GROUP + lid / 2) * 4 + lid % 2 * 2)
    COPY8(p + (4 * GROUP + GROUP / 2 + lid / 2) * 4 + lid % 2 * 2, in + (4 * GROUP + GROUP / 2 + lid / 2) * 4 + lid % 2 * 2)
    COMMIT
    WAIT_ALL_BUT(0)
    barrier(CLK_LOCAL_MEM_FENCE);
    p += lid * 20;
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    uint a[6];
    for (int i = 0; i < 6; i++) a[i] = p[i];
    MMA_FP16(d, a, a + 4);
    for (int i = 0; i < 6; i++) TF32(a[i], as_float(p[6 + i]));
    MMA_TF32(d, a, a + 4);
    int sum[4] = {0, 0, 0, 0};
    uint codes[6];
    for (int i = 0; i < 6; i++) codes[i] = p[12 + i];
    MMA_S8(sum, codes, codes + 4)
    MMA_S8_HALF(sum, codes, codes + 4)
    for (int i = 0; i < 4; i++) out[lid * 4 + i] = d[i] + (float)sum[i];
}
#undef GROUP
