"""Gradients with respect to chosen inputs, and functions with gradients of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..creation import ones_like, zeros_like
from ..gradients import check_start, node_of, run_backward
from ..missing import missing_getattr, refuse_set
from ..tensors import Tensor


def as_list(x: Any) -> list[Any]:
    return [x] if isinstance(x, Tensor) else list(x)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of outputs with respect to inputs, one for each input.

    An unused input has None with `allow_unused`, and zeros with `materialize_grads`. Without `retain_graph`, the graph
    cannot be used again.

    Raises:
        RuntimeError: an output has no gradient history, an output without `grad_outputs` is not a scalar, one of these
            has another shape than its output, or an input was not used.
        NotImplementedError: `create_graph` or `is_grads_batched` is set.
    """
    refuse_set("grad", create_graph=create_graph, is_grads_batched=is_grads_batched)
    outs, ins = as_list(outputs), as_list(inputs)
    starts = as_list(grad_outputs) if grad_outputs is not None else [None] * len(outs)
    for place, (out, start) in enumerate(zip(outs, starts, strict=True)):
        check_start(out, start, place)
        if not out.requires_grad:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        if start is None and out.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not all(x.requires_grad for x in ins):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    starts = [ones_like(out) if start is None else start for out, start in zip(outs, starts, strict=True)]
    got = run_backward(outs, starts, False, bool(retain_graph))
    found = tuple(got.get(id(node_of(x))) for x in ins)
    if materialize_grads:
        return tuple(zeros_like(x) if g is None else g for g, x in zip(found, ins, strict=True))
    if not allow_unused and None in (unused := [None if g is None else i for i, g in enumerate(found)]):
        raise RuntimeError(
            f"The differentiated Tensor at index {unused.index(None)} appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior."
        )
    return found


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of one or several tensors to the `grad` of each leaf; `grad_tensors` start those of tensors.

    Raises:
        RuntimeError: one has no gradient history, or is not a scalar and there is no gradient for it.
        NotImplementedError: `create_graph` or `inputs` is set.
    """
    refuse_set("backward", create_graph=create_graph, inputs=inputs)
    outs = as_list(tensors)
    starts = as_list(grad_tensors) if grad_tensors is not None else [None] * len(outs)
    for i, (out, start) in enumerate(zip(outs, starts, strict=True)):
        if not out.requires_grad:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if start is None and out.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
    starts = [ones_like(out) if start is None else start for out, start in zip(outs, starts, strict=True)]
    run_backward(outs, starts, True, bool(retain_graph))


from . import functional  # noqa: E402, F401 (it imports this file)
from .function import Function  # noqa: E402, F401

__getattr__ = missing_getattr("torch.autograd")
