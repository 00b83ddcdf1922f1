// How conv_mma's weights come into local memory (see mma.cl). Expects what mma.cl
// does.

#define TAP_WORDS (MT * 128 * PARTS)
#define COPY_TAPS(to, taps) \
    _Pragma("unroll") for (int i_ = 0; i_ < ((taps) * WO * TAP_WORDS / 4 + GROUP - 1) / GROUP; i_++) \
        if (lid + i_ * GROUP < (taps) * WO * TAP_WORDS / 4) \
            COPY16((to) + (lid + i_ * GROUP) * 4, wt + i_ * GROUP * 4)
#if AHEAD
#define PIECE_WORDS (KS * KS * WO * TAP_WORDS)
#define WEIGHTS_WORDS (2 * PIECE_WORDS)
#define RAW_WORDS (2 * RAW_PLANE * 4)
#else
#define PIECE_WORDS (PIECE * WO * TAP_WORDS)
#define WEIGHTS_WORDS (SLOTS * PIECE_WORDS)
#define ROW_PIECES ((KS + PIECE - 1) / PIECE) // of a kernel row
#define TAPS_OF(j) min(PIECE, KS - (j) % ROW_PIECES * PIECE) // of piece j of a row, or of those after it
// Starts the copy of the next piece, of so many taps, to slot at; every call is one
// group of copies.
#define PIECE_COPY(at, taps) { \
    if (copied < pieces) { \
        COPY_TAPS(ring + (at) * PIECE_WORDS, taps) \
        wt += (taps) * WO * TAP_WORDS; \
        copied++; \
    } \
    COMMIT \
    }
// Waits for the next piece, and for all to be done with the one before, whose slot is
// then filled again.
#define NEXT_PIECE(j) { \
    WAIT_ALL_BUT(SLOTS - 2) \
    barrier(CLK_LOCAL_MEM_FENCE); \
    const int last_ = slot; \
    slot = slot + 1 == SLOTS ? 0 : slot + 1; \
    PIECE_COPY(last_, TAPS_OF((j) + SLOTS - 1)) \
    }
#endif
