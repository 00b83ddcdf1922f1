// conv_mma_probe: one warp multiplies a 16×16 and a 16×8 matrix of binary16, and
// a 16×8 and an 8×8 one of tf32, all of small integers. Lane 4g+t holds rows g
// and g+8 of the left and column g of the right factor.

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void conv_mma_probe(__global const uint *in, __global float *out) {
    const int lane = get_local_id(0);
    __global const uint *p = in + lane * 12;
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(p[4]), "r"(p[5]));
    uint a[6];
    for (int i = 0; i < 6; i++) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(a[i]) : "f"(as_float(p[6 + i])));
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]));
    for (int i = 0; i < 4; i++) out[lane * 4 + i] = d[i];
}
