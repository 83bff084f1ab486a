"""Describe how wrong values relate to the right ones, if no twin explains them.

Each function that recognises something returns a sentence about it, or "" if it is not what happened.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import permutations

import torch
from torch import Tensor

from qkv.questions.engine.comparing import close
from qkv.questions.engine.precision import tolerance_of
from qkv.questions.engine.wording import are, dtype_name, number, two_numbers
from qkv.sandboxed.cases import Case
from qkv.words import mark, sentences, t, translated


@dataclass(frozen=True, eq=False)
class Pair:
    """One output of an answer and the right one, in one case."""

    case: Case
    seen: Tensor
    want: Tensor

    @property
    def right(self) -> bool:
        """Whether the answer's output is right."""
        return close(self.case, self.seen, self.want)


def explain(name: str, pairs: list[Pair]) -> tuple[str | None, str]:
    """Describe how an output differs from the right one: by a factor, an axis, a shift, in some rows, in one place.

    `pairs` has the output in each case of the right shape, at least one of them wrong.

    Returns:
        the slug of the mistake if the relation has one, else None; and one or two sentences
    """
    wrong = [pair for pair in pairs if not pair.right]
    with_slugs = (
        ("hard-coded-size", _hard_coded(name, pairs)),
        ("sign-flipped", _sign(name, wrong)),
        ("rounded", _rounded(name, wrong)),
        ("half-precision", _half_precision(name, wrong)),
    )
    slug, relation = next(((slug, text) for slug, text in with_slugs if text), (None, ""))
    relation = relation or next((text for relate in RELATIONS if (text := relate(name, wrong))), "")
    said = [relation or _rows(name, wrong[0]), _place(name, wrong[0])]
    return slug, sentences(*said)


def _place(name: str, pair: Pair) -> str:
    """Return a sentence with the entry whose difference is largest, and the right value."""
    gap = (pair.seen.double() - pair.want.double()).nan_to_num(nan=math.inf, posinf=math.inf, neginf=math.inf).abs()
    at = tuple((gap == gap.max()).nonzero()[0].tolist())  # torch.unravel_index would import sympy, which takes seconds
    index = ", ".join(map(str, at))
    place = f"{name}[{index}]" if index else name
    seen, want = two_numbers(pair.seen[at].item(), pair.want[at].item())
    return t("{place} is {seen}; {want} was expected.", place=place, seen=seen, want=want)


# ── relations that hold in every wrong case ───────────────────────────────────────────────────────


def _sign(name: str, wrong: list[Pair]) -> str:
    """Return a sentence if all signs are opposite in every wrong case, else ""."""
    opposite = _fits_all(wrong, lambda x: -x if x.is_floating_point() else None)
    if not opposite:
        return ""
    return t("Every sign in your {name} is opposite. Which step has a minus too many, or lacks one?", name=name)


def _rounded(name: str, wrong: list[Pair]) -> str:
    """Return a sentence if every wrong case has the right values, rounded to whole numbers or 2–4 decimals; else ""."""
    values = {"name": name, "are": are(name)}
    if _fits_all(wrong, lambda x: x.round() if x.is_floating_point() else None):
        return t("Your {name} {are} what was expected, rounded to whole numbers. Which step does that?", **values)
    for decimals in (2, 3, 4):
        if _fits_all(wrong, partial(_to_decimals, decimals=decimals)):
            return t(
                "Your {name} {are} what was expected, rounded to {n} decimals. Which step does that?",
                **values,
                n=decimals,
            )
    return ""


def _to_decimals(x: Tensor, decimals: int) -> Tensor | None:
    return x.round(decimals=decimals) if x.is_floating_point() else None


def _half_precision(name: str, wrong: list[Pair]) -> str:
    """Return a sentence if all values have as few digits as a half-precision dtype, and most cases are nearly right.

    Else return "". Where numbers nearly cancel, half precision is far off, so the values need not be near everywhere.
    """
    near = sum(_is_near(pair) for pair in wrong)
    for dtype in (torch.bfloat16, torch.float16):
        if 2 * near > len(wrong) and all(_has_digits_of(dtype, pair) for pair in wrong):
            return t(
                "Every number of your {name} has only the digits of {dtype}. Which step computes in half precision?",
                name=name,
                dtype=dtype_name(dtype),
            )
    return ""


def _has_digits_of(dtype: torch.dtype, pair: Pair) -> bool:
    """Check whether the finite numbers of an output stay the same when rounded to this dtype. Integers never do."""
    if not (pair.want.is_floating_point() and pair.seen.is_floating_point()):
        return False
    seen = pair.seen.double()[pair.seen.isfinite()]  # others may have overflowed
    return torch.equal(seen.to(dtype).double(), seen)


def _is_near(pair: Pair) -> bool:
    """Return whether a result differs from the expected one by less than 2 % of the largest number."""
    seen, want = pair.seen.double(), pair.want.double()
    return bool((seen - want).abs().max() < 0.02 * want.abs().max())


def _factor(name: str, wrong: list[Pair]) -> str:
    """Return a sentence if each wrong case is the right one times a factor: a size, a constant, or one that changes.

    Else, and for booleans and single numbers, return "".
    """
    if any(pair.want.dtype == torch.bool for pair in wrong):
        return ""
    factors = [_factor_of(pair) for pair in wrong]
    if None in factors or all(pair.want.numel() == 1 for pair in wrong):
        return ""
    found = [factor for factor in factors if factor is not None]
    named = [set(_labels_of(factor, pair.case)) for factor, pair in zip(found, wrong, strict=True)]
    common = [label for label in _labels_of(found[0], wrong[0].case) if all(label in names for names in named)]
    if common:
        return t(
            "Your {name} {are} {factor} times what was expected, in every case. Where does that come from?",
            name=name,
            are=are(name),
            factor=common[0],
        )
    values = {"name": name, "are": are(name), "factor": number(found[0])}
    if max(found) - min(found) < 1e-3 * abs(found[0]):
        return t("Your {name} {are} {factor} times what was expected, whatever the sizes.", **values)
    return t(
        "Your {name} {are} what was expected times a factor that changes with the inputs: {factor} at first.", **values
    )


def _hard_coded(name: str, pairs: list[Pair]) -> str:
    """Return a sentence if a fixed number stands for a size, so that the output is right only at that size; else ""."""
    factors = [1.0 if pair.right else _factor_of(pair) for pair in pairs]
    for size_name in pairs[0].case.sizes:
        sizes = [pair.case.sizes.get(size_name, 0) for pair in pairs]
        if len(set(sizes)) < 2 or 0 in sizes or None in factors:
            continue
        for power in (0.5, -0.5, 1, -1):
            as_if = [(factor or 1.0) / size**power for factor, size in zip(factors, sizes, strict=True)]
            if min(as_if) > 0 and max(as_if) - min(as_if) < 1e-3 * max(as_if):
                return t(
                    "Your {name} {are} right only if {size} is {fixed}. It was {here} here.",
                    name=name,
                    are=are(name),
                    size=size_name,
                    fixed=number(as_if[0] ** (-1 / power)),
                    here=sizes[0],
                )
    return ""


def _factor_of(pair: Pair) -> float | None:
    """Return the one factor by which the whole output differs from the right one.

    None if there is no such factor, or it is 1 or 0, or if the numbers are not finite or the right ones almost 0.
    """
    seen, want = pair.seen.double(), pair.want.double()
    size = float((want * want).sum())
    if not math.isfinite(size) or size < 1e-12 or not seen.isfinite().all():
        return None
    factor = float((seen * want).sum()) / size
    far = abs(factor - 1) > 1e-6 and abs(factor) > 1e-6
    return factor if far and close(pair.case, (seen / factor).to(pair.want.dtype), pair.want) else None


def _labels_of(factor: float, case: Case) -> Iterator[str]:
    """Yield the labels of sizes and constants that equal this factor, such as "√d_k" or "ln 2", the likeliest first."""
    for size_name, size in case.sizes.items():
        powers = {f"√{size_name}": 0.5, f"1/√{size_name}": -0.5, size_name: 1, f"1/{size_name}": -1, f"{size_name}²": 2}
        yield from (label for label, power in powers.items() if size > 1 and _near(factor, size**power))
    constants = {"2": 2, "½": 0.5, "ln 2": math.log(2), "1/ln 2": 1 / math.log(2), "√2": math.sqrt(2)}
    yield from (label for label, value in constants.items() if _near(factor, value))


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-4 * abs(b)


def _fits_all(wrong: list[Pair], change: Callable[[Tensor], Tensor | None]) -> bool:
    """Check whether `change`, applied to the right values, gives the answer's values in every wrong case.

    It may return None for values that it cannot change; these do not fit.
    """
    changed = [change(pair.want) for pair in wrong]
    return all(
        other is not None and other.shape == pair.seen.shape and close(pair.case, pair.seen, other)
        for pair, other in zip(wrong, changed, strict=True)
    )


def _axes(name: str, wrong: list[Pair]) -> str:
    """Return a sentence if the values of all wrong cases are transposed, reversed or shifted by one; else ""."""
    values = {"name": name, "are": are(name)}
    if _fits_all(wrong, lambda x: x.mT if x.ndim > 1 else None):
        return t("Your {name} {are} transposed: the rows are what the columns should be.", **values)
    if _is_reversed(wrong, -1):
        return t("Your {name} {are} in the reverse order along the last axis.", **values)
    if _is_shifted(wrong, -1):
        return t("Your {name} {are} shifted by one along the last axis.", **values)
    if _is_reversed(wrong, -2):
        return t("Your {name} {are} in the reverse order along the last axis but one.", **values)
    return (
        t("Your {name} {are} shifted by one along the last axis but one.", **values) if _is_shifted(wrong, -2) else ""
    )


def _is_reversed(wrong: list[Pair], axis: int) -> bool:
    return _fits_all(wrong, lambda x: x.flip(axis) if x.ndim >= -axis else None)


def _is_shifted(wrong: list[Pair], axis: int) -> bool:
    """Return whether all values stand one place further along an axis, or one place back."""
    return any(_fits_all(wrong, lambda x, by=by: x.roll(by, axis) if x.ndim >= -axis else None) for by in (1, -1))  # type: ignore[misc]


def _order(name: str, wrong: list[Pair]) -> str:
    """Return a sentence if the right numbers are in other places, else "": permuted axes, a reshape, or any order."""
    ndim = wrong[0].want.ndim
    for order in permutations(range(ndim)) if ndim < 5 else ():
        if _fits_all(wrong, lambda x, o=order: x.permute(o) if x.ndim == len(o) else None):  # type: ignore[misc]
            return t("The axes of your {name} are in another order.", name=name)
    if _fits_all(wrong, lambda x: x.mT.reshape(x.shape) if x.ndim > 1 else None):
        return t(
            "Your {name} {are} laid out along the wrong axis. Was something reshaped that should be transposed?",
            name=name,
            are=are(name),
        )
    if all(_same_numbers(pair) for pair in wrong):
        return t("The numbers in your {name} are right, but in other places.", name=name)
    return ""


def _same_numbers(pair: Pair) -> bool:
    if pair.want.numel() < 3:
        return False
    return close(pair.case, pair.seen.flatten().sort()[0], pair.want.flatten().sort()[0])


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    mark("Each number of your {name} is the square of what was expected."): lambda x: x.double() ** 2,
    mark("Each number of your {name} is the square root of what was expected."): lambda x: x.double().sqrt(),
    mark("Each number of your {name} is the reciprocal of what was expected."): lambda x: 1 / x.double(),
    mark("Each number of your {name} is the exponential of what was expected."): lambda x: x.double().exp(),
    mark("Each number of your {name} is the logarithm of what was expected."): lambda x: x.double().log(),
    mark("Each number of your {name} is the absolute value of what was expected."): lambda x: x.double().abs(),
    mark("Each number of your {name} is one minus what was expected."): lambda x: 1 - x.double(),
}


def _elementwise(name: str, wrong: list[Pair]) -> str:
    """Return a sentence if the values are a function of the right ones, one by one, or all the same; else "".

    The functions are those in FUNCTIONS, an offset, and a logical negation.
    """
    if all(pair.want.dtype == torch.bool for pair in wrong):
        turned = _fits_all(wrong, torch.logical_not)
        return t("In your {name}, True and False are the other way round.", name=name) if turned else ""
    for text, function in FUNCTIONS.items():
        if _fits_all(wrong, function):
            return translated(text).format(name=name)
    offsets = [(pair.seen.double() - pair.want.double()) for pair in wrong]
    if any(o.numel() > 1 for o in offsets) and all(map(_is_level, offsets)):
        return t(
            "Your {name} {are} off by the same amount everywhere, {amount} at first.",
            name=name,
            are=are(name),
            amount=number(float(offsets[0].mean())),
        )
    if all(pair.want.numel() > 1 and pair.seen.double().std() < 1e-9 for pair in wrong):
        return t("Every number of your {name} is the same; they should differ.", name=name)
    return ""


def _is_level(offset: Tensor) -> bool:
    """Check whether all numbers are the same, within a hundredth of their mean: rounding errors are not."""
    mean = float(offset.mean())
    return math.isfinite(mean) and mean != 0 and float((offset - mean).abs().max()) < 0.01 * abs(mean)


def _rows(name: str, pair: Pair) -> str:
    """Return a sentence with the share of wrong values, and the rows or columns that have all of them.

    It is empty for a single number.
    """
    if pair.want.ndim < 1 or pair.want.numel() < 2:
        return ""
    tolerance = tolerance_of(pair.case, pair.seen, pair.want)
    off = ~torch.isclose(pair.seen.double(), pair.want.double(), rtol=tolerance, atol=tolerance, equal_nan=True)
    share = t("{n} of {all} values of your {name} are not right.", n=int(off.sum()), all=off.numel(), name=name)
    if pair.want.ndim < 2:
        return share
    rows = off.any(-1).reshape(-1, off.shape[-2]).any(0)
    columns = off.reshape(-1, *off.shape[-2:]).any(0).any(0)
    if not rows.all():
        return sentences(share, t("All of them are in row {numbers}.", numbers=_numbered(rows)))
    if not columns.all():
        return sentences(share, t("All of them are in column {numbers}.", numbers=_numbered(columns)))
    return share


def _numbered(wrong: Tensor) -> str:
    """Return the numbers of the places that are True."""
    return t(", ").join(str(i) for i in wrong.nonzero().flatten().tolist())


RELATIONS = (_factor, _axes, _elementwise, _order)
