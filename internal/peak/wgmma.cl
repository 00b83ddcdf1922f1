// peak_wgmma: products of Hopper's warpgroup matrix units, m64n128k16 of binary16, both
// factors in local memory without swizzling, as conv_wgmma has them. Random factors, in
// ±[0.5,1): on zeros the units take less power and run faster. A group is two
// warpgroups that take the same PAIRS pairs of factors in turn; one turn multiplies
// each. For the lines that begin with LATE see clrt.
#define LATE "//@sm_90a "
#define PAIRS 4
#define LEFT 2048  // bytes of 64×16
#define RIGHT 4096 // bytes of 128×16
#define BYTES (PAIRS * (LEFT + RIGHT))
// Where a factor begins, and its strides along K and along M or N, 16 bytes to a unit.
#define FACTOR(at) ((ulong)((at) >> 4) | (ulong)8 << 16 | (ulong)16 << 32)

#define A8(i) "+f"(acc[i]), "+f"(acc[(i) + 1]), "+f"(acc[(i) + 2]), "+f"(acc[(i) + 3]), \
    "+f"(acc[(i) + 4]), "+f"(acc[(i) + 5]), "+f"(acc[(i) + 6]), "+f"(acc[(i) + 7])
#define A64 A8(0), A8(8), A8(16), A8(24), A8(32), A8(40), A8(48), A8(56)

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void peak_wgmma(__global float *out, int turns, uint seed) {
    uint at;
    asm volatile("{.shared .align 128 .b8 peak_wgmma_shared[%1]; mov.u32 %0, peak_wgmma_shared;}" : "=r"(at) : "n"(BYTES));
    for (uint i = get_local_id(0); i < BYTES / 4; i += 256) {
        const uint r = (i + seed) * 0x9e3779b9u, n = (r ^ r >> 15) * 0x85ebca6bu;
        asm volatile("st.shared.b32 [%0], %1;" :: "r"(at + 4 * i), "r"((n & 0x83ff83ffu) | 0x38003800u) : "memory");
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    asm volatile(LATE "fence.proxy.async.shared::cta;" ::: "memory");
    barrier(CLK_LOCAL_MEM_FENCE);

    float acc[64];
#pragma unroll
    for (int i = 0; i < 64; i++) acc[i] = 0.0f;
#pragma unroll 1
    for (int t = 0; t < turns; t++) {
        asm volatile(LATE "wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int p = 0; p < PAIRS; p++)
            asm volatile(LATE "{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %64, %65, p, 1, 1, 0, 0;}"
                         : A64 : "l"(FACTOR(at + p * LEFT)), "l"(FACTOR(at + PAIRS * LEFT + p * RIGHT)) : "memory");
        asm volatile(LATE "wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile(LATE "wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile(LATE "wgmma.wait_group.sync.aligned 0;" : A64 :: "memory");
    float s = 0.0f;
#pragma unroll
    for (int i = 0; i < 64; i++) s += acc[i];
    out[get_global_id(0)] = s;
}
