"""The architectures that the recipe trains: pynet-m, and PyNET itself at a small width.

Both take pynet-m's planes (docs/pynet-m.md) and answer with pynet-m's picture, so that
their figures compare.
"""
import json
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

import pynet_m

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts", "pytorch"))
import pynet  # the network that speed is compared with; there are no two definitions of it

CONFIGS = dict(pynet_m.CONFIGS, pynet=dict(width=8, planes=8))


JOINED = 8  # the width up to which second convolutions of a block's branches are computed as one


def layer(convs, x):
    """The leaky ReLUs of several convolutions, computed as one convolution of the largest side: the
    weights of smaller ones lie within zeros. Those that read different planes read parts of x, in order."""
    side, inputs, n = convs[-1].kernel_size[0], convs[0].in_channels, len(convs)
    weights = [F.pad(m.weight, [(side - m.kernel_size[0]) // 2] * 4) for m in convs]
    if x.shape[1] > inputs:
        weights = [F.pad(w, [0] * 4 + [i * inputs, (n - 1 - i) * inputs]) for i, w in enumerate(weights)]
    return F.leaky_relu(F.conv2d(x, torch.cat(weights), torch.cat([m.bias for m in convs]), padding=side // 2), pynet_m.SLOPE)


class Block(pynet.Block):
    """PyNET's block, computed in fewer and larger convolutions, which takes a GPU less time."""

    def branches(self):
        return [[getattr(self, f"conv_{k}{half}").conv2d for half in "ab"] for k in self.sides]

    def start_small(self):
        """Makes the block add little to its input: without norms sums grow from block to block."""
        for _, second in self.branches():
            second.weight.mul_(0.1)

    def start_passing(self):
        """Makes every branch pass as many of the block's inputs on as it has outputs, in order, beside
        weak random weights. Of random weights alone, what reaches a deep layer says little of the input."""
        for i, (first, second) in enumerate(self.branches()):
            n, middle = first.out_channels, first.kernel_size[0] // 2
            part = i % (first.in_channels // n)
            for m, at in (first, part * n), (second, 0):
                m.weight.mul_(0.3)[:, at:at + n, middle, middle] += torch.eye(n)

    def forward(self, x):
        first, second = ([getattr(self, f"conv_{k}{half}").conv2d for k in self.sides] for half in "ab")
        y = layer(first, x)
        if first[0].out_channels <= JOINED:
            return layer(second, y)
        return torch.cat([layer([m], part) for m, part in zip(second, y.chunk(len(second), 1))], 1)


def enlarge(x):
    """Bilinear x2, align_corners true: F.interpolate's values by products with matrices, whose
    gradients need no scattered additions."""
    def matrix(n):
        at = torch.arange(2 * n, device=x.device, dtype=torch.float64) * (n - 1) / (2 * n - 1)
        return (1 - (at.unsqueeze(1) - torch.arange(n, device=x.device)).abs()).clamp(min=0).to(x.dtype)
    n, c, h, w = x.shape
    y = matrix(h) @ x.permute(0, 2, 3, 1).reshape(n, h, w * c)
    y = matrix(w) @ y.reshape(n * 2 * h, w, c)
    return y.reshape(n, 2 * h, 2 * w, c).permute(0, 3, 1, 2)


class Up(pynet.Up):
    def forward(self, x):
        return layer([self.conv2d], enlarge(x))


def pynet_of(config):
    """PyNET as others compute it."""
    return pynet.PyNET(norm=False, norm1=False, end="shuffle", **config)


class PyNET(pynet.PyNET):
    """PyNET (arXiv 2002.05509) of config["width"] channels in its first level, for pynet-m's
    task, with pynet-m's end (docs/pynet.md). It has no instance norms: their statistics over a
    patch are not those of a photo."""

    levels = 5
    RESIDUAL = {1: (7, 8, 9), 2: (5, 6, 7), 3: (3, 4, 5), 4: (4, 5)}  # level: blocks that stand beside a sum
    # The skip starts as linear demosaicing: at the rate of the rest it loses that before the rest has learnt.
    pace = dict(spectral=True, skip=0.1)

    def __init__(self, config):
        super().__init__(norm=False, norm1=False, end="shuffle", **config)
        self.config = config
        for m in self.modules():
            if isinstance(m, pynet.Block):
                m.__class__ = Block
            if isinstance(m, pynet.Up):
                m.__class__ = Up
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, a=pynet_m.SLOPE)
                nn.init.zeros_(m.bias)
        with torch.no_grad():
            self.conv_l0_d1.conv2d.weight.mul_(0.1)
            for level, blocks in self.BLOCKS.items():
                for d, _, _ in blocks:
                    block = getattr(self, f"conv_l{level}_d{d}")
                    if d in self.RESIDUAL.get(level, ()):
                        block.start_small()
                    elif d > 1:
                        block.start_passing()
        pynet_m.start_skip(self.skip)

    def answer(self, x, kind, skip_kind):
        """The picture, in float32, computed in a type, its linear skip in another."""
        y = self.conv_l0_d1(self.features(x.to(kind)))
        return F.pixel_shuffle(y.float() + self.skip(x.to(skip_kind)).float(), 2)

    def metadata(self):
        return {"arch": "pynet", "width": self.config["width"], "level": 0, "norm": "false", "norm1": "false", "end": "shuffle",
                "convention.pack": "0,0 0,1 1,0 1,1", "convention.subtract_black": "true", "convention.divisor": 1,
                "convention.output": "camera-gamma"}


def build(config):
    """The network of a configuration."""
    return PyNET(config) if "width" in config else pynet_m.PyNETM(config)


def start_from(model, state):
    """Loads weights into a network, which may have more blocks if it is a pynet-m."""
    if isinstance(model, pynet_m.PyNETM):
        pynet_m.start_from(model, state)
    else:
        model.load_state_dict(state)


def config_of(metadata, tensors):
    """The configuration of a weights file."""
    if metadata["arch"] == "pynet":
        first = tensors["conv_l1_d1.conv_3a.conv2d.weight"]
        return dict(width=first.shape[0], planes=first.shape[1])
    return json.loads(metadata["arch.config"])


def cost(config):
    """(multiply-accumulates per packed pixel, parameters) of a configuration."""
    if "widths" in config:
        return pynet_m.cost(config)
    mac = params = 0
    for name, m in PyNET(config).named_modules():
        if isinstance(m, nn.Conv2d):
            params += m.weight.numel() + m.bias.numel()
            level = int(name[6]) if name.startswith("conv") else 1  # conv_l3_d1..., conv_t2a...: computed at its sides
            mac += m.weight.numel() / 4 ** max(0, level - 1)  # the end's too are packed sides
    return mac, params
