"""One training step: synthesis, forward, backward, all-reduce, update, EMA.

All weights lie in one float32 vector and all gradients in another, so that the
update is a handful of operations and the exchange between GPUs is one. A copy of
the network in the compute type reads its weights from a vector of that type,
which every update fills. On CUDA the step is replayed from graphs, which take
their rates from tensors.
"""
import copy

import torch
from torch import distributed as dist

import evaluate
import masked
import synth
from optimise import BETA1, BETA2, Update
from pynet_m import planes

REFRESH = 100    # steps between updates of the sampling table
HARD = 0.4       # share of crops drawn by difficulty
FLOOR = 3e-5     # added to squared errors in the PSNR loss: about 45 dB
EPSILON = 1e-3   # of the Charbonnier loss
EMA = 0.999
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
LOSS_SCALE = {"fp32": 1.0, "bf16": 1.0, "fp16": 2.0 ** 14}  # small gradients vanish in fp16


def views(vector, parameters):
    """The parts of a vector that hold parameters, channels last."""
    at, out = 0, []
    for p in parameters:
        part = vector[at:at + p.numel()]
        if p.dim() == 4:
            o, i, h, w = p.shape
            part = part.view(o, h, w, i).permute(0, 3, 1, 2)
        out.append(part)
        at += p.numel()
    return out


class Teacher:
    """A trained, larger network whose answers are most of what a smaller one is
    trained towards. The truth holds noise that no network can know of its input;
    the teacher's answer is near the mean of what could be true, so gradients
    towards it vary less (Hinton et al., "Distilling the knowledge in a neural
    network", 2015; for enlarging: He et al., "FAKD", 2020)."""

    def __init__(self, args, config, device):
        self.share, self.cuda = args.teacher_share, device.type == "cuda"
        self.type = torch.float16 if self.cuda and args.dtype != "fp32" else torch.float32
        net = evaluate.load_model(args.teacher)[0]
        if planes(net.config) != planes(config):
            raise SystemExit(f"{args.teacher}: the teacher takes {planes(net.config)} planes, "
                             f"the network {planes(config)}: name one of the same planes")
        self.net = net.requires_grad_(False).eval().to(device, self.type)
        if self.cuda:
            self.net.to(memory_format=torch.channels_last)
        self.goal = torch.compile(self.mix, dynamic=False) if self.cuda and args.compile else self.mix

    def mix(self, x, y):
        """The teacher's answer to x and the truth y, by their shares."""
        return torch.lerp(y, self.net(x.to(self.type)).float(), self.share)


class Step:
    def __init__(self, model, photos, args, device, world):
        self.photos, self.device, self.world, self.args = photos, device, world, args
        self.teacher = Teacher(args, model.config, device) if args.teacher else None
        self.mixed = masked.Mixed(device) if planes(model.config) == masked.Masked.planes else None
        self.count, self.cuda = 0, device.type == "cuda"
        kind = args.dtype if self.cuda else "fp32"
        self.type, self.scale = TYPES[kind], LOSS_SCALE[kind]
        parameters = list(model.parameters())
        self.weight = torch.empty(sum(p.numel() for p in parameters), device=device)
        self.grad = torch.zeros_like(self.weight)
        self.grads = views(self.grad, parameters)
        with torch.no_grad():
            for part, p in zip(views(self.weight, parameters), parameters):
                part.copy_(p)
        self.low = self.weight.to(self.type)
        self.model = self.compute_copy(model)
        self.updates = Update(self.weight, model.named_parameters(), args.muon, **model.pace)
        self.smooth = self.weight.clone()
        self.norm = torch.zeros((), device=device)  # running gradient norm
        self.knobs = torch.zeros(5, device=device)  # rate, share, corrections of Adam, EMA decay
        self.score = torch.full((len(photos.tiles),), 1e-4, device=device)
        self.chance = torch.linspace(0, 1, len(photos.tiles), device=device)
        self.losses = torch.zeros(args.batch, device=device)
        self.rate = self.share = 0.0
        self.loss_of, self.synthesise = self.loss, self.synthesis
        if self.cuda and args.compile:
            self.loss_of = torch.compile(self.loss, dynamic=False)
            self.synthesise = torch.compile(self.synthesis, dynamic=False)
        self.graphs = None

    def compute_copy(self, model):
        """A model whose parameters are parts of self.low; the linear skip stays
        in float32 unless the type is fp16, which is precise enough for it."""
        out = copy.deepcopy(model)
        parts = zip(out.named_parameters(), views(self.low, out.parameters()), views(self.weight, out.parameters()))
        self.skip_type = self.type if self.type == torch.float16 else torch.float32
        for (name, p), low, full in parts:
            p.data = full if name.startswith("skip.") and self.skip_type == torch.float32 else low
        self.inputs = list(out.parameters())
        return out

    def state(self):
        return dict(weight=self.weight, first=self.updates.first, second=self.updates.second, smooth=self.smooth,
                    norm=self.norm, score=self.score, chance=self.chance, count=self.count)

    def load(self, state):
        self.count = state["count"]
        for name, v in self.state().items():
            if name in ("weight", "first", "second", "smooth", "norm"):
                v.copy_(state[name])
        if len(state["score"]) == len(self.score):
            self.score.copy_(state["score"])
            self.chance.copy_(state["chance"])
        self.low.copy_(self.weight)

    def copy_smooth(self, model):
        """Puts the averaged weights into another model of the same kind."""
        parameters = list(model.parameters())
        with torch.no_grad():
            for p, part in zip(parameters, views(self.smooth, parameters)):
                p.copy_(part)

    def synthesis(self, code):
        layout = self.mixed(code.shape[0], code.shape[-1]) if self.mixed else synth.Bayer
        x, y = synth.batch(code, layout)
        return (x.contiguous(memory_format=torch.channels_last) if self.cuda else x), y

    def loss(self, x, y, goal, share):
        """(loss towards goal, square error of each sample against y) of a batch."""
        z = self.model.answer(x, self.type, self.skip_type)
        e2 = (z - goal) ** 2
        patches = torch.log(e2.mean((1, 2, 3)) + FLOOR).mean()
        loss = (1 - share) * torch.sqrt(e2 + EPSILON ** 2).mean() + share * 0.01 * patches
        return self.scale * loss, ((z.detach() - y) ** 2).mean((1, 2, 3))

    def gradients(self):
        """Fills the gradients from a fresh batch, and the table of difficulties."""
        n, tiles = self.args.batch, len(self.score)
        even = (torch.rand(n, device=self.device) * tiles).long().clamp(max=tiles - 1)
        hard = torch.searchsorted(self.chance, torch.rand(n, device=self.device)).clamp(max=tiles - 1)
        tile = torch.where(torch.rand(n, device=self.device) < HARD, hard, even)
        with torch.no_grad():
            x, y = self.synthesise(self.photos.crops(tile))
            goal = self.teacher.goal(x, y) if self.teacher else y
        loss, mse = self.loss_of(x, y, goal, self.knobs[1])
        found = torch.autograd.grad(loss, self.inputs)
        if self.cuda:
            torch._foreach_copy_(self.grads, found)
        else:
            for part, g in zip(self.grads, found):
                part.copy_(g)
        mse = mse.detach()
        self.losses.copy_(mse)
        clean = synth.counts(n)[0]
        clean -= synth.pattern_count(clean)  # patterns say nothing of the places they replace
        at = tile[:clean]
        self.score.index_copy_(0, at, 0.5 * self.score[at] + 0.5 * mse[:clean])

    @torch.no_grad()
    def update(self):
        rate, _, fix1, fix2, decay = self.knobs.unbind()
        g = self.grad
        g.mul_(1 / (self.scale * self.world)).nan_to_num_(0, 0, 0)
        norm = g.norm()
        # Gradients much longer than usual are shortened.
        known = torch.where(self.norm > 0, self.norm, norm)
        g.mul_(torch.clamp(3 * known / (norm + 1e-12), max=1.0))
        self.norm.copy_(0.99 * known + 0.01 * torch.minimum(norm, 3 * known))
        self.weight.sub_(rate * self.updates.step(g, fix1, fix2))
        self.smooth.add_((self.weight - self.smooth) * (1 - decay))
        self.low.copy_(self.weight)

    def refresh(self):
        """Makes the table that crops of difficult places are drawn from."""
        s = self.score.clamp(max=float(self.score.mean()) * 8).double()
        total = torch.cumsum(s, 0)
        self.chance.copy_(total / total[-1])

    def capture(self):
        """Records the graphs, after runs that compile and choose algorithms."""
        score, random = self.score.clone(), torch.cuda.get_rng_state(self.device)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
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
        self.score.copy_(score)
        torch.cuda.set_rng_state(random, self.device)

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
