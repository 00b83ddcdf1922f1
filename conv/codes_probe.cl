// conv_probe: one VPDPBUSD as codes.cl.tmpl has it. Expects V, the number of words, and FORM, the instruction's
// prefix. acc += products of the bytes of x, unsigned, and of w, signed.
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void conv_probe(__global const uint *x, __global const uint *w, __global int *acc) {
    PASTE(int, V) sum = PASTE(vload, V)(0, acc);
    const PASTE(uint, V) a = PASTE(vload, V)(0, x), b = PASTE(vload, V)(0, w);
    __asm__(FORM "vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    PASTE(vstore, V)(sum, 0, acc);
}
