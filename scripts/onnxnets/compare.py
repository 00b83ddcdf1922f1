"""Holds enhance beside PyTorch on the networks of papers: the results of the same ONNX file and the same
input, and processor seconds of a picture in batches of 1 and 16, which hold still when other programs share the cores.

    go test ./internal/onnxtest -run NetFiles -nets-to DIR -nets-divisor 1
    python3 scripts/onnxnets/compare.py DIR [NAME ...] [--enhance bin/enhance] [--repeat 3] [--batch 1,16]

The files are read by Debian's python3-onnx and run by PyTorch's own functions, one for each node. enhance has no batches:
16 pictures are 16 runs. A result that is off by more than 1e-4 of the largest sample ends the script with status 1."""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait in a loop take processor time too

import numpy
import onnx
import onnx.numpy_helper
import torch
import torch.nn.functional as F


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def window(a):
    """Pads of both ends must be alike, as PyTorch's are."""
    p = a.get("pads", [0, 0, 0, 0])
    assert p[:2] == p[2:], p
    return dict(stride=a.get("strides", [1, 1]), padding=p[:2])


def resize(x, a, scales):
    assert a["mode"] == b"nearest" and a["coordinate_transformation_mode"] == b"asymmetric", a
    return F.interpolate(x, scale_factor=tuple(float(s) for s in scales[2:]), mode="nearest")


OPS = {
    "Conv": lambda a, x, w, b: F.conv2d(x, w, b, groups=a.get("group", 1), **window(a)),
    "Relu": lambda a, x: F.relu(x),
    "PRelu": lambda a, x, s: F.prelu(x, s.flatten()),
    "Clip": lambda a, x, low, high: x.clamp(float(low), float(high)),
    "LRN": lambda a, x: F.local_response_norm(x, a["size"], a["alpha"], a["beta"], a["bias"]),
    "MaxPool": lambda a, x: F.max_pool2d(x, a["kernel_shape"], **window(a)),
    "GlobalAveragePool": lambda a, x: x.mean((2, 3), keepdim=True),
    "BatchNormalization": lambda a, x, w, b, m, v: F.batch_norm(x, m, v, w, b, eps=a["epsilon"]),
    "Flatten": lambda a, x: x.flatten(1),
    "Gemm": lambda a, x, w, b: F.linear(x, w, b),
    "Add": lambda a, x, y: x + y,
    "Concat": lambda a, *xs: torch.cat(xs, a["axis"]),
    "DepthToSpace": lambda a, x: F.pixel_shuffle(x, a["blocksize"]),
    "Resize": lambda a, x, *more: resize(x, a, more[-1]),
}


def network(path):
    graph = onnx.load(path).graph
    constants = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in graph.initializer}
    nodes = [(n, attributes(n)) for n in graph.node]

    def run(x):
        values = dict(constants)
        values[graph.input[0].name] = x
        for n, a in nodes:
            values[n.output[0]] = OPS[n.op_type](a, *[values[i] for i in n.input if i])
        return values[graph.output[0].name]
    return run


def processor(run, x, repeat):
    """Median processor seconds of a picture, after a run that does not count."""
    times = []
    for _ in range(repeat + 1):
        start = time.process_time()
        run(x)
        times.append((time.process_time() - start) / len(x))
    return statistics.median(times[1:])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dir", type=pathlib.Path)
    p.add_argument("names", nargs="*")
    p.add_argument("--enhance", default="bin/enhance")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--batch", default="1,16")
    p.add_argument("--threads", type=int, default=2)
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    batches = [int(b) for b in o.batch.split(",")]
    print("| network | largest difference | enhance | " + " | ".join(f"PyTorch, batch {b}" for b in batches) + " |")
    print("|---|---:|" + "---:|" * (1 + len(batches)))
    wrong = False
    for path in sorted(o.dir.glob("*.onnx")):
        name = path.stem
        if o.names and name not in o.names:
            continue
        source = sorted(o.dir.glob(f"{name}.0.*.in.f32"))[0]
        h, w = map(int, re.search(r"\.(\d+)x(\d+)\.in", source.name).groups())
        x = torch.from_numpy(numpy.fromfile(source, dtype="<f4").reshape(1, 3, h, w).copy())
        with torch.no_grad(), tempfile.NamedTemporaryFile(suffix=".f32") as out:
            run = network(path)
            want = run(x).numpy().ravel()
            subprocess.run([o.enhance, "model", "run", "-q", "-y", "-m", path, "-i", source, "--shape", f"3,{h},{w}", "-o", out.name], check=True)
            off = float(numpy.abs(numpy.fromfile(out.name, dtype="<f4") - want).max() / numpy.abs(want).max())
            theirs = [processor(run, x.repeat(b, 1, 1, 1), o.repeat) for b in batches]
        ours = json.loads(subprocess.run([o.enhance, "bench", "net", "-q", "--json", "--repeat", str(o.repeat), "-m", path, "--size", f"{w}x{h}", "-j", str(o.threads)],
                                         check=True, capture_output=True).stdout)["cpu_seconds"]
        wrong = wrong or not off <= 1e-4
        print(f"| {name} | {off:.1e} | {ours:.4f} | " + " | ".join(f"{t:.4f}" for t in theirs) + " |", flush=True)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
