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
