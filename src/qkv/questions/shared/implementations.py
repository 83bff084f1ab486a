"""Questions in which the learner writes a test: the implementations under test, and the mistakes of such tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch

from qkv.questions.engine import Case, Draw, Hidden, Misconception, Seen, behind, call, mistake
from qkv.words import translated

Test = Callable[[Any], Any]


@dataclass(frozen=True)
class Implementation:
    """An implementation that the learner's test gets: a right one, or one with a single mistake.

    Attributes:
        name: what it does, in words: the name of its cases; the slug of a test that misjudges it comes from this name
        make: builds it from a seed
        wrong: whether it has the mistake
    """

    name: str
    make: Callable[[int], Any]
    wrong: bool

    @property
    def slug(self) -> str:
        words = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")
        return f"accepts-one-that-{words}" if self.wrong else "right-one-accused"


def list_implementations(
    right: Mapping[str, Any], wrong: Mapping[str, Any], make: Callable[[Any, bool], Callable[[int], Any]]
) -> list[Implementation]:
    """Return right and wrong implementations, given by their names.

    `make(one, wrong)` returns a function that builds `one` from a seed.
    """
    kinds = ((right, False), (wrong, True))
    return [Implementation(name, make(one, bad), bad) for kind, bad in kinds for name, one in kind.items()]


def draw_implementations(
    draw: Draw, implementations: Sequence[Implementation], methods: tuple[str, ...] = ()
) -> list[Case]:
    """Draw a case for each implementation, and up to four more of each kind, so that nobody knows how many are wrong.

    `methods` are the methods that the answer may call. Any number of wrong ones comes first: in a plain random order, a
    test that compares with the first is often right.
    """
    kinds = [[one for one in implementations if one.wrong == wrong] for wrong in (False, True)]
    apart = draw.apart("order")  # the results of an implementation say something about its seed, but not of the order
    again = [apart.choose(kind) for kind in kinds for _ in range(apart.whole(0, 4))]
    every = [*implementations, *again]
    order = torch.randperm(len(every), generator=apart.generator).tolist()
    wrong = [i for i in order if every[i].wrong]
    first = wrong[: apart.whole(0, len(wrong))]
    return [
        Case(call(Hidden(one.make, (draw.whole(0, 2**31 - 2),), methods, one.name)), one.name)
        for one in (every[i] for i in [*first, *(i for i in order if i not in first)])
    ]


def perfect_test(implementations: Sequence[Implementation]) -> Test:
    """Return a test that is right about every implementation: it looks up the name, and does not call anything."""
    truth = {one.name: one.wrong for one in implementations}
    return lambda subject: truth[behind(subject).name]


def mistakes_of_tests(implementations: Sequence[Implementation]) -> tuple[Misconception, ...]:
    """Return the misconceptions of a learner's test.

    It compares with a wrong result, misses a wrong implementation, accuses a right one, always says the same, or says
    the opposite. The twins look up the name of the implementation under test, and answer from the name alone.
    """
    perfect = perfect_test(implementations)

    def wrong_about(name: str) -> Test:
        """Return a test that misjudges the implementation of this name, and no other."""
        return lambda subject: perfect(subject) != (behind(subject).name == name)

    def only_passing(name: str) -> Test:
        """Return a test that compares with this implementation's result: it accepts this one and no other."""
        return lambda subject: behind(subject).name != name

    def turned_round(missed: Sequence[Implementation]) -> Test:
        """Return a test whose answers are turned round; the right way round, it would miss these wrong ones."""
        names = {one.name for one in missed}
        return lambda subject: behind(subject).name in names or not perfect(subject)

    right = [one for one in implementations if not one.wrong]
    wrong = [one for one in implementations if one.wrong]
    return (
        mistake("own-result-wrong", *(only_passing(one.name) for one in wrong), alone=True),
        *(mistake(one.slug, wrong_about(one.name)) for one in wrong),
        mistake("right-one-accused", *(wrong_about(one.name) for one in right)),
        mistake("always-true", lambda subject: True, alone=True),
        mistake("always-false", lambda subject: False, alone=True),
        mistake(
            "right-and-wrong-swapped",
            *(turned_round(missed) for n in range(3) if 2 * n < len(wrong) for missed in combinations(wrong, n)),
            alone=True,
        ),
    )


def implementation_name(seen: Seen) -> str:
    """Return the name of the implementation that a test misjudges."""
    return translated(seen.case.name)
