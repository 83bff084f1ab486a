"""1.3: a batch and its mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.questions.engine import Case, Draw, Misconception, Question, Seen, by_knob, call, mistake
from qkv.sequences import pad_batch
from qkv.words import t

Lengths = list[int]
Change = Callable[[Tensor, Tensor, Lengths], Any]  # (batch, right mask, lengths) -> mask, or what is returned


def draw_sequences(draw: Draw) -> list[Case]:
    """Draw sequences of several lengths, with the longest at each place; rows that are 0 are real."""

    def some_lengths(longest: int) -> Lengths:
        """Draw pairwise different lengths for 3 or 4 sequences; the longest has the index `longest`."""
        n_max = draw.whole(6, 7)
        shorter = (2 + torch.randperm(n_max - 2, generator=draw.generator)).tolist()
        lengths = shorter[: draw.whole(2, 3)]
        lengths.insert(len(lengths) if longest < 0 else longest, n_max)
        return lengths

    def case(name: str, lengths: Lengths, d: int | None = None, dtype: torch.dtype = torch.float32) -> Case:
        d = draw.whole(8, 11) if d is None else d
        sequences = [draw.normal(n, d, dtype=dtype) for n in lengths]
        return Case(call(sequences), name, {"B": len(lengths), "n_max": max(lengths), "d": d})

    same = draw.whole(4, 6)
    return [
        case("plain", some_lengths(1)),
        case("plain", some_lengths(-1)),
        case("the longest first", some_lengths(0)),
        case("float64", some_lengths(1), dtype=torch.float64),
        real_rows_like_padding(draw),
        case("all of one length", [same] * 3),
        case("one sequence", [same]),
        case("a sequence of one row", [1, same, 3]),
        case("d = 1", some_lengths(-1), d=1),
        case("sequences of one row each", [1, 1]),
        case("all sizes equal", [same, 2, *range(3, same)] + [same] * 1, d=same),
    ]


def real_rows_like_padding(draw: Draw) -> Case:
    """Draw a batch with real rows that look like padding: all zeros, some zeros, or a sum of 0."""
    d = 2 * draw.whole(4, 5)
    first, second, third = draw.normal(5, d), draw.normal(6, d), torch.zeros(3, d)
    first[-1] = 0  # the last real row
    first[1] = 0
    second[2, : d // 2] = 0
    second[3, d // 2 :] = -second[3, : d // 2]
    second[0] = 0
    return Case(call([first, third, second]), "real rows of zeros", {"B": 3, "n_max": 6, "d": d})


def pad_variant(
    order: Callable[[list[Tensor]], list[Tensor]] = list,
    width: Callable[[Lengths], int] = max,
    start: Callable[[int, int], int] = lambda n, width: 0,
    fill: float = 0.0,
    change_mask: Change = lambda batch, mask, lengths: mask,
    result: Change = lambda batch, mask, lengths: (batch, mask),
) -> Callable[..., Any]:
    """Return an answer(sequences) → batch, mask. By default it is right.

    The arguments replace the order, the length (longer sequences lose their last rows), the place of each sequence, the
    padding, the mask and what is returned. `start` gets the rows that are left and the length; `result` gets the mask
    of `change_mask`.
    """

    def variant(sequences: list[Tensor]) -> Any:
        chosen = order(sequences)
        lengths = [len(s) for s in chosen]
        n = width(lengths)
        batch = torch.full((len(chosen), n, chosen[0].shape[-1]), fill, dtype=chosen[0].dtype)
        mask = torch.zeros(len(chosen), n, dtype=torch.bool)
        for i, s in enumerate(chosen):
            first = start(min(len(s), n), n)
            batch[i, first : first + len(s)] = s[:n]
            mask[i, first : first + len(s)] = True
        return result(batch, change_mask(batch, mask, lengths), lengths)

    return variant


# ── masks ─────────────────────────────────────────────────────────────────────────────────────────


def column(lengths: Lengths) -> Tensor:
    return torch.tensor(lengths)[:, None]


def row_numbers(mask: Tensor) -> Tensor:
    return torch.arange(mask.shape[1])


def same_length_for_all(choose: Callable[[Lengths], int]) -> Change:
    """Return a `Change` to a mask that marks the first `choose(lengths)` rows of every sequence as real."""
    return lambda batch, mask, lengths: row_numbers(mask) < column([choose(lengths)] * len(lengths))


def longer_by(rows: int) -> Change:
    """Return a `Change` to a mask that marks so many more rows of each sequence as real (fewer if `rows` < 0)."""
    return lambda batch, mask, lengths: row_numbers(mask) < column(lengths) + rows


# ── batches ───────────────────────────────────────────────────────────────────────────────────────


def in_front(n: int, width: int) -> int:
    return width - n


def sized_by_the_first(sequences: list[Tensor]) -> Any:
    """Return a batch and its mask, padded to the length of the first sequence. It raises if another one is longer."""
    batch = torch.zeros(len(sequences), *sequences[0].shape, dtype=sequences[0].dtype)
    mask = torch.zeros(batch.shape[:2], dtype=torch.bool)
    for i, s in enumerate(sequences):
        batch[i, : len(s)] = s
        mask[i, : len(s)] = True
    return batch, mask


def features_padded(sequences: list[Tensor]) -> Any:
    """Call `F.pad` with one pair, which pads the last axis: the features. It raises if lengths differ."""
    longest = max(map(len, sequences))
    batch = torch.stack([F.pad(s, (0, longest - len(s))) for s in sequences])
    return batch, torch.arange(longest) < column([len(s) for s in sequences])


def filled_up_with_the(row: int) -> Callable[[list[Tensor]], Any]:
    """Return an answer(sequences) that repeats this row of each sequence where the padding should be."""

    def answer(sequences: list[Tensor]) -> Any:
        batch, mask = pad_batch(sequences)
        return torch.where(mask[..., None], batch, torch.stack([s[row] for s in sequences])[:, None]), mask

    return answer


def batch_axis_second(sequences: list[Tensor]) -> Any:
    """Return what `pad_sequence` returns without `batch_first=True`, (n_max, B, d) in place of (B, n_max, d).

    The mask is (B, B), because its width is taken from axis 1.
    """
    batch = torch.nn.utils.rnn.pad_sequence(sequences)
    return batch, torch.arange(batch.shape[1]) < column([len(s) for s in sequences])


# ── quoted in messages ────────────────────────────────────────────────────────────────────────────


def mask_counts(seen: Seen) -> str:
    """Return the number of rows that the answer's mask marks as real, for each sequence, as text.

    Without a mask of two axes, it is "other".
    """
    mask = seen.value[1] if isinstance(seen.value, (tuple, list)) and len(seen.value) == 2 else None
    return str(mask.bool().sum(-1).tolist()) if isinstance(mask, Tensor) and mask.ndim == 2 else t("other")


def padding(seen: Seen) -> str:
    """Return the first number in the answer's padding, as text; "something else" if the answer has none."""
    for row, sequence in zip(seen.value[0], seen.case.script[0].args[0], strict=True):
        if len(sequence) < len(row):
            return f"{float(row[len(sequence)].flatten()[0]):g}".replace("-", "−").replace("inf", "∞")
    return t("something else")


masked = by_knob("change_mask")
returned = by_knob("result")
ordered = by_knob("order")

QUESTION = Question(
    points=4,
    inputs=("sequences",),
    outputs=("batch (B, n_max, d)", "mask (B, n_max)"),
    draw=draw_sequences,
    reference=pad_batch,
    variant=pad_variant,
    gradients=True,
    quotes={"mask_counts": mask_counts, "padding": padding},
    misconceptions=(
        masked("mask-inverted", lambda batch, mask, lengths: ~mask),
        masked(
            "mask-read-off-the-numbers",
            lambda batch, mask, lengths: (batch != 0).any(-1),
            lambda batch, mask, lengths: (batch != 0).all(-1),
            lambda batch, mask, lengths: batch[..., 0] != 0,
            lambda batch, mask, lengths: batch.sum(-1).abs() > 1e-6,
        ),
        masked(
            "mask-off-by-one",
            longer_by(1),
            longer_by(-1),
            lambda batch, mask, lengths: row_numbers(mask) > column(lengths),
        ),
        masked("everything-real", lambda batch, mask, lengths: torch.ones_like(mask)),
        masked(
            "one-length-for-all",
            same_length_for_all(lambda lengths: lengths[0]),
            same_length_for_all(lambda lengths: lengths[-1]),
            same_length_for_all(min),
        ),
        masked("mask-of-numbers", lambda batch, mask, lengths: mask.long()),
        masked("lengths-for-a-mask", lambda batch, mask, lengths: torch.tensor(lengths)),
        masked("mask-transposed", lambda batch, mask, lengths: mask.mT),
        masked(
            "mask-for-every-number",
            lambda batch, mask, lengths: mask[..., None].expand_as(batch),
            lambda batch, mask, lengths: mask[..., None],
        ),
        masked(
            "places-against-lengths-one-by-one",
            lambda batch, mask, lengths: row_numbers(mask) < torch.tensor(lengths),
            lambda batch, mask, lengths: row_numbers(mask) < torch.tensor(lengths)[None],
        ),
        Misconception(
            "padded-in-front", knob_sets=({"start": in_front}, {"start": in_front, "change_mask": longer_by(0)})
        ),
        Misconception(
            "padded-with-something-else",
            knob_sets=tuple({"fill": fill} for fill in (1.0, -1.0, -100.0, -1e9, -torch.inf, torch.nan)),
        ),
        mistake("padded-with-a-real-row", filled_up_with_the(-1), filled_up_with_the(0)),
        Misconception("cut-to-the-shortest", knobs={"width": min}),
        Misconception("as-long-as-all-together", knobs={"width": sum}),
        Misconception("one-row-too-long", knobs={"width": lambda lengths: max(lengths) + 1}),
        mistake("sized-by-the-first", sized_by_the_first),
        mistake("features-padded", features_padded),
        ordered(
            "sorted-by-length",
            lambda sequences: sorted(sequences, key=len),
            lambda sequences: sorted(sequences, key=len, reverse=True),
        ),
        Misconception(
            "batch-axis-second",
            twin=batch_axis_second,
            knob_sets=(
                {"result": lambda batch, mask, lengths: (batch.transpose(0, 1), mask)},
                {"result": lambda batch, mask, lengths: (batch.transpose(0, 1), mask.mT)},
            ),
        ),
        returned("nothing-filled-in", lambda batch, mask, lengths: (0 * batch.nan_to_num(), mask)),
        returned("put-end-to-end", lambda batch, mask, lengths: (batch[mask], mask)),
        returned("rows-and-mask-swapped", lambda batch, mask, lengths: (mask, batch)),
        returned("mask-not-returned", lambda batch, mask, lengths: batch),
        returned("lengths-added", lambda batch, mask, lengths: (batch, mask, torch.tensor(lengths))),
    ),
)
