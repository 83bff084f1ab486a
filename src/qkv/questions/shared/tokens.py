"""Drawing ids of tokens."""

from __future__ import annotations

import torch
from torch import Tensor

from qkv.questions.engine import Draw


def some_ids(draw: Draw, n: int, vocab: int, *must: int) -> Tensor:
    """Draw n ids below vocab, these among them, in any order."""
    ids = torch.cat([torch.tensor(must, dtype=torch.int64)[:n], draw.ids(max(0, n - len(must)), below=vocab)])
    return ids[torch.randperm(n, generator=draw.generator)]
