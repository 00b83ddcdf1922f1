"""Tests of the recipe on a CPU: python3 test_train.py"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

import charts
import evaluate
import export
import masked
import networks
import optimise
import photos
import synth
import weights
from pynet_m import CONFIGS, PyNETM, config_text, enlarge, planes, start_from

SMALL = dict(widths=[8, 16, 16], encoder=[1, 0, 1], decoder=[1, 0], down_kernel=3, up_kernel=1,
             head_kernel=3, skip_kernel=5)
HERE = os.path.dirname(os.path.abspath(__file__))


def picture(path, seed, size=(320, 288)):
    rng = np.random.RandomState(seed)
    y, x = np.mgrid[:size[1], :size[0]]
    a = [127 + 60 * np.sin(x / rng.uniform(3, 30) + y / rng.uniform(3, 30)) + rng.normal(0, 8, x.shape)
         for _ in range(3)]
    Image.fromarray(np.clip(np.stack(a, 2), 0, 255).astype(np.uint8)).save(path)


def masked_of_bayer(side):
    """1 where an RGGB mosaic has a sample of a colour (3, side, side), else 0."""
    out = torch.zeros(3, side, side)
    out[0, 0::2, 0::2] = out[1, 0::2, 1::2] = out[1, 1::2, 0::2] = out[2, 1::2, 1::2] = 1
    return out


class Network(unittest.TestCase):
    def test_budgets(self):
        for name, mac_limit, byte_limit in (("fast", 70e3, 2e6), ("best", 350e3, 6e6), ("max", 1700e3, 9e6), ("any", 600e3, 4.1e6),
                                            ("pynet", 430e3, 6e6)):
            mac, params = networks.cost(networks.CONFIGS[name])
            self.assertLessEqual(mac, mac_limit, name)
            self.assertLessEqual(2 * params, byte_limit, name)

    def test_cost_counts_what_runs(self):
        # Hooks on every convolution count what a forward pass multiplies.
        for config in [*CONFIGS.values(), SMALL, networks.CONFIGS["pynet"]]:
            model, done = networks.pynet_of(config) if "width" in config else PyNETM(config), []
            for m in model.modules():
                if isinstance(m, torch.nn.Conv2d):
                    m.register_forward_hook(lambda m, _, y: done.append(m.weight.numel() * y.shape[2] * y.shape[3]))
            with torch.no_grad():
                model(torch.zeros(1, planes(config), 32, 32))
            self.assertAlmostEqual(sum(done) / 32 ** 2, networks.cost(config)[0])

    def test_starts_from_a_smaller_network(self):
        large = dict(SMALL, encoder=[n + 1 for n in SMALL["encoder"]], decoder=[n + 2 for n in SMALL["decoder"]])
        small, model = PyNETM(SMALL), PyNETM(large)
        start_from(model, small.state_dict())
        x = torch.rand(1, planes(SMALL), 16, 16)
        with torch.no_grad():
            self.assertTrue(torch.equal(small(x), model(x)))
        with self.assertRaisesRegex(ValueError, "another network"):
            start_from(small, model.state_dict())

    def test_starts_as_linear_demosaicing(self):
        # Slopes of one grey are exact; so are the samples that are there, whatever the photo.
        y, x = torch.meshgrid(torch.arange(64.0), torch.arange(64.0), indexing="ij")
        slope = (0.1 + 0.004 * y + 0.007 * x).expand(1, 3, 64, 64)
        for model in (PyNETM(SMALL), networks.PyNET(dict(width=2, planes=8))):
            for rgb, there in ((slope, torch.ones(3, 64, 64)), (torch.rand(1, 3, 64, 64), masked_of_bayer(64))):
                v = synth.pack(rgb)
                with torch.no_grad():
                    z = F.pixel_shuffle(model.skip(torch.cat([v, torch.zeros_like(v)], 1)), 2)
                d = ((z - rgb) * there)[:, :, 8:-8, 8:-8]
                self.assertLess(float(d.abs().max()), 1e-5)

    def test_shift_by_a_quad_shifts_the_output(self):
        # Away from the borders, by a multiple of the deepest level's step.
        torch.manual_seed(0)
        model = PyNETM(SMALL)
        x = torch.rand(1, 8, 96, 96)
        with torch.no_grad():
            a, b = model(x), model(x.roll(4, 3))
        self.assertTrue(torch.allclose(a.roll(8, 3)[:, :, 80:-80, 80:-80], b[:, :, 80:-80, 80:-80], atol=1e-5))

    def test_enlarge_is_bilinear(self):
        x = torch.rand(2, 3, 5, 7)
        y = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        self.assertTrue(torch.allclose(enlarge(x), y, atol=1e-6))

    def test_pynet_is_pynet(self):
        # Computed in fewer convolutions and with other enlargement, it is the network that others compute.
        torch.manual_seed(0)
        model = networks.PyNET(dict(width=4, planes=8)).double()
        other = networks.pynet_of(model.config).double()
        other.load_state_dict(model.state_dict())
        x = torch.rand(2, 8, 48, 32, dtype=torch.float64)
        with torch.no_grad():
            self.assertLess(float((model(x) - other(x)).abs().max()), 1e-8)
            z = model.answer(x.float(), torch.float64, torch.float64)
            self.assertLess(float((z - other(x.float().double())).abs().max()), 1e-6)

    def test_pynet_starts_by_passing_on(self):
        # Without the random part of its weights a block adds nothing if it stands beside a sum, or
        # passes its inputs on, and only inputs.
        with mock.patch("torch.nn.init.kaiming_normal_", lambda w, a: torch.nn.init.zeros_(w)):
            model = networks.PyNET(dict(width=2, planes=8))
        blocks = {(level, d): fan_in * 2 // 32 for level, row in model.BLOCKS.items() for d, fan_in, _ in row if d > 1}
        beside, residual = [], model.residual
        model.residual = lambda level, d, *parts: beside.append((level, d)) or residual(level, d, *parts)
        with torch.no_grad():
            model(torch.rand(1, 8, 32, 32))
            for (level, d), n in blocks.items():
                x = torch.rand(1, n, 9, 9)
                y = model.block(level, d, x)
                if (level, d) in beside:
                    self.assertEqual(float(y.abs().max()), 0, (level, d))
                    continue
                w = 2 << level - 1
                for i, part in enumerate(y.split(w, 1)):
                    at = w * (i % (n // w))
                    self.assertTrue(torch.equal(part, x[:, at:at + w]), (level, d, i))
        self.assertEqual(len(beside), 11)


class MaskedPlanes(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)

    def test_samples_lie_where_the_array_has_them(self):
        rgb = 0.1 + 0.8 * torch.rand(4, 3, 24, 36)
        y, x = torch.tensor([0, 1, 5, 11]), torch.tensor([0, 4, 3, 7])
        table = torch.stack([masked.mask("xtrans")] * 4)
        layout = masked.Masked(masked.at_phase(table, y, x, 36)[:, :, :24])
        planes = layout.join(layout.take(rgb), torch.full((4, 1, 1, 1), 0.25))
        self.assertEqual(tuple(planes.shape), (4, 24, 12, 18))
        rows = masked.PATTERNS["xtrans"]
        for n in range(4):
            for i in range(24):
                for j in range(36):
                    has = "RGB".index(rows[(i + int(y[n])) % 6][(j + int(x[n])) % 6])
                    for c in range(3):
                        at = 4 * c + 2 * (i % 2) + j % 2
                        value, noise = planes[n, at, i // 2, j // 2], planes[n, 12 + at, i // 2, j // 2]
                        self.assertEqual(float(value), float(rgb[n, c, i, j]) if c == has else 0)
                        self.assertEqual(float(noise), 0.25 if c == has else -1)

    def test_patterns(self):
        self.assertEqual(masked.mask("xtrans").sum((1, 2)).tolist(), [32, 80, 32])
        self.assertEqual(masked.mask("quad").sum((1, 2)).tolist(), [36, 72, 36])
        self.assertEqual(float(masked.mask("rgb").min()), 1)
        self.assertAlmostEqual(sum(share for _, share in masked.SHARES), 1)
        seen = {float(m.sum()) / m[0].numel() for m in masked.Mixed(torch.device("cpu"))(60, 24).masks}
        self.assertEqual(seen, {1.0, 3.0})  # samples a pixel: of a mosaic, of all colours

    def test_batch(self):
        layout = masked.Mixed(torch.device("cpu"))(50, 16)
        x, y = synth.batch(torch.rand(50, 3, 16, 16), layout)
        self.assertEqual((tuple(x.shape), tuple(y.shape)), ((50, 24, 8, 8), (50, 3, 16, 16)))
        there = F.pixel_unshuffle(layout.masks, 2) > 0
        self.assertTrue(bool((x[:, :12][~there] == 0).all()) and bool((x[:, 12:][~there] == -1).all()))
        self.assertTrue(bool((x[:, 12:][there] >= 0).all()))
        clean, noisy, _ = synth.counts(50)
        self.assertTrue(torch.equal(x[:clean, :12][there[:clean]], F.pixel_unshuffle(y[:clean], 2)[there[:clean]]))
        part = there[clean:clean + noisy]
        self.assertTrue(bool((x[clean:clean + noisy, 12:][part] > 0).all()))

    def test_starts_with_the_samples(self):
        model = PyNETM(dict(SMALL, planes=24))
        with torch.no_grad():
            model.head.weight.zero_()
            y = model(torch.cat([torch.full((1, 12, 16, 16), 0.25), torch.zeros(1, 12, 16, 16)], 1))
        self.assertTrue(torch.allclose(y, torch.full_like(y, 0.25)))


class Synthesis(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)

    def test_curve(self):
        x = torch.tensor([-1.0, -0.01, 0.0, 0.0031308, 0.01, 0.5, 1.0], dtype=torch.float64)
        e = synth.encode(x)
        self.assertAlmostEqual(float(e[1]), -0.1292)
        self.assertAlmostEqual(float(e[-1]), 1.0)
        self.assertTrue(torch.allclose(synth.decode(e), x, atol=1e-6))
        t = torch.tensor([0.001, 0.02, 0.3, 0.9], dtype=torch.float64)
        h = 1e-7
        self.assertTrue(torch.allclose(synth.slope(t), (synth.encode(t + h) - synth.encode(t - h)) / (2 * h), rtol=1e-5))

    def test_pack(self):
        rgb = torch.arange(3 * 4 * 6.0).view(1, 3, 4, 6)
        p = synth.pack(rgb)
        self.assertEqual(p[0, :, 1, 2].tolist(), [rgb[0, 0, 2, 4], rgb[0, 1, 2, 5], rgb[0, 1, 3, 4], rgb[0, 2, 3, 5]])

    def test_shares_and_shapes(self):
        x, y = synth.batch(torch.rand(50, 3, 16, 16))
        self.assertEqual((tuple(x.shape), tuple(y.shape)), ((50, 8, 8, 8), (50, 3, 16, 16)))
        clean, noisy, raw = synth.counts(50)
        self.assertEqual(clean + noisy + raw, 50)
        self.assertTrue(bool((x[:clean, 4:] == 0).all()))
        self.assertTrue(torch.equal(x[:clean, :4], synth.pack(y[:clean])))
        self.assertTrue(bool((x[clean:clean + noisy, 4:] > 0).all()))

    def test_patterns_stay_below_the_sampling_limit(self):
        torch.manual_seed(3)
        p = synth.patterns(200, 64, torch.device("cpu"))
        self.assertEqual(tuple(p.shape), (200, 3, 64, 64))
        self.assertTrue(0 <= float(p.min()) and float(p.max()) <= 1)
        neutral = (p[:, 0] == p[:, 2]).flatten(1).all(1)
        self.assertTrue(60 < int(neutral.sum()) < 140)
        # A window keeps the patch's edges out of the spectrum; what lies in the last
        # hundredth before the limit of rows or columns would be aliased.
        window = torch.hann_window(64)
        wave = (p - p.mean((2, 3), keepdim=True)) * window * window.view(-1, 1)
        power = torch.fft.fft2(wave.double()).abs() ** 2
        edge = power[:, :, 32, :].sum() + power[:, :, :, 32].sum()
        self.assertLess(float(edge / power.sum()), 0.02)
        self.assertGreater(float(power[:, :, 16:49, :].sum() / power.sum()), 0.2)  # and fine ones are there

    def test_patterns_replace_the_last_of_each_part(self):
        code = torch.full((96, 3, 16, 16), 0.5)
        flat = (synth.with_patterns(code) == 0.5).flatten(1).all(1)
        clean, noisy, raw = synth.counts(96)
        want = []
        for part in (clean, noisy, raw):
            k = synth.pattern_count(part)
            self.assertGreater(k, 0)
            want += [True] * (part - k) + [False] * k
        self.assertEqual(flat.tolist(), want)

    def test_white_noise_has_the_planes_deviation(self):
        sigma = torch.tensor([2.0, 10.0, 20.0]).view(3, 1, 1, 1) / 255
        code = torch.full((3, 3, 128, 128), 0.4)
        x, _ = synth.code_mosaic(code, sigma)
        for k in range(3):
            self.assertAlmostEqual(float(x[k, :4].std() / sigma[k]), 1, delta=0.03)
            self.assertAlmostEqual(float(x[k, 4:].mean()), 8 * float(sigma[k]), places=5)

    def test_sensor_noise_has_the_planes_deviation(self):
        # On flat grey light the noise planes predict the spread of the samples,
        # where encoding is nearly linear over the noise.
        light = torch.full((64, 3, 64, 64), 0.3)
        x, y = synth.sensor(light)
        self.assertTrue(torch.allclose(y, synth.encode(torch.tensor(0.3)).expand_as(y)))
        ratios = []
        for k in range(64):
            real = x[k, :4].std((1, 2))
            said = x[k, 4:].mean((1, 2)) / 8
            ratios += [float(r / s) for r, s in zip(real, said) if 0.003 < s < 0.04]
        self.assertGreater(len(ratios), 40)
        # The profile's doubt is 10 % in most photos, and up to double in some.
        self.assertAlmostEqual(float(np.median(ratios)), 1, delta=0.05)
        low, high = np.percentile(ratios, [20, 80])
        self.assertLess(high - low, 0.35)

    def test_negatives_stay_and_highlights_clip(self):
        x, y = synth.sensor(torch.zeros(200, 3, 16, 16))
        self.assertLess(float(x[:, :4].min()), -0.01)
        x, y = synth.sensor(torch.full((50, 3, 16, 16), 3.0))
        self.assertLessEqual(float(x[:, :4].max()), 1.0)
        self.assertEqual(float(y.max()), float(y.min()))

    def test_camera_matrices_keep_greys(self):
        m = synth.camera_matrix(500, torch.device("cpu"))
        self.assertTrue(torch.allclose(m.sum(2), torch.ones(500, 3), atol=1e-5))
        self.assertTrue(bool((m.diagonal(dim1=1, dim2=2) > 0.4).all()))

    def test_gains(self):
        g = synth.gains(100, torch.device("cpu"))
        self.assertTrue(torch.allclose(g.amin(1), torch.ones(100, 1, 1)))
        self.assertEqual(tuple(g.shape), (100, 3, 1, 1))
        places = synth.Bayer.spread(g)
        self.assertTrue(torch.equal(places[:, 1], places[:, 2]) and torch.equal(places[:, 3], g[:, 2]))


class Crops(unittest.TestCase):
    def test_crops_come_from_the_photo(self):
        with tempfile.TemporaryDirectory() as folder:
            a = np.zeros((300, 280, 3), np.uint8)  # a pixel's bytes say where it is
            a[:, :, 0], a[:, :, 1] = np.arange(300)[:, None] % 256, np.arange(280)[None] % 256
            Image.fromarray(a).save(os.path.join(folder, "a.png"))
            store = photos.Photos(photos.find(folder), 32, torch.device("cpu"))
        c = (store.crops(torch.zeros(64, dtype=torch.long)) * 255).round().int()
        steps = set()
        for k in range(64):
            down = (c[k, :2, 1, 0] - c[k, :2, 0, 0]).tolist()
            right = (c[k, :2, 0, 1] - c[k, :2, 0, 0]).tolist()
            steps.add((tuple(down), tuple(right)))
        self.assertEqual(len(steps), 8)  # four turns, mirrored or not
        for down, right in steps:
            self.assertEqual(sorted(abs(v) for v in down + right), [0, 0, 1, 1])


    @unittest.skipUnless(photos.can_draw(), "this Pillow has no font of any size: pages need 10.1 or later")
    def test_pages_differ_and_repeat(self):
        a, b, again = photos.page(1, 256), photos.page(2, 256), photos.page(1, 256)
        self.assertTrue(np.array_equal(a[0], again[0]))
        self.assertFalse(np.array_equal(a[0], b[0]))
        self.assertGreater(a[0].std(), 10)


class Files(unittest.TestCase):
    def test_export_round_trip(self):
        model = PyNETM(SMALL)
        with tempfile.TemporaryDirectory() as folder:
            for half in (False, True):
                path = os.path.join(folder, "m.safetensors")
                export.write(path, model, {"train.seed": 1}, half)
                back, metadata = evaluate.load_model(path)
                self.assertEqual(metadata["arch"], "pynet-m")
                self.assertEqual(metadata["arch.config"], config_text(SMALL))
                self.assertEqual(metadata["train.seed"], "1")
                for k, v in model.state_dict().items():
                    self.assertTrue(torch.equal(back.state_dict()[k], v.half().float() if half else v), k)

    def test_header_is_aligned(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.safetensors")
            weights.write(path, {"a": torch.arange(6.0).view(2, 3), "b": torch.ones(3).half()}, {"x": "y"})
            with open(path, "rb") as f:
                self.assertEqual(int.from_bytes(f.read(8), "little") % 8, 0)
            tensors, metadata = weights.read(path)
        self.assertEqual(metadata, {"x": "y"})
        self.assertEqual(tensors["a"].tolist(), [[0, 1, 2], [3, 4, 5]])
        self.assertEqual(tensors["b"].dtype, torch.float16)

    def test_golden_input_is_reproducible(self):
        a, b = export.golden_input(), export.golden_input()
        self.assertTrue(torch.equal(a, b))
        self.assertEqual(tuple(a.shape), (1, 8, 96, 128))


class Charts(unittest.TestCase):
    def test_zone_plate_frequencies(self):
        row = charts.zone()[charts.SIDE // 2] / 255.0
        # Extremes come at the frequency of their place: count them between two places.
        for share in (0.25, 0.5, 0.75):
            at, reach = int(charts.SIDE / 2 * (1 + share)), 48
            part = row[at - reach:at + reach] - 0.5
            crossings = int((np.diff(np.sign(part)) != 0).sum())
            self.assertAlmostEqual(crossings / 2 / (2 * reach), charts.HIGHEST * share, delta=0.012)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "charts.py", folder], cwd=HERE, check=True)
            across = np.asarray(Image.open(os.path.join(folder, "zone", "across.png")))
            down = np.asarray(Image.open(os.path.join(folder, "zone", "down.png")))
            self.assertEqual(across.shape, (48, charts.SIDE, 3))
            self.assertTrue(np.array_equal(across, down.transpose(1, 0, 2)))
            self.assertGreaterEqual(len(os.listdir(os.path.join(folder, "structure"))), 24)


class Evaluation(unittest.TestCase):
    def test_odd_sides(self):
        model = PyNETM(SMALL)
        with torch.no_grad():
            y = evaluate.run(model, torch.rand(1, 8, 21, 30))
        self.assertEqual(tuple(y.shape), (1, 3, 42, 60))

    def test_cpsnr(self):
        a = torch.full((1, 3, 32, 32), 100, dtype=torch.uint8)
        b = a.clone()
        b[:, 0] += 3  # mean square error 3
        b[:, :, 0] = 0  # in the border
        self.assertAlmostEqual(evaluate.cpsnr(a, b), 10 * np.log10(255 ** 2 / 3), places=6)


class Updates(unittest.TestCase):
    def test_orthogonal(self):
        torch.manual_seed(1)
        g = torch.randn(3, 8, 72, dtype=torch.float32) * torch.logspace(-3, 0, 8).view(8, 1)
        u, s, v = torch.linalg.svd(g, full_matrices=False)
        got = torch.linalg.svdvals(optimise.orthogonal(g))
        self.assertGreater(float(got.min()), 0.3)
        self.assertLess(float(got.max()), 1.3)
        # Directions stay: nearly the identity between the singular vectors.
        inner = u.mT @ optimise.orthogonal(g) @ v.mT
        off = inner - torch.diag_embed(torch.diagonal(inner, dim1=1, dim2=2))
        self.assertLess(float(off.abs().max()), 1e-3)

    def test_muon_moves_matrices_and_adam_the_rest(self):
        torch.manual_seed(2)
        model = PyNETM(SMALL)
        named = list(model.named_parameters())
        flat = torch.cat([p.detach().flatten() for _, p in named])
        g = torch.randn_like(flat)
        adam, muon = [optimise.Update(flat, named, m).step(g, 0.1, 0.01) for m in (False, True)]
        at = 0
        for name, p in named:
            a, m = [v[at:at + p.numel()] for v in (adam, muon)]
            at += p.numel()
            if p.dim() == 4 and not name.startswith(("stem", "skip", "head")):
                self.assertFalse(torch.equal(a, m), name)
                self.assertLess(abs(float(m.square().mean().sqrt()) / 0.2 - 1), 0.5, name)
                self.assertGreater(float((m * g[at - p.numel():at]).sum()), 0, name)  # downhill
            else:
                self.assertTrue(torch.equal(a, m), name)

    def test_spectral_steps_change_outputs_alike(self):
        # One output of inputs that are the same at every tap changes by as much at any size of the kernel.
        torch.manual_seed(2)
        model = networks.PyNET(dict(width=4, planes=8))
        named = list(model.named_parameters())
        flat = torch.cat([p.detach().flatten() for _, p in named])
        g = torch.randn_like(flat)
        adam, muon = [optimise.Update(flat, named, m, **model.pace).step(g, 0.1, 0.01) for m in (False, True)]
        plain = optimise.Update(flat, named, False).step(g, 0.1, 0.01)
        at = 0
        for name, p in named:
            a, m, want = [v[at:at + p.numel()] for v in (adam, muon, plain)]
            at += p.numel()
            if name.startswith("skip."):
                self.assertTrue(torch.allclose(a, 0.1 * want), name)
            else:
                self.assertTrue(torch.equal(a, want), name)
            if p.dim() == 4 and not name.startswith(optimise.OUTER):
                change = float(torch.linalg.svdvals(m.view(len(p), -1))[0]) * (p[0].numel() / len(p)) ** 0.5
                self.assertLess(abs(change / optimise.SPECTRAL - 1), 0.35, name)
            else:
                self.assertTrue(torch.equal(a, m), name)


class Training(unittest.TestCase):
    def run_slice(self, folder, out, steps, total, *more):
        command = [sys.executable, "train.py", "--config", config_text(SMALL), "--photos", folder, "--out", out,
                   "--gpus", "cpu", "--batch", "8", "--patch", "16", "--steps", str(steps),
                   "--total-steps", str(total), *more]
        done = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_resumed_training_is_the_same_training(self):
        with tempfile.TemporaryDirectory() as folder:
            for k in range(2):
                picture(os.path.join(folder, f"p{k}.png"), k)
            a, b = os.path.join(folder, "a"), os.path.join(folder, "b")
            self.run_slice(folder, a, 14, 14)
            self.run_slice(folder, b, 6, 14)
            self.run_slice(folder, b, 8, 14, "--resume")
            one, two = [torch.load(os.path.join(d, "checkpoint.pt")) for d in (a, b)]
            self.assertEqual(one["step"]["count"], 14)
            for name, v in one["step"].items():
                same = torch.equal(v, two["step"][name]) if torch.is_tensor(v) else v == two["step"][name]
                self.assertTrue(same, name)
            tensors = [weights.read(os.path.join(d, "ema.safetensors"))[0] for d in (a, b)]
            for k, v in tensors[0].items():
                self.assertTrue(torch.equal(v, tensors[1][k]), k)

    def test_training_starts_from_a_weights_file(self):
        with tempfile.TemporaryDirectory() as folder:
            picture(os.path.join(folder, "p.png"), 1)
            torch.manual_seed(4)
            model, start = PyNETM(SMALL), os.path.join(folder, "start.safetensors")
            export.write(start, model, {})
            self.run_slice(folder, os.path.join(folder, "out"), 1, 100000, "--init", start)
            after, _ = evaluate.load_model(os.path.join(folder, "out", "ema.safetensors"))
            for a, b in zip(model.state_dict().values(), after.state_dict().values()):
                self.assertLess(float((a - b).abs().max()), 1e-4)  # the first step's rate is 1e-3 / 300

    def test_teacher(self):
        with tempfile.TemporaryDirectory() as folder:
            picture(os.path.join(folder, "p.png"), 1)
            torch.manual_seed(4)
            model, file = PyNETM(SMALL), os.path.join(folder, "teacher.safetensors")
            export.write(file, model, {})
            # A network that starts as its teacher and learns from nothing else has nothing to learn.
            for share, moves in (("1", False), ("0.5", True)):
                out = os.path.join(folder, share)
                self.run_slice(folder, out, 3, 100, "--init", file, "--teacher", file, "--teacher-share", share)
                after, metadata = evaluate.load_model(os.path.join(out, "ema.safetensors"))
                far = max(float((a - b).abs().max()) for a, b in
                          zip(model.state_dict().values(), after.state_dict().values()))
                self.assertEqual(far > 1e-7, moves, (share, far))
                self.assertEqual(metadata["train.teacher"], "teacher.safetensors")
            masked_file = os.path.join(folder, "masked.safetensors")
            export.write(masked_file, PyNETM(dict(SMALL, planes=24)), {})
            command = [sys.executable, "train.py", "--config", config_text(SMALL), "--photos", folder, "--out", folder,
                       "--gpus", "cpu", "--steps", "1", "--teacher", masked_file]
            done = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("24 planes", done.stdout)

    def test_networks_of_masked_planes_train(self):
        with tempfile.TemporaryDirectory() as folder:
            picture(os.path.join(folder, "p.png"), 1)
            test, out = os.path.join(folder, "test"), os.path.join(folder, "out")
            os.mkdir(test)
            picture(os.path.join(test, "t.png"), 9, (94, 80))
            config = config_text(dict(SMALL, planes=24))
            log = self.run_slice(folder, out, 2, 2, "--kodak", test, "--config", config)
            self.assertIn("EVAL kodak", log)
            _, metadata = weights.read(os.path.join(out, "ema.safetensors"))
            self.assertEqual(metadata["convention.samples"], "masked")
            self.assertEqual(metadata["train.patterns"], "xtrans quad rgb")

    def test_pynet_trains(self):
        with tempfile.TemporaryDirectory() as folder:
            picture(os.path.join(folder, "p.png"), 1)
            out, test = os.path.join(folder, "out"), os.path.join(folder, "test")
            os.mkdir(test)
            picture(os.path.join(test, "t.png"), 9, (94, 80))
            log = self.run_slice(folder, out, 2, 2, "--config", '{"width":2,"planes":8}', "--patch", "32", "--kodak", test,
                                 "--muon", "--lr", "3e-3")
            self.assertIn("EVAL kodak", log)
            net, metadata = evaluate.load_model(os.path.join(out, "ema.safetensors"))
            self.assertEqual((metadata["arch"], net.config), ("pynet", dict(width=2, planes=8)))

    def test_two_processes_stay_alike(self):
        with tempfile.TemporaryDirectory() as folder:
            picture(os.path.join(folder, "p.png"), 1)
            out = os.path.join(folder, "out")
            log = self.run_slice(folder, out, 6, 12, "--gpus", "cpu,cpu")
            self.assertIn("DONE step 6", log)
            log = self.run_slice(folder, out, 6, 12, "--gpus", "cpu,cpu", "--resume")
            self.assertIn("DONE step 12", log)
            # One process of both halves' mean gradient cannot be told apart from
            # outside, but weights that drift apart show as differing sums.
            sums = re.findall(r"weights of process \d: (-?[\d.]+)", log)
            self.assertEqual(len(sums), 2, log)
            self.assertEqual(sums[0], sums[1])

    def test_training_learns(self):
        with tempfile.TemporaryDirectory() as folder:
            for k in range(2):
                picture(os.path.join(folder, f"p{k}.png"), k)
            test = os.path.join(folder, "test")
            os.mkdir(test)
            picture(os.path.join(test, "t.png"), 9, (96, 80))
            scores = []
            for steps, *more in ((1,), (150,), (150, "--muon")):
                log = self.run_slice(folder, os.path.join(folder, str(steps)), steps, steps, "--kodak", test, *more)
                line = [l for l in log.splitlines() if l.startswith("EVAL kodak")][-1].split()
                scores.append(float(line[line.index("CPSNR") + 1]))
            self.assertGreater(min(scores[1:]), scores[0] + 1.5, scores)


if __name__ == "__main__":
    unittest.main()
