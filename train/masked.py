"""Masked planes: mosaics of any filter array as a network's input (docs/pynet-m.md).

Twelve planes hold the samples by colour and place in a quad, 0 where the sensor has
none; twelve more their noise, -1 where there is no sample.
"""
import torch
from torch.nn import functional as F

PATTERNS = {
    "xtrans": ("GBGGRG", "RGRBGB", "GBGGRG", "GRGGBG", "BGBRGR", "GRGGBG"),
    "quad": ("RRGG", "RRGG", "GGBB", "GGBB"),
}
PERIOD = 12                             # of every pattern
SHARES = (("xtrans", 0.42), ("quad", 0.48), ("rgb", 0.1))  # the pattern that is hardest gets most


def mask(name):
    """Which colours (3, PERIOD, PERIOD) a pattern samples where: 0 or 1."""
    if name == "rgb":
        return torch.ones(3, PERIOD, PERIOD)
    rows = PATTERNS[name]
    out = torch.zeros(3, PERIOD, PERIOD)
    for y in range(PERIOD):
        for x in range(PERIOD):
            out["RGB".index(rows[y % len(rows)][x % len(rows[0])]), y, x] = 1
    return out


def at_phase(table, y, x, size):
    """Masks (N, 3, size, size) out of a table (3, PERIOD, PERIOD) each, (N, ...), shifted by y and x (N)."""
    at = torch.arange(size, device=table.device)
    rows = (at + y.view(-1, 1)) % PERIOD
    cols = (at + x.view(-1, 1)) % PERIOD
    n = torch.arange(len(y), device=table.device).view(-1, 1, 1)
    return table.permute(0, 2, 3, 1)[n, rows.unsqueeze(2), cols.unsqueeze(1)].permute(0, 3, 1, 2)


class Masked:
    """The layout of a batch of masks (N, 3, 2H, 2W), for synth.batch and its parts."""

    planes = 24

    def __init__(self, masks):
        self.masks = masks

    @staticmethod
    def take(rgb):
        return rgb

    @staticmethod
    def spread(g):
        return g

    @staticmethod
    def rows(v):
        return torch.randn(v.shape[0], 1, v.shape[2], 1, device=v.device)

    def part(self, first, end):
        return Masked(self.masks[first:end])

    def join(self, v, noise):
        noise = noise.expand_as(v)
        there = self.masks > 0
        v = torch.where(there, v, torch.zeros_like(v))
        noise = torch.where(there, noise, torch.full_like(noise, -1.0))
        return F.pixel_unshuffle(torch.cat([v, noise], 1), 2)


class Mixed:
    """Draws the patterns of a training batch: by SHARES, at any phase."""

    def __init__(self, device):
        self.tables = torch.stack([mask(name) for name, _ in SHARES]).to(device)
        self.steps = torch.cumsum(torch.tensor([share for _, share in SHARES]), 0).to(device)

    def __call__(self, n, size):
        device = self.tables.device
        kind = torch.bucketize(torch.rand(n, device=device), self.steps).clamp(max=len(self.tables) - 1)
        y, x = [(torch.rand(n, device=device) * PERIOD).long().clamp(max=PERIOD - 1) for _ in range(2)]
        return Masked(at_phase(self.tables[kind], y, x, size))
