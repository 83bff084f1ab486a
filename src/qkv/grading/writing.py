"""Write the results of each submission and of the whole class, so that an interrupted run can be continued.

Only one process writes. Each file is replaced as a whole, and symlinks in the results folder are never followed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from qkv.grading.gradebook import record, set_aside_if_broken
from qkv.grading.overrides import NO_OVERRIDES, Overrides
from qkv.grading.report import class_page, feedback_page
from qkv.grading.results import Result, clean_name, safe_name
from qkv.grading.sheets import (
    NOTHING_KNOWN,
    Class,
    blackboard,
    canvas,
    grades,
    gradescope,
    missing,
    moodle,
    moodle_worksheets,
    unclear,
)
from qkv.words import t

CHECKED = ".checked.json"  # the ending of the file with the points that the checks gave, if others were entered by hand
SECRET = "secret"
MAX_BYTES = 2_000_000  # of a result file that is read back


@contextlib.contextmanager
def exclusive_access(out: Path) -> Iterator[None]:
    """Lock the results folder against other runs of `qkv grade`, during the block. The folder is made if it is missing.

    Raises:
        OSError: another run has locked the folder, or it cannot be made or written to.
    """
    out.mkdir(parents=True, exist_ok=True)
    with open(os.open(out / "run.lock", os.O_RDWR | os.O_CREAT | _NO_FOLLOW, 0o644), "w") as stream:
        if not _try_to_lock(stream.fileno()):
            raise OSError(
                t("another run is writing to {out}. Wait until it has ended, or choose another --out.", out=out)
            )
        yield


def _try_to_lock(file: int) -> bool:
    """Lock a file for this process until it is closed. Return False if another process has the lock."""
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
    """Return the seed of the last run in a folder, or None if there was none. A run without --seed uses it again."""
    with contextlib.suppress(OSError, ValueError, RecursionError, KeyError, TypeError):
        return int(json.loads(_read(out / "run.json"))["seed"])
    return None


def remember_seed(out: Path, seed: int) -> None:
    """Write the seed to run.json for the next run in this folder. Dates of files do not tell which run was the last."""
    _replace(out / "run.json", _as_json({"seed": seed}))


def secret_of(out: Path) -> str:
    """Return the secret of a results folder: 128 random bits as text, which the first run writes to the file "secret".

    Only the owner may read that file. One that is damaged is replaced.

    Raises:
        OSError: the file cannot be written.
    """
    with contextlib.suppress(OSError, ValueError):
        found = _read(out / SECRET).strip()
        if re.fullmatch(r"[0-9a-f]{32}", found):
            return found
    made = secrets.token_hex(16)
    _replace(out / SECRET, f"{made}\n", 0o600)
    return made


class Writer:
    """The results folder of a run: writes its results, and reads the results of earlier runs.

    Attributes:
        out: the folder
        gradebook: the address of nbgrader's database, if it is not in the folder
        overrides: points by hand; they are in everything that is written
    """

    def __init__(self, out: Path, gradebook: str | None = None, overrides: Overrides = NO_OVERRIDES) -> None:
        self.out = out
        self.overrides = overrides
        self.gradebook = gradebook
        out.mkdir(parents=True, exist_ok=True)

    def earlier_result(self, student: str, notebook: str) -> Result | None:
        """Return the grade that an earlier run gave to a student's notebook, or None.

        A damaged result file counts as missing, and so does one that says that the notebook was not graded. Points by
        hand are not in it.
        """
        student, notebook = clean_name(student), clean_name(notebook)
        folder, stem = self._folder_and_stem(student, notebook)
        checked = folder / f"{stem}{CHECKED}"
        try:
            earlier = Result.from_dict(json.loads(_read(checked if checked.exists() else folder / f"{stem}.json")))
        except (OSError, ValueError, RecursionError):
            return None
        return earlier if earlier.graded and (earlier.student, earlier.notebook) == (student, notebook) else None

    def write(self, checked: Result) -> Result:
        """Write a submission's feedback page, its Gradescope file and its result, and return it with points by hand.

        The result comes last: if its file is there, the others are complete. What the checks gave is in a file of its
        own if points by hand differ from it.

        Raises:
            OSError: a file cannot be written.
        """
        result = self.overrides.apply(checked)
        folder, stem = self._folder_and_stem(result.student, result.notebook)
        _make_folder(folder)
        if result != checked:
            _replace(folder / f"{stem}{CHECKED}", _as_json(checked.as_dict()))
        else:
            (folder / f"{stem}{CHECKED}").unlink(missing_ok=True)
        _replace(folder / f"{stem}.html", feedback_page(result))
        _replace(folder / f"{stem}.results.json", _as_json(gradescope(result)))
        _replace(folder / f"{stem}.json", _as_json(result.as_dict()))
        return result

    def keep(self, earlier: Result) -> Result:
        """Return the result of an earlier run with points by hand. It is written again if it has or had some.

        Raises:
            OSError: a file cannot be written.
        """
        folder, stem = self._folder_and_stem(earlier.student, earlier.notebook)
        changed = self.overrides.apply(earlier) != earlier or (folder / f"{stem}{CHECKED}").exists()
        return self.write(earlier) if changed else earlier

    def finish(
        self, results: Sequence[Result], group: Class = NOTHING_KNOWN, exercises: Path = Path("exercises")
    ) -> None:
        """Write the files about the whole class: tables, nbgrader's gradebook and the class report.

        A gradebook in the folder that cannot be read is renamed first.

        Args:
            results: the results, with points by hand; of several of one student and notebook, the last counts
            group: what is known about the learners
            exercises: the folder with the released notebooks. Lines that were released do not count as copied

        Raises:
            OSError: a file or the gradebook cannot be written.
        """
        by_name = {(result.student, result.notebook): result for result in results}  # of duplicates, the last counts
        results = [by_name[key] for key in sorted(by_name)]
        worksheets = moodle_worksheets(results, group)
        for name, text in (
            ("grades.csv", grades(results, group)),
            ("canvas.csv", canvas(results, group)),
            ("moodle.csv", moodle(results, group)),
            ("blackboard.csv", blackboard(results, group)),
            *((f"moodle_worksheet_{safe_name(name)}.csv", text) for name, text in worksheets.items()),
            ("report.html", class_page(results, exercises, missing(results, group), unclear(results, group))),
        ):
            _replace(self.out / name, text)
        own = (self.out / "gradebook.db").resolve()
        if not self.gradebook:
            set_aside_if_broken(own)
        record(results, self.gradebook or f"sqlite:///{own}")

    def _folder_and_stem(self, student: str, notebook: str) -> tuple[Path, str]:
        """Return the folder of a submission's files, and their name without an ending."""
        stem = notebook.removesuffix(".ipynb")
        return self.out / safe_name(student), safe_name(stem if "." not in stem else f"{stem}/")


def _as_json(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _read(path: Path) -> str:
    """Return the text of a small regular file. Neither the file nor its folder may be a symlink.

    Raises:
        OSError: the file does not exist, is a symlink, is not a regular file, or is too large.
        ValueError: it is not UTF-8.
    """
    if path.parent.is_symlink():
        raise OSError(t("{path} is a symlink", path=path.parent))
    with open(os.open(path, os.O_RDONLY | _NO_FOLLOW), encoding="utf-8") as stream:
        about = os.fstat(stream.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_BYTES:
            raise OSError(t("{path} is not a regular file of at most {most} bytes", path=path, most=MAX_BYTES))
        return stream.read()


# Flags for `os.open`: do not follow a symlink, and do not block on a named pipe. Windows has neither flag.
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def _make_folder(folder: Path) -> None:
    """Make a folder. If there is a symlink of that name, replace it."""
    if folder.is_symlink():
        folder.unlink()
    folder.mkdir(exist_ok=True)


def _replace(path: Path, text: str, mode: int = 0o644) -> None:
    """Write the text into a temporary file with the permissions `mode`, and rename it to `path`.

    It replaces a file that is there. So no reader sees half a file, and no symlink is followed.
    """
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(part, path)
