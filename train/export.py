"""Makes the shipped files of a trained network: weights (F32 or F16), golden pair.

    python3 export.py DIR/ema.safetensors --name best --fp16 --out best.safetensors --golden DIR/STEM

The golden pair is STEM.x.f32, the same for every network of 8 planes (STEM.NAME.x.f32 for one of
24), and STEM.NAME.y.f32.
"""
import argparse
import hashlib
import os

import numpy as np
import torch

import masked
import weights
from pynet_m import planes

RECIPE = ("masked.py", "networks.py", "optimise.py", "photos.py", "pynet_m.py", "step.py", "synth.py", "train.py")
GOLDEN = 96, 128  # packed rows and columns


def recipe_hash():
    """One hash of the programs that decide what a training does."""
    here, h = os.path.dirname(os.path.abspath(__file__)), hashlib.sha256()
    for name in RECIPE:
        with open(os.path.join(here, name), "rb") as f:
            h.update(name.encode() + b"\n" + hashlib.sha256(f.read()).digest())
    return h.hexdigest()


def write(path, model, facts, half=False):
    """Writes a model's weights with the header that docs/pynet-m.md describes."""
    metadata = {**model.metadata(), "convention.curve": "srgb", "convention.clip": "high", "convention.noise": "4"}
    if planes(model.config) == masked.Masked.planes:
        metadata.update({"convention.samples": "masked", "convention.noise": "12"})
        metadata["train.patterns"] = " ".join(name for name, _ in masked.SHARES)
    metadata.update({k: v for k, v in facts.items() if k not in metadata})
    tensors = {k: v.half() if half else v.float() for k, v in model.state_dict().items()}
    weights.write(path, tensors, metadata)


def golden_input(count=8):
    """A smooth scene with fine stripes and noise, from formulas alone, for so many planes."""
    import synth
    h, w = GOLDEN
    y, x = torch.meshgrid(torch.arange(2 * h).float(), torch.arange(2 * w).float(), indexing="ij")
    rgb = torch.stack([0.5 + 0.4 * torch.sin(x / 17 + y / 31), 0.5 + 0.3 * torch.sin(x * y / 900),
                       0.5 + 0.3 * torch.cos(y / 13 - x / 47)]).unsqueeze(0)
    layout = synth.Bayer
    if count == masked.Masked.planes:
        zero = torch.zeros(1, dtype=torch.long)
        layout = masked.Masked(masked.at_phase(masked.mask("xtrans").unsqueeze(0), zero, zero, 2 * w)[:, :, :2 * h])
    m = layout.take(rgb)
    sigma = torch.linspace(0, 0.08, m.shape[3]).expand_as(m)
    rng = np.random.RandomState(5)
    noise = torch.from_numpy(rng.standard_normal(m.shape).astype(np.float32))
    return layout.join(m + sigma * noise, 8 * sigma)


def main():
    import evaluate
    import noise_left
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("file")
    p.add_argument("--out", required=True)
    p.add_argument("--fp16", action="store_true", help="store weights as F16")
    p.add_argument("--name", required=True, help="of the network: fast, best")
    p.add_argument("--golden", help="folder and stem of the golden pair to write")
    p.add_argument("--fact", action="append", default=[], help="KEY=VALUE added to the header")
    args = p.parse_args()
    model, metadata = evaluate.load_model(args.file)
    metadata["name"] = args.name
    metadata["noise.left"] = noise_left.text(noise_left.table(model))
    metadata.update(f.split("=", 1) for f in args.fact)
    write(args.out, model, metadata, args.fp16)
    print(args.out, os.path.getsize(args.out), "bytes")
    if args.golden:
        model, _ = evaluate.load_model(args.out)
        x = golden_input(planes(model.config))
        with torch.no_grad():
            y = model(x)
        for part, t in (("x" if x.shape[1] == 8 else f"{args.name}.x", x), (f"{args.name}.y", y)):
            t.numpy().astype("<f4").tofile(f"{args.golden}.{part}.f32")
        print(args.golden, tuple(x.shape), tuple(y.shape))


if __name__ == "__main__":
    main()
