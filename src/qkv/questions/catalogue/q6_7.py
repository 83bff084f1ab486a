"""6.7: write a head that looks at the nearest noun to the left."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from qkv.attention import causal_mask
from qkv.questions.engine import Case, Draw, Question, by_knob, call, mistake
from qkv.questions.shared.written_heads import (
    Matrices,
    check_matrices,
    head_weights,
    looking_difference,
    only_rows,
    tables,
    weakened,
)
from qkv.words import t

TEXTS = 60
STEP = 5.0  # of the score from one position to the next: e⁵ = 148
FAR = 1000.0  # more than all positions together
AWAY = 2000.0  # more than a noun


def nearest_noun_head(words: Tensor, is_noun: Tensor, positions: Tensor) -> Matrices:
    """Return w_q and w_k of a causal head with which each token looks at the nearest noun before it.

    The score of key j is large for a noun and grows with j; for the token itself, it is very low.

    Shapes:
        words (vocab, d), positions (n_max, d), orthogonal rows of length 1   is_noun (vocab,) bool
    Returns:
        w_q, w_k (d, 1 + n_max)
    """
    n = len(positions)
    any_token = positions.sum(0)  # x · any_token is 1, because every token has one position
    liked = FAR * words[is_noun].sum(0) + STEP * torch.arange(n) @ positions
    w_q = torch.cat([any_token[:, None], positions.mT], dim=1)
    w_k = torch.cat([liked[:, None], -AWAY * positions.mT], dim=1)
    return n * w_q, w_k


def draw_tables(draw: Draw) -> list[Case]:
    """Draw words, nouns and positions: with several nouns, with one, and with many features."""

    def case(name: str, vocab: int, n_nouns: int, n_max: int, spare: int = 2) -> Case:
        words, positions = tables(draw, vocab, n_max, spare=spare)
        is_noun = torch.randperm(vocab, generator=draw.generator) < n_nouns
        sizes = {"vocab": vocab, "n_max": n_max, "d": vocab + n_max + spare}
        return Case(call(words, is_noun, positions), name, sizes)

    return [
        case("plain", draw.whole(6, 8), 3, draw.whole(9, 10)),
        case("plain", draw.whole(9, 10), 4, draw.whole(7, 8)),
        case("one noun", 5, 1, 6),
        case("many features", 6, 3, 7, spare=draw.whole(10, 14)),
    ]


def texts_of(case: Case) -> Tensor:
    """Return the ids (TEXTS, n_max) of the texts on which the head is run: the same ones at each call with a case."""
    words, _, positions = case.script[0].args
    n = len(positions)
    return torch.randint(0, len(words), (TEXTS, n), generator=torch.Generator().manual_seed(n))


def text_of(case: Case, text: int) -> str:
    """Return a sentence with the ids of a text, which is given by its index, and which of them are nouns."""
    ids = texts_of(case)[text]
    is_noun = case.script[0].args[1]
    nouns = ids[is_noun[ids]].unique().tolist()
    return t("The text: ids = {ids}. Of these words, {nouns} are nouns.", ids=ids.tolist(), nouns=nouns)


def weights_of_texts(case: Case, result: Any) -> Tensor:
    """Run the causal head of a result on texts. Return its weights, with 0 in the rows without a noun before them.

    Shapes:
        the weights (TEXTS, n_max, n_max)
    Raises:
        ValueError: the result is not w_q and w_k. Its text is for the learner.
    """
    words, is_noun, positions = case.script[0].args
    w_q, w_k = check_matrices(result, ("w_q", "w_k"), words.shape[-1])
    n, ids = len(positions), texts_of(case)
    earlier_nouns = is_noun[ids].int().cumsum(-1) - is_noun[ids].int()
    return only_rows(head_weights(words[ids] + positions, w_q, w_k, causal_mask(n)), earlier_nouns > 0)


def head_variant(
    noun: float = FAR,
    step: float = STEP,
    oneself: float = -AWAY,
    marked: Callable[[Tensor], Tensor] = lambda is_noun: is_noun,
) -> Callable[..., Matrices]:
    """Return an answer(words, is_noun, positions) → w_q, w_k; by default it is right.

    The arguments are the score of a noun, of one position more and of the token itself, and what counts as a noun.
    """

    def variant(words: Tensor, is_noun: Tensor, positions: Tensor) -> Matrices:
        n = len(positions)
        liked = noun * words[marked(is_noun)].sum(0) + step * torch.arange(n) @ positions
        w_q = torch.cat([positions.sum(0)[:, None], positions.mT], dim=1)
        return n * w_q, torch.cat([liked[:, None], oneself * positions.mT], dim=1)

    return variant


QUESTION = Question(
    points=4,
    inputs=("words", "is_noun", "positions"),
    outputs=("w_q (d, d_k)", "w_k (d, d_k)"),
    draw=draw_tables,
    reference=nearest_noun_head,
    variant=head_variant,
    effect=weights_of_texts,
    differs=partial(looking_difference, text_of=text_of),
    misconceptions=(
        by_knob("oneself")("itself-not-left-out", 0.0),
        by_knob("step")("first-noun", -STEP),
        by_knob("step")("all-nouns-alike", 0.0, 0.01),
        by_knob("noun")("nouns-not-preferred", 0.0),
        by_knob("noun")("nouns-outrun", 8.0, 13.0),
        by_knob("marked")("words-that-are-no-nouns", lambda is_noun: ~is_noun),
        mistake("itself", lambda words, is_noun, positions: (FAR * positions.mT, positions.mT)),
        mistake("too-weak", weakened(head_variant(step=STEP, noun=60.0, oneself=-120.0))),
    ),
)
