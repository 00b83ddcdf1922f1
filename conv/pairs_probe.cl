// conv_probe: one VDPBF16PS as pairs.cl.tmpl has it. acc += products of the pairs of bfloat16 of x and w.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void conv_probe(__global const uint *x, __global const uint *w, __global int *acc) {
    float16 sum = as_float16(vload16(0, acc));
    const uint16 a = vload16(0, x), b = vload16(0, w);
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    vstore16(as_int16(sum), 0, acc);
}
