"""Photos for training: decoded once, in parallel, at several scales, kept as bytes."""
import hashlib
import multiprocessing
import os

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

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


def load_font(size):
    return ImageFont.load_default(size=size)


def can_draw():
    """Whether Pillow brings a font of any size."""
    try:
        return bool(load_font(20))
    except TypeError:
        return False


def page(seed, side=768, grain=3):
    """A page of text, lines and boxes in random colours and at a random angle, drawn
    large and reduced, so that its edges are as soft as a lens makes them."""
    rng = np.random.RandomState(seed)
    colour = lambda: tuple(int(v) for v in rng.randint(0, 256, 3))
    grey = lambda: (int(rng.randint(0, 256)),) * 3
    big = side * grain * 3 // 2  # room to turn
    sheet = Image.new("RGB", (big, big), grey() if seed % 2 else colour())
    draw = ImageDraw.Draw(sheet)
    letters = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789 .,;:-+/%&"
    y = 0
    while y < big:
        height = int(rng.randint(8, 40)) * grain
        ink = grey() if rng.rand() < 0.5 else colour()
        if rng.rand() < 0.7:
            text = "".join(letters[i] for i in rng.randint(0, len(letters), 400))
            draw.text((0, y), text, fill=ink, font=load_font(height))
        else:
            gap = int(rng.randint(3, 12)) * grain
            for x in range(0, big, 2 * gap):
                draw.rectangle([x, y, x + int(rng.randint(1, gap)), y + height], fill=ink)
        y += int(1.2 * height)
    sheet = sheet.rotate(float(rng.uniform(-45, 45)) if rng.rand() < 0.7 else 0, Image.BICUBIC)
    edge = (big - side * grain) // 2
    sheet = sheet.crop((edge, edge, big - edge, big - edge))
    return [np.asarray(sheet.resize((side, side), Image.LANCZOS), np.uint8)]


class Photos:
    """All pixels in one byte tensor, and the table of places to crop at."""

    def __init__(self, paths, crop, device, pages=0):
        with multiprocessing.get_context("fork").Pool() as pool:
            images = [a for photo in pool.imap(decode, paths, 2) for a in photo]
            images += [a for sheet in pool.imap(page, range(pages)) for a in sheet]
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
