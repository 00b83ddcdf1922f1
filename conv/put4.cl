// conv_put4: stores four columns with their rim. Several kernels of a program bring
// this text; the first counts. Expects the prelude.
#ifndef CONV_PUT4
#define CONV_PUT4
// Writes columns x..x+3 of a line, x a multiple of four, as far as the line goes,
// and whatever columns of the rim mirror them.
static void conv_put4(__global data_t *line, int x, int w, float4 v) {
    if (x > RIM && x + 3 < w - 1 - RIM) {
#ifdef STORE_HALF
        vstorea_half4(v, 0, line + x);
#else
        *(__global float4 *)(line + x) = v; // lines are aligned to 64 bytes
#endif
        return;
    }
    put(line, x, w, v.x);
    if (x + 1 < w) put(line, x + 1, w, v.y);
    if (x + 2 < w) put(line, x + 2, w, v.z);
    if (x + 3 < w) put(line, x + 3, w, v.w);
}
#endif
