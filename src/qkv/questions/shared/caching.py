"""The cache that questions pass to an answer. Its source is sent to a worker, so it uses only torch and builtins."""

from __future__ import annotations

import torch
from torch import Tensor


class ProvidedCache:
    """The cache that is passed to an answer, with `append` and a length. It counts the appends."""

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None
        self.appends = 0

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        if k.ndim != 4 or v.ndim != 4:
            raise ValueError(
                f"this cache holds tensors (B, 1, n, d); it was given k {tuple(k.shape)} and v {tuple(v.shape)}"
            )
        self.appends += 1
        if self.keys is None or self.values is None:
            self.keys, self.values = k, v
        else:
            self.keys = torch.cat([self.keys, k], dim=-2)
            self.values = torch.cat([self.values, v], dim=-2)
        return self.keys, self.values

    def __len__(self) -> int:
        return 0 if self.keys is None else self.keys.shape[-2]

    def count_appends(self) -> int:
        return self.appends
