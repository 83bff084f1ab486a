"""Files of named tensors in the safetensors format: the length of the header, the header as JSON, the numbers."""

from __future__ import annotations

import json
import struct
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch

DTYPES = {"F16": torch.float16, "F32": torch.float32, "F64": torch.float64, "I8": torch.int8, "I64": torch.int64}
LETTERS = {"F16": "e", "F32": "f", "F64": "d", "I8": "b", "I64": "q"}  # of `struct`


def load_file(filename: str | Path) -> dict[str, torch.Tensor]:
    """Return every tensor of a file, by its name."""
    return load(Path(filename).read_bytes())


def load(content: bytes) -> dict[str, torch.Tensor]:
    """Return every tensor in the content of a file, by its name.

    Raises:
        KeyError: a tensor has a dtype that is not in DTYPES.
    """
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    return {name: tensor_of(about, content, 8 + length) for name, about in header.items()}


def tensor_of(about: dict[str, Any], content: bytes, start: int) -> torch.Tensor:
    """Return one tensor from the content of a file. `about` is its entry in the header: dtype, shape, offsets.

    The offsets count from `start`.
    """
    first, last = about["data_offsets"]
    letter = LETTERS[about["dtype"]]
    numbers = struct.unpack_from(f"<{(last - first) // struct.calcsize(letter)}{letter}", content, start + first)
    return torch.tensor(numbers, dtype=DTYPES[about["dtype"]]).reshape(about["shape"])


def save(tensors: dict[str, torch.Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Return the content of a file that holds these tensors, in their order, and the metadata.

    Raises:
        KeyError: a tensor has a dtype that is not in DTYPES.
    """
    names = {dtype: name for name, dtype in DTYPES.items()}
    parts: list[bytes] = []
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    ends = list(accumulate((t.nbytes for t in tensors.values()), initial=0))
    for (name, tensor), first, last in zip(tensors.items(), ends, ends[1:], strict=False):
        kind = names[tensor.dtype]
        parts.append(struct.pack(f"<{tensor.numel()}{LETTERS[kind]}", *tensor.reshape(-1).tolist()))
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [first, last]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(parts)
