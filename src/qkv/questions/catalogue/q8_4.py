"""8.4: how many numbers a transformer learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from qkv.questions.engine import Case, Draw, Misconception, Question, call, mistake
from qkv.transformer import transformer_parameters

Count = Callable[[int, int], int]  # of d_model and d_hidden: a part's numbers


def draw_shapes(draw: Draw) -> list[Case]:
    primes = (3, 5, 7, 11, 13, 17, 19, 23, 29)

    def case(name: str, **options: Any) -> Case:
        order = torch.randperm(len(primes), generator=draw.generator)[:4].tolist()
        sizes = dict(zip(("vocab", "d_model", "layers", "d_hidden"), (primes[i] for i in order), strict=True))
        sizes |= {name: options.pop(name) for name in tuple(options) if name in sizes}
        return Case(call(*sizes.values(), **options), name, sizes)

    return [
        case("plain"),
        case("plain"),
        case("not tied", tied=False),
        case("tied, and said so", tied=True),
        case("one layer", layers=1),
        case("as wide as GPT-2's smallest", vocab=50257, d_model=768, layers=12, d_hidden=3072),
    ]


def attention(d: int, hidden: int) -> int:
    return 4 * (d * d + d)


def norms(d: int, hidden: int) -> int:
    return 4 * d


def feed_forward(d: int, hidden: int) -> int:
    return 2 * d * hidden + hidden + d


def count_variant(
    attend: Count = attention,
    norm: Count = norms,
    feed: Count = feed_forward,
    final: Count = lambda d, hidden: 2 * d,
    tables: Callable[[int, int, bool], int] = lambda vocab, d, tied: vocab * d * (1 if tied else 2),
) -> Callable[..., Any]:
    """Give an answer that counts some part in another way."""

    def variant(vocab: int, d_model: int, layers: int, d_hidden: int, tied: bool = True) -> int:
        layer = attend(d_model, d_hidden) + norm(d_model, d_hidden) + feed(d_model, d_hidden)
        return tables(vocab, d_model, tied) + layers * layer + final(d_model, d_hidden)

    return variant


def counted(slug: str, part: str, *wrong: Callable[..., int]) -> Misconception:
    return Misconception(slug, knob_sets=tuple({part: count} for count in wrong))


def one_layer(vocab: int, d: int, layers: int, hidden: int, tied: bool = True) -> int:
    return transformer_parameters(vocab, d, 1, hidden, tied)


def all_times_layers(vocab: int, d: int, layers: int, hidden: int, tied: bool = True) -> int:
    return layers * transformer_parameters(vocab, d, 1, hidden, tied)


def without_biases(vocab: int, d: int, layers: int, hidden: int, tied: bool = True) -> int:
    return transformer_parameters(vocab, d, layers, hidden, tied) - layers * (5 * d + hidden)


def hidden_four_times_as_wide(vocab: int, d: int, layers: int, hidden: int, tied: bool = True) -> int:
    return transformer_parameters(vocab, d, layers, 4 * d, tied)


def untied_by_default(vocab: int, d: int, layers: int, hidden: int, tied: bool = False) -> int:
    return transformer_parameters(vocab, d, layers, hidden, tied)


QUESTION = Question(
    points=3,
    inputs=("vocab", "d_model", "layers", "d_hidden"),
    outputs=("parameters",),
    draw=draw_shapes,
    reference=transformer_parameters,
    variant=count_variant,
    misconceptions=(
        counted("output-projection-forgotten", "attend", lambda d, hidden: 3 * (d * d + d)),
        counted("attention-biases-or-norms-forgotten", "attend", lambda d, hidden: 4 * d * d),
        counted("one-matrix-for-attention", "attend", lambda d, hidden: d * d + d, lambda d, hidden: d * d),
        counted("norms-without-bias", "norm", lambda d, hidden: 2 * d),
        counted("one-gain-for-all-features", "norm", lambda d, hidden: 4),
        counted("feed-forward-biases-forgotten", "feed", lambda d, hidden: 2 * d * hidden),
        counted("feed-forward-biases-of-one-size", "feed", lambda d, hidden: 2 * d * hidden + 2 * hidden),
        counted("a-bias-of-d-model-forgotten", "feed", lambda d, hidden: 2 * d * hidden + hidden),
        counted("first-feed-forward-bias-forgotten", "feed", lambda d, hidden: 2 * d * hidden + d),
        counted("one-feed-forward-layer", "feed", lambda d, hidden: d * hidden + hidden),
        counted("feed-forward-forgotten", "feed", lambda d, hidden: 0),
        counted("final-norm-forgotten", "final", lambda d, hidden: 0),
        counted("final-norm-without-bias", "final", lambda d, hidden: d),
        counted("tied-ignored", "tables", lambda vocab, d, tied: vocab * d),
        counted("never-tied", "tables", lambda vocab, d, tied: 2 * vocab * d),
        counted("tied-turned-round", "tables", lambda vocab, d, tied: vocab * d * (2 if tied else 1)),
        counted(
            "head-with-a-bias",
            "tables",
            lambda vocab, d, tied: vocab * d * (1 if tied else 2) + vocab,
            lambda vocab, d, tied: vocab * d if tied else 2 * vocab * d + vocab,
        ),
        counted("embedding-forgotten", "tables", lambda vocab, d, tied: 0 if tied else vocab * d),
        mistake("untied-by-default", untied_by_default),
        mistake("all-biases-forgotten", without_biases),
        mistake("one-layer-only", one_layer),
        mistake("embedding-in-each-layer", all_times_layers),
        mistake("hidden-width-assumed", hidden_four_times_as_wide),
    ),
)
