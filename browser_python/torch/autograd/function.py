"""Functions whose gradients a program writes itself."""

from __future__ import annotations

from typing import Any, NoReturn

from ..gradients import record_step
from ..missing import refuse
from ..modes import no_grad
from ..tensors import Tensor


class Context:
    """What `forward` keeps for `backward`."""

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Do nothing: only results that require a gradient get one."""

    def set_materialize_grads(self, value: bool) -> None:
        """Do nothing: a function with one result always gets its gradient."""


class Function:
    """The base class of operations with a `forward` and a `backward` of their own; `apply` runs one."""

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradient of each argument of `forward`, from that of its result. A subclass has to define it.

        Raises:
            NotImplementedError: it does not.
        """
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise torch's RuntimeError: `apply` runs a function."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
            "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run `forward` without recording it, record `backward` in its place, and return the result.

        A `backward` that returns too few or too many gradients raises a RuntimeError when it runs.

        Raises:
            NotImplementedError: `forward` returns something else than one tensor.
        """
        context = Context()
        operands = [x for x in args if isinstance(x, Tensor)]
        context.needs_input_grad = tuple(isinstance(x, Tensor) and x.requires_grad for x in args)
        with no_grad():
            if hasattr(cls, "setup_context"):
                out = cls.forward(*args)
                cls.setup_context(context, args, out)
            else:
                out = cls.forward(context, *args)
        if not isinstance(out, Tensor):
            refuse("a `Function` with several results")
        out = out.view(out.shape) if any(out is x for x in operands) else out

        def back(g: Tensor) -> list[Any]:
            found = cls.backward(context, g)
            given = found if isinstance(found, tuple) else (found,)
            if len(given) < len(args) or any(d is not None for d in given[len(args) :]):
                raise RuntimeError(
                    f"function {cls.__name__}Backward returned an incorrect number of gradients (expected {len(args)}, got "
                    f"{len(given)})"
                )
            return [d for d, x in zip(given, args, strict=False) if isinstance(x, Tensor)]

        return record_step(out.detach(), operands, back)
