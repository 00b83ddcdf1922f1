"""One training step: synthesis, forward, backward, all-reduce, Adam, EMA.

All weights lie in one vector and all gradients in another, so that the update is
a handful of operations and the exchange between GPUs is one. On CUDA the step is
replayed from graphs, which take their rates from tensors.
"""
import torch
from torch import distributed as dist
from torch.nn import functional as F

import synth

REFRESH = 100    # steps between updates of the sampling table
HARD = 0.4       # share of crops drawn by difficulty
FLOOR = 3e-5     # added to squared errors in the PSNR loss: about 45 dB
EPSILON = 1e-3   # of the Charbonnier loss
BETA1, BETA2, ADAM_EPSILON = 0.9, 0.99, 1e-8
EMA = 0.999


class Step:
    def __init__(self, model, photos, args, device, world):
        self.model, self.photos, self.device, self.world = model, photos, device, world
        self.args, self.count = args, 0
        self.cuda = device.type == "cuda"
        self.parameters = list(model.parameters())
        self.weight = torch.cat([p.detach().reshape(-1) for p in self.parameters])
        self.grad = torch.zeros_like(self.weight)
        self.bind()
        self.first, self.second = torch.zeros_like(self.weight), torch.zeros_like(self.weight)
        self.smooth = self.weight.clone()
        self.norm = torch.zeros((), device=device)  # running gradient norm
        self.knobs = torch.zeros(5, device=device)  # rate, share, corrections of Adam, EMA decay
        self.score = torch.full((len(photos.tiles),), 1e-4, device=device)
        self.chance = torch.linspace(0, 1, len(photos.tiles), device=device)
        self.losses = torch.zeros(args.batch, device=device)
        self.rate = self.share = 0.0
        self.forward, self.synthesise = self.body, synth.batch
        if self.cuda and args.compile != "none":
            self.forward = torch.compile(self.body, dynamic=False)
            if args.compile == "all":
                self.synthesise = torch.compile(synth.batch, dynamic=False)
        self.graphs = None

    def bind(self):
        """Makes parameters and their gradients views of the two vectors."""
        at = 0
        for p in self.parameters:
            n = p.numel()
            p.data = self.weight[at:at + n].view_as(p)
            p.grad = self.grad[at:at + n].view_as(p)
            at += n

    def state(self):
        return dict(weight=self.weight, first=self.first, second=self.second, smooth=self.smooth,
                    norm=self.norm, score=self.score, chance=self.chance, count=self.count)

    def load(self, state):
        self.count = state["count"]
        for name in ("weight", "first", "second", "smooth", "norm"):
            getattr(self, name).copy_(state[name])
        if len(state["score"]) == len(self.score):
            self.score.copy_(state["score"])
            self.chance.copy_(state["chance"])

    def copy_smooth(self, model):
        """Puts the averaged weights into another model of the same kind."""
        at = 0
        with torch.no_grad():
            for p in model.parameters():
                n = p.numel()
                p.copy_(self.smooth[at:at + n].view_as(p))
                at += n

    def body(self, x):
        """Everything but the linear skip, which stays in full precision."""
        return self.model.body(x)

    def gradients(self):
        """Fills the gradients from a fresh batch, and the table of difficulties."""
        n = self.args.batch
        u = torch.rand(n, device=self.device)
        tiles = len(self.score)
        even = (torch.rand(n, device=self.device) * tiles).long().clamp(max=tiles - 1)
        hard = torch.searchsorted(self.chance, u).clamp(max=tiles - 1)
        tile = torch.where(torch.rand(n, device=self.device) < HARD, hard, even)
        with torch.no_grad():
            x, y = self.synthesise(self.photos.crops(tile))
        if self.cuda:
            x = x.contiguous(memory_format=torch.channels_last)
        self.grad.zero_()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.cuda and not self.args.no_bf16):
            detail = self.forward(x)
        z = F.pixel_shuffle(detail.float() + self.model.skip(x), 2)
        e2 = (z - y) ** 2
        mse = e2.mean((1, 2, 3))
        share = self.knobs[1]
        loss = (1 - share) * torch.sqrt(e2 + EPSILON ** 2).mean() + share * 0.01 * torch.log(mse + FLOOR).mean()
        loss.backward()
        mse = mse.detach()
        self.losses.copy_(mse)
        clean = synth.counts(n)[0]
        at = tile[:clean]
        self.score.index_copy_(0, at, 0.5 * self.score[at] + 0.5 * mse[:clean])

    @torch.no_grad()
    def update(self):
        rate, _, fix1, fix2, decay = self.knobs.unbind()
        g = self.grad
        if self.world > 1:
            g.div_(self.world)
        g.nan_to_num_(0, 0, 0)
        norm = g.norm()
        # Gradients much longer than usual are shortened.
        known = torch.where(self.norm > 0, self.norm, norm)
        g.mul_(torch.clamp(3 * known / (norm + 1e-12), max=1.0))
        self.norm.copy_(0.99 * known + 0.01 * torch.minimum(norm, 3 * known))
        self.first.lerp_(g, 1 - BETA1)
        self.second.mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
        self.weight.sub_(rate * (self.first / fix1) / ((self.second / fix2).sqrt() + ADAM_EPSILON))
        self.smooth.add_((self.weight - self.smooth) * (1 - decay))

    def refresh(self):
        """Makes the table that crops of difficult places are drawn from."""
        s = self.score.clamp(max=float(self.score.mean()) * 8).double()
        total = torch.cumsum(s, 0)
        self.chance.copy_(total / total[-1])

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        kept = self.keep()
        with torch.cuda.stream(side):
            for _ in range(3):
                self.gradients()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        self.graphs = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graphs[0], capture_error_mode="thread_local"):
            self.gradients()
        with torch.cuda.graph(self.graphs[1], capture_error_mode="thread_local"):
            self.update()
        self.restore(kept)

    def keep(self):
        return self.score.clone(), torch.cuda.get_rng_state(self.device)

    def restore(self, kept):
        self.score.copy_(kept[0])
        torch.cuda.set_rng_state(kept[1], self.device)

    def run(self, rate, share):
        if self.count % REFRESH == 0:
            self.refresh()
        t = self.count + 1
        self.rate, self.share = rate, share
        knobs = torch.tensor([rate, share, 1 - BETA1 ** t, 1 - BETA2 ** t, min(EMA, (1 + t) / (10 + t))])
        self.knobs.copy_(knobs.pin_memory() if self.cuda else knobs, non_blocking=True)
        if self.cuda and not self.args.no_graph and self.graphs is None:
            self.capture()
        if self.graphs:
            self.graphs[0].replay()
        else:
            self.gradients()
        if self.world > 1:
            dist.all_reduce(self.grad)
        if self.graphs:
            self.graphs[1].replay()
        else:
            self.update()
        self.count += 1

    def wait(self):
        if self.cuda:
            torch.cuda.synchronize()

    def report(self):
        """PSNR of the last batch's clean, noisy and sensor samples."""
        clean, noisy, _ = synth.counts(self.args.batch)
        parts = self.losses[:clean], self.losses[clean:clean + noisy], self.losses[clean + noisy:]
        return [-10 * float(torch.log10(p.mean() + 1e-12)) for p in parts]
