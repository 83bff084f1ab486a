"""Run a notebook's cells as the learner's kernel does.

One runner for both ways of grading: in the sandbox, where `qkv` is a stand-in, and for a learner's own notebook, where
it is the real package. It is IPython's own shell without a screen, a history or a keyboard.

What counts as the answer to a question is the same everywhere: what the last `check(…)` that ran was handed. It is
observed there and then, so it finds everything as the learner's kernel has it. Where no check of that question ran, it
is what the name in the exercise stands for at the end.
"""

from __future__ import annotations

import asyncio
import builtins
import dis
import functools
import getpass
import linecache
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.profiledir import ProfileDir
from IPython.utils.text import LSString, SList
from traitlets import Type
from traitlets.config import Config

if __package__:
    from qkv import observing
else:  # in a worker, which has the files alone
    import observing  # type: ignore[no-redef]

TYPED = "1"  # what `input()` gives: a text that is a number too
# Commands that fetch or install something. They are skipped: what a notebook needs is there, or cannot be had.
FETCHES = re.compile(
    r"\s*(sudo\s+)?(\S*python[\d.]*['\"]?\s+-m\s+)?(pip[\d.]*|uv|conda|mamba|apt|apt-get|wget|curl|git|gdown|npm)\s"
)
TIMING_OPTIONS = re.compile(r"(\s*-([nrpv]\s*\d+|[tcqo]+)(?=\s|$))*")
UNPACKING = [dis.opmap[name] for name in ("UNPACK_SEQUENCE", "UNPACK_EX")]
NOT_RUN = (
    "config",
    "debug",
    "edit",
    "gui",
    "matplotlib",
    "notebook",
    "pdb",
    "pylab",
    "recall",
)  # for a screen or a keyboard


class NoPublisher(DisplayPublisher):
    """Takes what a cell displays, and shows it to nobody."""

    def publish(self, *_: Any, **__: Any) -> None:
        pass

    def clear_output(self, wait: bool = False) -> None:
        pass


class NoDisplay(DisplayHook):
    """Keeps a cell's last value as `_` and in `Out`, and writes it nowhere."""

    def compute_format_data(self, result: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return {}, {}

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: dict[str, Any], md_dict: dict[str, Any] | None = None) -> None:
        pass


class Shell(InteractiveShell):
    """IPython's shell, without what only a person in front of it needs."""

    displayhook_class = Type(NoDisplay)
    display_pub_class = Type(NoPublisher)

    def init_profile_dir(self, profile_dir: Any) -> None:
        """Make none: nothing of a profile is read, and where this runs nothing may be written."""
        self.profile_dir = ProfileDir()

    def init_virtualenv(self) -> None:
        pass

    def showtraceback(self, *_: Any, **__: Any) -> None:
        pass

    def showsyntaxerror(self, *_: Any, **__: Any) -> None:
        pass

    def enable_gui(self, gui: str | None = None) -> None:
        pass

    def enable_matplotlib(self, gui: str | None = None) -> tuple[str, str]:
        return "inline", "inline"

    def _format_exception_for_storage(self, *_: Any, **__: Any) -> dict[str, Any]:
        """Keep no traceback in the history of cells: to write one takes a tenth of a second."""
        return {}

    def ask_exit(self) -> None:
        pass

    def run_line_magic(self, magic_name: str, line: str, _stack_depth: int = 1) -> Any:
        """Run a magic; one that is not known here may be another kernel's, and does nothing."""
        if magic_name in NOT_RUN or self.find_line_magic(magic_name) is None:
            return None
        if magic_name == "timeit":
            line = timed_once(line)
        return super().run_line_magic(magic_name, line, _stack_depth + 1)

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        if magic_name in NOT_RUN or self.find_cell_magic(magic_name) is None:
            return None
        if magic_name == "timeit":
            line = timed_once(line)
        return super().run_cell_magic(magic_name, line, cell)

    def system(self, cmd: str) -> None:
        """Run a command of the system's shell, as a line that begins with ! does."""
        self.user_ns["_exit_code"] = self._command(self.var_expand(cmd, depth=1))[0]

    system_raw = system_piped = system

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        text = self._command(self.var_expand(cmd, depth=depth + 1))[1]
        return SList(text.splitlines()) if split else LSString(text)

    def _command(self, command: str) -> tuple[int, str]:
        if FETCHES.match(f"{command} "):
            return 0, ""
        options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(command, shell=True, check=False, **options)
        return done.returncode, done.stdout.decode(errors="replace")


def timed_once(line: str) -> str:
    """The line of a `%timeit` that runs its statement a single time, whatever it asks for."""
    options = TIMING_OPTIONS.match(line)
    end = options.end() if options else 0
    others = re.sub(r"-[nr]\s*\d+", "", line[:end])
    return f"-n1 -r1 {others} {line[end:]}"


def make_shell() -> Shell:
    """Make the one shell of this process, or give it. It takes some time, so a worker does it before it forks."""
    settings = Config()
    settings.HistoryManager.enabled = False
    settings.HistoryManager.hist_file = ":memory:"
    settings.InteractiveShell.autocall = 0
    shell: Shell = Shell.instance(config=settings, ipython_dir=os.sep)  # a folder that is there: none is made
    return shell


def comparing(assert_close: Callable[..., None]) -> Callable[..., None]:
    """`torch.testing.assert_close`, where what is compared with may be silent."""

    @functools.wraps(assert_close)
    def compare(actual: Any, expected: Any, *options: Any, **named: Any) -> None:
        if not any(isinstance(value, Silent) for value in (actual, expected)):
            assert_close(actual, expected, *options, **named)

    return compare


def not_compiled(model: Any = None, **_: Any) -> Any:
    """Stand for `torch.compile`: what an answer gives is graded, and to compile it takes longer than to run it."""
    return not_compiled if model is None else model


class Enough(float):
    """A number of points that is as many as a cell asks for."""

    def __eq__(self, other: object) -> bool:
        return True

    def _as_many(self, *_: object) -> Enough:
        return self

    __ge__ = __gt__ = __le__ = __lt__ = __eq__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _as_many
    __hash__ = float.__hash__


class Silent:
    """Takes every call and every attribute, and says nothing: what shows or checks things while a notebook is graded.

    It stands for a check that passed and for a comparison that holds. So no cell stops at an `assert` that holds in the
    learner's own kernel.
    """

    passed, status, message, misconception = True, "passed", "", None
    points = max_points = Enough(1.0)

    def __call__(self, *_: object, **__: object) -> Silent:
        return SILENT

    def __getattr__(self, name: str) -> Silent:
        if name.startswith("__"):
            raise AttributeError(name)
        return SILENT

    def __getitem__(self, key: object) -> Silent:
        return SILENT

    def __iter__(self) -> Iterator[Silent]:
        """Give as many members as the line takes that unpacks it, `out, weights = …`, and none to a loop."""
        frame = sys._getframe(1)
        code, at = frame.f_code.co_code, frame.f_lasti
        return iter([SILENT] * (code[at + 1] if code[at] in UNPACKING else 0))

    def __eq__(self, other: object) -> bool:
        return True

    __lt__ = __gt__ = __le__ = __ge__ = __eq__
    __hash__ = object.__hash__

    def _again(self, *_: object) -> Silent:
        return SILENT

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _again
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __neg__ = __abs__ = __round__ = _again

    def __float__(self) -> float:
        return 0.0

    def __format__(self, how: str) -> str:
        return str(self)

    @classmethod
    def __torch_function__(cls, func: object, types: object, args: object = (), kwargs: object = None) -> Silent:
        return SILENT

    def __repr__(self) -> str:
        return "(silent while this is graded)"


SILENT = Silent()


class Notebook:
    """One notebook that is run from its first cell to its last, in this process."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.name = ""  # of the cell that runs
        self.loop: asyncio.AbstractEventLoop | None = None
        vars(builtins)["input"] = vars(getpass)["getpass"] = lambda *_, **__: TYPED
        vars(torch)["compile"] = not_compiled
        vars(torch.testing)["assert_close"] = comparing(torch.testing.assert_close)
        os.environ["MPLBACKEND"] = "Agg"
        shell.compile.get_code_name = self._code_name

    def named(self, name: str) -> Any:
        """What a name stands for now; None where it is not there."""
        return self.shell.user_ns.get(name)

    def run(self, source: str, number: int) -> str:
        """Run a cell. Give what it raised and in which line, nothing where it ran through.

        What it did before that line stays done. sys.exit() ends the cell.
        """
        self.name = f"<cell {number}>"
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        try:
            done = self.loop.run_until_complete(self._run(source))
            raised = done.error_before_exec or done.error_in_exec
        except BaseException as error:
            self.loop = None  # it may have been stopped in the middle of a step
            raised = error
        if isinstance(raised, KeyboardInterrupt):
            raise raised
        return f"{one_line(raised)}{self._place(raised)}" if raised else ""

    def end(self) -> None:
        """Forget the notebook: its names and its loop."""
        self.shell.reset()
        if self.loop is not None:
            self.loop.close()

    async def _run(self, source: str) -> Any:
        transformed, fault = source, None
        try:
            transformed = self.shell.transform_cell(source)
        except Exception:
            fault = sys.exc_info()
        return await self.shell.run_cell_async(
            source, store_history=True, transformed_cell=transformed, preprocessing_exc_tuple=fault
        )

    def _code_name(self, raw: str, transformed: str, number: int) -> str:
        observing.remember_lines(self.name, transformed)
        return self.name

    def _place(self, raised: BaseException) -> str:
        """The line of the cell that raised: its number and its text."""
        number = raised.lineno if isinstance(raised, SyntaxError) and raised.filename == self.name else None
        trace = raised.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.name:
                number = trace.tb_lineno
            trace = trace.tb_next
        if number is None:
            return ""
        text = observing.bounded(linecache.getline(self.name, number).strip(), 120)
        return f" in line {number}, `{text}`" if text else f" in line {number}"


def one_line(error: BaseException) -> str:
    """What was raised, as the last line of a traceback has it."""
    text = observing.safe_text(lambda: error.msg if isinstance(error, SyntaxError) else str(error))
    return observing.bounded(" ".join(f"{type(error).__name__}: {text}".split()).removesuffix(":"))
