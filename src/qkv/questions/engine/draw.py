"""Draw the cases in which an answer is tried."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from qkv.sandboxed.cases import Case, Seeded
from qkv.words import mark

WORDS, FIRST_WORD = 624, 24  # of a generator's state: its words of 64 bits, and the byte where they begin
PLAIN, BATCH, TWO_AXES, DOUBLE = mark("plain"), mark("a batch"), mark("two axes in front"), "float64"


def any_seed() -> int:
    """Return a seed from the system's entropy, which nobody can predict."""
    return int.from_bytes(os.urandom(6), "big")


def generator_of(seed: int) -> torch.Generator:
    """Return a generator that is seeded with all bits of a seed.

    `manual_seed` uses 32 bits of it, so that somebody who knows some numbers can find the seed by trying all. For a
    seed of more than 64 bits, the whole state of the generator (MT19937, 624 words) is drawn from SHAKE-256 of it.
    Smaller seeds go to `manual_seed`.
    """
    if seed < 2**64:
        return torch.Generator().manual_seed(seed)
    generator = torch.Generator().manual_seed(0)
    drawn = hashlib.shake_256(str(seed).encode()).digest(4 * WORDS)
    state = generator.get_state()
    words = torch.frombuffer(bytearray(drawn), dtype=torch.int32).long() & 0xFFFFFFFF
    state[FIRST_WORD : FIRST_WORD + 8 * WORDS] = words.view(torch.uint8)
    return generator.set_state(state)


class Draw:
    """A source of random sizes, tensors and seeds for cases, with a generator of its own."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = any_seed() if seed is None else seed
        self.generator = generator_of(self.seed)

    def apart(self, purpose: str) -> Draw:
        """Return a source for another purpose: nothing that is drawn from one says anything about the other.

        The same seed and purpose give the same source. This one draws nothing.
        """
        size = 6 if self.seed < 2**64 else 32
        drawn = hashlib.sha256(f"{self.seed}/{purpose}".encode()).digest()
        return Draw(int.from_bytes(drawn[:size], "big"))

    def whole(self, low: int, high: int) -> int:
        """Return a random whole number from low to high, both included."""
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def uniform(self, low: float, high: float) -> float:
        """Return a random number, uniform between low and high."""
        return low + (high - low) * float(torch.rand((), generator=self.generator, dtype=torch.float64))

    def choose(self, options: Sequence[Any]) -> Any:
        """Return one of the options at random."""
        return options[self.whole(0, len(options) - 1)]

    def sizes(self, *names: str, low: int = 4, high: int = 10, **fixed: int) -> dict[str, int]:
        """Return a size for each name: those in `fixed` keep their value, the others differ from them and each other.

        The others are from `low` to `high`, which have to be enough numbers for all of them. At least 4 by default,
        none equals a batch or head axis of `situations` (2 or 3).
        """
        free = [n for n in range(low, high + 1) if n not in fixed.values()]
        order = torch.randperm(len(free), generator=self.generator).tolist()
        drawn = (free[i] for i in order)
        return {name: fixed[name] if name in fixed else next(drawn) for name in names}

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> Tensor:
        """Return a tensor of normal random numbers with mean 0 and standard deviation `scale`."""
        return scale * torch.randn(*shape, generator=self.generator, dtype=dtype)

    def weights(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return a tensor of random positive numbers whose rows sum to 1."""
        return self.normal(*shape, dtype=dtype).softmax(-1)

    def ids(self, *shape: int, below: int) -> Tensor:
        """Return a tensor of random whole numbers from 0 to below − 1."""
        return torch.randint(0, below, shape, generator=self.generator)

    def flags(self, *shape: int, share: float = 0.5) -> Tensor:
        """Return a random boolean tensor in which each entry is True with probability `share`."""
        return torch.rand(*shape, generator=self.generator) < share

    def seeded(self) -> Seeded:
        """Return a `Seeded` with a random seed, which stands for a `torch.Generator` in a case."""
        return Seeded(self.whole(0, 2**31 - 2))

    def situations(self, case: Callable[..., Case]) -> list[Case]:
        """Return five cases for answers that allow leading axes: two plain ones, a batch, two leading axes, float64.

        Each is made by `case(name, leading=…, dtype=…)`.
        """
        batch, heads = self.choose(((2, 3), (3, 2)))
        return [
            case(PLAIN, leading=(), dtype=torch.float32),
            case(PLAIN, leading=(), dtype=torch.float32),
            case(BATCH, leading=(batch,), dtype=torch.float32),
            case(TWO_AXES, leading=(batch, heads), dtype=torch.float32),
            case(DOUBLE, leading=(), dtype=torch.float64),
        ]
