"""10.1: a mask that lets each token see a window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.attention import window_mask
from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, mistake

Seen = Callable[[Tensor, int], Tensor]  # of query minus key, and the window: who is seen


def draw_windows(draw: Draw) -> list[Case]:
    def case(name: str, n: int | None = None, window: int | None = None, **options: bool) -> Case:
        n = draw.whole(8, 12) if n is None else n
        window = draw.whole(3, 5) if window is None else window
        return Case(call(n, window, **options), name, {"n": n, "window": window})

    return [
        case("plain"),
        case("plain", window=draw.choose((2, 4))),
        case("causal, and said so", causal=True),
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
    causal_seen: Seen = behind, seen: Seen = around, give: Callable[[Tensor], Any] = lambda mask: mask
) -> Callable[..., Any]:
    """Give an answer that lets other keys be seen, or gives the mask in another form."""

    def variant(n: int, window: int, causal: bool = True) -> Any:
        lag = torch.arange(n)[:, None] - torch.arange(n)
        return give(causal_seen(lag, window) if causal else seen(lag, window))

    return variant


def patterns(slug: str, *pairs: tuple[Seen, Seen]) -> Misconception:
    """The mistake to see so where it is causal, and so where it is not."""
    return mistake(slug, *(mask_variant(*pair) for pair in pairs))


def one_or_both(slug: str, *pairs: tuple[Seen, Seen]) -> Misconception:
    """The mistake to see so where it is causal, where it is not, or in both."""
    return patterns(slug, *(way for a, b in pairs for way in ((a, b), (behind, b), (a, around))))


def blocks(n: int, window: int, causal: bool = True) -> Tensor:
    block = torch.arange(n) // window
    same = block[:, None] == block
    return same.tril() if causal else same


given = by_knob("give")


QUESTION = Question(
    points=2,
    inputs=("n", "window"),
    outputs=("mask (n, n)",),
    draw=draw_windows,
    reference=window_mask,
    variant=mask_variant,
    misconceptions=(
        one_or_both(
            "one-too-wide",
            (lambda lag, window: (lag >= 0) & (lag <= window), lambda lag, window: lag.abs() <= window),
        ),
        one_or_both(
            "one-too-narrow",
            (lambda lag, window: (lag >= 0) & (lag < window - 1), lambda lag, window: lag.abs() < window - 1),
        ),
        one_or_both(
            "cannot-see-itself",
            (lambda lag, window: (lag > 0) & (lag < window), lambda lag, window: (lag.abs() < window) & (lag != 0)),
            (lambda lag, window: (lag > 0) & (lag <= window), lambda lag, window: (lag.abs() <= window) & (lag != 0)),
        ),
        patterns("looks-ahead", (lambda lag, window: (lag <= 0) & (-lag < window), around)),
        patterns("future-not-hidden", (lambda lag, window: lag < window, around)),
        patterns("other-side-open", (behind, lambda lag, window: lag < window), (behind, lambda lag, w: -lag < w)),
        one_or_both("no-window", (lambda lag, window: lag >= 0, lambda lag, window: lag == lag)),
        patterns(
            "window-split-between-both-sides",
            (behind, lambda lag, window: lag.abs() <= window // 2),
            (behind, lambda lag, window: lag.abs() < window / 2),
            (behind, lambda lag, window: lag.abs() < window // 2),
        ),
        patterns("causal-ignored", (behind, behind)),
        patterns("never-causal", (around, around)),
        patterns("causal-turned-round", (around, behind)),
        mistake("not-causal-by-default", lambda n, window, causal=False: window_mask(n, window, causal=causal)),
        given("mask-inverted", torch.logical_not),
        given("numbers-to-add", lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)),
        mistake("blocks-for-windows", blocks),
        mistake("size-and-window-swapped", lambda n, window, causal=True: window_mask(window, n, causal=causal)),
    ),
)
