"""7.1: a cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.cache import KVCache
from qkv.questions.engine import (
    Case,
    Draw,
    InModel,
    Misconception,
    Question,
    Seen,
    by_knob,
    length,
    make,
    method,
    mistake,
)
from qkv.sandboxed.cases import Step
from qkv.words import t

Join = Callable[[Any, Tensor], Any]  # (cached, or None at first, new) -> cached afterwards
Result = Callable[[Tensor, Tensor, Tensor, Tensor], Any]  # (all keys, all values, new keys, new values) -> returned


def draw_appends(draw: Draw) -> list[Case]:
    """Draw a new cache for each case, and what is appended to it, a few tokens at a time."""

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


def keep_first_then(join: Callable[[Tensor, Tensor], Tensor]) -> Join:
    """Return a `Join` that keeps the first positions as they are, and joins later ones to them by `join`."""
    return lambda held, new: new.clone() if held is None else join(held, new)


def join_along(axis: int) -> Join:
    return keep_first_then(lambda held, new: torch.cat([held, new], dim=axis))


appended = join_along(-2)
newest_first = keep_first_then(lambda held, new: torch.cat([new, held], dim=-2))
newest_only = keep_first_then(lambda held, new: new.clone())
oldest_only = keep_first_then(lambda held, new: held)
over_the_oldest = keep_first_then(lambda held, new: torch.cat([new, held[..., new.shape[-2] :, :]], dim=-2))
over_the_newest = keep_first_then(lambda held, new: torch.cat([held[..., :-1, :], new], dim=-2))


def fixed_capacity(capacity: int) -> Join:
    """Return a `Join` that keeps the newest positions only, at most `capacity` of them."""
    return lambda held, new: appended(held, new)[..., -capacity:, :]


def cache_variant(
    keys: Join = appended,
    values: Join = appended,
    count: Callable[[Any], Any] = lambda cache: 0 if cache.k is None else cache.k.shape[-2],
    result: Result = lambda k, v, new_k, new_v: (k, v),
    shared_by_all: bool = False,
) -> type:
    """Return a new cache class, an answer; by default it is right.

    The arguments replace how it joins, counts and returns keys and values. With `shared_by_all`, all its caches are
    one.
    """

    class Variant:
        k: Tensor | None = None
        v: Tensor | None = None
        appends = 0

        def append(self, k: Tensor, v: Tensor) -> Any:
            owner = type(self) if shared_by_all else self
            owner.appends += 1
            owner.k, owner.v = keys(owner.k, k), values(owner.v, v)
            return result(owner.k, owner.v, k, v)

        def __len__(self) -> Any:
            return count(self)

    return Variant


def list_written_into(held: Any, new: Tensor) -> Any:
    """Append the new tensor to the list of cached tensors, in place, and return the list; None means an empty one."""
    held = [] if held is None else held
    held.append(new)
    return held


def pieces_in_a_list(count: Callable[[list[Tensor]], int], join: Join = list_written_into) -> type:
    """Return a cache class that keeps lists of tensors; `count` computes its length from the list of keys."""
    return cache_variant(join, join, count=lambda cache: count(cache.k or []))


def number_of_positions(held: list[Tensor]) -> int:
    return sum(piece.shape[-2] for piece in held)


def held_there(seen: Seen) -> str:
    """Return a text that says how many appends the case has, and how many positions they brought."""
    counts = [step.args[0].shape[-2] for step in seen.case.script if step.method == "append"]
    each = f"{' + '.join(map(str, counts))} = " if 1 < len(counts) < 8 else ""
    return t("{n} appends brought {sum} positions", n=len(counts), sum=f"{each}{sum(counts)}")


def wrong_length(slug: str, *counts: Callable[[Tensor], int], empty: int = 0) -> Misconception:
    """Return a misconception about the length of a cache, with one twin for each of `counts`.

    `counts` are functions of the cached keys; `empty` is the length that an empty cache gives.
    """
    return Misconception(
        slug,
        knob_sets=tuple(
            {"count": lambda cache, count=count: empty if cache.k is None else count(cache.k)} for count in counts
        ),
    )


def pieces_stacked(axis: int) -> type:
    """Return a cache class that keeps a list of what came in, and stacks it along a new axis."""

    class Stacked:
        def __init__(self) -> None:
            self.keys: list[Tensor] = []
            self.values: list[Tensor] = []

        def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
            self.keys.append(k)
            self.values.append(v)
            return torch.stack(self.keys, dim=axis), torch.stack(self.values, dim=axis)

        def __len__(self) -> int:
            return number_of_positions(self.keys)

    return Stacked


def whole_buffer(places: int) -> type:
    """Return a cache class that hands out all of its reserved places, also those that are still empty.

    It raises a RuntimeError where more positions than `places` would be held.
    """

    def held(old: Any, new: Tensor) -> Any:
        return appended(old, new)

    def all_places(k: Tensor, v: Tensor, new_k: Tensor, new_v: Tensor) -> tuple[Tensor, Tensor]:
        empty = places - k.shape[-2]
        if empty < 0:
            raise RuntimeError("the buffer is full")
        return tuple(torch.cat([t, t.new_zeros(*t.shape[:-2], empty, t.shape[-1])], dim=-2) for t in (k, v))  # type: ignore[return-value]

    return cache_variant(held, held, result=all_places)


def full_at(capacity: int, error: type[Exception]) -> type:
    """Return a cache class that raises this error where more positions than `capacity` would be held."""

    def joined_while_there_is_room(held: Any, new: Tensor) -> Any:
        positions = new.shape[-2] + (0 if held is None else held.shape[-2])
        if positions > capacity:
            raise error(f"{positions} positions, and room for {capacity}")
        return appended(held, new)

    return cache_variant(joined_while_there_is_room, joined_while_there_is_room)


joined = by_knob("keys", "values")
returned = by_knob("result", alone=True)

QUESTION = Question(
    points=3,
    inputs=("k", "v"),
    outputs=("keys (B, H, n, d)", "values (B, H, n, d)"),
    draw=draw_appends,
    reference=KVCache,
    variant=cache_variant,
    handed_over=True,  # the caches of 7.2 and 7.7
    in_model=InModel("writer", cache=lambda answer: answer()),
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
        joined("joined-along-another-axis", join_along(0), join_along(1), join_along(3)),
        joined("a-fixed-capacity", fixed_capacity(32), fixed_capacity(128), fixed_capacity(512), fixed_capacity(1024)),
        Misconception(
            "full-at-some-length",
            twins=tuple(
                full_at(capacity, error)
                for error in (RuntimeError, IndexError, ValueError, AssertionError)
                for capacity in (16, 32, 512, 1050)
            ),
            in_any_words=True,
        ),
        returned("hands-out-the-new-only", lambda k, v, new_k, new_v: (new_k, new_v)),
        returned("keys-and-values-swapped", lambda k, v, new_k, new_v: (v, k)),
        returned("one-tensor-for-both", lambda k, v, new_k, new_v: (k, k), lambda k, v, new_k, new_v: (v, v)),
        returned("values-not-returned", lambda k, v, new_k, new_v: k),
        mistake("pieces-stacked", *map(pieces_stacked, (0, 1, 2))),
        mistake("whole-buffer-returned", *map(whole_buffer, (64, 128, 256, 512, 1024, 2048, 4096))),
        returned("stacked", lambda k, v, new_k, new_v: torch.stack([k, v])),
        returned("heads-and-positions-swapped", lambda k, v, new_k, new_v: (k.transpose(1, 2), v.transpose(1, 2))),
        returned("nothing-returned-from-append", lambda k, v, new_k, new_v: None),
        mistake("nothing-returned-from-len", cache_variant(count=lambda cache: None)),
        mistake(
            "pieces-not-joined",
            *(pieces_in_a_list(count) for count in (number_of_positions, len)),
            *(pieces_in_a_list(count, lambda held, new: [*(held or []), new]) for count in (number_of_positions, len)),
        ),
        Misconception("counts-appends", knobs={"count": lambda cache: cache.appends}),
        wrong_length(
            "length-of-another-axis",
            lambda k: k.shape[0],
            lambda k: k.shape[1],
            lambda k: k.shape[-1],
        ),
        wrong_length("last-index-for-length", lambda k: k.shape[-2] - 1),
        wrong_length("length-one-too-large", lambda k: k.shape[-2] + 1, empty=1),
        mistake(
            "length-of-an-empty-cache",
            cache_variant(count=lambda cache: cache.k.shape[-2]),
            cache_variant(count=lambda cache: 1 if cache.k is None else cache.k.shape[-2]),
        ),
        Misconception("shared-by-all-caches", knobs={"shared_by_all": True}, remembers=True),
    ),
)
