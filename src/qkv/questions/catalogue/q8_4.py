"""8.4: how many numbers a transformer learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from qkv.questions.engine import Case, Draw, Misconception, Question, call, mistake
from qkv.transformer import transformer_parameters

Count = Callable[[int, int], int]  # (d_model, d_hidden) -> the number of parameters of a part


def draw_shapes(draw: Draw) -> list[Case]:
    """Draw sizes that are different primes, so that no sum is right by chance."""
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
        case("tied=True is passed", tied=True),
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
    """Return an answer(vocab, d_model, layers, d_hidden, tied); each argument replaces the count of one part.

    By default it is right. `attend`, `norm` and `feed` count in each layer: attention, both norms, the feed-forward
    network. `final` counts the last norm, and `tables` the embedding and the output head.
    """

    def variant(vocab: int, d_model: int, layers: int, d_hidden: int, tied: bool = True) -> int:
        layer = attend(d_model, d_hidden) + norm(d_model, d_hidden) + feed(d_model, d_hidden)
        return tables(vocab, d_model, tied) + layers * layer + final(d_model, d_hidden)

    return variant


def wrong_count(slug: str, part: str, *wrong: Callable[..., int]) -> Misconception:
    """Return the misconception that counts this part of the model by one of the wrong ways."""
    return Misconception(slug, knob_sets=tuple({part: count} for count in wrong))


def one_layer_only(vocab: int, d: int, layers: int, hidden: int, tied: bool = True) -> int:
    return transformer_parameters(vocab, d, 1, hidden, tied)


def embedding_in_each_layer(vocab: int, d: int, layers: int, hidden: int, tied: bool = True) -> int:
    return layers * transformer_parameters(vocab, d, 1, hidden, tied)


def all_biases_forgotten(vocab: int, d: int, layers: int, hidden: int, tied: bool = True) -> int:
    return transformer_parameters(vocab, d, layers, hidden, tied) - layers * (5 * d + hidden)


def hidden_width_assumed(vocab: int, d: int, layers: int, hidden: int, tied: bool = True) -> int:
    return transformer_parameters(vocab, d, layers, 4 * d, tied)


def untied_by_default(vocab: int, d: int, layers: int, hidden: int, tied: bool = False) -> int:
    return transformer_parameters(vocab, d, layers, hidden, tied)


def positions_counted(n: int) -> Callable[..., int]:
    """Return an answer that counts a table of n positions, too."""
    return lambda vocab, d, layers, hidden, tied=True: transformer_parameters(vocab, d, layers, hidden, tied) + n * d


def twelve_squares(embeddings: int) -> Callable[..., int]:
    """Return an answer by the rule of thumb 12 · d² a layer, with so many tables of embeddings.

    With 0, it has those that `tied` asks for.
    """

    def rule(vocab: int, d: int, layers: int, hidden: int, tied: bool = True) -> int:
        return 12 * layers * d * d + vocab * d * (embeddings or (1 if tied else 2))

    return rule


def matrices_alone(vocab: int, d: int, layers: int, hidden: int, tied: bool = True) -> int:
    return vocab * d * (1 if tied else 2) + layers * (4 * d * d + 2 * d * hidden)


QUESTION = Question(
    points=3,
    inputs=("vocab", "d_model", "layers", "d_hidden"),
    outputs=("parameters",),
    draw=draw_shapes,
    reference=transformer_parameters,
    variant=count_variant,
    misconceptions=(
        wrong_count("output-projection-forgotten", "attend", lambda d, hidden: 3 * (d * d + d)),
        wrong_count("attention-biases-or-norms-forgotten", "attend", lambda d, hidden: 4 * d * d),
        wrong_count("one-matrix-for-attention", "attend", lambda d, hidden: d * d + d, lambda d, hidden: d * d),
        wrong_count("norms-without-bias", "norm", lambda d, hidden: 2 * d),
        wrong_count("one-gain-for-all-features", "norm", lambda d, hidden: 4),
        wrong_count("feed-forward-biases-forgotten", "feed", lambda d, hidden: 2 * d * hidden),
        wrong_count("feed-forward-biases-of-one-size", "feed", lambda d, hidden: 2 * d * hidden + 2 * hidden),
        wrong_count("a-bias-of-d-model-forgotten", "feed", lambda d, hidden: 2 * d * hidden + hidden),
        wrong_count("first-feed-forward-bias-forgotten", "feed", lambda d, hidden: 2 * d * hidden + d),
        wrong_count("one-feed-forward-layer", "feed", lambda d, hidden: d * hidden + hidden),
        wrong_count("feed-forward-forgotten", "feed", lambda d, hidden: 0),
        wrong_count("final-norm-forgotten", "final", lambda d, hidden: 0),
        wrong_count("final-norm-without-bias", "final", lambda d, hidden: d),
        wrong_count("tied-ignored", "tables", lambda vocab, d, tied: vocab * d),
        wrong_count("never-tied", "tables", lambda vocab, d, tied: 2 * vocab * d),
        wrong_count("tied-turned-round", "tables", lambda vocab, d, tied: vocab * d * (2 if tied else 1)),
        wrong_count(
            "head-with-a-bias",
            "tables",
            lambda vocab, d, tied: vocab * d * (1 if tied else 2) + vocab,
            lambda vocab, d, tied: vocab * d if tied else 2 * vocab * d + vocab,
        ),
        wrong_count("embedding-forgotten", "tables", lambda vocab, d, tied: 0 if tied else vocab * d),
        mistake("untied-by-default", untied_by_default),
        mistake("all-biases-forgotten", all_biases_forgotten),
        mistake("positions-counted", *map(positions_counted, (1024, 512, 2048))),
        mistake("twelve-squares", *map(twelve_squares, (0, 1, 2))),
        mistake("matrices-alone", matrices_alone),
        mistake("one-layer-only", one_layer_only),
        mistake("embedding-in-each-layer", embedding_in_each_layer),
        mistake("hidden-width-assumed", hidden_width_assumed),
    ),
)
