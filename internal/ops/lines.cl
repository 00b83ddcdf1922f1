// Vectors of a line. Expects the prelude.

// Four and eight samples, and eight stored, at a multiple of as many from the
// start of a line, which makes them as aligned as their size. The conversions of
// the prelude promise an alignment of one sample only, for which some compilers
// load sample by sample; these go through private memory, that is registers.
#ifdef STORE_HALF
static float4 load4(__global const data_t *p) {
    const uint2 u = *(__global const uint2 *)p;
    return vload_half4(0, (const half *)&u);
}
static float8 load8(__global const data_t *p) {
    const uint4 u = *(__global const uint4 *)p;
    return vload_half8(0, (const half *)&u);
}
static void store4(__global data_t *p, float4 v) {
    uint2 u;
    vstore_half4(v, 0, (half *)&u);
    *(__global uint2 *)p = u;
}
static void store8(__global data_t *p, float8 v) {
    uint4 u;
    vstore_half8(v, 0, (half *)&u);
    *(__global uint4 *)p = u;
}
// Numbers as they are once they are stored.
static float8 stored8(float8 v) {
    uint4 u;
    vstore_half8(v, 0, (half *)&u);
    return vload_half8(0, (const half *)&u);
}
#else
static float8 stored8(float8 v) { return v; }
static float4 load4(__global const data_t *p) { return *(__global const float4 *)p; }
static float8 load8(__global const data_t *p) { return *(__global const float8 *)p; }
static void store4(__global data_t *p, float4 v) { *(__global float4 *)p = v; }
static void store8(__global data_t *p, float8 v) { *(__global float8 *)p = v; }
#endif

// Writes eight columns from x on, and whatever of the rim they stand for.
static void put8(__global data_t *line, int x, int w, float8 v) {
    if (x > RIM && x + 7 < w - 1 - RIM) {
        store8(line + x, v);
        return;
    }
    if (w % 8 == 0) { // no vector is cut, and the rims come from the first and the last
        store8(line + x, v);
#if defined(PAD_ZERO) || defined(PAD_EDGE)
        if (x == 0) store4(line - 4, (float4)(RIM_VALUE(v.s0)));
        if (x == w - 8) store4(line + w, (float4)(RIM_VALUE(v.s7)));
#else
        if (x == 0) store4(line - 4, v.s4321);
        if (x == w - 8) store4(line + w, v.s6543);
#endif
        return;
    }
    const float s[8] = {v.s0, v.s1, v.s2, v.s3, v.s4, v.s5, v.s6, v.s7};
    for (int i = 0; i < 8 && x + i < w; i++) put(line, x + i, w, s[i]);
}
