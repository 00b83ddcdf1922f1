// How weights come into local memory, and the products (see wgmma.cl).

// A tap's left factor begins LEFT_TAP bytes after that of the tap before, eight rows of
// M LEFT_STRIDE after the eight before. Where BLOCK is 2, the weights of 32 outputs
// for one kernel row are a line, lines of zeros between those of the stages, and a
// product takes two of them, one after the other: the lower row of the picture is a
// kernel row behind the upper one. So each line is copied once; the line in slot 0
// has a copy behind the last slot.
#if BLOCK == 1
#define LEFT_TAP 2048
#define LEFT_STRIDE 256
#define PIECES (pieces)
#else // PIECE is 1
#define LEFT_TAP 256
#define LEFT_STRIDE (KS * LEFT_TAP)
#define PIECES (pieces + 1)
#endif

// The barrier objects of a slot: its piece has come, all warps are done with it.
#define FULL(slot) (bars + (slot) * 16)
#define FREE(slot) (bars + (slot) * 16 + 8)
// The slots after and before one.
#define AFTER(slot) ((slot) == SLOTS - 1 ? 0 : (slot) + 1)
#define BEFORE(slot) ((slot) == 0 ? SLOTS - 1 : (slot) - 1)
// Has a slot filled with piece n.
#define FILL(slot, n) { \
    const bool twice_ = BLOCK == 2 && (slot) == 0; \
    BAR_EXPECT(FULL(slot), twice_ ? 2 * PIECE_BYTES : PIECE_BYTES); \
    BULK_COPY(ring + (slot) * PIECE_BYTES, left + (size_t)(n) * PIECE_BYTES, PIECE_BYTES, FULL(slot)); \
    if (twice_) BULK_COPY(ring + SLOTS * PIECE_BYTES, left + (size_t)(n) * PIECE_BYTES, PIECE_BYTES, FULL(slot)); \
    }
// Waits for the weights of the next products: a piece, or the second of two lines, the
// first of which came before.
#if BLOCK == 1
#define AWAIT_PIECE BAR_WAIT(FULL(slot), phase);
#else
#define AWAIT_PIECE BAR_WAIT(FULL(AFTER(slot)), phase ^ (slot == SLOTS - 1));
#endif
// Ends a piece: this warp is then done with the one before, and its slot can be
// filled again when all warps are.
#define NEXT_PIECE { \
    COMMIT; \
    WAIT_BUT_LAST; \
    if (piece > 0 && lane == 0) BAR_ARRIVE(FREE(BEFORE(slot))); \
    if (lid == 0 && piece + SLOTS - 1 < PIECES) { \
        if (piece > 0) BAR_WAIT(FREE(BEFORE(slot)), (piece - 1) / SLOTS & 1); \
        FILL(BEFORE(slot), piece + SLOTS - 1) \
    } \
    row = 0; \
    piece++; \
    if (++slot == SLOTS) { slot = 0; phase ^= 1; } \
    BEGIN; \
    }

// Where a factor begins, in units of 16 bytes, and its strides along the channels
// and along the rows of M or N.
#define FACTOR(at, k, n) ((ulong)((at) >> 4) | (ulong)((k) >> 4) << 16 | (ulong)((n) >> 4) << 32)

// Starts all products of the stage whose patch is at from.
#define MULTIPLY(from) { \
    ulong pixels_ = FACTOR((from) + (wg * 8 + OFF) * 16, PLANE * 16, BLOCK * PITCH * 16); \
    BEGIN; \
    _Pragma("unroll 1") for (int y_ = 0; y_ < ROWS; y_++) { \
        if (row == 0) AWAIT_PIECE \
        const ulong taps_ = FACTOR(ring + slot * PIECE_BYTES + row * KS * LEFT_TAP, 128, LEFT_STRIDE); \
        _Pragma("unroll") for (int kx_ = 0; kx_ < KS; kx_++) MULTIPLY_ADD(taps_ + kx_ * LEFT_TAP / 16, pixels_ + kx_); \
        if (++row == PIECE) NEXT_PIECE \
        pixels_ += PITCH; \
    } }
