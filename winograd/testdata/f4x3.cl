// 6 values from 6: 2 add, 0 mul, 10 fma, 7 live.
static inline void wino_f4x3_input(const float4 d0, const float4 d1, const float4 d2, const float4 d3, const float4 d4, const float4 d5, __private float4 *t0, __private float4 *t1, __private float4 *t2, __private float4 *t3, __private float4 *t4, __private float4 *t5)
{
    const float4 v0 = d0 + d4;
    const float4 v1 = fma((float4)(-2.6944444f), d2, v0);
    const float4 v2 = d1 + d5;
    const float4 v3 = fma((float4)(-2.6944444f), d3, v2);
    const float4 v4 = fma((float4)(-2.25f), d1, d3);
    const float4 v5 = fma((float4)(-2.25f), d3, d1);
    const float4 v6 = fma((float4)(-0.44444445f), d4, d2);
    const float4 v7 = fma((float4)(-2.25f), d4, d2);
    const float4 v8 = fma((float4)(-3.375f), v6, v4);
    const float4 v9 = fma((float4)(-3.375f), v6, -v4);
    const float4 v10 = fma((float4)(-1.5f), v5, -v7);
    const float4 v11 = fma((float4)(1.5f), v5, -v7);
    *t0 = v1;
    *t1 = v8;
    *t2 = v9;
    *t3 = v10;
    *t4 = v11;
    *t5 = v3;
}

// 4 values from 6: 6 add, 2 mul, 4 fma, 7 live.
static inline void wino_f4x3_output(const float4 d0, const float4 d1, const float4 d2, const float4 d3, const float4 d4, const float4 d5, __private float4 *t0, __private float4 *t1, __private float4 *t2, __private float4 *t3)
{
    const float4 v0 = d1 + d2;
    const float4 v1 = d1 - d2;
    const float4 v2 = d0 + v0;
    const float4 v3 = (float4)(0.44444445f) * v0;
    const float4 v4 = fma((float4)(0.2962963f), v1, d5);
    const float4 v5 = (float4)(0.6666667f) * v1;
    const float4 v6 = d3 + d4;
    const float4 v7 = d3 - d4;
    const float4 v8 = v2 + v6;
    const float4 v9 = fma((float4)(2.25f), v6, v3);
    const float4 v10 = fma((float4)(1.5f), v7, v5);
    const float4 v11 = fma((float4)(3.375f), v7, v4);
    *t0 = v8;
    *t1 = v10;
    *t2 = v9;
    *t3 = v11;
}
