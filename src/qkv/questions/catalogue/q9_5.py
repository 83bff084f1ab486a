"""9.5: write the matrices of an induction head, of two layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from qkv.attention import causal_mask
from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call
from qkv.questions.shared.written_heads import (
    SHARP,
    Matrices,
    check_matrices,
    head_weights,
    looking_difference,
    only_rows,
    tables,
)
from qkv.words import t

TEXTS = 60
NAMES = ("w_q1", "w_k1", "w_v1", "w_q2", "w_k2")
AWAY = 1000.0


def induction_heads(words: Tensor, positions: Tensor, free: Tensor) -> Matrices:
    """Return the matrices of two causal heads; the second looks at the token after an earlier one of the same word.

    The first head looks at the previous token, and adds that token's word, as a row of `free`, to its own token. The
    second head's query is the token's word, and its key the word before. The first token has none: its key is moved
    away, because the first head wrote the token's own word there.

    Shapes:
        words (vocab, d), positions (n_max, d), free (vocab, d), orthogonal rows of length 1
    Returns:
        w_q1, w_k1 (d, n_max − 1)   w_v1 (d, d)   w_q2, w_k2 (d, vocab + 1)
    """
    sharp = SHARP * len(positions)
    any_token = positions.sum(0)[:, None]  # x · any_token is 1 for every token
    w_v1 = words.mT @ free
    w_q2 = torch.cat([words.mT, any_token], dim=1)
    w_k2 = torch.cat([free.mT, -positions[0, :, None]], dim=1)
    return sharp * positions[1:].mT, positions[:-1].mT, w_v1, sharp * w_q2, w_k2


def draw_tables(draw: Draw) -> list[Case]:
    """Draw words, positions and free rows: of two sizes, and with many features."""

    def case(name: str, vocab: int, n_max: int, spare: int = 2) -> Case:
        words, positions, free = tables(draw, vocab, n_max, vocab, spare=spare)
        sizes = {"vocab": vocab, "n_max": n_max, "d": 2 * vocab + n_max + spare}
        return Case(call(words, positions, free), name, sizes)

    return [
        case("plain", draw.whole(7, 8), draw.whole(9, 10)),
        case("plain", draw.whole(9, 10), draw.whole(11, 12)),
        case("many features", 6, 7, spare=draw.whole(10, 14)),
    ]


def texts_with_repeats(vocab: int, n: int) -> Tensor:
    """Return ids (TEXTS, n): no word more than twice, and none twice in succession. They are the same at each call."""
    generator = torch.Generator().manual_seed(n)
    texts: list[Tensor] = []
    while len(texts) < TEXTS:
        ids = torch.randperm(2 * vocab, generator=generator)[:n] % vocab
        if not (ids[1:] == ids[:-1]).any():
            texts.append(ids)
    return torch.stack(texts)


def text_of(case: Case, text: int) -> str:
    """Return a sentence with the ids of a text, which is given by its index."""
    words, positions, _ = case.script[0].args
    return t("The text: ids = {ids}.", ids=texts_with_repeats(len(words), len(positions))[text].tolist())


def weights_of_the_second_head(case: Case, result: Any) -> Tensor:
    """Run both heads on texts, and return the weights of the second, with 0 in the row of each word's first place.

    `result` is what an answer returned: the matrices of `NAMES`.

    Shapes:
        the weights (TEXTS, n, n), with n the number of positions of the case
    Raises:
        ValueError: the result is not these matrices. Its text is for the learner.
    """
    words, positions, _ = case.script[0].args
    w_q1, w_k1, w_v1, w_q2, w_k2 = check_matrices(result, NAMES, words.shape[-1])
    if w_v1.shape != (len(w_v1), len(w_v1)):
        raise ValueError(t("Your w_v1 has shape {shape}. What it makes of x is added to x.", shape=tuple(w_v1.shape)))
    n = len(positions)
    ids, mask = texts_with_repeats(len(words), n), causal_mask(n)
    x = words[ids] + positions
    x = x + head_weights(x, w_q1, w_k1, mask) @ (x @ w_v1)
    repeated = (ids[:, :, None] == ids[:, None, :]).tril(-1).any(-1)
    return only_rows(head_weights(x, w_q2, w_k2, mask), repeated)


Parts = Callable[[Tensor, Tensor, Tensor], Any]


def words_of(words: Tensor, positions: Tensor, free: Tensor) -> Tensor:
    return words.mT


def notes_of(words: Tensor, positions: Tensor, free: Tensor) -> Tensor:
    return free.mT


def to_the_previous_token(positions: Tensor) -> Matrices:
    return positions[1:].mT, positions[:-1].mT


TO_THE_NEXT_TOKEN = (
    lambda positions: to_the_previous_token(positions)[::-1],
    lambda positions: (positions.mT, positions.roll(-1, 0).mT),
)


def heads_variant(
    first: Callable[[Tensor], Matrices] = to_the_previous_token,
    written: Parts = lambda words, positions, free: words.mT @ free,
    query: Parts = words_of,
    key: Parts = notes_of,
    first_token: float = -1.0,
    sharp: float = SHARP,
    sharp_first: float = SHARP,
) -> Callable[..., Matrices]:
    """Return an answer(words, positions, free) → the five matrices; each argument replaces one part.

    By default it is right. `first` makes w_q and w_k of the first head and `written` its w_v; `query` and `key` are
    those of the second, whose first key gets `first_token` more score. `sharp_first` and `sharp` multiply the queries.
    """

    def variant(words: Tensor, positions: Tensor, free: Tensor) -> Matrices:
        w_q1, w_k1 = first(positions)
        w_q2 = torch.cat([query(words, positions, free), positions.sum(0)[:, None]], dim=1)
        w_k2 = torch.cat([key(words, positions, free), first_token * positions[0, :, None]], dim=1)
        n = len(positions)
        return sharp_first * n * w_q1, w_k1, written(words, positions, free), sharp * n * w_q2, w_k2

    return variant


def with_and_without_the_first_token(slug: str, *knob_sets: dict[str, Any]) -> Misconception:
    """Return a misconception with two twins for each set of knobs: the first token is left out, as is right, or not.

    So a first token that is not left out counts as no second mistake.
    """
    return Misconception(
        slug, knob_sets=tuple(knobs | more for knobs in knob_sets for more in ({}, {"first_token": 0.0}))
    )


QUESTION = Question(
    points=5,
    inputs=("words", "positions", "free"),
    outputs=tuple(f"{name} (d, …)" for name in NAMES),
    draw=draw_tables,
    reference=induction_heads,
    variant=heads_variant,
    effect=weights_of_the_second_head,
    differs=partial(looking_difference, text_of=text_of),
    misconceptions=(
        by_knob("first_token")("first-token-not-left-out", 0.0),
        with_and_without_the_first_token(
            "looks-at-the-word-itself",
            {"key": words_of},
            {"key": lambda words, positions, free: words.mT + free.mT},
        ),
        with_and_without_the_first_token(
            "word-for-a-note", {"written": lambda words, positions, free: words.mT @ words, "key": words_of}
        ),
        with_and_without_the_first_token("query-and-key-swapped", {"query": notes_of, "key": words_of}),
        with_and_without_the_first_token(
            "looks-at-the-next-token",
            *({"first": first, "sharp": sharp} for first in TO_THE_NEXT_TOKEN for sharp in (SHARP, 100 * SHARP)),
        ),
        with_and_without_the_first_token(
            "nothing-written",
            {"written": lambda words, positions, free: torch.zeros(len(words.mT), len(words.mT))},
            {"written": lambda words, positions, free: torch.eye(len(words.mT))},
            {"written": lambda words, positions, free: words.mT @ words},
            {"written": lambda words, positions, free: free.mT @ words},
        ),
        with_and_without_the_first_token("too-weak", {"sharp": 0.3}, {"sharp": 0.1, "sharp_first": 0.1}),
    ),
)
