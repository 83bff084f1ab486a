"""1.1: one-hot rows."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.questions.engine import Case, Draw, Misconception, Question, Seen, by_knob, call, mistake
from qkv.questions.shared.tokens import some_ids
from qkv.sequences import one_hot
from qkv.words import t

Outside = Callable[[Tensor, int], Tensor]  # (ids, vocab_size) -> True for each id that counts as outside
Guard = Callable[[Tensor, int], None]  # (ids, vocab_size); raises ValueError
MakeRows = Callable[[Tensor, int], Tensor]  # (ids, vocab_size) -> rows


def draw_cases(draw: Draw) -> list[Case]:
    """Draw ids, also some outside the vocabulary."""

    def case(name: str, n: int, vocab: int, *required: int, raises: str | None = None) -> Case:
        inside = required if raises else [i for i in required if 0 <= i < vocab]
        return Case(call(some_ids(draw, n, vocab, *inside), vocab), name, {"n": n, "vocab": vocab}, raises=raises)

    def without_last() -> Case:
        n, vocab = draw.whole(5, 7), draw.whole(9, 12)
        word = draw.whole(1, vocab - 2)
        ids = some_ids(draw, n, vocab - 1, 0, word, word)
        return Case(call(ids, vocab), "plain", {"n": n, "vocab": vocab})

    few, many = draw.whole(4, 6), draw.whole(8, 11)
    vocab = draw.whole(4, 8)
    return [
        without_last(),
        case("plain", many, few, 0, few - 1, 1, 1),
        case("the first and the last id", 4, many, 0, many - 1),
        case("as many ids as words", few, few, 0, few - 1, 2, 2),
        case("n = 1", 1, vocab, vocab - 1),
        case("n = 1", 1, vocab, 0),
        case("a vocabulary of one word", 3, 1),
        case("an id that equals vocab_size", few + 2, vocab, vocab, 0, raises="ValueError"),
        case("an id far above", few, vocab, vocab + draw.whole(2, 9), 0, raises="ValueError"),
        case("the id −1", few + 1, vocab, -1, vocab - 1, raises="ValueError"),
        case("an id far below", few, vocab, -vocab - draw.whole(2, 9), vocab - 1, raises="ValueError"),
        case("nothing but an id that equals vocab_size", 1, vocab, vocab, raises="ValueError"),
        case("nothing but the id −1", 1, vocab, -1, raises="ValueError"),
    ]


def is_outside(ids: Tensor, vocab_size: int) -> Tensor:
    return (ids < 0) | (ids >= vocab_size)


def guard_against(outside: Outside) -> Guard:
    """Return a guard(ids, vocab_size) that raises a ValueError when `outside` is true for any id."""

    def check(ids: Tensor, vocab_size: int) -> None:
        if outside(ids, vocab_size).any():
            raise ValueError(f"expected ids from 0 to {vocab_size - 1}")

    return check


right_guard = guard_against(is_outside)


def guard_by_truth_value(ids: Tensor, vocab_size: int) -> None:
    if ids[is_outside(ids, vocab_size)]:
        raise ValueError("outside")


def by_comparison(ids: Tensor, vocab_size: int) -> Tensor:
    return (ids[:, None] == torch.arange(vocab_size)).float()


def by_identity(ids: Tensor, vocab_size: int) -> Tensor:
    return torch.eye(vocab_size)[ids]


def one_hot_variant(check: Guard = right_guard, rows: MakeRows = by_comparison) -> Callable[..., Tensor]:
    """Return an answer(ids, vocab_size) that checks the ids with `check` and makes its rows with `rows`.

    By default it is right.
    """

    def variant(ids: Tensor, vocab_size: int) -> Tensor:
        check(ids, vocab_size)
        return rows(ids, vocab_size)

    return variant


def every_row_has_every_id(ids: Tensor, vocab_size: int) -> Tensor:
    rows = torch.zeros(len(ids), vocab_size)
    rows[:, ids] = 1
    return rows


def wrong_guard(slug: str, outside: Outside, *rows: MakeRows) -> Misconception:
    """Return the misconception that refuses the ids of `outside`, with each of the given ways to make rows.

    Without any, its rows are right.
    """
    ways = [{"check": guard_against(outside), "rows": make} for make in rows] or [{"check": guard_against(outside)}]
    return Misconception(slug, knob_sets=tuple(ways))


def fate(seen: Seen) -> str:
    """Return what the answer did with an id outside the vocabulary, in words."""
    return t("makes another function raise its own error") if seen.value is None else t("gets a row")


made_by = by_knob("rows")

QUESTION = Question(
    points=2,
    inputs=("ids", "vocab_size"),
    outputs=("rows (n, vocab_size)",),
    draw=draw_cases,
    reference=one_hot,
    variant=one_hot_variant,
    any_float=True,
    row_sums={"rows": 1.0},
    quotes={"fate": fate},
    misconceptions=(
        Misconception(
            "id-not-checked",
            twin=by_identity,
            twins=(lambda ids, size: F.one_hot(ids, size).float(),),
            knob_sets=({"check": lambda ids, size: None},),
        ),
        wrong_guard("negative-id-let-through", lambda ids, size: ids >= size, by_comparison, by_identity),
        wrong_guard("large-id-let-through", lambda ids, size: ids < 0, by_comparison, by_identity),
        wrong_guard("id-off-by-one", lambda ids, size: (ids < 0) | (ids > size), by_comparison, by_identity),
        wrong_guard("last-id-refused", lambda ids, size: (ids < 0) | (ids >= size - 1)),
        wrong_guard("first-id-refused", lambda ids, size: (ids <= 0) | (ids >= size)),
        wrong_guard("all-for-any", lambda ids, size: is_outside(ids, size).all()),
        mistake("good-ids-refused", one_hot_variant(guard_against(lambda ids, size: (ids >= 0) | (ids >= size)))),
        mistake("one-unknown-id-let-through", one_hot_variant(guard_by_truth_value)),
        made_by("not-floats", lambda ids, size: by_comparison(ids, size).long()),
        made_by(
            "counted-from-one",
            lambda ids, size: torch.eye(size)[ids - 1],
            lambda ids, size: (ids[:, None] == torch.arange(1, size + 1)).float(),
        ),
        made_by("transposed", lambda ids, size: by_comparison(ids, size).mT),
        made_by("vocabulary-guessed", lambda ids, size: F.one_hot(ids).float()),
        made_by("position-for-id", lambda ids, size: torch.eye(len(ids), size)),
        made_by("id-in-place-of-1", lambda ids, size: by_comparison(ids, size) * ids[:, None]),
        made_by("every-row-has-every-id", every_row_has_every_id),
        made_by("counts", lambda ids, size: by_comparison(ids, size).sum(0)),
        made_by("one-column-too-many", lambda ids, size: by_comparison(ids, size + 1)),
        made_by("all-zeros", lambda ids, size: torch.zeros(len(ids), size)),
        mistake(
            "ids-against-columns-one-by-one",
            one_hot_variant(rows=lambda ids, size: (ids == torch.arange(size)).float()),
            one_hot_variant(rows=lambda ids, size: (ids[None] == torch.arange(size)).float()),
        ),
    ),
)
