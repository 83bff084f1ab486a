"""The HTML pages of the grader: feedback on one submission, and a report on the class.

Each page is a single file that loads nothing else, and follows the reader's choice of a light or dark colour scheme.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from qkv.checking.card import SIGNS, WORDS, in_words, points
from qkv.grading.results import Answer, Result, safe_name
from qkv.grading.roster import Person, names_of
from qkv.grading.submissions import UnreadableError, chapter_of, code_cells, solution_file
from qkv.questions import find
from qkv.words import language, t, translated

BARS = 10  # at most, in the table of scores; the other numbers limit rows and names on the class report
SHOWN_IDEAS = 20
SHOWN_GROUPS = 20
SHOWN_MEMBERS = 30
SHOWN_UNGRADED = 100
SHOWN_MODULES = 50
TEMPLATES = Path(__file__).parent / "templates"


def feedback_page(submission: Result) -> str:
    """Return the HTML page with the feedback on one submission."""
    return _render("feedback.html", s=submission)


def class_page(
    submissions: Sequence[Result],
    exercises: Path,
    missing: Mapping[str, Sequence[Person]] | None = None,
    unclear: Sequence[str] = (),
) -> str:
    """Return the HTML page with the report on a class.

    Args:
        submissions: the results of the class
        exercises: the folder with the released notebooks; it need not exist
        missing: for each notebook, the learners who did not hand it in
        unclear: the students of whom the list of the class does not tell who they are
    """
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
        missing_modules=missing_modules(submissions)[:SHOWN_MODULES],
        missing={name.removesuffix(".ipynb"): names_of(people) for name, people in (missing or {}).items() if people},
        unclear=", ".join(unclear),
        seeds=sorted({s.seed for s in submissions}),
        versions=sorted({s.version for s in submissions}),
    )


@dataclass(frozen=True)
class Bar:
    """A bar of the table of scores: the number of submissions in one range of scores."""

    label: str  # the range, "2 to under 4"
    count: int
    share: float  # the length of the bar, as a share of the longest bar


@dataclass(frozen=True)
class Loss:
    """The points that the class lost by a question, or by one wrong idea in a question."""

    question: str
    title: str
    idea: str  # empty for the question as a whole
    count: int  # answers
    lost: float  # points
    statuses: dict[str, int]  # how many answers have each status


@dataclass(frozen=True)
class MissingModule:
    """A module that notebooks import and that is not installed where they were graded."""

    name: str
    count: int  # notebooks


@dataclass(frozen=True)
class SimilarGroup:
    """A group of submissions that are nearly the same."""

    names: tuple[str, ...]  # the students that the report names
    more: int  # students of the group that it does not name
    closest: str  # the largest similarity of two of them, "97 %"
    many: bool  # True if the group is so large that the question is a likelier reason than copying


@dataclass(frozen=True)
class Section:
    """The part of the class report about one notebook."""

    name: str
    graded: int
    ungraded: int
    mean: str
    median: str
    max_score: str
    bars: list[Bar]
    questions: list[Loss]
    ideas: list[Loss]
    similar_groups: list[SimilarGroup]
    more_similar_groups: int
    compared: int
    too_short: int
    median_similarity: str
    public: SimilarGroup | None  # the submissions that are the public solution


def exercise_of(name: str) -> str:
    """Return the name of the exercise in a notebook's name: `03_scaling` for a second copy, `03_scaling (1)`.

    A name with no exercise in it is returned as it is.
    """
    match = re.search(r"\d\d_[a-z][a-z0-9_]*", name)
    return match[0] if match else name


def notebook_section(name: str, submissions: Sequence[Result], exercises: Path) -> Section:
    """Return the report's section about the submissions of one exercise: scores, losses, and similar submissions.

    `exercises` is the folder with the released notebooks, whose code does not count as similar.
    """
    from qkv.grading.similar import compare

    graded = [s for s in submissions if s.graded]
    scores = sorted(s.score or 0.0 for s in graded)
    with_source = [s for s in submissions if s.source]
    comparison = compare([s.source for s in with_source], released_code(exercises, name))
    similar_groups = [
        _similar_group([with_source[i].student for i in group.members], group.closest, comparison.compared)
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
        similar_groups=similar_groups,
        more_similar_groups=max(0, len(comparison.groups) - SHOWN_GROUPS),
        compared=comparison.compared,
        too_short=comparison.too_short,
        public=_public_copies(name, with_source, released_code(exercises, name)),
        median_similarity="" if comparison.median_similarity is None else f"{100 * comparison.median_similarity:.0f} %",
    )


def _public_copies(name: str, submissions: Sequence[Result], released: str) -> SimilarGroup | None:
    """Return the submissions that are the public solution of an exercise, or None if there are none.

    `released` is the code of the released notebook, which does not count.
    """
    from qkv.grading.similar import PUBLIC, shares_of_public

    shares = shares_of_public([s.source for s in submissions], solution_code(name), released)
    copies = {s.student: share for s, share in zip(submissions, shares, strict=True) if share >= PUBLIC}
    if not copies:
        return None
    group = _similar_group(list(copies), max(copies.values()), len(submissions))
    return replace(group, many=2 * len(copies) >= len(submissions) and len(submissions) > 2)


def solution_code(name: str) -> str:
    """Return the code of the public solution of an exercise, or "" if there is none that can be read."""
    try:
        return "\n".join(code_cells(solution_file(chapter_of(name, ())).read_bytes()))
    except (OSError, UnreadableError):
        return ""


def released_code(exercises: Path, name: str) -> str:
    """Return the code of the released notebook of this name, or "" if there is none that can be read."""
    try:
        cells = json.loads((exercises / f"{safe_name(name)}.ipynb").read_text(encoding="utf-8"))["cells"]
        return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def bars(scores: Sequence[float], most: float) -> list[Bar]:
    """Count the scores in at most ten ranges, each a whole number of points wide. The last includes full marks.

    There are none without scores or points. A score above `most`, the maximal points, counts in the last range.
    """
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


def missing_modules(submissions: Iterable[Result]) -> list[MissingModule]:
    """Return the modules that could not be imported, those of most notebooks first."""
    counts = Counter(module for s in submissions for module in s.missing_modules)
    return [MissingModule(name, count) for name, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]


def question_losses(graded: Iterable[Result]) -> list[Loss]:
    """Return how many points were lost at each question, the largest loss first."""
    answers: dict[str, list[Answer]] = {}
    for answer in (answer for s in graded for answer in s.questions):
        answers.setdefault(answer.id, []).append(answer)
    losses = [_loss(question, "", group) for question, group in answers.items()]
    return sorted(losses, key=lambda loss: (-loss.lost, loss.question))


def idea_losses(graded: Iterable[Result]) -> list[Loss]:
    """Return how many points were lost by each wrong idea that was recognised, the largest loss first."""
    answers: dict[tuple[str, str], list[Answer]] = {}
    for answer in (answer for s in graded for answer in s.questions):
        if answer.misconception:
            answers.setdefault((answer.id, answer.misconception), []).append(answer)
    losses = [_loss(question, idea, group) for (question, idea), group in answers.items()]
    return sorted(losses, key=lambda loss: (-loss.lost, loss.question, loss.idea))


def _loss(question: str, idea: str, answers: Sequence[Answer]) -> Loss:
    lost = sum(answer.max_points - answer.points for answer in answers)
    return Loss(question, title(question), idea, len(answers), lost, Counter(answer.status for answer in answers))


def _similar_group(names: Sequence[str], closest: float, compared: int) -> SimilarGroup:
    """Return a group of similar submissions as the report shows it; of a large one, only the first names.

    `closest` is the similarity of its closest pair, `compared` the number of submissions that were compared.
    """
    many = len(names) > max(10, compared // 10)
    return SimilarGroup(
        tuple(names[:SHOWN_MEMBERS]), max(0, len(names) - SHOWN_MEMBERS), f"{100 * closest:.0f} %", many
    )


def _named(group: SimilarGroup) -> str:
    """Return the names of a group that are shown, and how many more there are."""
    names = t(", ").join(group.names)
    return t("{names} and {n} more", names=names, n=group.more) if group.more else names


def _range(low: float, high: float, last: bool) -> str:
    values = {"low": f"{low:g}", "high": f"{high:g}"}
    return t("{low} to {high}", **values) if last else t("{low} to under {high}", **values)


def _median(ordered: Sequence[float]) -> float:
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def title(question: str) -> str:
    """Return a question's title, or "" if the course has no such question."""
    try:
        return translated(find(question).title)
    except (KeyError, ValueError):
        return ""


# ── pages ─────────────────────────────────────────────────────────────────────────────────────────


def _render(template: str, **values: Any) -> str:
    """Return the page that a template makes of these values, with the words of the current language."""
    return (
        _environment()
        .get_template(template)
        .render(
            signs=SIGNS,
            words={status: translated(said) for status, said in WORDS.items()},
            language=language(),
            **values,
        )
    )


@cache
def _environment() -> Environment:
    """Return the Jinja environment of the templates: values are escaped, and an undefined name is an error."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"points": points, "in_words": in_words, "prose": _prose, "title": title, "named": _named}
    environment.globals |= {"style": Markup(_style()), "t": t}
    return environment


def _prose(text: str) -> Markup:
    """Turn a message into HTML: escape it, mark text in `backticks` as code, and keep its line breaks."""
    coded = re.sub(r"`([^`\n]+)`", r"<code>\1</code>", str(escape(text)))
    return Markup(coded.replace("\n", "<br>"))


def _style() -> str:
    """Return the CSS of the course's colours and of the pages, without comments and line breaks."""
    css = "".join(
        file.read_text(encoding="utf-8") for file in (TEMPLATES.parent.parent / "tokens.css", TEMPLATES / "page.css")
    )
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)).strip()
