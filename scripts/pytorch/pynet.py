"""PyNET and pynet-s in PyTorch: the peer that speed and memory are compared with.

    import pynet
    net = pynet.pynet("gold")                  # random weights by formula, see pynet_weights
    net = pynet.pynet_s(pynet.read_safetensors("model/weights/pynet-s.safetensors"))
    with torch.no_grad(): y = net(x)           # x (1,4,h,w) packed; y (1,3,2h,2w)

Both are eval-mode torch.nn.Modules whose state dicts have the published names, so
.half(), .cuda(), channels_last and torch.compile work as on any module. PyNET
computes level 0 alone, without the side outputs of training. Values live as long as
the next reader needs them: each level is a function of its own.

    pynet.py check              compare with testdata/golden, exit 1 if it differs
    pynet.py time MODEL HxW     MODEL pynet or pynet-s; packed sides; prints JSON:
                                seconds of each run, median, processor seconds, peak resident bytes
Needs torch and numpy; --threads sets torch's (time: 2 by default)."""
import argparse
import json
import math
import os
import statistics
import struct
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def mirrored(k, fan_in, fan_out):
    """A k×k convolution with reflection padding."""
    return nn.Conv2d(fan_in, fan_out, k, padding=k // 2, padding_mode="reflect")


class Layer(nn.Module):
    """Convolution, instance norm if asked for, LeakyReLU 0.2."""

    def __init__(self, fan_in, fan_out, k, norm=False):
        super().__init__()
        self.conv2d = mirrored(k, fan_in, fan_out)
        self.instance = nn.InstanceNorm2d(fan_out, affine=True) if norm else None

    def forward(self, x):
        x = self.conv2d(x)
        if self.instance is not None:
            x = self.instance(x)
        return F.leaky_relu_(x, 0.2)


class Block(nn.Module):
    """Two layers of side k for every k of 3, 5, ... largest, joined on channels."""

    def __init__(self, fan_in, fan_out, largest, norm=False):
        super().__init__()
        self.sides = range(3, largest + 1, 2)
        for k in self.sides:
            self.add_module(f"conv_{k}a", Layer(fan_in, fan_out, k, norm))
            self.add_module(f"conv_{k}b", Layer(fan_out, fan_out, k, norm))

    def forward(self, x):
        branches = [getattr(self, f"conv_{k}b")(getattr(self, f"conv_{k}a")(x)) for k in self.sides]
        return branches[0] if len(branches) == 1 else torch.cat(branches, 1)


class Up(nn.Module):
    """Bilinear enlargement by two, then a 3×3 layer."""

    def __init__(self, fan_in, fan_out, align_corners):
        super().__init__()
        self.conv2d = mirrored(3, fan_in, fan_out)
        self.align_corners = align_corners

    def forward(self, x):
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=self.align_corners)
        return F.leaky_relu_(self.conv2d(x), 0.2)


class Plain(nn.Module):
    """A convolution alone, where PyNET's names have a module around it."""

    def __init__(self, fan_in, fan_out):
        super().__init__()
        self.conv2d = mirrored(3, fan_in, fan_out)

    def forward(self, x):
        return self.conv2d(x)


class PyNET(nn.Module):
    """Level 0 of PyNET (arXiv 2002.05509), whose first level has so many channels a branch
    and whose input so many planes: 32 and 4 as published. end="shuffle" replaces the published
    end by a pixel shuffle and a linear path from the input, and pads with zeros (docs/pynet.md)."""

    # level: (block, input channels at the published width, largest side); all make 2^(level+4) channels a side there.
    BLOCKS = {
        1: [(1, 4, 3), (3, 64, 5), (5, 96, 7), (6, 96, 9), (7, 128, 9), (8, 128, 9), (9, 128, 9), (10, 128, 7), (12, 128, 5), (14, 128, 3)],
        2: [(1, 32, 3), (3, 128, 5), (5, 192, 7), (6, 192, 7), (7, 192, 7), (8, 192, 7), (10, 256, 5), (12, 192, 3)],
        3: [(1, 64, 3), (3, 256, 5), (4, 256, 5), (5, 256, 5), (6, 256, 5), (8, 512, 3)],
        4: [(1, 128, 3), (3, 512, 3), (4, 256, 3), (5, 256, 3), (6, 256, 3), (8, 512, 3)],
        5: [(1, 256, 3), (2, 512, 3), (3, 512, 3), (4, 512, 3)],
    }

    def __init__(self, norm=True, norm1=True, width=32, planes=4, end="bilinear"):
        super().__init__()
        self.end = end
        for level, blocks in self.BLOCKS.items():
            for d, fan_in, largest in blocks:
                normed = norm if level > 1 else norm1 and d not in (1, 3, 14)
                fan_in = planes if (level, d) == (1, 1) else fan_in * width // 32
                self.add_module(f"conv_l{level}_d{d}", Block(fan_in, width << level - 1, largest, normed))
        for level in range(1, 5):
            for branch in "ab":
                self.add_module(f"conv_t{level}{branch}", Up(width << level, width << level - 1, True))
        if end == "shuffle":
            self.conv_l0_d1 = Plain(width, 12)
            self.skip = mirrored(5, planes, 12)
            for m in self.modules():
                if isinstance(m, nn.Conv2d):
                    m.padding_mode = "zeros"
        else:
            self.conv_t0 = Up(width, width // 2, True)
            self.conv_l0_d1 = Plain(width // 2, 3)

    def forward(self, x):
        y = self.features(x)
        if self.end == "shuffle":
            return F.pixel_shuffle(self.conv_l0_d1(y) + self.skip(x), 2)
        return torch.sigmoid(self.conv_l0_d1(self.conv_t0(y)))

    def features(self, x):
        """What level 1 ends with: width channels at the packed sides."""
        first = {}
        for level in range(1, 5):
            first[level] = self.block(level, 1, x)
            x = F.max_pool2d(first[level], 2)
        for d in (1, 2, 3, 4):
            x = self.block(5, d, x)
        for level, rest in ((4, self.level4), (3, self.level3), (2, self.level2), (1, self.level1)):
            a, b = getattr(self, f"conv_t{level}a")(x), getattr(self, f"conv_t{level}b")(x)
            x = rest(first.pop(level), a, b)
        return x

    def block(self, level, d, *parts):
        x = torch.cat(parts, 1) if len(parts) > 1 else parts[0]
        return getattr(self, f"conv_l{level}_d{d}")(x)

    def residual(self, level, d, *parts):
        x = torch.cat(parts, 1) if len(parts) > 1 else parts[0]
        y = self.block(level, d, x)
        return y + x if torch.is_grad_enabled() else y.add_(x)  # gradients need y

    def level4(self, d1, a, b):
        x = self.block(4, 3, d1, a)
        for d in (4, 5):
            x = self.residual(4, d, x)
        x = self.block(4, 6, x)
        return self.block(4, 8, x, b)

    def level3(self, d1, a, b):
        x = self.residual(3, 3, d1, a)
        for d in (4, 5):
            x = self.residual(3, d, x)
        x = self.block(3, 6, x)
        return self.block(3, 8, x, d1, b)

    def level2(self, d1, a, b):
        x = self.block(2, 3, d1, a)
        x = self.residual(2, 5, x, d1)
        for d in (6, 7):
            x = self.residual(2, d, x)
        x = self.block(2, 8, x)
        x = self.block(2, 10, x, d1)
        return self.block(2, 12, x, b)

    def level1(self, d1, a, b):
        x = self.block(1, 3, d1, a)
        x = self.block(1, 5, x, d1)
        x = self.block(1, 6, x)
        for d in (7, 8, 9):
            x = self.residual(1, d, x)
        x = self.block(1, 10, x)
        x = self.block(1, 12, x, d1)
        return self.block(1, 14, x, b, d1)


class PyNETS(nn.Module):
    """The small network that comes with the program; docs and model/pynets.go have the graph."""

    def __init__(self, widths=(24, 40, 64, 96)):
        super().__init__()
        fan_in = 4
        for level, width in enumerate(widths, 1):
            self.add_module(f"conv_l{level}_d1", Block(fan_in, width, 3))
            fan_in = width
        self.last = {1: 6, 2: 5, 3: 5}
        for d in (2, 3):
            self.add_module(f"conv_l4_d{d}", Block(widths[3], widths[3], 3))
        for level in (3, 2, 1):
            width = widths[level - 1]
            each, largest = (width, 3) if level == 3 else (width // 2, 5)
            self.add_module(f"conv_t{level}a", Up(widths[level], width, False))
            self.add_module(f"conv_l{level}_d3", Block(2 * width, each, largest))
            for d in range(4, self.last[level] + 1):
                self.add_module(f"conv_l{level}_d{d}", Block(width, each, largest))
        self.conv_l1_d7 = Block(widths[0], widths[0], 3)
        self.conv_l1_out = mirrored(3, widths[0], 12)
        self.skip = mirrored(5, 4, 12)

    def forward(self, x):
        photo, first = x, {}
        for level in range(1, 5):
            x = first[level] = self.block(level, 1, x if level == 1 else F.max_pool2d(x, 2))
        for d in (2, 3):
            x = self.block(4, d, x).add_(x)
        for level in (3, 2, 1):
            x = self.block(level, 3, torch.cat((first[level], getattr(self, f"conv_t{level}a")(x)), 1))
            for d in range(4, self.last[level] + 1):
                x = self.block(level, d, x).add_(x)
        x = self.conv_l1_d7(x).add_(first[1])
        return F.pixel_shuffle(self.conv_l1_out(x).add_(self.skip(photo)), 2)

    def block(self, level, d, x):
        return getattr(self, f"conv_l{level}_d{d}")(x)


def formula(seed, name, shape):
    """Reproducible u in [0,1): splitmix64 over the 64-bit FNV-1a hash of seed+name."""
    start = 0xCBF29CE484222325
    for byte in (seed + name).encode():
        start = (start ^ byte) * 0x100000001B3 % 2**64
    with np.errstate(over="ignore"):
        x = np.uint64(start) + np.arange(math.prod(shape), dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return ((x >> np.uint64(40)).astype(np.float64) / 2**24).reshape(shape)


def formula_weights(net, seed):
    """The weights that the program's pynet-random:SEED has."""
    state = {}
    for name, old in net.state_dict().items():
        v = 2 * formula(seed, name, tuple(old.shape)) - 1
        if ".instance." in name:
            v = 1 + 0.2 * v if name.endswith("weight") else 0.1 * v
        else:
            v = v * math.sqrt(6 / (1.04 * math.prod(old.shape[1:]))) if name.endswith("weight") else 0.05 * v
        state[name] = torch.from_numpy(v.astype(np.float32))
    return state


def read_safetensors(path):
    """The float32 tensors of a safetensors file by name."""
    with open(path, "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        header, data = json.loads(f.read(size)), f.read()
    state = {}
    for name, t in header.items():
        if name == "__metadata__":
            continue
        if t["dtype"] != "F32":
            raise ValueError(f"{path}: {name} is {t['dtype']}, want F32")
        begin, end = t["data_offsets"]
        state[name] = torch.from_numpy(np.frombuffer(data[begin:end], "<f4").reshape(t["shape"]).copy())
    return state


def pynet(seed="gold", norm=True, norm1=True):
    """PyNET with the weights of pynet-random:SEED."""
    net = PyNET(norm, norm1)
    net.load_state_dict(formula_weights(net, seed))
    return net.eval()


def pynet_s(state=None):
    """pynet-s with the given state dict, or the program's own."""
    net = PyNETS()
    net.load_state_dict(state or read_safetensors(os.path.join(ROOT, "model", "weights", "pynet-s.safetensors")))
    return net.eval()


def packed(seed, h, w):
    """The input that golden results and enhance bench net use, for their seeds."""
    return torch.from_numpy(formula(seed, "input", (1, 4, h, w)).astype(np.float32))


def golden(name, *shape):
    path = os.path.join(ROOT, "testdata", "golden", name)
    return torch.from_numpy(np.fromfile(path, "<f4").reshape(shape))


def check():
    """Compares every golden result in float32; returns whether all are close."""
    good = True
    cases = [
        ("pynet_gold_96x128", pynet(), packed("gold", 96, 128), golden("pynet_gold_96x128.f32", 1, 3, 192, 256)),
        ("pynet_gold_80x112_nonorm1", pynet(norm1=False), packed("gold", 80, 112), golden("pynet_gold_80x112_nonorm1.f32", 1, 3, 160, 224)),
        ("pynet_s_96x128", pynet_s(), golden("pynet_s_96x128.x.f32", 1, 4, 96, 128), golden("pynet_s_96x128.y.f32", 1, 3, 192, 256)),
    ]
    with torch.no_grad():
        for name, net, x, want in cases:
            worst = (net(x) - want).abs().max().item()
            ok = worst < 2e-4
            good = good and ok
            print(f"{name}: largest difference {worst:.2g} {'ok' if ok else 'TOO MUCH'}")
    return good


def cpu_seconds():
    """Processor seconds of the process so far, of all its threads."""
    return sum(os.times()[:2])


def peak_resident():
    """The largest resident set the process ever had, in bytes (Linux)."""
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(model, size, runs, hold):
    """Times forward passes on the CPU, after one that does not count. With hold all
    blocks' values live to the end, as in a forward function that names them all."""
    h, w = map(int, size.lower().split("x"))
    net, held = {"pynet": pynet, "pynet-s": pynet_s}[model](), []
    if hold:
        for module in net.modules():
            if isinstance(module, (Block, Up)):
                module.register_forward_hook(lambda _, inputs, y: held.extend((*inputs, y)))
    x, took, cpu = packed("bench", h, w), [], []
    with torch.no_grad():
        for _ in range(runs + 1):
            start, before = time.perf_counter(), cpu_seconds()
            y = net(x)
            took.append(time.perf_counter() - start)
            cpu.append(cpu_seconds() - before)
            del y
            held.clear()
    return {"model": model, "torch": torch.__version__, "threads": torch.get_num_threads(), "runs": took[1:],
            "seconds": statistics.median(took[1:]), "cpu_seconds": statistics.median(cpu[1:]), "peak_resident": peak_resident()}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--threads", type=int, default=2)
    sub = p.add_subparsers(dest="command", required=True)
    sub.add_parser("check")
    t = sub.add_parser("time")
    t.add_argument("model", choices=["pynet", "pynet-s"])
    t.add_argument("size")
    t.add_argument("--runs", type=int, default=1)
    t.add_argument("--hold", action="store_true", help="let all blocks' values live to the end")
    args = p.parse_args()
    torch.set_num_threads(args.threads)
    if args.command == "check":
        return 0 if check() else 1
    print(json.dumps(measure(args.model, args.size, args.runs, args.hold)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
