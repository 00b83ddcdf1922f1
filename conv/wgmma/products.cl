// How weights come into local memory, and the products (see wgmma.cl).

// Weights of a group: LEFT_AT is where those of a piece for rows 8·i to 8·i+7 of M
// begin. For BLOCK 2 kernel rows stand in descending order, so that what both rows
// of a block need is one stretch for every eight outputs.
#if BLOCK == 1
#define COPIES 1
#define LEFT_TAP 2048
#define LEFT_STRIDE 256
#define LEFT_BYTES ((size_t)pieces * PIECE_BYTES)
#define LEFT_AT(piece, i) ((size_t)(piece) * PIECE_BYTES + (i) * LEFT_STRIDE)
#else // PIECE is 1
#define COPIES 4
#define LEFT_TAP 256
#define LEFT_STRIDE (KS * LEFT_TAP)
#define LEFT_BYTES ((size_t)stages * (4 * (KS + 2) * LEFT_STRIDE))
#define LEFT_AT(piece, i) ((size_t)(((piece) / ROWS * 4 + (i) / 2) * (KS + 2) + KS - (piece) % ROWS + (i) % 2) * LEFT_STRIDE)
#endif

// The barrier objects of a slot: its piece has come, all warps are done with it.
#define FULL(slot) (bars + (slot) * 16)
#define FREE(slot) (bars + (slot) * 16 + 8)
// Has a slot filled with piece n.
#define FILL(slot, n) { \
    BAR_EXPECT(FULL(slot), PIECE_BYTES); \
    _Pragma("unroll") for (int i_ = 0; i_ < COPIES; i_++) \
        BULK_COPY(ring + (slot) * PIECE_BYTES + i_ * (PIECE_BYTES / COPIES), left + LEFT_AT(n, i_ * (8 / COPIES)), PIECE_BYTES / COPIES, FULL(slot)); \
    }
// Ends a piece: this warp is then done with the one before, and its slot can be
// filled again when all warps are.
#define NEXT_PIECE { \
    COMMIT; \
    WAIT_BUT_LAST; \
    const int last_ = slot == 0 ? SLOTS - 1 : slot - 1; \
    if (piece > 0 && lane == 0) BAR_ARRIVE(FREE(last_)); \
    if (lid == 0 && piece + SLOTS - 1 < pieces) { \
        if (piece > 0) BAR_WAIT(FREE(last_), (piece - 1) / SLOTS & 1); \
        FILL(last_, piece + SLOTS - 1) \
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
        if (row == 0) BAR_WAIT(FULL(slot), phase); \
        const ulong taps_ = FACTOR(ring + slot * PIECE_BYTES + row * KS * LEFT_TAP, 128, LEFT_STRIDE); \
        _Pragma("unroll") for (int kx_ = 0; kx_ < KS; kx_++) MULTIPLY_ADD(taps_ + kx_ * LEFT_TAP / 16, pixels_ + kx_); \
        if (++row == PIECE) NEXT_PIECE \
        pixels_ += PITCH; \
    } }
