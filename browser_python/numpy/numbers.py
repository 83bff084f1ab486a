"""Single numbers of arrays: they are Python numbers that are shown, and calculated with, as NumPy does."""

from __future__ import annotations

import struct
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import torch
from torch.creation import TRUTH
from torch.numbers import NUMBERS, OtherInteger

from .printing import SINGLE, shortest_single


class generic:  # noqa: N801
    """The class of all of NumPy's scalars. Each class of them has torch's dtype, `kind`."""

    kind: ClassVar[torch.dtype]

    @property
    def dtype(self) -> Any:
        from . import dtype

        return dtype(self.kind)

    @property
    def imag(self) -> Any:
        return number_of(0, self.kind)

    def conjugate(self) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        """Return an attribute that a number shares with arrays: it counts as an array without axes.

        Methods that would return an array without axes return a number instead, as `x.round()`.

        Raises:
            NotImplementedError: NumPy's numbers have it, but not the page's arrays.
            AttributeError: NumPy's numbers do not have it either.
        """
        from . import ndarray, raise_missing

        if name.startswith("_") or not hasattr(ndarray, name):
            raise_missing(self, name)
        found = getattr(ndarray(torch.tensor(self.item(), dtype=self.kind)), name)
        return number_of_call(found) if callable(found) else found


class number(generic):  # noqa: N801
    """NumPy's class of all numbers."""


class integer(number):  # noqa: N801
    """NumPy's class of integers."""


class signedinteger(integer):  # noqa: N801
    """NumPy's class of integers with a sign."""


class unsignedinteger(integer):  # noqa: N801
    """NumPy's class of integers without a sign."""


class inexact(number):  # noqa: N801
    """NumPy's class of floating-point and complex numbers."""


class floating(inexact):  # noqa: N801
    """NumPy's class of floating-point numbers."""


def array_of(value: Any, kind: type[generic]) -> Any:
    """Return the array or number that a class of numbers makes of nested lists, or of an array."""
    from . import array_or_number, as_tensor

    return array_or_number(as_tensor(value, kind))


def is_array(value: Any) -> bool:
    return isinstance(value, (list, tuple, range, torch.Tensor)) or hasattr(value, "_tensor")


class Whole(OtherInteger):
    """An integer or truth value, which holds one of Python: as in NumPy, it is no `int` itself."""

    kind: ClassVar[torch.dtype]
    _value: int

    @classmethod
    def of(cls, value: int) -> Any:
        """Return the number of this class with a value that fits its dtype."""
        made = object.__new__(cls)
        made._value = value
        return made

    def item(self) -> Any:
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __int__(self) -> int:
        return int(self._value)

    def __float__(self) -> float:
        return float(self._value)

    def __complex__(self) -> complex:
        return complex(self._value)

    def __str__(self) -> str:
        return str(self._value)

    def __format__(self, spec: str) -> str:
        return format(self._value, spec)

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> Any:
        return type(self).of, (self._value,)

    @property
    def real(self) -> Any:
        return self


class bool_(Whole, generic):  # noqa: N801
    """A truth value of an array."""

    kind = torch.bool

    def __new__(cls, value: Any = False) -> Any:
        return array_of(value, cls) if is_array(value) else cls.of(bool(value))

    def __repr__(self) -> str:
        return f"np.{self._value}_"

    def __invert__(self) -> Any:
        return bool_(not self)


TRUTH.add(bool_)


class Float(float, floating):
    """A float of a dtype. A result with another one of this dtype, or with a Python number, is of this dtype, too."""

    def __new__(cls, value: Any = 0.0) -> Any:
        return array_of(value, cls) if is_array(value) else super().__new__(cls, rounded(float(value), cls.kind))

    def __str__(self) -> str:
        return shortest_single(float(self), self.kind)

    def __repr__(self) -> str:
        return f"np.{type(self).__name__}({self!s})"

    def __format__(self, spec: str) -> str:
        return format(float(self), spec)

    def __round__(self, digits: int | None = None) -> Any:  # type: ignore[override]
        """Round as NumPy does: multiply, round to an integer, divide. Without `digits`, return a Python integer."""
        if digits is None:
            return round(float(self))
        from . import round as rounded_array

        return rounded_array(self, digits)

    @property
    def real(self) -> Any:
        return self

    def item(self) -> float:
        return float(self)


class Integer(Whole, integer):
    """An integer of a dtype."""

    def __new__(cls, value: Any = 0) -> Any:
        """Return the integer, or an array of a list. A float loses its decimals.

        Raises:
            OverflowError: the dtype cannot hold it.
        """
        if is_array(value):
            return array_of(value, cls)
        found = int(value)
        if found != wrapped(found, cls.kind):
            raise OverflowError(f"Python integer {found} out of bounds for {cls.__name__}")
        return cls.of(found)

    def __index__(self) -> int:
        return self._value

    def __round__(self, digits: int | None = None) -> Any:
        return self._value if digits is None else self.of(round(self._value, digits))

    def __repr__(self) -> str:
        return f"np.{type(self).__name__}({self})"

    @property
    def numerator(self) -> Any:
        return self

    @property
    def denominator(self) -> int:
        return 1

    def is_integer(self) -> bool:
        return True

    def bit_count(self) -> int:
        return self._value.bit_count()


def scalar(name: str, base: type, kind: torch.dtype, *more: type) -> Any:
    members = {"kind": kind, "__doc__": f"NumPy's {name}.", "__module__": "numpy"}
    return type(name, (base, *more), members)


float64, float32 = scalar("float64", Float, torch.float64), scalar("float32", Float, torch.float32)
float16 = scalar("float16", Float, torch.float16)
int64, int32 = (
    scalar("int64", Integer, torch.int64, signedinteger),
    scalar("int32", Integer, torch.int32, signedinteger),
)
int16, int8 = scalar("int16", Integer, torch.int16, signedinteger), scalar("int8", Integer, torch.int8, signedinteger)
uint8 = scalar("uint8", Integer, torch.uint8, unsignedinteger)
KINDS: dict[torch.dtype, Any] = {
    found.kind: found for found in (bool_, uint8, int8, int16, int32, int64, float16, float32, float64)
}
for _class in (generic, number, integer, inexact, signedinteger, unsignedinteger, floating, bool_):
    _class.__module__ = "numpy"
bool_.__name__ = bool_.__qualname__ = "bool"


def number_of_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of an array whose results without axes become numbers."""

    def called(*args: Any, **kwargs: Any) -> Any:
        from . import array_or_number, ndarray

        found = function(*args, **kwargs)
        return array_or_number(found._tensor) if isinstance(found, ndarray) else found

    return called


def rounded(value: float, kind: torch.dtype) -> float:
    """Return a float, rounded to a dtype; infinite if it is too large for it."""
    if code := SINGLE.get(kind):
        try:
            return float(struct.unpack(code, struct.pack(code, value))[0])
        except OverflowError:
            return float("inf") if value > 0 else -float("inf")
    return value


# of the dtypes of integers: how many there are, and the lowest one
BOUNDS = {
    found.kind: (1 << 8 * found.kind.itemsize, torch.iinfo(found.kind).min)
    for found in (uint8, int8, int16, int32, int64)
}


def wrapped(value: int, kind: torch.dtype) -> int:
    """Return an integer as a dtype holds it, which drops the bits that are too many."""
    size, low = BOUNDS[kind]
    return value if low <= value < low + size else (value - low) % size + low


def number_of(value: Any, kind: torch.dtype) -> Any:
    """Return a number as one of this dtype, rounded to it; other dtypes than NumPy's stay Python's."""
    found = KINDS.get(kind)
    if found is None:
        return value
    if issubclass(found, Float):
        return float.__new__(found, rounded(value, kind))
    return found.of(bool(value) if found is bool_ else wrapped(int(value), kind))


# ── arithmetic ────────────────────────────────────────────────────────────────────────────────────
FOR_INTEGERS = {1: torch.float16, 2: torch.float32, 4: torch.float64, 8: torch.float64}  # by their size in bytes
DIVISIONS: dict[str, Callable[..., torch.Tensor]] = {
    "truediv": torch.div,
    "floordiv": torch.floor_divide,
    "mod": torch.remainder,
    "pow": torch.pow,
}


def promoted(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    """Return the dtype of a result of two dtypes: of integers beside floats, a float that holds both."""
    for one, other in ((a, b), (b, a)):
        if one.is_floating_point and not other.is_floating_point and other is not torch.bool:
            return torch.promote_types(one, FOR_INTEGERS[other.itemsize])
    return torch.promote_types(a, b)


def kind_beside(self: Any, other: Any) -> torch.dtype:
    """Return the dtype of a result of one of NumPy's numbers with another number; a Python number adapts to it.

    But an integer or bool with a Python float gives float64, and a bool with a Python integer int64.
    """
    if isinstance(other, generic):
        return promoted(self.kind, other.kind)
    if isinstance(other, float) and not self.kind.is_floating_point:
        return torch.float64
    return torch.int64 if self.kind is torch.bool and not isinstance(other, bool) else self.kind


def is_plain(other: Any) -> bool:
    return isinstance(other, NUMBERS)


def arithmetic(name: str, turned: bool) -> Callable[[Any, Any], Any]:
    """Return an operation of a number with another one, whose result is one of NumPy's numbers.

    With `turned`, the number is the right operand. A division by 0 gives inf or nan, or if its result is an integer, 0.
    A result that the dtype cannot hold wraps around in integers, and is inf in floats.

    Raises:
        OverflowError: an operand is a Python integer that the dtype cannot hold.
        ValueError: an integer has a negative integer power, or is shifted by a negative number.
        TypeError: two truth values are subtracted.
    """

    def operate(self: Any, other: Any) -> Any:
        if not is_plain(other):
            return NotImplemented
        kind = self.kind if type(other) is type(self) else kind_beside(self, other)
        if name == "truediv" and not kind.is_floating_point:
            kind = torch.float64
        if kind is torch.bool and name in ("add", "mul", "and", "or", "xor"):
            return bool_(TRUTHS[name](bool(self), bool(other)))
        if kind is torch.bool and name == "sub":
            raise TypeError(
                "numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` operator, or "
                "the logical_xor function instead."
            )
        plain: Any = float if kind.is_floating_point else int
        if plain is int and type(other) is int and other != wrapped(other, kind):
            raise OverflowError(f"Python integer {other} out of bounds for {KINDS[kind].__name__}")
        a, b = (plain(x) for x in ((other, self) if turned else (self, other)))
        if name == "pow" and plain is int and b < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")
        if plain is float and not hasattr(float, f"__{name}__"):
            return NotImplemented
        try:
            found = getattr(plain, f"__{name}__")(a, b)
        except (ZeroDivisionError, OverflowError):  # NumPy gives inf or nan, or 0 for integers
            if plain is int:
                return number_of(0, kind)
            found = DIVISIONS[name](*(torch.tensor(x, dtype=torch.float64) for x in (a, b))).item()
        return number_of(float("nan") if isinstance(found, complex) else found, kind)

    return operate


TRUTHS: dict[str, Callable[[bool, bool], bool]] = {
    "add": lambda a, b: a or b,
    "or": lambda a, b: a or b,
    "mul": lambda a, b: a and b,
    "and": lambda a, b: a and b,
    "xor": lambda a, b: a != b,
}


def comparison(name: str) -> Callable[[Any, Any], Any]:
    """Return a comparison with a number, whose result is one of NumPy's truth values. A text is never equal."""

    def compare(self: Any, other: Any) -> Any:
        if isinstance(other, str) and name in ("eq", "ne"):
            return bool_(name == "ne")
        if not is_plain(other):
            return NotImplemented
        a, b = (x.item() if isinstance(x, generic) else x for x in (self, other))
        return bool_(getattr(a, f"__{name}__")(b) if type(a) is type(b) else getattr(float(a), f"__{name}__")(float(b)))

    return compare


def of_one(name: str) -> Callable[[Any], Any]:
    """Return an operation of a number alone, whose result has its dtype."""

    def operate(self: Any) -> Any:
        return number_of(getattr(self.item(), f"__{name}__")(), self.kind)

    return operate


def both(self: Any, other: Any) -> Any:
    return (self // other, self % other) if is_plain(other) else NotImplemented


def both_turned(self: Any, other: Any) -> Any:
    return (other // self, other % self) if is_plain(other) else NotImplemented


_plain: type
for _class, _plain in ((Float, float), (Integer, int), (bool_, int)):
    for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
        if hasattr(_plain, f"__{_name}__"):
            setattr(_class, f"__{_name}__", arithmetic(_name, turned=False))
            setattr(_class, f"__r{_name}__", arithmetic(_name, turned=True))
    for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(_class, f"__{_name}__", comparison(_name))
    for _name in ("neg", "pos", "abs") if _class is not bool_ else ():
        setattr(_class, f"__{_name}__", of_one(_name))
    setattr(_class, "__divmod__", both)  # noqa: B010
    setattr(_class, "__rdivmod__", both_turned)  # noqa: B010
setattr(Integer, "__invert__", of_one("invert"))  # noqa: B010
Integral.register(integer)
Real.register(inexact)
