// The instructions of conv_mma, once a program.
#ifndef MMA_INSTRUCTIONS
#define MMA_INSTRUCTIONS
// Adds the product of 16×16 (16×8 for tf32) and 16×8 (8×8) to d.
#define MMA_FP16(d, a, b) \
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
        : "+f"((d)[0]), "+f"((d)[1]), "+f"((d)[2]), "+f"((d)[3]) \
        : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]))
#define MMA_TF32(d, a, b) \
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
        : "+f"((d)[0]), "+f"((d)[1]), "+f"((d)[2]), "+f"((d)[3]) \
        : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]))
// The same of signed weights and unsigned codes of 8 bits: 16×32 and 32×8, and 16×16 and 16×8.
#define MMA_S8(d, a, b) \
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
        : "+r"((d)[0]), "+r"((d)[1]), "+r"((d)[2]), "+r"((d)[3]) \
        : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]));
#define MMA_S8_HALF(d, a, b) \
    asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" \
        : "+r"((d)[0]), "+r"((d)[1]), "+r"((d)[2]), "+r"((d)[3]) : "r"((a)[0]), "r"((a)[1]), "r"((b)[0]));
// Words of local memory, declared so that they can be more than OpenCL allows.
#define SHARED(name, words) \
    uint shared_at; \
    asm volatile("{.shared .align 128 .b8 conv_mma_shared[%1]; mov.u32 %0, conv_mma_shared;}" : "=r"(shared_at) : "n"((words) * 4)); \
    __local uint *const name = (__local uint *)(size_t)shared_at;
#define EXCHANGE // local memory through which they work where they are emulated

// float32 to tf32, binary16 from and to float32 by twos.
#define TF32(d, v) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(d) : "f"(v))
#define PACK2(d, lo, hi) asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(hi), "f"(lo))
#define UNPACK2(lo, hi, v) asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}" : "=f"(lo), "=f"(hi) : "r"(v))

// Copies of 16 bytes to local memory that run on their own; COMMIT makes a group of
// this work-item's since the last one, WAIT_ALL_BUT waits for all groups but the last n.
#define COPY16(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"((uint)(size_t)(to)), "l"(from) : "memory");
#define COPY8(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"((uint)(size_t)(to)), "l"(from) : "memory");
// Of bytes bytes, the rest zeros.
#define COPY16_OF(to, from, bytes) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"((uint)(size_t)(to)), "l"(from), "r"(bytes) : "memory");
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory");
#define WAIT_ALL_BUT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory");

// d becomes d << 16 with the bytes of lo and hi, held to 0..255, below.
#define BELOW(d, lo, hi) asm("cvt.pack.sat.u8.s32.b32 %0, %2, %1, %0;" : "+r"(d) : "r"(lo), "r"(hi));
// v of the lane four further or before.
#define FROM_NEIGHBOUR(v) asm volatile("shfl.sync.bfly.b32 %0, %0, 4, 31, 0xffffffff;" : "+r"(v));

// Sum over the four lanes of a quad; every lane has it.
#define QUAD_SUM(v) { \
    float o_; \
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, 0xffffffff;" : "=f"(o_) : "f"(v)); \
    v += o_; \
    asm volatile("shfl.sync.bfly.b32 %0, %1, 2, 31, 0xffffffff;" : "=f"(o_) : "f"(v)); \
    v += o_; \
    }
#endif
