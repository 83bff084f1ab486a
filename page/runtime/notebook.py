"""What the page asks of Python: run the cells of an exercise in one namespace, and check one answer of them.

It runs in the page's worker, beside the page's torch and the course's own checking code.
"""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import traceback
from typing import Any

from qkv import checking
from qkv.feedback import Card
from qkv.questions import find
from qkv.questions.engine import matching

matching.PATIENCE = 5.0  # seconds of a processor that is slower here
MAX_PRINTED = 20_000
LIBRARY = ("/lib/course", "/lib/python")


def answer(asked: str) -> str:
    """Run the cells, and check a question's answer or say what the last cell printed; JSON in, JSON out."""
    wanted = json.loads(asked)
    names: dict[str, Any] = {"__name__": "__main__"}
    printed, problem = io.StringIO(), ""
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        for number, source in enumerate(wanted["cells"]):
            printed.seek(0)
            printed.truncate()
            problem = ran(source, f"<cell {number + 1}>", names)
    if "question" in wanted:
        return json.dumps(checked(wanted["question"], names.get(wanted["name"]), problem))
    return json.dumps({"printed": printed.getvalue()[:MAX_PRINTED], "problem": problem})


def ran(source: str, file: str, names: dict[str, Any]) -> str:
    """Run a cell; what it raised, as text, or nothing. An answer that is still to be written raises nothing here."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    try:
        exec(compile(source, file, "exec"), names)
    except BaseException as error:
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        return "".join(line for line in lines if "/lib/" not in line and "notebook.py" not in line)[-3000:]
    return ""


def checked(question_id: str, given: Any, problem: str) -> dict[str, Any]:
    """The verdict on an answer, as `check` gives it, with its card as HTML."""
    question = find(question_id)
    if problem and given is None:
        message = "Your cell raised an error before it could be checked: " + problem.strip().splitlines()[-1]
        card = Card(question.id, question.title, "error", 0.0, float(question.points), message, printed=problem)
        return {"status": "error", "points": 0.0, "misconception": None, "message": message, "html": card.html()}
    verdict, printed = checking._verdict(question, given)
    report = checking._report(question, verdict)
    html = checking._card(question, report, verdict, printed).html()
    return {
        "status": report.status,
        "points": report.points,
        "misconception": report.misconception,
        "message": report.message,
        "html": html,
    }
