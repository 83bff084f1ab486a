"""What a message says of numbers is true: each sentence with numbers is computed again, from the inputs alone."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from qkv.questions import chapters, find, questions_of
from qkv.questions.engine.evidence import Evidence
from qkv.questions.engine.judging import judge
from qkv.questions.engine.precision import tolerance_of
from qkv.questions.engine.question import Question
from qkv.sandboxed.cases import Case
from qkv.sandboxed.observations import observe
from tests.questions.corpus.label import whole_corpus
from tests.questions.test_twins import drawn_once

EVERY = [question for chapter in chapters() for question in questions_of(chapter).values()]
NUMBER = r"(-?[\d.]+(?:e[-+]?\d+)?|-?inf|nan|True|False)"
TWINS_AT_ONCE, LABELLED_AT_ONCE = 3, 30


def tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors(item)


def written(text: str, number: float) -> bool:
    """Check whether a text is this number, in as many digits as the text has."""
    if text in ("True", "False"):
        return (text == "True") == bool(number)
    digits = len(text.split("e")[0].replace("-", "").replace(".", "").lstrip("0")) or 1
    return float(text) == float(f"{number:.{max(digits, 4)}g}") or (text == "nan" and number != number)


class Facts:
    """What an answer and the reference returned: the facts that a message may claim something about."""

    def __init__(self, evidence: Evidence) -> None:
        self.cases, self.seen, self.want = evidence.cases, evidence.seen, evidence.want

    def pairs(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield each tensor of the answer with the right one of the same shape."""
        for _, a, b in self.pairs_in_cases():
            yield a, b

    def pairs_in_cases(self) -> Iterator[tuple[Case, Tensor, Tensor]]:
        for case, seen, want in zip(self.cases, self.seen, self.want, strict=True):
            for one, other in zip(seen.results, want.results, strict=False):
                for a, b in zip(tensors(one), tensors(other), strict=False):
                    if a.shape == b.shape:
                        yield case, a, b

    def has_entry(self, at: str, seen: str, want: str) -> bool:
        index = tuple(int(i) for i in at.split(", ")) if at else ()
        return any(
            a.ndim == len(index)
            and all(i < n for i, n in zip(index, a.shape, strict=True))
            and written(seen, a[index].item())
            and written(want, b[index].item())
            for a, b in self.pairs()
        )

    def has_share(self, wrong: int, of: int, rows: str | None, kind: str | None) -> bool:
        """Check whether in some result exactly so many numbers are wrong, all of them in these rows or columns."""
        for case, a, b in self.pairs_in_cases():
            gap, bound = (a.double() - b.double()).abs(), tolerance_of(case, a, b) * (1 + b.double().abs())
            same = (a == b) | (a.isnan() & b.isnan()) if a.is_floating_point() else a == b
            off = ~(same | (gap <= bound))
            if a.numel() != of or int(off.sum()) != wrong:
                continue
            if rows is None:
                return True
            lines = off.reshape(-1, *a.shape[-2:]).any(0).any(1 if kind == "row" else 0)
            if {int(i) for i in lines.nonzero()} == {int(i) for i in rows.split(", ")}:
                return True
        return False

    def has_shapes(self, seen: str, want: str) -> bool:
        for one, other in zip(self.seen, self.want, strict=True):
            for a, b in zip(one.results, other.results, strict=False):
                if seen in {str(tuple(t.shape)) for t in tensors(a)} and want in {
                    str(tuple(t.shape)) for t in tensors(b)
                }:
                    return True
        return False


def claims_in(message: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the claims of a message, by kind."""
    for at, seen, want in re.findall(rf"\w\[([\d, ]+)\] is {NUMBER}; {NUMBER} was expected", message):
        yield "entry", (at, seen, want)
    pattern = r"(\d+) of (\d+) values of your .*? are not right\.(?: All of them are in (row|column) ([\d, ]*)\.)?"
    for wrong, of, kind, rows in re.findall(pattern, message):
        yield "share", (int(wrong), int(of), rows if kind else None, kind)
    for seen, want in re.findall(r"The shape of your [^.]*? is (\([\d, ]*\)); (\([\d, ]*\)) was expected", message):
        yield "shape", (seen, want)
    for name in re.findall(r"raises? ([A-Z]\w+(?:Error|Exception))|raised ([A-Z]\w+(?:Error|Exception))", message):
        yield "raised", (name[0] or name[1],)
    for right, wrong in re.findall(r"Right for: (.*?)\. Wrong for: (.*?)\.(?: |$)", message):
        yield "cases", (right.split("; "), wrong.split("; "))
    for factor in re.findall(rf"Your \w+ (?:is|are) {NUMBER} times what was|{NUMBER} at first", message):
        yield "number", (factor[0] or factor[1],)
    for text in re.findall(
        r"Every sign in your|transposed: the rows|in the reverse order|rounded to whole numbers", message
    ):
        yield "relation", (text,)


def is_true(kind: str, claim: tuple[Any, ...], facts: Facts, evidence: Evidence) -> bool:
    if kind == "entry":
        return facts.has_entry(*claim)
    if kind == "share":
        return claim[0] > 0 and facts.has_share(*claim)
    if kind == "shape":
        return facts.has_shapes(*claim)
    if kind == "raised":
        raised = {one.raised.type for one in facts.seen if one.raised}
        gradients = {one.gradient_raised.type for one in facts.seen if one.gradient_raised}
        return claim[0] in raised | gradients | {case.raises for case in facts.cases}
    if kind == "cases":
        right, wrong = claim
        return set(right) <= set(evidence.right_names) and set(wrong) <= set(evidence.wrong_names)
    if kind == "number":
        return any(relates(float(claim[0]), a.double(), b.double()) for a, b in facts.pairs())
    signs = [(a.double(), b.double()) for a, b in facts.pairs() if a.is_floating_point() and not torch.equal(a, b)]
    if claim[0].startswith("Every sign"):
        return any(torch.allclose(a, -b, rtol=1e-3, atol=1e-4) for a, b in signs)
    if claim[0].startswith("rounded"):
        return any(torch.equal(a, a.round()) for a, _ in signs)
    return any(
        torch.allclose(a.flatten().sort()[0].double(), b.flatten().sort()[0].double(), atol=1e-3)
        for a, b in facts.pairs()
    )


def relates(number: float, a: Tensor, b: Tensor) -> bool:
    """Check whether b times this number, or b plus this number, is a."""
    if a.numel() == 0 or not a.isfinite().all() or not b.isfinite().all():
        return False
    scale = 1e-3 * float(a.abs().max().clamp(min=1e-9))
    factor = torch.allclose(a, number * b, rtol=1e-3, atol=scale)
    offset = torch.allclose(a - b, torch.full_like(a, number), rtol=0.02, atol=1e-12)
    return factor or offset


def untrue(question: Question, answer: Any, name: str, counts: Counter[str]) -> list[str]:
    """List the claims about an answer that are not true, and count all of them."""
    cases = drawn_once(question)
    seen = observe(answer, cases, question.gradients)
    message = judge(question, cases, seen, patience=0.05).message
    if question.of_implementations or question.differs:
        return []
    evidence = Evidence(question, cases, seen)
    facts = Facts(evidence)
    wrong = []
    for kind, claim in claims_in(message):
        counts[kind] += 1
        if not is_true(kind, claim, facts, evidence):
            wrong.append(f"{name}: {kind} {claim} in: {message}")
    # The message of a mistake alone names no numbers; what is said where no twin fits is checked too.
    without_twins = judge(replace(question, misconceptions=()), cases, seen, patience=0.0).message
    for kind, claim in claims_in(without_twins):
        counts[kind] += 1
        if not is_true(kind, claim, facts, evidence):
            wrong.append(f"{name}, without its twin: {kind} {claim} in: {without_twins}")
    return wrong


@pytest.mark.parametrize("at_once", [TWINS_AT_ONCE, pytest.param(None, marks=pytest.mark.slow)])
def test_what_is_said_of_twins_is_true(at_once: int | None):
    counts: Counter[str] = Counter()
    wrong = []
    for question in EVERY[:: 1 if at_once is None else 4]:
        ideas = question.misconceptions
        some = ideas if at_once is None else random.Random(0).sample(ideas, min(at_once, len(ideas)))
        for idea in some:
            wrong += untrue(question, question.twin(idea), f"{question.id} {idea.slug}", counts)
    print(f"\n{counts.total()} claims about twins: {dict(counts)}")
    assert not wrong, wrong
    assert counts.total() > 10


@pytest.mark.parametrize("at_once", [LABELLED_AT_ONCE, pytest.param(None, marks=pytest.mark.slow)])
def test_what_is_said_of_the_corpus_is_true(at_once: int | None):
    counts: Counter[str] = Counter()
    wrong = []
    every = [labelled for labelled in whole_corpus() if not labelled.right]
    for labelled in every if at_once is None else random.Random(1).sample(every, at_once):
        wrong += untrue(find(labelled.question), labelled.answer, labelled.name, counts)
    print(f"\n{counts.total()} claims about the corpus: {dict(counts)}")
    assert not wrong, wrong
    assert counts.total() > 10
