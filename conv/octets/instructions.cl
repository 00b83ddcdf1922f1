// The instructions of conv_octets, once a program. Those of sm_90a are assembled late (see
// clrt). Addresses in local memory are 32-bit numbers.
#ifndef OCTETS_INSTRUCTIONS
#define OCTETS_INSTRUCTIONS
#define OCT_LATE "//@sm_90a "
// What lies between is assembled then only: LATE_END is all of the next kernel, END_NAME, whose beginning is in the comment too.
#ifdef LATE_PLAIN
#define OCT_LATE_BEGIN
#define OCT_LATE_END
#else
#define OCT_TEXT2(x) #x
#define OCT_TEXT(x) OCT_TEXT2(x)
#define OCT_LATE_BEGIN asm volatile("/*@sm_90a");
#define OCT_LATE_END asm volatile("@sm_90a*/ ret; }\n.entry " OCT_TEXT(END_NAME) "(.param .u64 a)\n{ //@sm_90a@");
#endif
// Leaves registers for so many work-groups on a compute unit.
#define OCT_GROUPS_AT_ONCE(n) asm volatile(OCT_LATE "entry .minnctapersm %0" :: "n"(n))
// Whether a team has this tile to make.
#define OCT_TILE_THERE(tile) ((tile) < tiles)
// Local memory, declared so that it can be more than OpenCL allows.
#define OCT_SHARED(at, bytes) uint at; \
    asm volatile("{.shared .align 128 .b8 conv_octets_shared[%1]; mov.u32 %0, conv_octets_shared;}" : "=r"(at) : "n"(bytes));
// Makes v, which is the same in all lanes of a warp, known to be so.
#define OCT_UNIFORM(v) asm volatile("shfl.sync.idx.b32 %0, %0, 0, 31, 0xffffffff;" : "+r"(v));

#define OCT_ST1(at, a) asm volatile("st.shared.b32 [%0], %1;" :: "r"(at), "r"(a) : "memory");
#define OCT_LD2(v, at) asm volatile("ld.shared.v2.b32 {%0,%1}, [%2];" : "=r"((v)[0]), "=r"((v)[1]) : "r"(at) : "memory");
#define OCT_LD4(v, at) asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];" : "=r"((v)[0]), "=r"((v)[1]), "=r"((v)[2]), "=r"((v)[3]) : "r"(at) : "memory");
#define OCT_ST4(at, v) asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" :: "r"(at), "r"((v)[0]), "r"((v)[1]), "r"((v)[2]), "r"((v)[3]) : "memory");
// Lets bulk copies and products see what this work-item stored, after a barrier.
#define OCT_FENCE_STORES asm volatile(OCT_LATE "fence.proxy.async.shared::cta;" ::: "memory");
// Loads two octets of the warp's 16 pixels, of the 64 from at on, as the left factor of a product has them in registers.
#define OCT_PIXELS(a, at) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"((a)[0]), "=r"((a)[1]), "=r"((a)[2]), "=r"((a)[3]) : "r"((at) + lane_at) : "memory");
// A condition that is the same in all lanes of a warp, which exchange numbers where it holds.
#define OCT_WARP_IF(c) (c)
// What the lane has as v whose number differs in a bit.
#define OCT_OTHER(d, v, bit) asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=f"(d) : "f"(v), "r"(bit));
#define OCT_PACK2(d, lo, hi) asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(hi), "f"(lo));
#define OCT_UNPACK2(lo, hi, v) asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}" : "=f"(lo), "=f"(hi) : "r"(v));
// Of eight rows of eight halves, a lane having two neighbours of a row: d is what a is of the transposed matrix.
#define OCT_TRANSPOSE(d, a) asm volatile(OCT_LATE "movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d) : "r"(a));

// Products by warpgroups run on their own between BEGIN and the end of a wait for the
// group that COMMIT puts them in.
#define OCT_BEGIN asm volatile(OCT_LATE "wgmma.fence.sync.aligned;" ::: "memory");
#define OCT_COMMIT asm volatile(OCT_LATE "wgmma.commit_group.sync.aligned;" ::: "memory");
#define OCT_WAIT_PRODUCTS asm volatile(OCT_LATE "wgmma.wait_group.sync.aligned 0;" ::: "memory");
#define OCT_WAIT_BUT_LAST asm volatile(OCT_LATE "wgmma.wait_group.sync.aligned 1;" ::: "memory");

// Barrier objects and the copies that they count the bytes of.
#define OCT_BAR_INIT(at, n) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(n) : "memory");
#define OCT_FENCE_BARS asm volatile(OCT_LATE "fence.mbarrier_init.release.cluster;" ::: "memory");
#define OCT_BAR_ARRIVE(at) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at) : "memory");
#define OCT_BAR_EXPECT(at, n) asm volatile(OCT_LATE "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at), "r"(n) : "memory");
#define OCT_BAR_WAIT(at, parity) \
    asm volatile(OCT_LATE "{.reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra L;}" :: "r"(at), "r"(parity) : "memory");
// The same by one warp alone.
#define OCT_BAR_WAIT_ALONE(at, parity) OCT_BAR_WAIT(at, parity)
#define OCT_BULK_COPY(to, from, n, bar) \
    asm volatile(OCT_LATE "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
        :: "r"(to), "l"(from), "r"(n), "r"(bar) : "memory");
#endif
