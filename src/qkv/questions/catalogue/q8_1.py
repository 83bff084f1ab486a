"""8.1: layer norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, InModel, Misconception, Question, by_knob, call, mistake
from qkv.questions.engine.in_model import ModelRun
from qkv.transformer import Edit, layer_norm

Centre = Callable[[Tensor], Tensor]  # (x) -> the number to subtract from each row, rightly the mean
Divisor = Callable[[Tensor, Tensor, float], Tensor]  # (x, centred x, eps) -> the divisor of each row
Affine = Callable[[Tensor, Tensor, Tensor], Tensor]  # (normed x, gain, bias) -> result


def draw_rows(draw: Draw) -> list[Case]:
    """Draw rows with means of their own, also some that hardly vary, with a gain and a bias."""

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
    centre: Centre = mean, divisor: Divisor = deviation, affine: Affine = scaled_and_shifted
) -> Callable[..., Any]:
    """Return an answer(x, gain, bias, eps); by default it is right.

    The arguments replace the centre, the divisor, and the use of gain and bias.
    """

    def variant(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Any:
        centred = x - centre(x)
        return affine(centred / divisor(x, centred, eps), gain, bias)

    return variant


def over_axes(*axes: int) -> Callable[..., Tensor]:
    """Return an answer that takes mean and variance over these axes instead of the last one; without axes, over all."""

    def variant(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
        centred = x - x.mean(axes, keepdim=True)
        return centred / (centred.square().mean(axes, keepdim=True) + eps).sqrt() * gain + bias

    return variant


def over_all_but_the_batch(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Norm each example as a whole, as `nn.GroupNorm(1, …)` does; without a batch, norm everything together."""
    return over_axes(*range(1 if x.ndim > 2 else 0, x.ndim))(x, gain, bias, eps)


def eps_ignored(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 0.0) -> Tensor:
    return layer_norm(x, gain, bias)


def annotated(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-6) -> Tensor:
    return (x - mean(x)) / (x.std(-1, keepdim=True) + eps) * gain + bias


def fixed_eps(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-6) -> Tensor:
    return layer_norm(x, gain, bias, eps=1e-6)


def own_number(number: float, correction: int) -> Callable[..., Tensor]:
    """Return a layer norm that adds `number` to the standard deviation, and ignores eps.

    The sum of squares is divided by d − correction.
    """
    return lambda x, gain, bias, eps=1e-5: (
        (x - mean(x)) / (x.std(-1, keepdim=True, correction=correction) + number) * gain + bias
    )


def own_number_under_the_root(number: float) -> Callable[..., Tensor]:
    """Return a layer norm that adds a number of its own, whatever eps is, to a variance that divides by d − 1."""
    return lambda x, gain, bias, eps=1e-5: (x - mean(x)) / (x.var(-1, keepdim=True) + number).sqrt() * gain + bias


def no_eps(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return layer_norm(x, gain, bias, eps=0.0)


def another_default(default: float) -> Callable[..., Tensor]:
    return lambda x, gain, bias, eps=default: layer_norm(x, gain, bias, eps)


def mean_not_subtracted(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return x / deviation(x, x - mean(x), eps) * gain + bias


OWN_NUMBERS = (1e-6, 1e-5, 1e-8)
divided = by_knob("divisor")
affine_by = by_knob("affine")


def norms_in_model(answer: Callable[..., Tensor], run: ModelRun) -> dict[str, Edit]:
    """Return the edits that compute every norm of the model with the answer, also the last one."""

    def norm(ours: Any, place: str) -> Edit:
        gain, bias = ours.weight.clone(), ours.bias.clone()
        return lambda _: answer(run.places[place].clone(), gain, bias, ours.eps)

    edits = {"normed": norm(run.stack.norm, f"{len(run.layers)}.state")}
    for at in run.layers:
        edits[f"{at.name}.attention.normed"] = norm(at.block.norm_1, f"{at.name}.state")
        edits[f"{at.name}.feed_forward.normed"] = norm(at.block.norm_2, f"{at.name}.attention.sum")
    return edits


QUESTION = Question(
    points=3,
    inputs=("x", "gain", "bias"),
    outputs=("normed (..., d)",),
    draw=draw_rows,
    reference=layer_norm,
    variant=norm_variant,
    gradients=True,
    tokens=-2,
    in_model=InModel(edits=norms_in_model),
    misconceptions=(
        divided(
            "sample-variance",
            lambda x, centred, eps: (centred.square().sum(-1, keepdim=True) / (x.shape[-1] - 1) + eps).sqrt(),
        ),
        divided("eps-outside-the-root", lambda x, centred, eps: mean(centred.square()).sqrt() + eps),
        Misconception(
            "eps-outside-and-sample-variance",
            twin=annotated,
            knob_sets=(
                {"divisor": lambda x, c, eps: (c.square().sum(-1, keepdim=True) / (x.shape[-1] - 1)).sqrt() + eps},
            ),
        ),
        divided("variance-for-standard-deviation", lambda x, centred, eps: mean(centred.square()) + eps),
        divided("eps-as-a-floor", lambda x, centred, eps: mean(centred.square()).clamp(min=eps).sqrt()),
        divided("not-divided", lambda x, centred, eps: torch.ones_like(mean(x))),
        divided("divided-by-the-length", lambda x, centred, eps: (centred.square().sum(-1, keepdim=True) + eps).sqrt()),
        divided("spread-around-zero", lambda x, centred, eps: deviation(x, x, eps)),
        mistake("mean-not-subtracted", mean_not_subtracted),
        Misconception("root-mean-square", knobs={"centre": lambda x: torch.zeros_like(mean(x))}),
        mistake("norm-over-tokens", over_axes(-2)),
        mistake("norm-over-a-whole-text", over_axes(-2, -1), over_axes(), over_all_but_the_batch),
        mistake("norm-over-the-first-axis", over_axes(0)),
        mistake("axis-counted-from-the-front", over_axes(1)),
        mistake("eps-ignored", eps_ignored),
        mistake("fixed-eps", fixed_eps),
        mistake("fixed-eps-outside-the-root", *(own_number(number, 0) for number in OWN_NUMBERS)),
        mistake("sample-deviation-and-own-number", *(own_number(number, 1) for number in (*OWN_NUMBERS, 0.0))),
        mistake("sample-variance-and-own-number", *map(own_number_under_the_root, OWN_NUMBERS)),
        mistake("no-eps", no_eps),
        mistake("another-default", *map(another_default, (1e-6, 1e-8, 1e-12, 1e-3))),
        affine_by("gain-forgotten", lambda normed, gain, bias: normed + bias),
        affine_by("bias-forgotten", lambda normed, gain, bias: normed * gain),
        affine_by("gain-counted-from-one", lambda normed, gain, bias: normed * (1 + gain) + bias),
        affine_by("gain-and-bias-forgotten", lambda normed, gain, bias: normed),
        affine_by("gain-and-bias-swapped", lambda normed, gain, bias: normed * bias + gain),
        affine_by("bias-before-gain", lambda normed, gain, bias: (normed + bias) * gain),
    ),
)
