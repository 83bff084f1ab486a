"""Find the wrong idea whose twin behaves like the answer."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import IntEnum
from functools import cached_property
from itertools import chain, combinations
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from qkv.questions.engine.comparing import agree, differences
from qkv.questions.engine.evidence import Evidence
from qkv.questions.engine.gradients import same_gradients
from qkv.questions.engine.question import Misconception, Seen
from qkv.questions.engine.wording import input_name, quoted
from qkv.sandboxed.cases import Case
from qkv.sandboxed.observations import Observation, observe, results_of
from qkv.sandboxed.recording import Raised
from qkv.words import sentences, t, translated

# Seconds of processor time for trying pairs of ideas, because a learner waits for the verdict.
PATIENCE = 0.3
# The tolerance between a wrong answer and a twin: many answers compute in float32 although the inputs are float64.
SINGLE_PRECISION = 1e-4

Ideas = tuple[Misconception, ...]


class FoundIdea(NamedTuple):
    """A recognised wrong idea: its slug, its message, and the index of a case that shows it."""

    slug: str
    message: str
    case: int


class Closeness(IntEnum):
    """How far the exceptions of an answer and of a twin agree, from worst to best."""

    ONLY_THE_ANSWER_RAISES = 0  # the twin gave other wrong results there; those cases were left out
    OTHER_WORDS = 1
    OTHER_NUMBERS = 2
    SAME_TEXT = 3  # also where neither raises


class Match(NamedTuple):
    """The result of comparing an answer with a twin that behaves like it.

    Attributes:
        case: the index of the first case that distinguishes the twin from the reference
        closeness: the worst closeness in any case
    """

    case: int
    closeness: Closeness


class Matching:
    """A comparison of one answer with the twins of its question.

    Pairs of ideas are tried for `patience` seconds of processor time. The callback `on_progress` is called before each
    idea is tried.
    """

    def __init__(self, evidence: Evidence, patience: float, on_progress: Callable[[], object]) -> None:
        self.evidence = evidence
        self.patience = patience
        self.on_progress = on_progress
        self.question, self.cases = evidence.question, evidence.cases
        self.seen, self.want, self.found = evidence.seen, evidence.want, evidence.found

    # ── by results ────────────────────────────────────────────────────────────────────────────────

    def find_by_results(self) -> FoundIdea | None:
        """Find the idea, or else the pair of ideas, whose twin has the same results as the answer; or return None.

        Of several, the one whose exceptions agree most closely in their texts is returned. For a learner's test, single
        cases are then compared too.
        """
        known = self.question.misconceptions
        singles: list[Ideas] = [(idea,) for idea in known]
        joinable = [idea for idea in known if idea.knobs and not idea.alone]
        pairs = (pair for pair in combinations(joinable, 2) if not set(pair[0].knobs) & set(pair[1].knobs))
        found: dict[Closeness, FoundIdea] = {}  # the first idea of each closeness
        deadline = math.inf
        for ideas in chain(singles, pairs):
            if len(ideas) == 2:
                deadline = min(deadline, time.process_time() + self.patience)
                if found or time.process_time() > deadline:  # one idea that explains all results needs no second
                    break
            self.on_progress()
            match = self.match(ideas)
            if match and len(ideas) == 2 and match.closeness == Closeness.ONLY_THE_ANSWER_RAISES:
                continue  # two mistakes and a third thing that raises would be guessing
            if match and match.closeness not in found:
                message = sentences(self.message_for(ideas, match.case), self.exception_text(match, ideas))
                found[match.closeness] = FoundIdea(ideas[0].slug, message, match.case)
            if match and match.closeness == Closeness.SAME_TEXT:
                break
        if not found and self.question.of_implementations:
            return self.find_by_one_case()
        return found[max(found)] if found else None

    def find_by_one_case(self) -> FoundIdea | None:
        """Find an idea that explains one mistake of a learner's test that is wrong about several implementations.

        None if no idea does. A test that is wrong about every wrong implementation, and about a right one, returns True
        for right ones only. A test that is wrong about every right one, and about half of the wrong ones or more, may
        have its answers turned round, and be blind to the others. In both cases, ideas that concern all implementations
        are tried first, and must explain every mistake.
        """

        def explains(idea: Misconception, i: int) -> bool:
            other = results_of(self.question.twin(idea), self.cases[i])
            return agree(self.question, self.cases[i], self.seen[i], other)

        wrong = [i for i in self.evidence.ordinary if self.seen[i].raised is None and self.evidence.is_wrong(i)]
        about_all = [idea for idea in self.question.misconceptions if idea.alone]
        wrong_ones = {i for i in self.evidence.ordinary if self.want[i].results[-1]}
        right_ones = set(self.evidence.ordinary) - wrong_ones
        missed = wrong_ones & set(wrong)
        turned = right_ones <= set(wrong) and len(missed) >= len(wrong_ones) / 2
        every = turned or set(wrong) > wrong_ones
        first = [idea for idea in about_all if every and all(explains(idea, i) for i in wrong)]
        for idea in [*first, *(idea for idea in self.question.misconceptions if not idea.alone)]:
            for i in wrong:
                if explains(idea, i):
                    return FoundIdea(idea.slug, self.message_for((idea,), i), i)
        return None

    @cached_property
    def quickest_first(self) -> list[int]:
        """The indices of the ordinary cases, in an order that rules out most twins early.

        Cases in which the answer returned come before those in which it raised; fewer repeated calls come first.
        """
        turns = [max(step.times for step in case.script) for case in self.cases]
        return sorted(self.evidence.ordinary, key=lambda i: (self.seen[i].raised is not None, turns[i]))

    def match(self, ideas: Ideas) -> Match | None:
        """Compare the answer with the twin of these ideas in all ordinary cases, and return a case that shows them.

        None if they differ, or if no case tells the twin from the reference. The match also says how far the texts of
        exceptions agree. If the answer raises where the twin is wrong in another way, they may still match.
        """
        twin = self.question.twin(*ideas)
        shown: list[int] = []
        closeness = Closeness.SAME_TEXT
        for i in self.quickest_first:
            other = self.twin_observation(twin, ideas, i)
            if not self.is_same(i, other):
                if (
                    self.seen[i].raised is None
                    or not shown
                    or agree(self.question, self.cases[i], self.want[i], other)  # the twin is right here
                ):
                    return None
                closeness = Closeness.ONLY_THE_ANSWER_RAISES
            elif self.distinguishes(i, other):
                shown.append(i)
            closeness = min(closeness, _closeness(self.seen[i], other))
        telling = any(map(self.is_specific, shown)) or all(idea.in_any_words for idea in ideas)
        if not shown or (closeness < Closeness.SAME_TEXT and not telling):
            return None
        return Match(min(shown), closeness)

    def twin_observation(self, twin: Callable[..., Any], ideas: Ideas, i: int) -> Observation:
        """Return the observation of the twin of these ideas in case i.

        It is cached for single ideas; there are too many pairs. If what the twin does depends on earlier cases, it is
        run on all cases in order, as the answer was.
        """
        if len(ideas) > 1:
            return results_of(twin, self.cases[i])
        idea = ideas[0]
        for case in self.cases if idea.remembers else [self.cases[i]]:
            known = _twin_cache.setdefault(case, {})
            if idea not in known:
                known[idea] = results_of(twin, case)
        return _twin_cache[self.cases[i]][idea]

    def is_same(self, i: int, other: Observation) -> bool:
        """Check whether the answer's results in case i equal `other`, which is what a twin gave there.

        A difference as small as float32 rounding is accepted if the answer is further than that from the reference.
        """
        case = self.cases[i]
        if agree(self.question, case, self.seen[i], other):
            return True
        coarse = replace(case, tolerance=max(case.tolerance or 0.0, SINGLE_PRECISION))
        return agree(self.question, coarse, self.seen[i], other) and not agree(
            self.question, coarse, self.seen[i], self.want[i]
        )

    def is_specific(self, i: int) -> bool:
        """Check whether the answer's behaviour in case i is specific to one idea.

        A result is specific, and so is a type of exception that the question requires. Any other exception may come
        from many ideas, so it counts only if its text equals the twin's (`Closeness.SAME_TEXT`).
        """
        raised = self.seen[i].raised
        return raised is None or bool(self.seen[i].lacking) or self.is_required(raised)

    def is_required(self, raised: Raised) -> bool:
        """Check whether a case of the question requires an exception of this type."""
        return any(case.raises == raised.type for case in self.cases)

    def distinguishes(self, i: int, other: Observation) -> bool:
        """Check whether case i distinguishes a twin, whose observation is `other`, from the reference.

        It does if they do not agree, if the twin lacks parameters, or if both the twin and the answer raise;
        `is_specific` then decides whether the exception counts.
        """
        both_raise = self.seen[i].raised is not None and other.raised is not None
        return bool(other.lacking) or both_raise or not agree(self.question, self.cases[i], self.want[i], other)

    # ── by side effects and gradients ─────────────────────────────────────────────────────────────

    def find_by_effect(self, kind: str) -> FoundIdea | None:
        """Find the first idea whose twin has right results, and the same differences of this kind as the answer.

        `kind` is that of a side effect, such as "changed" or "gradient", which the answer has in some case. None if
        there is no such idea.
        """
        ours = [[d.place for d in found if d.kind == kind] for found in self.found]
        first = next(i for i, places in enumerate(ours) if places)
        for idea in self.question.misconceptions:
            self.on_progress()
            twin = self.question.twin(idea)
            if not all(self.is_right(twin, i) for i in self.evidence.ordinary):
                continue
            # One case first: it rules out most twins.
            others = zip([first], observe(twin, [self.cases[first]], self.question.gradients), strict=True)
            if not self.have_same_effects(kind, others, ours):
                continue
            if self.have_same_effects(kind, enumerate(observe(twin, self.cases, self.question.gradients)), ours):
                message = sentences(self.message_for((idea,), first), self.missing_gradients_text(first))
                return FoundIdea(idea.slug, message, first)
        return None

    def missing_gradients_text(self, i: int) -> str:
        """Return a sentence with the inputs that no gradient reaches in case i, or an empty string."""
        none = [d.place[0] for d in self.found[i] if d.kind == "gradient" and d.place[1:] == ("none",)]
        names = t(", ").join(dict.fromkeys(input_name(self.question, self.cases[i], where) for where in none))
        return t("No gradient reaches {names}.", names=names) if names else ""

    def have_same_effects(self, kind: str, others: Iterable[tuple[int, Observation]], ours: list[list[Any]]) -> bool:
        """Check whether a twin and the answer have the same differences of this kind from the reference.

        `others` has the twin's observations with the indices of their cases, `ours` the places of the answer's
        differences in every case.
        """
        return all(self.has_same_effect(i, kind, other, ours[i]) for i, other in others)

    def has_same_effect(self, i: int, kind: str, other: Observation, ours: list[Any]) -> bool:
        """Return whether another observation of case i shows the differences `ours`, of this kind, too."""
        found = differences(self.question, self.cases[i], other, self.want[i])
        if [d.place for d in found if d.kind == kind] != ours:
            return False
        return kind != "gradient" or not ours or same_gradients(self.seen[i], other)

    def is_right(self, twin: Callable[..., Any], i: int) -> bool:
        """Check whether a twin has right results in case i."""
        return agree(self.question, self.cases[i], self.want[i], results_of(twin, self.cases[i]))

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    def message_for(self, ideas: Ideas, i: int) -> str:
        """Return the message of one idea for case i, or of two ideas as two mistakes at once."""
        results = self.seen[i].results
        seen = Seen(self.cases[i], results[-1] if results else None)
        said = [self.question.message_for(idea, seen) for idea in ideas]
        if len(said) == 1:
            return said[0]
        return t("Two mistakes at once. {first} And: {second}", first=said[0], second=said[1])

    def exception_text(self, match: Match, ideas: Ideas) -> str:
        """Return a sentence about the exception that the answer raised, in the matched case or in another; else "".

        The text of the exception is quoted only if the twin did not raise it. If the twin did, the text adds nothing to
        the idea's message, and the torch of the web page may have another text. The message of an idea that is
        recognised `in_any_words` mentions the exception itself, so this returns "".
        """
        raising = [i for i in self.evidence.ordinary if self.seen[i].raised]
        if not raising or all(idea.in_any_words for idea in ideas):
            return ""
        i = match.case if match.case in raising else raising[0]
        raised = self.seen[i].raised
        assert raised is not None
        quotes = raised.text and match.closeness == Closeness.ONLY_THE_ANSWER_RAISES
        error = quoted(raised.type, raised.text if quotes else "")
        if i == match.case:
            return t("It raises {error}.", error=error)
        kind = translated(self.cases[i].name)
        if quotes:
            text = raised.text.rstrip(".")
            return t(
                "It also raises {type} for inputs of another kind ({kind}): {text}.",
                type=raised.type,
                kind=kind,
                text=text,
            )
        return t("It also raises {type} for inputs of another kind ({kind}).", type=raised.type, kind=kind)


# The observations of each idea's twin in each case. A grader uses the same cases for all students.
_twin_cache: WeakKeyDictionary[Case, dict[Misconception, Observation]] = WeakKeyDictionary()


def _closeness(seen: Observation, other: Observation) -> Closeness:
    """Return whether the texts of two observations' exceptions are equal, equal but for their numbers, or different."""
    texts = [o.raised.text if o.raised else "" for o in (seen, other)]
    if texts[0] == texts[1]:
        return Closeness.SAME_TEXT
    same_words = len({re.sub(r"\d+", "", text) for text in texts}) == 1
    return Closeness.OTHER_NUMBERS if same_words else Closeness.OTHER_WORDS
