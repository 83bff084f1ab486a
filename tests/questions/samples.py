"""Small sample questions of every kind in the course: a class, an object with state, a sampler, an exception."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from qkv.questions.engine import (
    Case,
    Draw,
    Misconception,
    Provided,
    Question,
    call,
    call_many,
    length,
    load,
    make,
    method,
)

# ── a class with layers ───────────────────────────────────────────────────────────────────────────


class Gate(nn.Module):
    """A gate: x W_A times the sigmoid of x W_B."""

    def __init__(self, d_in: int, d_out: int, bias: bool = True) -> None:
        super().__init__()
        self.w_a = nn.Linear(d_in, d_out, bias=bias)
        self.w_b = nn.Linear(d_in, d_out, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.w_a(x) * self.w_b(x).sigmoid()


class GateSwapped(Gate):
    def forward(self, x: Tensor) -> Tensor:
        return self.w_b(x) * self.w_a(x).sigmoid()


def draw_gate(draw: Draw) -> list[Case]:
    """Draw the sizes and weights of two layers, and tokens."""

    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32) -> Case:
        s = draw.sizes("n", "d_in", "d_out")
        layers = {
            f"{layer}.{kind}": draw.normal(*shape, dtype=dtype)
            for layer in ("w_a", "w_b")
            for kind, shape in (("weight", (s["d_out"], s["d_in"])), ("bias", (s["d_out"],)))
        }
        x = draw.normal(*leading, s["n"], s["d_in"], dtype=dtype)
        return Case((make(s["d_in"], s["d_out"]), load(layers), call(x)), name, s)

    return draw.situations(case)


GATE = Question(
    id="90.1",
    points=1,
    title="A gate",
    inputs=("x",),
    outputs=("out (..., n, d_out)",),
    draw=draw_gate,
    reference=Gate,
    gradients=True,
    misconceptions=(Misconception("layers-swapped", says="Which layer opens, and which passes?", twin=GateSwapped),),
)

# ── an object with state ──────────────────────────────────────────────────────────────────────────


class Shelf:
    """A shelf that keeps rows in order."""

    def __init__(self) -> None:
        self.rows: list[Tensor] = []

    def put(self, rows: Tensor) -> Tensor:
        self.rows.append(rows)
        return torch.cat(self.rows)

    def __len__(self) -> int:
        return sum(map(len, self.rows))


class ShelfForgets(Shelf):
    def put(self, rows: Tensor) -> Tensor:
        self.rows = [rows]
        return rows


class ShelfCountsPuts(Shelf):
    def __len__(self) -> int:
        return len(self.rows)


def draw_shelf(draw: Draw) -> list[Case]:
    """Draw what is put on a shelf, a few rows at a time."""

    def case(name: str, *counts: int) -> Case:
        steps = [make()]
        for n in counts:
            steps += [method("put", draw.normal(n, 3)), length()]
        return Case(tuple(steps), name)

    return [case("plain", 2, 4, 3), case("one at a time", *[1] * 6), case("a single put", 5)]


SHELF = Question(
    id="90.2",
    points=1,
    title="A shelf",
    inputs=(),
    outputs=("rows (n, 3)",),
    draw=draw_shelf,
    reference=Shelf,
    misconceptions=(
        Misconception("forgets", says="What was there before is gone. Who keeps it?", twin=ShelfForgets),
        Misconception("counts-puts", says="How many rows can one put bring?", twin=ShelfCountsPuts),
    ),
)


def put_mean(x: Tensor, shelf: Any) -> Tensor:
    """Put one row on a given shelf, and return the mean of all its rows."""
    return shelf.put(x).mean(0)


def put_twice(x: Tensor, shelf: Any) -> Tensor:
    shelf.put(x)
    return shelf.put(x).mean(0)


def draw_mean(draw: Draw) -> list[Case]:
    """Draw a shelf with three rows, and one more."""

    def case(name: str) -> Case:
        held = Provided(Shelf)
        return Case((method("put", draw.normal(3, 2), on=held), call(draw.normal(1, 2), held), length(on=held)), name)

    return [case("plain"), case("plain")]


PUT_MEAN = Question(
    id="90.3",
    points=1,
    title="Put and average",
    inputs=("x", "shelf"),
    outputs=("mean (d,)",),
    draw=draw_mean,
    reference=put_mean,
    gradients=True,
    misconceptions=(Misconception("put-twice", says="How many rows does one call add?", twin=put_twice),),
)

# ── a sampler ─────────────────────────────────────────────────────────────────────────────────────


def pick(p: Tensor, generator: torch.Generator) -> int:
    return int(torch.multinomial(p, 1, generator=generator))


def pick_inverted(p: Tensor, generator: torch.Generator) -> int:
    return int(torch.multinomial(1 - p, 1, generator=generator))


def pick_largest(p: Tensor, generator: torch.Generator) -> int:
    return int(p.argmax())


def counts_differ(case: Case, seen: Tensor, want: Tensor) -> str | None:
    """Return a remark if two samples come from different distributions, by Pearson's χ² far out in its tail."""
    n = int(torch.stack([seen.max(), want.max()]).max()) + 1
    a, b = (x.bincount(minlength=n).double() for x in (seen, want))
    both = a + b
    chi2 = float((((a - b) ** 2)[both > 0] / both[both > 0]).sum())
    return f"The ids come up in other shares: χ² is {chi2:.0f}." if chi2 > 60 + 2 * n else None


def draw_pick(draw: Draw) -> list[Case]:
    """Draw many ids from two distributions."""
    p = torch.tensor([0.5, 0.3, 0.15, 0.05])
    return [
        Case(call_many(1500, p, draw.seeded()), "plain"),
        Case(call_many(1500, p.flip(0), draw.seeded()), "the other way round"),
    ]


PICK = Question(
    id="90.4",
    points=1,
    title="Pick",
    inputs=("p", "generator"),
    outputs=("id",),
    draw=draw_pick,
    reference=pick,
    differs=counts_differ,
    misconceptions=(
        Misconception("inverted", says="Rare ids come up often. Which way round?", twin=pick_inverted),
        Misconception("always-the-largest", says="It is always the same id. Is that a draw?", twin=pick_largest),
    ),
)

# ── an expected exception ────────────────────────────────────────────────────────────────


def root(x: float) -> float:
    if x < 0:
        raise ValueError("negative")
    return x**0.5


def draw_root(draw: Draw) -> list[Case]:
    """Draw a positive number, and a negative one that is refused."""
    return [
        Case(call(draw.uniform(1.2, 9.0)), "plain"),
        Case(call(-draw.uniform(1.0, 2.0)), "a negative number", raises="ValueError"),
    ]


ROOT = Question(
    id="90.5",
    points=1,
    title="A root",
    inputs=("x",),
    outputs=("root",),
    draw=draw_root,
    reference=root,
    misconceptions=(
        Misconception("squared", says="It grew. Which way round?", twin=lambda x: root(x) ** 4),
        Misconception("no-check", says="What is the root of −1?", twin=lambda x: abs(x) ** 0.5),
    ),
)

ALL = (GATE, SHELF, PUT_MEAN, PICK, ROOT)
