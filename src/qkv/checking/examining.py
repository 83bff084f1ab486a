"""The functions for exercises: `check("3.1", scaled_scores)` checks an answer, `progress(3)` shows a chapter's points.

A check draws new inputs and observes the answer on them. The judge compares the observations with those of the
reference and of known mistakes. A card shows the verdict.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from qkv.checking import saved
from qkv.checking.card import Bar, Card, Row, Table, shell, show
from qkv.questions import chapters, find, questions_of
from qkv.questions.engine.judging import Status, Verdict, VerdictSoFar, judge, verdict_on_stopped, verdict_on_unfit
from qkv.questions.engine.matching import PATIENCE
from qkv.questions.engine.question import Question
from qkv.sandboxed.answers import unfit
from qkv.sandboxed.cases import Case
from qkv.sandboxed.isolation import CapturedOutput, undisturbed
from qkv.sandboxed.observations import observe
from qkv.sandboxed.running import prepared
from qkv.sandboxed.time_limit import TimeUp, at_most
from qkv.words import mark, t, translated
from qkv.xraying import xray

SECONDS = 20  # of processor time, until an answer is stopped; an answer that terminates takes less than one
XRAY_SECONDS = 2  # until the search for the line that mixes tokens is given up


@dataclass(frozen=True)
class Report:
    """The result of a check. The card is shown already, so the report itself has no cell output.

    Attributes:
        question: the id of the question
        passed: whether the answer is right
        points, max_points: the points of the answer, all or none, and the points of the question
        status: "passed", "failed", "not attempted", or "error" if the answer raised an exception that it should not
        misconception: the slug of the recognised wrong idea, such as "softmax-over-queries", or None
        message: what is wrong and where to look
        card: what a learner sees of it
    """

    question: str
    passed: bool
    points: float
    max_points: float
    status: Status
    misconception: str | None
    message: str
    card: Card = field(repr=False, compare=False)

    def _ipython_display_(self) -> None:
        pass


@dataclass(frozen=True)
class Progress:
    """The points so far in a chapter. The bar is shown already, so this object has no cell output."""

    points: float
    max_points: float
    status: dict[str, str] = field(repr=False)

    def _ipython_display_(self) -> None:
        pass


_reports: dict[str, Report] = {}  # the last report of each question, in this process
_ideas_met: dict[str, list[str]] = {}  # the slugs recognised in all checks of each question, in this process


def check(question: str, answer: Any) -> Report:
    """Check an answer, a function or a class, show what is right or wrong with it, and return the report.

    In a notebook, the result is also saved for `progress`.

    Raises:
        KeyError: there is no such question; the message lists all ids.
    """
    if not isinstance(question, str):
        known = ", ".join(name for chapter in chapters() for name in questions_of(chapter))
        text = t('use quotes: check("{id}", …). An id is a string; the questions are {known}', id=question, known=known)
        raise KeyError(text)
    report = examine(question, answer)
    show_report(report)
    if _in_notebook():
        _save(report)
    return report


def examine(
    question: str,
    answer: Any,
    *,
    patience: float = PATIENCE,
    on_progress: Callable[[Callable[[], Report]], object] = lambda _: None,
    in_model: bool = True,
) -> Report:
    """Check an answer, and return the report of `check` without showing or saving it.

    Args:
        question: the question's id
        answer: a function or a class
        patience: seconds of processor time for the search for two wrong ideas at once
        on_progress: called before each wrong idea is tried, because the search may take long. Its argument is a
            function that returns the report as it is if the search stops here
        in_model: whether a trained model runs with the answer, for a sentence on the card

    Raises:
        KeyError: there is no such question; the message lists all ids.
    """
    asked = find(question)
    with _without_displays():
        report = _report_on(asked, answer, patience, on_progress)
        said = _said_in_model(asked, answer, report) if in_model else ""
    return replace(report, card=replace(report.card, in_model=said))


def show_report(report: Report) -> None:
    """Show the card of a report, and count the report in the progress of its chapter."""
    show(report.card)
    _reports[report.question] = report
    if report.misconception:
        _ideas_met.setdefault(report.question, []).append(report.misconception)


def progress(chapter: int) -> Progress:
    """Show the points so far in a chapter, as a bar and one line for each question, and return them.

    In a notebook, results of earlier sessions count too.

    Raises:
        KeyError: the chapter has no questions.
    """
    questions = questions_of(chapter)
    kept = saved.load(chapter) if _in_notebook() else {}
    rows = [_row(question, kept.get(question.id, {})) for question in questions.values()]
    ideas = dict.fromkeys(idea for question in questions for idea in _ideas(question, kept.get(question, {})))
    show(Bar(t("Chapter {n}", n=chapter), rows, list(ideas)))
    return Progress(
        sum(row.points for row in rows), sum(row.max_points for row in rows), {row.question: row.status for row in rows}
    )


# ── from an answer to a report ────────────────────────────────────────────────────────────────────


def _report_on(
    question: Question, answer: Any, patience: float, on_progress: Callable[[Callable[[], Report]], object]
) -> Report:
    """Observe an answer on new inputs, judge what was seen, and return the report.

    An answer of the wrong kind is not run, and one that takes too long is stopped; the report says so. `patience` is as
    for `judge`; `on_progress` is called during the search, with a function that returns the report so far.
    """
    cases = question.fresh_cases()
    try:
        with at_most(SECONDS):
            why = unfit(answer, cases[0].wants_class)
            seen = [] if why else observe(answer, cases, question.gradients)
    except TimeUp as limit:
        return _report(question, verdict_on_stopped(limit.seconds))
    if why:
        return _report(question, verdict_on_unfit(why, cases[0].wants_class))
    printed = seen[0].printed

    def report_so_far(verdict: VerdictSoFar) -> None:
        on_progress(lambda: _report(question, verdict(), printed))

    verdict = judge(question, cases, seen, patience, report_so_far)
    mixing = _line_that_mixes(question, answer, cases[0]) if verdict.status in ("failed", "error") else ""
    return _report(question, verdict, printed, mixing)


def _line_that_mixes(question: Question, answer: Any, case: Case) -> str:
    """Say which line of an answer mixes tokens or examples by mistake.

    Empty if none does, if the answer cannot be followed or not in time, or if the question names no axis of tokens.
    """
    if question.tokens is None:
        return ""
    try:
        with at_most(XRAY_SECONDS), undisturbed(), CapturedOutput():
            subject, inputs = prepared(answer, case)
            found = xray(subject, *inputs, tokens=question.tokens)
    except (Exception, TimeUp):  # it was observed already: whatever it does wrong, the verdict says
        return ""
    return found.message if found.line is not None else ""


def _said_in_model(question: Question, answer: Any, report: Report) -> str:
    """Return what a trained model does with an answer in the place of ours.

    It is empty if the answer was not attempted, and where `say_in_model` is empty.
    """
    if question.in_model is None or report.status == "not attempted":
        return ""
    from qkv.checking.in_model import say_in_model  # not at the top: the page loads the models for few questions

    return say_in_model(question, answer, report.passed)


def _report(question: Question, verdict: Verdict, printed: str = "", mixing: str = "") -> Report:
    """Return the report of a verdict, with what a wrong answer printed and which line mixes tokens ("": none)."""
    passed = verdict.status == "passed"
    points, max_points = float(question.points if passed else 0), float(question.points)
    card = Card(
        question=question.id,
        title=translated(question.title),
        status=verdict.status,
        points=points,
        max_points=max_points,
        message=verdict.message,
        idea=verdict.misconception or "",
        tried=verdict.tried,
        table=_table(question, verdict),
        printed="" if passed else printed,
        mixing=mixing,
    )
    return Report(
        question=question.id,
        passed=passed,
        points=points,
        max_points=max_points,
        status=verdict.status,
        misconception=verdict.misconception,
        message=verdict.message,
        card=card,
    )


def _table(question: Question, verdict: Verdict) -> Table | None:
    """Return the matrix to show on the card: an output of the right shape whose rows should have a known sum.

    None if the question has no such output, or the answer did not return it.
    """
    for name, row_sum in question.row_sums.items():
        matrix, right = (_output(question, name, value) for value in (verdict.value, verdict.want))
        in_place = isinstance(matrix, Tensor) and isinstance(right, Tensor) and matrix.shape == right.shape
        if in_place and matrix.ndim > 1 and matrix.numel() and bool(((right.sum(-1) - row_sum).abs() < 1e-3).all()):
            return Table(name, matrix, row_sum)
    return None


def _output(question: Question, name: str, value: Any) -> Any:
    """Return the output with this name from a result, which is all of the result if there is one output.

    None if the result does not have all outputs.
    """
    if isinstance(value, (tuple, list)) and len(value) == len(question.outputs):
        return value[question.output_names.index(name)]
    return value if len(question.outputs) == 1 else None


# ── notebooks ─────────────────────────────────────────────────────────────────────────────────────


def _in_notebook() -> bool:
    return hasattr(shell(), "kernel")


@contextlib.contextmanager
def _without_displays() -> Iterator[None]:
    """Suppress what an answer displays in a notebook. What it prints is not touched."""
    if shell() is None:
        yield
        return
    from IPython.utils.capture import capture_output

    with capture_output(stdout=False, stderr=False):
        yield


def _save(report: Report) -> None:
    """Save a report's status, points and ideas in the record of its chapter, for later sessions."""
    chapter = int(report.question.partition(".")[0])
    kept = saved.load(chapter)
    ideas = _ideas(report.question, kept.get(report.question, {}))
    kept[report.question] = {"status": report.status, "points": report.points, "ideas": ideas}
    saved.save(chapter, kept)


def _ideas(question_id: str, kept: dict[str, Any]) -> list[str]:
    """Return the slugs of the wrong ideas recognised in the checks of a question, in earlier sessions and in this one.

    `kept` is the question's saved record, {} if there is none.
    """
    earlier = kept.get("ideas", [])
    ideas = [idea for idea in earlier if isinstance(idea, str)] if isinstance(earlier, list) else []
    return list(dict.fromkeys([*ideas, *_ideas_met.get(question_id, [])]))


def _row(question: Question, kept: dict[str, Any]) -> Row:
    """Return the row of a question in the bar, from the last check of this session or the record of earlier ones.

    `kept` is that record, {} if there is none.
    """
    report = _reports.get(question.id)
    if report is not None:
        return Row(question.id, translated(question.title), report.status, report.points, report.max_points)
    passed = kept.get("status") == "passed"
    status = kept["status"] if kept.get("status") in ("passed", "failed", "error") else "not attempted"
    note = mark("earlier") if status != "not attempted" else ""
    return Row(question.id, translated(question.title), status, question.points if passed else 0, question.points, note)
