"""A learner grades a notebook of their own: its cells in a fresh process, its answers through the same checks.

    python -m qkv.grading.own NOTEBOOK    what the fresh process runs: prints feedback, and a last line of JSON

Nothing protects this process from the notebook, so its result is worth what its owner's word is: it is not for credit.
"""

from __future__ import annotations

import _thread
import contextlib
import io
import json
import re
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv import checking
from qkv.grading import submissions
from qkv.grading.submissions import UnreadableError
from qkv.observing import remember_lines
from qkv.questions import chapters, questions_of

CHECK = re.compile(r"""check\(\s*["'](\d+\.\d+)["']\s*,\s*([A-Za-z_]\w*)\s*,?\s*\)(?:\.points)?""")
MARK = "QKV-RESULT "
SHOWN = 300  # characters of an error that a cell raised
SECONDS = 20  # for one answer's check, which takes less than one where the answer ends


@dataclass(frozen=True)
class Result:
    """What came of a notebook: points by question, of how many."""

    points: dict[str, float]
    max_points: dict[str, float]

    @property
    def full(self) -> bool:
        return self.points == self.max_points


def grade(notebook: Path, timeout: float) -> Result:
    """Grade a notebook in a fresh Python that shows its feedback here.

    Raises:
        UnreadableError: the file is no notebook, has no check of this course, or took longer than `timeout` seconds.
    """
    code_cells(notebook)  # say what is wrong with the file before a process is started for it
    command = [sys.executable, "-m", __name__, str(notebook.resolve())]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise UnreadableError(f"it ran for more than {timeout:g} seconds. Is there a loop that does not end?") from None
    feedback, mark, result = done.stdout.rpartition(MARK)
    if not mark:
        raise UnreadableError(f"Python stopped while it ran (exit status {done.returncode}).")
    print(feedback, end="")
    return Result(**json.loads(result))


def code_cells(notebook: Path) -> list[str]:
    """The sources of a notebook's code cells.

    Raises:
        UnreadableError: it cannot be read, or checks no question of this course.
    """
    try:
        sources = submissions.code_cells(notebook.read_bytes())
    except OSError as error:
        raise UnreadableError(f"it cannot be read: {error.strerror}.") from None
    if not answers(sources):
        raise UnreadableError('it has no check of this course, such as check("3.1", scaled_scores).')
    return sources


def answers(sources: list[str]) -> dict[str, str]:
    """The name of the answer to each question that a notebook checks."""
    return {question: name for source in sources for question, name in CHECK.findall(source)}


# ── in the fresh process ──────────────────────────────────────────────────────────────────────────


def run_cells(sources: list[str]) -> dict[str, Any]:
    """Run a notebook's cells in one namespace; a cell that fails is reported, and the others go on."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, source in enumerate(sources, 1):
        with silence():
            error = run_cell(number, source, names)
        if error:
            print(f"Code cell {number} raised {error}\n")
    return names


def run_cell(number: int, source: str, names: dict[str, Any]) -> str:
    """Run one cell; lines that only IPython understands are left out. Gives what it raised, in one line."""
    python = "\n".join("pass" if line.lstrip()[:1] in ("%", "!") else line for line in source.splitlines())
    try:
        name = f"<cell {number}>"
        remember_lines(name, python)
        exec(compile(CHECK.sub("None", python), name, "exec"), names)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() in a cell ends the cell, not the grading
        return traceback.format_exception_only(error)[-1].strip()[:SHOWN]
    return ""


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Keep what cells print out of the feedback."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def checked(question: str, answer: Any) -> float:
    """Check one answer and give its points: none when it does not end, and the others go on."""
    timer = threading.Timer(SECONDS, _thread.interrupt_main)
    timer.daemon = True
    timer.start()
    try:
        return checking.check(question, answer).points
    except KeyboardInterrupt:
        if timer.is_alive():  # it was the learner
            raise
        print(f"{question} took more than {SECONDS} seconds and was stopped. Is there a loop that does not end?\n")
        return 0.0
    finally:
        timer.cancel()


def main(notebook: str) -> None:
    """Run the notebook, check its answers, print the feedback and the result."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # `checked` needs it, and background jobs ignore it
    sources = code_cells(Path(notebook))
    names = run_cells(sources)
    named = answers(sources)
    touched = {int(question.partition(".")[0]) for question in named} & set(chapters())
    questions = [question for chapter in sorted(touched) for question in questions_of(chapter).values()]
    points = {q.id: checked(q.id, names.get(named.get(q.id, ""))) for q in questions}
    for chapter in sorted(touched):
        checking.progress(chapter)
    print(MARK + json.dumps({"points": points, "max_points": {q.id: float(q.points) for q in questions}}))


if __name__ == "__main__":
    main(sys.argv[1])
