"""10.1: a mask that lets each token see a window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import window_mask
from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, mistake

Visible = Callable[[Tensor, int], Tensor]  # (query position − key position, window) -> the visible pairs


def draw_windows(draw: Draw) -> list[Case]:
    """Draw windows, causal or not: as usual, of one token, as long as the text and longer."""

    def case(name: str, n: int | None = None, window: int | None = None, **options: bool) -> Case:
        n = draw.whole(8, 12) if n is None else n
        window = draw.whole(3, 5) if window is None else window
        return Case(call(n, window, **options), name, {"n": n, "window": window})

    return [
        case("plain"),
        case("plain", window=draw.choose((2, 4))),
        case("causal=True is passed", causal=True),
        case("not causal", causal=False),
        case("not causal", window=4, causal=False),
        case("a window of 1", window=1),
        case("a window of 1, not causal", window=1, causal=False),
        case("a window as long as the text", n=6, window=6),
        case("a window as long as the text, not causal", n=6, window=6, causal=False),
        case("a window longer than the text", n=4, window=7),
        case("one token", n=1, window=3),
        case("a long text", n=40, window=7),
    ]


def behind(lag: Tensor, window: int) -> Tensor:
    return (lag >= 0) & (lag < window)


def around(lag: Tensor, window: int) -> Tensor:
    return lag.abs() < window


def mask_variant(
    if_causal: Visible = behind, otherwise: Visible = around, result: Callable[[Tensor], Any] = lambda mask: mask
) -> Callable[..., Any]:
    """Return an answer(n, window, causal); by default it is right.

    The arguments replace the visible distances in the causal case and otherwise, and change the mask at the end.
    """

    def variant(n: int, window: int, causal: bool = True) -> Any:
        lag = torch.arange(n)[:, None] - torch.arange(n)
        return result(if_causal(lag, window) if causal else otherwise(lag, window))

    return variant


def wrong_windows(slug: str, *pairs: tuple[Visible, Visible]) -> Misconception:
    """Return the misconception with these pairs of windows: (in the causal case, otherwise)."""
    return mistake(slug, *(mask_variant(*pair) for pair in pairs))


def causal_or_not(slug: str, *pairs: tuple[Visible, Visible]) -> Misconception:
    """Return the misconception with a wrong window in the causal case, otherwise, or in both."""
    return wrong_windows(slug, *(way for a, b in pairs for way in ((a, b), (behind, b), (a, around))))


def blocks(n: int, window: int, causal: bool = True) -> Tensor:
    block = torch.arange(n) // window
    same = block[:, None] == block
    return same.tril() if causal else same


returned = by_knob("result")


QUESTION = Question(
    points=2,
    inputs=("n", "window"),
    outputs=("mask (n, n)",),
    draw=draw_windows,
    reference=window_mask,
    variant=mask_variant,
    misconceptions=(
        causal_or_not(
            "one-too-wide",
            (lambda lag, window: (lag >= 0) & (lag <= window), lambda lag, window: lag.abs() <= window),
        ),
        causal_or_not(
            "one-too-narrow",
            (lambda lag, window: (lag >= 0) & (lag < window - 1), lambda lag, window: lag.abs() < window - 1),
        ),
        causal_or_not(
            "cannot-see-itself",
            (lambda lag, window: (lag > 0) & (lag < window), lambda lag, window: (lag.abs() < window) & (lag != 0)),
            (lambda lag, window: (lag > 0) & (lag <= window), lambda lag, window: (lag.abs() <= window) & (lag != 0)),
        ),
        wrong_windows("looks-ahead", (lambda lag, window: (lag <= 0) & (-lag < window), around)),
        wrong_windows("future-not-hidden", (lambda lag, window: lag < window, around)),
        wrong_windows("other-side-open", (behind, lambda lag, window: lag < window), (behind, lambda lag, w: -lag < w)),
        causal_or_not("no-window", (lambda lag, window: lag >= 0, lambda lag, window: lag == lag)),
        wrong_windows(
            "window-split-between-both-sides",
            (behind, lambda lag, window: lag.abs() <= window // 2),
            (behind, lambda lag, window: lag.abs() < window / 2),
            (behind, lambda lag, window: lag.abs() < window // 2),
            (lambda lag, window: (lag >= 0) & (lag <= window // 2), lambda lag, window: lag.abs() <= window // 2),
        ),
        wrong_windows("causal-ignored", (behind, behind)),
        wrong_windows("never-causal", (around, around)),
        wrong_windows("causal-turned-round", (around, behind)),
        mistake("not-causal-by-default", lambda n, window, causal=False: window_mask(n, window, causal=causal)),
        returned("mask-inverted", torch.logical_not),
        returned("numbers-to-add", lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)),
        mistake("blocks-for-windows", blocks),
        mistake("size-and-window-swapped", lambda n, window, causal=True: window_mask(window, n, causal=causal)),
    ),
)
