"""Tensors by name in a file, as safetensors lays them out: how long its header is, the header as JSON, the numbers."""

from __future__ import annotations

import json
import struct
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch

KINDS = {"F16": torch.float16, "F32": torch.float32, "F64": torch.float64, "I8": torch.int8, "I64": torch.int64}
LETTERS = {"F16": "e", "F32": "f", "F64": "d", "I8": "b", "I64": "q"}


def load_file(filename: str | Path) -> dict[str, torch.Tensor]:
    """Read every tensor of a file."""
    return load(Path(filename).read_bytes())


def load(content: bytes) -> dict[str, torch.Tensor]:
    """Read every tensor of a file's content."""
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    return {name: tensor_of(about, content, 8 + length) for name, about in header.items()}


def tensor_of(about: dict[str, Any], content: bytes, start: int) -> torch.Tensor:
    """Read one tensor, of which the header says its kind, its shape and where its numbers lie."""
    first, last = about["data_offsets"]
    letter = LETTERS[about["dtype"]]
    numbers = struct.unpack_from(f"<{(last - first) // struct.calcsize(letter)}{letter}", content, start + first)
    return torch.tensor(numbers, dtype=KINDS[about["dtype"]]).reshape(about["shape"])


def save(tensors: dict[str, torch.Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Write tensors as the content of a file."""
    letters = {kind: name for name, kind in KINDS.items()}
    parts: list[bytes] = []
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    ends = list(accumulate((t.nbytes for t in tensors.values()), initial=0))
    for (name, tensor), first, last in zip(tensors.items(), ends, ends[1:], strict=False):
        kind = letters[tensor.dtype]
        parts.append(struct.pack(f"<{tensor.numel()}{LETTERS[kind]}", *tensor.reshape(-1).tolist()))
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [first, last]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(parts)
