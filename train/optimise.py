"""Updates of weights: Adam for all, or for the matrices of hidden layers Muon.

Muon (Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024) steps
along the momentum with all its singular values brought near 1, by five Newton-Schulz
iterations, so that directions that gradients seldom take are learnt as fast as others. A
convolution is the matrix of its outputs by its inputs at all taps. Steps are scaled to the
length that Adam's have (Liu et al., "Muon is scalable for LLM training", 2025, section 2.2),
so that one rate serves both. What such a step changes in the outputs of a convolution of a smooth photo
grows with the taps, ninefold from 3x3 to 9x9, and with the width. Spectral steps change as much at every
size and width (Yang, Simon, Bernstein, "A spectral condition for feature learning", 2023).
"""
import torch

BETA1, BETA2, EPSILON = 0.9, 0.99, 1e-8  # of Adam
MOMENTUM = 0.95                          # of Muon
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
LENGTH = 0.2                             # of a step of Adam, root mean square, about
SPECTRAL = 9                             # of a spectral step: Adam's length for 24 channels by 3x3
OUTER = ("stem.", "skip.", "head.", "conv_l1_d1.conv_3a.", "conv_l0_d1.")  # layers of the network's planes: Adam


def orthogonal(g):
    """A batch of matrices, no taller than wide, with singular values near 1 in place of theirs."""
    a, b, c = NEWTON_SCHULZ
    kind = torch.bfloat16 if g.is_cuda else torch.float32
    x = (g / (g.norm(dim=(1, 2), keepdim=True) + 1e-12)).to(kind)
    for _ in range(5):
        s = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(s, s, s, beta=b, alpha=c), x, beta=a)
    return x.float()


class Update:
    """How the vector of all weights follows the vector of gradients. Muon's steps may be spectral;
    the linear skip's are multiplied by skip."""

    def __init__(self, weight, named, muon, spectral=False, skip=1.0):
        self.spectral = spectral
        self.first, self.second = torch.zeros_like(weight), torch.zeros_like(weight)
        self.groups = {}  # by shape, where the matrices lie
        at = 0
        keep, self.pace = torch.full_like(weight, BETA1), torch.ones_like(weight)
        for name, p in named:
            if muon and p.dim() == 4 and not name.startswith(OUTER):
                self.groups.setdefault((p.shape[0], p[0].numel()), []).append(at)
                keep[at:at + p.numel()] = MOMENTUM
            if name.startswith("skip."):
                self.pace[at:at + p.numel()] = skip
            at += p.numel()
        self.lean = 1 - keep  # towards the newest gradient

    def step(self, g, fix1, fix2):
        """The step for gradients g, at a rate of 1; fix1 and fix2 correct Adam's first steps."""
        self.first.lerp_(g, self.lean)
        self.second.mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
        out = self.pace * (self.first / fix1) / ((self.second / fix2).sqrt() + EPSILON)
        for (rows, cols), places in self.groups.items():
            n = rows * cols
            ahead = [torch.lerp(g[at:at + n], self.first[at:at + n], MOMENTUM) for at in places]  # Nesterov's
            m = torch.stack(ahead).view(-1, rows, cols)
            m = orthogonal(m.mT).mT if rows > cols else orthogonal(m)
            length = SPECTRAL * (rows / cols) ** 0.5 if self.spectral else LENGTH * max(rows, cols) ** 0.5
            m = (m * length).reshape(len(places), n)
            for at, part in zip(places, m):
                out[at:at + n] = part
        return out
