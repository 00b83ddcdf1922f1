"""Synthetic RAW from photos, made in batches on the training device.

A batch has three parts: sRGB-code mosaics free of noise, the same with white
noise, and sensor mosaics. Inputs and targets are as docs/pynet-m.md says. A layout
says which samples a mosaic has and how they lie in a network's planes: Bayer's, or
masked planes of any filter array (masked.py).
"""
import math

import torch

CLEAN, NOISY = 0.35, 0.25  # shares of a batch; the rest are sensor mosaics
PATTERNS = 0.05            # share of each part that patterns replace
MAX_SIGMA = 20 / 255


def encode(x):
    """The sRGB curve, its straight part extended to negatives."""
    return torch.where(x <= 0.0031308, 12.92 * x, 1.055 * x.clamp(min=0.0031308) ** (1 / 2.4) - 0.055)


def slope(t):
    """The derivative of encode, for t >= 0."""
    return torch.where(t <= 0.0031308, torch.full_like(t, 12.92),
                       1.055 / 2.4 * t.clamp(min=0.0031308) ** (1 / 2.4 - 1))


def decode(e):
    return torch.where(e <= 0.04045, e / 12.92, ((e.clamp(min=0.04045) + 0.055) / 1.055) ** 2.4)


def pack(rgb):
    """The four planes of an RGGB mosaic of (N, 3, 2H, 2W)."""
    return torch.stack([rgb[:, 0, 0::2, 0::2], rgb[:, 1, 0::2, 1::2],
                        rgb[:, 1, 1::2, 0::2], rgb[:, 2, 1::2, 1::2]], 1)


def uniform(n, low, high, device):
    return low + (high - low) * torch.rand(n, 1, 1, 1, device=device)


def vary(code):
    """Changes tone and saturation of two fifths of the photos, and the tone of each
    channel by itself in a quarter of those: flowers and fabrics are more saturated,
    and their channels less alike, than landscapes."""
    n, dev = code.shape[0], code.device
    pick = torch.rand(n, 1, 1, 1, device=dev)
    apart = torch.where(pick < 0.1, torch.rand(n, 3, 1, 1, device=dev) - 0.5, torch.zeros_like(code[:, :, :1, :1]))
    gamma = torch.exp(uniform(n, -0.35, 0.35, dev) + apart)
    grey = code.mean(1, keepdim=True)
    other = grey + (code - grey) * uniform(n, 0.4, 2.0, dev)
    other = other.clamp(0, 1).clamp(min=1e-6) ** gamma
    return torch.where(pick < 0.4, other, code)


def patterns(n, size, device):
    """Gratings, chirps and weaves (N, 3, size, size) in sRGB codes, half of them
    neutral: fine repeated structure, which photos have too little of. Frequencies
    stay below 0.48 cycles a pixel, where pixels can still hold them."""
    at = torch.arange(size, device=device) - size / 2
    angle = uniform(n, 0, math.pi, device)
    woven = torch.rand(n, 1, 1, 1, device=device) < 0.25
    # A product of two waves holds their sum, so its factors stay lower.
    limit = torch.where(woven, torch.full_like(angle, 0.33), torch.full_like(angle, 0.48))
    # A third lies along an axis, where mosaics alias first.
    angle = torch.where(torch.rand_like(angle) < 0.33, torch.round(angle / (math.pi / 2)) * (math.pi / 2), angle)

    def wave(turn):
        c, s = torch.cos(angle + turn), torch.sin(angle + turn)
        u = c * at.view(1, 1, 1, size) + s * at.view(1, 1, size, 1)
        middle = 0.02 + uniform(n, 0, 1, device) * (limit - 0.06)
        # A chirp's frequency changes over the patch; no corner may reach the limit.
        reach = size / math.sqrt(2)
        rise = uniform(n, -1, 1, device) * (torch.rand_like(middle) < 0.4).float()
        rise = rise * torch.minimum(limit - middle, middle) / reach
        phase = 2 * math.pi * (middle * u + 0.5 * rise * u * u + uniform(n, 0, 1, device))
        # Sharper waves only where their third harmonic still fits.
        sharp = torch.where(middle + rise.abs() * reach < 0.15, uniform(n, 0.01, 3, device),
                            torch.full_like(middle, 0.01))
        return torch.tanh(sharp * torch.sin(phase)) / torch.tanh(sharp)

    one, two = wave(0.0), wave(math.pi / 2)
    mix = 0.5 + 0.5 * torch.where(woven, one * two, one)
    low, high = torch.rand(n, 3, 1, 1, device=device), torch.rand(n, 3, 1, 1, device=device)
    neutral = torch.rand(n, 1, 1, 1, device=device) < 0.5
    low = torch.where(neutral, low[:, :1].expand_as(low), low)
    high = torch.where(neutral, high[:, :1].expand_as(high), high)
    return low + (high - low) * mix


def with_patterns(code):
    """Crops whose last few of each part are patterns."""
    parts = code.split(counts(code.shape[0]))
    out = []
    for part in parts:
        k = pattern_count(part.shape[0])
        out += [part[:part.shape[0] - k], patterns(k, code.shape[-1], code.device)]
    return torch.cat(out)


def pattern_count(n):
    """How many samples of a part of n are patterns."""
    return round(PATTERNS * n)


class Bayer:
    """The four planes of an RGGB mosaic, then their noise planes."""

    planes = 8
    take = staticmethod(pack)

    @staticmethod
    def spread(g):
        """What each colour has (N, 3, 1, 1), for each plane of samples."""
        return torch.stack([g[:, 0], g[:, 1], g[:, 1], g[:, 2]], 1)

    @staticmethod
    def rows(v):
        """A random number for each row of the sensor, as samples v lie."""
        n, _, h, _ = v.shape
        return torch.randn(n, 2, 1, h, 1, device=v.device).expand(n, 2, 2, h, 1).reshape(n, 4, h, 1)

    @classmethod
    def part(cls, first, end):
        """The layout of some samples of a batch."""
        return cls

    @staticmethod
    def join(v, noise):
        return torch.cat([v, noise.expand_as(v)], 1)


def code_mosaic(code, sigma, layout=Bayer):
    """Mosaic of sRGB codes with white noise of sigma (N,1,1,1); (input, target)."""
    m = layout.take(code)
    m = m + sigma * torch.randn_like(m)
    return layout.join(m, 8 * sigma), code


def camera_matrix(n, device):
    """Random sRGB -> camera matrices (N, 3, 3), rows summing to one: inverses of
    camera -> sRGB matrices like those of real cameras."""
    # Cells next to the diagonal, row by row: (lowest, highest).
    spans = ((-0.9, -0.1), (-0.3, 0.15), (-0.45, 0.0), (-0.65, -0.05), (-0.15, 0.15), (-0.9, -0.15))
    o = torch.stack([low + (high - low) * torch.rand(n, device=device) for low, high in spans], 1).view(n, 3, 2)
    d = 1 - o.sum(2)
    a = torch.stack([d[:, 0], o[:, 0, 0], o[:, 0, 1]], 1)
    b = torch.stack([o[:, 1, 0], d[:, 1], o[:, 1, 1]], 1)
    c = torch.stack([o[:, 2, 0], o[:, 2, 1], d[:, 2]], 1)

    def cross(u, v):
        return u.roll(-1, 1) * v.roll(1, 1) - u.roll(1, 1) * v.roll(-1, 1)

    bc, ca, ab = cross(b, c), cross(c, a), cross(a, b)
    return torch.stack([bc, ca, ab], 2) / (a * bc).sum(1).view(n, 1, 1)


def noise_profile(n, device):
    """Shot and read noise (S, O) of white-level units, (N,1,1,1) each. The line
    and its spread are those of Brooks et al., "Unprocessing images for learned
    raw denoising" (2019), drawn down to nearly none; a tenth is none at all."""
    log_s = uniform(n, math.log(3e-6), math.log(0.012), device)
    log_o = 2.18 * log_s + 1.2 + 0.26 * torch.randn_like(log_s)
    some = (torch.rand_like(log_s) > 0.1).float()
    return some * torch.exp(log_s), some * torch.exp(log_o)


def gains(n, device):
    """White-balance gains (N, 3, 1, 1) of the colours, the smallest of them 1."""
    g = torch.rand(n, 3, device=device)
    g = torch.stack([1 + 1.6 * g[:, 0], 1 + 0.1 * g[:, 1], 1 + 1.6 * g[:, 2]], 1)
    return (g / g.amin(1, keepdim=True)).view(n, 3, 1, 1)


def sensor(light, layout=Bayer):
    """Mosaic of a sensor under camera-space white-balanced light; (input, target)."""
    n, dev = light.shape[0], light.device
    g = layout.spread(gains(n, dev))
    shot, read = noise_profile(n, dev)
    v = layout.take(light) / g
    v = v.clamp(max=1)  # photosites fill up
    v = v + torch.sqrt(shot * v.clamp(min=0) + read) * torch.randn_like(v)
    # Rows of some sensors shift together; the noise planes know nothing of it.
    rows = torch.where(torch.rand_like(shot) < 0.1, uniform(n, 0, 0.4, dev), torch.zeros_like(shot))
    v = v + rows * torch.sqrt(read) * layout.rows(v)
    # Defective photosites that were not found: a few in a twentieth of the photos.
    broken = (torch.rand_like(v) < 2e-4) & (torch.rand_like(shot) < 0.05)
    v = torch.where(broken, (torch.rand_like(v) < 0.5).float(), v)
    # Half of the sensors are quantised, to 12 or 14 bits.
    pick = torch.rand(n, 1, 1, 1, device=dev)
    steps = torch.where(pick < 0.25, torch.full_like(pick, 4095.), torch.full_like(pick, 15000.))
    v = torch.where(pick < 0.5, torch.round(v * steps) / steps, v)
    # A few write no values under black.
    floor = torch.where(torch.rand_like(pick) < 0.1, torch.zeros_like(pick), torch.full_like(pick, -1.))
    v = torch.maximum(v.clamp(max=1), floor)
    x = (v * g).clamp(-1, 1)
    t = x.clamp(0, 1)
    # Profiles are never quite right, and some are wrong by half to double.
    doubt = torch.where(torch.rand_like(pick) < 0.15, torch.exp(uniform(n, -math.log(2), math.log(2), dev)),
                        torch.exp(0.1 * torch.randn_like(pick)))
    noise = 8 * doubt * slope(t) * torch.sqrt(g * shot * t + g * g * read)
    return layout.join(encode(x), noise), encode(light.clamp(0, 1))


def counts(n):
    """How many samples of a batch of n are clean, noisy, of a sensor."""
    clean = max(1, round(CLEAN * n))
    noisy = max(1, round(NOISY * n))
    return clean, noisy, n - clean - noisy


def batch(code, layout=Bayer):
    """(input (N,8,H,W) or as the layout has it, target (N,3,2H,2W)) of photos (N,3,2H,2W) in sRGB codes."""
    n, dev = code.shape[0], code.device
    clean, noisy, _ = counts(n)
    code = with_patterns(vary(code))
    sigma = uniform(clean + noisy, 0, MAX_SIGMA, dev)
    sigma = sigma * (torch.arange(clean + noisy, device=dev) >= clean).view(-1, 1, 1, 1)
    x1, y1 = code_mosaic(code[:clean + noisy], sigma, layout.part(0, clean + noisy))
    rest = code[clean + noisy:]
    k = rest.shape[0]
    linear = decode(rest).reshape(k, 3, -1)
    light = torch.bmm(camera_matrix(k, dev), linear).reshape(rest.shape)
    light = (light * torch.exp(uniform(k, math.log(0.15), math.log(1.6), dev))).clamp(min=0)
    x2, y2 = sensor(light, layout.part(clean + noisy, n))
    return torch.cat([x1, x2]), torch.cat([y1, y2])
