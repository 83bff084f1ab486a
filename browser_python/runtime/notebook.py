"""Run the cells of a page as a notebook does, and check answers.

This module runs in the page's worker, with the page's torch and the course's checking code.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
import re
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import absent
import notebook_only
import numpy
import torch
from pristine import Pristine
from showing import shown
from torch.missing import asked_for

from qkv.checking import Report, examine
from qkv.checking.card import Card
from qkv.questions import find
from qkv.questions.engine.question import Question
from qkv.words import ENGLISH, language, sentences, speak, t, translated

absent.install()
notebook_only.install()
PATIENCE = 5.0  # seconds of processor time; more than by default, because Python is slower in a browser
FIRST_VERDICT_AFTER = 1.0  # seconds; after these the page shows a verdict, while the search for a misconception goes on
MAX_PRINTED = 20_000  # characters
UNKNOWN_ARGUMENT = re.compile(
    r"TypeError: (?P<function>[\w.]+)\(\) "
    r"(?:got an unexpected keyword argument|takes .* positional) ?(?P<what>'\w+'|arguments?)"
)


class NotJudged(Card):
    """The card of an answer that uses a part of Python or PyTorch that the page does not have."""

    @property
    def headline_parts(self) -> list[str]:
        """The status alone: there are no points without a verdict."""
        return [t("not judged here")]


class Session:
    """What the cells of a page have made: their names, and which cells have run, by place and source."""

    def __init__(self) -> None:
        self.pristine = Pristine()
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.ran: set[tuple[int, str]] = set()

    def run(self, cells: list[str]) -> dict[str, Any]:
        """Run the last cell, and before it those above it that have not run with their present source.

        A cell that raised an error counts as run.

        Returns:
            printed: the output of the last cell; of a longer one MAX_PRINTED characters and a line that says so
            problem: its traceback, with a note if it may come from a cell above; "" if it raised no error
            above: how many cells above ran first
        """
        *above, last = enumerate(cells)
        fresh = [cell for cell in above if cell not in self.ran and cell[1].strip()]
        printed, problems = run_cells([*fresh, last], self.names)
        self.ran |= {*fresh, last}
        problem = problems[-1] + (note_on_cell_above(problems[:-1]) if "NameError" in problems[-1] else "")
        return {"printed": truncated(printed), "problem": problem, "above": len(fresh)}


session: Session | None = None  # made at the first request, when all kernels are set


def answer(asked: str, send_first: Callable[[str], object]) -> str:
    """Run the cells of a request, and return the verdict on an answer or the output of the last cell, as JSON.

    A check runs its cells in a namespace of its own, in a clean interpreter.

    Args:
        asked: JSON with the sources of the `cells`, perhaps the `language`, which stays set, and for a check the
            `question` and the `name` of the answer
        send_first: receives a first verdict as JSON if no misconception is found within FIRST_VERDICT_AFTER seconds
    """
    global session
    wanted = json.loads(asked)
    if (spoken := wanted.get("language", ENGLISH)) != language():
        speak(spoken)
    session = session or Session()
    if "question" not in wanted:
        return json.dumps(session.run(wanted["cells"]))
    with session.pristine.restored():
        names: dict[str, Any] = {"__name__": "__main__"}
        _, problems = run_cells(list(enumerate(wanted["cells"])), names)
        return json.dumps(check_answer(wanted["question"], wanted["name"], names, problems, send_first))


def truncated(printed: str) -> str:
    """Return the printed text. If it is longer than MAX_PRINTED, cut it there and add a line that says so."""
    if len(printed) <= MAX_PRINTED:
        return printed
    kept = printed[:MAX_PRINTED].removesuffix("\n")
    note = t("… Cut here, after {most} characters.", most=f"{MAX_PRINTED:,}")
    return f"{kept}\n{note}\n"


def run_cells(cells: list[tuple[int, str]], names: dict[str, Any]) -> tuple[str, list[str]]:
    """Run cells, given by place and source, in one namespace, also those below one that raises an error.

    Return the output of the last one, with what it wrote to stderr, and for each its traceback or "".
    """
    printed, problems = io.StringIO(), []
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        for place, source in cells:
            printed.seek(0)
            printed.truncate()
            asked_for.clear()
            problems.append(run_cell(source, f"<cell {place + 1}>", names))
    return printed.getvalue(), problems


def run_cell(source: str, file: str, names: dict[str, Any]) -> str:
    """Run a cell, print the value of its last expression, and return its traceback as text, or "" without an error.

    `file` is its name in tracebacks, and `names` its namespace. Behind the traceback may be a note.
    """
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    try:
        tree = ast.parse(source, file)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            tree.body.pop()
        exec(compile(tree, file, "exec"), names)
        value = eval(compile(ast.Expression(last.value), file, "eval"), names) if isinstance(last, ast.Expr) else None
        if value is not None:  # a notebook shows the value of a cell's last expression
            print(shown_or_repr(value))
    except BaseException as error:
        note = notebook_only.note_on(error, source) or note_on_argument(error, names)
        return traceback_of(error) + (f"{note}\n" if note else "")
    return ""


def note_on_argument(error: BaseException, names: dict[str, Any]) -> str:
    """Return a note that names the argument that a function of the page does not have, as torch or NumPy may have it.

    Empty for other errors, and for functions that a cell defines.
    """
    call = UNKNOWN_ARGUMENT.search(f"TypeError: {error}") if isinstance(error, TypeError) else None
    if call is None or not call["what"].startswith("'") or not is_of_page(call["function"], names):
        return ""
    name = t("{what} of `{function}`", what=call["what"], function=call["function"].removesuffix(".__init__"))
    return t("{name} is not on this page; open this notebook in JupyterLab or Colab", name=name)


def shown_or_repr(value: object) -> str:
    """Return the text of a value; of one that contains itself, as `repr` gives it."""
    try:
        return shown(value)
    except RecursionError:
        return repr(value)


def traceback_of(error: BaseException) -> str:
    """Return an error's traceback, without the frames outside of the cells: at most its last 3000 characters."""
    whole = traceback.TracebackException.from_exception(error)
    part: traceback.TracebackException | None = whole
    while part is not None:
        part.stack[:] = [frame for frame in part.stack if frame.filename.startswith("<cell ")]
        part = part.__cause__ or part.__context__
    return "".join(whole.format())[-3000:]


def why_not_checked(name: str, problem: str) -> str:
    """Return a message that says why there is no answer of this name to check.

    `problem` is the traceback of the answer's cell, or "" if it ran.
    """
    if not problem:
        return t("Nothing in your cell is called `{name}`. Which name stands after `def` or `class`?", name=name)
    lines = [line.strip() for line in problem.strip().splitlines()]
    code = [line for before, line in pairwise(lines) if before.startswith("File ")]
    at = t("It came from the line `{line}`.", line=code[-1]) if code else ""
    return sentences(t("Your cell raised an error before it could be checked: {error}.", error=last_line(problem)), at)


def last_line(problem: str) -> str:
    """Return the last line of a traceback: the error, or a note on it, for the end of a sentence."""
    return problem.strip().splitlines()[-1].rstrip(".。")


def note_on_cell_above(problems: list[str]) -> str:
    """Return a line, with its end, that names the first error of the cells above; empty if all of them ran.

    `problems` has for each of these cells its traceback, or "" if it ran.
    """
    problem = next(filter(None, problems), "")
    if not problem:
        return ""
    note = t("A cell above did not run to its end: {error}", error=problem.strip().splitlines()[-1])
    return f"{note}\n"


def note_on_failed_answer(problems: list[str]) -> str:
    """Return a sentence for a NameError: that an earlier answer did not run. Empty if all earlier cells ran.

    `problems` has for each earlier cell its traceback, or "" if it ran.
    """
    problem = next(filter(None, problems), "")
    if not problem:
        return ""
    return t("An answer above this one did not run: {error}.", error=last_line(problem))


def check_answer(
    question_id: str, name: str, names: dict[str, Any], problems: list[str], send_first: Callable[[str], object]
) -> dict[str, Any]:
    """Check the answer of this name as `check` does, and return the verdict with its card as HTML.

    Args:
        question_id: the question, as "5.4"
        name: the answer's name among `names`
        names: what the cells have defined
        problems: for each cell its traceback, or "" if it ran; the answer's cell is the last
        send_first: gets a first verdict as JSON, if the search for a misconception goes on

    Returns:
        the status ("not attempted" if the answer uses what the page lacks), points, misconception, message and html
    Raises:
        KeyError: there is no such question.
    """
    since, sent = time.perf_counter(), False
    question, given, problem = find(question_id), names.get(name), problems[-1]
    if given is None and (problem or name not in names):
        message = why_not_checked(name, problem)
        if missing := missing_part(problem, names):
            return not_judged(question, missing)
        card = Card(
            question.id, translated(question.title), "error", 0.0, float(question.points), message, printed=problem
        )
        return {"status": "error", "points": 0.0, "misconception": None, "message": message, "html": card.html()}

    def meanwhile(so_far: Callable[[], Report]) -> None:
        nonlocal sent
        if not sent and time.perf_counter() - since > FIRST_VERDICT_AFTER:
            sent = True
            if not missing_part(so_far().message, names):
                send_first(json.dumps(report_for_page(so_far(), problems)))

    report = examine(question_id, given, patience=PATIENCE, on_progress=meanwhile)
    missing = "" if report.passed else missing_part(report.message, names)
    return not_judged(question, missing) if missing else report_for_page(report, problems)


def missing_part(message: str, names: dict[str, Any]) -> str:
    """Return the first part that the answer has used and the page does not have. Empty if there is none.

    `message` is an error of the answer, and `names` are those of its cells: a function among them is not the page's.
    """
    if module := re.search(r"No module named '([\w.]+)'", message):
        return f"`{module[1]}`"
    if (call := UNKNOWN_ARGUMENT.search(message)) and is_of_page(call["function"], names):
        return t("{what} of `{function}`", what=call["what"], function=call["function"].removesuffix(".__init__"))
    return next(iter(asked_for), "")


def is_of_page(function: str, names: dict[str, Any]) -> bool:
    """Check whether a function, or a class's method, of this name is one of the page's torch or numpy.

    `names` are those of the cells: one that a cell defined is not.
    """
    first, last = function.partition(".")[0], function.removesuffix(".__init__").rpartition(".")[2]
    owners = (torch, torch.Tensor, torch.nn, torch.nn.functional, torch.linalg, numpy, numpy.ndarray)
    own = getattr(names.get(first), "__module__", None) == "__main__"
    return not own and any(last in vars(owner) for owner in owners)


def not_judged(question: Question, missing: str) -> dict[str, Any]:
    """Return the verdict on an answer that this page cannot run: none. The page keeps the answer for a notebook."""
    message = t(
        "Your answer uses {missing}, and this page does not have it. So the page cannot say whether the answer is "
        "right. The page keeps your answer: download the notebook, and check it in JupyterLab or Colab.",
        missing=missing,
    )
    card = NotJudged(question.id, translated(question.title), "not attempted", 0.0, float(question.points), message)
    return {"status": card.status, "points": 0.0, "misconception": None, "message": message, "html": card.html()}


def report_for_page(report: Report, problems: list[str]) -> dict[str, Any]:
    """Return a report in the form that the page expects, with its card as HTML.

    If a name is missing, the message says which earlier cell did not run. `problems` has each cell's traceback, or "".
    """
    note = note_on_failed_answer(problems[:-1]) if "NameError" in report.message else ""
    message = sentences(report.message, note)
    return {
        "status": report.status,
        "points": report.points,
        "misconception": report.misconception,
        "message": message,
        "html": replace(report.card, message=message).html(),
    }
