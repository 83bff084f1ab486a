"""Utilities for parameters and for sequences, as `torch.nn.utils`.

What the page's version lacks raises a NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...joining import cat, stack
from ...missing import missing_getattr, refuse_set
from ...modes import no_grad
from ...tensors import Tensor
from . import rnn

__all__ = ["rnn"]


def gradients_of(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in given if p.grad is not None]


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients in place so that their norm of order `norm_type`, all together, is at most `max_norm`.

    Return the norm before, 0 without gradients; parameters without one are passed over.

    Raises:
        RuntimeError: with `error_if_nonfinite`, the norm is not finite.
    """
    gradients = gradients_of(parameters)
    total = get_total_norm(gradients, norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
    with no_grad():
        for g in gradients:
            g.mul_(scale)
    return total


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of order `norm_type` of the numbers of several tensors, all together; 0 without any.

    `error_if_nonfinite` raises a NotImplementedError.
    """
    refuse_set("get_total_norm", error_if_nonfinite=error_if_nonfinite)
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not given:
        return Tensor([0.0]).sum()
    return stack([t.norm(float(norm_type)) for t in given]).norm(float(norm_type))


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamp each number of the gradients to [−clip_value, clip_value], in place.

    Raises:
        RuntimeError: no parameter has a gradient.
    """
    gradients = gradients_of(parameters)
    if not gradients:
        raise RuntimeError(
            "Expected !nested_tensorlist[0].empty() to be true, but got false.  (Could this error message be improved?  "
            "If so, please report an enhancement request to PyTorch.)"
        )
    with no_grad():
        for g in gradients:
            g.clamp_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    return cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give parameters the numbers of a vector, one after the other. They then share its storage."""
    start: Any = 0
    for p in parameters:
        p.data = vec[start : start + p.numel()].view_as(p).data
        start += p.numel()


__getattr__ = missing_getattr("torch.nn.utils")
