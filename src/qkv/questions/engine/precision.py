"""How far a right answer may be from the reference: the rounding of float32 decides, whatever the answer's dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from qkv.sandboxed.cases import Case, Provided, Step, Where
from qkv.sandboxed.observations import Observation, observe_once, results_of

TIMES = 8  # a right answer may add numbers in another order than the reference, with an error a few times as large
FLOAT64 = 1e-8  # what differs by less agrees in float64
FLOAT32 = 1e-4  # four decimals, in the cases whose inputs are float32

FLOAT32_GRADIENTS = 2e-3  # relative to the largest, in those cases: a cut changes much more, and rounding less

_with_bounds: WeakKeyDictionary[Case, Case] = WeakKeyDictionary()
_gradient_bounds: WeakKeyDictionary[Case, float] = WeakKeyDictionary()


def with_bound(case: Case, reference: Callable[..., Any], want: Sequence[Any]) -> Case:
    """Return a case with float64 results with its tolerance: 8 × the error of the reference in float32, plus 1e-8.

    A case that has a tolerance of its own keeps it. Cases with other results, and those that must raise an exception,
    are returned as they are: then `tolerance_of` says what applies.

    Args:
        case: the case
        reference: the right answer
        want: the results of the reference in the case
    """
    if case.tolerance is not None or case.raises or not any(map(_is_double, _tensors(want))):
        return case
    if case not in _with_bounds:
        coarse = results_of(reference, _in_float32(case)).results
        _with_bounds[case] = replace(case, tolerance=TIMES * _error(want, coarse) + FLOAT64)
    return _with_bounds[case]


def gradient_tolerance(
    case: Case, reference: Callable[..., Any], want: Mapping[Where, Tensor | None], where: Where
) -> float:
    """Return how far a gradient may be from that of the reference.

    In float64, the same rule as for results (`with_bound`) applies to all gradients of the case together. In float32,
    it is FLOAT32_GRADIENTS, times the largest number of the gradient if that is above 1.

    Args:
        case: the case
        reference: the right answer
        want: all gradients of the reference in the case
        where: the input that the gradient belongs to; the reference has a gradient there
    """
    expected = want[where]
    assert expected is not None
    if not _is_double(expected):
        return FLOAT32_GRADIENTS * max(1.0, _size(expected))
    if case not in _gradient_bounds:
        coarse = observe_once(reference, _in_float32(case), gradients=True).gradients or {}
        _gradient_bounds[case] = TIMES * _error(list(want.values()), [coarse.get(at) for at in want]) + FLOAT64
    return _gradient_bounds[case]


def _error(want: Sequence[Any], coarse: Sequence[Any]) -> float:
    """Return the largest difference between results and those computed in float32.

    It is at least the rounding of the largest result. Only float64 tensors count.
    """
    fine = [t for t in _tensors(want) if _is_double(t) and t.numel()]
    rounding = max((torch.finfo(torch.float32).eps * _size(t) for t in fine), default=0.0)
    pairs = zip(_tensors(want), _tensors(coarse), strict=False)
    return max([rounding, *(_size(a - b.double()) for a, b in pairs if _is_double(a) and a.shape == b.shape)])


def _size(tensor: Tensor) -> float:
    """Return the largest absolute value of a tensor, NaN and infinity aside."""
    return float(tensor.nan_to_num(0.0, 0.0, 0.0).abs().max()) if tensor.numel() else 0.0


def _is_double(tensor: Tensor) -> bool:
    return tensor.dtype == torch.float64


def _tensors(value: Any) -> Iterator[Tensor]:
    """Yield the tensors in a tensor, or in nested tuples and lists; anything else is left out."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)


def _in_float32(case: Case) -> Case:
    """Return the case with float32 in place of float64; an object that several steps share stays one object."""
    shared: dict[int, Provided] = {}

    def cast(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.float() if _is_double(value) else value
        if isinstance(value, (tuple, list)):
            return type(value)(map(cast, value))
        if isinstance(value, Provided):
            return shared.setdefault(id(value), Provided(value.make, tuple(map(cast, value.args))))
        return value

    def cast_step(step: Step) -> Step:
        kwargs = {name: cast(value) for name, value in step.kwargs.items()}
        return replace(step, args=tuple(map(cast, step.args)), kwargs=kwargs, on=cast(step.on))

    return replace(case, steps=tuple(map(cast_step, case.script)))


def tolerance_of(case: Case, *tensors: Tensor) -> float:
    """Return the case's own tolerance; else `FLOAT64`, or `FLOAT32` if a tensor has float32 or less.

    For small numbers, `FLOAT32` is multiplied by the largest of them, but by 0.01 at least.
    """
    if case.tolerance:
        return case.tolerance
    if not any(t.dtype in (torch.float32, torch.float16, torch.bfloat16) for t in tensors):
        return FLOAT64
    return FLOAT32 * min(1.0, max(0.01, *(_size(t) for t in tensors if t.is_floating_point())))


def lacks_float64(seen: Any, want: Any) -> bool:
    """Check whether a tensor is float32 where float64 was expected: this is accepted, with a remark."""
    tensors = isinstance(seen, Tensor) and isinstance(want, Tensor)
    return tensors and (seen.dtype, want.dtype) == (torch.float32, torch.float64)


def has_fewer_digits(seen: Observation, want: Observation) -> bool:
    """Check whether any output of an answer has fewer digits than the reference, which has those of float64."""
    for a, b in zip(seen.results, want.results, strict=False):
        several = isinstance(a, (tuple, list)) and isinstance(b, (tuple, list))
        if any(_is_rounded(x, y) for x, y in (zip(a, b, strict=False) if several else [(a, b)])):
            return True
    return False


def _is_rounded(seen: Any, want: Any) -> bool:
    """Check whether a result, where float64 is expected, has fewer digits than that. One of another shape has not."""
    tensors = isinstance(seen, Tensor) and isinstance(want, Tensor) and want.dtype == torch.float64
    if not tensors or seen.shape != want.shape:  # a state may have any form
        return False
    exact = torch.allclose(seen.double(), want, rtol=FLOAT64, atol=FLOAT64, equal_nan=True)
    return lacks_float64(seen, want) or (seen.is_floating_point() and not exact)
