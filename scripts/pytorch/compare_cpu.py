"""Times fast and best on so many cores: enhance in fp32 and, where the device has it, bf16, and PyTorch eager and compiled, in fp32 and bf16.

    python3 scripts/pytorch/compare_cpu.py --enhance bin/enhance --cores 0-3 [--models fast best] [--size 2048x1536]

Every time is the median of --runs after two that do not count, of a forward pass over the same number of samples, weights
loaded and kernels compiled before. PyTorch runs channels_last, with oneDNN; compiled is torch.compile with constants
folded (torch._inductor.config.freezing), its strongest form on CPUs. Rows are printed as they come."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DEVICE = "Portable Computing Language"  # PoCL
sys.path.insert(0, os.path.join(ROOT, "train"))


def numbers(cores):
    """The processors of a list as taskset takes it: 0-3,8."""
    out = set()
    for part in cores.split(","):
        first, _, last = part.partition("-")
        out.update(range(int(first), int(last or first) + 1))
    return out


def enhance(program, model, size, runs, cores, precision="fp32"):
    """Seconds of a pass of enhance on PoCL, which is told how many threads to start; None if the device refuses the precision."""
    env = dict(os.environ, POCL_MAX_PTHREAD_COUNT=str(cores), POCL_CPU_MAX_CU_COUNT=str(cores))
    args = [program, "bench", "net", "-q", "--json", "--repeat", str(runs), "-m", model, "--size", size, "-g", DEVICE, "-j", str(cores), "--precision", precision]
    done = subprocess.run(args, env=env, stdout=subprocess.PIPE)
    if done.returncode == 2 and precision == "bf16":
        return None
    done.check_returncode()
    return json.loads(done.stdout)["seconds"]


def passes(torch, net, x, kind, runs):
    """Seconds of a pass of PyTorch."""
    def once():
        start = time.time()
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=kind == "bf16"):
            net(x)
        return time.time() - start
    once(), once()
    return statistics.median(once() for _ in range(runs))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--enhance", required=True)
    p.add_argument("--cores", required=True, help="processors to run on, as taskset takes them")
    p.add_argument("--models", nargs="+", default=["fast", "best"])
    p.add_argument("--size", default="2048x1536", help="columns x rows of the mosaic, multiples of 16")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--int8", nargs="*", default=[], metavar="FILE", help="networks of 8 bits to time too")
    p.add_argument("--eager-only", action="store_true", help="without torch.compile")
    args = p.parse_args()
    cores = numbers(args.cores)
    os.sched_setaffinity(0, cores)
    import torch
    import evaluate
    torch.set_num_threads(len(cores))
    cols, rows = (int(v) for v in args.size.split("x"))
    if cols % 16 or rows % 16:
        p.error("--size: the networks' levels need multiples of 16")
    print(f"{len(cores)} cores, {args.size}, PyTorch {torch.__version__}; seconds a pass", flush=True)
    for file in args.int8:
        print(f"{os.path.basename(file)} enhance int8  {enhance(args.enhance, file, args.size, args.runs, len(cores)):8.4f}", flush=True)
    for model in args.models:
        ours = enhance(args.enhance, model, args.size, args.runs, len(cores))
        print(f"{model:6} enhance fp32             {ours:8.4f}", flush=True)
        half = enhance(args.enhance, model, args.size, args.runs, len(cores), "bf16")
        if half:
            print(f"{model:6} enhance bf16             {half:8.4f}  {half / ours:5.2f} of enhance's fp32", flush=True)
        net = evaluate.load_model(os.path.join(ROOT, "model", "weights", model + ".safetensors"))[0].eval().to(memory_format=torch.channels_last)
        x = torch.rand(1, 8, rows // 2, cols // 2).to(memory_format=torch.channels_last)
        for kind in ("fp32", "bf16"):
            for form in ("eager",) if args.eager_only else ("eager", "compiled"):
                called = net
                if form == "compiled":
                    import torch._inductor.config as inductor
                    inductor.freezing = True
                    torch._dynamo.reset()
                    called = torch.compile(net)
                start = time.time()
                seconds = passes(torch, called, x, kind, args.runs)
                print(f"{model:6} PyTorch {kind} {form:10} {seconds:8.4f}  {seconds / ours:5.2f} of enhance's fp32"
                      f"  ({time.time() - start:.0f} s in all)", flush=True)
        again = enhance(args.enhance, model, args.size, args.runs, len(cores))
        print(f"{model:6} enhance fp32, again      {again:8.4f}", flush=True)


if __name__ == "__main__":
    main()
