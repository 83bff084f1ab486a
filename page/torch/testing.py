"""Comparing tensors in tests."""

from __future__ import annotations

from typing import Any

from .arithmetic import allclose
from .creation import as_tensor
from .dtypes import bfloat16, float16, float32, float64

TOLERANCES = {  # relative, absolute
    float64: (1e-7, 1e-7),
    float32: (1.3e-6, 1e-5),
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
}


def assert_close(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    check_dtype: bool = True,
    equal_nan: bool = False,
    msg: Any = None,
) -> None:
    """Compare two tensors, or two sequences of tensors.

    Raises:
        AssertionError: shapes or dtypes differ, or numbers are not close.
    """
    if isinstance(actual, (tuple, list)):
        for a, b in zip(actual, expected, strict=True):
            assert_close(a, b, rtol, atol, check_dtype, equal_nan, msg)
        return
    a, b = as_tensor(actual), as_tensor(expected)
    if a.shape != b.shape:
        raise AssertionError(f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}.")
    if check_dtype and a.dtype is not b.dtype:
        raise AssertionError(f"The values for attribute 'dtype' do not match: {a.dtype} != {b.dtype}.")
    usual = TOLERANCES.get(a.dtype, (0.0, 0.0))
    rtol, atol = usual[0] if rtol is None else rtol, usual[1] if atol is None else atol
    if not allclose(a.double(), b.double(), rtol, atol, equal_nan):
        raise AssertionError(msg or "Tensor-likes are not close!")
