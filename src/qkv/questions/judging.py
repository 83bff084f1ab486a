"""Judge an answer from what was observed of it: right, or which wrong idea it has, or how it differs.

The trusted side: it runs the reference and the twins, never the answer.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from typing import Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from qkv.observing import Case, Observation, Raised, Step, observe, observe_once, results_of, undisturbed
from qkv.questions.base import BATCH, HEADS, Misconception, Question, Seen
from qkv.questions.comparing import (
    WRONG_RESULT,
    Difference,
    agree,
    differences,
    input_name,
    same_gradients,
    tried_with,
)
from qkv.questions.diagnosing import Pair, explain

Status = Literal["passed", "failed", "not attempted", "error"]

# What these differences are called where the question has no name of its own for them.
SLUGS = {
    "dtype": "wrong-dtype",
    "aliased": "earlier-results-change",
    "changed": "inputs-changed",
    "unstable": "not-the-same-twice",
    "gradient": "gradient-cut",
}

# What an exception gives away, by its type and its text: a name for the mistake, and the question that leads to it.
CAUSES = (
    ("NameError|UnboundLocalError", "", "name-without-a-value", "Where is that name given a value, before it is used?"),
    (
        "IndexError",
        "Dimension out of range|tuple index out of range|too many indices",
        "axis-that-is-not-there",
        "How many axes does that tensor have, and from which end are they counted?",
    ),
    (
        "RuntimeError",
        "Negation, the `-` operator, on a bool",
        "minus-for-not",
        "A mask has no sign. What turns True and False round?",
    ),
    (
        "AttributeError",
        r"^'(?!list'|tuple'|int'|float'|str'|Tensor'|NoneType')\w+' object has no attribute",
        "attribute-never-set",
        "Is it given a value in `__init__`, under that very name?",
    ),
    (
        "TypeError|AttributeError",
        "NoneType",
        "nothing-returned",
        "Something was None there: an argument left out, or what a function without a `return` gave. Which?",
    ),
)

IN_A_BATCH = " It fits one sequence. Which of its axes, as they are counted now, are others in a batch?"

# Seconds of processor time after which no more pairs of ideas are tried: a learner is waiting.
PATIENCE = 0.3

NO_WAY_BACK = ("NumPy array", "float", "int", "list")  # types that carry no gradient


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the judge says.

    Attributes:
        status: as in a report
        misconception: the slug of the wrong idea that was recognised
        message: what was seen and where to look
        tried: the inputs in which it was seen
        case, value, want: that case, and what the answer and the reference gave there; None where nothing is to be
            shown
    """

    status: Status
    message: str
    misconception: str | None = None
    tried: str = ""
    case: Case | None = None
    value: Any = None
    want: Any = None


def judge(question: Question, cases: Sequence[Case], observations: Sequence[Observation]) -> Verdict:
    """Judge an answer by what it did in these cases."""
    if _not_attempted(observations):
        return Verdict("not attempted", _not_attempted_text(observations[0]))
    with undisturbed():
        return _Judgement(question, cases, observations).verdict()


def _not_attempted(observations: Sequence[Observation]) -> bool:
    return all(_is_stub(seen) for seen in observations)


def _is_stub(seen: Observation) -> bool:
    """Say whether nothing came back, or NotImplementedError; torch raises that too, for dtypes it does not support."""
    if seen.raised is not None:
        torchs_own = "not implemented for" in seen.raised.text or "aten::" in seen.raised.text
        return "NotImplementedError" in seen.raised.types and not torchs_own
    return all(result is None or isinstance(result, dict) for result in seen.results)  # a dict tells of a `load`


def _not_attempted_text(seen: Observation) -> str:
    if seen.raised is not None:
        return "Not attempted yet: your answer raises NotImplementedError."
    return "Nothing came back: your answer returned None. If you have written it, does it end in a `return`?"


Ideas = tuple[Misconception, ...]


class Match(NamedTuple):
    """A twin gave what the answer gave.

    Attributes:
        shows: the first case that tells it from the reference
        closeness: CLOSEST where all that both raised was worded alike, 2 where the numbers in it differ, 1 where the
            words do, 0 where it did not raise all that the answer raised, and those cases were left out
    """

    shows: int
    closeness: int


CLOSEST = 3


class _Judgement:
    """One answer, its observations, and the reference's beside them."""

    def __init__(self, question: Question, cases: Sequence[Case], seen: Sequence[Observation]) -> None:
        self.question = question
        self.seen = seen
        self.cases = [_without(case, observation.absent) for case, observation in zip(cases, seen, strict=True)]
        self.want = [_of_the_reference(question, case) for case in self.cases]
        self.found = [
            list(differences(question, case, s, w)) for case, s, w in zip(self.cases, seen, self.want, strict=True)
        ]

    def verdict(self) -> Verdict:
        where = self.first()
        if where is None:
            return Verdict("passed", self.praise())
        i, difference = where
        raised = any(d.kind == "raised" for found in self.found for d in found)
        named = self.by_results() if difference.kind in WRONG_RESULT else self.by_effect(difference.kind)
        slug, message, i = named or (*self.unnamed(i, difference), i)
        case, results, right = self.cases[i], self.seen[i].results, self.want[i].results
        return Verdict(
            status="error" if raised else "failed",
            misconception=slug,
            message=message,
            tried=tried_with(self.question, case),
            case=case,
            value=results[-1] if results else None,
            want=right[len(results) - 1] if 0 < len(results) <= len(right) else None,
        )

    def praise(self) -> str:
        names = "; ".join(dict.fromkeys(case.name for case in self.cases))
        gradients = " Gradients reach every input." if self.question.gradients else ""
        return f"Right in all {len(self.cases)} cases: {names}.{gradients}"

    def first(self) -> tuple[int, Difference] | None:
        """Find what to talk about: a wrong result before a missing exception, before a side effect."""
        every = [(i, difference) for i, found in enumerate(self.found) for difference in found]
        for kinds in (WRONG_RESULT, ("silent",), ("dtype",)):
            for i, difference in every:
                if difference.kind in kinds:
                    return i, difference
        return every[0] if every else None

    # ── known wrong ideas ─────────────────────────────────────────────────────────────────────────

    def by_results(self) -> tuple[str, str, int] | None:
        """Look for the twin that gives the same results: one idea, then two at once."""
        known = self.question.misconceptions
        singles: list[Ideas] = [(idea,) for idea in known]
        joinable = [idea for idea in known if idea.knobs and not idea.alone]
        pairs = (pair for pair in combinations(joinable, 2) if not set(pair[0].knobs) & set(pair[1].knobs))
        found: dict[int, tuple[str, str, int]] = {}
        patient_until = math.inf
        for ideas in chain(singles, pairs):
            if len(ideas) == 2:
                patient_until = min(patient_until, time.process_time() + PATIENCE)
                if max(found, default=0) > 0 or time.process_time() > patient_until:
                    break
            match = self.match(ideas)
            if match and match.closeness not in found:
                message = self.say(ideas, match.shows) + (self.also_raised() if match.closeness == 0 else "")
                found[match.closeness] = ideas[0].slug, message, match.shows
            if match and match.closeness == CLOSEST:
                break
        return found[max(found)] if found else None

    @cached_property
    def ordinary(self) -> list[int]:
        return [i for i, case in enumerate(self.cases) if not case.raises]

    @cached_property
    def telling(self) -> list[int]:
        """The ordinary cases: where something returned first, and of those what is tried least often first."""
        turns = [max(step.times for step in case.script) for case in self.cases]
        return sorted(self.ordinary, key=lambda i: (self.seen[i].raised is not None, turns[i]))

    def match(self, ideas: Ideas) -> Match | None:
        """Compare the twin of these ideas with the answer: where it returned something first, then where it raised."""
        twin = self.question.twin(*ideas)
        shown: list[int] = []
        closeness = CLOSEST
        for i in self.telling:
            other = results_of(twin, self.cases[i])
            if not agree(self.question, self.cases[i], self.seen[i], other):
                is_right = agree(self.question, self.cases[i], self.want[i], other)
                if self.seen[i].raised is None or not shown or is_right:
                    return None
                closeness = 0
            elif self.is_shown(i, other):
                shown.append(i)
            closeness = min(closeness, _closeness(self.seen[i], other))
        if not shown or (closeness < CLOSEST and not any(map(self.tells, shown))):
            return None
        return Match(min(shown), closeness)

    def tells(self, i: int) -> bool:
        """Say whether what came of a case tells an idea: a result does, or an error that the question asks for.

        Any other exception does only where its text is the twin's, to the letter: many ideas raise alike.
        """
        raised = self.seen[i].raised
        return raised is None or bool(self.seen[i].lacking) or self.is_asked_for(raised)

    def is_asked_for(self, raised: Raised) -> bool:
        return any(case.raises == raised.type for case in self.cases)

    def is_shown(self, i: int, other: Observation) -> bool:
        """Say whether a case tells a twin from the reference; one that raises as the answer does is told by `tells`."""
        both_raise = self.seen[i].raised is not None and other.raised is not None
        return bool(other.lacking) or both_raise or not agree(self.question, self.cases[i], self.want[i], other)

    def say(self, ideas: Ideas, i: int) -> str:
        results = self.seen[i].results
        seen = Seen(self.cases[i], results[-1] if results else None)
        said = [_said(idea, seen) for idea in ideas]
        return said[0] if len(said) == 1 else f"Two things at once. {said[0]} And: {said[1]}"

    def also_raised(self) -> str:
        i, raised = next((i, s.raised) for i, s in enumerate(self.seen) if i in self.ordinary and s.raised)
        return f" It also raises {raised.type} for inputs of another kind ({self.cases[i].name}): {raised.text}"

    def by_effect(self, kind: str) -> tuple[str, str, int] | None:
        """Look for the twin whose results are right and that goes wrong in the same way beside them."""
        ours = [[d.place for d in found if d.kind == kind] for found in self.found]
        first = next(i for i, places in enumerate(ours) if places)
        for idea in self.question.misconceptions:
            twin = self.question.twin(idea)
            if not all(self.gives_right(twin, i) for i in self.ordinary):
                continue
            # The case that tells first, for most twins end there.
            others = zip([first], observe(twin, [self.cases[first]], self.question.gradients), strict=True)
            if not self.has_effects(kind, others, ours):
                continue
            if self.has_effects(kind, enumerate(observe(twin, self.cases, self.question.gradients)), ours):
                return idea.slug, self.say((idea,), first) + self.without_gradient(first), first
        return None

    def without_gradient(self, i: int) -> str:
        """Name the inputs that no gradient reaches, where it does not reach all that it should."""
        none = [d.place[0] for d in self.found[i] if d.kind == "gradient" and d.place[1:] == ("none",)]
        names = ", ".join(dict.fromkeys(input_name(self.question, self.cases[i], where) for where in none))
        return f" No gradient reaches {names}." if names else ""

    def has_effects(self, kind: str, others: Iterable[tuple[int, Observation]], ours: list[list[Any]]) -> bool:
        """Say whether a twin differs from the reference, in this kind of thing, where and as the answer does."""
        return all(self.has_effect(i, kind, other, ours[i]) for i, other in others)

    def has_effect(self, i: int, kind: str, other: Observation, ours: list[Any]) -> bool:
        found = differences(self.question, self.cases[i], other, self.want[i])
        if [d.place for d in found if d.kind == kind] != ours:
            return False
        return kind != "gradient" or not ours or same_gradients(self.seen[i], other)

    def gives_right(self, twin: Callable[..., Any], i: int) -> bool:
        return agree(self.question, self.cases[i], self.want[i], results_of(twin, self.cases[i]))

    # ── no known idea ─────────────────────────────────────────────────────────────────────────────

    def unnamed(self, i: int, difference: Difference) -> tuple[str | None, str]:
        """Describe a difference that no twin explains; some kinds have a name of their own."""
        if difference.kind in ("values", "dtype"):
            causes = [d for d in self.found[i] if d.kind in ("generator", "unstable", "shape")]
            difference = causes[0] if causes else difference
        if difference.kind == "values" and isinstance(difference.seen, Tensor) and not self.question.differs:
            slug, text = explain(difference.name, self.pairs(difference.name))
            return self.slug_of(difference) or slug, text
        slug, question = None, ""
        if difference.kind in ("raised", "shape") and self.only_batches():
            question = IN_A_BATCH
        elif difference.kind == "raised":
            slug, question = self.cause_of(i)
        elif difference.kind == "shape":
            slug, question = self.cause_of_a_shape(difference)
        return slug or self.slug_of(difference), difference.text + question + self.only_some(difference)

    def cause_of(self, i: int) -> tuple[str | None, str]:
        """Name what led to an exception, where its type and text tell."""
        raised = self.seen[i].raised
        for types, text, slug, question in CAUSES:
            if raised and re.fullmatch(types, raised.type) and re.search(text, raised.text):
                return slug, f" {question}"
        causes = [_cause_of_a_product(seen.text) for j in self.ordinary if (seen := self.seen[j].raised)]
        return _what_most_say(_cause_of_a_product(raised.text), causes) if raised else (None, "")

    def cause_of_a_shape(self, difference: Difference) -> tuple[str | None, str]:
        """Name what a wrong shape gives away."""
        shapes = [(d.seen.shape, d.want.shape) for found in self.found for d in found if d.kind == "shape"]
        causes = [_cause_of_a_shape(tuple(seen), tuple(want)) for seen, want in shapes]
        cause = _cause_of_a_shape(tuple(difference.seen.shape), tuple(difference.want.shape))
        return _what_most_say(cause, causes) if len(causes) > 1 else (None, "")

    def slug_of(self, difference: Difference) -> str | None:
        if difference.kind == "generator":
            return "generator-reseeded" if difference.place == "reseeded" else "generator-not-used"
        if difference.kind == "silent":
            return "no-error-raised" if difference.place == "returned" else "wrong-error-raised"
        place = difference.place
        while isinstance(place, tuple) and place:
            place = place[-1]
        if difference.kind == "gradient" and place == "nan":
            return "gradient-is-nan"
        if difference.kind == "type" and place == "NoneType":
            return "nothing-returned"
        if difference.kind == "type" and self.question.gradients and place in NO_WAY_BACK:
            return "gradient-cut"
        if difference.kind in WRONG_RESULT and self.only_batches():
            return "one-batch-shape"
        return SLUGS.get(difference.kind)

    def only_batches(self) -> bool:
        """Say whether it is right for inputs without leading axes, and wrong for all that have some."""
        right = {self.cases[i].name for i in self.ordinary if not self.is_wrong(i)}
        wrong = {self.cases[i].name for i in self.ordinary if self.is_wrong(i)}
        return "plain" in right and bool(wrong) and wrong <= {BATCH, HEADS}

    def is_wrong(self, i: int) -> bool:
        return any(d.kind in WRONG_RESULT for d in self.found[i])

    def only_some(self, difference: Difference) -> str:
        """Say for which inputs it is right, where the text does not say it yet."""
        if difference.kind not in WRONG_RESULT or difference.kind == "values":
            return ""
        right = dict.fromkeys(self.cases[i].name for i in self.ordinary if not self.is_wrong(i))
        wrong = dict.fromkeys(self.cases[i].name for i in self.ordinary if self.is_wrong(i))
        mixed = [name for name in right if name not in wrong]
        return f" Right for: {'; '.join(mixed)}. Wrong for: {'; '.join(wrong)}." if mixed else ""

    def pairs(self, name: str) -> list[Pair]:
        """Lay one output beside the right one, in every case and step where it came back with the right shape."""
        names = self.question.output_names
        j = names.index(name) if name in names else 0
        laid = []
        for i in self.ordinary:
            for seen, want in zip(self.seen[i].results, self.want[i].results, strict=False):
                s = (
                    seen[j]
                    if isinstance(want, (tuple, list)) and isinstance(seen, (tuple, list)) and j < len(seen)
                    else seen
                )
                w = want[j] if isinstance(want, (tuple, list)) else want
                if isinstance(s, Tensor) and isinstance(w, Tensor) and s.shape == w.shape and s.numel():
                    laid.append(Pair(self.cases[i], s, w))
        return laid


def _what_most_say(cause: tuple[str | None, str], causes: Sequence[tuple[str | None, str]]) -> tuple[str | None, str]:
    """The cause, where most cases have the same: sizes that are equal by chance in one case say nothing."""
    return cause if causes.count(cause) >= 0.7 * len(causes) else (None, "")


def _cause_of_a_product(text: str) -> tuple[str | None, str]:
    """Read from the shapes of two factors that do not fit whether they would the other way round, or transposed."""
    shapes = re.search(r"\((\d+)x(\d+) and (\d+)x(\d+)\)", text)
    rows, inner, _, columns = map(int, shapes.groups()) if shapes else (0, 1, 2, 3)
    if columns == rows:
        return "factors-in-the-wrong-order", " The other way round the two would fit. Which of them stands on the left?"
    if columns == inner:
        return "not-transposed", " One of the two stands on its side. Over which axis should the product sum?"
    return None, ""


Shape = tuple[int, ...]


def _cause_of_a_shape(seen: Shape, want: Shape) -> tuple[str | None, str]:
    """Read from a wrong shape whether axes were merged or left apart, mixed up, summed over, or are one off."""
    if len(seen) == len(want) and sorted(seen) == sorted(want):
        return "axes-in-another-order", ""  # the text says so
    if len(seen) < len(want) and _merges_to(want, seen):
        return "axes-merged", " Two axes have become one. Which step does that, and to which two?"
    if len(seen) > len(want) and _merges_to(seen, want):
        return "axes-not-merged", " One axis should be what two of yours are together. Which step joins them?"
    if len(seen) != len(want):
        return None, ""
    off = [(s, w) for s, w in zip(seen, want, strict=True) if s != w]
    if len(off) == 1 and off[0][0] == 1:
        return (
            "axis-summed-over",
            " One axis is left with a single entry. Was something summed along it, or was it never split?",
        )
    if all(abs(s - w) == 1 for s, w in off) and len({s - w for s, w in off}) == 1:
        return "off-by-one", " There is one too many, or too few. Where does the counting start, and where does it end?"
    return None, ""


def _merges_to(longer: Shape, shorter: Shape) -> bool:
    """Say whether joining one or more runs of neighbouring axes makes one shape of the other."""
    i = 0
    for size in shorter:
        product = 1
        while i < len(longer) and product < size:
            product *= longer[i]
            i += 1
        if product != size:
            return False
    return all(size == 1 for size in longer[i:]) and math.prod(longer) == math.prod(shorter) > 1


def _closeness(seen: Observation, other: Observation) -> int:
    """Say how much alike two exceptions are worded: as closely as can be, numbers aside, or not at all."""
    texts = [o.raised.text if o.raised else "" for o in (seen, other)]
    if texts[0] == texts[1]:
        return CLOSEST
    return 2 if len({re.sub(r"\d+", "", text) for text in texts}) == 1 else 1


def _said(idea: Misconception, seen: Seen) -> str:
    """Ask a misconception for its message; one that cannot be had must not make a check raise."""
    try:
        return idea.says if isinstance(idea.says, str) else idea.says(seen)
    except Exception:
        return f"This looks like: {idea.slug.replace('-', ' ')}."


# What the reference did in a case. A grader has the same cases for a whole class.
_known: WeakKeyDictionary[Case, Observation] = WeakKeyDictionary()


def _of_the_reference(question: Question, case: Case) -> Observation:
    if case not in _known:
        _known[case] = observe_once(question.reference, case, question.gradients)
    return _known[case]


def _without(case: Case, absent: tuple[str, ...]) -> Case:
    """Give the reference no more than the answer has: a bias that is absent there is zero here."""
    if not absent:
        return case
    return replace(case, steps=tuple(_zeroed(step, absent) for step in case.script))


def _zeroed(step: Step, absent: tuple[str, ...]) -> Step:
    if step.act != "load":
        return step
    return replace(step, kwargs={n: torch.zeros_like(v) if n in absent else v for n, v in step.kwargs.items()})
