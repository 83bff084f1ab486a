"""One answer's observations in all cases, beside those of the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from qkv.observing import Case, Observation, Step, observe_once
from qkv.questions.engine.comparing import WRONG_RESULT, Difference, differences
from qkv.questions.engine.diagnosing import Pair
from qkv.questions.engine.draw import BATCH, TWO_AXES
from qkv.questions.engine.question import Question


class Evidence:
    """What an answer and the reference did.

    Attributes:
        question, cases: what was asked
        seen, want: the observations of the answer and of the reference, one a case
        found: the differences between the two, a list for each case
    """

    def __init__(self, question: Question, cases: Sequence[Case], seen: Sequence[Observation]) -> None:
        self.question = question
        self.seen = seen
        self.cases = [_without(case, observation.absent) for case, observation in zip(cases, seen, strict=True)]
        self.want: list[Observation] = []
        self.found: list[list[Difference]] = []
        for case, observation in zip(self.cases, seen, strict=True):
            are_right = not any(map(self.is_wrong, range(len(self.found))))  # else nobody asks for gradients
            self.want.append(_of_the_reference(question, case, question.gradients and are_right))
            self.found.append(list(differences(question, case, observation, self.want[-1])))

    @cached_property
    def ordinary(self) -> list[int]:
        """The cases in which no exception is asked for."""
        return [i for i, case in enumerate(self.cases) if not case.raises]

    @cached_property
    def wrong_names(self) -> dict[str, None]:
        return dict.fromkeys(self.cases[i].name for i in self.ordinary if self.is_wrong(i))

    @cached_property
    def right_names(self) -> dict[str, None]:
        return dict.fromkeys(self.cases[i].name for i in self.ordinary if not self.is_wrong(i))

    def is_wrong(self, i: int) -> bool:
        return any(d.kind in WRONG_RESULT for d in self.found[i])

    @property
    def only_batches(self) -> bool:
        """Whether it is right for inputs without axes in front, and wrong for all that have some."""
        return "plain" in self.right_names and bool(self.wrong_names) and self.wrong_names.keys() <= {BATCH, TWO_AXES}

    def first(self) -> tuple[int, Difference] | None:
        """Find what to talk about: a wrong result before a missing exception, before a side effect."""
        every = [(i, difference) for i, found in enumerate(self.found) for difference in found]
        for kinds in (WRONG_RESULT, ("silent",), ("dtype",)):
            for i, difference in every:
                if difference.kind in kinds:
                    return i, difference
        return every[0] if every else None

    def pairs(self, name: str) -> list[Pair]:
        """Put one output beside the right one, in every case and step where it came back with the right shape."""
        names = self.question.output_names
        j = names.index(name) if name in names else 0
        pairs = []
        for i in self.ordinary:
            for seen, want in zip(self.seen[i].results, self.want[i].results, strict=False):
                s, w = _member(seen, want, j), _member(want, want, j)
                if isinstance(s, Tensor) and isinstance(w, Tensor) and s.shape == w.shape and s.numel():
                    pairs.append(Pair(self.cases[i], s, w))
        return pairs


def _member(value: Any, want: Any, j: int) -> Any:
    """Take one output, where several are asked for and that many came back."""
    several = isinstance(want, (tuple, list)) and isinstance(value, (tuple, list)) and j < len(value)
    return value[j] if several else value


# What the reference did in a case, without gradients and with them. A grader has the same cases for a whole class.
_known: WeakKeyDictionary[Case, dict[bool, Observation]] = WeakKeyDictionary()


def _of_the_reference(question: Question, case: Case, gradients: bool) -> Observation:
    known = _known.setdefault(case, {})
    if gradients not in known:
        known[gradients] = observe_once(question.judged_by or question.reference, case, gradients)
    return known[gradients]


def _without(case: Case, absent: tuple[str, ...]) -> Case:
    """Give the reference no more than the answer has: a bias that is absent there is zero here."""
    if not absent:
        return case
    return replace(case, steps=tuple(_zeroed(step, absent) for step in case.script))


def _zeroed(step: Step, absent: tuple[str, ...]) -> Step:
    if step.act != "load":
        return step
    return replace(step, kwargs={n: torch.zeros_like(v) if n in absent else v for n, v in step.kwargs.items()})
