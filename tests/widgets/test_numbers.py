"""How numbers look as text."""

import math
import random
import re

import pytest

from .node import node


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1, "1"),
        (-3, "−3"),
        (0.30041, "0.300"),
        (0.0902, "0.0902"),
        (2.36, "2.36"),
        (-16.06, "−16.1"),
        (256, "256"),
        (1024, "1,024"),
        (1234.5, "1,235"),
        (9.996, "10.0"),
        (99999.7, "100,000"),
        (262144, "262,144"),
        (-1073741824, "−1,073,741,824"),
        (0.0001234, "0.000123"),
        (2e-7, "2.00 × 10⁻⁷"),
        (-6.0337e-6, "−6.03 × 10⁻⁶"),
        (1.5e21, "1.50 × 10²¹"),
        (5e-324, "4.94 × 10⁻³²⁴"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "not a number"),
    ],
)
def test_a_number_as_text(x: float, text: str):
    assert node("(x) => num(x)", x) == text


@pytest.mark.parametrize(
    ("x", "options", "text"),
    [
        (1, {"places": 2}, "1.00"),
        (0.005, {"places": 2}, "0.01"),
        (-0.004, {"places": 2}, "0.00"),
        (-0.006, {"places": 2}, "−0.01"),
        (1e-9, {"places": 3}, "0.000"),
        (0.5, {"digits": 1}, "0.5"),
        (math.pi, {"digits": 6}, "3.14159"),
    ],
)
def test_places_and_digits(x: float, options: dict[str, int], text: str):
    assert node("({ x, options }) => num(x, options)", {"x": x, "options": options}) == text


def test_what_is_read_is_what_was_meant():
    draw = random.Random(0)
    xs = [draw.choice([-1, 1]) * 10 ** draw.uniform(-12, 14) for _ in range(500)]
    for x, text in zip(xs, node("(xs) => xs.map((x) => num(x))", xs), strict=True):
        assert "-" not in text
        plain = text.replace("−", "-").replace(",", "")
        mantissa, _, power = plain.partition(" × 10")
        exponent = int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)
        assert float(mantissa) * 10**exponent == pytest.approx(x, rel=0.0051)
        assert re.fullmatch(r"-?\d+(\.\d+)?", mantissa)
