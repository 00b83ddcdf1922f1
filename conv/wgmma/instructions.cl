// The instructions of conv_wgmma, once a program. Those of sm_90a are assembled
// late (see clrt): the compiler takes the device for an sm_90. Addresses in local
// memory are 32-bit numbers.
#ifndef CONV_WGMMA_INSTRUCTIONS
#define CONV_WGMMA_INSTRUCTIONS
#define LATE "//@sm_90a "
// Leaves registers for so many work-groups on a compute unit.
#define GROUPS_AT_ONCE(n) asm volatile(LATE "entry .minnctapersm %0" :: "n"(n))
// SHARED bytes of local memory. Declared so they can be more than OpenCL allows.
#define SHARED_AT(at) uint at; \
    asm volatile("{.shared .align 128 .b8 conv_wgmma_shared[%1]; mov.u32 %0, conv_wgmma_shared;}" : "=r"(at) : "n"(SHARED))

// The work-item's number, asked for here and now.
#define ITEM(v) asm volatile("mov.u32 %0, %%tid.x;" : "=r"(v))

// Loads two words; zeros if is is false.
#define LOAD2(a, b, from) asm volatile("ld.global.nc.v2.b32 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "l"(from))
#define LOAD2_IF(a, b, from, is) \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %3, 0; mov.b32 %0, 0; mov.b32 %1, 0; @p ld.global.nc.v2.b32 {%0,%1}, [%2];}" \
        : "=&r"(a), "=&r"(b) : "l"(from), "r"((int)(is)))
#define STORE4(at, a, b, c, d) asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" :: "r"(at), "r"(a), "r"(b), "r"(c), "r"(d) : "memory")
#define STORE1(at, a) asm volatile("st.shared.b32 [%0], %1;" :: "r"(at), "r"(a) : "memory")
#define LOAD4(v, at) asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];" : "=r"((v)[0]), "=r"((v)[1]), "=r"((v)[2]), "=r"((v)[3]) : "r"(at) : "memory")
// Lets products and bulk copies see what this work-item stored, after a barrier.
#define FENCE_STORES asm volatile(LATE "fence.proxy.async.shared::cta;" ::: "memory")
#define PACK2(d, lo, hi) asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(hi), "f"(lo))
#define UNPACK2(lo, hi, v) asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}" : "=f"(lo), "=f"(hi) : "r"(v))

// Products of 64×16 and 16×128, added to acc, run on their own between BEGIN and
// the end of a wait for the group that COMMIT puts them in.
#define A8(i) "+f"(acc[i]), "+f"(acc[(i) + 1]), "+f"(acc[(i) + 2]), "+f"(acc[(i) + 3]), \
    "+f"(acc[(i) + 4]), "+f"(acc[(i) + 5]), "+f"(acc[(i) + 6]), "+f"(acc[(i) + 7])
#define A64 A8(0), A8(8), A8(16), A8(24), A8(32), A8(40), A8(48), A8(56)
#define MULTIPLY_ADD(a, b) \
    asm volatile(LATE "{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %64, %65, p, 1, 1, 0, 0;}" \
        : A64 : "l"(a), "l"(b) : "memory")
#define BEGIN asm volatile(LATE "wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT asm volatile(LATE "wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT_BUT_LAST asm volatile(LATE "wgmma.wait_group.sync.aligned 1;" ::: "memory")
#define WAIT_ALL asm volatile(LATE "wgmma.wait_group.sync.aligned 0;" : A64 :: "memory")

// Barrier objects and the copies that they count the bytes of.
#define BAR_INIT(at, n) asm volatile(LATE "mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at), "r"(n) : "memory")
#define FENCE_BARS asm volatile(LATE "fence.mbarrier_init.release.cluster;" ::: "memory")
#define BAR_ARRIVE(at) asm volatile(LATE "mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at) : "memory")
#define BAR_EXPECT(at, n) asm volatile(LATE "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at), "r"(n) : "memory")
#define BAR_WAIT(at, parity) \
    asm volatile(LATE "{.reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra L;}" :: "r"(at), "r"(parity) : "memory")
#define BULK_COPY(to, from, n, bar) \
    asm volatile(LATE "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
        :: "r"(to), "l"(from), "r"(n), "r"(bar) : "memory")

// Sum over the four lanes of a quad; every lane has it.
#define QUAD_ADD(v, bit) { \
    float other_; \
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=f"(other_) : "f"(v), "n"(bit)); \
    (v) += other_; \
    }
#define QUAD_SUM(v) QUAD_ADD(v, 1) QUAD_ADD(v, 2)
#endif
