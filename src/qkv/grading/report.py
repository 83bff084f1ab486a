"""The pages that people read: feedback on one submission, and a report on the class.

Both are one file each, ask no other for anything, and follow the reader's choice of light or dark.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from qkv.feedback import SIGNS, WORDS, in_words, points
from qkv.grading.results import UNSAFE, Answer, Result, safe_name
from qkv.questions import find

BARS = 10
SHOWN_IDEAS = 20
SHOWN_GROUPS = 20
SHOWN_MEMBERS = 30
SHOWN_UNGRADED = 100
TEMPLATES = Path(__file__).parent / "templates"


def feedback_page(submission: Result) -> str:
    """The feedback on one submission, as a page of its own."""
    return _render("feedback.html", s=submission)


def class_page(submissions: Sequence[Result], exercises: Path) -> str:
    """The report on a class, as a page of its own; `exercises` holds what was released, where that is at hand."""
    by_exercise: dict[str, list[Result]] = {}
    for s in submissions:
        by_exercise.setdefault(exercise_of(s.stem), []).append(s)
    sections = [notebook_section(name, group, exercises) for name, group in sorted(by_exercise.items())]
    ungraded = [s for s in submissions if not s.graded]
    return _render(
        "report.html",
        submissions=submissions,
        sections=sections,
        ungraded=ungraded[:SHOWN_UNGRADED],
        more_ungraded=max(0, len(ungraded) - SHOWN_UNGRADED),
        unsafe=any(s.unsafe for s in submissions),
        seeds=sorted({s.seed for s in submissions}),
        versions=sorted({s.version for s in submissions}),
    )


@dataclass(frozen=True)
class Bar:
    """How many have a score from `low` to `high`."""

    label: str
    count: int
    share: float  # of the longest bar


@dataclass(frozen=True)
class Loss:
    """What a question, or a wrong idea in it, cost the class."""

    question: str
    title: str
    idea: str
    count: int
    lost: float
    statuses: dict[str, int]


@dataclass(frozen=True)
class Look:
    """Submissions that are nearly the same: their names, and how many more there are."""

    names: tuple[str, ...]
    more: int
    closest: str
    many: bool  # so many that it says more about the question than about them


@dataclass(frozen=True)
class Section:
    """What the report says of one notebook."""

    name: str
    graded: int
    ungraded: int
    mean: str
    median: str
    max_score: str
    bars: list[Bar]
    questions: list[Loss]
    ideas: list[Loss]
    looks: list[Look]
    more_looks: int
    compared: int
    too_short: int
    usual: str


def exercise_of(name: str) -> str:
    """The exercise that a notebook answers: `03_scaling` for a second copy, `03_scaling (1)`."""
    match = re.search(r"\d\d_[a-z][a-z0-9_]*", name)
    return match[0] if match else name


def notebook_section(name: str, submissions: Sequence[Result], exercises: Path) -> Section:
    """Sum up the submissions of one exercise."""
    from qkv.grading.similar import compare

    graded = [s for s in submissions if s.graded]
    scores = sorted(s.score or 0.0 for s in graded)
    with_source = [s for s in submissions if s.source]
    comparison = compare([s.source for s in with_source], released_code(exercises, name))
    looks = [
        _look([with_source[i].student for i in group.members], group.closest, comparison.compared)
        for group in comparison.groups[:SHOWN_GROUPS]
    ]
    most = max((s.max_score for s in submissions), default=0.0)
    return Section(
        name=name,
        graded=len(graded),
        ungraded=len(submissions) - len(graded),
        mean=f"{sum(scores) / len(scores):.1f}" if scores else "",
        median=f"{_median(scores):g}" if scores else "",
        max_score=points(most),
        bars=bars(scores, most),
        questions=question_losses(graded),
        ideas=idea_losses(graded)[:SHOWN_IDEAS],
        looks=looks,
        more_looks=max(0, len(comparison.groups) - SHOWN_GROUPS),
        compared=comparison.compared,
        too_short=comparison.too_short,
        usual="" if comparison.usual is None else f"{100 * comparison.usual:.0f} %",
    )


def released_code(exercises: Path, name: str) -> str:
    """The code that was released under this name; nothing where it cannot be read."""
    try:
        cells = json.loads((exercises / f"{safe_name(name)}.ipynb").read_text(encoding="utf-8"))["cells"]
        return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def bars(scores: Sequence[float], most: float) -> list[Bar]:
    """Count scores in up to ten bars, each whole points wide; the last holds the full mark too."""
    if not scores or most <= 0:
        return []
    width = math.ceil(most / BARS)
    total = math.ceil(most / width)
    counts = Counter(min(int(score / width), total - 1) for score in scores)
    longest = max(counts.values())
    return [
        Bar(
            _range(i * width, most if i == total - 1 else (i + 1) * width, i == total - 1),
            counts[i],
            counts[i] / longest,
        )
        for i in range(total)
    ]


def question_losses(graded: Iterable[Result]) -> list[Loss]:
    """What each question cost, the dearest first."""
    answers: dict[str, list[Answer]] = {}
    for answer in (answer for s in graded for answer in s.questions):
        answers.setdefault(answer.id, []).append(answer)
    losses = [_loss(question, "", group) for question, group in answers.items()]
    return sorted(losses, key=lambda loss: (-loss.lost, loss.question))


def idea_losses(graded: Iterable[Result]) -> list[Loss]:
    """What each wrong idea that was recognised cost, the dearest first."""
    answers: dict[tuple[str, str], list[Answer]] = {}
    for answer in (answer for s in graded for answer in s.questions):
        if answer.misconception:
            answers.setdefault((answer.id, answer.misconception), []).append(answer)
    losses = [_loss(question, idea, group) for (question, idea), group in answers.items()]
    return sorted(losses, key=lambda loss: (-loss.lost, loss.question, loss.idea))


def _loss(question: str, idea: str, answers: Sequence[Answer]) -> Loss:
    lost = sum(answer.max_points - answer.points for answer in answers)
    return Loss(question, title(question), idea, len(answers), lost, Counter(answer.status for answer in answers))


def _look(names: Sequence[str], closest: float, compared: int) -> Look:
    many = len(names) > max(10, compared // 10)
    return Look(tuple(names[:SHOWN_MEMBERS]), max(0, len(names) - SHOWN_MEMBERS), f"{100 * closest:.0f} %", many)


def _range(low: float, high: float, last: bool) -> str:
    return f"{low:g} to {high:g}" if last else f"{low:g} to under {high:g}"


def _median(ordered: Sequence[float]) -> float:
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def title(question: str) -> str:
    """A question's title, where this course knows it."""
    try:
        return find(question).title
    except (KeyError, ValueError):
        return ""


# ── pages ─────────────────────────────────────────────────────────────────────────────────────────


def _render(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(UNSAFE=UNSAFE, signs=SIGNS, words=WORDS, **values)


@cache
def _environment() -> Environment:
    """Templates in which every value is escaped, and a name that is missing is an error."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"points": points, "in_words": in_words, "prose": _prose, "title": title}
    environment.globals["style"] = Markup(_style())
    return environment


def _prose(text: str) -> Markup:
    """Escape a message; what stands in `backticks` is code, and a line ends where it did."""
    coded = re.sub(r"`([^`\n]+)`", r"<code>\1</code>", str(escape(text)))
    return Markup(coded.replace("\n", "<br>"))


def _style() -> str:
    """The course's palette and the pages' own rules, without comments and line breaks."""
    css = "".join(
        file.read_text(encoding="utf-8") for file in (TEMPLATES.parent.parent / "tokens.css", TEMPLATES / "page.css")
    )
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)).strip()
