"""Checks of the kinds of arguments, by the annotations of our functions. The error of `torch.sqrt(4)` is torch's.

For a function with several signatures, torch's message lists them all. Here the message is that of a single signature.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import unwrap
from types import NoneType
from typing import Any, NamedTuple

from .dtypes import FLOATING, bool_, dtype
from .missing import UNDOCUMENTED, refuse
from .numbers import INTEGERS, NUMBERS, class_name
from .randomness import Generator
from .shapes import SizesError
from .tensors import Tensor

NAMES = {"x": "input", "a": "input", "p": "input", "b": "other", "cond": "condition"}  # torch's names of our parameters
SECOND = {"bmm": "mat2", "dot": "tensor", "ger": "vec2", "lerp": "end", "lerp_": "end", "mm": "mat2", "mv": "vec"}
SECOND |= {"outer": "vec2", "pow": "exponent", "pow_": "exponent"}  # torch's, for "b"
OF = {  # torch's names of other parameters, by function
    "addr_": {"a": "vec1", "b": "vec2"},
    "broadcast_to": {"shape": "size"},
    "bucketize": {"v": "input"},
    "searchsorted": {"a": "sorted_sequence", "v": "input"},
    "split": {"x": "tensor", "size": "split_size_or_sections"},
    **{f"linalg_{name}": {"a": "A", "b": "B"} for name in ("det", "inv", "qr", "solve", "svd")},
    "linalg_svdvals": {"a": "A"},
    "swapaxes": {"dim0": "axis0", "dim1": "axis1"},
    "tensor_split": {"k": "sections"},
    "where": {"a": "input"},
}
# The keyword for the sizes or axes that a function also takes as single arguments.
SEVERAL_AS = {
    "view": "size",
    "reshape": "shape",
    "repeat": "repeats",
    "expand": "size",
    "permute": "dims",
    "tile": "dims",
}
# These functions also accept a number for a tensor, because they implement operators.
OPERATORS = (
    *("add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder", "pow"),
    *("eq", "ne", "not_equal", "lt", "less", "le", "less_equal", "gt", "greater", "ge", "greater_equal"),
)


def written(name: str, made: Any, out: Tensor) -> Tensor:
    """Write the result of a function into the tensor `out`, which has its shape, and return that.

    Raises:
        NotImplementedError: the shapes differ.
        RuntimeError: one of the two requires a gradient, or `out` cannot hold the dtype.
    """
    if not isinstance(made, Tensor) or made.shape != out.shape:
        refuse(f"`out` of `{name}` that gets another shape,")
    if out.requires_grad or made.requires_grad:
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    return out._write(made)


class Kind(NamedTuple):
    """What an argument may be: torch's word for it, and the classes."""

    word: str
    classes: tuple[type, ...]


SEVERAL = (list, tuple)
# By the parts of our annotations; an argument with any other annotation is not checked.
KINDS = {
    "Tensor": Kind("Tensor", (Tensor,)),
    "bool": Kind("bool", (bool,)),
    "int": Kind("int", INTEGERS),
    "float": Kind("float", (*NUMBERS, bool)),
    "str": Kind("str", (str,)),
    "Axes": Kind("tuple of ints", (*INTEGERS, *SEVERAL, NoneType)),
    "Sizes": Kind("tuple of ints", (*INTEGERS, *SEVERAL)),
    "Sequence[int]": Kind("tuple of ints", SEVERAL),
    "Kind": Kind("torch.dtype", (dtype, type)),
    "Generator": Kind("Generator", (Generator,)),
    "None": Kind("None", (NoneType,)),
}
JOIN = ("cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "row_stack", "column_stack")
IN_PYTHON = {
    "split",
    "tensordot",
    "einsum",
    "unique",
    "norm",
    "meshgrid",
    "save",
    "load",
}  # functions of torch's own in Python
# Arguments that may be left out, but not None.
NOT_NONE = {f"{name}.dim" for name in ("max", "min", "median", "nanmedian", "prod", "squeeze", "squeeze_")}
NOT_NONE |= {"arange.end", "where.a", "where.b"}
# Arguments of torch's functions in Python, which takes any value as true or false; and of `placed`, which checks it.
ANY_VALUE = {"inplace", "reduce", "requires_grad", "return_indices", "size_average", "_stacklevel"}


def kind_of(annotation: str) -> Kind | None:
    """Return the kind of argument of an annotation such as "int | None", or None if it is not checked."""
    parts = [KINDS.get(part) for part in annotation.split(" | ")]
    found = [part for part in parts if part]
    return Kind(found[0].word, sum([part.classes for part in found], ())) if len(found) == len(parts) else None


def number_of(value: Any, kind: Kind) -> Any:
    """Return a tensor of one number as this number, for an argument that takes numbers but no tensors."""
    is_number = isinstance(value, Tensor) and not value.ndim and not value.requires_grad
    if not is_number or Tensor in kind.classes or int not in kind.classes:
        return value
    whole = value.dtype.kind < FLOATING and value.dtype is not bool_
    return value.item() if whole or float in kind.classes else value


class Signature:
    """What a function takes: the places of its arguments, and their kinds."""

    def __init__(self, name: str, function: Callable[..., Any], names: dict[str, str], skip: int) -> None:
        """Take torch's names of arguments by ours, and how many arguments torch does not count: 1 of a method."""
        named = names if names is not NAMES else {**NAMES, "b": SECOND.get(name, "other"), **OF.get(name, {})}
        if skip and name == "split":
            named["size"] = "split_size"
        code, annotations = unwrap(function).__code__, function.__annotations__
        given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        named = {our: word for our, word in named.items() if word != "input" or our in given[:1] or name in OF}
        self.name, self.named, self.skip = name, named, skip
        self.ours = {named.get(our, our): our for our in given}
        numpys = {"x", "a"} if names is NAMES else set()  # which torch takes, too, for `input`
        self.only_ours = set(given) - set(self.ours) - numpys
        self.places = given[: code.co_argcount]
        inside = function.__module__.rpartition("torch.")[2]
        self.native = names is NAMES and name not in IN_PYTHON and not inside.startswith(("nn", "autograd"))
        self.required = self.places[: code.co_argcount - len(unwrap(function).__defaults__ or ())]
        checked = [our for our in given if our not in ANY_VALUE and our in annotations]
        self.kinds = {our: kind for our in checked if (kind := kind_of(annotations[our]))}
        if name in JOIN:
            self.kinds["tensors"] = Kind("tuple of Tensors", SEVERAL)
        for our in given:
            if f"{name}.{our}" in NOT_NONE:
                word, classes = self.kinds[our]
                self.kinds[our] = Kind(word, tuple(one for one in classes if one is not NoneType))
        if name in OPERATORS:
            self.kinds |= {
                our: Kind("Tensor", (Tensor, *NUMBERS)) for our in given[:2] if annotations.get(our) != "Tensor"
            }

    def checked(self, our: str, value: Any, place: int | None = None) -> Any:
        """Return an argument, as a number if it is a tensor of one where a number is taken.

        Raises:
            TypeError: it is of another kind.
        """
        if (kind := self.kinds.get(our)) is None:
            return value
        value = number_of(value, kind)
        if isinstance(value, kind.classes) and (
            type(value) is not bool or bool in kind.classes or self.name in OPERATORS
        ):
            return value
        where = "" if place is None else f" (position {place + 1 - self.skip})"
        what = f"{self.name}(): argument '{self.named.get(our, our)}'{where}"
        raise TypeError(f"{what} must be {kind.word}, not {class_name(value)}")

    def check_count(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise torch's TypeError if a required argument is missing; `kwargs` has ours."""
        numpys = {"dim": "axis", "keepdim": "keepdims"}
        missing = [our for our in self.required[len(args) :] if our not in kwargs and numpys.get(our) not in kwargs]
        if missing and self.name in ("add", "sub"):
            given, rest = ", ".join(map(class_name, args[self.skip :])), "Tensor other, *, Number alpha = 1"
            taken = rest if self.skip else f"Tensor input, {rest}, Tensor out = None"
            raise TypeError(
                f"{self.name}() received an invalid combination of arguments - got ({given}), but expected ({taken})"
            )
        if missing and self.native:
            words = ", ".join(f'"{self.named.get(our, our)}"' for our in missing)
            several = "" if len(missing) > 1 else "s"  # as torch writes it
            raise TypeError(f"{self.name}() missing {len(missing)} required positional argument{several}: {words}")


def check_arguments(
    name: str, function: Callable[..., Any], names: dict[str, str] = NAMES, skip: int = 0
) -> Callable[..., Any]:
    """Return the function with a check: an argument of another kind than its annotation says raises a TypeError.

    It also takes torch's names of arguments, and a tensor `out` for the result. A function without checked arguments
    stays as it is. `names` has torch's names by ours; `skip` is 1 for a method.
    """
    signature = Signature(name, function, names, skip)
    if not signature.kinds:
        function.__doc__ = UNDOCUMENTED
        return function

    right: set[tuple[Any, ...]] = set()  # the classes of arguments that passed, so that they pass at once again
    one_tuple = not skip and name in ("flip", "permute", "reshape", "tile")  # methods also accept several integers

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        classes = (*map(type, args), *kwargs, *map(type, kwargs.values())) if kwargs else tuple(map(type, args))
        if classes in right:
            return named_sizes(*args, **kwargs)
        if one_tuple and len(args) > 1 and isinstance(args[1], (*INTEGERS, Tensor)):
            given = type(args[1]).__name__
            raise TypeError(f"{name}(): argument 'dims' (position 2) must be tuple of ints, not {given}")
        if wrong := [given for given in kwargs if given in signature.only_ours]:
            raise TypeError(f"{name}() got an unexpected keyword argument '{wrong[0]}'")
        ours = {signature.ours.get(given, given): value for given, value in kwargs.items()}
        if SEVERAL_AS.get(name) in ours:
            several = ours.pop(SEVERAL_AS[name])
            if isinstance(several, dtype):  # `view` takes one, but not by this name
                raise TypeError(f"{name}(): argument '{SEVERAL_AS[name]}' must be tuple of ints, not dtype")
            return checked(*(args or (ours.pop(signature.places[0]),)), several, **ours)
        if "out" not in signature.ours and (out := ours.pop("out", None)) is not None:
            return written(name, function(*args, **ours), out)
        values = [
            signature.checked(our, value, place)
            for place, (our, value) in enumerate(zip(signature.places, args, strict=False))
        ]
        more = {our: signature.checked(our, value) for our, value in ours.items()}
        signature.check_count(args, ours)
        if all(a is b for a, b in zip(args, values, strict=False)) and all(
            kwargs.get(our) is v for our, v in more.items()
        ):
            right.add(classes)
        return named_sizes(*values, *args[len(values) :], **more)

    def named_sizes(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except SizesError as error:
            raise TypeError(str(error.args[0]).format(name=name, word=SEVERAL_AS.get(name, "size"))) from None

    checked.__name__ = checked.__qualname__ = name  # `multiply` is also a name of `mul`
    checked.__doc__ = UNDOCUMENTED
    return checked
