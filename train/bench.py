"""Times training steps of configurations: bench.py NAME=ARGUMENTS_OF_TRAIN ...

Each runs in a process of its own, so that they compile at the same time; a lock
lets one measure at a time. PROFILE=1 adds the kernels that take the most.
"""
import fcntl
import os
import subprocess
import sys
import time


def measure(name):
    import torch

    import train
    started = time.time()
    args = train.arguments()
    device = torch.device("cuda", int(args.gpus))
    torch.cuda.set_device(device)
    torch.backends.cudnn.benchmark = True
    trainer = train.Trainer(args, 1, 1, device)  # rank 1 keeps quiet
    step = trainer.step
    with open("/tmp/bench.lock", "w") as lock:
        for _ in range(5):
            step.run(1e-4, 0.0)
        step.wait()
        ready = time.time() - started
        fcntl.flock(lock, fcntl.LOCK_EX)

        def ms(f, n=20):
            f()
            step.wait()
            t = time.time()
            for _ in range(n):
                f()
            step.wait()
            return (time.time() - t) / n * 1e3

        whole = ms(lambda: step.run(1e-4, 0.0), 60)
        tile = torch.randint(0, len(step.score), (args.batch,), device=device)
        with torch.no_grad():
            crops = ms(lambda: trainer.photos.crops(tile))
            code = trainer.photos.crops(tile)
            synth = ms(lambda: step.synthesise(code))
        if os.environ.get("PROFILE"):
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as p:
                for _ in range(3):
                    step.run(1e-4, 0.0)
                step.wait()
            print(name, p.key_averages().table(sort_by="cuda_time_total", row_limit=40, max_name_column_width=90), flush=True)
        px = args.batch * args.patch ** 2 / whole * 1e3
        print(f"{name}: ready {ready:.0f} s, step {whole:.2f} ms (crops {crops:.2f}, synthesis {synth:.2f} outside graphs), "
              f"{px / 1e6:.1f} Mpx/s, {6 * trainer.mac * px / 1e12:.1f} TFLOP/s, "
              f"{torch.cuda.max_memory_allocated() / 2**30:.1f} GiB", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        one = sys.argv[2]
        sys.argv[1:] = sys.argv[3:]
        measure(one)
    else:
        runs = [a.split("=", 1) for a in sys.argv[1:]]
        children = [subprocess.Popen([sys.executable, __file__, "--one", n] + a.split()) for n, a in runs]
        raise SystemExit(max([c.wait() for c in children]))
