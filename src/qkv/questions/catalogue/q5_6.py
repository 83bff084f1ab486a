"""5.6: a test that catches mixed axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.attention import attention, merge_heads, split_heads
from qkv.questions.engine import Draw, Question
from qkv.questions.shared import implementations
from qkv.questions.shared.catching import catches_mixed_axes
from qkv.questions.shared.heads import Merge, Split, merge_by_reshape, split_by_reshape
from qkv.words import mark, t

WIDTH, MAX_TOKENS = 12, 128  # features of a token, and tokens in a whole batch
Result = tuple[Tensor, Tensor]
Forward = Callable[["Layer", Tensor], Result]


@dataclass(frozen=True)
class Layer:
    """The weights of the projections q, k, v and output: matrices (4, WIDTH, WIDTH) and biases (4, WIDTH)."""

    n_heads: int
    matrices: Tensor
    biases: Tensor

    def projected(self, x: Tensor) -> list[Tensor]:
        return [x @ self.matrices[i].to(x) + self.biases[i].to(x) for i in range(3)]

    def output(self, x: Tensor) -> Tensor:
        return x @ self.matrices[3].to(x) + self.biases[3].to(x)


def draw_layer(seed: int, wrong: bool) -> Layer:
    """Draw a layer: its number of heads, matrices and biases come from the seed.

    A wrong one has several heads, because a single head cannot be mixed up with another.
    """
    draw = Draw(seed)
    n_heads = draw.choose((2, 3, 4, 6) if wrong else (1, 2, 3, 4, 6, 12))
    return Layer(n_heads, draw.normal(4, WIDTH, WIDTH, scale=0.8 * WIDTH**-0.5), draw.normal(4, WIDTH, scale=0.5))


def check_input(x: Any) -> None:
    """Raise an error for an input that the hidden layers do not take.

    It is a TypeError if x is no floating-point tensor, and a ValueError for its shape.
    """
    if not isinstance(x, Tensor) or not x.is_floating_point():
        raise TypeError(t("x is a floating-point tensor"))
    if x.ndim != 3 or x.shape[-1] != WIDTH or not 1 <= x.shape[0] * x.shape[1] <= MAX_TOKENS:
        raise ValueError(
            t(
                "x is (B, n, {width}) with 1 to {most} tokens in all, and this one is {shape}",
                width=WIDTH,
                most=MAX_TOKENS,
                shape=tuple(x.shape),
            )
        )


# ── multi-head attention, whose split and merge can be replaced ───────────────────────────────────


def forward_with(split: Split = split_heads, merge: Merge = merge_heads) -> Forward:
    """Return a forward pass(layer, x) → out, weights with this split and this merge, right or wrong."""

    def forward(layer: Layer, x: Tensor) -> Result:
        out, weights = attention(*(split(part, layer.n_heads) for part in layer.projected(x)))
        return layer.output(merge(out)), weights

    return forward


right_forward = forward_with()

# ── right implementations ─────────────────────────────────────────────────────────────────────────


def head_by_head(layer: Layer, x: Tensor) -> Result:
    parts = [part.split(WIDTH // layer.n_heads, dim=-1) for part in layer.projected(x)]
    outs, weights = zip(*(attention(*head) for head in zip(*parts, strict=True)), strict=True)
    return layer.output(torch.cat(outs, dim=-1)), torch.stack(weights, dim=1)


def one_example_at_a_time(layer: Layer, x: Tensor) -> Result:
    outs, weights = zip(*(right_forward(layer, example[None]) for example in x), strict=True)
    return torch.cat(outs), torch.cat(weights)


def by_einsum(layer: Layer, x: Tensor) -> Result:
    q, k, v = (part.unflatten(-1, (layer.n_heads, -1)) for part in layer.projected(x))
    weights = (torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5).softmax(-1)
    return layer.output(torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(-2)), weights


def fused(layer: Layer, x: Tensor) -> Result:
    q, k, v = (split_heads(part, layer.n_heads) for part in layer.projected(x))
    return layer.output(merge_heads(F.scaled_dot_product_attention(q, k, v))), attention(q, k, v)[1]


def double_precision(layer: Layer, x: Tensor) -> Result:
    out, weights = right_forward(layer, x.double())
    return out.to(x.dtype), weights.to(x.dtype)


def keys_in_another_order(layer: Layer, x: Tensor) -> Result:
    """Return the right output and weights, but rounded in another order for another number of texts in the batch.

    The keys begin at another place. So torch.equal finds a difference between a text alone and in a batch, on every
    machine.
    """
    q, k, v = (split_heads(part, layer.n_heads) for part in layer.projected(x))
    out, weights = attention(q, k.roll(x.shape[0], dims=-2), v.roll(x.shape[0], dims=-2))
    return layer.output(merge_heads(out)), weights.roll(-x.shape[0], dims=-1)


RIGHT: dict[str, Forward] = {
    mark("splits and transposes"): right_forward,
    mark("head by head"): head_by_head,
    mark("one example at a time"): one_example_at_a_time,
    mark("by einsum"): by_einsum,
    mark("by torch's fused attention"): fused,
    mark("in double precision"): double_precision,
    mark("with the keys in another order"): keys_in_another_order,
}

# ── wrong implementations ─────────────────────────────────────────────────────────────────────────


def batch_as_one_text(layer: Layer, x: Tensor) -> Result:
    out, weights = right_forward(layer, x.reshape(1, -1, WIDTH))
    return out.reshape(x.shape), weights


def attention_over_the_batch(layer: Layer, x: Tensor) -> Result:
    out, weights = right_forward(layer, x.transpose(0, 1))
    return out.transpose(0, 1), weights


def examples_mixed_by_reshape(layer: Layer, x: Tensor) -> Result:
    """Return the output and weights of a wrong layer.

    It makes (n, B, d) of (B, n, d) by a reshape, where a transpose would be right.
    """
    b, n, _ = x.shape
    out, weights = right_forward(layer, x.reshape(n, b, WIDTH).transpose(0, 1))
    return out.transpose(0, 1).reshape(x.shape), weights


def attention_over_heads(layer: Layer, x: Tensor) -> Result:
    out, weights = attention(*(part.unflatten(-1, (layer.n_heads, -1)) for part in layer.projected(x)))
    return layer.output(out.flatten(-2)), weights


WRONG: dict[str, Forward] = {
    mark("splits by reshape alone"): forward_with(split=split_by_reshape),
    mark("merges by reshape alone"): forward_with(merge=merge_by_reshape),
    mark("splits and merges by reshape alone"): forward_with(split_by_reshape, merge_by_reshape),
    mark("reads the batch as one text"): batch_as_one_text,
    mark("attends over the batch"): attention_over_the_batch,
    mark("mixes examples by a reshape"): examples_mixed_by_reshape,
    mark("attends over heads"): attention_over_heads,
}


def layer_maker(forward: Forward, wrong: bool) -> Callable[[int], Any]:
    """Return a function that draws a layer from a seed, and returns a module(x) that runs it by `forward`.

    If it is `wrong`, it has several heads. The module raises an error for inputs that hidden layers do not take.
    """

    def of_seed(seed: int) -> Callable[[Tensor], Result]:
        layer = draw_layer(seed, wrong)

        def module(x: Tensor) -> Result:
            check_input(x)
            return forward(layer, x)

        module.__qualname__ = "module"
        return module

    return of_seed


IMPLEMENTATIONS = implementations.list_implementations(RIGHT, WRONG, layer_maker)


QUESTION = Question(
    points=3,
    inputs=("module",),
    outputs=("verdict",),
    draw=lambda draw: implementations.draw_implementations(draw, IMPLEMENTATIONS),
    reference=catches_mixed_axes,
    judged_by=implementations.perfect_test(IMPLEMENTATIONS),
    of_implementations=True,
    quotes={"which": implementations.implementation_name},
    misconceptions=implementations.mistakes_of_tests(IMPLEMENTATIONS),
)
