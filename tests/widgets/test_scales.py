"""Scales and round numbers of the widgets' plots."""

import itertools
import math
import random

import pytest

from .node import node

SPANS = [
    ((low := draw.uniform(-1, 1) * 10 ** draw.uniform(-3, 3)), low + 10 ** draw.uniform(-3, 3))
    for draw in map(random.Random, range(200))
]


@pytest.mark.parametrize(
    ("span", "count", "numbers"),
    [
        ([0, 0.3], 3, [0, 0.1, 0.2, 0.3]),
        ([-128, 17], 3, [-100, -50, 0]),
        ([0.0032, 0.004], 3, [0.0032, 0.0034, 0.0036, 0.0038, 0.004]),
        ([0, 1], 4, [0, 0.2, 0.4, 0.6, 0.8, 1]),
    ],
)
def test_round_numbers_of_known_spans(span: list[float], count: int, numbers: list[float]):
    assert node("({ span, count }) => scales.roundNumbers(span, count)", {"span": span, "count": count}) == numbers


def test_a_widened_span_ends_at_round_numbers_that_lie_evenly():
    for span in SPANS:
        wide, ticks = node(
            "(span) => { const w = scales.widened(span, 3); return [w, scales.roundNumbers(w, 3)]; }", span
        )
        assert wide[0] <= span[0] < span[1] <= wide[1]
        assert ticks[0] == wide[0]
        assert ticks[-1] == wide[1]
        steps = [after - before for before, after in itertools.pairwise(ticks)]
        assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-6)
        leading = steps[0] / 10 ** math.floor(math.log10(steps[0]) + 1e-9)
        assert min(abs(leading - each) for each in (1, 2, 5, 10)) < 1e-6
        assert 2 <= len(ticks) <= 7


def test_scales_lead_ends_to_ends_and_keep_steps_or_factors_apart_alike():
    assert node("() => [-150, 0, 75].map(scales.linear([-150, 150], [100, 0]))") == pytest.approx([100, 50, 25])
    assert node("() => [1, 32, 1024].map(scales.logarithmic([1, 1024], [0, 100]))") == pytest.approx([0, 50, 100])
