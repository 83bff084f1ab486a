"""Judge an answer by its observations: whether it is right, which wrong idea it has, or else how it differs.

This module runs trusted code only: the reference and the twins, never the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from qkv.questions.engine.causes import describe_difference
from qkv.questions.engine.difference import WRONG_RESULT, Difference
from qkv.questions.engine.evidence import Evidence
from qkv.questions.engine.matching import PATIENCE, FoundIdea, Matching
from qkv.questions.engine.precision import has_fewer_digits
from qkv.questions.engine.question import Question
from qkv.questions.engine.wording import describe, tried_with
from qkv.sandboxed.answers import Unfit
from qkv.sandboxed.cases import Case
from qkv.sandboxed.isolation import undisturbed
from qkv.sandboxed.observations import Observation
from qkv.words import mark, sentences, t, translated

NO_FAULT = "none"  # what a diagnosis returns for a right implementation
TOO_LONG = mark("Is there a loop that does not end, or a step that takes too long?")

Status = Literal["passed", "failed", "not attempted", "error"]


@dataclass(frozen=True, eq=False)
class Verdict:
    """The result of judging one answer.

    Attributes:
        status: the status that the report shows
        misconception: the slug of the recognised wrong idea, if there is one
        message: what was seen and where to look
        tried: a description of the inputs that the message is about
        case, value, want: the case that the message is about, with the last result of the answer and the result of
            the reference in the same step; None if there is nothing to show
    """

    status: Status
    message: str
    misconception: str | None = None
    tried: str = ""
    case: Case | None = None
    value: Any = None
    want: Any = None


VerdictSoFar = Callable[[], Verdict]  # returns the verdict as it is if the search for an idea stops here


def judge(
    question: Question,
    cases: Sequence[Case],
    observations: Sequence[Observation],
    patience: float = PATIENCE,
    on_progress: Callable[[VerdictSoFar], object] = lambda _: None,
) -> Verdict:
    """Judge an answer by its observations in these cases: not attempted, passed, failed or error, with a message.

    The search for the wrong idea may take long: pairs of ideas are tried for `patience` seconds of processor time, and
    the callback `on_progress` is called before each idea. Its argument is a function that returns the verdict without a
    recognised idea.
    """
    if all(map(_is_stub, observations)):
        return Verdict("not attempted", _not_attempted_text(observations[0]))
    if numbers := _numbers_asked_for(question, observations[0]):
        return Verdict("not attempted", sentences(numbers, t("Now return your result in the place of 0.")))
    with undisturbed():
        return _verdict(Evidence(question, cases, observations), patience, on_progress)


def verdict_on_unfit(why: Unfit, wants_class: bool) -> Verdict:
    """Return the verdict on an answer that cannot be run: it is missing, no function or class, or uses the solution.

    A missing one is "not attempted", any other "failed".
    """
    if why.kind == "missing":
        return Verdict("not attempted", t("There is no answer to check yet."))
    if why.kind == "object" and wants_class:
        text = t(
            "`check` wants the class itself, and was given {value}. Was it called? Write its name without brackets.",
            value=describe(why.seen),
        )
    elif why.kind == "object":
        text = t(
            "`check` wants the function itself, and was given {value}. Was it called? Write its name without brackets.",
            value=describe(why.seen),
        )
    else:
        text = t(
            "Your answer uses `{name}`, which holds the solution. Which lines of your own could stand there?",
            name=why.seen,
        )
    return Verdict("failed", text)


def verdict_on_stopped(seconds: float) -> Verdict:
    """Return the verdict on an answer that was stopped after this many seconds."""
    stopped = t("It took more than {seconds} seconds and was stopped.", seconds=f"{seconds:g}")
    return Verdict("error", sentences(stopped, translated(TOO_LONG)))


def _is_stub(seen: Observation) -> bool:
    """Check whether an answer is not written yet: it returns None in every call, or raises NotImplementedError.

    torch raises NotImplementedError too, for dtypes that it does not support; then the answer is no stub.
    """
    if seen.raised is not None:
        torchs_own = "not implemented for" in seen.raised.text or "aten::" in seen.raised.text
        return "NotImplementedError" in seen.raised.types and not torchs_own
    # The result of a `load` step is a dict.
    return all(result is None or isinstance(result, dict) for result in seen.results)


def _numbers_asked_for(question: Question, seen: Observation) -> str:
    """Return a sentence with the reader's own numbers if an answer returned a name with 0, which asks for them.

    Else it is empty, as for questions without such numbers.
    """
    result = seen.results[-1] if seen.results else None
    if question.personal is None or not isinstance(result, (tuple, list)) or len(result) != 2:
        return ""
    who, value = result
    return question.personal(who) if isinstance(who, str) and type(value) in (int, float) and value == 0 else ""


def _not_attempted_text(seen: Observation) -> str:
    """Say that nothing was attempted: NotImplementedError was raised, or None returned."""
    if seen.raised is not None:
        line = seen.raised.line
        if line and not line.startswith("raise "):
            return t(
                "Not attempted yet: your answer raises NotImplementedError. If you have written it, it calls another "
                "one that is still to be written: see the line `{line}`.",
                line=line,
            )
        return t(
            "Your answer is still empty: it raises NotImplementedError. If you have written it, it calls another one "
            "that is still to be written."
        )
    return t("Nothing came back: your answer returned None. If you have written it, does it end in a `return`?")


def _verdict(evidence: Evidence, patience: float, on_progress: Callable[[VerdictSoFar], object]) -> Verdict:
    """Return the verdict: passed if nothing differs, else about the wrong idea that explains the difference.

    If no such idea is found, it is about the difference. `patience` and `on_progress` are as for `judge`.
    """
    first = evidence.first_difference()
    if first is None:
        return Verdict("passed", _passed_message(evidence))
    kind = first[1].kind
    matching = Matching(evidence, patience, partial(on_progress, partial(_wrong_verdict, evidence, first, None)))
    found = matching.find_by_results() if kind in WRONG_RESULT else matching.find_by_effect(kind)
    return _wrong_verdict(evidence, first, found)


def _wrong_verdict(evidence: Evidence, first: tuple[int, Difference], found: FoundIdea | None) -> Verdict:
    """Return the verdict on a wrong answer: its message is about the idea that was found, or the first difference.

    The status is "error" if the answer raised in any case, else "failed".
    """
    i, difference = first
    slug, message, i = found or (*describe_difference(evidence, i, difference), i)
    raised = any(d.kind == "raised" for found in evidence.found for d in found)
    results, right = evidence.seen[i].results, evidence.want[i].results
    return Verdict(
        status="error" if raised else "failed",
        misconception=slug,
        message=message,
        tried=tried_with(evidence.question, evidence.cases[i]),
        case=evidence.cases[i],
        value=results[-1] if results else None,
        want=right[len(results) - 1] if 0 < len(results) <= len(right) else None,
    )


def _passed_message(evidence: Evidence) -> str:
    """Return the message on a right answer: its cases or, if it is a test, the number of implementations."""
    if evidence.question.of_implementations:
        wrong = sum(want.results[-1] not in (False, NO_FAULT) for want in evidence.want)
        return t(
            "Right about all {n} implementations: {wrong} that are wrong and {right} that are right.",
            n=len(evidence.cases),
            wrong=wrong,
            right=len(evidence.cases) - wrong,
        )
    gradients = t("Gradients reach every input.") if evidence.question.gradients else ""
    coarse = float32_remark() if any(map(has_fewer_digits, evidence.seen, evidence.want)) else ""
    if len(evidence.cases) == 1:
        return sentences(t("Right."), gradients, coarse)
    names = t("; ").join(_counted(translated(name), n) for name, n in Counter(c.name for c in evidence.cases).items())
    right = t("Right in all {n} cases: {names}.", n=len(evidence.cases), names=names)
    return sentences(right, gradients, coarse)


def _counted(name: str, n: int) -> str:
    """Return the name of cases with their number, if there are several."""
    return t("{name} ({n} cases)", name=name, n=n) if n > 1 else name


def float32_remark() -> str:
    """Return what is added to the praise of an answer that has fewer digits than float64 inputs."""
    return t(
        "One remark: for float64 inputs your result has fewer digits than the inputs. It is accepted. "
        "Which tensor of yours was made without a dtype, or which step computes in float32?"
    )
