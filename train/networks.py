"""The architectures that the recipe trains: pynet-m, and PyNET itself at a small width.

Both take pynet-m's planes (docs/pynet-m.md) and answer with pynet-m's picture, so that
their figures compare.
"""
import json
import os
import sys

import torch
from torch import nn

import pynet_m

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts", "pytorch"))
import pynet  # the network that speed is compared with; there are no two definitions of it

CONFIGS = dict(pynet_m.CONFIGS, pynet=dict(width=8, planes=8))


class PyNET(pynet.PyNET):
    """PyNET (arXiv 2002.05509) of config["width"] channels in its first level, for pynet-m's
    task. It has no instance norms: their statistics over a patch are not those of a photo."""

    levels = 5

    def __init__(self, config):
        super().__init__(norm=False, norm1=False, **config)
        self.config = config
        for name, m in self.named_modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, a=pynet_m.SLOPE)
                nn.init.zeros_(m.bias)
                with torch.no_grad():
                    # Without norms, sums of blocks and their inputs would grow from block to block.
                    m.weight.mul_(0.1 if name.startswith("conv_l0") else 0.5 if "b.conv2d" in name else 1)
        self.start_as_enlargement()

    @torch.no_grad()
    def start_as_enlargement(self):
        """Lets the mosaic's planes pass through the first and the last blocks of level 1, so
        that training starts from bilinear demosaicing and need not first find a way for them."""
        last = self.conv_l1_d14.conv_3a.conv2d
        shares_first = last.in_channels - self.config["width"]  # where d14 reads d1
        for m, first in ((self.conv_l1_d1.conv_3a.conv2d, 0), (self.conv_l1_d1.conv_3b.conv2d, 0), (last, shares_first),
                         (self.conv_l1_d14.conv_3b.conv2d, 0), (self.conv_t0.conv2d, 0)):
            n = min(4, m.out_channels)
            m.weight[:n].mul_(0.05)
            for i in range(n):
                m.weight[i, first + i, 1, 1] = 1
        if self.config["width"] >= 8:  # R, G, G, B get as far as this; sigmoid(4 x - 2) is near x
            w = self.conv_l0_d1.conv2d.weight
            for colour, planes in enumerate(((0,), (1, 2), (3,))):
                for p in planes:
                    w[colour, p, 1, 1] = 4 / len(planes)
            self.conv_l0_d1.conv2d.bias.fill_(-2)

    def answer(self, x, kind, _):
        """The picture, in float32, computed in a type."""
        return torch.sigmoid(self.logits(x.to(kind)).float())

    def set_padding(self, mode):
        """Sets how convolutions pad: "reflect" or "zeros"."""
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                m.padding_mode = mode

    def metadata(self):
        return {"arch": "pynet", "width": self.config["width"], "level": 0, "norm": "false", "norm1": "false",
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
            level = int(name[6])  # conv_l3_d1..., conv_t2a...: computed at the sides of that level
            mac += m.weight.numel() / 4 ** (level - 1)
    return mac, params
