"""4.4: the temperature at which the largest weight is a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Question, Seen, call, mistake
from qkv.softmax import find_temperature, softmax

# ── what it is tried with ─────────────────────────────────────────────────────────────────────────


def draw_target(draw: Draw) -> list[Case]:
    def scores(n: int, scale: float = 1.0) -> Tensor:
        """Draw scores with gaps from 0.5 to 2.5 below one maximum, which is neither first nor last."""
        gaps = torch.linspace(0.5, 2.5, n - 1) if n > 2 else torch.tensor([draw.uniform(0.5, 2.5)])
        gaps = gaps + torch.empty(n - 1).uniform_(-0.1, 0.1, generator=draw.generator)
        z = torch.cat([torch.zeros(1), -gaps[torch.randperm(n - 1, generator=draw.generator)]])
        return (scale * (z.roll(draw.whole(1, n - 2) if n > 2 else draw.whole(0, 1)) + 0.3)).float()

    def case(name: str, z: Tensor, target: float) -> Case:
        return Case(call(z, target), name, {"n": len(z)}, tolerance=precision(z, target))

    def n() -> int:
        return draw.whole(4, 8)

    def middle() -> float:
        return draw.uniform(0.45, 0.7)

    def two(temperature: float) -> tuple[Tensor, float]:
        """Draw two scores, and the target that this temperature meets."""
        z = scores(2)
        return z, 1 / (1 + math.exp(-float((z[0] - z[1]).abs()) / temperature))

    m = n()
    return [
        case("plain", scores(n()), middle()),
        case("plain", scores(n()), middle()),
        case("a low target", scores(n()), draw.uniform(0.3, 0.4)),
        case("a target near 1", scores(n()), draw.uniform(0.97, 0.985)),
        case("a target near 1/n", scores(m), 1 / m + draw.uniform(0.03, 0.05)),
        case("n = 2", scores(2), draw.uniform(0.6, 0.9)),
        case("n = 2", *two(draw.uniform(0.65, 0.9))),  # whose temperature, rounded, would be 1
        case("float64", scores(n()).double(), middle()),
        case("small scores", scores(n(), 0.02), middle()),
        case("very small scores", scores(n(), 1e-4), middle()),
        case("large scores", scores(6, 260.0), draw.uniform(0.35, 0.4)),
        case("very large scores", scores(n(), 1e9), middle()),
        case("scores near 200", scores(n()) + 200, middle()),
        case("scores near −200", scores(n()) - 200, middle()),
    ]


def gaps_below(z: Tensor) -> Tensor:
    """How far each other score lies below the largest, the smallest gap first: (n − 1,)."""
    return z.double().max() - z.double().sort(descending=True).values[1:]


def precision(z: Tensor, target: float) -> float:
    """How far a temperature may be off, relative to max(1, T), for a largest weight that is off by 1e-4."""
    temperature, gaps = find_temperature(z, target), gaps_below(z)
    powers = (-gaps / temperature).exp()
    slope = float(target**2 * (powers * gaps).sum() / temperature**2)
    return 1.05e-4 / slope / max(1.0, temperature)


# ── wrong ideas ───────────────────────────────────────────────────────────────────────────────────

Answer = Callable[[Tensor, float], Any]


def changed(change: Callable[[float], Any]) -> Answer:
    """Give the right temperature, changed."""
    return lambda z, target: change(find_temperature(z, target))


def if_all_gaps_were(one: Callable[[Tensor], Tensor]) -> Answer:
    """Give the temperature of a formula, right where all gaps are the same."""
    return lambda z, target: float(one(gaps_below(z))) / math.log((len(z) - 1) * target / (1 - target))


def naive_softmax(z: Tensor, temperature: float) -> Tensor:
    powers = (z / temperature).exp()
    return powers / powers.sum()


def halving(low: float, high: float, steps: int, share: Callable[[Tensor, float], Tensor] = softmax) -> Answer:
    """Search by halving the interval from `low` to `high` so many times."""

    def answer(z: Tensor, target: float) -> float:
        a, b = low, high
        for _ in range(steps):
            middle = (a + b) / 2
            a, b = (middle, b) if share(z, middle).max() > target else (a, middle)
        return (a + b) / 2

    return answer


def within(low: float, high: float) -> Answer:
    """Give the right temperature, or the end of the range where it lies outside."""
    return changed(lambda t: min(max(t, low), high))


def between(low: float, high: float) -> float:
    return (low + high) / 2


def between_logarithms(low: float, high: float) -> float:
    return math.sqrt(low * high)


def wrong_half(times: float, middle: Callable[[float, float], float]) -> Answer:
    """Search around the widest gap, and keep the wrong half: the first step decides at which end that stops."""

    def answer(z: Tensor, target: float) -> float:
        gap = float(gaps_below(z)[-1])
        low, high = gap / times, gap * times
        return low if softmax(z, middle(low, high)).max() > target else high

    return answer


def wrong_half_between(low: float, high: float, middle: Callable[[float, float], float]) -> Answer:
    """Search between fixed ends, and keep the wrong half."""
    return lambda z, target: low if softmax(z, middle(low, high)).max() > target else high


def expected(seen: Seen) -> str:
    """Quote the temperature that is right for the scores that are shown."""
    return f"{find_temperature(*seen.case.script[-1].args):.4g}"


LOWEST, HIGHEST = (0.1, 0.05, 0.01, 1e-3, 1e-6), (5.0, 10.0, 20.0, 50.0, 100.0, 1e3, 1e4, 1e6)
WIDE = tuple((10.0**-a, 10.0**b) for a in (1, 2, 3, 4, 6, 9) for b in (1, 2, 3, 4, 5, 6, 8, 9))

QUESTION = Question(
    points=4,
    inputs=("z", "target"),
    outputs=("temperature",),
    draw=draw_target,
    reference=find_temperature,
    quotes={"expected": expected},
    misconceptions=(
        mistake("reciprocal", changed(lambda t: 1 / t)),
        mistake(
            "only-the-runner-up",
            lambda z, target: float(gaps_below(z)[0]) / math.log(target / (1 - target)) if target != 0.5 else 1e6,
        ),
        mistake("all-gaps-alike", *(if_all_gaps_were(one) for one in (torch.mean, torch.min, torch.max))),
        mistake("logarithm-returned", changed(math.log)),
        mistake("temperature-negated", changed(lambda t: -t)),
        mistake("weights-returned", lambda z, target: softmax(z, find_temperature(z, target))),
        mistake("temperature-forgotten", lambda z, target: 1.0),
        mistake("range-too-narrow", *(within(low, high) for low in LOWEST for high in HIGHEST)),
        mistake(
            "search-stops-early",
            *(halving(1e-3, 1e3, steps) for steps in (10, 20)),
            *(halving(1e-6, 1e6, steps) for steps in (20, 30)),
            halving(0.01, 100.0, 10),
        ),
        mistake(
            "search-goes-the-wrong-way",
            *(within(end, end) for end in (*LOWEST, *HIGHEST)),
            *(wrong_half_between(*ends, middle) for ends in WIDE for middle in (between, between_logarithms)),
            *(wrong_half(10.0**n, middle) for n in range(1, 7) for middle in (between, between_logarithms)),
        ),
        mistake("overflow", *(halving(1 / high, high, 100, naive_softmax) for high in (1e3, 1e4, 1e6))),
    ),
)
