"""Questions in which the learner writes a test: the implementations that it is tried on, and what it may get wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from qkv.questions.engine import Case, Draw, Hidden, Misconception, Seen, behind, call, mistake

Test = Callable[[Any], Any]


@dataclass(frozen=True)
class Implementation:
    """One that is right, or wrong in one way.

    Attributes:
        name: what it does, in words: the name of its cases, and of the idea of a test that is wrong about it
        make: makes it, of a seed
        wrong: whether it is
    """

    name: str
    make: Callable[[int], Any]
    wrong: bool

    @property
    def slug(self) -> str:
        words = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")
        return f"accepts-one-that-{words}" if self.wrong else "right-one-accused"


def listed(
    right: Mapping[str, Any], wrong: Mapping[str, Any], make: Callable[[Any, bool], Callable[[int], Any]]
) -> list[Implementation]:
    """List them by name. `make(one, wrong)` gives a function that builds that implementation from a seed."""
    kinds = ((right, False), (wrong, True))
    return [Implementation(name, make(one, bad), bad) for kind, bad in kinds for name, one in kind.items()]


def draw_implementations(
    draw: Draw, implementations: Sequence[Implementation], methods: tuple[str, ...] = ()
) -> list[Case]:
    """Draw each once and some again, in any order: how many are wrong cannot be known."""
    kinds = [[one for one in implementations if one.wrong == wrong] for wrong in (False, True)]
    again = [draw.choose(kind) for kind in kinds for _ in range(draw.whole(0, 4))]
    every = [*implementations, *again]
    order = torch.randperm(len(every), generator=draw.generator).tolist()
    return [
        Case(call(Hidden(one.make, (draw.whole(0, 2**31 - 2),), methods, one.name)), one.name)
        for one in (every[i] for i in order)
    ]


def known_of(implementations: Sequence[Implementation]) -> Test:
    """Give a test that is right about each: it looks up what it was handed, and does not call it."""
    truth = {one.name: one.wrong for one in implementations}
    return lambda handed: truth[behind(handed).name]


def ideas_of_tests(implementations: Sequence[Implementation]) -> tuple[Misconception, ...]:
    """Give the mistakes that a learner's test can have.

    A twin knows the name of the implementation that it was handed, and answers by that alone.
    """
    known = known_of(implementations)

    def wrong_about(name: str) -> Test:
        """A test that is wrong about this implementation alone."""
        return lambda handed: known(handed) != (behind(handed).name == name)

    def only_passing(name: str) -> Test:
        """A test whose own result is what this implementation gives."""
        return lambda handed: behind(handed).name != name

    right = [one for one in implementations if not one.wrong]
    wrong = [one for one in implementations if one.wrong]
    return (
        mistake("own-result-wrong", *(only_passing(one.name) for one in wrong), alone=True),
        *(mistake(one.slug, wrong_about(one.name)) for one in wrong),
        mistake("right-one-accused", *(wrong_about(one.name) for one in right)),
        mistake("always-true", lambda handed: True, alone=True),
        mistake("always-false", lambda handed: False, alone=True),
        mistake("right-and-wrong-swapped", lambda handed: not known(handed), alone=True),
    )


def which(seen: Seen) -> str:
    """Quote which implementation a test is wrong about."""
    return seen.case.name
