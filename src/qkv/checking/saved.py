"""Save a learner's progress in a small file, so that it survives a restart of the kernel. No check depends on it.

Progress is stored for each folder that a notebook runs in, so that two copies of a notebook do not share points. If
the file cannot be read or written, progress is not saved.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

MAX_BYTES = 1_000_000

Record = dict[str, dict[str, Any]]  # by question id: status, points, ideas


def path() -> Path:
    """Return the path of progress.json: in $QKV_STATE_DIR, or in this system's folder for the state of programs.

    The file need not exist.
    """
    if "QKV_STATE_DIR" in os.environ:
        return Path(os.environ["QKV_STATE_DIR"]) / "progress.json"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_STATE_HOME", Path.home() / ".local" / "state"))
    return base / "qkv" / "progress.json"


def load(chapter: int) -> Record:
    """Return the saved record of a chapter for the working directory; empty if there is none or it cannot be read.

    Entries that are no dictionaries are left out.
    """
    record = _read().get(_key(chapter), {})
    if not isinstance(record, dict):
        return {}
    return {key: value for key, value in record.items() if isinstance(value, dict)}


def save(chapter: int, record: Record) -> None:
    """Save a chapter's record for the working directory, in place of what was saved. If that fails, change nothing."""
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        file = path()
        everything = _read() | {_key(chapter): record}
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, suffix=".json")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump(everything, stream, indent=1)
            os.replace(name, file)
        except BaseException:
            os.unlink(name)
            raise


def _read() -> dict[str, Any]:
    """Return all that is saved; an empty dictionary if the file is missing, too large or not readable."""
    try:
        file = path()
        if file.stat().st_size > MAX_BYTES:
            return {}
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):
        return {}
    return content if isinstance(content, dict) else {}


def _key(chapter: int) -> str:
    return f"{os.path.realpath(os.curdir)}#{chapter}"
