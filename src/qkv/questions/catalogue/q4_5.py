"""4.5: predict a temperature, for numbers of one's own."""

from __future__ import annotations

import math

from qkv.questions.engine import Draw
from qkv.questions.shared.personal import SOMEBODY, Numbers, Personal
from qkv.words import t


def draw_numbers(draw: Draw) -> Numbers:
    """Draw the numbers of one reader."""
    return {"n": draw.whole(3, 60), "gap": draw.whole(1000, 9999) / 1000, "share": draw.whole(500, 950) / 10}


def said(numbers: Numbers) -> str:
    """Return the numbers in words."""
    return t("{n} tokens, the best one {gap} above the others, which are equal; it should get {share} %", **numbers)


def odds(numbers: Numbers) -> float:
    """Return the weight of the best token, divided by that of all others."""
    share = numbers["share"] / 100
    return share / (1 - share)


def temperature(numbers: Numbers) -> float:
    """Return gap / ln((n − 1) w / (1 − w)): e^(gap / T) is the ratio of the best weight to one of the others."""
    return numbers["gap"] / math.log((numbers["n"] - 1) * odds(numbers))


PERSONAL = Personal(
    "4.5",
    draw_numbers,
    said,
    right=temperature,
    one_other_token=lambda numbers: numbers["gap"] / math.log(odds(numbers)) if odds(numbers) != 1 else math.inf,
    best_token_counted_too=lambda numbers: numbers["gap"] / math.log(numbers["n"] * odds(numbers)),
    inverse=lambda numbers: 1 / temperature(numbers),
    another_logarithm=lambda numbers: temperature(numbers) * math.log(2),
    decimal_logarithm=lambda numbers: temperature(numbers) * math.log(10),
    rest_forgotten=lambda numbers: (
        numbers["gap"] / math.log((numbers["n"] - 1) * numbers["share"] / 100)
        if (numbers["n"] - 1) * numbers["share"] != 100
        else math.inf
    ),
)


def my_temperature() -> tuple[str, float]:
    """Return a name, and the temperature for its numbers."""
    return SOMEBODY, temperature(PERSONAL.numbers_of(SOMEBODY))


QUESTION = PERSONAL.as_question(my_temperature, "temperature")
