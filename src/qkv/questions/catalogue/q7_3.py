"""7.3: the size of a cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from qkv.cache import kv_cache_bytes
from qkv.questions.engine import Case, Draw, Question, call, mistake


def draw_bytes(draw: Draw) -> list[Case]:
    def case(name: str, *, one: str = "", **options: int) -> Case:
        primes = dict(zip(("layers", "kv_heads", "d_head", "tokens"), picked(draw), strict=True))
        primes |= {one: 1} if one else {}
        return Case(call(*primes.values(), **options), name, primes | options)

    return [
        case("plain"),
        case("plain"),
        case("four bytes a number", bytes_per_value=4),
        case("one byte a number", bytes_per_value=1),
        case("a batch", batch=draw.choose((31, 37))),
        case("a batch in float32", batch=draw.choose((31, 37)), bytes_per_value=4),
        case("one layer", one="layers"),
        case("one head", one="kv_heads"),
        case("one token", one="tokens"),
        Case(call(32, 8, 128, 8192), "Llama 3 8B", {"layers": 32, "kv_heads": 8, "d_head": 128}),
    ]


def picked(draw: Draw) -> list[int]:
    """Draw four odd primes, no two the same."""
    primes = [3, 5, 7, 11, 13, 17, 19, 23, 29]
    return [primes[i] for i in torch.randperm(len(primes), generator=draw.generator)[:4].tolist()]


def bytes_by(reckon: Callable[..., Any]) -> Callable[..., Any]:
    """Give an answer that reckons otherwise, from layers, heads, features, tokens, batch and bytes."""

    def variant(layers: int, kv_heads: int, d_head: int, tokens: int, batch: int = 1, bytes_per_value: int = 2) -> Any:
        return reckon(layers, kv_heads, d_head, tokens, batch, bytes_per_value)

    return variant


def without(*left_out: int) -> Callable[..., int]:
    """Give an answer without some of the factors, by their number; number 6 is the 2 of keys and values."""
    return bytes_by(lambda *sizes: math.prod(size for i, size in enumerate([*sizes, 2]) if i not in left_out))


def times(factor: Callable[..., float]) -> Callable[..., Any]:
    """Give an answer that is wrong by a factor."""
    return bytes_by(lambda *sizes: kv_cache_bytes(*sizes) * factor(*sizes))


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
        mistake("factor-two-forgotten", without(6), without(5, 6)),
        mistake("bytes-for-keys-and-values", without(5), bytes_by(lambda *sizes: math.prod(sizes) * sizes[-1])),
        mistake("bytes-ignored", bytes_by(lambda *sizes: 4 * math.prod(sizes[:5]))),
        mistake("batch-and-bytes-ignored", bytes_by(lambda *sizes: 4 * math.prod(sizes[:4]))),
        mistake("factor-two-twice", times(lambda *sizes: 2)),
        mistake("queries-counted-too", bytes_by(lambda *sizes: 3 * math.prod(sizes))),
        mistake("bits-for-bytes", times(lambda *sizes: 8)),
        mistake(
            "other-unit",
            bytes_by(lambda *sizes: kv_cache_bytes(*sizes) // 1024),
            *(times(lambda *sizes, unit=unit: 1 / unit) for unit in (1024, 1024**2, 1024**3, 1e6, 1e9)),
        ),
        mistake("layers-forgotten", without(0)),
        mistake("heads-forgotten", without(1)),
        mistake("features-forgotten", without(2)),
        mistake("tokens-forgotten", without(3)),
        mistake("batch-forgotten", without(4)),
        mistake("quadratic-in-heads", times(lambda layers, heads, *rest: heads)),
        mistake("quadratic-in-features", times(lambda layers, heads, features, *rest: features)),
        mistake("quadratic-in-tokens", times(lambda layers, heads, features, tokens, *rest: tokens)),
        mistake(
            "scores-counted-too",
            bytes_by(
                lambda layers, heads, features, tokens, batch, size: (
                    kv_cache_bytes(layers, heads, features, tokens, batch, size)
                    + layers * heads * tokens**2 * batch * size
                )
            ),
        ),
        mistake(
            "heads-as-a-divisor",
            bytes_by(
                lambda layers, heads, features, *rest: kv_cache_bytes(layers, heads, max(features // heads, 1), *rest)
            ),
        ),
        mistake("another-default", with_default_bytes(1), with_default_bytes(4)),
    ),
)
