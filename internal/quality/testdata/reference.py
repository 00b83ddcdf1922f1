"""Prints the constants of quality_test.go: PSNR and SSIM by their definitions.

The window is applied in two dimensions at every position, in plain Python, apart
from the separable row-wise Go code. Run: python3 testdata/reference.py
"""
import math

def pictures(w, h):
    """Two 16-bit RGB pictures by a formula that the Go test repeats."""
    a, b = [], []
    for y in range(h):
        for x in range(w):
            for c in range(3):
                v = (x * 2500 + y * 1300 + c * 9000 + (x * y * 37) % 4001) % 65536
                e = (x * 7919 + y * 104729 + c * 1299709 + x * y * 31) % 6001 - 3000
                a.append(v)
                b.append(min(max(v + e, 0), 65535))
    return a, b

def eight(v):
    return math.floor(v * 255 / 65535 + 0.5)

def crop(p, w, h, k):
    return [[p[3 * (y * w + x):3 * (y * w + x) + 3] for x in range(k, w - k)] for y in range(k, h - k)]

def window(n):
    n = 11 if n >= 11 else n if n % 2 else n - 1
    g = [math.exp(-(i - n // 2) ** 2 / 4.5) for i in range(n)]
    return [v / math.fsum(g) for v in g]

def ssim(a, b, peak):
    h, w = len(a), len(a[0])
    gy, gx = window(h), window(w)
    c1, c2, out = (0.01 * peak) ** 2, (0.03 * peak) ** 2, []
    for y in range(h - len(gy) + 1):
        for x in range(w - len(gx) + 1):
            cell = [(gy[j] * gx[i], a[y + j][x + i], b[y + j][x + i]) for j in range(len(gy)) for i in range(len(gx))]
            ma = math.fsum(g * p for g, p, q in cell)
            mb = math.fsum(g * q for g, p, q in cell)
            va = math.fsum(g * (p - ma) ** 2 for g, p, q in cell)
            vb = math.fsum(g * (q - mb) ** 2 for g, p, q in cell)
            cov = math.fsum(g * (p - ma) * (q - mb) for g, p, q in cell)
            out.append((2 * ma * mb + c1) * (2 * cov + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2)))
    return math.fsum(out) / len(out)

def psnr(mse, peak):
    return 10 * math.log10(peak * peak / mse)

for w, h, border, domain in [(40, 33, 0, 8), (40, 33, 4, 8), (40, 33, 0, 1), (16, 7, 0, 8), (6, 14, 1, 1), (3, 2, 0, 8)]:
    peak, unit = (255, eight) if domain == 8 else (1, lambda v: v / 65535)
    a, b = (crop([unit(v) for v in p], w, h, border) for p in pictures(w, h))
    n = len(a) * len(a[0])
    mse = [math.fsum((p[c] - q[c]) ** 2 for r, s in zip(a, b) for p, q in zip(r, s)) / n for c in range(3)]
    plane = lambda p, f: [[f(v) for v in row] for row in p]
    s = [ssim(plane(a, lambda v: v[c]), plane(b, lambda v: v[c]), peak) for c in range(3)]
    luma = lambda v: 0.299 * v[0] + 0.587 * v[1] + 0.114 * v[2]
    y = ssim(plane(a, luma), plane(b, luma), peak)
    f = lambda *v: ", ".join("%.12f" % x for x in v)
    name = "Domain8" if domain == 8 else "DomainFloat"
    print("{%d, %d, %d, %s, [3]float64{%s}, %s, [3]float64{%s}, %s}," % (
        w, h, border, name, f(*(psnr(m, peak) for m in mse)), f(psnr(sum(mse) / 3, peak)), f(*s), f(y)))
