"""Run programs with torch and with the page's torch, in one process, and compare the results."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import torch

from browser_python import torch as page_torch

BOTH = (torch, page_torch)


def outcome(program: str, library: ModuleType) -> Any:
    """Run a program with one of the libraries. Return its last line's value as plain data, or its exception's class."""
    *lines, last = program.strip().splitlines()
    names: dict[str, Any] = {"torch": library, "nn": library.nn, "F": library.nn.functional, "math": math}
    library.manual_seed(0)
    try:
        exec("\n".join(lines), names)
        return as_data(eval(last, names))
    except Exception as error:
        return type(error).__name__


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


def differences(programs: list[str], tolerance: float = 2e-5) -> list[str]:
    """Return a report for each program whose results differ between torch and the page's torch."""
    found = []
    for program in programs:
        theirs, ours = (outcome(program, library) for library in BOTH)
        if not near(theirs, ours, tolerance):
            found.append(f"{program}\n    torch: {str(theirs)[:300]}\n    page:  {str(ours)[:300]}")
    return found
