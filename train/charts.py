"""Writes test charts that photos lack: python3 charts.py DIR, then enhance eval DIR/structure.

DIR/zone/   a neutral zone plate along its axes, up to 0.42 cycles a pixel
DIR/structure/ gratings, chirps and weaves (synth.patterns), and with --font pages of text
None of them is trained on: the seeds are others than those of train.py.
"""
import argparse
import math
import os

import numpy as np
import torch
from PIL import Image, ImageFont

import photos
import synth

SIDE, HIGHEST = 768, 0.42  # of the zone plate: pixels, cycles a pixel at the middle of an edge
AXIS = 24                  # pixels from an axis


def zone():
    """A zone plate (SIDE, SIDE) in sRGB codes: the frequency grows with the distance from the middle."""
    at = np.arange(SIDE) - SIDE / 2
    r2 = at[None] ** 2 + at[:, None] ** 2
    return np.uint8(np.round(255 * (0.5 + 0.45 * np.cos(math.pi * HIGHEST / (SIDE / 2) * r2))))


def save(folder, name, a):
    os.makedirs(folder, exist_ok=True)
    Image.fromarray(a).convert("RGB").save(os.path.join(folder, name + ".png"))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out")
    p.add_argument("--font", help="TrueType file for pages of text, where Pillow brings none of any size")
    args = p.parse_args()
    plate, middle = zone(), SIDE // 2
    save(os.path.join(args.out, "zone"), "across", plate[middle - AXIS:middle + AXIS])
    save(os.path.join(args.out, "zone"), "down", plate[:, middle - AXIS:middle + AXIS])
    torch.manual_seed(7)
    structure = os.path.join(args.out, "structure")
    drawn = [a for a in synth.patterns(48, 192, torch.device("cpu")) if float(a.std()) > 0.05]
    for k, a in enumerate(drawn[:24]):
        save(structure, f"pattern-{k:02}", (a.clamp(0, 1) * 255).round().byte().permute(1, 2, 0).numpy())
    if args.font:
        photos.load_font = lambda size: ImageFont.truetype(args.font, size)
    if args.font or photos.can_draw():
        for k in range(8):
            save(structure, f"page-{k}", photos.page(1000 + k, 256)[0])


if __name__ == "__main__":
    main()
