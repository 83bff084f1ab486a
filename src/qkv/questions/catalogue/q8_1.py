"""8.1: layer norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, mistake
from qkv.transformer import layer_norm

Measure = Callable[[Tensor], Tensor]  # of x: its mean, or another centre, to be subtracted
Spread = Callable[[Tensor, Tensor, float], Tensor]  # of x, the centred x, and eps: what to divide by
Shift = Callable[[Tensor, Tensor, Tensor], Tensor]  # of the normed x, gain and bias: the result


def draw_rows(draw: Draw) -> list[Case]:
    def case(
        name: str,
        leading: tuple[int, ...] = (),
        dtype: torch.dtype = torch.float32,
        scale: float = 1.0,
        shape: tuple[str, ...] = ("n", "d"),
        **options: float,
    ) -> Case:
        s = draw.sizes("n", "d", d=draw.whole(5, 10))
        size = (*leading, *(s[axis] for axis in shape))
        middle = draw.normal(*size[:-1], 1, dtype=dtype)  # rows have means of their own
        x = scale * (1.5 * draw.normal(*size, dtype=dtype) + middle)
        gain, bias = 1.5 + 0.5 * draw.normal(s["d"], dtype=dtype), draw.normal(s["d"], dtype=dtype)
        return Case(call(x, gain, bias, **options), name, s)

    return [
        *draw.situations(case),
        case("one token", shape=("d",)),
        case("features that hardly vary", scale=0.003),
        case("features that hardly vary, a batch", leading=(2,), scale=0.002),
        case("another eps", eps=draw.uniform(0.2, 0.6)),
        case("all features equal", scale=0.0),
    ]


def mean(x: Tensor) -> Tensor:
    return x.mean(-1, keepdim=True)


def deviation(x: Tensor, centred: Tensor, eps: float) -> Tensor:
    return (mean(centred.square()) + eps).sqrt()


def scaled_and_shifted(normed: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    return normed * gain + bias


def norm_variant(
    measure: Measure = mean, spread: Spread = deviation, shift: Shift = scaled_and_shifted
) -> Callable[..., Any]:
    """Give an answer that centres, divides, or scales and shifts in another way."""

    def variant(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Any:
        centred = x - measure(x)
        return shift(centred / spread(x, centred, eps), gain, bias)

    return variant


def over(*axes: int) -> Callable[..., Tensor]:
    """Give an answer that takes mean and variance over other axes than the last; where none is given, over all."""

    def variant(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
        centred = x - x.mean(axes, keepdim=True)
        return centred / (centred.square().mean(axes, keepdim=True) + eps).sqrt() * gain + bias

    return variant


def eps_fixed(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 0.0) -> Tensor:
    return layer_norm(x, gain, bias)


def without_centring(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return x / deviation(x, x - mean(x), eps) * gain + bias


spreads = by_knob("spread")
shifts = by_knob("shift")

QUESTION = Question(
    points=3,
    inputs=("x", "gain", "bias"),
    outputs=("normed (..., d)",),
    draw=draw_rows,
    reference=layer_norm,
    variant=norm_variant,
    gradients=True,
    misconceptions=(
        spreads(
            "sample-variance",
            lambda x, centred, eps: (centred.square().sum(-1, keepdim=True) / (x.shape[-1] - 1) + eps).sqrt(),
        ),
        spreads("eps-outside-the-root", lambda x, centred, eps: mean(centred.square()).sqrt() + eps),
        spreads(
            "eps-outside-and-sample-variance",
            lambda x, centred, eps: (centred.square().sum(-1, keepdim=True) / (x.shape[-1] - 1)).sqrt() + eps,
        ),
        spreads("variance-for-standard-deviation", lambda x, centred, eps: mean(centred.square()) + eps),
        spreads("eps-as-a-floor", lambda x, centred, eps: mean(centred.square()).clamp(min=eps).sqrt()),
        spreads("not-divided", lambda x, centred, eps: torch.ones_like(mean(x))),
        spreads("divided-by-the-length", lambda x, centred, eps: (centred.square().sum(-1, keepdim=True) + eps).sqrt()),
        spreads("spread-around-zero", lambda x, centred, eps: deviation(x, x, eps)),
        mistake("mean-not-subtracted", without_centring),
        Misconception("root-mean-square", knobs={"measure": lambda x: torch.zeros_like(mean(x))}),
        mistake("norm-over-tokens", over(-2)),
        mistake("norm-over-a-whole-text", over(-2, -1), over()),
        mistake("norm-over-the-first-axis", over(0)),
        mistake("axis-counted-from-the-front", over(1)),
        mistake("eps-ignored", eps_fixed),
        shifts("gain-forgotten", lambda normed, gain, bias: normed + bias),
        shifts("bias-forgotten", lambda normed, gain, bias: normed * gain),
        shifts("gain-and-bias-forgotten", lambda normed, gain, bias: normed),
        shifts("gain-and-bias-swapped", lambda normed, gain, bias: normed * bias + gain),
        shifts("bias-before-gain", lambda normed, gain, bias: (normed + bias) * gain),
    ),
)
