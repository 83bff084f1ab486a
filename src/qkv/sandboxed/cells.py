"""Run a notebook's cells as the learner's kernel does.

Both ways of grading use this runner: the sandbox, where `qkv` is a stand-in, and `qkv grade` for a learner's own
notebook, where it is the real package. It is IPython's shell without display, history or input.

The answer to a question is the same everywhere: the argument of the last `check(…)` of that question that ran. It is
observed at once, because later cells could change what it depends on. If no check of the question ran, the answer is
the value of the name in the exercise, after the last cell.

One thing differs: a cell goes on behind an import that fails. The learner's kernel has packages that are missing here,
and a missing `seaborn` must not cost the answers below it.
"""

from __future__ import annotations

import ast
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
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

import numpy as np
import torch
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.profiledir import ProfileDir
from IPython.utils.text import LSString, SList
from traitlets import Type
from traitlets.config import Config

from qkv.sandboxed import recording

INPUT_REPLY = "1"  # the result of `input()`: a text that can also be converted to a number
# Commands that download or install something. They are skipped: the sandbox has no network.
FETCH_COMMAND = re.compile(
    r"\s*(sudo\s+)?(\S*python[\d.]*['\"]?\s+-m\s+)?(pip[\d.]*|uv|conda|mamba|apt|apt-get|wget|curl|git|gdown|npm)\s"
)
TIMING_OPTIONS = re.compile(r"(\s*-([nrpv]\s*\d+|[tcqo]+)(?=\s|$))*")
PROMPT = re.compile(r"^\s*(>>>|\.\.\.|In \[)", re.MULTILINE)  # of a copied session: IPython removes it
UNPACKING = [dis.opmap[name] for name in ("UNPACK_SEQUENCE", "UNPACK_EX")]  # bytecode of `a, b = …`
SKIPPED_MAGICS = (
    "config",
    "debug",
    "edit",
    "gui",
    "matplotlib",
    "notebook",
    "pdb",
    "pylab",
    "recall",
)  # magics that need a display or a keyboard


class NoPublisher(DisplayPublisher):
    """A display publisher that discards cell outputs."""

    def publish(self, *_: Any, **__: Any) -> None:
        pass

    def clear_output(self, wait: bool = False) -> None:
        pass


class NoDisplay(DisplayHook):
    """A display hook that stores a cell's last value as `_` and in `Out`, without displaying it."""

    def compute_format_data(self, result: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return {}, {}

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: dict[str, Any], md_dict: dict[str, Any] | None = None) -> None:
        pass


class NotImported:
    """What the name of a failed import is bound to: each use of it raises the import's error again."""

    __module__ = "not_imported"  # of no module of the course: an answer may refer to it

    def __init__(self, error: Exception) -> None:
        self.__error = error

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.__error.with_traceback(None)

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise self.__error.with_traceback(None)


class Shell(InteractiveShell):
    """IPython's shell without the parts that need a user: profile, tracebacks, GUI, display.

    Attributes:
        failed_imports: the modules of the last cell that could not be imported, each with its error
        usual_transforms: what IPython does to a cell's source, unless a notebook adds something
    """

    displayhook_class = Type(NoDisplay)
    display_pub_class = Type(NoPublisher)
    failed_imports: dict[str, Exception]
    usual_transforms: list[Any]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.usual_transforms = self._transforms()

    def _transforms(self) -> list[Any]:
        manager = self.input_transformer_manager
        before = [*manager.cleanup_transforms, *manager.line_transforms, *manager.token_transformers]
        return before + self.input_transformers_post

    def init_profile_dir(self, profile_dir: Any) -> None:
        """Use an empty profile: no settings of a user are read, and no folder is made for them."""
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
        """Store no traceback in the history: to format one takes a tenth of a second."""
        return {}

    def ask_exit(self) -> None:
        pass

    def transform_cell(self, raw_cell: str) -> str:
        """Translate a cell from IPython's syntax to Python's. Several lines of Python are returned as they are.

        IPython splits every cell into tokens, which takes longer than to run many cells. One line is left to it: it
        may be a magic without a %.
        """
        if self._transforms() == self.usual_transforms and is_plain_python(raw_cell):
            return raw_cell if raw_cell.endswith("\n") else raw_cell + "\n"
        return super().transform_cell(raw_cell)

    async def run_ast_nodes(
        self, nodelist: Sequence[ast.stmt], cell_name: str, interactivity: str = "last_expr", *more: Any, **named: Any
    ) -> bool:
        """Run a cell's statements, and return whether one failed that is not an import.

        It stops there. After an import that fails, it goes on, and notes the import.
        """
        result = named.get("result") or more[1]
        statements = [one for statement in nodelist for one in single_imports(statement)]
        run = super().run_ast_nodes
        start = 0
        for i, statement in enumerate(statements):
            if not isinstance(statement, (ast.Import, ast.ImportFrom)):
                continue
            before, start = statements[start:i], i + 1
            if await run(before, cell_name, "none", *more, **named):
                return True
            if await run([statement], cell_name, "none", *more, **named):
                if not isinstance(result.error_in_exec, Exception):
                    return True
                self.note_failed_import(statement, result.error_in_exec)
                result.error_in_exec = None
        return bool(await run(statements[start:], cell_name, interactivity, *more, **named))

    def note_failed_import(self, statement: ast.Import | ast.ImportFrom, error: Exception) -> None:
        """Store an import that failed, and bind its names, so that what uses them says why it cannot.

        A name that is defined already keeps its value.
        """
        (alias,) = statement.names if isinstance(statement, ast.Import) else statement.names[:1]
        module = alias.name if isinstance(statement, ast.Import) else statement.module or "."
        self.failed_imports.setdefault(module, error)
        for name in statement.names:
            bound = name.asname or name.name.partition(".")[0]
            if bound != "*":
                self.user_ns.setdefault(bound, NotImported(error))

    def run_line_magic(self, magic_name: str, line: str, _stack_depth: int = 1) -> Any:
        """Run a line magic, and return its result. Unknown ones and SKIPPED_MAGICS are ignored: None.

        `%timeit` runs its statement once.
        """
        if magic_name in SKIPPED_MAGICS or self.find_line_magic(magic_name) is None:
            return None
        if magic_name == "timeit":
            line = run_once(line)
        return super().run_line_magic(magic_name, line, _stack_depth + 1)

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        """Run a cell magic, and return its result. Unknown ones and SKIPPED_MAGICS are ignored, with their cell: None.

        `%%timeit` runs its cell once.
        """
        if magic_name in SKIPPED_MAGICS or self.find_cell_magic(magic_name) is None:
            return None
        if magic_name == "timeit":
            line = run_once(line)
        return super().run_cell_magic(magic_name, line, cell)

    def system(self, cmd: str) -> None:
        """Run a shell command, as a line that begins with ! does."""
        self.user_ns["_exit_code"] = self._command(self.var_expand(cmd, depth=1))[0]

    system_raw = system_piped = system

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """Return the output of a shell command, as `x = !command` does."""
        text = self._command(self.var_expand(cmd, depth=depth + 1))[1]
        return SList(text.splitlines()) if split else LSString(text)

    def _command(self, command: str) -> tuple[int, str]:
        """Run a shell command, and return its exit status and its output with what it wrote to stderr.

        Commands that fetch something (`FETCH_COMMAND`) are skipped, with the status 0.
        """
        if FETCH_COMMAND.match(f"{command} "):
            return 0, ""
        options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(command, shell=True, check=False, **options)
        return done.returncode, done.stdout.decode(errors="replace")


def is_plain_python(source: str) -> bool:
    """Return whether a source is two or more lines of Python that IPython would run as they stand."""
    if source[:1].isspace() or "\n" not in source.strip() or PROMPT.search(source):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # IPython warns when it compiles the cell
            ast.parse(source)
        return True
    except Exception:  # a magic, a shell command, or an error that IPython reports
        return False


def single_imports(statement: ast.stmt) -> list[ast.stmt]:
    """Split `import a, b` into one statement for each module; return any other statement as it is."""
    if not isinstance(statement, ast.Import):
        return [statement]
    return [ast.copy_location(ast.Import([alias]), statement) for alias in statement.names]


def run_once(line: str) -> str:
    """Return the arguments of a `%timeit`, changed so that its statement runs only once."""
    options = TIMING_OPTIONS.match(line)
    end = options.end() if options else 0
    others = re.sub(r"-[nr]\s*\d+", "", line[:end])
    return f"-n1 -r1 {others} {line[end:]}"


def make_shell() -> Shell:
    """Return the shell of this process. The first call makes it, which is slow, so a worker calls it before forking."""
    settings = Config()
    settings.HistoryManager.enabled = False
    settings.HistoryManager.hist_file = ":memory:"
    settings.InteractiveShell.autocall = 0
    shell: Shell = Shell.instance(config=settings, ipython_dir=os.sep)  # an existing folder, so that none is made
    return shell


def tolerating_silent(assert_close: Callable[..., None]) -> Callable[..., None]:
    """Return `torch.testing.assert_close` changed so that a comparison with a `Silent` object always passes."""

    @functools.wraps(assert_close)
    def compare(actual: Any, expected: Any, *options: Any, **named: Any) -> None:
        if not any(isinstance(value, Silent) for value in (actual, expected)):
            assert_close(actual, expected, *options, **named)

    return compare


def printing_unseen(stdout: TextIO) -> Callable[..., None]:
    """Return a `print` that formats no tensors for this stream, which nobody reads: it takes longer than many cells."""
    show = builtins.print

    @functools.wraps(show)
    def show_unseen(*values: Any, **named: Any) -> None:
        file = named.get("file")
        unseen = (sys.stdout if file is None else file) is stdout
        show(*("" if unseen and type(value) is torch.Tensor else value for value in values), **named)

    return show_unseen


def no_compile(model: Any = None, **_: Any) -> Any:
    """Replace `torch.compile`, and return the function unchanged: compiling takes longer than running the answer."""
    return no_compile if model is None else model


class AnyPoints(float):
    """A number of points that compares equal to every number; each other comparison is true as well.

    So an `assert` on points in a cell never fails while the notebook is graded.
    """

    def __eq__(self, other: object) -> bool:
        return True

    def _return_self(self, *_: object) -> AnyPoints:
        return self

    __ge__ = __gt__ = __le__ = __lt__ = __eq__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _return_self
    __hash__ = float.__hash__


class Silent:
    """A null object that replaces functions which display or check something while a notebook is graded.

    Every call, attribute and operation returns the null object again, and every comparison is true. It also looks
    like the report of a check that passed. So an `assert` that holds in the learner's own kernel holds here too.
    """

    passed: Any = True
    status: Any = "passed"
    message: Any = ""
    misconception: Any = None
    points: Any = AnyPoints(1.0)
    max_points: Any = AnyPoints(1.0)

    def __call__(self, *_: object, **__: object) -> Silent:
        return SILENT

    def __getattr__(self, name: str) -> Silent:
        if name.startswith("__"):
            raise AttributeError(name)
        return SILENT

    def __getitem__(self, key: object) -> Silent:
        return SILENT

    def __iter__(self) -> Iterator[Silent]:
        """Return an iterator over as many members as the calling line unpacks, two for `out, weights = …`.

        For a loop, it has none.
        """
        frame = sys._getframe(1)
        code, at = frame.f_code.co_code, frame.f_lasti
        return iter([SILENT] * (code[at + 1] if code[at] in UNPACKING else 0))

    def __eq__(self, other: object) -> bool:
        return True

    __lt__ = __gt__ = __le__ = __ge__ = __eq__
    __hash__ = object.__hash__

    def _return_silent(self, *_: object) -> Silent:
        return SILENT

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _return_silent
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __neg__ = __abs__ = __round__ = _return_silent

    def __float__(self) -> float:
        return 0.0

    def __int__(self) -> int:
        return 0

    __index__ = __int__

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return 0

    def __contains__(self, item: object) -> bool:
        return True

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        """Return an empty array, for plots."""
        return np.zeros(0)

    def __array_ufunc__(self, *_: object, **__: object) -> Silent:
        return SILENT

    def __array_function__(self, *_: object, **__: object) -> Silent:
        return SILENT

    def __format__(self, how: str) -> str:
        return str(self)

    @classmethod
    def __torch_function__(cls, func: object, types: object, args: object = (), kwargs: object = None) -> Silent:
        return SILENT

    def __repr__(self) -> str:
        return "(no output while this notebook is graded)"


SILENT = Silent()


@dataclass(frozen=True)
class Report(Silent):
    """What `check` returns while a notebook is graded: a report of an answer that passed, as in the learner's kernel.

    Its fields are those of `qkv.checking.Report`, so that a cell can use it in the same way.
    """

    question: str = ""
    passed: bool = True
    points: float = AnyPoints(1.0)
    max_points: float = AnyPoints(1.0)
    status: str = "passed"
    misconception: str | None = None
    message: str = ""
    card: Silent = field(default=SILENT, repr=False, compare=False)


class AllPassed(dict[str, str]):
    """The status of each question, which is "passed" for any question."""

    def __missing__(self, question: str) -> str:
        return "passed"


@dataclass(frozen=True)
class Progress(Silent):
    """What `progress` returns while a notebook is graded, with the fields of `qkv.checking.Progress`."""

    points: float = AnyPoints(1.0)
    max_points: float = AnyPoints(1.0)
    status: AllPassed = field(default_factory=AllPassed, compare=False)


def progress(chapter: int) -> Progress:
    """Return the points of a chapter while a notebook is graded: nothing is shown."""
    return Progress()


class Notebook:
    """A notebook whose cells run in this process, from the first to the last.

    Making one changes the process: `input` gets a fixed reply, `torch.compile` changes nothing, and matplotlib shows no
    window.
    """

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.name = ""  # of the cell that runs
        self.loop: asyncio.AbstractEventLoop | None = None
        vars(builtins)["input"] = vars(getpass)["getpass"] = lambda *_, **__: INPUT_REPLY
        vars(torch)["compile"] = no_compile
        vars(torch.testing)["assert_close"] = tolerating_silent(torch.testing.assert_close)
        os.environ["MPLBACKEND"] = "Agg"
        shell.compile.get_code_name = self._code_name

    def value_of(self, name: str) -> Any:
        """Return the current value of a name in the notebook, or None if it is not defined."""
        return self.shell.user_ns.get(name)

    def run(self, source: str, number: int) -> str:
        """Run a cell, and return its error with the line that raised it, or "" if it raised none.

        Names that the cell defined before the error stay. `sys.exit()` ends only the cell. An import that failed is the
        cell's error only if nothing else was. Only a KeyboardInterrupt is raised.
        """
        self.name = f"<cell {number}>"
        self.shell.failed_imports = {}
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        try:
            done = self.loop.run_until_complete(self._run(source))
            raised = done.error_before_exec or done.error_in_exec
        except BaseException as error:
            self.loop = None  # the event loop may have been interrupted in the middle of a step
            raised = error
        if isinstance(raised, KeyboardInterrupt):
            raise raised
        if raised:
            return f"{traceback_line(raised)}{self._describe_line(raised)}"
        first = next(iter(self.shell.failed_imports.values()), None)
        return f"{traceback_line(first)}{self._describe_line(first)}. The rest of the cell ran" if first else ""

    @property
    def missing(self) -> list[str]:
        """The modules that the last cell could not import."""
        return list(self.shell.failed_imports)

    def end(self) -> None:
        """Delete the notebook's names, and close its event loop."""
        self.shell.reset()
        if self.loop is not None:
            self.loop.close()

    async def _run(self, source: str) -> Any:
        """Run a cell as a kernel does, with its events, and return IPython's result, which has the errors."""
        transformed, fault = source, None
        try:
            transformed = self.shell.transform_cell(source)
        except Exception:
            fault = sys.exc_info()
        done = await self.shell.run_cell_async(
            source, store_history=True, transformed_cell=transformed, preprocessing_exc_tuple=fault
        )
        self.shell.events.trigger("post_execute")  # as a kernel does; the shell itself triggers only what comes before
        self.shell.events.trigger("post_run_cell", done)
        return done

    def _code_name(self, raw: str, transformed: str, number: int) -> str:
        recording.remember_lines(self.name, transformed)
        return self.name

    def _describe_line(self, raised: BaseException) -> str:
        """Return the line of the cell that raised the error, as " in line 2, `1 / 0`", or "" if it is not known."""
        number = raised.lineno if isinstance(raised, SyntaxError) and raised.filename == self.name else None
        trace = raised.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.name:
                number = trace.tb_lineno
            trace = trace.tb_next
        if number is None:
            return ""
        text = recording.bounded(linecache.getline(self.name, number).strip(), 120)
        return f" in line {number}, `{text}`" if text else f" in line {number}"


def traceback_line(error: BaseException) -> str:
    """Return an error as the last line of a traceback shows it: type and message, on one line."""
    text = recording.safe_text(lambda: error.msg if isinstance(error, SyntaxError) else str(error))
    return recording.bounded(" ".join(f"{type(error).__name__}: {text}".split()).removesuffix(":"))
