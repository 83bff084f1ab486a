"""7.3: the size of a cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from qkv.cache import kv_cache_bytes
from qkv.questions.engine import Case, Draw, Question, call, mistake


def draw_bytes(draw: Draw) -> list[Case]:
    """Draw sizes that are different primes, so that no product is right by chance."""

    def case(name: str, *, equal_to_1: str = "", **options: int) -> Case:
        primes = dict(zip(("layers", "kv_heads", "d_head", "tokens"), draw_primes(draw), strict=True))
        primes |= {equal_to_1: 1} if equal_to_1 else {}
        return Case(call(*primes.values(), **options), name, primes | options)

    return [
        case("plain"),
        case("plain"),
        case("four bytes a number", bytes_per_value=4),
        case("one byte a number", bytes_per_value=1),
        case("a batch", batch=draw.choose((31, 37))),
        case("a batch in float32", batch=draw.choose((31, 37)), bytes_per_value=4),
        case("one layer", equal_to_1="layers"),
        case("one head", equal_to_1="kv_heads"),
        case("one token", equal_to_1="tokens"),
        Case(call(32, 8, 128, 8192), "Llama 3 8B", {"layers": 32, "kv_heads": 8, "d_head": 128}),
    ]


def draw_primes(draw: Draw) -> list[int]:
    """Draw four different odd primes."""
    primes = [3, 5, 7, 11, 13, 17, 19, 23, 29]
    return [primes[i] for i in torch.randperm(len(primes), generator=draw.generator)[:4].tolist()]


def answer_from(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return an answer with the arguments of the question, by default batch=1 and bytes_per_value=2.

    It calls `compute` with layers, heads, features, tokens, batch and bytes per value, by position.
    """

    def variant(layers: int, kv_heads: int, d_head: int, tokens: int, batch: int = 1, bytes_per_value: int = 2) -> Any:
        return compute(layers, kv_heads, d_head, tokens, batch, bytes_per_value)

    return variant


def without(*left_out: int) -> Callable[..., int]:
    """Return an answer without some factors: 0 to 5 are the arguments in order, 6 is the 2 for keys and values."""
    return answer_from(lambda *sizes: math.prod(size for i, size in enumerate([*sizes, 2]) if i not in left_out))


def wrong_by_factor(factor: Callable[..., float]) -> Callable[..., Any]:
    """Return an answer that is wrong by the factor `factor(*sizes)`."""
    return answer_from(lambda *sizes: kv_cache_bytes(*sizes) * factor(*sizes))


def with_default_bytes(default: int) -> Callable[..., int]:
    return lambda layers, kv_heads, d_head, tokens, batch=1, bytes_per_value=default: kv_cache_bytes(
        layers, kv_heads, d_head, tokens, batch, bytes_per_value
    )


QUESTION = Question(
    points=2,
    inputs=("layers", "kv_heads", "d_head", "tokens"),
    outputs=("bytes",),
    draw=draw_bytes,
    reference=kv_cache_bytes,
    misconceptions=(
        mistake("factor-two-forgotten", without(6)),
        mistake("numbers-of-keys-counted", without(5, 6)),
        mistake("bytes-for-keys-and-values", without(5), answer_from(lambda *sizes: math.prod(sizes) * sizes[-1])),
        mistake("bytes-ignored", answer_from(lambda *sizes: 4 * math.prod(sizes[:5]))),
        mistake("batch-and-bytes-ignored", answer_from(lambda *sizes: 4 * math.prod(sizes[:4]))),
        mistake("factor-two-twice", wrong_by_factor(lambda *sizes: 2)),
        mistake("queries-counted-too", answer_from(lambda *sizes: 3 * math.prod(sizes))),
        mistake("bits-for-bytes", wrong_by_factor(lambda *sizes: 8)),
        mistake(
            "bytes-taken-for-bits",
            answer_from(lambda *sizes: kv_cache_bytes(*sizes) // 8),
            wrong_by_factor(lambda *sizes: 1 / 8),
        ),
        mistake(
            "other-unit",
            answer_from(lambda *sizes: kv_cache_bytes(*sizes) // 1024),
            *(wrong_by_factor(lambda *sizes, unit=unit: 1 / unit) for unit in (1024, 1024**2, 1024**3, 1e6, 1e9)),
        ),
        mistake("layers-forgotten", without(0)),
        mistake("heads-forgotten", without(1)),
        mistake("features-forgotten", without(2)),
        mistake("tokens-forgotten", without(3)),
        mistake("batch-forgotten", without(4)),
        mistake("quadratic-in-heads", wrong_by_factor(lambda layers, heads, *rest: heads)),
        mistake("quadratic-in-features", wrong_by_factor(lambda layers, heads, features, *rest: features)),
        mistake("quadratic-in-tokens", wrong_by_factor(lambda layers, heads, features, tokens, *rest: tokens)),
        mistake(
            "scores-counted-too",
            answer_from(
                lambda layers, heads, features, tokens, batch, size: (
                    kv_cache_bytes(layers, heads, features, tokens, batch, size)
                    + layers * heads * tokens**2 * batch * size
                )
            ),
        ),
        mistake(
            "heads-as-a-divisor",
            answer_from(
                lambda layers, heads, features, *rest: kv_cache_bytes(layers, heads, max(features // heads, 1), *rest)
            ),
        ),
        mistake("another-default", with_default_bytes(1), with_default_bytes(4)),
    ),
)
