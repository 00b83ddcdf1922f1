"""Trains a pynet-m network. README.md has the commands of the shipped files."""
import argparse
import json
import math
import os
import signal
import subprocess
import sys
import time

import torch
from torch import distributed as dist

import evaluate
import export
import photos as photo_store
import synth
from networks import CONFIGS, build, cost, start_from
from pynet_m import config_text
from step import Step

SYNC = 20  # steps between looks at the clock


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--config", default="best", help=f"one of {', '.join(CONFIGS)}, or JSON")
    p.add_argument("--photos", default=os.environ.get("PHOTOS"), help="folders of photos, separated by colons")
    p.add_argument("--kodak", default=os.environ.get("KODAK"), help="folder of test photos; not trained on")
    p.add_argument("--holdout", type=int, default=0, help="every how many photos one is kept for evaluation")
    p.add_argument("--pages", type=int, default=0, help="drawn pages of text and lines added to the photos")
    p.add_argument("--init", help="weights file to start from, instead of random weights; it may have fewer blocks")
    p.add_argument("--teacher", help="weights file of a larger network to learn from as well")
    p.add_argument("--teacher-share", type=float, default=0.7, help="of the teacher's answer in what is learned")
    p.add_argument("--psnr-from", type=float, default=0.5, help="progress at which the PSNR loss starts to take over")
    p.add_argument("--out", required=True, help="folder of checkpoint, log and exports")
    p.add_argument("--minutes", type=float, default=9, help="length of this slice")
    p.add_argument("--total-minutes", type=float, default=20, help="length of all slices: sets the schedule")
    p.add_argument("--steps", type=int, help="length of this slice in steps, instead of minutes")
    p.add_argument("--total-steps", type=int, help="schedule in steps, instead of minutes")
    p.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out, if any")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--gpus", default="0", help="for example 0,1; cpu for none; cpu,cpu to try two processes")
    p.add_argument("--batch", type=int, default=96, help="patches a GPU and step")
    p.add_argument("--patch", type=int, default=64, help="packed side of a patch")
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--muon", action="store_true", help="update hidden layers by Muon, not by Adam")
    p.add_argument("--dtype", choices=["fp16", "bf16", "fp32"], default="fp16", help="to compute in, on a GPU")
    p.add_argument("--no-compile", dest="compile", action="store_false")
    p.add_argument("--no-graph", action="store_true", help="no CUDA graphs")
    p.add_argument("--save-every", type=float, default=60, help="seconds between checkpoints")
    p.add_argument("--eval-every", type=float, default=60, help="seconds between evaluations")
    args = p.parse_args()
    if not 0 <= args.teacher_share <= 1:
        p.error("--teacher-share is from 0 to 1")
    return args


def load_config(text):
    return CONFIGS[text] if text in CONFIGS else json.loads(text)


def schedule(progress, step, base, psnr_from):
    """(learning rate, share of the PSNR loss) at a progress of 0..1."""
    warm = min(1.0, (step + 1) / 300)
    rate = base * warm * (0.5 * (1 + math.cos(math.pi * min(1.0, progress))) * 0.99 + 0.01)
    share = min(1.0, max(0.0, (progress - psnr_from) / 0.1))
    return rate, share


class Trainer:
    def __init__(self, args, rank, world, device):
        self.args, self.rank, self.world, self.device = args, rank, world, device
        self.config = load_config(args.config)
        self.mac, self.params = cost(self.config)
        paths = photo_store.find(args.photos)
        kept = paths[args.holdout // 2::args.holdout] if args.holdout else []
        paths = [p for p in paths if p not in kept]
        self.data_hash, self.data_count = photo_store.list_hash(paths), len(paths)
        torch.manual_seed(args.seed)
        self.model = build(self.config)
        if args.init:
            start_from(self.model, evaluate.load_model(args.init)[0].state_dict())
        self.model.to(device)
        self.smooth = build(self.config).to(device).eval()  # holds the EMA weights
        start = time.time()
        self.photos = photo_store.Photos(paths, 2 * args.patch, device, args.pages)
        self.say(f"{len(paths)} photos, {self.photos.pixels.numel() / 3e6:.0f} Mpx with scales, "
                 f"{len(self.photos.tiles)} places, {time.time() - start:.1f} s")
        self.say(f"{self.mac / 1e3:.1f} kMAC per packed pixel, {self.params} parameters, {config_text(self.config)}")
        torch.manual_seed(args.seed * 1000 + rank)
        self.step = Step(self.model, self.photos, args, device, world)
        self.test = {}
        if args.kodak and rank == 0:
            self.test["kodak"] = evaluate.load_photos(args.kodak)
        if kept and rank == 0:
            self.test["holdout"] = evaluate.load_reduced(kept)
        self.elapsed, self.last = 0.0, {}
        os.makedirs(args.out, exist_ok=True)
        if args.resume and os.path.exists(self.path("checkpoint.pt")):
            self.load()

    def path(self, name):
        return os.path.join(self.args.out, name)

    def say(self, text):
        if self.rank == 0:
            print(text, flush=True)

    def progress(self):
        if self.args.total_steps:
            return self.step.count / self.args.total_steps
        return self.elapsed / (60 * self.args.total_minutes)

    def load(self):
        c = torch.load(self.path("checkpoint.pt"), map_location="cpu")
        if c["config"] != self.config:
            raise SystemExit(f"checkpoint is of {c['config']}: train that, or name another --out")
        self.step.load(c["step"])
        self.elapsed = c["elapsed"]
        if self.world == 1:
            torch.set_rng_state(c["rng"])
            if self.device.type == "cuda":
                torch.cuda.set_rng_state(c["cuda_rng"], self.device)
        else:  # a stream of its own for each GPU and slice
            torch.manual_seed(self.args.seed * 1000 + self.rank + 7919 * self.step.count)
        self.say(f"resumed at step {self.step.count}, {self.elapsed:.0f} s")

    def save(self):
        if self.rank:
            return
        c = dict(config=self.config, step=self.step.state(), elapsed=self.elapsed, rng=torch.get_rng_state())
        if self.device.type == "cuda":
            c["cuda_rng"] = torch.cuda.get_rng_state(self.device)
        torch.save(c, self.path("checkpoint.part"))
        os.replace(self.path("checkpoint.part"), self.path("checkpoint.pt"))
        self.step.copy_smooth(self.smooth)
        export.write(self.path("ema.safetensors"), self.smooth, self.facts())

    def facts(self):
        """What a weights file says of its training."""
        a = self.args
        device = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "CPU"
        facts = {"train.data": self.data_hash, "train.photos": self.data_count, "train.pages": a.pages, "train.recipe": export.recipe_hash(),
                 "train.seed": a.seed, "train.steps": self.step.count, "train.minutes": f"{self.elapsed / 60:.2f}",
                 "train.device": f"{self.world} x {device}", "train.batch": a.batch * self.world,
                 "train.patch": a.patch, "train.rate": a.lr, "train.torch": torch.__version__}
        if a.muon:
            facts["train.optimiser"] = "muon"
        if a.teacher:
            facts.update({"train.teacher": os.path.basename(a.teacher), "train.teacher_share": a.teacher_share})
        facts.update({f"train.{k}": v for k, v in self.last.items()})
        return facts

    def evaluate(self):
        if self.rank or not self.test:
            return
        self.step.copy_smooth(self.smooth)
        benchmark, torch.backends.cudnn.benchmark = torch.backends.cudnn.benchmark, False  # photos have many sizes
        self.last = {}
        for kind, test in self.test.items():
            tables = [evaluate.evaluate(self.smooth, test, s) for s in (0.0, 10 / 255)]
            clean, noisy = [evaluate.mean(t) for t in tables]
            self.last.update({kind: f"{clean:.3f}", kind + "10": f"{noisy:.3f}"})
            each = " ".join(f"{n[-2:]}:{v:.2f}" for n, v in tables[0].items()) if len(test) < 6 else ""
            self.say(f"EVAL {kind} t {self.elapsed:.0f} step {self.step.count} photos {len(test)} "
                     f"CPSNR {clean:.3f} sigma10 {noisy:.3f} {each}")
        torch.backends.cudnn.benchmark = benchmark

    def shared_clock(self, slice_end, stop):
        """The elapsed time and whether to stop, the same on every GPU."""
        done = stop or (self.step.count >= slice_end if self.args.steps else self.elapsed >= slice_end)
        if self.world > 1:
            t = torch.tensor([self.elapsed, float(done)], dtype=torch.float64, device=self.device)
            dist.broadcast(t, 0)
            self.elapsed, done = float(t[0]), bool(t[1] > 0)
        return done

    def train(self):
        a, step = self.args, self.step
        stop = []
        signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
        slice_end = step.count + a.steps if a.steps else self.elapsed + 60 * a.minutes
        before, start = self.elapsed, time.time()
        saved = told = start
        evaluated, told_at = start, step.count
        while True:
            if step.count % SYNC == 0 or a.steps:
                step.wait()
                self.elapsed = before + time.time() - start
                done = self.shared_clock(slice_end, bool(stop))
                now = time.time()
                if now - told > 10 or done:
                    rate = (step.count - told_at) / max(now - told, 1e-9)
                    px = rate * self.world * a.batch * a.patch ** 2
                    clean, noisy, raw = step.report()
                    if not math.isfinite(clean + noisy + raw):
                        raise SystemExit("losses are not finite: try --dtype bf16 or a smaller --lr")
                    self.say(f"t {self.elapsed:.0f} step {step.count} rate {step.rate:.2e} share {step.share:.2f} "
                             f"psnr {clean:.2f} {noisy:.2f} {raw:.2f} | {rate:.1f} it/s {px / 1e6:.1f} Mpx/s "
                             f"{6 * self.mac * px / 1e12:.1f} TFLOP/s")
                    told, told_at = time.time(), step.count
                if done:
                    break
                if now - evaluated > a.eval_every:
                    self.evaluate()
                    evaluated = time.time()
                if now - saved > a.save_every:
                    self.save()
                    saved = time.time()
            step.run(*schedule(self.progress(), step.count, a.lr, a.psnr_from))
        if self.world > 1:  # every process holds the same weights, or something is broken
            print(f"weights of process {self.rank}: {float(step.weight.double().sum()):.9f}", flush=True)
        self.evaluate()
        self.save()
        self.say(f"DONE step {step.count} elapsed {self.elapsed:.0f} s")


def spawn(gpus):
    """Runs this program once a GPU and waits."""
    children = []
    for rank in range(len(gpus)):
        env = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(len(gpus)), LOCAL_GPU=gpus[rank],
                   MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29500 + (0 if gpus[0] == "cpu" else int(gpus[0]))))
        children.append(subprocess.Popen([sys.executable] + sys.argv, env=env))
    signal.signal(signal.SIGTERM, lambda *_: [c.terminate() for c in children])
    while any(c.poll() is None for c in children):
        if any(c.poll() for c in children):  # one failed: the others would wait for it
            time.sleep(5)
            for c in children:
                c.kill()
        time.sleep(0.5)
    return max(abs(c.wait()) for c in children)


def main():
    args = arguments()
    if not args.photos:
        raise SystemExit("no photos: name their folder with --photos or PHOTOS")
    gpus = args.gpus.split(",")
    if len(gpus) > 1 and "RANK" not in os.environ:
        raise SystemExit(spawn(gpus))
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if gpus[0] == "cpu":
        device = torch.device("cpu")
    else:
        device = torch.device("cuda", int(os.environ.get("LOCAL_GPU", gpus[0])))
        torch.cuda.set_device(device)
        torch.backends.cudnn.benchmark = True
    if world > 1:
        dist.init_process_group("gloo" if device.type == "cpu" else "nccl")
    Trainer(args, rank, world, device).train()
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
