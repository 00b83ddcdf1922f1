"""Times whole networks by enhance and by PyTorch on the same cores, in turns, and
prints a table: medians of --rounds runs, each in a process of its own after one
that does not count, and the most memory that a process ever had resident
(getrusage), compilers and libraries included. Processor seconds are of one run, ours
then theirs, and hold still when other programs share the cores.

    make compare-cpu                      (needs bin/enhance, PyTorch and an OpenCL CPU device)
    python3 scripts/compare-pytorch-cpu.py [--rounds N] [--only pynet-s] [-- OPTIONS OF enhance bench net]

PyTorch runs scripts/pytorch/pynet.py; its second row of memory (--hold) is of a
network whose values live to the end of one forward function."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
ENHANCE = os.path.join(ROOT, "bin", "enhance")
TORCH = os.path.join(ROOT, "scripts", "pytorch", "pynet.py")

# Name, enhance's model, rows and columns of the mosaic.
NETS = [("pynet", "pynet-random:gold", 768, 1024), ("pynet-s", "pynet-s", 1440, 1984)]


def run(args):
    """Runs a program that prints JSON; returns it and the peak of its resident bytes."""
    with tempfile.TemporaryFile() as out:
        p = subprocess.Popen(args, stdout=out)
        _, status, usage = os.wait4(p.pid, 0)
        if status != 0:
            sys.exit(f"{' '.join(args)} failed with status {os.waitstatus_to_exitcode(status)}")
        out.seek(0)
        return json.load(out), usage.ru_maxrss * 1024


def enhance(model, rows, cols, threads, options):
    args = [ENHANCE, "bench", "net", "-q", "--json", "--repeat", "1", "-m", model, "--size", f"{cols}x{rows}", "-j", str(threads)]
    report, peak = run(args + options)
    if report["non_finite"]:
        sys.exit(f"{model}: {report['non_finite']} samples of the result are not finite")
    return report["seconds"], peak, report["device"]["name"], report["cpu_seconds"]


def torch(name, rows, cols, threads, hold=False):
    args = [sys.executable, TORCH, "--threads", str(threads), "time", name, f"{rows // 2}x{cols // 2}", "--runs", "1"]
    report, peak = run(args + ["--hold"] * hold)
    return report["seconds"], peak, report["torch"], report["cpu_seconds"]


def span(v):
    return f"{statistics.median(v):.2f} ({min(v):.2f}–{max(v):.2f})"


def compare(net, args):
    name, model, rows, cols = net
    _, _, device, _ = enhance(model, rows, cols, args.threads, args.options)  # compiles what is not in the cache
    _, held, version, _ = torch(name, rows, cols, args.threads, hold=True)
    ours, theirs = [], []
    for _ in range(args.rounds):
        ours.append(enhance(model, rows, cols, args.threads, args.options))
        theirs.append(torch(name, rows, cols, args.threads))
        print(f"{name}: {ours[-1][0]:.2f} s, PyTorch {theirs[-1][0]:.2f} s", file=sys.stderr)
    seconds, peers = [r[0] for r in ours], [r[0] for r in theirs]
    peak, peer = max(r[1] for r in ours), max(r[1] for r in theirs)
    ratio = statistics.median(peers) / statistics.median(seconds)
    busy, busier = statistics.median(r[3] for r in ours), statistics.median(r[3] for r in theirs)
    cells = [name, f"{cols}×{rows}", span(seconds), span(peers), f"{ratio:.2f}", f"{busy:.2f}, {busier:.2f}", f"{peak / 1e6:.0f}", f"{peer / 1e6:.0f}, {held / 1e6:.0f}"]
    return device, version, "| " + " | ".join(cells) + " |"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--only", choices=[n[0] for n in NETS])
    p.add_argument("options", nargs="*", help="further options of enhance bench net, after --")
    args = p.parse_args()
    lines = []
    for net in NETS:
        if args.only in (None, net[0]):
            device, version, line = compare(net, args)
            lines.append(line)
    print(f"{device}; PyTorch {version}; {args.threads} threads; medians of {args.rounds} (fastest to slowest)\n")
    print("| network | mosaic | enhance, s | PyTorch, s | ratio | processor s | enhance, MB | PyTorch, MB (freed, held) |")
    print("|---|---|---|---|---|---|---|---|")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
