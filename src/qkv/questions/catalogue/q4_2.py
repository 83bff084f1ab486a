"""4.2: the entropy of weights."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Misconception, Question, call, mistake
from qkv.softmax import entropy


def draw_weights(draw: Draw) -> list[Case]:
    """Draw weights along several axes: some of them 0, all on one, all equal."""

    def case(name: str, *leading: int, dtype: torch.dtype = torch.float32) -> Case:
        s = draw.sizes("n_q", "n_k")
        return Case(call(draw.weights(*leading, s["n_q"], s["n_k"], dtype=dtype)), name, s)

    def along(name: str, *shape: int, dim: int) -> Case:
        p = draw.weights(*shape).movedim(-1, dim).contiguous()
        return Case(call(p, dim=dim), name)

    s = draw.sizes("n_q", "n_k", "n")
    some_zero = draw.normal(s["n_q"], s["n_k"])
    some_zero[:, : s["n_k"] // 2] = -math.inf
    some_zero = some_zero[:, torch.randperm(s["n_k"], generator=draw.generator)].softmax(-1)
    exact = some_zero.double() / some_zero.double().sum(-1, keepdim=True)  # each row sums to 1 in float64
    one_hot = torch.eye(s["n_k"])[:: draw.whole(1, 2)]
    return [
        case("plain"),
        case("plain"),
        Case(call(draw.weights(s["n"])), "one row without a table", s),
        case("a batch", 3),
        case("two axes in front", 2, 3),
        along("dim = 0", s["n_q"], s["n_k"], dim=0),
        along("dim = 1 of three", 3, s["n_q"], s["n_k"], dim=1),
        case("float64", dtype=torch.float64),
        Case(call(some_zero), "some weights 0", s),
        Case(call(exact), "some weights 0, float64", s),
        Case(call(one_hot), "all on one", s),
        Case(call(torch.full((3, s["n_k"]), 1 / s["n_k"])), "all equal", s),
        Case(call(torch.ones(s["n_q"], 1)), "one weight in each row", s),
    ]


def determined_part(case: Case, gradient: Tensor) -> Tensor:
    """Return the part of the gradient with respect to the weights that is determined, in the same shape.

    The weights of a row sum to 1, so a number that is added to the gradient of all of them changes nothing: the mean is
    subtracted. At a weight of 0 the slope is infinite: any number may stand there, but not NaN. So it becomes 0, and
    NaN stays.
    """
    step = case.script[0]
    dim = step.kwargs.get("dim", -1)
    positive = step.args[0] > 0
    known = gradient.masked_fill(~positive, 0.0)
    mean = known.sum(dim=dim, keepdim=True) / positive.sum(dim=dim, keepdim=True)
    return (known - mean).masked_fill(~positive, 0.0).masked_fill(gradient.isnan(), math.nan)


def terms_with_zeros(p: Tensor, log: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the terms p log p, and 0 where p is 0. The gradient there is NaN."""
    return torch.where(p > 0, p * log(p), 0.0)


def entropy_variant(
    log: Callable[[Tensor], Tensor] = torch.log,
    terms: Callable[[Tensor, Callable[[Tensor], Tensor]], Tensor] = terms_with_zeros,
    add_up: Callable[[Tensor, int], Tensor] = lambda terms, dim: terms.sum(dim=dim),
    after: Callable[[Tensor, Tensor, int], Tensor] = lambda h, p, dim: h,
    default: int = -1,
) -> Callable[..., Tensor]:
    """Return an answer(p, dim); each argument replaces one of its steps.

    By default its values are right, but its gradient is NaN where a weight is 0. `terms` makes p log p by `log`,
    `add_up` sums them, `after` changes the entropy, and `default` is the dim.
    """

    def variant(p: Tensor, dim: int = default) -> Tensor:
        return after(-add_up(terms(p, log), dim), p, dim)

    return variant


def terms_with_nan(p: Tensor, log: Callable[[Tensor], Tensor]) -> Tensor:
    return p * log(p)


def log_of_n(p: Tensor, dim: int) -> float:
    return math.log(max(2, p.shape[dim]))


def weights_of_all_rows_in_one(p: Tensor, dim: int = -1) -> Tensor:
    p = p[p > 0]
    return -(p * p.log()).sum(dim=dim)


LIFTS: tuple[Callable[[Tensor], Tensor], ...] = (
    lambda p: p,
    *(lambda p, least=least: p.clamp(min=least) for least in (1e-12, 1e-10, 1e-9, 1e-8)),
)


def unweighted(total: Callable[..., Tensor], lift: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return an answer(p, dim) that adds up or averages −ln p, with `lift` applied to the weights first."""
    return lambda p, dim=-1: -total(lift(p).log(), dim=dim)


QUESTION = Question(
    points=3,
    inputs=("p", "dim"),
    outputs=("entropy (...)",),
    draw=draw_weights,
    reference=entropy,
    variant=entropy_variant,
    gradients=True,
    gradient_part=determined_part,
    misconceptions=(
        Misconception("entropy-in-bits", knobs={"log": torch.log2}),
        Misconception("entropy-in-base-10", knobs={"log": torch.log10}),
        Misconception("entropy-negated", knobs={"after": lambda h, p, dim: -h}),
        Misconception("zero-times-log-zero", knobs={"terms": terms_with_nan}),
        Misconception("nan-row-dropped", knobs={"terms": terms_with_nan, "after": lambda h, p, dim: h.nan_to_num()}),
        mistake("gradient-is-nan", entropy_variant()),
        Misconception(
            "epsilon-too-large", knob_sets=({"log": lambda p: (p + 1e-3).log()}, {"log": lambda p: (p + 1e-2).log()})
        ),
        Misconception(
            "dim-ignored",
            knobs={"add_up": lambda terms, dim: terms.sum(-1)},
            twins=(lambda p, dim=-1: entropy(p / p.sum(-1, keepdim=True)),),  # as torch.distributions does
        ),
        Misconception("summed-over-queries", knob_sets=({"default": 0}, {"default": -2})),
        Misconception("axis-counted-from-the-front", knobs={"default": 1}),
        Misconception("summed-over-everything", knobs={"add_up": lambda terms, dim: terms.sum()}),
        mistake("weights-of-all-rows-in-one", weights_of_all_rows_in_one),
        Misconception("axis-kept", knobs={"add_up": lambda terms, dim: terms.sum(dim=dim, keepdim=True)}),
        Misconception("not-summed", knobs={"add_up": lambda terms, dim: terms}),
        Misconception("averaged", knobs={"add_up": lambda terms, dim: terms.mean(dim=dim)}),
        mistake("weight-forgotten", *(unweighted(total, lift) for total in (torch.sum, torch.mean) for lift in LIFTS)),
        mistake(
            "logarithm-forgotten", lambda p, dim=-1: 1 - (p * p).sum(dim=dim), lambda p, dim=-1: (p * p).sum(dim=dim)
        ),
        Misconception("perplexity", knobs={"after": lambda h, p, dim: h.exp()}),
        Misconception(
            "normalised",
            knob_sets=(
                {"after": lambda h, p, dim: h / log_of_n(p, dim)},
                {"after": lambda h, p, dim: h / math.log(p.shape[dim])},
            ),
        ),
        mistake(
            "softmax-applied-again",
            lambda p, dim=-1: entropy(p.softmax(dim), dim),
            lambda p, dim=-1: -(p * p.log_softmax(dim)).sum(dim=dim),
        ),
    ),
)
