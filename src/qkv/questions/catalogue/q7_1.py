"""7.1: a cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.cache import KVCache
from qkv.observing import Step
from qkv.questions.engine import Case, Draw, Misconception, Question, Seen, by_knob, length, make, method, mistake

Join = Callable[[Any, Tensor], Any]  # of what is held, None at first, and what is new: what is held then
Give = Callable[[Tensor, Tensor, Tensor, Tensor], Any]  # of all keys, all values, and the new ones: what is returned


def draw_appends(draw: Draw) -> list[Case]:
    def case(
        name: str,
        counts: list[int],
        sizes: dict[str, int] | None = None,
        dtype: torch.dtype = torch.float32,
        empty: bool = False,
        **fixed: int,
    ) -> Case:
        s = draw.sizes("B", "H", "d", low=2, high=7, **fixed) if sizes is None else sizes
        steps: list[Step] = [make(), *([length()] if empty else [])]
        for n in counts:
            k, v = (draw.normal(s["B"], s["H"], n, s["d"], dtype=dtype) for _ in range(2))
            steps += [method("append", k, v), length()]
        return Case(tuple(steps), name, s)

    same = draw.sizes("B", "H", "d", low=2, high=7)
    return [
        case("plain", [draw.choose((4, 5)), 3, 1, 2], same),
        case("a second cache", [2, 1, 4], same),
        case("plain", [draw.choose((8, 9)), 1, 1, 1]),
        case("one token at a time", [1] * 7),
        case("as many tokens at a time", [3] * 4),
        case("a single append", [draw.whole(3, 9)]),
        case("one example and one head", [3, 1, 2], B=1, H=1),
        case("one feature", [2, 1, 3], d=1),
        case("float64", [3, 1, 2], dtype=torch.float64),
        case("many appends", [draw.whole(20, 30), *[1] * 20]),
        case("a long text", [draw.whole(1030, 1050), 40, 1], B=1, H=2, d=3),
        case("an empty cache", [2, 3], empty=True),
    ]


def after_the_first(join: Callable[[Tensor, Tensor], Tensor]) -> Join:
    """Keep what comes first; join later positions to it in this way."""
    return lambda held, new: new.clone() if held is None else join(held, new)


def joined_along(axis: int) -> Join:
    return after_the_first(lambda held, new: torch.cat([held, new], dim=axis))


at_the_end = joined_along(-2)
newest_first = after_the_first(lambda held, new: torch.cat([new, held], dim=-2))
newest_only = after_the_first(lambda held, new: new.clone())
oldest_only = after_the_first(lambda held, new: held)
over_the_oldest = after_the_first(lambda held, new: torch.cat([new, held[..., new.shape[-2] :, :]], dim=-2))
over_the_newest = after_the_first(lambda held, new: torch.cat([held[..., :-1, :], new], dim=-2))


def at_most(capacity: int) -> Join:
    """Keep the newest positions only, as many as there is room for."""
    return lambda held, new: at_the_end(held, new)[..., -capacity:, :]


def cache_variant(
    keys: Join = at_the_end,
    values: Join = at_the_end,
    count: Callable[[Any], Any] = lambda cache: 0 if cache.k is None else cache.k.shape[-2],
    give: Give = lambda k, v, new_k, new_v: (k, v),
    shared: bool = False,
) -> type:
    """Give a class that keeps, counts or hands out in another way; a new class at every call."""

    class Variant:
        k: Tensor | None = None
        v: Tensor | None = None
        appends = 0

        def append(self, k: Tensor, v: Tensor) -> Any:
            home = type(self) if shared else self
            home.appends += 1
            home.k, home.v = keys(home.k, k), values(home.v, v)
            return give(home.k, home.v, k, v)

        def __len__(self) -> Any:
            return count(self)

    return Variant


def in_one_list(held: Any, new: Tensor) -> Any:
    """Keep a list of what came in, and write into it."""
    held = [] if held is None else held
    held.append(new)
    return held


def in_lists(count: Callable[[list[Tensor]], int], join: Join = in_one_list) -> type:
    """Give a class that joins nothing, and takes this for the length of a list of keys."""
    return cache_variant(join, join, count=lambda cache: count(cache.k or []))


def positions_of(held: list[Tensor]) -> int:
    return sum(piece.shape[-2] for piece in held)


def held_there(seen: Seen) -> str:
    """Say how many appends there were, and how many positions they brought."""
    counts = [step.args[0].shape[-2] for step in seen.case.script if step.method == "append"]
    each = f"{' + '.join(map(str, counts))} = " if 1 < len(counts) < 8 else ""
    return f"{len(counts)} appends brought {each}{sum(counts)} positions"


def counted(slug: str, *counts: Callable[[Tensor], int], empty: int = 0) -> Misconception:
    """The mistake to take this for the length, where some keys are held."""
    return Misconception(
        slug,
        knob_sets=tuple(
            {"count": lambda cache, count=count: empty if cache.k is None else count(cache.k)} for count in counts
        ),
    )


joined = by_knob("keys", "values")
given = by_knob("give", alone=True)

QUESTION = Question(
    points=3,
    inputs=("k", "v"),
    outputs=("keys (B, H, n, d)", "values (B, H, n, d)"),
    draw=draw_appends,
    reference=KVCache,
    variant=cache_variant,
    quotes={"held_there": held_there},
    misconceptions=(
        joined("forgets", newest_only),
        joined("keeps-the-first-only", oldest_only),
        joined("overwrites", over_the_oldest, over_the_newest),
        Misconception(
            "newest-first",
            knob_sets=(
                {"keys": newest_first, "values": newest_first},
                {"values": newest_first},
                {"keys": newest_first},
            ),
        ),
        mistake("values-forgotten", cache_variant(values=newest_only)),
        mistake("keys-forgotten", cache_variant(keys=newest_only)),
        joined("joined-along-another-axis", joined_along(0), joined_along(1), joined_along(3)),
        joined("a-fixed-capacity", at_most(32), at_most(128), at_most(512), at_most(1024)),
        given("hands-out-the-new-only", lambda k, v, new_k, new_v: (new_k, new_v)),
        given("keys-and-values-swapped", lambda k, v, new_k, new_v: (v, k)),
        given("one-tensor-for-both", lambda k, v, new_k, new_v: (k, k), lambda k, v, new_k, new_v: (v, v)),
        given("values-not-returned", lambda k, v, new_k, new_v: k),
        given("stacked", lambda k, v, new_k, new_v: torch.stack([k, v])),
        given("heads-and-positions-swapped", lambda k, v, new_k, new_v: (k.transpose(1, 2), v.transpose(1, 2))),
        given("nothing-returned-from-append", lambda k, v, new_k, new_v: None),
        mistake("nothing-returned-from-len", cache_variant(count=lambda cache: None)),
        mistake(
            "pieces-not-joined",
            *(in_lists(count) for count in (positions_of, len)),
            *(in_lists(count, lambda held, new: [*(held or []), new]) for count in (positions_of, len)),
        ),
        Misconception("counts-appends", knobs={"count": lambda cache: cache.appends}),
        counted(
            "length-of-another-axis",
            lambda k: k.shape[0],
            lambda k: k.shape[1],
            lambda k: k.shape[-1],
        ),
        counted("last-index-for-length", lambda k: k.shape[-2] - 1),
        counted("length-one-too-large", lambda k: k.shape[-2] + 1, empty=1),
        mistake(
            "length-of-an-empty-cache",
            cache_variant(count=lambda cache: cache.k.shape[-2]),
            cache_variant(count=lambda cache: 1 if cache.k is None else cache.k.shape[-2]),
        ),
        Misconception("shared-by-all-caches", knobs={"shared": True}),
    ),
)
