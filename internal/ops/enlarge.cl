// Source index and weight of the next one for output index i of a line of n
// enlarged by two; exact, so that it only depends on the global coordinate.
static int enlarge(int i, int n, int align_corners, float *weight) {
    if (align_corners) {
        // Quotient and remainder of i·(n-1) by 2n-1, without the product, which
        // overflows from n = 46342 on: 2m·(n-1) = m·(2n-1) - m and
        // (2m+1)·(n-1) = m·(2n-1) + n-1-m.
        const int m = i >> 1, den = 2 * n - 1;
        const int even = !(i & 1) && m > 0;
        const int rest = i & 1 ? n - 1 - m : even ? den - m : 0;
        *weight = (float)rest / (float)den;
        return m - even;
    }
    const int q = max(2 * i - 1, 0);
    *weight = (float)(q & 3) * 0.25f;
    return q >> 2;
}
