"""Photos for training: decoded once, in parallel, at several scales, kept as bytes."""
import hashlib
import multiprocessing
import os

import numpy as np
import torch
from PIL import Image

SCALES = (1.0, 0.92, 0.84, 0.77, 0.7, 0.63, 0.56, 0.5)
TILE = 64  # pixels between the places that crops are drawn around
EXTENSIONS = (".jpg", ".jpeg", ".png")


def find(folders):
    """The photos of some folders, sorted by name."""
    found = []
    for folder in folders.split(":"):
        for name in os.listdir(folder):
            if name.lower().endswith(EXTENSIONS):
                found.append(os.path.join(folder, name))
    return sorted(found, key=os.path.basename)


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def list_hash(paths):
    """One hash of a list of photos: of the sorted lines "sha256  name"."""
    with multiprocessing.get_context("fork").Pool() as pool:
        hashes = pool.map(digest, paths)
    lines = sorted(f"{h}  {os.path.basename(p)}\n" for h, p in zip(hashes, paths))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def decode(path):
    """One photo at every scale, smallest side at least two crops."""
    photo = Image.open(path).convert("RGB")
    out = []
    for s in SCALES:
        w, h = round(photo.width * s), round(photo.height * s)
        if min(w, h) < 256 and s < 1:
            break
        scaled = photo if s == 1 else photo.resize((w, h), Image.LANCZOS)
        out.append(np.asarray(scaled, np.uint8))
    return out


class Photos:
    """All pixels in one byte tensor, and the table of places to crop at."""

    def __init__(self, paths, crop, device):
        with multiprocessing.get_context("fork").Pool() as pool:
            images = [a for photo in pool.imap(decode, paths, 2) for a in photo]
        self.pixels = torch.from_numpy(np.concatenate([a.reshape(-1) for a in images])).to(device)
        rows, base = [], 0
        for a in images:
            h, w = a.shape[:2]
            if h < crop or w < crop:
                raise ValueError(f"a photo of {w}x{h} is smaller than a crop of {crop}")
            ys = np.arange(0, h - crop + TILE, TILE)
            xs = np.arange(0, w - crop + TILE, TILE)
            y, x = [v.reshape(-1) for v in np.meshgrid(ys, xs, indexing="ij")]
            one = np.ones_like(y)
            rows.append(np.stack([base * one, w * one, y, x, (h - crop) * one, (w - crop) * one], 1))
            base += a.size
        self.tiles = torch.from_numpy(np.concatenate(rows)).to(device)
        self.crop = crop

    def crops(self, tile):
        """Crops (N, 3, crop, crop) as float 0..1 near the given tiles: shifted,
        flipped and turned at random."""
        n, c, dev = tile.shape[0], self.crop, self.pixels.device
        base, width, y, x, ymax, xmax = self.tiles[tile].unbind(1)
        jump = torch.randint(-TILE // 2, TILE // 2 + 1, (2, n), device=dev)
        y = torch.minimum((y + jump[0]).clamp(min=0), ymax)
        x = torch.minimum((x + jump[1]).clamp(min=0), xmax)
        flip = torch.rand(3, n, 1, 1, device=dev) < 0.5
        k = torch.arange(c, device=dev)
        i, j = k.view(1, c, 1), k.view(1, 1, c)
        i = torch.where(flip[0], c - 1 - i, i)
        j = torch.where(flip[1], c - 1 - j, j)
        row, col = torch.where(flip[2], j, i), torch.where(flip[2], i, j)
        at = base.view(n, 1, 1) + ((y.view(n, 1, 1) + row) * width.view(n, 1, 1) + x.view(n, 1, 1) + col) * 3
        at = at.unsqueeze(1) + torch.arange(3, device=dev).view(1, 3, 1, 1)
        return self.pixels[at].float() / 255
