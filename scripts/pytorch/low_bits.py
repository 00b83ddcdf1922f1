"""What codes of 8 bits in convolutions cost: INT8 and fp8 (e4m3, e5m2), emulated in float32.

    low_bits.py pynet               PyNET with the golden formula's weights: PSNR to float32 with the codes
                                    in one group of layers (docs/octets.md's), in all, and in growing sets
    low_bits.py pynet --each        the same of every convolution alone
    low_bits.py kodak best          CPSNR of a shipped network with codes in all convolutions but the first and last

Weights have one step for each output. The input of a convolution has one step: of INT8, asymmetric, over the range of
least squared error on the input that it is calibrated with; of fp8, that which puts the largest sample onto the largest code.
Products and sums are exact but for float32's rounding. Needs torch and numpy; evaluation needs --kodak and --photos.
"""
import argparse
import copy
import os
import re
import sys

import torch
from torch import nn

import pynet

sys.path.insert(0, os.path.join(pynet.ROOT, "train"))

FP8 = {"e4m3": (3, -6, 448.0), "e5m2": (2, -14, 57344.0)}  # stored bits of the fraction, least exponent, largest value
KINDS = ["int8", *FP8]


def round_fp8(x, kind):
    """x, within the largest value, rounded to the nearest fp8."""
    bits, least, largest = FP8[kind]
    exponent = torch.frexp(x)[1].float() - 1
    step = torch.exp2(exponent.clamp(min=least) - bits)
    return (torch.round(x / step) * step).clamp(-largest, largest)


def round_int8(x, low, high):
    """x rounded to 256 codes from low to high, one of which is 0."""
    step = (high - low) / 255
    zero = torch.round(-low / step)
    return ((torch.round(x / step) + zero).clamp(0, 255) - zero) * step


def best_range(x):
    """The ends of the codes of least squared error for samples x, of shares of their range."""
    x = x.flatten()
    x = x[torch.randint(len(x), (1 << 16,), generator=torch.Generator().manual_seed(1))] if len(x) > 1 << 16 else x
    low, high = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
    ends = [(low * a, high * b) for a in (1, .8, .6, .45, .3) for b in (1, .9, .8, .7, .6, .5, .4, .3)]
    at = [tuple(torch.tensor(v) for v in e) for e in ends if e[1] - e[0] > 0]
    return min(at, key=lambda e: float(((round_int8(x, *e) - x) ** 2).mean()))


class Coded(nn.Module):
    """A convolution whose weights and inputs are rounded to codes."""

    def __init__(self, conv, kind, samples):
        super().__init__()
        self.conv, self.kind = copy.deepcopy(conv), kind
        w = conv.weight.data
        largest = w.abs().amax((1, 2, 3), keepdim=True).clamp(min=1e-12)
        if kind == "int8":
            self.ends = best_range(samples)
            step = largest / 127
            self.conv.weight.data = torch.round(w / step) * step
        else:
            self.step = samples.abs().max() / FP8[kind][2]
            step = largest / FP8[kind][2]
            self.conv.weight.data = round_fp8(w / step, kind) * step

    def forward(self, x):
        x = round_int8(x, *self.ends) if self.kind == "int8" else round_fp8(x / self.step, self.kind) * self.step
        return self.conv(x)


def convolutions(net):
    return {n: m for n, m in net.named_modules() if isinstance(m, nn.Conv2d)}


@torch.no_grad()
def inputs_of(net, *runs):
    """Samples of what every convolution reads in some runs, by name."""
    seen, hooks = {}, []
    for name, m in convolutions(net).items():
        def keep(m, x, y, name=name):
            v = x[0].flatten()
            ends = torch.stack([v.min(), v.max()])  # the extremes too, which a part could miss
            seen.setdefault(name, []).append(torch.cat([v[::max(1, len(v) >> 15)], ends]))
        hooks.append(m.register_forward_hook(keep))
    for run in runs:
        run()
    for h in hooks:
        h.remove()
    return {n: torch.cat(v) for n, v in seen.items()}


def with_codes(net, names, kind, samples):
    """A copy of a network with codes in some convolutions."""
    out = copy.deepcopy(net)
    for name in names:
        parent, _, last = name.rpartition(".")
        setattr(out.get_submodule(parent), last, Coded(net.get_submodule(name), kind, samples[name]))
    return out


def group(name, conv):
    """The row of docs/octets.md's table that a layer of PyNET is in."""
    half = re.search(r"conv_\d([ab])", name)
    k, c = conv.kernel_size[0], conv.out_channels
    return f"{k}x{k} to {c}" + (f", {half[1]}" if half and c <= 64 else "")


def pynet_main(args):
    net, x = pynet.pynet(), pynet.packed("gold", 96, 128)
    with torch.no_grad():
        want = net(x)
    samples = inputs_of(net, lambda: net(x))
    convs = convolutions(net)

    @torch.no_grad()
    def loss(names, kind):
        return float(((with_codes(net, names, kind, samples)(x) - want) ** 2).mean())

    def db(mse):
        return -10 * torch.log10(torch.tensor(mse + 1e-20)).item()

    groups = {}
    for name, m in convs.items():
        groups.setdefault(name if args.each else group(name, m), []).append(name)
    work = {n: m.weight.numel() / 4 ** (int(n[6]) - 1) for n, m in convs.items()}
    total, found = sum(work.values()), {}
    print("layers, share of the work, PSNR to float32 of", *args.kinds, "in them alone", flush=True)
    for g, names in groups.items():
        found[g] = [loss(names, k) for k in args.kinds]
        print(f"{g} ({len(names)}): {sum(work[n] for n in names) / total:.3f}", *[f"{db(v):.1f}" for v in found[g]], flush=True)
    for i, kind in enumerate(args.kinds):
        print(f"all, {kind}: {db(loss(list(convs), kind)):.1f} dB", flush=True)
        # Groups by how much work they bring for the error they cost.
        order = sorted(groups, key=lambda g: found[g][i] / sum(work[n] for n in groups[g]))
        names = []
        for g in order:
            names = names + groups[g]
            mse = loss(names, kind)
            print(f"  {kind} with {g}: {sum(work[n] for n in names) / total:.3f} of the work, {db(mse):.1f} dB", flush=True)
            if db(mse) < args.until:
                break


def middle(photo, side=256):
    """The middle of a photo (1, 3, H, W), of at most so many rows and columns."""
    y, x = (max(0, n // 4 * 2 - side // 2) for n in photo.shape[2:])
    return photo[:, :, y:y + side, x:x + side]


def kodak_main(args):
    import glob

    import evaluate
    import synth
    net, _ = evaluate.load_model(os.path.join(pynet.ROOT, "model", "weights", args.net + ".safetensors"))
    photos = evaluate.load_photos(args.kodak)[:args.count]
    paths = sorted(glob.glob(os.path.join(args.photos, "*.jpg")))[::12][:12]

    def run(photo, sigma):
        v = synth.pack(photo.float() / 255)
        v = v + sigma * torch.randn(v.shape, generator=torch.Generator().manual_seed(2))
        evaluate.run(net, torch.cat([v, torch.full_like(v, 8 * sigma)], 1))

    calibrate = [middle(p) for _, p in evaluate.load_reduced(paths)]
    samples = inputs_of(net, *[lambda p=p, i=i: run(p, (0, 5, 10, 20)[i % 4] / 255) for i, p in enumerate(calibrate)])
    inner = [n for n in convolutions(net) if n not in ("stem", "head", "skip")]
    base = evaluate.mean(evaluate.evaluate(net, photos))
    print(f"{args.net}, {len(photos)} photos: float32 {base:.3f} dB; {len(inner)} convolutions on codes:", flush=True)
    for kind in args.kinds:
        got = evaluate.mean(evaluate.evaluate(with_codes(net, inner, kind, samples), photos))
        print(f"  {kind}: {got:.3f} dB, {base - got:.3f} lost", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--kinds", type=lambda v: v.split(","), default=KINDS, help=f"some of {','.join(KINDS)}, separated by commas")
    sub = p.add_subparsers(dest="command", required=True)
    one = sub.add_parser("pynet")
    one.add_argument("--each", action="store_true")
    one.add_argument("--until", type=float, default=34, help="dB below which sets grow no further")
    two = sub.add_parser("kodak")
    two.add_argument("net", choices=["fast", "best", "max"])
    two.add_argument("--kodak", default=os.environ.get("KODAK", "../shared/data/kodak"))
    two.add_argument("--photos", default=os.environ.get("PHOTOS", "../shared/data/photos"), help="to calibrate with")
    two.add_argument("--count", type=int, default=24, help="of test photos")
    args = p.parse_args()
    if not set(args.kinds) <= set(KINDS):
        p.error(f"--kinds: want some of {','.join(KINDS)}")
    torch.set_num_threads(args.threads)
    return pynet_main(args) if args.command == "pynet" else kodak_main(args)


if __name__ == "__main__":
    sys.exit(main())
