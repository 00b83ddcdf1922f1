// NAME: convolution of words by AMX's tiles.
//
// A tile register has up to 16 rows of 64 bytes. A product is of two of them: ROWS outputs × KW words of channels (weights) by KW
// words × 16 columns, to ROWS × 16 sums of 32 bits. A word is four codes of 8 bits (PAIRS 0) or two samples of bfloat16 (PAIRS 1),
// and the words of KW lines at 16 columns are such a factor as they lie in memory, from any column on. The last stage begins where
// its lines end with the source's; lines that it shares with the stage before have weights of zero.
// One work-item (work-groups of one) makes MT·ROWS outputs of a row, NT vectors of 16 columns at a time: MT·NT tiles of sums, over
// the KS rows of the kernel, STAGES stages of KW lines, and the KS columns, in that order. ONCE stages have all lines; of split samples
// they come twice, with the two parts of weights that conv.Shape.PairWeight says. So which
// rows a launch covers never changes a bit.
//
// Words of packed: weights [group][KS rows][stage][KS columns][MT][ROWS][16], of each 16 the first KW; from word tail on a
// line of zeros as the source has them (16), and for each output of all groups the first sum (of codes alone), the factor (so
// too) and the bias.
//
// Expects the prelude, planar's codes.cl, of pairs its pairs.cl, and instructions.cl.
#if PAIRS
#define TILE_SUM TILE_PAIRS
#else
#define TILE_SUM TILE_CODES
#endif
// What LDTILECFG reads: palette 1, from byte 16 on the bytes of the rows of each tile, of 16 bits, and from byte 48 on the rows.
// Tiles 0 to 3 are sums; then come MT of weights, and the rest of columns.
#define SIDES(t, rows, words) ((t) < 4 ? (rows) * 65536 + 64 : (t) < 4 + MT ? (rows) * 65536 + 4 * (words) : (words) * 65536 + 64)
#define BYTES(t) (SIDES(t, ROWS, KW) & 65535 | (SIDES(t + 1, ROWS, KW) & 65535) << 16)
#define ROWS_OF(t) (SIDES(t, ROWS, KW) >> 16)
#define FOUR_ROWS(t) (ROWS_OF(t) | ROWS_OF(t + 1) << 8 | ROWS_OF(t + 2) << 16 | ROWS_OF(t + 3) << 24)
__constant uint CONFIG[16] = {1, 0, 0, 0, BYTES(0), BYTES(2), BYTES(4), BYTES(6), 0, 0, 0, 0, FOUR_ROWS(0), FOUR_ROWS(4), 0, 0};
#define GROUP (MT * ROWS)
#define IN_WORD (PAIRS ? 2 : 4) // channels of a word
#if STORE
#define LINE IN_WORD // channels of a line of the destination
#define DST uint
#else
#define LINE 1
#define DST data_t
#endif
#if STORE && PAIRS
#define RES uint
#else
#define RES data_t
#endif
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void NAME(__global const uint *src, ring_t rs, __global const uint *packed, int tail,
          __global const RES *res, ring_t rres, __global DST *dst, ring_t rdst, int outs, int y0, int act, float slope, float inverse, float zero) {
    const int group = get_global_id(0), y = y0 + (int)get_global_id(1);
    const int w = R_W(rdst), h = R_H(rdst), first = group * GROUP, all = (int)get_global_size(0) * GROUP;
    __global const uint *weights = packed + (size_t)group * (KS * KS * STAGES * GROUP * 16);
    __global const uint *blank = packed + tail, *params = packed + tail + 16 + first;
    const ulong pitch = 4 * (ulong)R_PITCH(rs);
#if STORE
    __global uint *out = dst + codes_row(rdst, y) + (size_t)(first / LINE) * R_PITCH(rdst);
#else
    __global data_t *out = dst + ring_row(rdst, y) + (size_t)first * R_PITCH(rdst);
#endif
#if STORE && PAIRS
    __global const uint *add = res ? res + codes_row(rres, y) + (size_t)(first / LINE) * R_PITCH(rres) : res;
#else
    __global const data_t *add = res ? res + ring_row(rres, y) + (size_t)first * R_PITCH(rres) : res;
#endif
    size_t from[KS];
    for (int ky = 0; ky < KS; ky++) from[ky] = codes_row(rs, pad_index(y + ky - KS / 2, h)) - KS / 2;
    float sums[NT * GROUP * 16] __attribute__((aligned(64)));
    TILE_STATE
    TILE_CONFIGURE(CONFIG);
    for (int x = 0; x < w; x += 16 * NT) {
        TILE_ZERO(0);
#if MT * NT > 1
        TILE_ZERO(1);
        TILE_ZERO(2);
        TILE_ZERO(3);
#endif
        __global const uint *wt = weights;
        for (int ky = 0; ky < KS; ky++) {
            const int beyond = OUTSIDE(y + ky - KS / 2, h);
            const ulong stride = beyond ? 0 : pitch;
            for (int g = 0; g < STAGES; g++) {
                const ulong line = (ulong)(src + from[ky] + (size_t)min(g % ONCE * KW, R_C(rs) - KW) * R_PITCH(rs) + x);
                for (int kx = 0; kx < KS; kx++) {
#define COLUMNS(n) (beyond ? (ulong)blank : line + 4 * kx + 64 * (n))
                    TILE_LOAD(4, wt, 64);
#if MT == 2
                    TILE_LOAD(6, COLUMNS(0), stride);
                    TILE_SUM(0, 4, 6);
                    TILE_LOAD(7, COLUMNS(1), stride);
                    TILE_SUM(1, 4, 7);
                    TILE_LOAD(5, wt + ROWS * 16, 64);
                    TILE_SUM(2, 5, 6);
                    TILE_SUM(3, 5, 7);
#else
                    TILE_LOAD(5, COLUMNS(0), stride);
                    TILE_SUM(0, 4, 5);
                    TILE_LOAD(6, COLUMNS(1), stride);
                    TILE_SUM(1, 4, 6);
                    TILE_LOAD(7, COLUMNS(2), stride);
                    TILE_SUM(2, 4, 7);
                    TILE_LOAD(5, COLUMNS(3), stride);
                    TILE_SUM(3, 4, 5);
#endif
#undef COLUMNS
                    wt += GROUP * 16;
                }
            }
        }
#define KEEP(t) TILE_STORE(t, sums + (t) * ROWS * 16, 64)
        KEEP(0);
        KEEP(1);
        KEEP(2);
        KEEP(3);
#undef KEEP
        for (int n = 0; n < NT && x + 16 * n < w; n++)
            for (int i = 0; i < GROUP && first + i < outs; i += IN_WORD) {
                const float *sum = sums + ((i / ROWS * NT + n) * ROWS + i % ROWS) * 16;
                const int at = x + 16 * n;
#if STORE
                uint16 word = 0;
#endif
#if PAIRS && STORE
                uint16 old = 0;
                if (res) old = vload16(0, add + (size_t)(i / 2) * R_PITCH(rres) + at);
#define RESIDUAL as_float16(b ? old & 0xffff0000u : old << 16)
#else
#define RESIDUAL LD16(add + (size_t)(i + b) * R_PITCH(rres) + at)
#endif
                for (int b = 0; b < IN_WORD; b++) {
#if STORE
                    if (first + i + b >= outs) {
                        word |= (uint16)((uint)zero << (32 / IN_WORD * b));
                        continue;
                    }
#else
                    if (first + i + b >= outs) break;
#endif
#if PAIRS
                    float16 v = vload16(0, sum + 16 * b) + as_float(params[2 * all + i + b]);
#else
                    float16 v = fma(convert_float16(as_int16(vload16(0, sum + 16 * b)) + as_int(params[i + b])), (float16)(as_float(params[all + i + b])), (float16)(as_float(params[2 * all + i + b])));
#endif
                    if (RES_FIRST && res) v += RESIDUAL;
                    if (act == 1) v = select(v * slope, v, v >= 0.0f);
                    if (act == 2) v = 1.0f / (1.0f + exp(-v));
#ifdef ACT_OF
                    if (act > 2) v = ACT_OF(v, SLOPE_OF(slope, (__global const float *)packed, first + i + b));
#endif
                    if (!RES_FIRST && res) v += RESIDUAL;
#if STORE && PAIRS
                    word |= b ? PAIR_ROUND(16, v) & 0xffff0000u : PAIR_ROUND(16, v) >> 16;
#elif STORE
                    word |= convert_uint16(CODE_OF(v, inverse, zero)) << (8 * b);
#else
                    ST16(v, out + (size_t)(i + b) * R_PITCH(rdst) + at);
#endif
                }
#undef RESIDUAL
#if STORE
                vstore16(word, 0, out + (size_t)(i / IN_WORD) * R_PITCH(rdst) + at);
#endif
            }
    }
    TILE_RELEASE();
    for (int i = 0; i < GROUP && first + i < outs; i += LINE)
#if STORE
        codes_rim(out + (size_t)(i / LINE) * R_PITCH(rdst), w, (uint)zero * (PAIRS ? 0u : 0x1010101u));
#else
        put_rim(out + (size_t)i * R_PITCH(rdst), w);
#endif
}
#undef TILE_SUM
#undef SIDES
#undef BYTES
#undef ROWS_OF
#undef FOUR_ROWS
#undef GROUP
#undef IN_WORD
#undef LINE
#undef RES
#undef DST
