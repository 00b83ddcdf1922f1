"""PyTorch with cuDNN and enhance on the same GPU, in the same run, in turns.

    compare_gpu.py --enhance bin/enhance            both networks, 12 MP, all precisions
    compare_gpu.py --enhance bin/enhance --models pynet --precisions fp16 --compile

For every network and precision: one run that does not count, then the median of
--runs, PyTorch first, then `enhance bench net`. Both get the same weights and input
and are timed with the way to the device and back (pinned memory for PyTorch); the
device column is the forward pass alone (CUDA events; the sum of kernels of
enhance's --profile). PyTorch runs in the faster of its two memory formats, with
--compile also through torch.compile, which takes a minute for PyNET. PSNR (for
a peak of 1) is to the same program's own fp32 result; the last line of a network
holds the two fp32 results against each other. Needs torch with CUDA and numpy; with
--device cpu it shows fp32 only, to try the script."""
import argparse
import copy
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

import pynet

NETS = {"pynet": (pynet.pynet, "pynet-random:gold"), "pynet-s": (pynet.pynet_s, "pynet-s")}


def psnr(a, b):
    d = np.mean((a.astype(np.float64) - b) ** 2)
    return math.inf if d == 0 else -10 * math.log10(d)


class Torch:
    """One network in PyTorch."""

    def __init__(self, model, device, benchmark):
        self.net, self.device = NETS[model][0](), device
        self.cuda = device == "cuda"
        torch.backends.cudnn.benchmark = benchmark

    def set(self, precision):
        tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = tf32
        self.type = torch.float16 if precision == "fp16" else torch.float32

    def wait(self):
        if self.cuda:
            torch.cuda.synchronize()

    def once(self, net, x, form):
        """Seconds of wall clock and of the forward pass, and the result."""
        mark = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if self.cuda else None
        self.wait()
        start = time.perf_counter()
        y = x.to(self.device, non_blocking=True)
        if form == "nhwc":
            y = y.to(memory_format=torch.channels_last)
        if mark:
            mark[0].record()
        y = net(y)
        if mark:
            mark[1].record()
        y = y.contiguous().to("cpu")
        self.wait()
        wall = time.perf_counter() - start
        return wall, mark[0].elapsed_time(mark[1]) / 1e3 if mark else wall, y

    def run(self, precision, x, runs, compiled=False):
        self.set(precision)
        best = None
        for form in ("nchw", "nhwc")[:1 if compiled else 2]:
            net = copy.deepcopy(self.net).to(self.device, self.type)
            net = net.to(memory_format=torch.channels_last if form == "nhwc" else torch.contiguous_format)
            if compiled:
                net = torch.compile(net)
            xs = x.to(self.type)
            xs = xs.pin_memory() if self.cuda else xs
            with torch.no_grad():
                self.once(net, xs, form)
                if self.cuda:  # what cuDNN's and the compiler's trials took is not counted
                    torch.cuda.empty_cache()
                    torch.cuda.reset_peak_memory_stats()
                first = self.once(net, xs, form)[1]
                if best and first > best["device"]:
                    break
                took = [self.once(net, xs, form) for _ in range(runs)]
            best = {"wall": statistics.median(t[0] for t in took), "device": statistics.median(t[1] for t in took),
                    "peak": torch.cuda.max_memory_reserved() if self.cuda else 0, "form": form,
                    "y": took[-1][2].float().numpy()}
            del took
        del net
        if self.cuda:
            torch.cuda.empty_cache()
        return best


class Enhance:
    """The same network in the program."""

    def __init__(self, program, model, extra):
        self.program, self.spec, self.extra = program, NETS[model][1], extra

    def call(self, *args):
        p = subprocess.run([self.program, *args, *self.extra], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if p.returncode:
            raise RuntimeError(f"{' '.join(args)}: exit {p.returncode}: {p.stderr[-2000:]}")
        return p.stdout

    def run(self, precision, h, w, runs, folder):
        line, out = os.path.join(folder, "line.json"), os.path.join(folder, "y.f32")
        for f in (line, out):
            if os.path.exists(f):
                os.remove(f)
        r = json.loads(self.call("bench", "net", "-m", self.spec, "--size", f"{2 * w}x{2 * h}", "--precision", precision,
                                 "--repeat", str(runs), "-q", "--json", "--profile", line))
        self.call("model", "run", "-m", self.spec, "-i", f"formula:bench:{w}x{h}", "-o", out, "--precision", precision, "-q")
        p = r["profile"]
        return {"wall": r["seconds"], "device": p["kernel_seconds"] + p["copy_seconds"], "gaps": p["gap_seconds"],
                "peak": r["peak_bytes"], "y": np.fromfile(out, "<f4").reshape(1, 3, 2 * h, 2 * w)}


def row(name, precision, r, ref):
    same = "-" if ref is None else f"{psnr(r['y'], ref):.1f}"
    note = f" {r['form']}" if "form" in r else f" gaps {r['gaps'] * 1e3:.1f} ms"
    print(f"  {precision:5} {name:8} {r['device'] * 1e3:9.1f} {r['wall'] * 1e3:9.1f} {r['peak'] / 2**20:9.0f} {same:>7} {note}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--enhance", required=True)
    p.add_argument("--models", nargs="+", choices=list(NETS), default=["pynet", "pynet-s"])
    p.add_argument("--precisions", nargs="+", choices=["fp32", "tf32", "fp16"], default=["fp32", "tf32", "fp16"])
    p.add_argument("--size", default="1984x1440", help="packed columns x rows")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--benchmark", action="store_true", help="cudnn.benchmark: PyTorch measures cuDNN's algorithms")
    p.add_argument("--compile", action="store_true", help="also through torch.compile")
    p.add_argument("--device", default="cuda")
    p.add_argument("--args", default="", help="more flags for enhance, separated by spaces")
    a = p.parse_args()
    w, h = map(int, a.size.lower().split("x"))
    if a.device != "cuda":
        a.precisions = ["fp32"]
    name = torch.cuda.get_device_name() if a.device == "cuda" else "CPU"
    print(f"{name}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}{', benchmark mode' if a.benchmark else ''}; packed {w}x{h}; median of {a.runs}")
    for model in a.models:
        print(f"{model}\n  {'':5} {'':8} {'device ms':>9} {'wall ms':>9} {'peak MiB':>9} {'PSNR dB':>7}")
        x, refs = pynet.packed("bench", h, w), {}
        peer, own = Torch(model, a.device, a.benchmark), Enhance(a.enhance, model, a.args.split())
        with tempfile.TemporaryDirectory() as folder:
            for precision in a.precisions:
                compiled = [("compiled", lambda: peer.run(precision, x, a.runs, True))] if a.compile else []
                for who, run in (("PyTorch", lambda: peer.run(precision, x, a.runs)), *compiled, ("enhance", lambda: own.run(precision, h, w, a.runs, folder))):
                    try:
                        r = run()
                    except RuntimeError as e:
                        print(f"  {precision:5} {who:8} failed: {e}", flush=True)
                        continue
                    row(who, precision, r, refs.get(who))
                    refs.setdefault(who, r["y"])
        if {"PyTorch", "enhance"} <= refs.keys() and a.precisions[0] == "fp32":
            print(f"  fp32 results of the two: {psnr(refs['enhance'], refs['PyTorch']):.1f} dB", flush=True)


if __name__ == "__main__":
    sys.exit(main())
