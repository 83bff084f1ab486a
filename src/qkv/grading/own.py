"""A learner grades a notebook of their own: its cells in a fresh process, its answers through the same checks.

The fresh process prints feedback, and lines of JSON. The cells run as they do in the sandbox (`sandboxed.cells`),
beside the real package. Nothing protects this process from the notebook, so its result is worth what its owner's word
is: it is not for credit.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import qkv
from qkv import checking
from qkv.checking import Report
from qkv.feedback import Card
from qkv.grading import submissions
from qkv.grading.submissions import UnreadableError, chapter_of
from qkv.questions import chapters, find, questions_of
from qkv.questions.engine.question import Question
from qkv.timing import TOO_LONG, TimeUp, at_most

CHECK = re.compile(r"""check\(\s*["'](\d+\.\d+)["']""")
MARK = "QKV-RESULT "
PATIENCE = 5  # seconds past its time after which what cannot be interrupted is ended with its process
# The fresh process is deaf to the keyboard until it can end without a word: who started it says so, and ends it.
FRESH = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); from qkv.grading import own; own.start()"
TRIES = 6  # of a notebook: one more for each cell or answer that had to be ended


@dataclass(frozen=True)
class Result:
    """What came of a notebook: points by question, of how many."""

    points: dict[str, float]
    max_points: dict[str, float]

    @property
    def full(self) -> bool:
        return self.points == self.max_points


@dataclass
class Said:
    """What a fresh process said before it ended."""

    feedback: str = ""
    doing: str = ""
    result: dict[str, Any] = field(default_factory=dict)


def grade(notebook: Path, timeout: float) -> Result:
    """Grade a notebook in a fresh Python, and show its feedback here.

    A cell or an answer may end the process, or run without end. Then a new process starts, which leaves that cell
    or answer out.

    Raises:
        UnreadableError: the file is no notebook, has no check of this course, or took longer than `timeout` seconds.
    """
    code_cells(notebook)  # say what is wrong with the file before a process is started for it
    skipped: dict[str, str] = {}
    for _ in range(TRIES):
        said = _try(notebook, timeout, skipped)
        if said.result:
            print(said.feedback, end="")
            return Result(**said.result)
        if not said.doing:
            break
    raise UnreadableError(f"Python stopped while it ran ({'; '.join(skipped.values()) or 'before its first cell'}).")


def _try(notebook: Path, timeout: float, skipped: dict[str, str]) -> Said:
    """Run a fresh process; where it did not reach its end, add what it was doing to what is skipped."""
    command = [sys.executable, "-c", FRESH, str(notebook.resolve()), json.dumps(skipped)]
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stdin": subprocess.DEVNULL, "cwd": notebook.resolve().parent}
    try:
        done = subprocess.run(command, timeout=timeout, check=False, env=_environment(), **options)
        output, how = done.stdout, f"Python stopped (exit status {done.returncode})"
    except subprocess.TimeoutExpired as expired:
        output, how = expired.stdout or b"", f"it ran for more than {timeout:g} seconds"
    said = _said(output.decode(errors="replace"))
    if not said.result and said.doing:
        skipped[said.doing] = how
    return said


def _environment() -> dict[str, str]:
    """This process's, with absolute paths to packages: the notebook's own folder is where the fresh one runs."""
    paths = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"}


def _said(output: str) -> Said:
    said = Said()
    for line in output.splitlines(keepends=True):
        before, mark, text = line.rpartition(MARK)
        said.feedback += before if mark else line
        if mark:
            with contextlib.suppress(ValueError):
                told = json.loads(text)
                said.doing = told.get("doing", said.doing)
                said.result = told.get("result", {})
    return said


def code_cells(notebook: Path) -> list[str]:
    """The sources of a notebook's code cells.

    Raises:
        UnreadableError: it cannot be read, or checks no question of this course.
    """
    try:
        sources = submissions.code_cells(notebook.read_bytes())
    except OSError as error:
        raise UnreadableError(f"it cannot be read: {error.strerror}.") from None
    if not any(map(CHECK.search, sources)):
        raise UnreadableError('it has no check of this course, such as check("3.1", scaled_scores).')
    return sources


# ── in the fresh process ──────────────────────────────────────────────────────────────────────────


def main(path: str, skipped: dict[str, str]) -> None:
    """Run the notebook, check its answers, print the feedback and the result."""
    from qkv.grading.sandboxed import cells  # it needs IPython

    sources = code_cells(Path(path))
    notebook = Notebook(cells.Notebook(cells.make_shell()), skipped)
    with notebook.checking_answers():
        for number, source in enumerate(sources, 1):
            raised = notebook.run(source, number)
            if raised:
                print(f"Code cell {number} {raised}\n", flush=True)
    cells.Shell.clear_instance()  # from here on feedback is printed
    named = {question for source in sources for question in CHECK.findall(source)}
    touched = {int(question.partition(".")[0]) for question in named} & set(chapters())
    questions = [q for chapter in sorted(touched or {chapter_of("", sources)}) for q in questions_of(chapter).values()]
    points = {question.id: notebook.told(question) for question in questions}
    for chapter in sorted(touched):
        checking.progress(chapter)
    _tell(result={"points": points, "max_points": {q.id: float(q.points) for q in questions}})


class Notebook:
    """A notebook whose answers are checked as its cells come to their checks, and told about at the end.

    Attributes:
        checks: what the last check of each question found; a text where it was left out
        cell: the code cell that runs
    """

    def __init__(self, cells: Any, skipped: dict[str, str]) -> None:
        self.cells = cells
        self.skipped = skipped
        self.checks: dict[str, tuple[Report, Card] | str] = {}
        self.cell = ""

    def run(self, source: str, number: int) -> str:
        """Run one cell; say what went wrong with it."""
        self.cell = f"code cell {number}"
        if self.cell in self.skipped or not source.strip():
            return f"was left out: {self.skipped[self.cell]}" if self.cell in self.skipped else ""
        with _watched(self.cell), open(os.devnull, "w", encoding="utf-8") as nowhere:
            try:
                with (
                    at_most(checking.SECONDS),
                    contextlib.redirect_stdout(nowhere),
                    contextlib.redirect_stderr(nowhere),
                ):
                    raised = self.cells.run(source, number)
                    return f"raised {raised}" if raised else ""
            except TimeUp:
                return f"was stopped after {checking.SECONDS} seconds. {TOO_LONG}"

    @contextlib.contextmanager
    def checking_answers(self) -> Iterator[None]:
        """While cells run, a check says nothing: what it finds is kept."""
        from qkv.grading.sandboxed.cells import SILENT

        real = {name: vars(checking)[name] for name in ("check", "progress")}

        def check(question: Any, answer: Any = None) -> Any:
            asked = None
            with contextlib.suppress(KeyError):  # no such question
                asked = find(str(question))
            if asked is not None:
                self.check(asked, answer, f"{asked.id} in {self.cell}")
            return SILENT

        for names in (vars(qkv), vars(checking), self.cells.shell.user_ns):
            names.update(check=check, progress=SILENT)
        try:
            yield
        finally:
            for module in (qkv, checking):
                vars(module).update(real)

    def check(self, question: Question, answer: Any, doing: str) -> None:
        """Check an answer here and now, as it is in the learner's kernel."""
        if doing in self.skipped:
            text = f"{question.id} was not checked: {self.skipped[doing]}. {TOO_LONG}\n"
            self.checks[question.id] = text
        else:
            with _watched(doing):
                self.checks[question.id] = checking.examine(question, answer)

    def told(self, question: Question) -> float:
        """Show what came of a question, and give its points. Where no check of it ran, its name is the answer."""
        if question.id not in self.checks:
            self.check(question, self.cells.value_of(question.name), question.id)
        found = self.checks[question.id]
        if isinstance(found, str):
            print(found)
            return 0.0
        checking.tell(*found)
        return found[0].points


_doing: list[str] = []  # what is being done, and in what


@contextlib.contextmanager
def _watched(doing: str) -> Iterator[None]:
    """Say what is being done, and end this process where that goes on although it was interrupted.

    A loop inside one built-in function, as in `sum(iter(int, 1))`, holds Python's lock: no thread could end it.
    """
    _doing.append(doing)
    _watch()
    try:
        yield
    finally:
        _doing.pop()
        _watch()


def _watch() -> None:
    """Give what is being done now its whole time; nothing is watched where nothing is done."""
    if _doing:
        _tell(doing=_doing[-1])
        faulthandler.dump_traceback_later(checking.SECONDS + PATIENCE, exit=True, file=_nowhere())
    else:
        faulthandler.cancel_dump_traceback_later()


@functools.cache
def _nowhere() -> TextIO:
    """A file that stays open, since what watches may write to it at any time."""
    return open(os.devnull, "w", encoding="utf-8")


def _tell(**what: Any) -> None:
    print(MARK + json.dumps(what), flush=True, file=sys.__stdout__)


def start() -> None:
    with contextlib.suppress(KeyboardInterrupt):  # the process that started this one says so
        signal.signal(signal.SIGINT, signal.default_int_handler)
        main(sys.argv[1], json.loads(sys.argv[2]))
