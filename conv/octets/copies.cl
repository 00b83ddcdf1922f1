// Rims of lines of octets that lanes store a word of each (see octets_put), once a program.
#ifndef OCTETS_COPIES
#define OCTETS_COPIES
#ifdef PAD_ZERO
#define OCTETS_RIM_WORD(v) 0
#else
#define OCTETS_RIM_WORD(v) (v)
#endif
// The columns of the rim that column x stands for, the left ones in the lower RIM bits.
static uint octets_copies(int x, int w) {
    uint all = 0;
    if (x < w && (x <= RIM || x >= w - 1 - RIM))
#pragma unroll 1
        for (int b = 0; b < RIM; b++) {
            if (pad_index(-1 - b, w) == x) all |= 1u << b;
            if (pad_index(w + b, w) == x) all |= 1u << (RIM + b);
        }
    return all;
}
#endif
