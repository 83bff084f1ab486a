"""What the page asks of Python: run cells in one namespace, and check an answer or say what the last cell printed.

It runs in the page's worker, beside the page's torch and the course's own checking code.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import absent
from needed import needed

from qkv import checking
from qkv.feedback import Card
from qkv.questions import find
from qkv.questions.engine import matching
from qkv.questions.engine.judging import SoFar, Verdict
from qkv.questions.engine.question import Question

absent.install()
matching.PATIENCE = 5.0  # seconds of a processor that is slower here
SILENCE = 1.0  # seconds after which the reader is told the verdict, though the wrong idea is still looked for
MAX_PRINTED = 20_000


def answer(asked: str, tell: Callable[[str], object]) -> str:
    """Run the cells, and check a question's answer or say what the last cell printed; JSON in, JSON out.

    `tell` is given a first verdict where the wrong idea is not named after SILENCE.
    """
    wanted = json.loads(asked)
    if "question" in wanted:
        names, _, problems = run_all(wanted["cells"])
        return json.dumps(checked(wanted["question"], wanted["name"], names, problems, tell))
    return json.dumps(printed_by(wanted["cells"]))


def printed_by(cells: list[str]) -> dict[str, str]:
    """What the last cell prints when it and the cells that it needs are run."""
    _, printed, problems = run_all([cells[place] for place in needed(cells)])
    cause = next(filter(None, problems), "") if problems[-1] else ""  # a name is missing where an earlier cell failed
    return {"printed": shortened(printed), "problem": cause}


def shortened(printed: str) -> str:
    """What was printed, up to a length that can be read; its last line, as short as a phone is wide, says so."""
    if len(printed) <= MAX_PRINTED:
        return printed
    kept = printed[:MAX_PRINTED].removesuffix("\n")
    return f"{kept}\n… Cut here, after {MAX_PRINTED:,} characters.\n"


def run_all(cells: list[str]) -> tuple[dict[str, Any], str, list[str]]:
    """Run cells in a namespace of their own; give it, what the last one printed, and what each one raised."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed, problems = io.StringIO(), []
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        for number, source in enumerate(cells):
            printed.seek(0)
            printed.truncate()
            problems.append(ran(source, f"<cell {number + 1}>", names))
    return names, printed.getvalue(), problems


def ran(source: str, file: str, names: dict[str, Any]) -> str:
    """Run a cell; what it raised, as text, or nothing. An answer that is still to be written raises nothing here."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    try:
        tree = ast.parse(source, file)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            tree.body.pop()
        exec(compile(tree, file, "exec"), names)
        value = eval(compile(ast.Expression(last.value), file, "eval"), names) if isinstance(last, ast.Expr) else None
        if value is not None:  # shown, as a notebook shows it
            print(repr(value))
    except BaseException as error:
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        return "".join(line for line in lines if "/lib/" not in line and "notebook.py" not in line)[-3000:]
    return ""


def unchecked(name: str, problem: str) -> str:
    """Why there is nothing of this name to check, in words."""
    if not problem:
        return f"Nothing in your cell is called `{name}`. Which name stands after `def` or `class`?"
    lines = [line.strip() for line in problem.strip().splitlines()]
    code = [line for before, line in pairwise(lines) if before.startswith("File ")]
    at = f" It came from the line `{code[-1]}`." if code else ""
    return f"Your cell raised an error before it could be checked: {lines[-1]}.{at}"


def above(problems: list[str]) -> str:
    """What a reader should know who was told that a name is missing: an answer above did not run."""
    problem = next(filter(None, problems), "")
    return f" An answer above this one did not run: {problem.strip().splitlines()[-1]}." if problem else ""


def checked(
    question_id: str, name: str, names: dict[str, Any], problems: list[str], tell: Callable[[str], object]
) -> dict[str, Any]:
    """The verdict on the answer of this name, as `check` gives it, with its card as HTML."""
    since, told = time.perf_counter(), False
    question, given, problem = find(question_id), names.get(name), problems[-1]
    if given is None and (problem or name not in names):
        message = unchecked(name, problem)
        card = Card(question.id, question.title, "error", 0.0, float(question.points), message, printed=problem)
        return {"status": "error", "points": 0.0, "misconception": None, "message": message, "html": card.html()}

    def meanwhile(so_far: SoFar, printed: str) -> None:
        nonlocal told
        if not told and time.perf_counter() - since > SILENCE:
            told = True
            tell(json.dumps(reported(question, problems, so_far(), printed)))

    return reported(question, problems, *checking._verdict(question, given, meanwhile))


def reported(question: Question, problems: list[str], verdict: Verdict, printed: str) -> dict[str, Any]:
    """A verdict as the page has it, with its card as HTML."""
    if "NameError" in verdict.message:
        verdict = replace(verdict, message=verdict.message + above(problems[:-1]))
    report = checking._report(question, verdict)
    html = checking._card(question, report, verdict, printed).html()
    return {
        "status": report.status,
        "points": report.points,
        "misconception": report.misconception,
        "message": report.message,
        "html": html,
    }
