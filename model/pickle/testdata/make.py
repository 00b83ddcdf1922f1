"""Makes the test files beside it, with PyTorch.

    python3 make.py [FOLDER]           the samples of the reader's tests
    python3 make.py formula SEED FILE  FILE.zip.pth and FILE.old.pth with tensors
                                       listed on standard input, one
                                       "NAME D0 D1 ..." a line

Debian's python3-torch 1.13 made the files that are committed. Weights are those
of the formula in testdata/golden/README.md, written here a second time.
"""
import collections
import math
import os
import sys

import torch

MASK = (1 << 64) - 1


def save(value, path):
    torch.save(value, path + ".zip.pth")
    torch.save(value, path + ".old.pth", _use_new_zipfile_serialization=False)


def uniform(seed, name, n):
    start = 0xCBF29CE484222325
    for byte in (seed + name).encode():
        start = ((start ^ byte) * 0x100000001B3) & MASK
    out = []
    for i in range(n):
        x = (start + i + 0x9E3779B97F4A7C15) & MASK
        x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
        out.append(((x ^ x >> 31) >> 40) / (1 << 24))
    return out


def formula(seed, name, shape):
    if len(shape) == 4:
        offset, scale = 0, math.sqrt(6 / (1.04 * shape[1] * shape[2] * shape[3]))
    elif name.endswith("instance.weight"):
        offset, scale = 1, 0.2
    elif name.endswith("instance.bias"):
        offset, scale = 0, 0.1
    else:
        offset, scale = 0, 0.05
    u = torch.tensor(uniform(seed, name, math.prod(shape)), dtype=torch.float64)
    return (offset + (2 * u - 1) * scale).float().reshape(shape)


def level5(width):
    """Names and shapes of PyNET down to level 5, with instance norm below level 1."""
    def layer(name, i, o, norm):
        out = {name + ".conv2d.weight": (o, i, 3, 3), name + ".conv2d.bias": (o,)}
        if norm:
            out.update({name + ".instance.weight": (o,), name + ".instance.bias": (o,)})
        return out

    out, i = {}, 4
    for block in ["l1_d1", "l2_d1", "l3_d1", "l4_d1", "l5_d1", "l5_d2", "l5_d3", "l5_d4"]:
        o = width << int(block[1]) - 1
        out.update(layer("conv_%s.conv_3a" % block, i, o, block != "l1_d1"))
        out.update(layer("conv_%s.conv_3b" % block, o, o, block != "l1_d1"))
        i = o
    out.update(layer("conv_l5_out", i, 3, False))
    return out


def samples(folder):
    def put(name, value):
        save(value, os.path.join(folder, name))

    ramp = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4) / 7 - 1
    put("floats", collections.OrderedDict(
        f32=ramp, f16=ramp.half(), bf16=ramp.bfloat16(), f64=ramp.double(),
        scalar=torch.tensor(2.5), empty=torch.zeros(0, 3)))
    put("views", {
        "whole": ramp, "transposed": ramp.permute(2, 0, 1), "row": ramp[1, 2], "column": ramp[:, 1, 3],
        "channels_last": ramp.reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last),
        "parameter": torch.nn.Parameter(ramp[0])})
    linear = torch.nn.Linear(3, 2)
    with torch.no_grad():
        linear.weight.copy_(ramp[0, :2, :3])
        linear.bias.copy_(ramp[1, 0, :2])
    put("module", linear.state_dict())  # with _metadata
    put("checkpoint", {"epoch": 3, "rate": 0.5, "done": True, "steps": torch.tensor(7),
                       "list": [1, 2, (3, None)], "big": 1 << 40, "state_dict": linear.state_dict()})
    put("integers", {"weight": ramp, "count": torch.tensor([1, 2])})
    put("foreign", {"weight": ramp, "device": torch.device("cpu")})
    put("not_tensors", {"weight": ramp, "epoch": 1})
    put("list", [ramp])
    put("expanded", {"bomb": torch.zeros(1).expand(1 << 40)})
    put("pynet", {"module." + name: formula("file", name, shape).half() for name, shape in level5(2).items()})


def listed(seed, path):
    out = collections.OrderedDict()
    for line in sys.stdin:
        name, *shape = line.split()
        out[name] = formula(seed, name, [int(d) for d in shape])
    save(out, path)


if len(sys.argv) == 4 and sys.argv[1] == "formula":
    listed(sys.argv[2], sys.argv[3])
else:
    samples(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)))
