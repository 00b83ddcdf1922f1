"""pynet-m: a noise-aware multi-scale network of PyNET's kind (docs/pynet-m.md).

Input  (N, 8, H, W): four mosaic planes of an RGGB mosaic, four noise planes; or
       (N, 24, H, W): twelve masked planes of any mosaic, twelve noise planes.
Output (N, 3, 2H, 2W): camera-space white-balanced light, sRGB curve, unclipped.
"""
import json

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

SLOPE = 0.2  # of every LeakyReLU

# What arch.config holds. widths[i], encoder[i], decoder[i] are of level i+1;
# the deepest level has no decoder.
CONFIGS = {
    "fast": dict(widths=[24, 48, 64], encoder=[1, 0, 1], decoder=[3, 1],
                 down_kernel=3, up_kernel=1, head_kernel=3, skip_kernel=5),
    "best": dict(widths=[48, 64, 96, 128], encoder=[1, 1, 1, 1], decoder=[5, 1, 1],
                 down_kernel=3, up_kernel=1, head_kernel=3, skip_kernel=5),
    "max": dict(widths=[96, 128, 160, 160], encoder=[1, 1, 1, 1], decoder=[6, 2, 1],
                down_kernel=3, up_kernel=1, head_kernel=3, skip_kernel=5),
    "any": dict(widths=[48, 64, 96, 128], encoder=[2, 2, 2, 1], decoder=[8, 3, 2],
                down_kernel=3, up_kernel=1, head_kernel=3, skip_kernel=5, planes=24),
}


def planes(config):
    """Input planes of a configuration."""
    return config.get("planes", 8)


def config_text(config):
    """The JSON text of a configuration as stored in a weights file."""
    return json.dumps(config, separators=(",", ":"), sort_keys=True)


class Conv(nn.Conv2d):
    """An odd-sized convolution with bias, padded with zeros."""

    def __init__(self, cin, cout, k, gain=1.0):
        super().__init__(cin, cout, k, padding=k // 2)
        nn.init.kaiming_normal_(self.weight, a=SLOPE)
        with torch.no_grad():
            self.weight.mul_(gain)
        nn.init.zeros_(self.bias)


def enlarge(x):
    """Bilinear x2, align_corners false: F.interpolate's values from slices, whose
    gradients need no scattered additions."""
    def along(x, dim):
        n = x.shape[dim]
        before = torch.cat([x.narrow(dim, 0, 1), x.narrow(dim, 0, n - 1)], dim)
        after = torch.cat([x.narrow(dim, 1, n - 1), x.narrow(dim, n - 1, 1)], dim)
        return torch.stack([0.75 * x + 0.25 * before, 0.75 * x + 0.25 * after], dim + 1).flatten(dim, dim + 1)
    return along(along(x.permute(0, 2, 3, 1), 1), 2).permute(0, 3, 1, 2)


class Block(nn.Module):
    """x + b(lrelu(a(x)))"""

    def __init__(self, width):
        super().__init__()
        self.a = Conv(width, width, 3)
        self.b = Conv(width, width, 3, gain=0.1)

    def forward(self, x):
        return x + self.b(F.leaky_relu(self.a(x), SLOPE))


def blocks(width, n):
    return nn.Sequential(*[Block(width) for _ in range(n)])


class PyNETM(nn.Module):
    pace = {}  # options of optimise.Update

    def __init__(self, config):
        super().__init__()
        self.config = config
        w, levels = config["widths"], len(config["widths"])
        self.levels = levels
        self.stem = Conv(planes(config), w[0], 3)
        for l in range(1, levels + 1):
            if l > 1:
                setattr(self, f"down{l}", Conv(w[l - 2], w[l - 1], config["down_kernel"]))
            setattr(self, f"enc{l}", blocks(w[l - 1], config["encoder"][l - 1]))
        for l in range(levels - 1, 0, -1):
            setattr(self, f"up{l}", Conv(w[l], w[l - 1], config["up_kernel"], gain=0.3))
            setattr(self, f"dec{l}", blocks(w[l - 1], config["decoder"][l - 1]))
        self.head = Conv(w[0], 12, config["head_kernel"], gain=0.1)
        self.skip = Conv(planes(config), 12, config["skip_kernel"])
        start_skip(self.skip)

    def forward(self, x):
        return F.pixel_shuffle(self.body(x) + self.skip(x), 2)

    def answer(self, x, kind, skip_kind):
        """The picture, in float32, computed in a type, its linear skip in another."""
        return F.pixel_shuffle(self.body(x.to(kind)).float() + self.skip(x.to(skip_kind)).float(), 2)

    def metadata(self):
        return {"arch": "pynet-m", "arch.config": config_text(self.config)}

    def body(self, x):
        """The head's 12 planes, before the linear skip is added."""
        f = self.enc1(self.stem(x))
        level = [f]
        for l in range(2, self.levels + 1):
            f = getattr(self, f"down{l}")(F.max_pool2d(f, 2))
            f = getattr(self, f"enc{l}")(f)
            level.append(f)
        for l in range(self.levels - 1, 0, -1):
            u = getattr(self, f"up{l}")(f)
            f = getattr(self, f"dec{l}")(level[l - 1] + enlarge(u))
        return self.head(f)


# Malvar, He, Cutler, "High-quality linear interpolation for demosaicing of Bayer-patterned
# color images", 2004, figure 2, in eighths: green at red or blue; a colour at green in its
# own row; red at blue.
GREEN_THERE = ((0, 0, -1, 0, 0), (0, 0, 2, 0, 0), (-1, 2, 4, 2, -1), (0, 0, 2, 0, 0), (0, 0, -1, 0, 0))
IN_ITS_ROW = ((0, 0, .5, 0, 0), (0, -1, 0, -1, 0), (-1, 4, 5, 4, -1), (0, -1, 0, -1, 0), (0, 0, .5, 0, 0))
ACROSS = ((0, 0, -1.5, 0, 0), (0, 2, 0, 2, 0), (-1.5, 0, 6, 0, -1.5), (0, 2, 0, 2, 0), (0, 0, -1.5, 0, 0))


def linear_demosaic(colour, i, j):
    """The 5x5 weights that make a colour at row i and column j of RGGB quads."""
    if colour == (0, 1, 1, 2)[2 * i + j]:
        return torch.tensor([0.0] * 12 + [1] + [0] * 12).view(5, 5)
    if colour == 1:
        return torch.tensor(GREEN_THERE) / 8
    if i != j:
        row = torch.tensor(IN_ITS_ROW) / 8
        return row if (colour == 0) == (i == 0) else row.T
    return torch.tensor(ACROSS) / 8


def start_skip(skip):
    """Starts the linear skip near the answer: as linear demosaicing, or, if the planes are
    masked, as the samples that are there."""
    k = skip.kernel_size[0] // 2
    with torch.no_grad():
        skip.weight.zero_()
        if skip.in_channels == 24:
            for p in range(12):
                skip.weight[p, p, k, k] = 1
            return
        for p in range(12):
            colour, i, j = p // 4, p // 2 % 2, p % 2
            for (y, x), v in np.ndenumerate(linear_demosaic(colour, i, j).numpy()):
                row, column = i + y - 2, j + x - 2  # in pixels of the quad's first
                skip.weight[p, 2 * (row % 2) + column % 2, k + row // 2, k + column // 2] = float(v)


def start_from(model, state):
    """Loads the weights of a network of the same widths. Blocks that it has not begin as
    identities, so that the larger network begins with the smaller one's answers."""
    missing, unexpected = model.load_state_dict(state, strict=False)
    blocks = sorted({name.rsplit(".", 2)[0] for name in missing})
    if unexpected:
        raise ValueError(f"these weights are of another network: {', '.join(unexpected)} has no place in it")
    for name in blocks:
        block = model.get_submodule(name)
        if not isinstance(block, Block):
            raise ValueError(f"these weights are of another network: they lack {name}, which is not a block")
        nn.init.zeros_(block.b.weight)
    return blocks


def cost(config):
    """(multiply-accumulates per packed pixel, parameters) of a configuration."""
    model = PyNETM(config)
    mac = params = 0
    for name, m in model.named_modules():
        if not isinstance(m, Conv):
            continue
        n = m.weight.numel()
        params += n + m.bias.numel()
        part = name.split(".")[0]
        level = int(part[-1]) if part[-1].isdigit() else 1
        if part.startswith("up"):
            level += 1  # runs before the enlargement
        mac += n / 4 ** (level - 1)
    return mac, params


if __name__ == "__main__":
    for name, config in CONFIGS.items():
        mac, params = cost(config)
        print(f"{name}: {mac/1e3:.1f} kMAC/px, {2*mac*1440*1984/1e12:.3f} TFLOP for 12 MP, "
              f"{params} parameters, {2*params/1e6:.2f} MB fp16\n  {config_text(config)}")
