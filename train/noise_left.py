"""The share of the noise's variance that networks leave on a smooth surface, by the share they
are told to remove: python3 variance_left.py FILE... (docs/dng.md, varianceLeft in pipeline).
"""
import sys

import torch

import evaluate
import synth

SIDE, EDGE = 512, 32
STRENGTHS = (0, 0.25, 0.5, 0.75, 1)


def share(model, shot, strength):
    """Of green, in linear light; the network's result without noise is the truth."""
    y, x = torch.meshgrid(torch.linspace(0, 1, SIDE), torch.linspace(0, 1, SIDE), indexing="ij")
    light = (0.12 + 0.25 * x + 0.2 * y).expand(1, 3, SIDE, SIDE)
    clean = synth.pack(light)
    variance = shot * clean
    noisy = clean + variance.sqrt() * torch.randn(clean.shape, generator=torch.Generator().manual_seed(1))

    def green(v, told):
        planes = 8 * told * synth.slope(v.clamp(0, 1)) * (shot * v.clamp(min=0)).sqrt()
        out = evaluate.run(model, torch.cat([synth.encode(v), planes], 1))
        return synth.decode(out)[0, 1, EDGE:-EDGE, EDGE:-EDGE]

    with torch.no_grad():
        left = (green(noisy, strength) - green(clean, strength)).var()
    return float(left / (shot * light[0, 1, EDGE:-EDGE, EDGE:-EDGE]).mean())


if __name__ == "__main__":
    for path in sys.argv[1:]:
        model, _ = evaluate.load_model(path)
        for shot in (1e-4, 1e-3, 4e-3):
            print(path, f"S {shot:g}:", *[f"{s:g} {share(model, shot, s):.3f} " for s in STRENGTHS])
