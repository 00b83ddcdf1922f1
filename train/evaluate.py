"""CPSNR of a pynet-m file on a folder of test photos (8 px border cropped).

The mosaic is sRGB code/255, RGGB or of another pattern for networks of masked planes,
fed as it is, noise not clipped; the output is clipped and rounded to 8 bits.
"""
import argparse
import glob
import math
import os

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

import masked
import networks
import synth
import weights
from pynet_m import planes

BORDER = 8


def load_photos(folder):
    """[(name, (1,3,H,W) uint8 tensor)], sides cropped to even numbers."""
    out = []
    for path in sorted(glob.glob(os.path.join(folder, "*.png"))):
        a = np.asarray(Image.open(path).convert("RGB"))
        a = a[:a.shape[0] // 2 * 2, :a.shape[1] // 2 * 2]
        out.append((os.path.splitext(os.path.basename(path))[0],
                    torch.from_numpy(a.copy()).permute(2, 0, 1).unsqueeze(0)))
    return out


def load_reduced(paths):
    """Photos as load_photos gives them, at half their size."""
    out = []
    for path in paths:
        photo = Image.open(path).convert("RGB")
        photo = photo.resize((photo.width // 4 * 2, photo.height // 4 * 2), Image.LANCZOS)
        out.append((os.path.basename(path), torch.from_numpy(np.asarray(photo).copy()).permute(2, 0, 1).unsqueeze(0)))
    return out


def run(model, x):
    """model(x) for any sides: padded by reflection to what its levels need."""
    h, w = x.shape[2:]
    m, least = 2 ** (model.levels - 1), 2 ** model.levels
    ph, pw = max(least, -(-h // m) * m) - h, max(least, -(-w // m) * m) - w
    y = model(F.pad(x, (0, pw, 0, ph), mode="reflect"))
    return y[:, :, :2 * h, :2 * w]


def cpsnr(a, b):
    """CPSNR of two 8-bit pictures (1,3,H,W), border cropped."""
    d = (a.double() - b.double())[:, :, BORDER:-BORDER, BORDER:-BORDER]
    return 10 * math.log10(255 ** 2 / max(float((d * d).mean()), 1e-9))


@torch.no_grad()
def evaluate(model, photos, sigma=0.0, seed=1, pattern="xtrans"):
    """{name: CPSNR} of photos (from load_photos) with white noise of sigma. The pattern,
    one of masked's, is that of networks of masked planes."""
    device = next(model.parameters()).device
    out = {}
    for name, photo in photos:
        code = photo.to(device).float() / 255
        layout = synth.Bayer
        if planes(model.config) == masked.Masked.planes:
            table, zero = masked.mask(pattern).to(device).unsqueeze(0), torch.zeros(1, dtype=torch.long, device=device)
            side = max(code.shape[2:])
            layout = masked.Masked(masked.at_phase(table, zero, zero, side)[:, :, :code.shape[2], :code.shape[3]])
        m = layout.take(code)
        noise = torch.randn(m.shape, generator=torch.Generator().manual_seed(seed)).to(device)
        x = layout.join(m + sigma * noise, torch.full_like(m, 8 * sigma))
        y = run(model, x).clamp(0, 1).mul(255).round()
        out[name] = cpsnr(y.cpu(), photo)
    return out


def mean(table):
    return sum(table.values()) / max(1, len(table))


def load_model(path, device="cpu"):
    tensors, metadata = weights.read(path)
    model = networks.build(networks.config_of(metadata, tensors))
    model.load_state_dict({k: v.float() for k, v in tensors.items()})
    return model.to(device).eval(), metadata


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("file", nargs="+")
    p.add_argument("--kodak", default=os.environ.get("KODAK", "../../shared/data/kodak"))
    p.add_argument("--sigma", type=float, nargs="*", default=[0, 10], help="of 255")
    p.add_argument("--pattern", default="xtrans", choices=[*masked.PATTERNS, "rgb"], help="of networks of masked planes")
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = p.parse_args()
    photos = load_photos(args.kodak)
    if not photos:
        raise SystemExit(f"no PNG files in {args.kodak}: name the folder with --kodak")
    torch.backends.cudnn.allow_tf32 = False
    for path in args.file:
        model, _ = load_model(path, args.device)
        tables = [evaluate(model, photos, s / 255, pattern=args.pattern) for s in args.sigma]
        pattern = args.pattern if planes(model.config) == masked.Masked.planes else "RGGB"
        print(path, pattern + ", border 8, sRGB codes; sigma", *[f"{s:g}/255" for s in args.sigma])
        for name, _ in photos:
            print(f"{name:12}", *[f"{t[name]:7.2f}" for t in tables])
        print(f"{'mean':12}", *[f"{mean(t):7.2f}" for t in tables], flush=True)


if __name__ == "__main__":
    main()
