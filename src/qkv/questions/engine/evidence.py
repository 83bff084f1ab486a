"""The observations of an answer in all cases, with those of the reference and the differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from qkv.questions.engine.comparing import differences
from qkv.questions.engine.diagnosing import Pair
from qkv.questions.engine.difference import WRONG_RESULT, Difference
from qkv.questions.engine.draw import BATCH, TWO_AXES
from qkv.questions.engine.precision import with_bound
from qkv.questions.engine.question import Question
from qkv.sandboxed.cases import Case, Step
from qkv.sandboxed.observations import Observation, observe_once


class Evidence:
    """The observations of an answer and of the reference in all cases of a question.

    Making one runs the reference in each case. Gradients are compared only as long as all results are right.

    Attributes:
        question, cases: the question and its cases
        seen, want: the observations of the answer and of the reference, one for each case
        found: the differences between the two, one list for each case
    """

    def __init__(self, question: Question, cases: Sequence[Case], seen: Sequence[Observation]) -> None:
        self.question = question
        self.seen = seen
        self.cases: list[Case] = []
        self.want: list[Observation] = []
        self.found: list[list[Difference]] = []
        for given, observation in zip(cases, seen, strict=True):
            # Gradients are compared only as long as all results are right.
            are_right = not any(map(self.is_wrong, range(len(self.found))))
            case = _case_without(given, observation.absent)
            want = _reference_observation(question, case, question.gradients and are_right)
            self.cases.append(_bounded(question, case, want))
            self.want.append(want)
            self.found.append(list(differences(question, self.cases[-1], observation, want)))

    @cached_property
    def ordinary(self) -> list[int]:
        """The indices of the cases that do not require an exception."""
        return [i for i, case in enumerate(self.cases) if not case.raises]

    @cached_property
    def wrong_names(self) -> dict[str, None]:
        """The names of the cases in which the answer has a wrong result, in order."""
        return dict.fromkeys(self.cases[i].name for i in self.ordinary if self.is_wrong(i))

    @cached_property
    def right_names(self) -> dict[str, None]:
        """The names of the cases in which the answer has right results, in order; a name may be in both."""
        return dict.fromkeys(self.cases[i].name for i in self.ordinary if not self.is_wrong(i))

    def is_wrong(self, i: int) -> bool:
        """Check whether the answer has a wrong result in case i."""
        return any(d.kind in WRONG_RESULT for d in self.found[i])

    @property
    def fails_only_for_batches(self) -> bool:
        """Whether the answer is right for plain inputs, and wrong only for inputs with leading axes."""
        return "plain" in self.right_names and bool(self.wrong_names) and self.wrong_names.keys() <= {BATCH, TWO_AXES}

    def first_difference(self) -> tuple[int, Difference] | None:
        """Return the index of a case and the difference in it that the message is about; None if nothing differs.

        Inputs that change under repeated calls come first, because other differences follow from them. Then come wrong
        results, missing exceptions, dtypes, and at last side effects and gradients.
        """
        every = [(i, difference) for i, found in enumerate(self.found) for difference in found]
        for i, difference in every:
            if difference.kind == "changed" and any(step.times > 1 for step in self.cases[i].script):
                return i, difference
        for kinds in (WRONG_RESULT, ("silent",), ("dtype",)):
            for i, difference in every:
                if difference.kind in kinds:
                    return i, difference
        return every[0] if every else None

    def output_pairs(self, name: str) -> list[Pair]:
        """Return one output of the answer with the right one, for every case and step in which its shape is right.

        Cases that require an exception and empty outputs are left out. A name that is no output means the first one.
        """
        names = self.question.output_names
        j = names.index(name) if name in names else 0
        pairs = []
        for i in self.ordinary:
            for seen, want in zip(self.seen[i].results, self.want[i].results, strict=False):
                s, w = _output(seen, want, j), _output(want, want, j)
                if isinstance(s, Tensor) and isinstance(w, Tensor) and s.shape == w.shape and s.numel():
                    pairs.append(Pair(self.cases[i], s, w))
        return pairs


def _output(value: Any, want: Any, j: int) -> Any:
    """Return output j of a result; the result itself, if only one output is expected or there is no output j."""
    several = isinstance(want, (tuple, list)) and isinstance(value, (tuple, list)) and j < len(value)
    return value[j] if several else value


# The observations of the reference in each case, without and with gradients. A grader uses the same cases for all
# students.
_reference_cache: WeakKeyDictionary[Case, dict[bool, Observation]] = WeakKeyDictionary()


def _reference_observation(question: Question, case: Case, gradients: bool) -> Observation:
    """Return what the reference does in a case, with or without gradients. It is computed once and kept."""
    known = _reference_cache.setdefault(case, {})
    if gradients not in known:
        known[gradients] = observe_once(question.judge, case, gradients)
    return known[gradients]


def _bounded(question: Question, case: Case, want: Observation) -> Case:
    """Return the case with the tolerance that float32 needs there, if its results are float64.

    A case of a question with `differs`, or whose answer is a test, is returned as it is.
    """
    if question.differs or question.of_implementations:
        return case
    return with_bound(case, question.judge, want.results)


def _case_without(case: Case, absent: tuple[str, ...]) -> Case:
    """Return the case with zeros for the parameters that the answer does not have, such as a bias."""
    if not absent:
        return case
    return replace(case, steps=tuple(_zeroed(step, absent) for step in case.script))


def _zeroed(step: Step, absent: tuple[str, ...]) -> Step:
    if step.act != "load":
        return step
    return replace(step, kwargs={n: torch.zeros_like(v) if n in absent else v for n, v in step.kwargs.items()})
