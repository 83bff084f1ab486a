"""8.6: predict the lowest loss of a language of one's own."""

from __future__ import annotations

import math

from qkv.questions.engine import Draw
from qkv.questions.shared.personal import SOMEBODY, Numbers, Personal
from qkv.words import t


def draw_numbers(draw: Draw) -> Numbers:
    """Draw the numbers of one reader: shares of places in percent, and a number of words."""
    return {
        "certain": draw.whole(10, 40),
        "even": draw.whole(15, 45),
        "words": draw.whole(3, 40),
        "likelier": draw.whole(550, 950) / 10,
    }


def said(numbers: Numbers) -> str:
    """Return the numbers in words."""
    return t(
        "at {certain} % of the places the next word is certain, at {even} % there are {words} equally likely words, "
        "and at the others there are two words, one of which comes in {likelier} % of the cases there",
        **numbers,
    )


def shares(numbers: Numbers) -> tuple[float, float]:
    """Return the share of places with equally likely words, and of those with two words."""
    even = numbers["even"] / 100
    return even, 1 - numbers["certain"] / 100 - even


def of_two(numbers: Numbers) -> float:
    """Return the entropy of the two words, in nats."""
    p = numbers["likelier"] / 100
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


def loss(numbers: Numbers) -> float:
    """Return the mean entropy of the next word, in nats: ln k for k equally likely words, 0 for a certain one."""
    even, two = shares(numbers)
    return even * math.log(numbers["words"]) + two * of_two(numbers)


def with_two(of_two: float, numbers: Numbers) -> float:
    """Return the mean of the places, with another loss at the places with two words."""
    even, two = shares(numbers)
    return even * math.log(numbers["words"]) + two * of_two


def mean_probability(numbers: Numbers) -> float:
    """Return the mean probability of the likeliest word."""
    even, two = shares(numbers)
    return numbers["certain"] / 100 + even / numbers["words"] + two * numbers["likelier"] / 100


PERSONAL = Personal(
    "8.6",
    draw_numbers,
    said,
    right=loss,
    likelier_word_only=lambda numbers: with_two(-math.log(numbers["likelier"] / 100), numbers),
    two_words_taken_for_even=lambda numbers: with_two(math.log(2), numbers),
    two_words_forgotten=lambda numbers: with_two(0.0, numbers),
    one_of_the_even_words=lambda numbers: (
        loss(numbers) - shares(numbers)[0] * math.log(numbers["words"]) * (1 - 1 / numbers["words"])
    ),
    certain_places_counted=lambda numbers: (
        loss(numbers) + numbers["certain"] / 100 * of_two(numbers),
        loss(numbers) + numbers["certain"] / 100,
    ),
    other_word_forgotten=lambda numbers: with_two(
        -numbers["likelier"] / 100 * math.log(numbers["likelier"] / 100), numbers
    ),
    logarithm_of_the_mean=lambda numbers: -math.log(mean_probability(numbers)),
    minus_forgotten=lambda numbers: -loss(numbers),
    in_per_cent=lambda numbers: 100 * loss(numbers),
    certain_places_left_out=lambda numbers: loss(numbers) / (1 - numbers["certain"] / 100),
    places_not_weighed=lambda numbers: (math.log(numbers["words"]) + of_two(numbers)) / 3,
    another_logarithm=lambda numbers: loss(numbers) / math.log(2),
    decimal_logarithm=lambda numbers: loss(numbers) / math.log(10),
    perplexity=lambda numbers: math.exp(loss(numbers)),
)


def my_lowest_loss() -> tuple[str, float]:
    """Return a name, and the lowest loss for its numbers."""
    return SOMEBODY, loss(PERSONAL.numbers_of(SOMEBODY))


QUESTION = PERSONAL.as_question(my_lowest_loss, "loss")
