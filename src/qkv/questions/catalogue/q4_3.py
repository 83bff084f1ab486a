"""4.3: drawing the next token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, call_many, mistake
from qkv.softmax import sample_token, softmax

MANY, SOME, FEW = 1500, 300, 50  # draws from one set of logits
CHANCE = 1e-12  # of two samples of one distribution being told apart
NEAR = 2e-6  # the gap of two logits that a temperature of 1e-6 already mixes, and a float32 still tells apart

# ── what it is tried with ─────────────────────────────────────────────────────────────────────────


def draw_logits(draw: Draw) -> list[Case]:
    # Shares that every known mistake moves far enough to be seen in so many draws, in an order drawn anew.
    def logits(n: int, spread: float = 3.0) -> Tensor:
        spaced = torch.linspace(-spread / 2, spread / 2, n) - 0.1
        spaced += spread / n * torch.empty(n).uniform_(-0.1, 0.1, generator=draw.generator)
        while True:
            mixed = spaced[torch.randperm(n, generator=draw.generator)]
            if mixed.argmax() not in (0, n - 1) and mixed.argmin() not in (0, n - 1):  # first and last are no guess
                return mixed

    def case(name: str, times: int, z: Tensor, temperature: float) -> Case:
        return Case(call_many(times, z, temperature, draw.seeded()), name, {"vocab": len(z)})

    def one_candidate(name: str, temperature: float) -> Case:
        """Draw once, in place of many times: there it is seen whether an id comes in a tensor with an axis."""
        z = torch.tensor([draw.uniform(0.5, 1.5)])
        return Case(call(z, temperature, draw.seeded()), name, {"vocab": 1})

    certain = logits(draw.whole(4, 8))
    certain[certain.argmax()] += 100
    near = logits(draw.whole(5, 8))
    near[0] = near.max() - NEAR
    return [
        case("plain", MANY, logits(5, 1.6), draw.uniform(0.19, 0.21)),
        case("plain", MANY, logits(6, 6.0), draw.uniform(3.8, 4.2)),
        case("temperature 1", SOME, logits(draw.whole(5, 6)), 1.0),
        *(case("a high temperature", FEW, logits(draw.whole(5, 9)), draw.uniform(2.5, 3.0)) for _ in range(6)),
        case("logits near 300", SOME, logits(draw.whole(5, 6)) + 300, draw.uniform(0.7, 0.8)),
        case("one candidate far ahead", FEW, certain, draw.uniform(0.5, 0.9)),
        case("temperature 0", FEW, logits(draw.whole(5, 8)) - 20, 0.0),
        case("temperature 0", FEW, logits(draw.whole(5, 8)) + 20, 0),
        case("temperature 0, the two largest logits nearly equal", SOME, near, 0.0),
        one_candidate("one candidate", draw.uniform(0.5, 0.9)),
        one_candidate("temperature 0, one candidate", 0.0),
    ]


# ── how two samples are compared ──────────────────────────────────────────────────────────────────


def told_apart(case: Case, seen: Tensor, want: Tensor) -> str | None:
    """Say how two samples differ, by χ² of their counts, where chance alone could not do it."""
    seen, want = seen.flatten().long(), want.flatten().long()
    steady = 1 in (len(seen.unique()), len(want.unique()))
    if case.script[-1].args[1] == 0 and steady:  # greedy: nothing is left to chance
        same = torch.equal(seen, want)
        return None if same else f"Your ids are {_listed(seen)} at temperature 0; {_listed(want)} was expected."
    ids = torch.cat([seen, want]).unique()
    a, b = ((ids[:, None] == sample).sum(-1).double() for sample in (seen, want))
    chi2 = ((a - b) ** 2 / (a + b)).sum()  # (as many draws in each)
    if len(ids) < 2 or torch.special.gammaincc(torch.tensor((len(ids) - 1) / 2.0).double(), chi2 / 2) > CHANCE:
        return None
    worst = int(((a - b) ** 2 / (a + b)).argmax())
    if len(seen.unique()) == 1:
        return f"All of your {len(seen)} draws are id {int(seen[0])}. What changes from one draw to the next?"
    return (
        f"Your ids come up in other shares: id {int(ids[worst])} came {int(a[worst])} times in {len(seen)} draws; "
        f"about {int(b[worst])} were expected."
    )


def _listed(ids: Tensor) -> str:
    return " and ".join(str(i) for i in ids.unique().tolist()[:4])


# ── wrong ideas ───────────────────────────────────────────────────────────────────────────────────

Shares = Callable[[Tensor, float], Tensor]  # of logits and temperature: how often each id is drawn
Greedy = Callable[[Tensor, torch.Generator], Any]  # what is given at temperature 0


def right_shares(logits: Tensor, temperature: float) -> Tensor:
    return (logits / temperature).softmax(-1)


def greedily(logits: Tensor, generator: torch.Generator) -> int:
    return int(logits.argmax())


class Sampler:
    """Draws by given shares. It draws many at a time, for a check draws thousands."""

    def __init__(self, shares: Shares, give: Callable[[int, Tensor], Any]) -> None:
        self.shares, self.give = shares, give
        self.logits: Tensor | None = None
        self.ready: list[int] = []

    def draw(self, logits: Tensor, temperature: float, generator: torch.Generator | None) -> Any:
        if self.logits is not logits or not self.ready:
            self.logits = logits
            p = self.shares(logits, temperature)
            self.ready = torch.multinomial(p, MANY, replacement=True, generator=generator).tolist()
        return self.give(self.ready.pop(), logits)


def sampler(
    shares: Shares = right_shares,
    greedy: Greedy = greedily,
    give: Callable[[int, Tensor], Any] = lambda i, logits: i,
    source: Callable[[torch.Generator], torch.Generator | None] = lambda generator: generator,
    give_at_zero: bool = True,
) -> Callable[..., Any]:
    """Give a sampler that goes wrong at some of its steps."""
    drawing = Sampler(shares, give)

    def variant(logits: Tensor, temperature: float, generator: torch.Generator) -> Any:
        if temperature == 0:
            found = greedy(logits, generator)
            return give(found, logits) if give_at_zero and type(found) is int else found
        return drawing.draw(logits, temperature, source(generator))

    return variant


def reseeding(seed: Callable[[torch.Generator], int]) -> Callable[..., int]:
    """Give a sampler that seeds the generator each time, so that it draws one id again and again."""
    known: dict[int, tuple[Tensor, int]] = {}

    def variant(logits: Tensor, temperature: float, generator: torch.Generator) -> int:
        if id(logits) not in known or known[id(logits)][0] is not logits:
            generator.manual_seed(seed(generator))
            known[id(logits)] = logits, sample_token(logits, temperature, generator)
        return known[id(logits)][1]

    return variant


def even(logits: Tensor, temperature: float = 0.0) -> Tensor:
    return torch.ones_like(logits)


def top(n: int) -> Shares:
    def shares(logits: Tensor, temperature: float) -> Tensor:
        p = right_shares(logits, temperature)
        return p * (p >= p.topk(min(n, len(p))).values[-1])

    return shares


def powers_as_they_are(logits: Tensor, temperature: float) -> Tensor:
    powers = (logits / temperature).exp()
    return powers / powers.sum()


def cut_at_one(logits: Tensor, temperature: float) -> Tensor:
    """What an inverse CDF draws from shares that do not sum to 1: the rest falls to the last, or is cut."""
    reached = (logits.softmax(-1) / temperature).cumsum(-1).clamp(max=1.0)
    reached[-1] = 1.0
    return reached.diff(prepend=torch.zeros(1))


def drawn_by(shares: Callable[[Tensor], Tensor]) -> Greedy:
    return lambda logits, generator: int(torch.multinomial(shares(logits), 1, generator=generator))


shared = by_knob("shares")
given = by_knob("give")
at_zero = by_knob("greedy")

SHARES = (
    shared("temperature-multiplied", lambda z, t: (z * t).softmax(-1)),
    shared("temperature-ignored", lambda z, t: z.softmax(-1)),
    shared("temperature-on-probabilities", cut_at_one),
    shared("always-greedy", lambda z, t: torch.eye(len(z))[z.argmax()]),
    Misconception("even-shares", knob_sets=({"shares": even}, {"shares": even, "greedy": drawn_by(even)})),
    shared("logits-negated", lambda z, t: (-z / t).softmax(-1)),
    shared("softmax-twice", lambda z, t: (z / t).softmax(-1).softmax(-1), lambda z, t: (z.softmax(-1) / t).softmax(-1)),
    shared("logits-for-probabilities", lambda z, t: z / t, lambda z, t: z.clamp(min=0)),
    shared("overflow", powers_as_they_are),
    shared("tail-cut-off", top(2), top(3)),
    shared(
        "rank-for-id",
        lambda z, t: right_shares(z, t).sort(descending=True).values,
        lambda z, t: right_shares(z, t).sort().values,
    ),
)

GIVEN = (
    given("off-by-one", lambda i, z: i + 1, lambda i, z: i - 1),
    given("score-returned", lambda i, z: float(z[i]), lambda i, z: float(z.softmax(-1)[i])),
    mistake(
        "axis-left-over",
        sampler(give=lambda i, z: torch.tensor([i])),
        sampler(give=lambda i, z: torch.tensor([i]), give_at_zero=False),
        sampler(greedy=lambda z, g: z.argmax(-1, keepdim=True)),
    ),
    mistake("nothing-returned", sampler(give=lambda i, z: None, give_at_zero=False), sampler(greedy=lambda z, g: None)),
    given("one-hot-returned", lambda i, z: torch.eye(len(z))[i]),
)

AT_ZERO = (
    at_zero("score-returned-at-zero", lambda z, g: float(z.max())),
    at_zero(
        "greedy-ignored-at-zero",
        drawn_by(lambda z: (z / 0).softmax(-1)),
        lambda z, g: 1 // 0,
        lambda z, g: 0,
    ),
    Misconception("refused-at-zero", knobs={"greedy": lambda z, g: softmax(z, 0.0)}, in_any_words=True),
    at_zero("drawn-at-zero", drawn_by(lambda z: z.softmax(-1))),
    at_zero(
        "nearly-zero-for-zero", drawn_by(lambda z: (z / 0.05).softmax(-1)), drawn_by(lambda z: (z / NEAR).softmax(-1))
    ),
)

QUESTION = Question(
    points=3,
    inputs=("logits", "temperature", "generator"),
    outputs=("id",),
    draw=draw_logits,
    reference=sample_token,
    judged_by=sampler(),
    variant=sampler,
    differs=told_apart,
    misconceptions=(
        *SHARES,
        *GIVEN,
        *AT_ZERO,
        Misconception("generator-not-used", knobs={"source": lambda generator: None}),
        mistake(
            "generator-reseeded",
            reseeding(lambda generator: 0),
            reseeding(lambda generator: 42),
            reseeding(lambda generator: generator.initial_seed()),
        ),
    ),
)
