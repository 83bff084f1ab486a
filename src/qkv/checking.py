"""`check("3.1", scaled_scores)`: is this answer right, and if not, which idea is wrong?

The question draws fresh inputs, the answer is observed on them, a judge compares it with the reference and with known
mistakes, and a card says what came of it.
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

SECONDS = 20  # for one answer, which takes less than one where it ends


@dataclass(frozen=True)
class Report:
    """What a check found. It was shown already, so a cell that ends in it shows nothing more.

    Attributes:
        question: its id
        passed: whether the answer is right
        points, max_points: all of them or none
        status: "passed", "failed", "not attempted", or "error" when the answer raised where it should not
        misconception: the wrong idea that was recognised, "softmax-over-queries"; None unless it was one
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
    """The points so far in a chapter. It was shown already."""

    points: float
    max_points: float
    status: dict[str, str] = field(repr=False)

    def _ipython_display_(self) -> None:
        pass


_reports: dict[str, Report] = {}  # the last of each question, in this process
_met: dict[str, list[str]] = {}  # the wrong ideas in all checks of each question, in this process


def check(question: str, answer: Any) -> Report:
    """Check an answer, a function or a class, and show what is right or wrong with it.

    Raises:
        KeyError: there is no such question; the message names those there are.
    """
    if not isinstance(question, str):
        known = ", ".join(name for chapter in chapters() for name in questions_of(chapter))
        raise KeyError(f'use quotes: check("{question}", …). An id is a text; the questions are {known}')
    asked = find(question)
    report, card = examine(asked, answer)
    tell(report, card)
    if _in_notebook():
        _keep(asked, report)
    return report


def examine(question: Question, answer: Any) -> tuple[Report, Card]:
    """Check an answer, and show nothing yet."""
    with _without_displays():
        verdict, printed = _verdict(question, answer)
    report = _report(question, verdict)
    return report, _card(question, report, verdict, printed)


def tell(report: Report, card: Card) -> None:
    """Show what a check found, and count it in the progress of its chapter."""
    show(card)
    _reports[report.question] = report
    if report.misconception:
        _met.setdefault(report.question, []).append(report.misconception)


def progress(chapter: int) -> Progress:
    """Show the points so far in a chapter, as a bar with one line a question.

    Raises:
        KeyError: that chapter has no questions.
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
    question: Question, answer: Any, meanwhile: Callable[[SoFar, str], None] = lambda *_: None
) -> tuple[Verdict, str]:
    """Observe and judge; give what the answer printed too. `meanwhile` is called with both, as in `judge`."""
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
    return judge(question, cases, seen, lambda so_far: meanwhile(so_far, printed)), printed


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
    """Choose what is worth a picture: a matrix whose rows should all have a known sum, where it is in place."""
    for name, row_sum in question.row_sums.items():
        matrix, right = (_output(question, name, value) for value in (verdict.value, verdict.want))
        in_place = isinstance(matrix, Tensor) and isinstance(right, Tensor) and matrix.shape == right.shape
        if in_place and matrix.ndim > 1 and matrix.numel() and bool(((right.sum(-1) - row_sum).abs() < 1e-3).all()):
            return Table(name, matrix, row_sum)
    return None


def _output(question: Question, name: str, value: Any) -> Any:
    """Find one output in all that came back."""
    if isinstance(value, (tuple, list)) and len(value) == len(question.outputs):
        return value[question.output_names.index(name)]
    return value if len(question.outputs) == 1 else None


# ── notebooks ─────────────────────────────────────────────────────────────────────────────────────


def _in_notebook() -> bool:
    return hasattr(shell(), "kernel")


@contextlib.contextmanager
def _without_displays() -> Iterator[None]:
    """Keep what an answer displays out of the notebook."""
    if shell() is None:
        yield
        return
    from IPython.utils.capture import capture_output

    with capture_output(stdout=False, stderr=False):
        yield


def _keep(question: Question, report: Report) -> None:
    chapter = int(question.id.partition(".")[0])
    kept = records.load(chapter)
    ideas = _ideas(question.id, kept.get(question.id, {}))
    kept[question.id] = {"status": report.status, "points": report.points, "ideas": ideas}
    records.save(chapter, kept)


def _ideas(question_id: str, kept: dict[str, Any]) -> list[str]:
    """The wrong ideas met in a question, earlier and now."""
    earlier = kept.get("ideas", [])
    ideas = [idea for idea in earlier if isinstance(idea, str)] if isinstance(earlier, list) else []
    return list(dict.fromkeys([*ideas, *_met.get(question_id, [])]))


def _row(question: Question, kept: dict[str, Any]) -> Row:
    """How a question stands: as checked in this session, or as kept from an earlier one."""
    report = _reports.get(question.id)
    if report is not None:
        return Row(question.id, question.title, report.status, report.points, report.max_points)
    passed = kept.get("status") == "passed"
    status = kept["status"] if kept.get("status") in ("passed", "failed", "error") else "not attempted"
    note = "earlier" if status != "not attempted" else ""
    return Row(question.id, question.title, status, question.points if passed else 0, question.points, note)
