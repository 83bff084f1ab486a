"""`qkv grade` for a learner's own notebook: its cells run in a child process, and the usual checks grade its answers.

The child prints feedback and lines of JSON. The cells run as they do in the sandbox (`sandboxed.cells`), but with the
real package. Nothing protects the child from the notebook, which could give itself any points. So the result is not
for credit.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import torch

import qkv
from qkv import checking
from qkv.checking import Report, examining
from qkv.grading import submissions
from qkv.grading.results import error_of_cell
from qkv.grading.submissions import UnreadableError, chapter_of
from qkv.questions import chapters, find, questions_of
from qkv.questions.engine.judging import TOO_LONG
from qkv.questions.engine.question import Question
from qkv.sandboxed.time_limit import CLOCK_FACTOR, TimeUp, at_most
from qkv.words import language, sentences, t, translated

CHECK = re.compile(r"""check\(\s*["'](\d+\.\d+)["']""")
PREFIX = "QKV-RESULT "  # of a line of JSON in the child's output
GRACE = 5  # seconds of processor time past its limit after which code that cannot be interrupted ends with its process
# The child ignores Ctrl-C during its imports, so that it prints no traceback. The parent reports it and ends the child.
CHILD_CODE = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); from qkv.grading import own; own.start()"
TRIES = 6  # child processes for one notebook; each cell or answer that ends its process needs one more


@dataclass(frozen=True)
class Result:
    """The points of a notebook, and the maximal points, by question."""

    points: dict[str, float]
    max_points: dict[str, float]

    @property
    def full(self) -> bool:
        return self.points == self.max_points


@dataclass
class ChildOutput:
    """The output of a child process, which may have ended early."""

    feedback: str = ""
    doing: str = ""  # the cell or answer that ran last
    result: dict[str, Any] = field(default_factory=dict)  # empty if the child ended early


def grade(notebook: Path, timeout: float) -> Result:
    """Grade a notebook in a child process, and print its feedback.

    If a cell or an answer ends the process, or runs too long, a new child starts and skips that cell or answer.

    Args:
        notebook: the file
        timeout: seconds of processor time for the whole notebook, at most `CLOCK_FACTOR` times that by the clock

    Raises:
        UnreadableError: the file is not a notebook, has no check of this course, or could not be run to its end.
    """
    code_cells(notebook)  # raises here, without a child process, if the file cannot be graded
    skipped: dict[str, str] = {}
    for _ in range(TRIES):
        output = _run_child(notebook, timeout, skipped)
        if output.result:
            print(output.feedback, end="")
            return Result(**output.result)
        if not output.doing:
            break
    why = t("; ").join(skipped.values()) or t("before its first cell")
    raise UnreadableError(t("Python stopped while it ran the notebook ({why}).", why=why))


def _run_child(notebook: Path, timeout: float, skipped: dict[str, str]) -> ChildOutput:
    """Run a child process with the notebook, and return what it printed.

    If it did not reach the end, add the cell or answer that ran last to `skipped`, with the reason. The child gets
    `timeout` seconds of processor time, and is stopped after CLOCK_FACTOR times as long by the clock.
    """
    command = [sys.executable, "-c", CHILD_CODE, str(notebook.resolve()), json.dumps(skipped), str(timeout)]
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stdin": subprocess.DEVNULL, "cwd": notebook.resolve().parent}
    try:
        child = subprocess.run(command, timeout=CLOCK_FACTOR * timeout, check=False, env=_environment(), **options)
        stdout, how = child.stdout, _describe_end(child.returncode)
    except subprocess.TimeoutExpired as expired:
        stdout, how = expired.stdout or b"", _ran_too_long(CLOCK_FACTOR * timeout)
    output = _parse_output(stdout.decode(errors="replace"))
    if not output.result and output.doing:
        skipped[output.doing] = how
    return output


def _describe_end(status: int) -> str:
    """Return why a child process ended early, in the words of a message about the cell or answer that ran last."""
    if hasattr(signal, "SIGXCPU") and status == -signal.SIGXCPU:
        return t("it used too much processor time")
    return t("Python stopped (exit status {status})", status=status)


def _ran_too_long(seconds: float) -> str:
    return t("the notebook ran for more than {seconds} seconds", seconds=f"{seconds:g}")


def _environment() -> dict[str, str]:
    """Return the child's environment variables. Paths to packages are absolute: it runs in the notebook's folder."""
    paths = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    own = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8", "QKV_LANGUAGE": language()}
    return {**os.environ, **own}


def _parse_output(stdout: str) -> ChildOutput:
    """Separate the child's messages, the lines of JSON, from its feedback.

    Of the messages, the last activity and the result are returned. A message that is no JSON is left out.
    """
    output = ChildOutput()
    for line in stdout.splitlines(keepends=True):
        before, prefix, text = line.rpartition(PREFIX)
        output.feedback += before if prefix else line
        if prefix:
            with contextlib.suppress(ValueError):
                message = json.loads(text)
                output.doing = message.get("doing", output.doing)
                output.result = message.get("result", {})
    return output


def code_cells(notebook: Path) -> list[str]:
    """Return the sources of a notebook's code cells.

    Raises:
        UnreadableError: the file cannot be read or is no notebook, or checks no question of this course.
    """
    try:
        sources = submissions.code_cells(notebook.read_bytes())
    except OSError as error:
        raise UnreadableError(t("it cannot be read: {why}.", why=error.strerror)) from None
    if not any(map(CHECK.search, sources)):
        raise UnreadableError(t('it has no check of this course, such as check("3.1", scaled_scores).'))
    return sources


# ── in the child process ──────────────────────────────────────────────────────────────────────────


def main(path: str, skipped: dict[str, str], timeout: float) -> None:
    """Run the notebook in this process, check its answers, print the feedback, and send the points to the parent.

    Args:
        path: the notebook
        skipped: for each cell or answer to skip, why
        timeout: seconds of processor time for all of it

    Raises:
        UnreadableError: the file cannot be read or is no notebook, or checks no question of this course.
    """
    from qkv.sandboxed import cells  # imports IPython

    torch.set_num_threads(1)  # as in the sandbox: processor time is then the time of one core
    _watchdog.limit = timeout
    sources = code_cells(Path(path))
    notebook = Notebook(cells.Notebook(cells.make_shell()), skipped)
    with notebook.checking_answers():
        for number, source in enumerate(sources, 1):
            raised = notebook.run(source, number)
            if raised:
                print(f"{raised}\n", flush=True)
    cells.Shell.clear_instance()  # without an IPython shell, feedback is printed as plain text
    named = {question for source in sources for question in CHECK.findall(source)}
    touched = {int(question.partition(".")[0]) for question in named} & set(chapters())
    questions = [q for chapter in sorted(touched or {chapter_of("", sources)}) for q in questions_of(chapter).values()]
    points = {question.id: notebook.show_result(question) for question in questions}
    for chapter in sorted(touched):
        checking.progress(chapter)
    _send(result={"points": points, "max_points": {q.id: float(q.points) for q in questions}})


class Notebook:
    """A notebook that runs here: an answer is checked when a cell calls `check`, and the feedback is shown at the end.

    Attributes:
        checks: the result of the last check of each question, or a text that says why it was skipped
        cell: the code cell that runs, "code cell 3"
    """

    def __init__(self, cells: Any, skipped: dict[str, str]) -> None:
        self.cells = cells
        self.skipped = skipped
        self.checks: dict[str, Report | str] = {}
        self.cell = ""

    def run(self, source: str, number: int) -> str:
        """Run one cell, without its output. Return a sentence with what went wrong, or "" if nothing did.

        A cell in `skipped` is not run, and one that takes too long is stopped; the sentence says so.
        """
        self.cell = f"code cell {number}"
        if self.cell in self.skipped:
            return t("Code cell {n} was skipped: {why}", n=number, why=self.skipped[self.cell])
        if not source.strip():
            return ""
        with _watchdog.watching(self.cell), open(os.devnull, "w", encoding="utf-8") as nowhere:
            try:
                with (
                    at_most(examining.SECONDS),
                    contextlib.redirect_stdout(nowhere),
                    contextlib.redirect_stderr(nowhere),
                ):
                    raised = self.cells.run(source, number)
                    return t("Code cell {n} raised {error}", n=number, error=error_of_cell(raised)) if raised else ""
            except TimeUp:
                stopped = t("Code cell {n} was stopped after {seconds} seconds.", n=number, seconds=examining.SECONDS)
                return sentences(stopped, translated(TOO_LONG))

    @contextlib.contextmanager
    def checking_answers(self) -> Iterator[None]:
        """In the block, while cells run, replace `check` and `progress`: a check stores its result and shows nothing.

        At the end, both are restored.
        """
        from qkv.sandboxed import cells

        real = {name: vars(checking)[name] for name in ("check", "progress")}

        def check(question: Any, answer: Any) -> Any:
            asked = None
            with contextlib.suppress(KeyError):  # there is no such question
                asked = find(str(question))
            if asked is not None:
                self.check(asked, answer, f"{asked.id} in {self.cell}")
            report = self.checks.get(str(question))
            return report if isinstance(report, Report) else cells.Report(str(question))

        for names in (vars(qkv), vars(checking), self.cells.shell.user_ns):
            names.update(check=check, progress=cells.progress)
        try:
            yield
        finally:
            for module in (qkv, checking):
                vars(module).update(real)

    def check(self, question: Question, answer: Any, doing: str) -> None:
        """Check an answer at once, as in the learner's kernel, and store the report.

        `doing` names this check. If it is in `skipped`, store a text with the reason instead.
        """
        if doing in self.skipped:
            text = t("{id} was not checked: {why}.", id=question.id, why=self.skipped[doing])
            self.checks[question.id] = f"{sentences(text, translated(TOO_LONG))}\n"
        else:
            with _watchdog.watching(doing):
                self.checks[question.id] = examining.examine(question.id, answer, in_model=False)

    def show_result(self, question: Question) -> float:
        """Show the result of a question, and return its points.

        If no check of the question ran, the answer with the name in the exercise is checked now. A skipped answer has 0
        points.
        """
        if question.id not in self.checks:
            self.check(question, self.cells.value_of(question.name), question.id)
        found = self.checks[question.id]
        if isinstance(found, str):
            print(found)
            return 0.0
        examining.show_report(found)
        return found.points


class Watchdog:
    """Tells the parent which cell or answer runs, and ends this process if it runs far too long.

    It ends the process from C (`RLIMIT_CPU`, `faulthandler`). A loop inside a built-in function, such as
    `sum(iter(int, 1))`, holds the GIL, so that neither an interrupt nor a thread of Python could end it.

    Attributes:
        limit: seconds of processor time for all that this process does
        activities: the cell that runs, and the answer that it checks; the innermost is last
    """

    def __init__(self) -> None:
        self.limit = math.inf
        self.activities: list[str] = []

    @contextlib.contextmanager
    def watching(self, doing: str) -> Iterator[None]:
        """Watch a cell or an answer while the block runs it; afterwards, watch the one around it again."""
        self.activities.append(doing)
        self.restart()
        try:
            yield
        finally:
            self.activities.pop()
            self.restart()

    def restart(self) -> None:
        """Tell the grader the innermost activity, and give that its whole time; without one, stop the clock."""
        if not self.activities:
            faulthandler.cancel_dump_traceback_later()
            return
        _send(doing=self.activities[-1])
        seconds = CLOCK_FACTOR * examining.SECONDS + GRACE
        faulthandler.dump_traceback_later(seconds, exit=True, file=_devnull())
        with contextlib.suppress(ImportError, OSError, ValueError):  # Windows has no such limit: only the clock counts
            import resource

            _, most = resource.getrlimit(resource.RLIMIT_CPU)
            end = math.ceil(min(time.process_time() + examining.SECONDS + GRACE, self.limit))
            resource.setrlimit(resource.RLIMIT_CPU, (end, most))


_watchdog = Watchdog()


@functools.cache
def _devnull() -> TextIO:
    """Return /dev/null as a file that stays open, because the watchdog may write to it at any time."""
    return open(os.devnull, "w", encoding="utf-8")


def _send(**message: Any) -> None:
    """Print a message to the parent as a line of JSON."""
    print(PREFIX + json.dumps(message), flush=True, file=sys.__stdout__)


def start() -> None:
    """Run the child process, with the command line's arguments: notebook, what to skip as JSON, seconds.

    An interrupt from the keyboard ends it without a message.
    """
    with contextlib.suppress(KeyboardInterrupt):  # the parent reports it
        signal.signal(signal.SIGINT, signal.default_int_handler)
        main(sys.argv[1], json.loads(sys.argv[2]), float(sys.argv[3]))
