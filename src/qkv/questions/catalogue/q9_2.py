"""9.2: what each head adds."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from qkv.interpretability import head_contribution
from qkv.questions.engine import Case, Draw, Question, by_knob, call, mistake

Bands = Callable[[Tensor, int], Tensor]  # (W_O, H) -> the rows of each head, (H, d_head, d_model)


def draw_layers(draw: Draw) -> list[Case]:
    """Draw weights and values of heads, and the matrix after them."""

    def case(name: str, dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("n", "d_head", "d_model", **fixed)
        s["H"] = fixed.get("H", draw.choose((2, 3)))
        weights = draw.weights(s["H"], s["n"], s["n"], dtype=dtype)
        v = draw.normal(s["H"], s["n"], s["d_head"], dtype=dtype)
        w_o = draw.normal(s["H"] * s["d_head"], s["d_model"], dtype=dtype)
        return Case(call(weights, v, w_o), name, s)

    same = draw.choose((4, 5))
    return [
        case("plain"),
        case("plain"),
        case("float64", torch.float64),
        case("one head", H=1),
        case("one token", n=1),
        case("a square W_O", H=2, d_head=4, d_model=8, n=5),
        case("all sizes equal", H=same, n=same, d_head=same, d_model=same),
    ]


def bands(w_o: Tensor, n_heads: int) -> Tensor:
    return w_o.unflatten(0, (n_heads, -1))


def contribution_variant(
    cut: Bands = bands,
    mix: Callable[[Tensor, Tensor], Tensor] = torch.matmul,
    result: Callable[[Tensor], Tensor] = lambda outputs: outputs,
) -> Callable[..., Tensor]:
    """Return an answer(weights, v, w_o); by default it is right.

    The arguments replace the cut of W_O and the mixture of values, or change the result.
    """

    def variant(weights: Tensor, v: Tensor, w_o: Tensor) -> Tensor:
        return result(mix(weights, v) @ cut(w_o, len(v)))

    return variant


cut_by = by_knob("cut")
mixed = by_knob("mix")
returned = by_knob("result")

QUESTION = Question(
    points=3,
    inputs=("weights", "v", "w_o"),
    outputs=("added (H, n, d_model)",),
    draw=draw_layers,
    reference=head_contribution,
    variant=contribution_variant,
    gradients=True,
    misconceptions=(
        returned("heads-summed", lambda outputs: outputs.sum(0), alone=True),
        returned("layer-output-for-each-head", lambda outputs: outputs.sum(0).expand_as(outputs), alone=True),
        returned("tokens-in-front", lambda outputs: outputs.transpose(0, 1), alone=True),
        returned("divided-by-the-heads", lambda outputs: outputs / len(outputs)),
        returned("summed-up-to-each-head", lambda outputs: outputs.cumsum(0)),
        mistake(
            "matrix-not-cut",
            lambda weights, v, w_o: weights @ v @ w_o,
            lambda weights, v, w_o: torch.stack([weights[h] @ v[h] @ w_o for h in range(len(v))]),
        ),
        cut_by("bands-overlap", lambda w_o, n: torch.stack([w_o[h : h + len(w_o) // n] for h in range(n)])),
        cut_by("rows-dealt-out", lambda w_o, n: w_o.unflatten(0, (-1, n)).transpose(0, 1)),
        cut_by("first-band-for-all", lambda w_o, n: w_o[: len(w_o) // n]),
        cut_by("whole-matrix-for-each", lambda w_o, n: bands(w_o, n).sum(0)),
        cut_by("transposed-output-matrix", lambda w_o, n: bands(w_o.T.reshape(w_o.shape), n)),
        mixed("not-mixed", lambda weights, v: v),
        mixed("weights-transposed-in-the-mix", lambda weights, v: weights.mT @ v),
        mixed("weights-of-the-first-head", lambda weights, v: weights[0] @ v),
        mixed("values-of-the-first-head", lambda weights, v: weights @ v[0]),
        mistake("not-projected", lambda weights, v, w_o: weights @ v, alone=True),
    ),
)
