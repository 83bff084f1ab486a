"""Draw token ids."""

from __future__ import annotations

import torch
from torch import Tensor

from qkv.questions.engine import Draw


def some_ids(draw: Draw, n: int, vocab: int, *required: int) -> Tensor:
    """Draw n ids below vocab, in any order; those of `required` are among them."""
    ids = torch.cat([torch.tensor(required, dtype=torch.int64)[:n], draw.ids(max(0, n - len(required)), below=vocab)])
    return ids[torch.randperm(n, generator=draw.generator)]
