"""Find the known wrong idea whose twin did what the answer did."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from itertools import chain, combinations
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from qkv.observing import Case, Observation, Raised, observe, results_of
from qkv.questions.engine.comparing import agree, differences, same_gradients
from qkv.questions.engine.evidence import Evidence
from qkv.questions.engine.question import Misconception, Seen
from qkv.questions.engine.wording import input_name

# Seconds of processor time after which no more pairs of ideas are tried: a learner is waiting.
PATIENCE = 0.3
# Many compute in float32 what they are given in float64: so closely has a wrong answer to equal a twin there.
SINGLE_PRECISION = 1e-4

Ideas = tuple[Misconception, ...]


class Named(NamedTuple):
    """A wrong idea that was recognised: its slug, what is said about it, and the case that shows it."""

    slug: str
    message: str
    case: int


class Match(NamedTuple):
    """A twin gave what the answer gave.

    Attributes:
        shows: the first case that distinguishes it from the reference
        closeness: CLOSEST where all that both raised was worded alike, 2 where the numbers in it differ, 1 where the
            words do, 0 where it did not raise all that the answer raised, and those cases were left out
    """

    shows: int
    closeness: int


CLOSEST = 3


class Matching:
    """Compares an answer with the twins of its question."""

    def __init__(self, evidence: Evidence, meanwhile: Callable[[], None]) -> None:
        self.evidence = evidence
        self.meanwhile = meanwhile
        self.question, self.cases = evidence.question, evidence.cases
        self.seen, self.want, self.found = evidence.seen, evidence.want, evidence.found

    # ── by what came back ─────────────────────────────────────────────────────────────────────────

    def by_results(self) -> Named | None:
        """Look for the twin that gives the same results: one idea, then two at once."""
        known = self.question.misconceptions
        singles: list[Ideas] = [(idea,) for idea in known]
        joinable = [idea for idea in known if idea.knobs and not idea.alone]
        pairs = (pair for pair in combinations(joinable, 2) if not set(pair[0].knobs) & set(pair[1].knobs))
        found: dict[int, Named] = {}
        patient_until = math.inf
        for ideas in chain(singles, pairs):
            if len(ideas) == 2:
                patient_until = min(patient_until, time.process_time() + PATIENCE)
                if max(found, default=0) > 0 or time.process_time() > patient_until:
                    break
            self.meanwhile()
            match = self.match(ideas)
            if match and match.closeness not in found:
                message = self.say(ideas, match.shows) + self.what_was_raised(match, ideas)
                found[match.closeness] = Named(ideas[0].slug, message, match.shows)
            if match and match.closeness == CLOSEST:
                break
        if not found and self.question.of_implementations:
            return self.by_one_case()
        return found[max(found)] if found else None

    def by_one_case(self) -> Named | None:
        """Look for an idea that explains what an answer says of one implementation: it is wrong about several.

        One that is wrong about all wrong ones, and about a right one, says True of right ones alone: then first for an
        idea about all of them that explains every mistake.
        """

        def explains(idea: Misconception, i: int) -> bool:
            other = results_of(self.question.twin(idea), self.cases[i])
            return agree(self.question, self.cases[i], self.seen[i], other)

        wrong = [i for i in self.evidence.ordinary if self.seen[i].raised is None and self.evidence.is_wrong(i)]
        about_all = [idea for idea in self.question.misconceptions if idea.alone]
        turned = set(wrong) > {i for i in self.evidence.ordinary if self.want[i].results[-1]}
        first = [idea for idea in about_all if turned and all(explains(idea, i) for i in wrong)]
        for idea in [*first, *(idea for idea in self.question.misconceptions if not idea.alone)]:
            for i in wrong:
                if explains(idea, i):
                    return Named(idea.slug, self.say((idea,), i), i)
        return None

    @cached_property
    def quickest_first(self) -> list[int]:
        """The ordinary cases, in the order in which most twins are ruled out early.

        Where something returned comes first, and of those what is tried least often.
        """
        turns = [max(step.times for step in case.script) for case in self.cases]
        return sorted(self.evidence.ordinary, key=lambda i: (self.seen[i].raised is not None, turns[i]))

    def match(self, ideas: Ideas) -> Match | None:
        """Compare the twin of these ideas with the answer: where it returned something first, then where it raised."""
        twin = self.question.twin(*ideas)
        shown: list[int] = []
        closeness = CLOSEST
        for i in self.quickest_first:
            other = _of_a_twin(twin, ideas, self.cases[i])
            if not self.is_same(i, other):
                is_right = agree(self.question, self.cases[i], self.want[i], other)
                if self.seen[i].raised is None or not shown or is_right:
                    return None
                closeness = 0
            elif self.is_shown(i, other):
                shown.append(i)
            closeness = min(closeness, _closeness(self.seen[i], other))
        telling = any(map(self.is_specific, shown)) or all(idea.in_any_words for idea in ideas)
        if not shown or (closeness < CLOSEST and not telling):
            return None
        return Match(min(shown), closeness)

    def is_same(self, i: int, other: Observation) -> bool:
        """Say whether the answer gave what a twin gave: in single precision where it is clearly wrong."""
        case = self.cases[i]
        if agree(self.question, case, self.seen[i], other):
            return True
        coarse = replace(case, tolerance=max(case.tolerance or 0.0, SINGLE_PRECISION))
        return agree(self.question, coarse, self.seen[i], other) and not agree(
            self.question, coarse, self.seen[i], self.want[i]
        )

    def is_specific(self, i: int) -> bool:
        """Say whether what was seen in a case can belong to one idea alone.

        A result can, and so can an exception that the question asks for. Many ideas raise any other exception, so it
        counts only where its text equals the twin's (`CLOSEST`).
        """
        raised = self.seen[i].raised
        return raised is None or bool(self.seen[i].lacking) or self.is_asked_for(raised)

    def is_asked_for(self, raised: Raised) -> bool:
        return any(case.raises == raised.type for case in self.cases)

    def is_shown(self, i: int, other: Observation) -> bool:
        """Say whether a case distinguishes a twin from the reference.

        Where the twin raises as the answer does, `is_specific` decides.
        """
        both_raise = self.seen[i].raised is not None and other.raised is not None
        return bool(other.lacking) or both_raise or not agree(self.question, self.cases[i], self.want[i], other)

    # ── by what it did besides ────────────────────────────────────────────────────────────────────

    def by_effect(self, kind: str) -> Named | None:
        """Look for the twin whose results are right and that goes wrong in the same way beside them."""
        ours = [[d.place for d in found if d.kind == kind] for found in self.found]
        first = next(i for i, places in enumerate(ours) if places)
        for idea in self.question.misconceptions:
            self.meanwhile()
            twin = self.question.twin(idea)
            if not all(self.gives_right(twin, i) for i in self.evidence.ordinary):
                continue
            # This case first: most twins differ from the answer there, and are done.
            others = zip([first], observe(twin, [self.cases[first]], self.question.gradients), strict=True)
            if not self.has_effects(kind, others, ours):
                continue
            if self.has_effects(kind, enumerate(observe(twin, self.cases, self.question.gradients)), ours):
                return Named(idea.slug, self.say((idea,), first) + self.without_gradient(first), first)
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

    # ── in words ──────────────────────────────────────────────────────────────────────────────────

    def say(self, ideas: Ideas, i: int) -> str:
        results = self.seen[i].results
        seen = Seen(self.cases[i], results[-1] if results else None)
        said = [self.question.say(idea, seen) for idea in ideas]
        return said[0] if len(said) == 1 else f"Two things at once. {said[0]} And: {said[1]}"

    def what_was_raised(self, match: Match, ideas: Ideas) -> str:
        """Say what was raised in the case that is shown, or elsewhere; in its own words where the twin did not raise.

        Elsewhere those words add nothing to the idea, and the page's torch may word them otherwise.
        An idea that is named whatever the exception says tells by itself that there is one.
        """
        raising = [i for i in self.evidence.ordinary if self.seen[i].raised]
        if not raising or all(idea.in_any_words for idea in ideas):
            return ""
        i = match.shows if match.shows in raising else raising[0]
        raised = self.seen[i].raised
        assert raised is not None
        said = f": {raised.text.rstrip('.')}" if raised.text and match.closeness == 0 else ""
        elsewhere = "" if i == match.shows else f" for inputs of another kind ({self.cases[i].name})"
        return f" It {'also ' if elsewhere else ''}raises {raised.type}{elsewhere}{said}."


# What the twin of each idea gave in a case. A grader has the same cases for a whole class.
_known: WeakKeyDictionary[Case, dict[Misconception, Observation]] = WeakKeyDictionary()


def _of_a_twin(twin: Callable[..., Any], ideas: Ideas, case: Case) -> Observation:
    """Run the twin of these ideas; what one of a single idea gave is kept. There are too many pairs for that."""
    if len(ideas) > 1:
        return results_of(twin, case)
    known, idea = _known.setdefault(case, {}), ideas[0]
    if idea not in known:
        known[idea] = results_of(twin, case)
    return known[idea]


def _closeness(seen: Observation, other: Observation) -> int:
    """Say how much alike two exceptions are worded: as closely as can be, numbers aside, or not at all."""
    texts = [o.raised.text if o.raised else "" for o in (seen, other)]
    if texts[0] == texts[1]:
        return CLOSEST
    return 2 if len({re.sub(r"\d+", "", text) for text in texts}) == 1 else 1
