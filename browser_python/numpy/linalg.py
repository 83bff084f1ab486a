"""Linear algebra of NumPy on that of the page's torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import array_or_number, as_floating, as_tensor, missing_getattr, missing_message, ndarray

LinAlgError = type("LinAlgError", (ValueError,), {"__module__": "numpy.linalg"})


def of_matrix(name: str, unfit: str = "Singular matrix") -> Callable[..., Any]:
    """Return a function of torch for arrays: integers become float64, and torch's error becomes NumPy's.

    `name` is its name in `torch.linalg`, and `unfit` the text of a LinAlgError, which it also raises if an array is no
    matrix, or not square where that is needed.
    """

    def apply(*operands: Any) -> Any:
        tensors = [as_floating(as_tensor(x)) for x in operands]
        sizes = tensors[0].shape
        if len(sizes) < 2:
            raise LinAlgError(f"{len(sizes)}-dimensional array given. Array must be at least two-dimensional")
        if name not in ("pinv", "matrix_rank") and sizes[-1] != sizes[-2]:
            raise LinAlgError("Last 2 dimensions of the array must be square")
        try:
            return array_or_number(getattr(torch.linalg, name)(*tensors))
        except torch.linalg.LinAlgError:
            raise LinAlgError(unfit) from None

    return apply


inv, det, pinv, solve = map(of_matrix, ("inv", "det", "pinv", "solve"))
eigvalsh, matrix_rank = map(of_matrix, ("eigvalsh", "matrix_rank"))
cholesky = of_matrix("cholesky", "Matrix is not positive definite")


def matrix_power(a: Any, n: int) -> Any:
    return array_or_number(torch.linalg.matrix_power(as_tensor(a), n))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    return array_or_number(torch.linalg.norm(as_floating(as_tensor(x)), ord, axis, keepdims))


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> ndarray:
    """Return the singular values of a matrix or of several, the largest first. `full_matrices` changes nothing.

    Raises:
        NotImplementedError: `compute_uv` is true.
        RuntimeError: it is no matrix.
    """
    if compute_uv:
        raise NotImplementedError(missing_message("the result of `numpy.linalg.svd`, but for `compute_uv=False`,"))
    return ndarray(torch.linalg.svdvals(as_floating(as_tensor(a))))


__getattr__ = missing_getattr("numpy.linalg")
