"""Judge an answer from what was observed of it: right, or which wrong idea it has, or how it differs.

The trusted side: it runs the reference and the twins, never the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from qkv.answers import Unfit
from qkv.observing import Case, Observation, undisturbed
from qkv.questions.engine.causes import describe_difference
from qkv.questions.engine.comparing import WRONG_RESULT, Difference, is_float32_for_float64
from qkv.questions.engine.evidence import Evidence
from qkv.questions.engine.matching import Matching, Named
from qkv.questions.engine.question import Question
from qkv.questions.engine.wording import describe, tried_with

FLOAT32_REMARK = (
    " One remark: for float64 inputs your result is float32. It is accepted, but it has fewer digits than the inputs. "
    "Which tensor of yours was made without a dtype?"
)

Status = Literal["passed", "failed", "not attempted", "error"]


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


SoFar = Callable[[], Verdict]  # gives the verdict as it would be now


def judge(
    question: Question,
    cases: Sequence[Case],
    observations: Sequence[Observation],
    meanwhile: Callable[[SoFar], None] = lambda _: None,
) -> Verdict:
    """Judge an answer by what it did in these cases.

    `meanwhile` is called while the wrong idea is looked for, before each that is tried: all of them may take long.
    """
    if all(map(_is_stub, observations)):
        return Verdict("not attempted", _not_attempted_text(observations[0]))
    with undisturbed():
        return _verdict(Evidence(question, cases, observations), meanwhile)


def verdict_on_unfit(why: Unfit, wants_class: bool) -> Verdict:
    """Say what is wrong with an answer that cannot be tried at all."""
    if why.kind == "missing":
        return Verdict("not attempted", "Nothing was handed over to check yet.")
    if why.kind == "object":
        wanted = f"`check` wants the {'class' if wants_class else 'function'} itself, and was given"
        return Verdict("failed", f"{wanted} {describe(why.seen)}. Was it called? Write its name without brackets.")
    text = f"Your answer uses `{why.seen}`, which holds the solution. Which lines of your own could stand there?"
    return Verdict("failed", text)


def _is_stub(seen: Observation) -> bool:
    """Say whether nothing came back, or NotImplementedError; torch raises that too, for dtypes it does not support."""
    if seen.raised is not None:
        torchs_own = "not implemented for" in seen.raised.text or "aten::" in seen.raised.text
        return "NotImplementedError" in seen.raised.types and not torchs_own
    return all(result is None or isinstance(result, dict) for result in seen.results)  # a dict is what `load` gives


def _not_attempted_text(seen: Observation) -> str:
    if seen.raised is not None:
        line = seen.raised.line
        where = f": see the line `{line}`" if line and not line.startswith("raise ") else ""
        return (
            "Not attempted yet: your answer raises NotImplementedError. If you have written it, it calls another one "
            f"that is still to be written{where}."
        )
    return "Nothing came back: your answer returned None. If you have written it, does it end in a `return`?"


def _verdict(evidence: Evidence, meanwhile: Callable[[SoFar], None]) -> Verdict:
    where = evidence.first()
    if where is None:
        return Verdict("passed", _praise(evidence))
    kind = where[1].kind
    matching = Matching(evidence, partial(meanwhile, partial(_refusal, evidence, where, None)))
    return _refusal(evidence, where, matching.by_results() if kind in WRONG_RESULT else matching.by_effect(kind))


def _refusal(evidence: Evidence, where: tuple[int, Difference], named: Named | None) -> Verdict:
    i, difference = where
    slug, message, i = named or (*describe_difference(evidence, i, difference), i)
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


def _how_many(evidence: Evidence) -> str:
    wrong = sum(want.results[-1] for want in evidence.want)
    return f"{wrong} that are wrong and {len(evidence.cases) - wrong} that are right"


def _praise(evidence: Evidence) -> str:
    times = Counter(case.name for case in evidence.cases)
    names = "; ".join(f"{name} ({n} cases)" if n > 1 else name for name, n in times.items())
    if evidence.question.of_implementations:
        return f"Right about all {len(evidence.cases)} implementations: {_how_many(evidence)}."
    gradients = " Gradients reach every input." if evidence.question.gradients else ""
    coarse = FLOAT32_REMARK if any(map(is_float32_for_float64, evidence.seen, evidence.want)) else ""
    return f"Right in all {len(evidence.cases)} cases: {names}.{gradients}{coarse}"
