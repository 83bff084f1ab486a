"""Settings (recording of gradients, the default dtype), and `backward`, where gradients start."""

from __future__ import annotations

import functools
from collections.abc import Callable
from copy import copy
from typing import Any, Self

from .creation import ones_like
from .dtypes import CPU, FLOATING, Device, State, check_device, device, dtype
from .gradients import check_start, run_backward
from .missing import refuse_set
from .tensors import Tensor, method


class set_grad_enabled:
    """A context manager that switches the recording of gradients on or off; also without `with`."""

    def __init__(self, on: bool) -> None:
        self.on, self.was, State.grad_enabled = on, State.grad_enabled, on

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.on})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *a: object) -> None:
        State.grad_enabled = self.was


class Mode:
    """A context manager and decorator that switches the recording of gradients."""

    enables = False  # whether gradients are recorded inside

    def __init__(self, f: Callable[..., Any] | None = None) -> None:
        self.f = f

    def __enter__(self) -> Self:
        self.was, State.grad_enabled = State.grad_enabled, self.enables
        return self

    def __exit__(self, *a: object) -> None:
        State.grad_enabled = self.was

    def __call__(self, *a: Any, **k: Any) -> Any:
        """Return a function that runs in this mode, as for `@no_grad()`.

        If the mode was made of a function, as by `@no_grad`, call that in this mode, and return its result.
        """
        if self.f is None:
            f = a[0]

            @functools.wraps(f)
            def g(*a: Any, **k: Any) -> Any:
                with copy(self):
                    return f(*a, **k)

            return g
        with self:
            return self.f(*a, **k)


class no_grad(Mode):
    """Record no gradients inside."""


class enable_grad(Mode):
    enables = True


class inference_mode(Mode):
    """Record no gradients inside, and mark new tensors, which gradients refuse; with False, the other way round."""

    def __init__(self, mode: Any = True) -> None:
        self.f = None if isinstance(mode, bool) else mode
        self.enables = not mode if isinstance(mode, bool) else False

    def __enter__(self) -> Self:
        self.was_inference, State.inference = State.inference, not self.enables
        return super().__enter__()

    def __exit__(self, *a: object) -> None:
        State.inference = self.was_inference
        super().__exit__(*a)


def is_inference_mode_enabled() -> bool:
    return State.inference


def is_inference(x: Tensor) -> bool:
    return x._inference


def is_grad_enabled() -> bool:
    return State.grad_enabled


def get_default_dtype() -> dtype:
    return State.default_dtype


def set_default_dtype(d: dtype) -> None:
    if d.kind < FLOATING:
        raise TypeError("only floating-point types are supported as the default type")
    State.default_dtype = d


def get_default_device() -> device:
    return CPU


def set_default_device(device: Device) -> None:
    check_device(device)


def get_num_threads() -> int:
    return 1


def set_num_threads(n: int) -> None:
    """Do nothing, since there is always one thread; a RuntimeError is raised unless n is a positive integer."""
    if not isinstance(n, int) or n < 1:
        raise RuntimeError("set_num_threads expects a positive integer")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Do nothing: all algorithms are deterministic."""


def is_tensor(x: object) -> bool:
    return isinstance(x, Tensor)


@method
def backward(
    x: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradient of this scalar to the `grad` of each leaf that it depends on.

    `gradient` starts that of a tensor. Without `retain_graph`, the graph cannot be used again.

    Raises:
        RuntimeError: the tensor has no gradient history, is not a scalar and no `gradient` is given, or that has
            another shape.
        NotImplementedError: `create_graph` or `inputs` is set.
    """
    refuse_set("backward", create_graph=create_graph, inputs=inputs)
    check_start(x, gradient)
    if not x.requires_grad:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    if gradient is None and x.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    run_backward([x], [gradient if gradient is not None else ones_like(x)], True, bool(retain_graph))
