"""5.7: the mask of a padded batch, causal or not."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from qkv.attention import causal_mask
from qkv.questions.engine import Case, Draw, Question, by_knob, call, mistake


def attention_mask(lengths: Tensor, causal: bool, side: str) -> Tensor:
    """Let each real token see the real tokens of its text, up to itself if causal. Padding sees only itself.

    Shapes:
        lengths (B,) int64, at least 1, with padding on the `side` "left" or "right"
    Returns:
        (B, n, n) bool, n the largest length, True = may attend
    """
    n = int(lengths.max())
    places = torch.arange(n)
    real = places >= n - lengths[:, None] if side == "left" else places < lengths[:, None]  # (B, n)
    mask = real[:, :, None] & real[:, None, :]
    if causal:
        mask = mask & causal_mask(n)
    return mask | torch.eye(n, dtype=torch.bool)


def draw_lengths(draw: Draw) -> list[Case]:
    """Draw lengths of texts in a batch, with the padding on either side, causal or not."""

    def case(name: str, lengths: list[int], causal: bool, side: str) -> Case:
        return Case(call(torch.tensor(lengths), causal, side), name, {"B": len(lengths), "n": max(lengths)})

    def some() -> list[int]:
        longest = draw.whole(6, 8)
        return [longest - draw.whole(2, 3), longest, draw.whole(1, 3), longest - 1][: draw.whole(3, 4)]

    return [
        case("plain", some(), True, "right"),
        case("plain", some(), True, "left"),
        case("not causal, padding on the right", some(), False, "right"),
        case("not causal, padding on the left", some(), False, "left"),
        case("one text", [draw.whole(4, 6)], True, "left"),
        case("texts of one length", [5, 5, 5], True, "right"),
        case("a text of one token", [1, draw.whole(4, 6)], True, "left"),
    ]


Real = Callable[[Tensor, str], Tensor]  # (lengths, side) -> (B, n) bool: which tokens are real
Triangle = Callable[[int, bool], Tensor]  # (n, causal) -> (n, n) bool
Seen = Callable[[Tensor], Tensor]  # (B, n) bool -> (B, 1 or n, n): which keys the padding leaves


def real_tokens(lengths: Tensor, side: str) -> Tensor:
    n = int(lengths.max())
    places = torch.arange(n)
    return places >= n - lengths[:, None] if side == "left" else places < lengths[:, None]


def triangle(n: int, causal: bool) -> Tensor:
    return causal_mask(n) if causal else torch.ones(n, n, dtype=torch.bool)


def real_keys(real: Tensor) -> Tensor:
    return real[:, None, :]


def padding_sees_itself(mask: Tensor, real: Tensor) -> Tensor:
    """Keep the rows of real tokens, and let the others see themselves alone."""
    return torch.where(real[:, :, None], mask, torch.eye(mask.shape[-1], dtype=torch.bool))


def mask_variant(
    real: Real = real_tokens,
    order: Triangle = triangle,
    seen: Seen = real_keys,
    join: Callable[[Tensor, Tensor], Tensor] = torch.logical_and,
    rows: Callable[[Tensor, Tensor], Tensor] = padding_sees_itself,
    result: Callable[[Tensor], Tensor] = lambda mask: mask,
) -> Callable[..., Tensor]:
    """Return an answer(lengths, causal, side); each argument replaces one of its steps, and by default it is right.

    `join` joins the causal mask, from `order`, with the keys that the padding leaves, from `seen`; `rows` changes the
    rows of padding, and `result` the mask.
    """

    def variant(lengths: Tensor, causal: bool, side: str) -> Tensor:
        kept = real(lengths, side)
        mask = join(order(kept.shape[-1], causal), seen(kept)).expand(-1, kept.shape[-1], -1)
        return result(rows(mask, kept))

    return variant


told_apart = by_knob("real")
ordered = by_knob("order")
kept_rows = by_knob("rows")
returned = by_knob("result", alone=True)

QUESTION = Question(
    points=4,
    inputs=("lengths", "causal", "side"),
    outputs=("mask (B, n, n)",),
    draw=draw_lengths,
    reference=attention_mask,
    variant=mask_variant,
    misconceptions=(
        told_apart("side-ignored", lambda lengths, side: real_tokens(lengths, "right")),
        told_apart("sides-swapped", lambda lengths, side: real_tokens(lengths, "left" if side == "right" else "right")),
        told_apart("padding-ignored", lambda lengths, side: torch.ones_like(real_tokens(lengths, side))),
        ordered("causal-ignored", lambda n, causal: triangle(n, False)),
        ordered("always-causal", lambda n, causal: triangle(n, True)),
        ordered("mask-transposed", lambda n, causal: triangle(n, causal).mT),
        ordered("cannot-see-itself", lambda n, causal: triangle(n, causal) & ~torch.eye(n, dtype=torch.bool)),
        ordered(
            "sees-one-ahead", lambda n, causal: triangle(n, causal).tril(1) | torch.eye(n).roll(1, 1).triu(1).bool()
        ),
        by_knob("seen")("queries-hidden-for-keys", lambda real: real[:, :, None].expand(-1, -1, real.shape[-1])),
        by_knob("join")("masks-joined-with-or", torch.logical_or),
        kept_rows("blind-rows", lambda mask, real: mask & real[:, :, None]),
        kept_rows("padding-sees-real-tokens", lambda mask, real: mask | torch.eye(mask.shape[-1], dtype=torch.bool)),
        kept_rows("padding-sees-everything", lambda mask, real: mask | ~real[:, :, None]),
        kept_rows("padding-reads-like-a-token", lambda mask, real: mask),
        returned("mask-inverted", lambda mask: ~mask),
        returned("extra-axes", lambda mask: mask[:, None]),
        returned(
            "additive-mask",
            lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -torch.inf),
            lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -1e9),
        ),
        returned("numbers-for-truth-values", lambda mask: mask.float(), lambda mask: mask.long()),
        mistake("one-mask-for-all", lambda lengths, causal, side: attention_mask(lengths, causal, side)[0]),
    ),
)
