"""Elementwise operations: functions of one tensor and of two, comparisons, `where`, and Python's operators.

Errors are those of torch, with its messages, also where a docstring does not list them.
"""

from __future__ import annotations

import builtins
import math
import operator
from array import array
from collections.abc import Callable, Sequence
from itertools import repeat
from math import inf
from typing import Any

from .creation import check_fits, full, tensor
from .dtypes import C_NAMES, FLOATING, INTEGER, TYPE_NAMES, State, bool_, dtype, finfo
from .kernels import BIG, KERNELS, Kernel, address_of, loop_of, scalar
from .numbers import (
    DIVISION_BY_ZERO,
    NUMBERS,
    cos_of,
    exp_of,
    floor_quotient,
    infinite_where_too_large,
    inverse_tanh,
    is_number,
    keeping_infinities,
    larger,
    lgamma_of,
    log_of,
    map_numbers,
    modulo,
    nan_where_undefined,
    plain,
    power,
    quotient,
    remainder_of,
    round_of,
    sigmoid_of,
    sin_of,
    smaller,
    sqrt_of,
    times_log,
    trunc_quotient,
)
from .shapes import broadcast, common_shape, whole
from .tensors import (
    Rule,
    Tensor,
    as_tensor_of,
    broadcast_view,
    in_place,
    laid_out,
    method,
    numbers_as,
    record_rules,
    result_type,
    tensor_from_parts,
    tensor_of,
    without_gradient,
)

Number = Callable[..., float]
# For each name: the function of a number, and the rule for the gradient of its input x, from the gradient g of its
# result y. A rule names only the tensors that it needs, because changing one of these in place is an error.
TO_FLOATING: dict[str, tuple[Any, Any]] = {
    "exp": (exp_of, lambda g, y: g * y),
    "log": (log_of, lambda g, x: g / x),
    "log2": (lambda x: math.log2(x) if x > 0 else log_of(x), lambda g, x: g / (x * math.log(2))),
    "log10": (lambda x: math.log10(x) if x > 0 else log_of(x), lambda g, x: g / (x * math.log(10))),
    "log1p": (lambda x: math.log1p(x) if x > -1 else log_of(1 + x), lambda g, x: g / (1 + x)),
    "expm1": (lambda x: inf if x > 700 else math.expm1(x), lambda g, y: g * (y + 1)),
    "exp2": (lambda x: power(2.0, x), lambda g, y: g * y * math.log(2)),
    "sqrt": (sqrt_of, lambda g, y: g / (2 * y)),
    "rsqrt": (lambda x: quotient(1.0, sqrt_of(x)), lambda g, y: g * -0.5 * y * y * y),
    "sin": (sin_of, lambda g, x: g * x.cos()),
    "cos": (cos_of, lambda g, x: -g * x.sin()),
    "tan": (nan_where_undefined(math.tan), lambda g, y: g * (1 + y * y)),
    "atan": (math.atan, lambda g, x: g / (1 + x * x)),
    "asin": (nan_where_undefined(math.asin), lambda g, x: g / (1 - x * x).sqrt()),
    "acos": (nan_where_undefined(math.acos), lambda g, x: -g / (1 - x * x).sqrt()),
    "sinh": (infinite_where_too_large(math.sinh), lambda g, x: g * x.cosh()),
    "cosh": (infinite_where_too_large(math.cosh), lambda g, x: g * x.sinh()),
    "asinh": (math.asinh, lambda g, x: g / (x * x + 1).sqrt()),
    "acosh": (nan_where_undefined(math.acosh), lambda g, x: g / (x * x - 1).sqrt()),
    "atanh": (inverse_tanh, lambda g, x: g / (1 - x * x)),
    "tanh": (math.tanh, lambda g, y: g * (1 - y * y)),
    "sigmoid": (sigmoid_of, lambda g, y: g * y * (1 - y)),
    "erf": (math.erf, lambda g, x: g * (2 / math.sqrt(math.pi)) * (-x * x).exp()),
    "erfc": (math.erfc, lambda g, x: g * (-2 / math.sqrt(math.pi)) * (-x * x).exp()),
    "lgamma": (lgamma_of, without_gradient("lgamma")),
    "reciprocal": (lambda x: quotient(1.0, x), lambda g, y: -g * y * y),
}
SAME_DTYPE: dict[str, tuple[Any, Any]] = {  # applied to integers, these return integers
    "abs": (abs, lambda g, x: g * x.sign()),
    "sign": (lambda x: (x > 0) - (x < 0), lambda g: g * 0),
    "relu": (lambda x: 0 if x < 0 else x, lambda g, y: where(y > 0, g, 0.0)),
    "floor": (keeping_infinities(math.floor), lambda g: g * 0),
    "ceil": (keeping_infinities(math.ceil), lambda g: g * 0),
    "trunc": (keeping_infinities(math.trunc), lambda g: g * 0),
}


def empty_output(dt: dtype, shape: Sequence[int]) -> Tensor:
    """Return a tensor of zeros, into which a kernel writes its result."""
    return tensor_of(array(dt.code, bytes(math.prod(shape) * dt.stored)), shape, dt)


def kernel_for(name: str, n: int, dt: dtype) -> Kernel | None:
    """Return the kernel of this operation and dtype, or None if there is none, or a loop over `n` numbers is short."""
    return KERNELS.get((name, dt)) if n > BIG else None


def unary_op(name: str, x: Tensor, f: Number, rule: Rule, dt: dtype) -> Tensor:
    """Apply a function to each number of a tensor, with a result of the dtype `dt`; record it for gradients.

    `name` is that of its kernel, if there is one, and `rule` the rule for the gradient of x.
    """
    out = map_one(x, name, f, dt) if x.is_contiguous() else laid_out(map_one, [x], name, f, dt)
    return record_rules(out, [x], [rule], x=x, y=out) if x.requires_grad else out


def map_one(x: Tensor, name: str, f: Number, dt: dtype) -> Tensor:
    """Return a tensor of the dtype `dt` with a function applied to each number, by the kernel `name` or by `f`."""
    kernel = kernel_for(name, x.numel(), dt) if dt is x.dtype else None
    if kernel is None:
        return tensor_of(map_numbers(f, numbers_as(x, dt)), x.shape, dt)
    out, numbers = empty_output(dt, x.shape), x._buffer()
    kernel(address_of(out._data), address_of(numbers), len(numbers))
    return out


def floating_dtype(x: Tensor) -> dtype:
    """Return the tensor's dtype if it is floating-point, else the default dtype."""
    return x.dtype if x.dtype.kind == FLOATING else State.default_dtype


def binary_op(
    name: str, a: Any, b: Any, f: Number, rules: tuple[Rule, Rule] | None = None, kind: dtype | None = None
) -> Tensor:
    """Apply a function to pairs of numbers of two operands, with broadcasting; record it for gradients.

    Each operand is a tensor or a number. The result has the dtype `kind`, or the dtype to which both promote; of
    integers, a quotient has the default dtype. `name` is that of the function's kernel, if there is one. `rules` are
    the rules for the gradients of a and b, from the gradient g of the result y; without them, nothing is recorded.

    Raises:
        TypeError: an operand is neither a tensor nor a number.
        RuntimeError: the shapes do not broadcast, or an integer is divided by 0.
    """
    first, second = isinstance(a, Tensor), isinstance(b, Tensor)
    if not second:
        b = plain(b)
    elif not first:
        a = plain(a)
    if not first and not second:
        a, first = tensor(a), True
    if not (first or is_number(a)) or not (second or is_number(b)):
        raise TypeError(f"argument 'other' must be Tensor, not {type(b if first else a).__name__}")
    x = a if first else b
    if x.dtype.kind == FLOATING and (not (first and second) or a.dtype is b.dtype):
        dt = x.dtype
    else:
        dt = result_type(a, b)
        if name in ("div", "xlogy", "atan2") and dt.kind < FLOATING:
            dt = State.default_dtype
    out = pair_by_kernel(name, a, b, dt, kind or dt) if (name, dt) in KERNELS else None
    if out is None and first and second:
        shape = a.shape if a.shape == b.shape else broadcast((a.shape, b.shape))
        left, right = (t if t.shape == shape else broadcast_view(t, shape) for t in (a, b))
        simple = a.is_contiguous() and b.is_contiguous()
        out = map_two(left, right, f, dt, kind or dt) if simple else laid_out(map_two, [left, right], f, dt, kind or dt)
    elif out is None:
        args = (b if first else a, not first, f, dt, kind or dt)
        out = map_with_number(x, *args) if x.is_contiguous() else laid_out(map_with_number, [x], *args)
    if rules is None or not ((first and a.requires_grad) or (second and b.requires_grad)):
        return out
    return record_rules(out, (a, b), rules, a=a, b=b, y=out)


def pair_by_kernel(name: str, a: Any, b: Any, dt: dtype, kind: dtype) -> Tensor | None:
    """Apply the kernel `name`, which there must be for `dt`, to pairs of numbers of two operands.

    It computes in the dtype `dt`, and the result has the dtype `kind`. Return None if the loop is so short that Python
    is as fast.
    """
    size = dt.itemsize
    first, second = isinstance(a, Tensor), isinstance(b, Tensor)
    if first and a.dtype is not dt:
        a = a.detach().to(dt)
    if second and b.dtype is not dt:
        b = b.detach().to(dt)
    if first and second:
        loop = loop_of(name, dt, (kind.itemsize, size, size), a.shape, a._strides, b.shape, b._strides)
    elif first:
        loop = loop_of(name, dt, (kind.itemsize, size, size), a.shape, a._strides, (), ())
    else:
        loop = loop_of(name, dt, (kind.itemsize, size, size), (), (), b.shape, b._strides)
    if loop.n <= (0 if name in EXACT else BIG):
        return None
    out = array(kind.code, bytes(loop.n * kind.itemsize))
    at_a = a._data.buffer_info()[0] + a._offset * size if first else scalar(a, dt)
    at_b = b._data.buffer_info()[0] + b._offset * size if second else scalar(b, dt)
    loop.run(out.buffer_info()[0], at_a, at_b)
    return tensor_from_parts(kind, out, 0, loop.shape, loop.strides)


def map_two(x: Tensor, y: Tensor, f: Number, dt: dtype, kind: dtype) -> Tensor:
    """Apply a function to pairs of numbers of two tensors of one shape. Compute in the dtype `dt`.

    The result has the dtype `kind`.
    """
    return tensor_of(map_numbers(f, numbers_as(x, dt), numbers_as(y, dt)), x.shape, kind)


def map_with_number(t: Tensor, s: float, flip: bool, f: Number, dt: dtype, kind: dtype) -> Tensor:
    """Apply a function to each number of a tensor and a number `s`, which is the first operand if `flip` is set.

    Both are converted to the dtype `dt` first. The result has the dtype `kind`, and the shape of `t`.

    Raises:
        RuntimeError: an integer is divided by 0.
    """
    if dt.kind == FLOATING:
        s = array(dt.code, [s])[0]
    x = numbers_as(t, dt)
    try:
        return tensor_of(map_numbers(f, repeat(s), x) if flip else map_numbers(f, x, repeat(s)), t.shape, kind)
    except ZeroDivisionError:
        raise RuntimeError(DIVISION_BY_ZERO) from None


def scaled(b: Tensor | float, alpha: float, *operands: Tensor | float) -> Tensor | float:
    """Return the operand `b` of a sum, times `alpha`; `operands` are the others.

    Raises:
        RuntimeError: alpha is a float, and all operands are integers or bools.
    """
    if alpha == 1:
        return b
    if isinstance(alpha, float) and result_type(b, *operands).kind < FLOATING:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    return b * alpha


EXACT = {"add", "sub", "mul", "div", "eq", "ne", "lt", "le"}  # IEEE 754 defines each bit: a kernel has Python's

OF_SUM = (lambda g: g, lambda g: g)
OF_DIFFERENCE = (lambda g: g, lambda g: -g)
OF_PRODUCT = (lambda g, b: g * b, lambda g, a: g * a)
OF_QUOTIENT = (lambda g, b: g / b, lambda g, a, b: -g * (a / b) / b)


@method
def add(a: Tensor | float, b: Tensor | float, *, alpha: float = 1) -> Tensor:
    return binary_op("add", a, scaled(b, alpha, a), operator.add, OF_SUM)


@method
def sub(a: Tensor | float, b: Tensor | float, *, alpha: float = 1) -> Tensor:
    """Return a − alpha·b, with broadcasting.

    Raises:
        RuntimeError: an operand is a bool, alpha is a float and both are integers, or the shapes do not broadcast.
    """
    kinds = [x.dtype if isinstance(x, Tensor) else type(x) for x in (a, b)]
    if kinds == [bool_, bool_]:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if bool_ in kinds or bool in kinds:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        )
    return binary_op("sub", a, scaled(b, alpha, a), operator.sub, OF_DIFFERENCE)


@method
def mul(a: Tensor | float, b: Tensor | float) -> Tensor:
    return binary_op("mul", a, b, operator.mul, OF_PRODUCT)


@method
def div(a: Tensor | float, b: Tensor | float, *, rounding_mode: str | None = None) -> Tensor:
    """Return a / b, with broadcasting; with `rounding_mode`, rounded down ("floor") or toward 0 ("trunc").

    Raises:
        RuntimeError: there is no such mode, an integer is divided by 0 in one, or the shapes do not broadcast.
    """
    if rounding_mode is not None:
        if rounding_mode not in ROUNDED:
            raise RuntimeError(
                f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
            )
        name, f = ROUNDED[rounding_mode]
        return binary_op(name, a, b, f, (lambda g: g * 0, lambda g: g * 0))
    return binary_op("div", a, b, quotient, OF_QUOTIENT)


ROUNDED = {"floor": ("fdiv", floor_quotient), "trunc": ("tdiv", trunc_quotient)}


def gradient_of_base(g: Tensor, a: Tensor, b: Tensor | float) -> Tensor:
    """Return the gradient of `a` in `a ** b`: g·b·aᵇ⁻¹, and 0 where b = 0."""
    if isinstance(b, Tensor):
        zero: Any = b == 0
        return g * where(zero, 0.0, b * a ** (b - 1))
    return g * (b * a ** (b - 1) if b else 0.0)


def gradient_of_exponent(g: Tensor, a: Tensor | float, b: Tensor | float, y: Tensor) -> Tensor:
    log = a.log() if isinstance(a, Tensor) else log_of(a)
    base_is_zero: Any = a == 0
    return g * where(base_is_zero & (b >= 0), 0.0, y * log)


@method
def pow(a: Tensor | float, b: Tensor | float) -> Tensor:
    """Return aᵇ, with broadcasting. A square is computed as a product.

    Raises:
        RuntimeError: `a` holds integers, and `b` is a negative Python integer; or the shapes do not broadcast.
    """
    if is_number(b) and b < 0 and result_type(a, b).kind == INTEGER:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if type(b) in (int, float) and b == 2 and isinstance(a, Tensor) and a.dtype.kind == FLOATING:
        out = binary_op("mul", a.detach(), a.detach(), operator.mul)
        return record_rules(out, [a], [lambda g, a: g * (2 * a)], a=a)
    return binary_op("pow", a, b, power, (gradient_of_base, gradient_of_exponent))


@method
def floor_divide(a: Tensor | float, b: Tensor | float) -> Tensor:
    return binary_op("fdiv", a, b, floor_quotient, (without_gradient("floor_divide"), without_gradient("floor_divide")))


@method
def remainder(a: Tensor | float, b: Tensor | float) -> Tensor:
    return binary_op("mod", a, b, modulo, (lambda g: g, lambda g, a, b: -g * div(a, b, rounding_mode="floor")))


@method
def fmod(a: Tensor, b: Tensor | float) -> Tensor:
    """Return the remainder of a / b rounded toward 0, with broadcasting: it has the sign of a.

    Raises:
        NotImplementedError: both are bool.
        RuntimeError: an integer is divided by 0, or the shapes do not broadcast.
    """
    if result_type(a, b) is bool_:
        raise NotImplementedError("\"fmod_cpu\" not implemented for 'Bool'")
    return binary_op("fmod", a, b, remainder_of, (lambda g: g, lambda g, a, b: -g * div(a, b, rounding_mode="trunc")))


@method
def hypot(a: Tensor, b: Tensor) -> Tensor:
    """Return √(a² + b²), with broadcasting.

    Raises:
        TypeError: one is no tensor.
        NotImplementedError: neither is floating-point.
        RuntimeError: the shapes do not broadcast.
    """
    check_tensors(a, b)
    check_implemented("hypot", result_type(a, b))
    return binary_op("hypot", a, b, math.hypot, (lambda g, a, y: g * (a / y), lambda g, b, y: g * (b / y)))


@method
def atan2(a: Tensor, b: Tensor) -> Tensor:
    """Return the angle of the point (b, a) in radians, from −π to π, with broadcasting.

    Raises:
        TypeError: one is no tensor.
        RuntimeError: the shapes do not broadcast.
    """
    check_tensors(a, b)
    squares = lambda a, b: (a * a + b * b).masked_fill((a == 0) & (b == 0), inf)  # noqa: E731
    rules = (lambda g, a, b: g * b / squares(a, b), lambda g, a, b: -g * a / squares(a, b))
    return binary_op("atan2", a, b, math.atan2, rules)


@method
def heaviside(x: Tensor, values: Tensor) -> Tensor:
    """Return 0 for negative numbers and nan, 1 for positive numbers, and `values` for 0, with broadcasting.

    It has no gradient.

    Raises:
        TypeError: one is no tensor.
        RuntimeError: the dtypes differ, or the shapes do not broadcast.
    """
    check_tensors(x, values)
    if x.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    none = without_gradient("heaviside")
    return binary_op("heaviside", x, values, lambda a, b: b if a == 0 else 0 if a < 0 or a != a else 1, (none, none))


def gradient_of_extreme(g: Tensor, equal: Tensor, smaller: Tensor) -> Tensor:
    """Return the gradient of an operand of `maximum` or `minimum`: half of `g` where both operands are `equal`.

    It is 0 where the other operand was chosen (`smaller`: for `minimum`, where this one is larger), and `g` elsewhere.
    """
    return where(smaller, 0.0, where(equal, g / 2, g))


@method
def maximum(a: Tensor, b: Tensor) -> Tensor:
    """Return the larger number of each pair, with broadcasting; nan if one of the two is nan.

    Raises:
        TypeError: one is no tensor.
        RuntimeError: the shapes do not broadcast.
    """
    check_tensors(a, b)
    return binary_op(
        "max",
        a,
        b,
        larger,
        (lambda g, a, b: gradient_of_extreme(g, a == b, a < b), lambda g, a, b: gradient_of_extreme(g, a == b, b < a)),
    )


@method
def minimum(a: Tensor, b: Tensor) -> Tensor:
    """Return the smaller number of each pair, with broadcasting; nan if one of the two is nan.

    Raises:
        TypeError: one is no tensor.
        RuntimeError: the shapes do not broadcast.
    """
    check_tensors(a, b)
    return binary_op(
        "min",
        a,
        b,
        smaller,
        (lambda g, a, b: gradient_of_extreme(g, a == b, a > b), lambda g, a, b: gradient_of_extreme(g, a == b, b > a)),
    )


def check_implemented(name: str, kind: dtype) -> None:
    """Raise torch's NotImplementedError, which has the function's name, if a dtype is not floating-point."""
    if kind.kind < FLOATING:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{TYPE_NAMES[kind]}'")


def check_tensors(*operands: object) -> None:
    for x in operands:
        if not isinstance(x, Tensor):
            raise TypeError(f"argument 'other' must be Tensor, not {type(x).__name__}")


def comparison(name: str, f: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Tensor]:
    """Return a function that compares two operands by `f`, with broadcasting, and add it to `Tensor` as a method.

    Its result is a tensor of bools.
    """

    def compare(a: Tensor, b: Tensor | float) -> Tensor:
        return binary_op(name, a, b, f, kind=bool_)

    setattr(Tensor, name, compare)
    return compare


@method
def gt(a: Tensor | float, b: Tensor | float) -> Tensor:
    return binary_op("lt", b, a, operator.lt, kind=bool_)


@method
def ge(a: Tensor | float, b: Tensor | float) -> Tensor:
    return binary_op("le", b, a, operator.le, kind=bool_)


eq, ne = comparison("eq", operator.eq), comparison("ne", operator.ne)
lt, le = comparison("lt", operator.lt), comparison("le", operator.le)


def bitwise(name: str, f: Callable[[int, int], int], full_name: str = "") -> Callable[[Any, Any], Tensor]:
    """Return a bitwise function of two operands, by `f` of two integers, which raises a NotImplementedError for floats.

    Add it to `Tensor` as the method `bitwise_` and `full_name`, by default `name`, which the errors have.
    """

    def combine(a: Tensor | float, b: Tensor | float) -> Tensor:
        for x in (a, b):
            if isinstance(x, float) or (isinstance(x, Tensor) and x.dtype.kind == FLOATING):
                kind = TYPE_NAMES[x.dtype] if isinstance(x, Tensor) else "Float"
                raise NotImplementedError(f"\"bitwise_{name}_cpu\" not implemented for '{kind}'")
        return binary_op(name, a, b, f)

    setattr(Tensor, f"bitwise_{full_name or name}", combine)
    return combine


bitwise_and, bitwise_or = bitwise("and", operator.and_), bitwise("or", operator.or_)
bitwise_xor = bitwise("xor", operator.xor)
bitwise_left_shift, bitwise_right_shift = (
    bitwise("lshift", operator.lshift, "left_shift"),
    bitwise("rshift", operator.rshift, "right_shift"),
)


@method
def logical_and(a: Tensor, b: Tensor) -> Tensor:
    return a.bool() & b.bool()


@method
def logical_or(a: Tensor, b: Tensor) -> Tensor:
    return a.bool() | b.bool()


@method
def logical_xor(a: Tensor, b: Tensor) -> Tensor:
    return a.bool() ^ b.bool()


@method
def logical_not(x: Tensor) -> Tensor:
    if x.dtype is bool_:
        return tensor_of(array("B", x._buffer().tobytes().translate(NOT)), x.shape, bool_)
    return tensor_of([0 if v else 1 for v in x._numbers()], x.shape, bool_)


NOT = bytes([1] + [0] * 255)  # for each byte of a bool, the opposite


@method
def bitwise_not(x: Tensor) -> Tensor:
    if x.dtype.kind == FLOATING:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return logical_not(x) if x.dtype is bool_ else tensor_of([~v for v in x._numbers()], x.shape, x.dtype)


def where(cond: Tensor, a: Tensor | float | None = None, b: Tensor | float | None = None) -> Any:
    """Return the numbers of `a` where the condition holds, and of `b` elsewhere, with broadcasting.

    Without `a` and `b`, return the indices of the places where the condition holds, one tensor for each axis.

    Raises:
        TypeError: `a` is given without `b`.
        RuntimeError: the condition is not bool, or the shapes do not broadcast.
    """
    if a is None:
        return cond.nonzero(as_tuple=True)
    if b is None:
        raise TypeError("where() received an invalid combination of arguments: one of two tensors is missing")
    dt = result_type(a, b)
    ta, tb = as_tensor_of(a, dt), as_tensor_of(b, dt)
    shape = common_shape(cond.shape, ta.shape, tb.shape)
    if cond.dtype is not bool_:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {TYPE_NAMES[cond.dtype]}"
        )
    c, x, y = (broadcast_view(t, shape) for t in (cond, ta, tb))
    simple = all(t.is_contiguous() for t in (cond, ta, tb))
    out = choose(c, x, y, dt) if simple else laid_out(choose, [c, x, y], dt)
    rules = (lambda g, cond: where(cond, g, 0.0), lambda g, cond: where(cond, 0.0, g))
    return record_rules(out, (ta, tb), rules, cond=cond)


def choose(cond: Tensor, a: Tensor, b: Tensor, dt: dtype) -> Tensor:
    """Return the numbers of `a` where the condition holds, and of `b` elsewhere, for tensors of one shape.

    The result has the dtype `dt`, and no gradient history.
    """
    if kernel_for("choose", cond.numel(), dt):
        three, size = (cond, a.detach().to(dt), b.detach().to(dt)), dt.itemsize
        loop = loop_of("choose", dt, (size, 1, size, size), *(part for t in three for part in (t.shape, t._strides)))
        out = array(dt.code, bytes(loop.n * size))
        loop.run(address_of(out), *(t._address() for t in three))
        return tensor_from_parts(dt, out, 0, loop.shape, loop.strides)
    pairs = zip(cond._numbers(), numbers_as(a, dt), numbers_as(b, dt), strict=True)
    return tensor_of([x if k else y for k, x, y in pairs], cond.shape, dt)


@method
def masked_fill(x: Tensor, mask: Tensor, value: Tensor | float) -> Tensor:
    """Return a copy of `x` with `value` in each place where `mask` is True. Both are broadcast together.

    Raises:
        TypeError: the mask is not a tensor, or the value is None.
        RuntimeError: the mask is not bool, the value is a tensor with axes or does not fit the dtype of `x`, or the
            shapes do not broadcast.
    """
    if not isinstance(mask, Tensor) or value is None:
        given = ", ".join("NoneType" if one is None else type(one).__name__ for one in (mask, value))
        raise TypeError(
            f"masked_fill() received an invalid combination of arguments - got ({given}), but expected one of:\n"
            " * (Tensor mask, Tensor value)\n * (Tensor mask, Number value)\n"
        )
    if mask.dtype is not bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {C_NAMES[mask.dtype]}")
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if isinstance(value, Tensor):
        check_fits(value.item(), x.dtype)
    else:
        value = full((), value, dtype=x.dtype)
    return where(mask, value.to(x.dtype), x).contiguous()


@method
def clamp(x: Tensor, min: Tensor | float | None = None, max: Tensor | float | None = None) -> Tensor:
    """Return `x` with numbers below `min` replaced by `min`, and those above `max` by `max`. The gradient there is 0.

    If `min` is above `max`, the result is `max`. The bounds have no gradient here: theirs is a NotImplementedError.

    Raises:
        RuntimeError: both are None.
        TypeError: one is a tensor with axes, and the other a number.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    bounds = [bound for bound in (min, max) if bound is not None]
    if any(isinstance(bound, Tensor) and bound.ndim for bound in bounds) and not all(
        isinstance(bound, Tensor) for bound in bounds
    ):
        raise TypeError("clamp(): arguments 'min' and 'max' must both be tensors or both be numbers")
    y = x.detach()
    y = y if min is None else binary_op("max", y, min, larger)
    y = y if max is None else binary_op("min", y, max, smaller)

    def rule(g: Tensor, x: Tensor) -> Tensor:
        g = g if min is None else g * (x >= min)
        return g if max is None else g * (x <= max)

    bad = without_gradient("min and max of clamp")
    return record_rules(y, (x, *bounds), (rule, *(bad for _ in bounds)), x=x)


clip = clamp


@method
def nan_to_num(x: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """Return `x` with other numbers for nan, inf and −inf: by default 0 and the limits of its dtype.

    The gradient there is 0.
    """
    top = finfo(x.dtype).max if x.dtype.kind == FLOATING else 0
    hi, lo = top if posinf is None else posinf, -top if neginf is None else neginf
    out = tensor_of(
        [nan if v != v else hi if v == inf else lo if v == -inf else v for v in x._numbers()], x.shape, x.dtype
    )
    return record_rules(out, [x], [lambda g, x: g * isfinite(x)], x=x)


@method
def isnan(x: Tensor) -> Tensor:
    return tensor_of([v != v for v in x._numbers()], x.shape, bool_)


@method
def isinf(x: Tensor) -> Tensor:
    return tensor_of([v in (inf, -inf) for v in x._numbers()], x.shape, bool_)


@method
def isneginf(x: Tensor) -> Tensor:
    return tensor_of([v == -inf for v in x._numbers()], x.shape, bool_)


@method
def isfinite(x: Tensor) -> Tensor:
    return tensor_of([v == v and v not in (inf, -inf) for v in x._numbers()], x.shape, bool_)


def check_nearness(a: Tensor, b: Tensor, rtol: float, atol: float) -> None:
    """Raise a RuntimeError, as torch's `isclose` does, if two dtypes differ, or a tolerance is negative."""
    if a.dtype is not b.dtype:
        raise RuntimeError(f"{TYPE_NAMES[a.dtype]} did not match {TYPE_NAMES[b.dtype]}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")


def nearness(a: Tensor, b: Tensor, rtol: float, atol: float, equal_nan: bool) -> list[bool]:
    """Return for each pair of numbers of two tensors, after broadcasting, whether the numbers are close.

    That is |a − b| ≤ atol + rtol·|b|, with a finite b, or equality; with `equal_nan`, nan is close to nan.
    """
    size, shape = builtins.abs, common_shape(a.shape, b.shape)
    return [
        v == w or (size(v - w) <= atol + rtol * size(w) and size(w) != inf) or (equal_nan and v != v and w != w)
        for v, w in zip(broadcast_view(a, shape)._numbers(), broadcast_view(b, shape)._numbers(), strict=True)
    ]


@method
def isclose(a: Tensor, b: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    check_nearness(a, b, rtol, atol)
    return tensor_of(nearness(a, b, rtol, atol, equal_nan), common_shape(a.shape, b.shape), bool_)


@method
def allclose(a: Tensor, b: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Return whether all numbers are close: |a − b| ≤ atol + rtol·|b|, after broadcasting.

    With `equal_nan`, nan is close to nan.

    Raises:
        RuntimeError: the dtypes differ, a tolerance is negative, or the shapes do not broadcast.
    """
    check_nearness(a, b, rtol, atol)
    if equal(a, b):  # a shortcut for the frequent case
        return True
    return builtins.all(nearness(a, b, rtol, atol, equal_nan))


@method
def equal(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors have the same shape and the same numbers. nan equals nothing."""
    if a.shape != b.shape:
        return False
    x, y = a._numbers(), b._numbers()
    if type(x) is type(y) is array:
        return memoryview(x) == memoryview(y)  # compares without an object for each number
    return x == y if type(x) is type(y) else list(x) == list(y)


@method
def lerp(a: Tensor, b: Tensor, weight: Tensor | float) -> Tensor:
    """Return a + weight·(b − a), computed from the nearer one of a and b, with broadcasting.

    Raises:
        NotImplementedError: a is not floating-point.
        RuntimeError: another tensor has another dtype than a, or the shapes do not broadcast.
    """
    if a.dtype.kind < FLOATING:
        raise NotImplementedError(f"\"lerp_kernel_scalar\" not implemented for '{TYPE_NAMES[a.dtype]}'")
    for name, t in (("end", b), ("weight", weight)):
        if isinstance(t, Tensor) and t.dtype is not a.dtype and (t.ndim or t is b):
            kinds = f"{C_NAMES[a.dtype]} for `{name}` but got dtype {C_NAMES[t.dtype]}"
            raise RuntimeError(f"expected dtype {kinds}")
    if not isinstance(weight, Tensor):
        return a + weight * (b - a) if abs(weight) < 0.5 else b - (b - a) * (1 - weight)
    return where(FUNCTIONS["abs"](weight) < 0.5, a + weight * (b - a), b - (b - a) * (1 - weight))


def gradient_of_factor(g: Tensor, a: Tensor, b: Tensor | float) -> Tensor:
    """Return the gradient of `a` in `xlogy(a, b)`."""
    b = as_tensor_of(b, a.dtype)
    return g * where((a == 0) & (b <= 0), 0.0, b.log())


@method
def xlogy(a: Tensor | float, b: Tensor | float) -> Tensor:
    return binary_op("xlogy", a, b, times_log, (gradient_of_factor, lambda g, a, b: g * a / b))


@method
def square(x: Tensor) -> Tensor:
    return x**2


@method
def round(x: Tensor, *, decimals: int = 0) -> Tensor:
    """Round to the nearest integer, ties to even; or to a number of decimals.

    Raises:
        NotImplementedError: the tensor is bool, or integers are rounded to decimals.
    """
    if x.dtype is bool_ or (decimals and x.dtype.kind < FLOATING):
        name = "round_cpu" if decimals else "round_vml_cpu"
        raise NotImplementedError(f"\"{name}\" not implemented for '{TYPE_NAMES[x.dtype]}'")
    if decimals := whole(decimals, "decimals"):
        scaled = x.float() if x.dtype.itemsize == 2 else x
        power = 10.0 ** abs(decimals)
        found = (scaled * power).round() / power if decimals > 0 else (scaled / power).round() * power
        return found.to(x.dtype)
    return x.clone() if x.dtype.kind < FLOATING else unary_op("round", x, round_of, lambda g: g * 0, x.dtype)


@method
def neg(x: Tensor) -> Tensor:
    """Return −x.

    Raises:
        RuntimeError: the tensor is bool.
    """
    if x.dtype is bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
            "`~` or `logical_not()` operator instead."
        )
    return unary_op("neg", x, operator.neg, lambda g: -g, x.dtype)


# ── functions of one number, and their in-place versions ──────────────────────────────────────────
def add_function(name: str, f: Number, rule: Rule, keeps_dtype: bool) -> Callable[[Tensor], Tensor]:
    """Return a function of one tensor, and add it to `Tensor` as a method and as an in-place method (`name_`).

    `f` is the function of a number, and `rule` the rule for its gradient. Unless `keeps_dtype`, integers and bools
    become floats; with it, the function raises a NotImplementedError for bools, but for `sign`.
    """

    def apply(x: Tensor) -> Tensor:
        if keeps_dtype and x.dtype is bool_ and name != "sign":
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
        if keeps_dtype and x.dtype.kind < FLOATING and name in ("floor", "ceil", "trunc"):
            return x.clone()
        return unary_op(name, x, f, rule, x.dtype if keeps_dtype else floating_dtype(x))

    apply.__name__ = apply.__qualname__ = name
    setattr(Tensor, name, apply)
    setattr(Tensor, f"{name}_", in_place(apply))
    return apply


FUNCTIONS = {
    name: add_function(name, f, rule, table is SAME_DTYPE)
    for table in (TO_FLOATING, SAME_DTYPE)
    for name, (f, rule) in table.items()
}
Tensor.absolute, Tensor.arccos, Tensor.negative = Tensor.abs, Tensor.acos, neg  # type: ignore[attr-defined]
Tensor.multiply, Tensor.divide, Tensor.subtract, Tensor.true_divide = mul, div, sub, div  # type: ignore[attr-defined]
Tensor.clip = clamp  # type: ignore[attr-defined]


@method
def clamp_min(x: Tensor, min: Tensor | float) -> Tensor:
    return clamp(x, min)


@method
def clamp_max(x: Tensor, max: Tensor | float) -> Tensor:
    return clamp(x, max=max)


# ── operators ─────────────────────────────────────────────────────────────────────────────────────
SIGNS = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "** or pow()", "floordiv": "//", "mod": "%"},
    **{"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"},
}
OPERATORS = {
    "add": lambda a, b: binary_op("add", a, b, operator.add, OF_SUM),
    "sub": sub,
    "mul": mul,
    "truediv": div,
    "pow": pow,
    "floordiv": floor_divide,
    "mod": remainder,
    "and": bitwise_and,
    "or": bitwise_or,
    "xor": bitwise_xor,
    "lshift": bitwise_left_shift,
    "rshift": bitwise_right_shift,
    "eq": eq,
    "ne": ne,
    "lt": lt,
    "le": le,
    "gt": gt,
    "ge": ge,
}


OPERANDS = (Tensor, *NUMBERS)


def beside_array(f: Callable[[Any, Any], Tensor], x: Tensor, array: Tensor) -> Tensor:
    """Return `f(x, array)` for a tensor and that of an array of the page's numpy.

    Raises:
        ValueError: NumPy's error, if the shapes do not broadcast.
    """
    try:
        common_shape(x.shape, array.shape)
    except RuntimeError:
        shapes = " ".join(f"({','.join(map(str, t.shape))}{',' * (t.ndim == 1)})" for t in (x, array))
        raise ValueError(f"operands could not be broadcast together with shapes {shapes} ") from None
    return f(x, array)


def add_operator(name: str, f: Callable[[Any, Any], Tensor]) -> None:
    """Add operator `name`, computed by `f`, to `Tensor`, with the tensor on the left.

    Unless it compares, add it also with the tensor on the right, and in place. What is no tensor or number is unequal;
    beside it, the operators with a sign raise a TypeError.
    """

    def left(x: Tensor, other: Any) -> Any:
        if isinstance(other, OPERANDS):
            return f(x, other)
        if hasattr(other, "_tensor") and name in ("lt", "le", "gt", "ge"):
            return NotImplemented
        if hasattr(other, "_tensor") and name != "ne":  # an array of the page's numpy; of it, torch says True at once
            return beside_array(f, x, other._tensor)
        if name in ("eq", "ne"):
            return name == "ne"
        if name not in SIGNS:
            return NotImplemented
        raise TypeError(f"unsupported operand type(s) for {SIGNS[name]}: 'Tensor' and '{type(other).__name__}'")

    def right(x: Tensor, other: Any) -> Any:
        other = getattr(other, "_tensor", other)
        return f(other, x) if isinstance(other, OPERANDS) else NotImplemented

    write = in_place(left)

    def write_left(x: Tensor, other: Any) -> Any:
        return NotImplemented if hasattr(other, "_tensor") else write(x, other)  # then Python computes `x = x + array`

    setattr(Tensor, f"__{name}__", left)
    if name in SIGNS:
        setattr(Tensor, f"__r{name}__", right)
        setattr(Tensor, f"__i{name}__", write_left)


for _name, _f in OPERATORS.items():
    add_operator(_name, _f)
IN_PLACE: dict[str, Callable[..., Tensor]] = {
    **{
        "add": add,
        "sub": sub,
        "mul": mul,
        "div": div,
        "pow": pow,
        "remainder": remainder,
        "floor_divide": floor_divide,
    },
    **{"subtract": sub, "multiply": mul, "divide": div, "true_divide": div, "clamp": clamp, "clip": clamp},
    **{
        "neg": neg,
        "fmod": fmod,
        "round": round,
        "square": square,
        "logical_not": logical_not,
        "nan_to_num": nan_to_num,
        "lerp": lerp,
    },
}
for _name, _f in IN_PLACE.items():
    setattr(Tensor, f"{_name}_", in_place(_f))
UNARY: dict[str, Callable[..., Tensor]] = {
    "neg": neg,
    "pos": lambda x: x,
    "invert": bitwise_not,
    "abs": FUNCTIONS["abs"],
}
for _name, _unary in UNARY.items():
    setattr(Tensor, f"__{_name}__", _unary)
