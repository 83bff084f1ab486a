"""2.6: write a head that finds the other noun."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.questions.engine import Case, Draw, Question, call, mistake
from qkv.questions.shared.written_heads import (
    SHARP,
    Matrices,
    check_matrices,
    head_weights,
    looking_difference,
    only_rows,
    tables,
    turned,
)

TEXTS, LENGTH = 40, 7


def other_noun_head(words: Tensor, is_noun: Tensor) -> Matrices:
    """Return w_q and w_k of a head with which each of two nouns looks at the other.

    A noun's key has a 1 in a place of its own, and its query has a large number in the places of all other nouns.

    Shapes:
        words (vocab, d), orthogonal rows of length 1   is_noun (vocab,) bool
    Returns:
        w_q, w_k (d, number of nouns)
    """
    nouns = words[is_noun]
    others = 1 - torch.eye(len(nouns))
    return SHARP * nouns.mT @ others, nouns.mT


def draw_vocabularies(draw: Draw) -> list[Case]:
    """Draw words and nouns: several, two, and with many features."""

    def case(name: str, vocab: int, n_nouns: int, spare: int = 2) -> Case:
        is_noun = torch.randperm(vocab, generator=draw.generator) < n_nouns
        (words,) = tables(draw, vocab, spare=spare)
        return Case(call(words, is_noun), name, {"vocab": vocab, "d": vocab + spare})

    return [
        case("plain", draw.whole(10, 12), 4),
        case("plain", draw.whole(13, 15), draw.whole(5, 6)),
        case("two nouns", 8, 2),
        case("many features", 9, 4, spare=draw.whole(10, 14)),
    ]


def texts_with_two_nouns(is_noun: Tensor) -> Tensor:
    """Return ids (TEXTS, LENGTH): two different nouns at different places, and words that are none.

    They are the same at each call with as many words.
    """
    generator = torch.Generator().manual_seed(len(is_noun))
    nouns, others = is_noun.nonzero()[:, 0], (~is_noun).nonzero()[:, 0]
    texts = []
    for _ in range(TEXTS):
        ids = others[torch.randint(0, len(others), (LENGTH,), generator=generator)]
        places = torch.randperm(LENGTH, generator=generator)[:2]
        ids[places] = nouns[torch.randperm(len(nouns), generator=generator)[:2]]
        texts.append(ids)
    return torch.stack(texts)


def weights_of_nouns(case: Case, result: Any) -> Tensor:
    """Run the head of a result on texts with two nouns. Return its weights (texts, n, n), 0 in the rows of other words.

    Raises:
        ValueError: the result is not w_q and w_k. Its text is for the learner.
    """
    words, is_noun = case.script[0].args
    w_q, w_k = check_matrices(result, ("w_q", "w_k"), words.shape[-1])
    ids = texts_with_two_nouns(is_noun)
    return only_rows(head_weights(words[ids], w_q, w_k), is_noun[ids])


def pattern(words: Tensor, is_noun: Tensor, matched: Tensor, strength: float = SHARP) -> Matrices:
    """Return a head in which noun a scores `matched[a, b]` with noun b."""
    nouns = words[is_noun]
    return strength * nouns.mT @ matched, nouns.mT


def two_nouns_of_the_vocabulary(first: int, second: int, strength: float = SHARP) -> Callable[..., Matrices]:
    """Return an answer(words, is_noun) whose head knows these two nouns of the vocabulary, and no others."""

    def answer(words: Tensor, is_noun: Tensor) -> Matrices:
        nouns = words[is_noun][[first, second]]
        return strength * nouns.flip(0).mT, nouns.mT

    return answer


def count(is_noun: Tensor) -> int:
    return int(is_noun.sum())


QUESTION = Question(
    points=4,
    inputs=("words", "is_noun"),
    outputs=("w_q (d, d_k)", "w_k (d, d_k)"),
    draw=draw_vocabularies,
    reference=other_noun_head,
    effect=weights_of_nouns,
    differs=looking_difference,
    misconceptions=(
        mistake(
            "itself",
            lambda words, is_noun: pattern(words, is_noun, torch.eye(count(is_noun))),
            lambda words, is_noun: (SHARP * words.mT, words.mT),
        ),
        mistake(
            "both-nouns", lambda words, is_noun: pattern(words, is_noun, torch.ones(count(is_noun), count(is_noun)))
        ),
        mistake(
            "other-words",
            lambda words, is_noun: (SHARP * words.mT @ (1 - torch.eye(len(words))), words.mT),
            lambda words, is_noun: other_noun_head(words, ~is_noun),
            turned(other_noun_head),
        ),
        mistake("two-nouns-of-the-vocabulary", *(two_nouns_of_the_vocabulary(*pair) for pair in ((0, 1), (0, -1)))),
        mistake(
            "too-weak",
            lambda words, is_noun: pattern(words, is_noun, 1 - torch.eye(count(is_noun)), 3.0),
        ),
    ),
)
