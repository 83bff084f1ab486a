"""The search of 4.4, halving an interval, with one of its parts made otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from torch import Tensor

from qkv.questions.engine import Misconception

STEPS = 60
Ends = tuple[float, float]


def sorted_scores(z: Tensor) -> np.ndarray:
    """Give the scores as float64, the largest first."""
    return np.sort(z.double().numpy())[::-1]


def gaps_of(z: np.ndarray) -> np.ndarray:
    return z[0] - z[1:]


def odds_of(n_others: int, target: float) -> float:
    return math.log(n_others * target / (1 - target))


def ends_of(gaps: np.ndarray, odds: float) -> Ends:
    return float(gaps[0]) / odds, float(gaps[-1]) / odds


def middle_of(low: float, high: float) -> float:
    return (low + high) / 2


def weight_of(gaps: np.ndarray, temperature: float) -> float:
    return 1 / (1 + np.exp(-gaps / temperature).sum())


def keep(low: float, middle: float, high: float, above: bool) -> Ends:
    return (middle, high) if above else (low, middle)


def search(
    gaps: Callable[[np.ndarray], np.ndarray] = gaps_of,
    odds: Callable[[int, float], float] = odds_of,
    ends: Callable[[np.ndarray, float], Ends] = ends_of,
    middle: Callable[[float, float], float] = middle_of,
    weight: Callable[[np.ndarray, float], float] = weight_of,
    half: Callable[[float, float, float, bool], Ends] = keep,
    result: Callable[[float, float], Any] = middle_of,
    steps: int = STEPS,
) -> Callable[[Tensor, float], Any]:
    """Give an answer to 4.4 that goes wrong in one part of its search."""

    def variant(z: Tensor, target: float) -> Any:
        below = gaps(sorted_scores(z))
        low, high = ends(below, odds(len(below), target))
        for _ in range(steps):
            between = middle(low, high)
            low, high = half(low, between, high, bool(weight(below, between) > target))
        return result(low, high)

    return variant


def whole(number: float) -> float:
    return float(round(number))


Part = tuple[str, Callable[..., Any]]

GAPS: tuple[Part, ...] = (
    ("the other scores are added to the largest", lambda z: z[0] + z[1:]),
    ("the other scores are multiplied with the largest", lambda z: z[0] * z[1:]),
    ("the other scores are taken as they are", lambda z: z[1:]),
    ("the scores are sorted the other way round, and the lowest is left out", lambda z: z[0] - z[::-1][1:]),
    ("the first gap is left out", lambda z: z[0] - z[2:]),
    ("the largest's gap from itself is counted", lambda z: z[0] - z),
    ("the lowest score's gap alone is counted", lambda z: z[0] - z[-1:]),
)
# Of n (the others) and the target: what stands in place of n · target / (1 − target), or of its logarithm.
RATIOS: tuple[Part, ...] = (
    ("n · t · (1 − t)", lambda n, t: n * t * (1 - t)),
    ("n · t − (1 − t)", lambda n, t: n * t - (1 - t)),
    ("n · t", lambda n, t: n * t),
    ("1 − t", lambda n, t: 1 - t),
    ("(1 − t) / (n · t)", lambda n, t: (1 - t) / (n * t)),
    ("n / t / (1 − t)", lambda n, t: n / t / (1 - t)),
    ("(n + t) / (1 − t)", lambda n, t: (n + t) / (1 - t)),
    ("n / (1 − t)", lambda n, t: n / (1 - t)),
    ("n · t / (1 + t)", lambda n, t: n * t / (1 + t)),
    ("n", lambda n, t: n * t / t),
    ("n · t / (t − 1)", lambda n, t: n * t / (t - 1)),
    ("n · t / (2 − t)", lambda n, t: n * t / (2 - t)),
    ("n · t / (0 − t)", lambda n, t: n * t / (0 - t)),
    ("n · t / (½ − t)", lambda n, t: n * t / (0.5 - t)),
    ("n · t / (−1 − t)", lambda n, t: n * t / (-1 - t)),
)
ODDS: tuple[Part, ...] = (
    *((f"ln({text})", lambda n, t, ratio=ratio: math.log(ratio(n, t))) for text, ratio in RATIOS),
    ("n · t / (1 − t), without its logarithm", lambda n, t: n * t / (1 - t)),
    ("−ln(n · t / (1 − t))", lambda n, t: -odds_of(n, t)),
    ("a whole number, rounded", lambda n, t: whole(odds_of(n, t))),
)
# Of the gap g and the odds o: what stands in place of g / o at one end.
END: tuple[Part, ...] = (
    ("g · o", lambda g, o: g * o),
    ("g − o", lambda g, o: g - o),
    ("g", lambda g, o: g),
    ("o", lambda g, o: o),
    ("o / g", lambda g, o: o / g),
    ("a whole number, rounded", lambda g, o: whole(g / o)),
)
ENDS: tuple[Part, ...] = (
    *((f"{text} below", lambda g, o, end=end: (end(float(g[0]), o), float(g[-1]) / o)) for text, end in END),
    *((f"{text} above", lambda g, o, end=end: (float(g[0]) / o, end(float(g[-1]), o))) for text, end in END),
    ("the second gap below", lambda g, o: (float(g[1]) / o, float(g[-1]) / o)),
    ("the last gap but one above", lambda g, o: (float(g[0]) / o, float(g[-2]) / o)),
    ("the second gap above", lambda g, o: (float(g[0]) / o, float(g[1]) / o)),
)
MIDDLES: tuple[Part, ...] = (
    ("(low + high) · 2", lambda low, high: (low + high) * 2),
    ("low + high − 2", lambda low, high: low + high - 2),
    ("low + high", lambda low, high: low + high),
    ("2", lambda low, high: 2.0),
    ("2 / (low + high)", lambda low, high: 2 / (low + high)),
    ("minus the mean", lambda low, high: -(low + high) / 2),
    ("the mean, rounded", lambda low, high: whole((low + high) / 2)),
    ("low · high / 2", lambda low, high: low * high / 2),
    ("low / 2", lambda low, high: low / 2),
    ("high / 2", lambda low, high: high / 2),
    ("(low + high) / 3", lambda low, high: (low + high) / 3),
    ("(low + high) / 4", lambda low, high: (low + high) / 4),
    ("(high − low) / 2", lambda low, high: (high - low) / 2),
)
WEIGHTS: tuple[Part, ...] = (
    ("1 / (1 − Σ e^(−g/T))", lambda g, t: 1 / (1 - np.exp(-g / t).sum())),
    ("1 / (2 + Σ e^(−g/T))", lambda g, t: 1 / (2 + np.exp(-g / t).sum())),
    ("1 / (½ + Σ e^(−g/T))", lambda g, t: 1 / (0.5 + np.exp(-g / t).sum())),
    ("1 / (Σ e^(−g/T) − 1)", lambda g, t: 1 / (np.exp(-g / t).sum() - 1)),
    ("1 / Σ e^(−g/T) of the others alone", lambda g, t: 1 / np.exp(-g / t).sum()),
    ("a whole number, rounded", lambda g, t: whole(weight_of(g, t))),
    ("made of g · T", lambda g, t: 1 / (1 + np.exp(-g * t).sum())),
    ("made of −g − T", lambda g, t: 1 / (1 + np.exp(-g - t).sum())),
    ("the same at every T", lambda g, t: 1 / (1 + np.exp(-g).sum())),
    ("made of T / g", lambda g, t: 1 / (1 + np.exp(t / -g).sum())),
    ("Σ e^(−g/T) alone", lambda g, t: np.exp(-g / t).sum()),
)
HALVES: tuple[Part, ...] = (
    ("the two ends change places", lambda a, m, b, above: (b, m) if above else (m, a)),
    ("above the target the two ends change places", lambda a, m, b, above: (b, m) if above else (a, m)),
    ("below the target the two ends change places", lambda a, m, b, above: (m, b) if above else (m, a)),
    ("the new lower end gets a minus", lambda a, m, b, above: (-m, b) if above else (a, m)),
    ("the old upper end gets a minus", lambda a, m, b, above: (m, -b) if above else (a, m)),
    ("the old lower end gets a minus", lambda a, m, b, above: (m, b) if above else (-a, m)),
    ("the new upper end gets a minus", lambda a, m, b, above: (m, b) if above else (a, -m)),
    ("the new lower end is rounded", lambda a, m, b, above: (whole(m), b) if above else (a, m)),
    ("the old upper end is rounded", lambda a, m, b, above: (m, whole(b)) if above else (a, m)),
    ("the old lower end is rounded", lambda a, m, b, above: (m, b) if above else (whole(a), m)),
    ("the new upper end is rounded", lambda a, m, b, above: (m, b) if above else (a, whole(m))),
)
RESULTS: tuple[Part, ...] = (
    ("(low + high) · 2", lambda low, high: (low + high) * 2),
    ("low + high − 2", lambda low, high: low + high - 2),
    ("low + high", lambda low, high: low + high),
    ("2, whatever was found", lambda low, high: 2),
    ("low · high / 2", lambda low, high: low * high / 2),
    ("half of one end", lambda low, high: low / 2),
    ("a third of the sum", lambda low, high: (low + high) / 3),
)


def slips_of(parts: tuple[Part, ...], slug: str, says: str, knob: str) -> Iterator[Misconception]:
    for text, part in parts:
        changed: dict[str, Any] = {knob: part}
        yield Misconception(slug, says.format(text), twin=search(**changed))


SEARCHES = (
    Misconception(
        "all-gaps-alike",
        "Your interval is halved to the wrong side, and ends where it began. When the weight is above the target, on "
        "which side does the answer lie?",
        twin=search(half=lambda a, m, b, above: (a, m) if above else (m, b)),
    ),
    *slips_of(
        GAPS,
        "gaps-wrong",
        "Your gaps are not how far the other scores lie below the largest: {}. How many are there, and is one below 0?",
        "gaps",
    ),
    Misconception(
        "gaps-rounded",
        "Your gaps are rounded to whole numbers. Where does that happen?",
        twin=search(gaps=lambda z: gaps_of(z).round()),
    ),
    *slips_of(
        ODDS,
        "interval-misses-the-answer",
        "Your search can only end between the ends it starts from, and these come from {}, for n other scores and a "
        "target t. If all n had the same gap, which temperature would give the target?",
        "odds",
    ),
    *slips_of(
        ENDS,
        "interval-misses-the-answer",
        "Your search can only end between the ends it starts from; yours come from {}. Which gap gives the lowest "
        "temperature, which one the highest, and how?",
        "ends",
    ),
    Misconception(
        "search-never-runs",
        "You give the middle of the interval that you started from: no half was ever taken. What goes around in your "
        "loop, and how often?",
        twin=search(steps=0),
    ),
    *slips_of(
        MIDDLES,
        "midpoint-miscomputed",
        "The temperature that you try is {}. Does it lie halfway between the two ends?",
        "middle",
    ),
    *slips_of(
        WEIGHTS,
        "largest-weight-miscomputed",
        "The weight that you compare with the target is {}. What does a softmax give the largest score?",
        "weight",
    ),
    *slips_of(
        HALVES,
        "wrong-half-kept",
        "Your interval goes astray: {}. When the weight is above the target, on which side does the answer lie?",
        "half",
    ),
    *slips_of(
        RESULTS,
        "result-not-the-middle",
        "Your search is right, and then you give {}. Which one number lies between its two ends?",
        "result",
    ),
)
