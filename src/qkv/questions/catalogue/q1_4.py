"""1.4: windows of a signal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.questions.engine import Case, Draw, Question, by_knob, call, mistake
from qkv.sequences import frame_signal

Starts = Callable[[int, int, int], Sequence[int]]  # (samples, window, hop) -> the sample at which each window begins


def draw_signal(draw: Draw) -> list[Case]:
    """Draw signals with and without samples that are left over at the end."""

    def case(
        name: str, window: int, hop: int, n_frames: int, rest: int | None = None, dtype: torch.dtype = torch.float32
    ) -> Case:
        rest = draw.whole(1, hop - 1) if rest is None else rest
        samples = window + (n_frames - 1) * hop + rest
        sizes = {"samples": samples, "window": window, "hop": hop, "n_frames": n_frames}
        return Case(call(draw.normal(samples, dtype=dtype), window, hop), name, sizes)

    def shape() -> tuple[int, int, int]:
        hop = draw.whole(3, 4)
        return draw.choose([n for n in (7, 8, 10, 11) if n % hop]), hop, draw.whole(5, 6)

    return [
        case("plain", *shape()),
        case("plain", *shape()),
        case("float64", *shape(), dtype=torch.float64),
        case("the last window fits exactly", *shape(), rest=0),
        case("one sample too few for another window", 7, 4, draw.whole(3, 6), rest=3),
        case("windows that do not overlap", 5, 5, draw.whole(6, 8)),
        case("windows that do not overlap, and fit exactly", 5, 5, draw.whole(6, 8), rest=0),
        case("hop = 1", draw.whole(4, 6), 1, draw.whole(7, 9), rest=0),
        case("a single window", 7, 3, 1, rest=0),
        case("a single window, and some samples left", 7, 3, 1, rest=draw.whole(1, 2)),
        case("two windows", 8, 3, 2, rest=0),
        case("a hop of more than half a window", 9, 7, draw.whole(3, 5)),
        case("as many windows as samples in each", 6, 4, 6),
        case("windows of one sample", 1, 1, draw.whole(5, 9), rest=0),
    ]


def cut(signal: Tensor, window: int, starts: Sequence[int]) -> Tensor:
    """Stack the windows that begin at these samples; beyond the end of the signal they hold zeros."""
    padded = F.pad(signal, (0, max(starts) + window))
    return torch.stack([padded[start : start + window] for start in starts])


def all_starts(samples: int, window: int, hop: int) -> Sequence[int]:
    return range(0, samples - window + 1, hop)


def frames_variant(
    starts: Starts = all_starts, after: Callable[[Tensor], Tensor] = lambda frames: frames
) -> Callable[..., Tensor]:
    """Return an answer(signal, window, hop) whose windows begin at `starts`, and are then changed by `after`.

    By default it is right.
    """

    def variant(signal: Tensor, window: int, hop: int) -> Tensor:
        return after(cut(signal, window, starts(len(signal), window, hop)))

    return variant


def stacked(starts: Starts) -> Callable[..., Tensor]:
    """Return an answer that stacks slices of the signal, which begin at `starts`.

    A slice at the end is shorter, and then torch raises an error.
    """

    def variant(signal: Tensor, window: int, hop: int) -> Tensor:
        return torch.stack([signal[start : start + window] for start in starts(len(signal), window, hop)])

    return variant


def padded_at_both_ends(by: Callable[[int, int], int], mode: str = "constant") -> Callable[..., Tensor]:
    """Return an answer that first adds `by(window, hop)` samples at each end, as programs for spectra do.

    `mode` says what they are, in the words of `F.pad`: zeros by default.
    """

    def variant(signal: Tensor, window: int, hop: int) -> Tensor:
        added = by(window, hop)
        return F.pad(signal[None], (added, added), mode=mode)[0].unfold(0, window, hop)

    return variant


begun = by_knob("starts")
changed = by_knob("after")

QUESTION = Question(
    points=4,
    inputs=("signal", "window", "hop"),
    outputs=("frames (n_frames, window)",),
    draw=draw_signal,
    reference=frame_signal,
    variant=frames_variant,
    misconceptions=(
        begun(
            "last-window-padded",
            lambda samples, window, hop: range(0, samples - window + hop, hop),
            lambda samples, window, hop: range(0, samples, hop),
        ),
        begun("window-forgotten-in-the-count", lambda samples, window, hop: range(0, samples // hop * hop, hop)),
        mistake(
            "ragged-windows",
            stacked(lambda samples, window, hop: range(0, samples, hop)),
            stacked(lambda samples, window, hop: range(0, samples // hop * hop, hop)),
        ),
        mistake(
            "one-window-too-few", stacked(lambda samples, window, hop: range(0, (samples - window) // hop * hop, hop))
        ),
        begun("one-window-too-many", lambda samples, window, hop: range(0, ((samples - window) // hop + 2) * hop, hop)),
        mistake("exact-fit-lost", stacked(lambda samples, window, hop: range(0, samples - window, hop))),
        mistake(
            "padded-at-both-ends",
            padded_at_both_ends(lambda window, hop: window // 2),
            padded_at_both_ends(lambda window, hop: window // 2, "reflect"),
            padded_at_both_ends(lambda window, hop: (window - hop) // 2),
            padded_at_both_ends(lambda window, hop: (window - hop) // 2, "reflect"),
            padded_at_both_ends(lambda window, hop: window - hop),
            padded_at_both_ends(lambda window, hop: window - 1),
        ),
        begun("hop-ignored", lambda samples, window, hop: range(0, samples - window + 1, window)),
        begun("starts-not-multiplied", lambda samples, window, hop: range((samples - window) // hop + 1)),
        begun("hop-of-one", lambda samples, window, hop: range(samples - window + 1)),
        mistake(
            "hop-taken-for-overlap",
            stacked(lambda samples, window, hop: range(0, samples - window + 1, window - hop)),
            stacked(lambda samples, window, hop: range(0, samples - window + 1, max(window - hop, 1))),
        ),
        mistake("window-and-hop-swapped", lambda signal, window, hop: signal.unfold(0, hop, window)),
        mistake("rows-as-long-as-the-hop", lambda signal, window, hop: signal.unfold(0, hop, hop)),
        mistake(
            "window-one-long", lambda signal, window, hop: cut(signal, window + 1, all_starts(len(signal), window, hop))
        ),
        changed(
            "tapered",
            *(
                lambda frames, curve=curve, periodic=periodic: frames * curve(frames.shape[-1], periodic=periodic)
                for curve in (torch.hann_window, torch.hamming_window)
                for periodic in (True, False)
            ),
        ),
        changed("window-one-short", lambda frames: frames[:, :-1]),
        changed("transposed", lambda frames: frames.mT),
        changed("put-end-to-end", torch.flatten),
        changed("laid-out-along-the-wrong-axis", lambda frames: frames.mT.reshape(frames.shape)),
        changed("only-the-first-window", lambda frames: frames[:1]),
        mistake("signal-returned", lambda signal, window, hop: signal),
        mistake(
            "arguments-of-unfold",
            lambda signal, window, hop: signal.unfold(window, -1, hop),
            lambda signal, window, hop: signal.unfold(hop, window, -1),
            lambda signal, window, hop: signal.unfold(window, hop, -1),
        ),
    ),
)
