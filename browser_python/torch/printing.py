"""Tensors as text, by the rules of `torch/_tensor_str.py` (BSD-3-Clause), for the dtypes that exist here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .dtypes import FLOATING, State, bool_, dtype, int64
from .tensors import Tensor


class Options:
    """The settings of `torch.set_printoptions`."""

    def __init__(self) -> None:
        self.precision, self.edgeitems, self.linewidth = 4, 3, 80
        self.threshold: float = 1000
        self.sci_mode: bool | None = None


PRINT_OPTS = Options()
PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed: a whole profile ("default", "short" or "full"), or single settings over it.

    A setting that is None stays, but `sci_mode` becomes None: chosen by the numbers. An unknown profile changes
    nothing.
    """
    chosen = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen = PROFILES.get(profile or "", {}) | {name: value for name, value in chosen.items() if value is not None}
    for name, value in chosen.items():
        setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


class Formatter:
    """The number format of a tensor: all its numbers are printed in the same format, padded to the same width."""

    def __init__(self, numbers: Sequence[float], kind: dtype) -> None:
        """Choose integers, decimals or scientific notation, and the width, for these numbers of the dtype `kind`.

        The choice also follows the precision and `sci_mode` that are set in PRINT_OPTS.
        """
        self.floating, self.spec, self.point, self.width = kind.kind == FLOATING, "", "", 1
        if not self.floating:
            self.width = max([1, *(len(str(v)) for v in numbers)])
            return
        usual = [v for v in numbers if math.isfinite(v) and v != 0]
        self.spec, self.point = ".0f", "."
        if not usual:
            return
        low, high = min(map(abs, usual)), max(map(abs, usual))
        scientific = (
            (high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4)
            if PRINT_OPTS.sci_mode is None
            else PRINT_OPTS.sci_mode
        )
        if scientific:
            self.spec, self.point = f".{PRINT_OPTS.precision}e", ""
        elif any(v != math.ceil(v) for v in usual):
            self.spec, self.point = f".{PRINT_OPTS.precision}f", ""
        self.width = max([1, *(len(format(v, self.spec)) + len(self.point) for v in usual)])

    def format(self, value: float) -> str:
        text = format(value, self.spec) + (self.point if math.isfinite(value) else "") if self.floating else str(value)
        return text.rjust(self.width)


def shown_ranges(n: int, summarized: bool) -> tuple[range, range]:
    """Return the indices of n elements to show, as two ranges: all of them, or the first and the last few."""
    edge = PRINT_OPTS.edgeitems
    return (range(edge), range(n - edge, n)) if summarized and n > 2 * edge else (range(n), range(0))


def row_text(t: Tensor, indent: int, summarized: bool, formatter: Formatter) -> str:
    """Return a vector as text in brackets, in as many lines as the line width requires, from column `indent`.

    If it is `summarized`, only its ends are shown.
    """
    per_line = max(1, (PRINT_OPTS.linewidth - indent) // (formatter.width + 2))
    numbers = t.tolist()
    first, last = ([formatter.format(numbers[i]) for i in part] for part in shown_ranges(len(numbers), summarized))
    shown = [*first, *([" ..."] if last else []), *last]
    lines = [", ".join(shown[i : i + per_line]) for i in range(0, len(shown), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def numbers_text(t: Tensor, indent: int, summarized: bool, formatter: Formatter) -> str:
    """Return the numbers of a tensor as text in nested brackets, with "..." where they are left out."""
    if t.ndim == 0:
        return formatter.format(t.item())
    if t.ndim == 1:
        return row_text(t, indent, summarized, formatter)
    first, last = (
        [numbers_text(t[i], indent + 1, summarized, formatter) for i in part]
        for part in shown_ranges(t.shape[0], summarized)
    )
    shown = [*first, *(["..."] if last else []), *last]
    return "[" + ("," + "\n" * (t.ndim - 1) + " " * (indent + 1)).join(shown) + "]"


def shown_numbers(t: Tensor) -> list[Any]:
    if t.ndim == 0:
        return [t.item()]
    return [v for part in shown_ranges(t.shape[0], True) for i in part for v in shown_numbers(t[i])]


def text_of(t: Tensor) -> str:
    """Return a tensor as text, as in `repr(t)`: its numbers, and what does not follow from them.

    That is the dtype unless it is usual, the size of an empty tensor, and `grad_fn` or `requires_grad`.
    """
    kind = type(t).__name__
    head = "Parameter containing:\ntensor(" if kind == "Parameter" else "tensor("
    requires, node, t = t.requires_grad, t._node, t.detach()
    suffixes = []
    if t.numel() == 0:
        text = "[]"
        suffixes += [f"size={tuple(t.shape)}"] if t.ndim != 1 else []
        suffixes += [f"dtype={t.dtype}"] if t.dtype is not State.default_dtype else []
    else:
        suffixes += [f"dtype={t.dtype}"] if t.dtype not in (State.default_dtype, int64, bool_) else []
        summarized = t.numel() > PRINT_OPTS.threshold
        numbers = shown_numbers(t) if summarized else t.reshape(-1).tolist()
        text = numbers_text(t, len("tensor("), summarized, Formatter(numbers, t.dtype))
    if node is not None:
        suffixes.append(f"grad_fn=<{node.name()}>")
    elif requires:
        suffixes.append("requires_grad=True")
    return head + text + suffix_text(suffixes, "tensor(" + text) + ")"


def suffix_text(suffixes: list[str], before: str) -> str:
    """Return the text after the numbers, such as the dtype; a part that would exceed the line goes on a new line.

    `before` is the text before it, whose last line it continues.
    """
    out, last = "", len(before) - before.rfind("\n") + 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > PRINT_OPTS.linewidth:
            out += ",\n" + " " * len("tensor(") + suffix
            last = len("tensor(") + len(suffix)
        else:
            out += ", " + suffix
            last += len(suffix) + 2
    return out
