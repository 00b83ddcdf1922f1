"""safetensors in a few lines: an 8-byte length, a JSON header, raw little-endian data."""
import json
import os
import struct

import numpy as np
import torch

TYPES = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}


def write(path, tensors, metadata):
    """Writes named tensors (float32 or float16) and string metadata, atomically."""
    header, chunks, offset = {"__metadata__": {k: str(v) for k, v in metadata.items()}}, [], 0
    for name in sorted(tensors):
        a = tensors[name].detach().cpu().numpy()
        kind = "F16" if a.dtype == np.float16 else "F32"
        raw = np.ascontiguousarray(a, TYPES[kind]).tobytes()
        header[name] = dict(dtype=kind, shape=list(a.shape), data_offsets=[offset, offset + len(raw)])
        chunks.append(raw)
        offset += len(raw)
    text = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".part", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for raw in chunks:
            f.write(raw)
    os.replace(path + ".part", path)


def read(path):
    """Returns (tensors, metadata) of a file."""
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, t in header.items():
        a, b = t["data_offsets"]
        flat = np.frombuffer(data[8 + n + a:8 + n + b], TYPES[t["dtype"]])
        tensors[name] = torch.from_numpy(flat.reshape(t["shape"]).copy())
    return tensors, metadata
