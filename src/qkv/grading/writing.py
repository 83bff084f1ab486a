"""Write what came of each submission, and what came of all of them, so that a run can be taken up again.

One process writes. A file is either as it was or as it should be, and no link that somebody left in the folder is
followed.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from qkv.grading.gradebook import record, set_aside_if_broken
from qkv.grading.report import class_page, feedback_page
from qkv.grading.results import Result, clean_name, safe_name
from qkv.grading.sheets import canvas, grades, gradescope, moodle

MAX_BYTES = 2_000_000  # of a result that is read back


@contextlib.contextmanager
def alone(out: Path) -> Iterator[None]:
    """Keep every other run out of a folder while one writes there.

    Raises:
        OSError: another run is at work there.
    """
    out.mkdir(parents=True, exist_ok=True)
    with open(os.open(out / "run.lock", os.O_RDWR | os.O_CREAT | _NO_LINK, 0o644), "w") as stream:
        if not _locked(stream.fileno()):
            raise OSError(f"another run is writing to {out}. Wait until it has ended, or choose another --out.")
        yield


def _locked(file: int) -> bool:
    """Lock a file for this process until it is closed; False where another process has the lock."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def earlier_seed(out: Path) -> int | None:
    """The seed of the last run in a folder: a run that is given no seed uses it again."""
    with contextlib.suppress(OSError, ValueError, RecursionError, KeyError, TypeError):
        return int(json.loads(_read(out / "run.json"))["seed"])
    return None


def remember_seed(out: Path, seed: int) -> None:
    """Keep a run's seed for the next run in this folder: dates of files say nothing about which run was the last."""
    _replace(out / "run.json", _as_json({"seed": seed}))


class Writer:
    """Keeps the results of a run in a folder."""

    def __init__(self, out: Path, seed: int, gradebook: str | None = None) -> None:
        self.out = out
        self.seed = seed
        self.gradebook = gradebook
        out.mkdir(parents=True, exist_ok=True)

    def kept(self, student: str, notebook: str, sha256: str, version: str, unsafe: bool = False) -> Result | None:
        """Give an earlier result of this very file, graded with this seed and version; None where there is none.

        What was graded without a sandbox counts only where that is asked for again. A damaged file counts as absent.
        """
        student, notebook = clean_name(student), clean_name(notebook)
        folder, stem = self._place(student, notebook)
        try:
            earlier = Result.of(json.loads(_read(folder / f"{stem}.json")))
        except (OSError, ValueError, RecursionError):
            return None
        found = (earlier.student, earlier.notebook, earlier.sha256, earlier.version, earlier.seed)
        same = found == (student, notebook, sha256, version, self.seed)
        return earlier if same and earlier.graded and (unsafe or not earlier.unsafe) else None

    def write(self, result: Result) -> None:
        """Write a submission's feedback, its Gradescope file, and last the result that says that all is there.

        Raises:
            OSError: it cannot be written.
        """
        folder, stem = self._place(result.student, result.notebook)
        _make_folder(folder)
        _replace(folder / f"{stem}.html", feedback_page(result))
        _replace(folder / f"{stem}.results.json", _as_json(gradescope(result)))
        _replace(folder / f"{stem}.json", _as_json(result.as_dict()))

    def finish(self, results: Sequence[Result], exercises: Path = Path("exercises")) -> None:
        """Write what is about all of them: tables, nbgrader's gradebook, and the class report.

        `exercises` holds the notebooks that were released: their own lines are no sign that somebody copied.
        """
        by_name = {(result.student, result.notebook): result for result in results}  # the last of a name counts
        results = [by_name[key] for key in sorted(by_name)]
        for name, text in (
            ("grades.csv", grades(results)),
            ("canvas.csv", canvas(results)),
            ("moodle.csv", moodle(results)),
            ("report.html", class_page(results, exercises)),
        ):
            _replace(self.out / name, text)
        own = (self.out / "gradebook.db").resolve()
        if not self.gradebook:
            set_aside_if_broken(own)
        record(results, self.gradebook or f"sqlite:///{own}")

    def _place(self, student: str, notebook: str) -> tuple[Path, str]:
        """The folder and the name, without an ending, of what belongs to a submission."""
        stem = notebook.removesuffix(".ipynb")
        return self.out / safe_name(student), safe_name(stem if "." not in stem else f"{stem}/")


def _as_json(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _read(path: Path) -> str:
    """Read a small regular file. Neither the file nor its folder may be a link.

    Raises:
        OSError: there is none such.
    """
    if path.parent.is_symlink():
        raise OSError(f"{path.parent} is a link")
    with open(os.open(path, os.O_RDONLY | _NO_LINK), encoding="utf-8") as stream:
        about = os.fstat(stream.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_BYTES:
            raise OSError(f"{path} is no small file")
        return stream.read()


# Windows has neither; O_NONBLOCK keeps a pipe of that name from stopping us.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def _make_folder(folder: Path) -> None:
    """Make a folder; a link of its name, to wherever it leads, gives way to it."""
    if folder.is_symlink():
        folder.unlink()
    folder.mkdir(exist_ok=True)


def _replace(path: Path, text: str) -> None:
    """Write a file beside its place, then move it there: half a file is never seen, and no link is followed."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(part, path)
