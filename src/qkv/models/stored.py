"""Results of trainings that take too long for a chapter: a command trains again, and the chapters print what it stored.

python -m tools.stored     runs the chapters that have such results with all their trainings (some minutes)

shares = stored("recall", three, softmax)               # what three(softmax) returned for the command
shares = stored("recall", three, softmax, again=True)   # trains now
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import torch

AGAIN = "QKV_STORED_AGAIN"  # in the environment: the file to which new results go; then every call measures


def stored(task: str, measure: Callable[..., Any], *arguments: Any, again: bool = False) -> Any:
    """Return what `measure(*arguments)` returned in `python -m tools.stored`; with `again`, call it now.

    `measure` returns numbers, or lists or dicts of numbers; they are rounded to four decimals. It starts from a seed of
    its own, and leaves the random numbers of later cells as they are. Results are stored by the task, and by the names
    of the function and of its arguments. An argument that is a text would have another name in another language. While
    `python -m tools.stored` runs, each result is computed and stored.

    Raises:
        KeyError: nothing is stored under these names.
    """
    named = ", ".join(getattr(argument, "__name__", str(argument)) for argument in arguments)
    name = f"{task}: {measure.__name__}({named})"
    file = os.environ.get(AGAIN)
    if not (again or file):
        results = json.loads(resources.files("qkv.models").joinpath("chapters.json").read_text(encoding="utf-8"))
        if name not in results:
            raise KeyError(f"nothing is stored under {name!r}: run python -m tools.stored, or call it with again=True")
        return results[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        found = _rounded(measure(*arguments))
    if file:
        path = Path(file)
        others = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        path.write_text(json.dumps(others | {name: found}, indent=1) + "\n", encoding="utf-8")
    return found


def _rounded(found: Any) -> Any:
    """Return numbers, also in lists and dictionaries, rounded to four decimals, as they are stored."""
    if isinstance(found, dict):
        return {name: _rounded(part) for name, part in found.items()}
    if isinstance(found, list | tuple):
        return [_rounded(part) for part in found]
    return round(float(found), 4)
