"""1.2: an embedding."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, mistake
from qkv.questions.shared.tokens import some_ids
from qkv.sequences import embed

Index = Callable[[Tensor, Tensor], Tensor]  # (ids, table) -> the indices that are looked up
After = Callable[[Tensor, Tensor, Tensor], Tensor]  # (rows found, ids, table) -> result


def draw_look_up(draw: Draw) -> list[Case]:
    """Draw ids and a table; each word occurs twice, and ids come with several axes."""

    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("n", "vocab", "d", low=5, **fixed)
        count = s["n"] * torch.Size(leading).numel()
        twice = draw.whole(0, s["vocab"] - 1)
        ids = some_ids(draw, count, s["vocab"], 0, s["vocab"] - 1, twice, twice).reshape(*leading, s["n"])
        return Case(call(ids, draw.normal(s["vocab"], s["d"], dtype=dtype)), name, s)

    same = draw.whole(5, 9)
    return [
        *draw.situations(case),
        case("more features than words", vocab=6, d=draw.whole(8, 11)),
        case("more words than features", vocab=draw.whole(8, 11), d=6),
        case("all sizes equal", n=same, vocab=same, d=same),
        case("n = 1", n=1),
        case("sentences of one word", leading=(3,), n=1),
        case("d = 1", d=1),
        case("a vocabulary of one word", vocab=1),
    ]


def look_up_variant(
    index: Index = lambda ids, table: ids, after: After = lambda rows, ids, table: rows
) -> Callable[..., Tensor]:
    """Return an answer(ids, table) that looks up the rows at `index`, and then applies `after` to them.

    By default it is right.
    """

    def variant(ids: Tensor, table: Tensor) -> Tensor:
        return after(table[index(ids, table)], ids, table)

    return variant


def position_for_id(ids: Tensor, table: Tensor) -> Tensor:
    return (torch.arange(ids.shape[-1]) % len(table)).expand(ids.shape)


def one_hot_of_one_sequence(ids: Tensor, table: Tensor) -> Tensor:
    return (ids[:, None] == torch.arange(len(table))).float() @ table


def one_hot_in_float32(ids: Tensor, table: Tensor) -> Tensor:
    """Look up by one-hot rows, which torch multiplies by a table of float32 only."""
    return F.one_hot(ids, len(table)).float() @ table


def one_hot_of_one_sequence_in_a_loop(ids: Tensor, table: Tensor) -> Tensor:
    """Return the rows of the table, by one-hot rows in float32. This works for one sequence (n,) only."""
    one_hot = torch.zeros(len(ids), len(table))
    for row, token_id in enumerate(ids):
        one_hot[row, token_id] = 1
    return one_hot @ table


def one_hot_of_one_sequence_by_two_indices(ids: Tensor, table: Tensor) -> Tensor:
    """Return the rows of the table, by one-hot rows in float32. An index of rows and one of columns set the ones.

    This works for one sequence (n,) only.
    """
    one_hot = torch.zeros(len(ids), len(table))
    one_hot[torch.arange(len(ids)), ids] = 1
    return one_hot @ table


indexed = by_knob("index")
changed = by_knob("after")

QUESTION = Question(
    points=2,
    inputs=("ids", "table"),
    outputs=("vectors (..., d)",),
    draw=draw_look_up,
    reference=embed,
    variant=look_up_variant,
    gradients=True,
    misconceptions=(
        mistake("columns-looked-up", lambda ids, table: table.mT[ids], lambda ids, table: table[:, ids]),
        indexed("counted-from-one", lambda ids, table: ids - 1),
        indexed("shifted-by-one", lambda ids, table: (ids + 1) % len(table), lambda ids, table: ids + 1),
        indexed("position-for-id", position_for_id),
        mistake(
            "one-hot-of-one-sequence",
            one_hot_of_one_sequence,
            one_hot_of_one_sequence_in_a_loop,
            one_hot_of_one_sequence_by_two_indices,
        ),
        mistake("one-axis-of-ids", lambda ids, table: table.index_select(0, ids)),
        Misconception("one-hot-in-float32", twin=one_hot_in_float32, in_any_words=True),
        mistake(
            "one-id-at-a-time",
            lambda ids, table: torch.stack([table[token_id.item()] for token_id in ids]),
            lambda ids, table: torch.stack([table[int(token_id)] for token_id in ids]),
        ),
        indexed("leading-axes-lost", lambda ids, table: ids.flatten()),
        indexed("only-the-first-sequence", lambda ids, table: ids.reshape(-1, ids.shape[-1])[0]),
        changed("summed-over-tokens", lambda rows, ids, table: rows.sum(-2)),
        changed("averaged-over-tokens", lambda rows, ids, table: rows.mean(-2)),
        changed("transposed", lambda rows, ids, table: rows.mT),
        changed(
            "scaled-by-width",
            lambda rows, ids, table: rows * table.shape[-1] ** 0.5,
            lambda rows, ids, table: rows / table.shape[-1] ** 0.5,
        ),
        Misconception(
            "padding-for-a-word",
            twin=lambda ids, table: F.embedding(ids, table, padding_idx=0),
            knob_sets=({"after": lambda rows, ids, table: rows * (ids != 0)[..., None]},),
        ),
        mistake("one-hot-returned", lambda ids, table: F.one_hot(ids, len(table)).to(table.dtype)),
        mistake("ids-returned", lambda ids, table: ids),
        mistake("table-returned", lambda ids, table: table * 1),
    ),
)
