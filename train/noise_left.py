"""The noise that networks leave.

    python3 noise_left.py FILE...             prints shares of the deviation on a smooth surface
    python3 noise_left.py --write FILE...     and puts them into the files' headers (noise.left)
    python3 noise_left.py --photos DIR FILE   on photos: smooth and textured parts, green

The program reads the header to say in a linear DNG file what is left (model/noiseleft.go, docs/dng.md).
"""
import argparse
import json
import math

import torch
from torch.nn import functional as F

import evaluate
import masked
import synth
import weights
from pynet_m import planes

SIDE, EDGE, GREY = 320, 32, 0.18
SHOTS = (1e-4, 3e-4, 1e-3, 4e-3, 1e-2)  # S of the noise's variance S·v


class Photo:
    """A mosaic of linear light (1, 3, 2H, 2W) with shot noise, and a network's view of it."""

    def __init__(self, model, light, shot):
        self.model, self.light, self.shot, self.layout = model, light, shot, synth.Bayer
        if planes(model.config) == masked.Masked.planes:
            zero = torch.zeros(1, dtype=torch.long)
            table = masked.at_phase(masked.mask("xtrans").unsqueeze(0), zero, zero, max(light.shape[2:]))
            self.layout = masked.Masked(table[:, :, :light.shape[2], :light.shape[3]])
        self.clean = self.layout.take(light)

    def noisy(self, seed):
        random = torch.randn(self.clean.shape, generator=torch.Generator().manual_seed(seed))
        return self.clean + (self.shot * self.clean).sqrt() * random

    @torch.no_grad()
    def developed(self, v):
        """Linear light of a mosaic."""
        noise = 8 * synth.slope(v.clamp(0, 1)) * (self.shot * v.clamp(min=0)).sqrt()
        return synth.decode(evaluate.run(self.model, self.layout.join(synth.encode(v), noise)))


def smooth():
    y, x = torch.meshgrid(torch.linspace(0, 1, SIDE), torch.linspace(0, 1, SIDE), indexing="ij")
    return (0.12 + 0.25 * x + 0.2 * y).expand(1, 3, SIDE, SIDE).contiguous()


def share(model, shot):
    """Of the deviation, all colours together; the network's result without noise is the truth."""
    photo = Photo(model, smooth(), shot)
    left = photo.developed(photo.noisy(1)) - photo.developed(photo.clean)
    left, light = (t[:, :, EDGE:-EDGE, EDGE:-EDGE] for t in (left, photo.light))
    left = left - left.mean((2, 3), keepdim=True)
    return math.sqrt(float((left ** 2 / (shot * light)).mean()))


def table(model):
    deviation = [float(synth.slope(torch.tensor(GREY))) * math.sqrt(s * GREY) for s in SHOTS]
    return {"deviation": [round(d, 6) for d in deviation], "left": [round(share(model, s), 4) for s in SHOTS]}


def text(t):
    """As the header has it."""
    return json.dumps(t, separators=(",", ":"))


def on_photo(model, code, shot, realisations=4):
    """Of green's variance, on smooth and on textured parts of a photo (1, 3, H, W) of sRGB codes: what is
    left, and half the variance of neighbours' differences, which is the same for white noise."""
    photo = Photo(model, 0.01 + 0.9 * synth.decode(code), shot)
    out = torch.cat([photo.developed(photo.noisy(k)) for k in range(realisations)])[:, 1]
    left, steps = out.var(0), F.pad((out[:, :, 1:] - out[:, :, :-1]).var(0) / 2, (0, 1))
    grey = code.mean(1, keepdim=True)
    activity = (F.avg_pool2d(grey * grey, 9, 1, 4) - F.avg_pool2d(grey, 9, 1, 4) ** 2).clamp(min=0).sqrt()[0, 0] * 255
    inside = torch.zeros_like(activity, dtype=torch.bool)
    inside[16:-16, 16:-16] = True
    true, result = shot * photo.light[0, 1], {}
    for name, part in (("smooth", inside & (activity < 2.5)), ("textured", inside & (activity > 12))):
        result[name] = [float(v[part].sum()) for v in (left, steps, true)]
    return result


def photos(model, folder, names=("kodim03", "kodim13", "kodim15", "kodim20")):
    for shot in (1e-4, 1e-3, 4e-3):
        sums = {}
        for name, photo in evaluate.load_photos(folder):
            if name not in names:
                continue
            for part, v in on_photo(model, photo[:, :, 128:384, 200:584].float() / 255, shot).items():
                sums[part] = [a + b for a, b in zip(sums.get(part, (0, 0, 0)), v)]
        print(f"S {shot:g}:", *[f"{part} {a / t:.4f}, of neighbours' differences {b / t:.4f};" for part, (a, b, t) in sums.items()])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("file", nargs="+")
    p.add_argument("--write", action="store_true", help="put the table into the files")
    p.add_argument("--photos", help="folder with Kodak's photos")
    args = p.parse_args()
    for path in args.file:
        model, metadata = evaluate.load_model(path)
        print(path)
        if args.photos:
            photos(model, args.photos)
            continue
        t = table(model)
        for d, v in zip(t["deviation"], t["left"]):
            print(f"{255 * d:5.2f}/255: {v:.3f}")
        if args.write:
            tensors, _ = weights.read(path)
            weights.write(path, tensors, {**metadata, "noise.left": text(t)})


if __name__ == "__main__":
    main()
