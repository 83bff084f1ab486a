"""Draw the cases that an answer is tried in."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from qkv.observing import Case, Seeded

PLAIN, BATCH, TWO_AXES, DOUBLE = "plain", "a batch", "two axes in front", "float64"


def any_seed() -> int:
    """Draw a seed from the system's entropy: nobody knows it before."""
    return int.from_bytes(os.urandom(6), "big")


class Draw:
    """Draws what cases are made of, from a generator of its own."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = any_seed() if seed is None else seed
        self.generator = torch.Generator().manual_seed(self.seed)

    def whole(self, low: int, high: int) -> int:
        """Draw a whole number, low ≤ … ≤ high."""
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def uniform(self, low: float, high: float) -> float:
        """Draw a number between these."""
        return low + (high - low) * float(torch.rand((), generator=self.generator, dtype=torch.float64))

    def choose(self, options: Sequence[Any]) -> Any:
        """Draw one of these."""
        return options[self.whole(0, len(options) - 1)]

    def sizes(self, *names: str, low: int = 4, high: int = 10, **fixed: int) -> dict[str, int]:
        """Draw a size for each name, no two the same, none that of a batch; those that are fixed keep their value."""
        free = [n for n in range(low, high + 1) if n not in fixed.values()]
        order = torch.randperm(len(free), generator=self.generator).tolist()
        drawn = (free[i] for i in order)
        return {name: fixed[name] if name in fixed else next(drawn) for name in names}

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> Tensor:
        """Draw numbers of mean 0 and this standard deviation."""
        return scale * torch.randn(*shape, generator=self.generator, dtype=dtype)

    def weights(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Draw rows of positive numbers that sum to 1."""
        return self.normal(*shape, dtype=dtype).softmax(-1)

    def ids(self, *shape: int, below: int) -> Tensor:
        """Draw whole numbers 0 … below − 1."""
        return torch.randint(0, below, shape, generator=self.generator)

    def flags(self, *shape: int, share: float = 0.5) -> Tensor:
        """Draw True with this probability."""
        return torch.rand(*shape, generator=self.generator) < share

    def seeded(self) -> Seeded:
        """Draw a generator."""
        return Seeded(self.whole(0, 2**31 - 2))

    def situations(self, case: Callable[..., Case]) -> list[Case]:
        """Call `case(name, leading=…, dtype=…)` for what every answer must bear that allows axes in front."""
        batch, heads = self.choose(((2, 3), (3, 2)))
        return [
            case(PLAIN, leading=(), dtype=torch.float32),
            case(PLAIN, leading=(), dtype=torch.float32),
            case(BATCH, leading=(batch,), dtype=torch.float32),
            case(TWO_AXES, leading=(batch, heads), dtype=torch.float32),
            case(DOUBLE, leading=(), dtype=torch.float64),
        ]
