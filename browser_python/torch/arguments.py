"""Checks that arguments are tensors. The error of `torch.sqrt(4)` names the argument, with torch's message.

For a function with several signatures, torch's message lists them all. Here the message is that of a single signature.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import unwrap
from typing import Any

from .missing import refuse
from .numbers import INTEGERS, NUMBERS
from .tensors import Tensor

NAMES = {"x": "input", "a": "input", "p": "input", "b": "other", "cond": "condition"}  # torch's names of our parameters
SECOND = {"bmm": "mat2", "dot": "tensor", "lerp": "end", "mm": "mat2", "mv": "vec", "outer": "vec2"}  # torch's, for "b"
# These functions also accept a number for a tensor, because they implement operators.
OPERATORS = (
    *("add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder", "pow"),
    *("eq", "ne", "not_equal", "lt", "less", "le", "less_equal", "gt", "greater", "ge", "greater_equal"),
)


def written(name: str, made: Any, out: Tensor) -> Tensor:
    """Write the result of a function into the tensor `out`, which has its shape, and return that.

    Raises:
        NotImplementedError: the shapes differ.
        RuntimeError: one of the two requires a gradient.
    """
    if not isinstance(made, Tensor) or made.shape != out.shape:
        refuse(f"`out` of `{name}` that gets another shape,")
    if out.requires_grad or made.requires_grad:
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    return out._write(made)


def check_tensor_arguments(
    name: str, function: Callable[..., Any], names: dict[str, str] = NAMES
) -> Callable[..., Any]:
    """Return the function with a check: a positional argument that must be a tensor, and is not, raises a TypeError.

    It also takes torch's names of arguments, and a tensor `out` for the result. A function without tensors stays as it
    is. `names` has torch's names by ours.
    """
    named = names if names is not NAMES else {**NAMES, "b": SECOND.get(name, "other")}
    kinds, code = function.__annotations__, unwrap(function).__code__
    wanted: list[tuple[int, str, Any]] = [
        (place, named.get(given, given), Tensor if kinds.get(given) == "Tensor" else (Tensor, *NUMBERS))
        for place, given in enumerate(code.co_varnames[: code.co_argcount])
        if kinds.get(given) == "Tensor" or (name in OPERATORS and place < 2)
    ]
    ours = {named.get(given, given): given for given in code.co_varnames[: code.co_argcount]}
    if not wanted:
        return function

    one_tuple = name in ("flip", "permute", "reshape", "tile")  # as a method, each also accepts several integers

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if one_tuple and len(args) > 1 and isinstance(args[1], (*INTEGERS, Tensor)):
            given = type(args[1]).__name__
            raise TypeError(f"{name}(): argument 'dims' (position 2) must be tuple of ints, not {given}")
        if kwargs:
            kwargs = {ours.get(given, given): value for given, value in kwargs.items()}
            if (out := kwargs.pop("out", None)) is not None:
                return written(name, checked(*args, **kwargs), out)
        for place, argument, kinds in wanted:
            if place < len(args) and not isinstance(args[place], kinds):
                given = type(args[place]).__name__
                raise TypeError(f"{name}(): argument '{argument}' (position {place + 1}) must be Tensor, not {given}")
        return function(*args, **kwargs)

    checked.__name__ = checked.__qualname__ = name  # `multiply` is also a name of `mul`
    return checked
