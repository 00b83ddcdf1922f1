"""What PyNET's published end can hold: PSNR of crops of photos to which its channels and weights are fitted (docs/pynet.md).

    pynet_end.py --photos DIR       a table of channels and places in the photo; some minutes a line

The channels before the end are free and know the true crop, as no network does. Needs torch, numpy and Pillow.
"""
import argparse
import math
import os

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F

SIDE, EDGE = 40, 8  # of a crop, in quads; pixels that do not count
PLACES = {"middle": [-0.25] * 6, "first rows": [0.0] * 6, "six places": [0, -0.1, -0.2, -0.3, -0.4, -0.5]}


def crops(folder):
    """The middles of six photos at half their sides."""
    names = sorted(n for n in os.listdir(folder) if n.lower().endswith(".jpg"))[5::24][:6]
    out = []
    for name in names:
        photo = Image.open(os.path.join(folder, name)).convert("RGB")
        a = np.asarray(photo.resize((photo.width // 4 * 2, photo.height // 4 * 2), Image.LANCZOS), np.float32) / 255
        y, x = a.shape[0] // 4 * 2, a.shape[1] // 4 * 2
        out.append(a[y - SIDE:y + SIDE, x - SIDE:x + SIDE])
    return torch.from_numpy(np.stack(out)).permute(0, 3, 1, 2)


def enlargement(phase):
    """Bilinear x2 as a matrix: row y reads y/2 + phase, which is 0 in a photo's first rows, -1/2 in its last."""
    at = (torch.arange(2 * SIDE) / 2 + phase).clamp(0, SIDE - 1)
    return (1 - (at.unsqueeze(1) - torch.arange(SIDE)).abs()).clamp(min=0)


def fit(truth, channels, phases, steps):
    """Mean PSNR of the crops, by Adam with a cosine."""
    torch.manual_seed(1)
    up = torch.stack([enlargement(p) for p in phases])
    start = F.pixel_unshuffle(truth, 2)[:, :channels]
    free = torch.cat([start, 0.1 * torch.randn(len(truth), channels - start.shape[1], SIDE, SIDE)], 1).requires_grad_(True)
    a = nn.Conv2d(channels, channels // 2, 3, padding=1, padding_mode="reflect")
    b = nn.Conv2d(channels // 2, 3, 3, padding=1, padding_mode="reflect")
    optimiser = torch.optim.Adam([dict(params=[free], lr=0.02), dict(params=[*a.parameters(), *b.parameters()], lr=0.004)])
    for step in range(steps):
        for group, rate in zip(optimiser.param_groups, (0.02, 0.004)):
            group["lr"] = rate * 0.5 * (1 + math.cos(math.pi * step / steps)) + 1e-5
        x = torch.einsum("nxw,ncyw->ncyx", up, torch.einsum("nyh,nchw->ncyw", up, free))
        error = (b(F.leaky_relu(a(x), 0.2)) - truth) ** 2
        optimiser.zero_grad()
        error.mean().backward()
        optimiser.step()
    return -10 * torch.log10(error.detach()[:, :, EDGE:-EDGE, EDGE:-EDGE].mean((1, 2, 3))).mean().item()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--photos", required=True)
    p.add_argument("--steps", type=int, default=800)
    args = p.parse_args()
    truth = crops(args.photos)
    for channels in (8, 16, 32):
        for place, phases in PLACES.items():
            print(f"{channels} channels, {place}: {fit(truth, channels, phases, args.steps):.2f} dB", flush=True)


if __name__ == "__main__":
    main()
