"""Run programs with torch and with the page's torch, in one process, and compare the results."""

from __future__ import annotations

import math
from collections.abc import Collection
from types import ModuleType
from typing import Any, NamedTuple

import torch

from browser_python import torch as page_torch

BOTH = (torch, page_torch)


class Raised(NamedTuple):
    """What a program raised: the name of the exception's class, and its text."""

    kind: str
    text: str


def outcome(program: str, library: ModuleType) -> Any:
    """Run a program with one of the libraries. Return its last line's value as plain data, or what it raised."""
    *lines, last = program.strip().splitlines()
    names: dict[str, Any] = {"torch": library, "nn": library.nn, "F": library.nn.functional, "math": math}
    library.manual_seed(0)
    try:
        exec("\n".join(lines), names)
        return as_data(eval(last, names))
    except Exception as error:
        return Raised(type(error).__name__, str(error))


def as_data(value: Any) -> Any:
    """Return a value as plain data that can be compared: of a tensor, its dtype, shape and numbers."""
    if type(value).__name__ in ("Tensor", "Parameter"):
        numbers = value.detach().reshape(-1).tolist()
        return {"dtype": str(value.dtype), "shape": tuple(value.shape), "numbers": numbers}
    if isinstance(value, (tuple, list)):
        return [as_data(v) for v in value]
    if isinstance(value, dict):
        return {str(k): as_data(v) for k, v in value.items()}
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


def near(a: Any, b: Any, tolerance: float = 2e-5) -> bool:
    """Check whether two pieces of plain data are equal, with floats equal up to a tolerance."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(near(a[k], b[k], tolerance) for k in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(near(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
            return str(a) == str(b)
        return abs(a - b) <= tolerance * max(1.0, abs(a))
    return type(a) is type(b) and a == b


def differences(programs: list[str], tolerance: float = 2e-5, other_words: Collection[str] = ()) -> list[str]:
    """Return a report for each program whose results differ between torch and the page's torch.

    Exceptions have the same class and the same text. Only the class is compared if it is a TypeError, because torch's
    text then lists all signatures of the function, and if the page's text has a part that is in `other_words`.
    """
    found = []
    for program in programs:
        theirs, ours = (outcome(program, library) for library in BOTH)
        same = near(theirs, ours, tolerance)
        if isinstance(theirs, Raised) and isinstance(ours, Raised) and theirs.kind == ours.kind:
            known = theirs.kind == "TypeError" or any(part in ours.text for part in other_words)
            same = known or theirs.text == ours.text
        if not same:
            found.append(f"{program}\n    torch: {str(theirs)[:300]}\n    page:  {str(ours)[:300]}")
    return found
