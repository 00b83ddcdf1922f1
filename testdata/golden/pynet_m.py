"""Makes pynet_m_tiny.x.f32 and .y.f32 beside it, pynet_m_masked.y.f32 and
pynet_shuffle_48x32.y.f32: the outputs of small pynet-m, one of masked planes, and of a small
PyNET that ends in a pixel shuffle, with the weights and the inputs of README.md's
formula, by PyTorch in float64.

    python3 testdata/golden/pynet_m.py
"""
import math
import os
import sys

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "train"))
from networks import pynet  # noqa: E402
from pynet_m import PyNETM  # noqa: E402

SEED = "gold"
CONFIG = dict(widths=[8, 16, 24], encoder=[1, 0, 2], decoder=[1, 0], down_kernel=3, up_kernel=1, head_kernel=3, skip_kernel=5)
H, W = 28, 36
MASK = (1 << 64) - 1


def uniform(name, n):
    start = 0xCBF29CE484222325
    for byte in (SEED + name).encode():
        start = ((start ^ byte) * 0x100000001B3) & MASK
    out = []
    for i in range(n):
        x = (start + i + 0x9E3779B97F4A7C15) & MASK
        x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
        out.append(((x ^ x >> 31) >> 40) / (1 << 24))
    return torch.tensor(out, dtype=torch.float64)


def run(model, planes, h=H, w=W):
    model = model.double().eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            u = 2 * uniform(name, p.numel()) - 1
            scale = math.sqrt(6 / (1.04 * p[0].numel())) if p.dim() == 4 else 0.05
            p.copy_((u * scale).float().double().reshape(p.shape))
        x = uniform("input", planes * h * w).float().reshape(1, planes, h, w)
        y = model(x.double())
    print(tuple(y.shape), float(y.mean()), float(y.std(unbiased=False)))
    return x, y


def write(name, values):
    values.numpy().astype("<f4").tofile(os.path.join(HERE, name))


def main():
    x, y = run(PyNETM(CONFIG), 8)
    write("pynet_m_tiny.x.f32", x)
    write("pynet_m_tiny.y.f32", y)
    write("pynet_m_masked.y.f32", run(PyNETM(dict(CONFIG, planes=24)), 24)[1])
    shuffle = pynet.PyNET(norm=False, norm1=False, width=4, end="shuffle")
    write("pynet_shuffle_48x32.y.f32", run(shuffle, 4, 48, 32)[1])


main()
