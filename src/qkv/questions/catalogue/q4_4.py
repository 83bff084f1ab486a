"""4.4: the temperature at which the largest weight is a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Question, Seen, call, mistake
from qkv.questions.engine.wording import number, two_numbers
from qkv.softmax import find_temperature, softmax
from qkv.words import sentences, t

# ── the cases ─────────────────────────────────────────────────────────────────────────────────────


def draw_target(draw: Draw) -> list[Case]:
    """Draw scores and a largest weight to reach: easy ones, low ones, near 1 and near 1/n.

    Also two scores alone, float64, scores far from 0, and very small and very large ones.
    """

    def scores(n: int, scale: float = 1.0) -> Tensor:
        """Draw scores that lie 0.5 to 2.5 below one maximum; with n > 2, the maximum is neither first nor last."""
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

    def two_scores(temperature: float) -> tuple[Tensor, float]:
        """Draw two scores, and compute their largest weight at this temperature: the target."""
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
        case("n = 2", *two_scores(draw.uniform(0.65, 0.9))),  # a temperature that rounds to 1
        case("float64", scores(n()).double(), middle()),
        case("small scores", scores(n(), 0.02), middle()),
        case("very small scores", scores(n(), 1e-4), middle()),
        case("large scores", scores(6, 260.0), draw.uniform(0.35, 0.4)),
        case("very large scores", scores(n(), 1e9), middle()),
        case("scores near 200", scores(n()) + 200, middle()),
        case("scores near −200", scores(n()) - 200, middle()),
    ]


def gaps_below(z: Tensor) -> Tensor:
    """Return how far each other score lies below the largest one, the smallest gap first: (n − 1,)."""
    return z.double().max() - z.double().sort(descending=True).values[1:]


def precision(z: Tensor, target: float) -> float:
    """Return how far the temperature T that makes the largest weight `target` may be off, relative to max(1, T).

    It is so far that this weight is off by about 1e-4.
    """
    temperature, gaps = find_temperature(z, target), gaps_below(z)
    powers = (-gaps / temperature).exp()
    slope = float(target**2 * (powers * gaps).sum() / temperature**2)
    return 1.05e-4 / slope / max(1.0, temperature)


def weight_at(case: Case, temperature: float) -> str | None:
    """Return a text that says which largest weight a wrong temperature gives, and which was asked for.

    For a temperature of 0 or less, return None.
    """
    if temperature <= 0:
        return None
    z, target = case.script[-1].args
    found = float(softmax(z.double(), temperature).max())
    weight, wanted = two_numbers(found, target)
    said = t(
        "At your temperature, {temperature}, the largest weight is {weight}; {wanted} was asked for, to four decimals.",
        temperature=number(temperature),
        weight=weight,
        wanted=wanted,
    )
    return sentences(said, question_on_a_search(abs(found - target) < NEAR))


def question_on_a_search(is_near: bool) -> str:
    """Return what to ask of a search that ends near the right temperature, or far from it."""
    if is_near:
        return t(
            "That is near. How many steps does your search take, and how many would it need for a temperature 1,000 "
            "times as large?"
        )
    return t(
        "If you halve a range: does it contain the right temperature, and which half do you keep where the largest "
        "weight is above the target? If you take steps from a start: do they also reach a temperature 1,000 times as "
        "large?"
    )


NEAR = 0.02  # a difference between largest weights


# ── wrong ideas ───────────────────────────────────────────────────────────────────────────────────

Answer = Callable[[Tensor, float], Any]


def changed(change: Callable[[float], Any]) -> Answer:
    """Return an answer that computes the right temperature and then applies `change`."""
    return lambda z, target: change(find_temperature(z, target))


def as_if_gaps_were_equal(common_gap: Callable[[Tensor], Tensor]) -> Answer:
    """Return an answer by the formula for equal gaps; `common_gap` computes one gap from all of them."""
    return lambda z, target: float(common_gap(gaps_below(z))) / math.log((len(z) - 1) * target / (1 - target))


def overflowing_softmax(z: Tensor, temperature: float) -> Tensor:
    powers = (z / temperature).exp()
    return powers / powers.sum()


def bisection(low: float, high: float, steps: int, weigh: Callable[[Tensor, float], Tensor] = softmax) -> Answer:
    """Return an answer(z, target) that bisects the interval from `low` to `high` in this number of steps.

    `weigh` is its softmax.
    """

    def answer(z: Tensor, target: float) -> float:
        a, b = low, high
        for _ in range(steps):
            middle = (a + b) / 2
            a, b = (middle, b) if weigh(z, middle).max() > target else (a, middle)
        return (a + b) / 2

    return answer


def geometric_bisection(high: float, weigh: Callable[[Tensor, float], Tensor]) -> Answer:
    """Return an answer(z, target) that bisects ln T between ±ln `high`, in 200 steps. `weigh` is its softmax."""

    def answer(z: Tensor, target: float) -> float:
        a, b = 1 / high, high
        for _ in range(200):
            middle = geometric_mean(a, b)
            a, b = (middle, b) if weigh(z, middle).max() > target else (a, middle)
        return b

    return answer


def on_grid(grid: Tensor) -> Answer:
    """Return an answer(z, target) that tries these temperatures, and returns the one nearest to the target."""

    def answer(z: Tensor, target: float) -> float:
        largest = (z[None] / grid[:, None].to(z)).softmax(-1).amax(-1)
        return float(grid[(largest - target).abs().argmin()])

    return answer


def within(low: float, high: float) -> Answer:
    """Return an answer that is right within this range, and otherwise returns the nearer end of the range."""
    return changed(lambda t: min(max(t, low), high))


def arithmetic_mean(low: float, high: float) -> float:
    return (low + high) / 2


def geometric_mean(low: float, high: float) -> float:
    return math.sqrt(low * high)


def wrong_half(factor: float, middle: Callable[[float, float], float]) -> Answer:
    """Return an answer that bisects a range around the widest gap, and keeps the wrong half each time.

    So its first step decides at which end it stops, and it returns that end. The range is from the gap divided by
    `factor` to the gap times `factor`; `middle` is the mean that halves it.
    """

    def answer(z: Tensor, target: float) -> float:
        gap = float(gaps_below(z)[-1])
        low, high = gap / factor, gap * factor
        return low if softmax(z, middle(low, high)).max() > target else high

    return answer


def wrong_half_between(low: float, high: float, middle: Callable[[float, float], float]) -> Answer:
    """Return an answer that bisects between fixed ends and keeps the wrong half: it returns the end it moves to."""
    return lambda z, target: low if softmax(z, middle(low, high)).max() > target else high


Ends = Callable[[Tensor, float], tuple[float, float]]


def widened(start: Callable[[Tensor], float], factor: float = 2.0, low: float | None = None) -> Ends:
    """Return a function(z, target) for the ends of a range, which begins as one number and is widened to contain T.

    The number is `start(gaps below the largest score)`; an end is divided or multiplied by `factor` until it is far
    enough. With `low`, that is the lower end instead.
    """

    def ends(z: Tensor, target: float) -> tuple[float, float]:
        a = b = start(gaps_below(z))
        while softmax(z.double(), a).max() < target:
            a /= factor
        while softmax(z.double(), b).max() > target:
            b *= factor
        return a if low is None else low, b

    return ends


def wrong_half_of(ends: Ends) -> Answer:
    """Return an answer that bisects this range and keeps the wrong half: it returns the end that it moves to."""

    def answer(z: Tensor, target: float) -> float:
        low, high = ends(z, target)
        return low if (z.double() / arithmetic_mean(low, high)).softmax(-1).max() > target else high

    return answer


def few_steps_in(ends: Ends, steps: int) -> Answer:
    """Return a bisection of this range that stops after so many steps."""
    return lambda z, target: bisection(*ends(z, target), steps)(z, target)


def searched(ends: Ends) -> Answer:
    """Return an answer that bisects this range in 200 steps, whose ends may be wrong, and even below 0."""

    def weigh(z: Tensor, temperature: float) -> Tensor:
        return (z.double() / temperature).softmax(-1)

    return lambda z, target: bisection(*ends(z, target), 200, weigh)(z, target)


ENDS_AT_SCORES = [
    lambda z, _, low=low, factor=factor: (low, factor * float(z.max()))
    for low in (0.0, 1e-9, 1e-6)
    for factor in (1.0, 10.0, 100.0)
]
WIDENED = (
    *(widened(start, factor) for start in (lambda gaps: float(gaps[-1]), lambda gaps: 1.0) for factor in (2.0, 10.0)),
    *(widened(lambda gaps: 1.0, 2.0, low) for low in (0.0, 1e-6)),
)


def expected(seen: Seen) -> str:
    """Return the right temperature for the case that a message quotes, as text."""
    return f"{find_temperature(*seen.case.script[-1].args):.4g}"


LOWEST, HIGHEST = (0.1, 0.05, 0.01, 1e-3, 1e-6), (5.0, 10.0, 20.0, 50.0, 100.0, 1e3, 1e4, 1e6)
# No case needs a temperature below 1e-6, so a search that begins there is right if it has no upper end.
RANGES = [*product((0.0, *LOWEST), HIGHEST), *product(LOWEST[:-1], (math.inf,))]
GRIDS = ((0.01, 10.0), (0.1, 10.0), (0.01, 100.0), (0.1, 100.0))
WIDE = tuple((10.0**-a, 10.0**b) for a in (1, 2, 3, 4, 6, 9) for b in (1, 2, 3, 4, 5, 6, 8, 9))

QUESTION = Question(
    points=4,
    inputs=("z", "target"),
    outputs=("temperature",),
    draw=draw_target,
    reference=find_temperature,
    wrong_number=weight_at,
    quotes={"expected": expected},
    misconceptions=(
        mistake("reciprocal", changed(lambda t: 1 / t)),
        mistake(
            "only-the-runner-up",
            lambda z, target: float(gaps_below(z)[0]) / math.log(target / (1 - target)) if target != 0.5 else 1e6,
        ),
        mistake("only-the-widest-gap", lambda z, target: float(gaps_below(z)[-1]) / math.log(target / (1 - target))),
        mistake("all-gaps-alike", *(as_if_gaps_were_equal(gap) for gap in (torch.mean, torch.min, torch.max))),
        mistake("logarithm-returned", changed(math.log)),
        mistake("temperature-negated", changed(lambda t: -t)),
        mistake("weights-returned", lambda z, target: softmax(z, find_temperature(z, target))),
        mistake("temperature-forgotten", lambda z, target: 1.0),
        mistake("range-too-narrow", *(within(*ends) for ends in RANGES)),
        mistake(
            "search-stops-early",
            *(bisection(1e-3, 1e3, steps) for steps in (10, 20)),
            *(bisection(1e-6, 1e6, steps) for steps in (20, 30)),
            bisection(0.01, 100.0, 10),
            *(few_steps_in(ends, 10) for ends in WIDENED),
        ),
        mistake(
            "search-goes-the-wrong-way",
            *(within(end, end) for end in (*LOWEST, *HIGHEST)),
            *(wrong_half_between(*ends, middle) for ends in WIDE for middle in (arithmetic_mean, geometric_mean)),
            *map(wrong_half_of, (*WIDENED, *ENDS_AT_SCORES)),
            *(wrong_half(10.0**n, middle) for n in range(1, 7) for middle in (arithmetic_mean, geometric_mean)),
        ),
        mistake(
            "fixed-grid",
            *(on_grid(torch.linspace(*ends, n)) for ends in GRIDS for n in (100, 1000, 10000)),
            *(on_grid(torch.logspace(-a, a, n)) for a in (2, 3, 4) for n in (100, 1000, 2000, 10000)),
        ),
        mistake("range-from-the-scores", *map(searched, ENDS_AT_SCORES)),
        mistake(
            "overflow",
            *(bisection(1 / high, high, 100, overflowing_softmax) for high in (1e3, 1e4, 1e6, 1e9)),
            *(geometric_bisection(high, overflowing_softmax) for high in (1e3, 1e4, 1e6, 1e9)),
        ),
    ),
)
