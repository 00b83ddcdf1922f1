// The instructions of AMX's tiles, by their bytes: compilers take the names only for processors that they know to have them.
// Tile registers are numbers 0 to 7, written out. Addresses are in rax, the distance of rows in bytes in rcx.
#define TILE_STATE
#define TILE_ASM(bytes, ...) __asm__ volatile(".byte " bytes : : __VA_ARGS__ : "memory")
#define TILE_NUMBER(n) TILE_NUMBER_(n)
#define TILE_NUMBER_(n) #n
// ldtilecfg: the sides of all tiles.
#define TILE_CONFIGURE(config) TILE_ASM("0xc4,0xe2,0x78,0x49,0x00", "a"((ulong)(config)))
#define TILE_RELEASE() __asm__ volatile(".byte 0xc4,0xe2,0x78,0x49,0xc0" : : : "memory")
#define TILE_ZERO(t) __asm__ volatile(".byte 0xc4,0xe2,0x7b,0x49,0xc0+8*" TILE_NUMBER(t) : : : "memory")
#define TILE_LOAD(t, from, stride) TILE_ASM("0xc4,0xe2,0x7b,0x4b,0x04+8*" TILE_NUMBER(t) ",0x08", "a"((ulong)(from)), "c"((ulong)(stride)))
#define TILE_STORE(t, to, stride) TILE_ASM("0xc4,0xe2,0x7a,0x4b,0x04+8*" TILE_NUMBER(t) ",0x08", "a"((ulong)(to)), "c"((ulong)(stride)))
// sum += a·b: tdpbsud of signed and unsigned bytes, tdpbf16ps of bfloat16.
#define TILE_CODES(sum, a, b) TILE_PRODUCT("0x5e", sum, a, b)
#define TILE_PAIRS(sum, a, b) TILE_PRODUCT("0x5c", sum, a, b)
#define TILE_PRODUCT(op, sum, a, b) __asm__ volatile(".byte 0xc4,0xe2,0x7a-8*" TILE_NUMBER(b) "," op ",0xc0+8*" TILE_NUMBER(sum) "+" TILE_NUMBER(a) : : : "memory")
// Words of pairs of bfloat16, to nearest: vcvtne2ps2bf16, and vpermw to put the halves beside each other.
#define TILE_WORDS(word, even, odd) { \
    const uint16 beside_ = (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) * 0x10001u + 0x100000u; \
    __asm__("vmovaps %1, %%zmm0\n\tvmovaps %2, %%zmm1\n\t.byte 0x62,0xf2,0x77,0x48,0x72,0xc0\n\tvpermw %%zmm0, %3, %0" \
            : "=v"(word) : "v"(even), "v"(odd), "v"(beside_) : "xmm0", "xmm1"); }
