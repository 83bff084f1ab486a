"""The functions for exercises: `check("3.1", scaled_scores)` checks an answer, `progress(3)` shows a chapter's points.

A check draws new inputs and observes the answer on them. The judge compares the observations with those of the
reference and of known mistakes. A card shows the verdict.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from qkv import records
from qkv.answers import unfit
from qkv.feedback import Bar, Card, Row, Table, shell, show
from qkv.observing import observe
from qkv.questions import chapters, find, questions_of
from qkv.questions.engine.judging import SoFar, Status, Verdict, judge, verdict_on_unfit
from qkv.questions.engine.question import Question
from qkv.timing import TOO_LONG, TimeUp, at_most

SECONDS = 20  # until an answer is stopped; an answer that terminates takes less than one


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
    """

    question: str
    passed: bool
    points: float
    max_points: float
    status: Status
    misconception: str | None
    message: str

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
    """Check an answer, a function or a class, and show what is right or wrong with it.

    Raises:
        KeyError: there is no such question; the message lists all ids.
    """
    if not isinstance(question, str):
        known = ", ".join(name for chapter in chapters() for name in questions_of(chapter))
        raise KeyError(f'use quotes: check("{question}", …). An id is a string; the questions are {known}')
    asked = find(question)
    report, card = examine(asked, answer)
    show_report(report, card)
    if _in_notebook():
        _save(asked, report)
    return report


def examine(question: Question, answer: Any) -> tuple[Report, Card]:
    """Check an answer, and return the report and its card without showing them."""
    with _without_displays():
        verdict, printed = _verdict(question, answer)
    report = _report(question, verdict)
    return report, _card(question, report, verdict, printed)


def show_report(report: Report, card: Card) -> None:
    """Show the card of a report, and count the report in the progress of its chapter."""
    show(card)
    _reports[report.question] = report
    if report.misconception:
        _ideas_met.setdefault(report.question, []).append(report.misconception)


def progress(chapter: int) -> Progress:
    """Show the points so far in a chapter, as a bar and one line for each question.

    Raises:
        KeyError: the chapter has no questions.
    """
    questions = questions_of(chapter)
    kept = records.load(chapter) if _in_notebook() else {}
    rows = [_row(question, kept.get(question.id, {})) for question in questions.values()]
    ideas = dict.fromkeys(idea for question in questions for idea in _ideas(question, kept.get(question, {})))
    show(Bar(f"Chapter {chapter}", rows, list(ideas)))
    return Progress(
        sum(row.points for row in rows), sum(row.max_points for row in rows), {row.question: row.status for row in rows}
    )


# ── from an answer to a verdict ───────────────────────────────────────────────────────────────────


def _verdict(
    question: Question, answer: Any, on_progress: Callable[[SoFar, str], None] = lambda *_: None
) -> tuple[Verdict, str]:
    """Observe and judge an answer; return the verdict and the text that the answer printed.

    The callback `on_progress` is called as in `judge`, with the printed text as its second argument.
    """
    cases = question.fresh_cases()
    try:
        with at_most(SECONDS):
            why = unfit(answer, cases[0].wants_class)
            if why:
                return verdict_on_unfit(why, cases[0].wants_class), ""
            seen = observe(answer, cases, question.gradients)
    except TimeUp:
        text = f"It took more than {SECONDS} seconds and was stopped. {TOO_LONG}"
        return Verdict("error", text), ""
    printed = seen[0].printed
    return judge(question, cases, seen, lambda so_far: on_progress(so_far, printed)), printed


def _report(question: Question, verdict: Verdict) -> Report:
    passed = verdict.status == "passed"
    return Report(
        question=question.id,
        passed=passed,
        points=float(question.points if passed else 0),
        max_points=float(question.points),
        status=verdict.status,
        misconception=verdict.misconception,
        message=verdict.message,
    )


def _card(question: Question, report: Report, verdict: Verdict, printed: str) -> Card:
    return Card(
        question=question.id,
        title=question.title,
        status=report.status,
        points=report.points,
        max_points=report.max_points,
        message=report.message,
        idea=report.misconception or "",
        tried=verdict.tried,
        table=_table(question, verdict),
        printed=printed if not report.passed else "",
    )


def _table(question: Question, verdict: Verdict) -> Table | None:
    """Return the matrix to show on the card: an output of the right shape whose rows should have a known sum."""
    for name, row_sum in question.row_sums.items():
        matrix, right = (_output(question, name, value) for value in (verdict.value, verdict.want))
        in_place = isinstance(matrix, Tensor) and isinstance(right, Tensor) and matrix.shape == right.shape
        if in_place and matrix.ndim > 1 and matrix.numel() and bool(((right.sum(-1) - row_sum).abs() < 1e-3).all()):
            return Table(name, matrix, row_sum)
    return None


def _output(question: Question, name: str, value: Any) -> Any:
    """Return the output with this name from a result, or None if the result does not have all outputs."""
    if isinstance(value, (tuple, list)) and len(value) == len(question.outputs):
        return value[question.output_names.index(name)]
    return value if len(question.outputs) == 1 else None


# ── notebooks ─────────────────────────────────────────────────────────────────────────────────────


def _in_notebook() -> bool:
    return hasattr(shell(), "kernel")


@contextlib.contextmanager
def _without_displays() -> Iterator[None]:
    """Suppress what an answer displays in the notebook."""
    if shell() is None:
        yield
        return
    from IPython.utils.capture import capture_output

    with capture_output(stdout=False, stderr=False):
        yield


def _save(question: Question, report: Report) -> None:
    """Save a report in the record of its chapter, for later sessions."""
    chapter = int(question.id.partition(".")[0])
    kept = records.load(chapter)
    ideas = _ideas(question.id, kept.get(question.id, {}))
    kept[question.id] = {"status": report.status, "points": report.points, "ideas": ideas}
    records.save(chapter, kept)


def _ideas(question_id: str, kept: dict[str, Any]) -> list[str]:
    """Return the slugs recognised in the checks of a question, in earlier sessions and in this one."""
    earlier = kept.get("ideas", [])
    ideas = [idea for idea in earlier if isinstance(idea, str)] if isinstance(earlier, list) else []
    return list(dict.fromkeys([*ideas, *_ideas_met.get(question_id, [])]))


def _row(question: Question, kept: dict[str, Any]) -> Row:
    """Return the row of a question in the bar, from the last check of this session or the record of earlier ones."""
    report = _reports.get(question.id)
    if report is not None:
        return Row(question.id, question.title, report.status, report.points, report.max_points)
    passed = kept.get("status") == "passed"
    status = kept["status"] if kept.get("status") in ("passed", "failed", "error") else "not attempted"
    note = "earlier" if status != "not attempted" else ""
    return Row(question.id, question.title, status, question.points if passed else 0, question.points, note)
