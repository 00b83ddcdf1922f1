// What instructions.cl has, in C, on devices whose pointers are the processor's.
#define TILE_STATE uint tile[8][16][16]; int tile_rows[8], tile_words[8];
#define TILE_CONFIGURE(config) { __constant const uchar *e_ = (__constant const uchar *)(config); \
    for (int t_ = 0; t_ < 8; t_++) { tile_rows[t_] = e_[48 + t_]; tile_words[t_] = (e_[16 + 2 * t_] + 256 * e_[17 + 2 * t_]) / 4; } }
#define TILE_RELEASE()
#define TILE_ZERO(t) for (int r_ = 0; r_ < 16; r_++) for (int k_ = 0; k_ < 16; k_++) tile[t][r_][k_] = 0
#define TILE_LOAD(t, from, stride) { const ulong f_ = (ulong)(from), s_ = (ulong)(stride); \
    for (int r_ = 0; r_ < 16; r_++) for (int k_ = 0; k_ < 16; k_++) \
        tile[t][r_][k_] = r_ < tile_rows[t] && k_ < tile_words[t] ? *(__global const uint *)(f_ + r_ * s_ + 4 * k_) : 0; }
#define TILE_STORE(t, to, stride) { const ulong f_ = (ulong)(to), s_ = (ulong)(stride); \
    for (int r_ = 0; r_ < tile_rows[t]; r_++) for (int k_ = 0; k_ < tile_words[t]; k_++) *(__global uint *)(f_ + r_ * s_ + 4 * k_) = tile[t][r_][k_]; }
#define TILE_EACH(sum, a, b, type, product) \
    for (int r_ = 0; r_ < tile_rows[sum]; r_++) for (int k_ = 0; k_ < tile_words[a]; k_++) for (int c_ = 0; c_ < tile_words[sum]; c_++) \
        tile[sum][r_][c_] = as_uint(product(as_##type(tile[sum][r_][c_]), tile[a][r_][k_], tile[b][k_][c_]))
int codes_product(int s, uint a, uint b) {
    for (int i = 0; i < 32; i += 8) s += (int)(char)(a >> i) * (int)(b >> i & 255u);
    return s;
}
float pairs_product(float s, uint a, uint b) {
    return fma(as_float(a << 16), as_float(b << 16), fma(as_float(a & 0xffff0000u), as_float(b & 0xffff0000u), s));
}
#define TILE_CODES(sum, a, b) TILE_EACH(sum, a, b, int, codes_product)
#define TILE_PAIRS(sum, a, b) TILE_EACH(sum, a, b, float, pairs_product)
#define TILE_WORDS(word, even, odd) word = PAIR_OF(16, even, odd)
