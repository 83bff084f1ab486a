"""Comparing tensors in tests.

What the page's version lacks raises a NotImplementedError.
"""

from __future__ import annotations

from typing import Any

from .arithmetic import isclose
from .creation import as_tensor
from .dtypes import bfloat16, bool_, float16, float32, float64
from .missing import missing_getattr, refuse_set
from .tensors import Tensor

TOLERANCES = {  # relative, absolute
    float64: (1e-7, 1e-7),
    float32: (1.3e-6, 1e-5),
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Any = None,
) -> None:
    """Compare two tensors or numbers, or two sequences or dictionaries of them.

    Without `rtol` and `atol`, the tolerances are those of the dtypes. `msg` is the error's text, or makes it from the
    usual one, except where lengths or keys differ. `allow_subclasses`, `check_device` and `check_layout` change nothing here.

    Raises:
        AssertionError: shapes, lengths or keys differ, with `check_dtype` dtypes, or numbers are not close.
        ValueError: only one of `rtol` and `atol` is given.
        TypeError: only one of both is a tensor, or a dictionary.
        NotImplementedError: `check_stride` is set.
    """
    refuse_set("assert_close", check_stride=check_stride)
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    if isinstance(actual, (tuple, list, dict)) and isinstance(expected, (tuple, list, dict)):
        if isinstance(actual, dict) != isinstance(expected, dict):
            kinds = f"{type(actual)} and {type(expected)}"
            raise TypeError(f"No comparison pair was able to handle inputs of type {kinds}.")
        same = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan, "check_dtype": check_dtype, "msg": msg}
        for a, b in pairs(actual, expected):
            assert_close(a, b, **same)
        return
    if isinstance(actual, Tensor) != isinstance(expected, Tensor):
        raise TypeError(f"{type(actual).__name__} and {type(expected).__name__} cannot be compared")
    text = difference(as_tensor(actual), as_tensor(expected), rtol, atol, equal_nan, check_dtype)
    if text:
        raise AssertionError(msg(text) if callable(msg) else msg or text)


def pairs(actual: Any, expected: Any) -> list[tuple[Any, Any]]:
    """Return the corresponding elements of two sequences, or the values of two dictionaries by their keys.

    An AssertionError is raised if the lengths or keys differ.
    """
    if len(actual) != len(expected):
        raise AssertionError(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
    if not isinstance(actual, dict):
        return list(zip(actual, expected, strict=True))
    if actual.keys() != expected.keys():
        raise AssertionError("The keys of the mappings do not match")
    return [(value, expected[key]) for key, value in actual.items()]


def difference(a: Tensor, b: Tensor, rtol: float | None, atol: float | None, equal_nan: bool, check_dtype: bool) -> str:
    """Return in which way two tensors are not close (shape, with `check_dtype` dtype, numbers), or ""."""
    if a.shape != b.shape:
        return f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}."
    if check_dtype and a.dtype is not b.dtype:
        return f"The values for attribute 'dtype' do not match: {a.dtype} != {b.dtype}."
    relative, absolute = max(TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (a, b))
    relative, absolute = (relative, absolute) if rtol is None or atol is None else (rtol, atol)
    close = isclose(a.double(), b.double(), relative, absolute, equal_nan)
    if close.all():
        return ""
    a, b = ((t.int() if t.dtype is bool_ else t).contiguous() for t in (a, b))
    return text_of_mismatch(a, b, ~close, relative, absolute)


def text_of_mismatch(a: Tensor, b: Tensor, wrong: Tensor, relative: float, absolute: float) -> str:
    """Return in torch's words how many numbers of `a` (actual) and `b` (expected) differ, and the largest differences.

    Both are contiguous, have one shape, and hold no bools. `wrong` is True where they differ by more than is allowed.
    """
    exact, gap, n = relative == absolute == 0, (a - b).abs(), a.numel()
    lines = [f"{'Tensor-likes' if a.ndim else 'Scalars'} are not {'equal' if exact else 'close'}!\n"]
    if a.ndim:
        lines.append(f"Mismatched elements: {int(wrong.sum())} / {n} ({int(wrong.sum()) / n:.1%})")
    else:
        lines.append(f"Expected {b.item()} but got {a.item()}.")
    for name, values, allowed in (("absolute", gap, absolute), ("relative", gap / b.abs(), relative)):
        at = int(values.masked_fill(~wrong, 0).argmax())
        most = values.flatten()[at].item()
        places = tuple(at // step % size for step, size in zip(a.stride(), a.shape, strict=True))
        text = (
            f"Greatest {name} difference: {most} at index {places}" if a.ndim else f"{name.title()} difference: {most}"
        )
        lines.append(text if exact else f"{text} (up to {allowed} allowed)")
    return "\n".join(lines)


__getattr__ = missing_getattr("torch.testing")
