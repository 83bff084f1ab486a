"""What a question is made of. A file `chapter_NN.py` holds a chapter's `QUESTIONS`; nothing else changes.

**A function.** Say how its inputs are drawn, which function is right, and what people get wrong:

    def draw_sum(draw: Draw) -> list[Case]:
        def case(name, leading=(), dtype=torch.float32, **fixed):
            s = draw.sizes("n_q", "n_k", "d_v", **fixed)              # pairwise different, new at every check
            weights = draw.weights(*leading, s["n_q"], s["n_k"], dtype=dtype)
            v = draw.normal(*leading, s["n_k"], s["d_v"], dtype=dtype)
            return Case(call(weights, v), name, s)
        return [*draw.situations(case), case("n_k = 1", n_k=1)]       # plain, a batch, float64, … and edge cases

    WEIGHTED_SUM = Question(
        id="2.4", points=2, title="Mix the values", inputs=("weights", "v"), outputs=("out (..., n_q, d_v)",),
        draw=draw_sum, reference=weighted_sum, gradients=True,
        misconceptions=(
            Misconception("summed-over-queries", "Each of your rows …?", twin=lambda weights, v: …),
        ),
    )

A twin is the wrong idea as code. An answer that gives what a twin gives, in every case, has that idea. Two twins
must differ in at least one case, and each from the reference. Order the cases from plain to special: messages quote
the first that fails.

**Ideas that occur together.** Write one factory, `variant(**knobs)`, that returns an answer with the knobs so turned,
and give misconceptions `knobs={"axis": -2}` in place of a twin: then pairs of them are recognised too.

**An exception that is asked for.** `Case(call(z, 0.0), "temperature 0", raises="ValueError")`.

**A class** (`nn.Module`). The steps say what is done with it. A bias may be missing; then the reference has none:

    Case((make(d_model, d_k, d_v), load({"w_q.weight": …, "w_q.bias": …, …}), call(x)), "plain", s)

The reference and the twins are classes as well; give their layers a bias. Gradients are looked at for the inputs and
for what was loaded. `method("eval")` between the steps calls a method.

**Something with state**: `Case((make(), method("append", k1, v1), length(), method("append", k2, v2), length()))`.
Every step's result is compared, and that no earlier result changes later. An object that an answer is *given* is
`held = Provided(Store, (k, v))`; then `Case((call(x, …, held), length(on=held)))` looks at it afterwards.

**Random draws.** A generator is `Seeded(seed)`, in the call's arguments. `call_many(2000, …)` gathers whole numbers
in one tensor. `Question.differs` then compares by counts in place of by value; reference and twins are samplers too,
and get the same seed as the answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from qkv.observing import (
    Case,
    Provided,
    Seeded,
    call,
    call_many,
    length,
    load,
    make,
    method,
)

__all__ = [
    "Case",
    "Draw",
    "Layer",
    "Misconception",
    "Provided",
    "Question",
    "Seeded",
    "Seen",
    "call",
    "call_many",
    "length",
    "load",
    "make",
    "method",
]

PLAIN, BATCH, HEADS, DOUBLE = "plain", "a batch", "a batch and heads", "float64"


@dataclass(frozen=True, eq=False)
class Seen:
    """What a message may quote: the case in which the wrong idea shows, and what came back there."""

    case: Case
    value: Any  # of the last step; plain data: a tensor, a number, or a tuple of them, and None where it raised

    def __getitem__(self, size: str) -> int:
        """The size of this name in that case."""
        return self.case.sizes[size]


@dataclass(frozen=True, eq=False)
class Misconception:
    """One wrong idea, and the question that leads out of it.

    Attributes:
        slug: its name, in lower case with hyphens
        says: what was seen, then a question that leads to the cause, never the answer; or a function of `Seen` that
            returns that
        twin: an answer that makes this mistake and no other
        knobs: in place of a twin, what the question's `variant` is called with
        alone: True where it is rare, and not looked for together with another one
    """

    slug: str
    says: str | Callable[[Seen], str]
    twin: Callable[..., Any] | None = None
    knobs: dict[str, Any] = field(default_factory=dict)
    alone: bool = False


@dataclass(frozen=True, eq=False)
class Question:
    """One graded question.

    Attributes:
        id, points, title: as the curriculum has them; the title is for cards and bars
        inputs: what each argument of the call is called, by position
        outputs: each output's name and shape, "weights (..., n_q, n_k)"
        draw: gives fresh cases, from plain to special
        reference: the right answer
        misconceptions: the wrong ideas that are known
        variant: gives an answer that has some ideas wrong (see the top of this file)
        gradients: whether gradients must flow to every floating-point input
        gradient_part: gives, of a gradient, the part that counts; inputs that sum to 1 cannot move in all directions
        differs: in place of a comparison by value: says how two results of a case differ, None where they do not
        any_float: whether a result may be of any floating-point dtype
        row_sums: outputs, by name, whose rows have a sum that is known; a card shows yours beside it
        about: a sentence for every message about the shapes or the type of what came back
        called: what the answer is called, where the reference has another name
    """

    id: str
    points: int
    title: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    draw: Callable[[Draw], list[Case]]
    reference: Callable[..., Any]
    misconceptions: tuple[Misconception, ...]
    variant: Callable[..., Callable[..., Any]] | None = None
    gradients: bool = False
    gradient_part: Callable[[Case, Tensor], Tensor] | None = None
    differs: Callable[[Case, Any, Any], str | None] | None = None
    any_float: bool = False
    row_sums: dict[str, float] = field(default_factory=dict)
    about: str = ""
    called: str = ""

    @property
    def name(self) -> str:
        """What a learner's answer is called."""
        return self.called or self.reference.__name__

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(output.partition(" ")[0] for output in self.outputs)

    def twin(self, *misconceptions: Misconception) -> Callable[..., Any]:
        """Give the answer that has these ideas wrong: one, or several that turn different knobs."""
        first = misconceptions[0]
        if len(misconceptions) == 1 and first.twin is not None:
            return first.twin
        if self.variant is None:
            raise ValueError(f"question {self.id}: {first.slug} has no twin, and the question no variant")
        return self.variant(**{name: value for m in misconceptions for name, value in m.knobs.items()})

    def fresh_cases(self, seed: int | None = None) -> list[Case]:
        """Draw the cases: from the system's entropy, or again from a seed that was kept."""
        return self.draw(Draw(seed))


class Layer(nn.Linear):
    """A layer for twins, which are made by the hundred: no numbers are drawn for weights that are loaded next."""

    def reset_parameters(self) -> None:
        pass


class Draw:
    """Draws what cases are made of, from a generator of its own."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = int.from_bytes(os.urandom(6), "big") if seed is None else seed
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
        """Call `case(name, leading=…, dtype=…)` for what every answer over leading axes must bear."""
        batch, heads = self.choose(((2, 3), (3, 2)))
        return [
            case(PLAIN, leading=(), dtype=torch.float32),
            case(PLAIN, leading=(), dtype=torch.float32),
            case(BATCH, leading=(batch,), dtype=torch.float32),
            case(HEADS, leading=(batch, heads), dtype=torch.float32),
            case(DOUBLE, leading=(), dtype=torch.float64),
        ]
