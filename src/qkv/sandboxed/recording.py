"""Record what an answer returned or raised as plain data, which the answer cannot change later.

Plain data are tensors on the CPU, numbers, short texts, and lists and tuples of them. An answer is untrusted code: it
may return an object that claims to equal everything, or that raises when it is shown.
"""

from __future__ import annotations

import linecache
import math
import os
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

# The module of what a worker makes from the grader's source: another question's answer, maybe.
PROVIDED = "qkv.provided"
MAX_TEXT = 300  # characters of any text that comes from an answer
MAX_ITEMS = 64  # members of a list or tuple that are recorded
MAX_DEPTH = 4  # levels of lists and tuples that are recorded
MAX_NUMBERS = 2_000_000  # entries of a tensor that is recorded
DTYPES = (
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool),
)


@dataclass(frozen=True, eq=False)
class OtherValue:
    """The record of a result that is not a tensor, a number, a text, or a short list or tuple of them."""

    kind: str  # the type, in words: "NumPy array", "function"
    text: str = ""
    tensor: Tensor | None = None  # the values of a NumPy array


@dataclass(frozen=True)
class Raised:
    """The record of an exception: the names of its type and of all base classes, its message, and a line of code.

    The line is the last one of the learner's own code that the traceback goes through.
    """

    types: tuple[str, ...]
    text: str
    line: str = ""

    @property
    def type(self) -> str:
        return self.types[0]


def record(value: Any, depth: int = 0) -> Any:
    """Return a copy of a value as plain data, which the answer cannot change later.

    A text is cut (`bounded`). A value that is too large or of another type becomes an `OtherValue` with its type and a
    text, and a NumPy array one with its tensor too.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Tensor):
        return _record_tensor(value)
    if isinstance(value, np.generic):
        return record(value.item(), depth + 1) if depth < MAX_DEPTH else OtherValue("NumPy number")
    if isinstance(value, np.ndarray):
        return OtherValue("NumPy array", f"of shape {value.shape}", _as_tensor(value))
    if isinstance(value, int) and value.bit_length() <= 256:
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return bounded(value)
    if isinstance(value, (tuple, list, dict, set, frozenset)) and len(value) > MAX_ITEMS:
        return OtherValue(_kind(value), f"of {len(value)} items")  # the repr of many tensors would take seconds
    if isinstance(value, (tuple, list)) and depth < MAX_DEPTH:
        items = [record(item, depth + 1) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return OtherValue(_kind(value), safe_text(lambda: repr(value)))


def _record_tensor(value: Tensor) -> Any:
    """Return a plain copy of a tensor on the CPU; of one that cannot be copied or sent, an `OtherValue`."""
    with torch._C.DisableTorchFunctionSubclass():  # a subclass could override these methods
        plain = torch.Tensor.detach(value)
        if size_of(plain.shape) > MAX_NUMBERS or plain.dtype not in DTYPES:
            kind = "very large " * (size_of(plain.shape) > MAX_NUMBERS) + str(plain.dtype).removeprefix("torch.")
            return OtherValue(f"{kind} tensor", bounded(f"of shape {tuple(plain.shape)}"))
        try:
            plain = plain.to_dense() if plain.layout is not torch.strided else plain
            return torch.empty(plain.shape, dtype=plain.dtype, device="cpu").copy_(plain)
        except (RuntimeError, NotImplementedError) as error:
            return OtherValue(f"tensor that cannot be read on the CPU ({plain.device})", bounded(str(error)))


def _as_tensor(array: np.ndarray) -> Tensor | None:
    if size_of(array.shape) > MAX_NUMBERS or array.dtype.kind not in "biuf":
        return None
    return torch.from_numpy(np.array(array))


def size_of(shape: Sequence[int]) -> int:
    """Return how many entries a tensor of this shape has, where an axis of size 0 counts as one of size 1.

    A loop over the other axes takes as long as if the tensor had these entries, so limits are about this number.
    """
    return math.prod(size or 1 for size in shape)


def _kind(value: Any) -> str:
    """Return the name of a value's type in words that a learner knows: "class", "dictionary", or the type's name."""
    if isinstance(value, type):
        return "class"
    return {"function": "function", "generator": "generator", "dict": "dictionary"}.get(
        type(value).__name__, bounded(type(value).__name__, 60)
    )


def bounded(text: str, limit: int = MAX_TEXT) -> str:
    """Return a text that an answer controls, cut to `limit` characters, with unprintable ones as U+FFFD.

    Line breaks stay.
    """
    text = str(text)[: limit + 1]
    if len(text) <= limit and text.isprintable():
        return text
    clean = "".join(c if c.isprintable() or c == "\n" else "�" for c in text)
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def safe_text(say: Callable[[], str]) -> str:
    """Call `say` for an object's text, and return it bounded, or a note if `say` raises.

    A KeyboardInterrupt is raised.
    """
    try:
        return bounded(say())
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "(it cannot be shown)"


def describe_error(error: BaseException) -> Raised:
    """Return the record of an exception."""
    types = tuple(bounded(cls.__name__) for cls in type(error).__mro__[:MAX_ITEMS] if cls is not object)
    return Raised(types, safe_text(lambda: str(error)), _line_of(error))


def remember_lines(name: str, source: str) -> None:
    """Store the source of a cell under the name of its code in `linecache`, so that errors can quote its lines."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


def _line_of(error: BaseException) -> str:
    """Return the last line of the answer's own code in the traceback, or "" if it cannot be read.

    If that line is `raise NotImplementedError`, return the line that called the unfinished function.
    """
    package = (
        os.path.dirname(os.path.dirname(__file__)) + os.sep
    )  # also what a case passes to an answer, such as a cache
    ours = (package, PROVIDED, torch.__path__[0], np.__path__[0])
    try:
        frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
        theirs = [frame for frame in frames if not frame[0].startswith(ours)]
        lines = [linecache.getline(*frame).strip() for frame in theirs[-2:]] or [""]
        return bounded(lines[0 if lines[-1].startswith("raise NotImplementedError") else -1], 120)
    except (OSError, ValueError, RecursionError):
        return ""
