// Pairs of bfloat16 in words, see package planar. Expects the prelude and codes.cl, whose lines of words these are.
#ifndef PLANAR_PAIRS
#define PLANAR_PAIRS
// Sixteen words of a line from any column on, which compilers load and store at once; PoCL's vload16 and vstore16 move parts.
typedef uint words16_t __attribute__((ext_vector_type(16), aligned(4)));
#define WORDS16(p) (*(__global words16_t *)(p))
#define CONST_WORDS16(p) (*(__global const words16_t *)(p))
// The bits of a vector of N samples as bfloat16 in the upper halves, to nearest, ties to even; the lower halves are of no meaning.
// NaN stays NaN.
#define PAIR_ROUND(N, v) select(as_uint##N(v) + 0x7fffu + (as_uint##N(v) >> 16 & 1u), (uint##N)(0x7fc00000u), isnan(v))
// Vectors of words of the samples of channel 2g and 2g+1, and these samples of words.
#define PAIR_OF(N, even, odd) (PAIR_ROUND(N, even) >> 16 | (PAIR_ROUND(N, odd) & 0xffff0000u))
#define PAIR_EVEN(N, word) as_float##N((word) << 16)
#define PAIR_ODD(N, word) as_float##N((word) & 0xffff0000u)
#endif
