"""Run a program on torch and on the page's torch, side by side in one process, and say what each gave."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import torch

from page import torch as page_torch

BOTH = (torch, page_torch)


def outcome(program: str, library: ModuleType) -> Any:
    """What the last line of a program gives, in plain data; or the class of what it raised."""
    *lines, last = program.strip().splitlines()
    names: dict[str, Any] = {"torch": library, "nn": library.nn, "F": library.nn.functional, "math": math}
    library.manual_seed(0)
    try:
        exec("\n".join(lines), names)
        return plain(eval(last, names))
    except Exception as error:
        return type(error).__name__


def plain(value: Any) -> Any:
    """Kind, shape, strides' order and numbers of a tensor; other things as they are."""
    if type(value).__name__ in ("Tensor", "Parameter"):
        numbers = value.detach().reshape(-1).tolist()
        return {"dtype": str(value.dtype), "shape": tuple(value.shape), "numbers": numbers}
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


def near(a: Any, b: Any, tolerance: float = 2e-5) -> bool:
    """The same, with numbers equal to within rounding."""
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
    """The programs that do not give the same on both."""
    found = []
    for program in programs:
        theirs, ours = (outcome(program, library) for library in BOTH)
        if not near(theirs, ours, tolerance):
            found.append(f"{program}\n    torch: {str(theirs)[:300]}\n    page:  {str(ours)[:300]}")
    return found
