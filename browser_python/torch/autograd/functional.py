"""Derivatives of functions."""

from __future__ import annotations

from collections.abc import Callable

from ..creation import zeros, zeros_like
from ..joining import stack
from ..missing import missing_getattr, refuse, refuse_set
from ..tensors import Tensor
from . import grad


def jacobian(
    func: Callable[[Tensor], Tensor],
    inputs: Tensor,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,  # only a faster way to the same result
) -> Tensor:
    """Return the derivatives of each number of `func(inputs)` with respect to each number of `inputs`.

    The result has no gradient history.

    Shapes:
        result (*shape of func(inputs), *shape of inputs)
    Raises:
        NotImplementedError: `inputs` is not one tensor, or `create_graph` or `strict` is set.
    """
    refuse_set("jacobian", create_graph=create_graph, strict=strict)
    if not isinstance(inputs, Tensor):
        refuse("`jacobian` of several tensors")
    x = inputs.detach().clone().requires_grad_()
    y = func(x)
    rows = []
    for i in range(y.numel()):
        start = zeros(y.numel(), dtype=y.dtype)
        start[i] = 1
        row = grad(y, x, start.reshape(y.shape), True, allow_unused=True)[0] if y.requires_grad else None
        rows.append(zeros_like(x) if row is None else row)
    return stack(rows).reshape((*y.shape, *x.shape)).detach()


__getattr__ = missing_getattr("torch.autograd.functional")
