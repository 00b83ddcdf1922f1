#!/usr/bin/env python3
"""Draws digits, trains a fully connected and a small convolutional network on them and writes
internal/onnxtest/testdata/digits.tar.gz: both as ONNX, 100 other digits, and PyTorch's logits.
For development: /usr/bin/python3 scripts/onnxnets/digits.py (Debian's python3-torch, python3-pil)."""
import glob, io, math, random, tarfile
import numpy as np, torch
from PIL import Image, ImageDraw, ImageFont

random.seed(7); torch.manual_seed(7)
fonts = sorted(glob.glob('/usr/share/fonts/truetype/**/*ans*.ttf', recursive=True) + glob.glob('/usr/share/fonts/truetype/**/*erif*.ttf', recursive=True))
assert fonts, 'no fonts in /usr/share/fonts/truetype'

def digit(d):
    """A digit drawn white on black in 28 x 28, turned, shifted and noisy, as bytes."""
    m = Image.new('L', (56, 56))
    font = ImageFont.truetype(random.choice(fonts), random.randint(34, 48))
    ImageDraw.Draw(m).text((28 + random.uniform(-4, 4), 28 + random.uniform(-4, 4)), str(d), fill=random.randint(160, 255), font=font, anchor='mm')
    m = m.rotate(random.uniform(-15, 15), Image.BILINEAR).resize((28, 28), Image.BILINEAR)
    a = np.asarray(m, dtype=np.float32) + np.random.RandomState(random.randint(0, 1 << 30)).normal(0, 12, (28, 28))
    return np.clip(a, 0, 255).astype(np.uint8)

def batch(n):
    labels = [random.randrange(10) for _ in range(n)]
    return np.stack([digit(d) for d in labels]), torch.tensor(labels)

def tensor(a): return torch.from_numpy(a.astype(np.float32) / 255).unsqueeze(1)

nets = {
    'dense': torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 24), torch.nn.Tanh(), torch.nn.Linear(24, 10)),
    'conv': torch.nn.Sequential(torch.nn.Conv2d(1, 8, 5, stride=2, padding=2), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Conv2d(8, 16, 3, padding=1),
                                torch.nn.BatchNorm2d(16), torch.nn.Sigmoid(), torch.nn.AvgPool2d(2, ceil_mode=True), torch.nn.Flatten(), torch.nn.Linear(256, 10)),
}
pictures, labels = batch(4000)
test, truth = batch(100)
files = {'digits.u8': test.tobytes(), 'labels.u8': bytes(truth.tolist())}
for name, net in nets.items():
    opt = torch.optim.Adam(net.parameters(), 3e-3)
    for _ in range(12):
        order = torch.randperm(len(labels))
        for i in range(0, len(order), 50):
            k = order[i:i + 50]
            loss = torch.nn.functional.cross_entropy(net(tensor(pictures[k.numpy()])), labels[k])
            opt.zero_grad(); loss.backward(); opt.step()
    net.eval()
    with torch.no_grad(): out = net(tensor(test))
    print(name, 'right:', int((out.argmax(1) == truth).sum()), 'of', len(truth))
    b = io.BytesIO()
    torch.onnx.export(net, torch.zeros(1, 1, 28, 28), b, opset_version=13, input_names=['x'], output_names=['y'])
    files[name + '.onnx'], files[name + '.f32'] = b.getvalue(), out.numpy().astype('<f4').tobytes()
with tarfile.open('internal/onnxtest/testdata/digits.tar.gz', 'w:gz') as t:
    for name, data in sorted(files.items()):
        info = tarfile.TarInfo(name); info.size = len(data)
        t.addfile(info, io.BytesIO(data))
