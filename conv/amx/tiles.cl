// NAME: convolution of words by AMX's tiles.
//
// A tile register has up to 16 rows of 64 bytes. A product is of two of them: ROWS outputs × KW words of channels (weights) by KW
// words × 16 columns, to ROWS × 16 sums of 32 bits. A word is four codes of 8 bits (PAIRS 0) or two samples of bfloat16 (PAIRS 1),
// and the words of KW lines at 16 columns are such a factor as they lie in memory, from any column on. The last stage begins where
// its lines end with the source's; lines that it shares with the stage before have weights of zero.
//
// One work-item (work-groups of one) makes MT·ROWS outputs of two rows, or of the last one, NT vectors of 16 columns at a
// time: 2·MT·NT tiles of sums. A row of the source is read once for both rows of outputs, as a factor that begins at any
// column crosses lines of the cache and takes as long as two products. A sum runs over
// the KS rows of the kernel, STAGES stages of KW lines, and the KS columns, in that order. So which
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
// Tiles 0 to 3 are sums, MT·NT of the first row and as many of the second; 4 and 5 are columns, 6 and 7 weights.
#define SIDES(t) ((t) < 4 ? ROWS * 65536 + 64 : (t) < 6 ? KW * 65536 + 64 : ROWS * 65536 + 4 * KW)
#define BYTES(t) (SIDES(t) & 65535 | (SIDES(t + 1) & 65535) << 16)
#define ROWS_OF(t) (SIDES(t) >> 16)
#define FOUR_ROWS(t) (ROWS_OF(t) | ROWS_OF(t + 1) << 8 | ROWS_OF(t + 2) << 16 | ROWS_OF(t + 3) << 24)
__constant uint CONFIG[16] = {1, 0, 0, 0, BYTES(0), BYTES(2), BYTES(4), BYTES(6), 0, 0, 0, 0, FOUR_ROWS(0), FOUR_ROWS(4), 0, 0};
#define GROUP (MT * ROWS)
#define IN_WORD (PAIRS ? 2 : 4) // channels of a word
#if STORE
#define LINE IN_WORD // channels of a line of the destination
#define DST uint
#define OUT_ROW codes_row
#define SET_RIM(line) codes_rim(line, w, (uint)zero * (PAIRS ? 0u : 0x1010101u))
#else
#define LINE 1
#define DST data_t
#define OUT_ROW ring_row
#define SET_RIM(line) put_rim(line, w)
#ifdef STORE_HALF
#define PUT16(v, p) ST16(v, p)
#else
#define PUT16(v, p) WORDS16((__global uint *)(p)) = as_uint16(v)
#endif
#endif
#if STORE && PAIRS
#define RES uint
#define RES_AT(y, first) (codes_row(rres, y) + (size_t)((first) / 2) * R_PITCH(rres))
#else
#define RES data_t
#define RES_AT(y, first) (ring_row(rres, y) + (size_t)(first) * R_PITCH(rres))
#endif
// What follows the sums of a group: outs outputs from line out on, the residual from add on, at most columns columns.
static __attribute__((always_inline)) void FINISH(const float *sums, __global const uint *params, int all, int outs, __global DST *out, int pitch, __global const RES *add, int add_pitch,
                                                  int columns, int act, float slope, __global const uint *packed, int first, float inverse, float zero) {
#pragma unroll
    for (int n = 0; n < NT; n++)
        for (int i = 0; columns > 16 * n && i < GROUP && i < outs; i += IN_WORD) {
            const float16 *sum = (const float16 *)(sums + ((i / ROWS * NT + n) * ROWS + i % ROWS) * 16);
#if STORE
            uint16 word = 0;
#endif
#if PAIRS && STORE
            float16 pair[2] = {0.0f, 0.0f};
            uint16 old = 0;
            if (add) old = CONST_WORDS16(add + (size_t)(i / 2) * add_pitch + 16 * n);
#define RESIDUAL as_float16(b ? old & 0xffff0000u : old << 16)
#else
#define RESIDUAL LD16(add + (size_t)(i + b) * add_pitch + 16 * n)
#endif
#pragma unroll
            for (int b = 0; b < IN_WORD; b++) {
                if (i + b >= outs) {
#if STORE && !PAIRS
                    word |= (uint16)((uint)zero << (32 / IN_WORD * b));
#endif
                    continue;
                }
#if PAIRS
                float16 v = sum[b] + as_float(params[2 * all + i + b]);
#else
                float16 v = fma(convert_float16(as_int16(sum[b]) + as_int(params[i + b])), (float16)(as_float(params[all + i + b])), (float16)(as_float(params[2 * all + i + b])));
#endif
                if (RES_FIRST && add) v += RESIDUAL;
                if (act == 1) v = select(v * slope, v, v >= 0.0f);
                if (act == 2) v = 1.0f / (1.0f + exp(-v));
#ifdef ACT_OF
                if (act > 2) v = ACT_OF(v, SLOPE_OF(slope, (__global const float *)packed, first + i + b));
#endif
                if (!RES_FIRST && add) v += RESIDUAL;
#if STORE && PAIRS
                pair[b] = v;
#elif STORE
                word |= convert_uint16(CODE_OF(v, inverse, zero)) << (8 * b);
#else
                PUT16(v, out + (size_t)(i + b) * pitch + 16 * n);
#endif
            }
#undef RESIDUAL
#if STORE && PAIRS
            TILE_WORDS(word, pair[0], pair[1]);
#endif
#if STORE
            WORDS16(out + (size_t)(i / IN_WORD) * pitch + 16 * n) = word;
#endif
        }
}
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void NAME(__global const uint *src, ring_t rs, __global const uint *packed, int tail,
          __global const RES *res, ring_t rres, __global DST *dst, ring_t rdst, int outs, int y0, int y1, int act, float slope, float inverse, float zero) {
    const int group = get_global_id(0), y = y0 + 2 * (int)get_global_id(1), both = y + 1 < y1;
    const int w = R_W(rdst), h = R_H(rdst), first = group * GROUP, all = (int)get_global_size(0) * GROUP;
    __global const uint *weights = packed + (size_t)group * (KS * KS * STAGES * GROUP * 16);
    __global const uint *blank = packed + tail, *params = packed + tail + 16 + first;
    const ulong pitch = 4 * (ulong)R_PITCH(rs);
    size_t from[KS + 1];
    for (int k = 0; k < KS + both; k++) from[k] = codes_row(rs, pad_index(y + k - KS / 2, h)) - KS / 2;
    float sums[4 * ROWS * 16] __attribute__((aligned(64)));
    TILE_STATE
    TILE_CONFIGURE(CONFIG);
    for (int x = 0; x < w; x += 16 * NT) {
        TILE_ZERO(0);
        TILE_ZERO(1);
        TILE_ZERO(2);
        TILE_ZERO(3);
        for (int k = 0; k < KS + both; k++) { // rows of the source: the kernel's row k for the first row of outputs, k - 1 for the second
            const int beyond = OUTSIDE(y + k - KS / 2, h);
            const ulong stride = beyond ? 0 : pitch;
            __global const uint *wt = weights + (size_t)k * (STAGES * KS * GROUP * 16), *before = wt - STAGES * KS * GROUP * 16;
            for (int g = 0; g < STAGES; g++) {
                const ulong line = beyond ? (ulong)blank : (ulong)(src + from[k] + (size_t)min(g * KW, SOURCE - KW) * R_PITCH(rs) + x);
                for (int kx = 0; kx < KS; kx++) {
#define COLUMNS(n) (beyond ? line : line + 4 * kx + 64 * (n))
                    TILE_LOAD(4, COLUMNS(0), stride);
#if NT == 2
                    TILE_LOAD(5, COLUMNS(1), stride);
                    if (k < KS) {
                        TILE_LOAD(6, wt, 64);
                        TILE_SUM(0, 6, 4);
                        TILE_SUM(1, 6, 5);
                    }
                    if (k > 0 && both) {
                        TILE_LOAD(7, before, 64);
                        TILE_SUM(2, 7, 4);
                        TILE_SUM(3, 7, 5);
                    }
#else
                    if (k < KS) {
                        TILE_LOAD(6, wt, 64);
                        TILE_SUM(0, 6, 4);
                        TILE_LOAD(7, wt + ROWS * 16, 64);
                        TILE_SUM(1, 7, 4);
                    }
                    if (k > 0 && both) {
                        TILE_LOAD(6, before, 64);
                        TILE_SUM(2, 6, 4);
                        TILE_LOAD(7, before + ROWS * 16, 64);
                        TILE_SUM(3, 7, 4);
                    }
#endif
#undef COLUMNS
                    wt += GROUP * 16;
                    before += GROUP * 16;
                }
            }
        }
        TILE_STORE(0, sums, 64);
        TILE_STORE(1, sums + ROWS * 16, 64);
        TILE_STORE(2, sums + 2 * ROWS * 16, 64);
        TILE_STORE(3, sums + 3 * ROWS * 16, 64);
        for (int k = 0; k <= both; k++) {
            const float *of = sums + k * 2 * ROWS * 16;
            __global DST *out = dst + OUT_ROW(rdst, y + k) + (size_t)(first / LINE) * R_PITCH(rdst) + x;
            __global const RES *add = res ? res + RES_AT(y + k, first) + x : res;
#define FINISH_AS(act, add) FINISH(of, params, all, outs - first, out, R_PITCH(rdst), add, R_PITCH(rres), w - x, act, slope, packed, first, inverse, zero)
            if (act == 1 && !add) FINISH_AS(1, 0);
            else if (act == 0 && add) FINISH_AS(0, add);
            else FINISH_AS(act, add);
#undef FINISH_AS
        }
    }
    TILE_RELEASE();
    for (int k = 0; k <= both; k++)
        for (int i = 0; i < GROUP && first + i < outs; i += LINE) SET_RIM(dst + OUT_ROW(rdst, y + k) + (size_t)((first + i) / LINE) * R_PITCH(rdst));
}
#undef OUT_ROW
#undef SET_RIM
#undef PUT16
#undef TILE_SUM
#undef SIDES
#undef BYTES
#undef ROWS_OF
#undef FOUR_ROWS
#undef GROUP
#undef IN_WORD
#undef LINE
#undef RES
#undef RES_AT
#undef DST
