"""Chapter 7, the KV cache: what is asked, and what people get wrong."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import takewhile
from typing import Any, cast

import torch
from torch import Tensor

from qkv.attention import attention, grouped_query_attention
from qkv.cache import KVCache, decode_step, kv_cache_bytes, reusable_prefix
from qkv.observing import Step
from qkv.questions.engine import Case, Draw, Misconception, Provided, Question, Seen, call, length, make, method
from qkv.questions.slips import At, slips

EXACT = 16  # √16 is exact in float32 too

# ── 7.1 a cache ───────────────────────────────────────────────────────────────────────────────────

Join = Callable[[Tensor | None, Tensor], Tensor]  # of what is held and what is new: what is held then


def at_the_end(held: Tensor | None, new: Tensor) -> Tensor:
    return new.clone() if held is None else torch.cat([held, new], dim=-2)


def joined_along(axis: int) -> Join:
    return lambda held, new: new.clone() if held is None else torch.cat([held, new], dim=axis)


def newest_only(held: Tensor | None, new: Tensor) -> Tensor:
    return new.clone()


def oldest_only(held: Tensor | None, new: Tensor) -> Tensor:
    return new.clone() if held is None else held


def newest_first(held: Tensor | None, new: Tensor) -> Tensor:
    return new.clone() if held is None else torch.cat([new, held], dim=-2)


def at_most(capacity: int) -> Join:
    """Keep the newest positions only, as many as there is room for."""
    return lambda held, new: at_the_end(held, new)[..., -capacity:, :]


def written_over(held: Tensor | None, new: Tensor) -> Tensor:
    """Write the new positions over the oldest ones."""
    if held is None or new.shape[-2] >= held.shape[-2]:
        return new.clone()
    return torch.cat([new, held[..., new.shape[-2] :, :]], dim=-2)


def last_row_over(held: Tensor | None, new: Tensor) -> Tensor:
    """Lose the newest of what was held, as an index that is one too small does."""
    return new.clone() if held is None else torch.cat([held[..., :-1, :], new], dim=-2)


def cache_variant(
    keys: Join = at_the_end,
    values: Join = at_the_end,
    count: Callable[[Any], Any] = lambda cache: 0 if cache.k is None else cache.k.shape[-2],
    give: Callable[[Tensor, Tensor, Tensor, Tensor], Any] = lambda k, v, new_k, new_v: (k, v),
    shared: bool = False,
) -> type:
    """Give a class for 7.1 that keeps, counts or hands out in another way; a new class at every call."""

    class Variant:
        k: Tensor | None = None
        v: Tensor | None = None
        appends = 0

        def append(self, k: Tensor, v: Tensor) -> Any:
            home = type(self) if shared else self
            home.appends += 1
            new_k, new_v = keys(home.k, k), values(home.v, v)
            home.k, home.v = new_k, new_v
            return give(new_k, new_v, k, v)

        def __len__(self) -> Any:
            return count(self)

    return Variant


class GrowsInPlace:
    """Gives its own tensor away, and makes that very tensor longer at the next append."""

    def __init__(self) -> None:
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        if self.k is None or self.v is None:
            self.k, self.v = k.clone(), v.clone()
        else:
            self.k.data = torch.cat([self.k, k], dim=-2)
            self.v.data = torch.cat([self.v, v], dim=-2)
        return self.k, self.v

    def __len__(self) -> int:
        return 0 if self.k is None else self.k.shape[-2]


class HoldsItself(list):
    """A list under another name, whose own length counts appends."""

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        super().append((k, v))
        keys, values = zip(*self, strict=True)
        return torch.cat(keys, dim=-2), torch.cat(values, dim=-2)


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


def held_there(seen: Seen) -> str:
    """Say how many positions had been appended in all."""
    steps = [step for step in seen.case.script if step.method == "append"]
    return f"{len(steps)} appends brought {sum(step.args[0].shape[-2] for step in steps)} positions here"


CACHE = Question(
    id="7.1",
    points=3,
    title="A cache that remembers",
    inputs=("k", "v"),
    outputs=("keys (B, H, n, d)", "values (B, H, n, d)"),
    draw=draw_appends,
    reference=KVCache,
    variant=cache_variant,
    misconceptions=(
        Misconception(
            "forgets",
            "What was there before is gone: only the newest keys and values come back. Who keeps the older ones, from "
            "one call to the next?",
            knobs={"keys": newest_only, "values": newest_only},
        ),
        Misconception(
            "hands-out-the-new-only",
            "Your length is right, but only the newest keys and values come back. What does the next query need to "
            "see?",
            knobs={"give": lambda k, v, new_k, new_v: (new_k, new_v)},
        ),
        Misconception(
            "keeps-the-first-only",
            "Only what the first append brought comes back. What became of the second?",
            twin=cache_variant(keys=oldest_only, values=oldest_only),
        ),
        Misconception(
            "overwrites",
            "New positions stand where the oldest were. At which place does a new position belong, when some are there "
            "already?",
            knobs={"keys": written_over, "values": written_over},
        ),
        Misconception(
            "overwrites",
            "The newest of what was held is lost at every append. At which index do the new positions begin?",
            knobs={"keys": last_row_over, "values": last_row_over},
        ),
        Misconception(
            "newest-first",
            "Your newest positions come first. In which order were they to come back?",
            knobs={"keys": newest_first, "values": newest_first},
        ),
        Misconception(
            "newest-first",
            "Your values come newest first, your keys oldest first. Do key i and value i belong to one token still?",
            twin=cache_variant(values=newest_first),
        ),
        Misconception(
            "newest-first",
            "Your keys come newest first, your values oldest first. Do key i and value i belong to one token still?",
            twin=cache_variant(keys=newest_first),
        ),
        Misconception(
            "values-forgotten",
            "Your keys grow, and your values are the newest only. A weight for an old key: which value does it take?",
            twin=cache_variant(values=newest_only),
        ),
        Misconception(
            "keys-forgotten",
            "Your values grow, and your keys are the newest only. How is an old value found without its key?",
            twin=cache_variant(keys=newest_only),
        ),
        *(
            Misconception(
                "joined-along-another-axis",
                f"You join along axis {axis}. Of (B, H, n, d), which axis grows when a token is added?",
                twin=cache_variant(keys=joined_along(axis), values=joined_along(axis)),
            )
            for axis in (0, 1, 3)
        ),
        *(
            Misconception(
                "joined-along-another-axis",
                f"Your {what} are joined along axis {axis}. Of (B, H, n, d), which axis grows when a token is added?",
                twin=cache_variant(**dict[str, Any]({what: joined_along(axis)})),
            )
            for what in ("keys", "values")
            for axis in (0, 1, 3)
        ),
        *slips(
            lambda at: cache_variant(give=lambda k, v, new_k, new_v: (at("keys", k), at("values", v))),
            "negated rounded",
            keys="the keys",
            values="the values",
        ),
        Misconception(
            "length-negated",
            "Your length is negative, and `len` refuses it. Where does a minus come in?",
            twin=cache_variant(count=lambda cache: 0 if cache.k is None else -cache.k.shape[-2]),
        ),
        Misconception(
            "length-of-an-empty-cache",
            "Your length is 0, even when something is held. Which axis counts positions?",
            twin=cache_variant(count=lambda cache: 0),
        ),
        Misconception(
            "length-of-an-empty-cache",
            "Your empty cache has a negative length. How many positions does it hold before the first append?",
            twin=cache_variant(count=lambda cache: -1 if cache.k is None else cache.k.shape[-2]),
        ),
        Misconception(
            "nothing-returned-from-append",
            "Nothing comes back from `append`. What does the next query need, and does your method end in a `return`?",
            twin=cache_variant(give=lambda k, v, new_k, new_v: None),
        ),
        Misconception(
            "nothing-returned-from-len",
            "Nothing comes back from `__len__`. Does your method end in a `return`?",
            twin=cache_variant(count=lambda cache: None),
        ),
        *(
            Misconception(
                "pieces-not-joined",
                f"Your {what} are a list of what each append brought. What makes one tensor of them?",
                twin=cache_variant(give=give),
            )
            for what, give in (
                ("keys", lambda k, v, new_k, new_v: ([k], v)),
                ("values", lambda k, v, new_k, new_v: (k, [v])),
                ("keys and values", lambda k, v, new_k, new_v: ([k], [v])),
            )
        ),
        *(
            Misconception(
                "a-fixed-capacity",
                f"Right until {capacity} positions are held; then the oldest are dropped. Was a capacity set?",
                twin=cache_variant(keys=at_most(capacity), values=at_most(capacity)),
            )
            for capacity in (16, 32, 64, 128, 256, 512, 1024)
        ),
        Misconception(
            "one-position-an-append",
            "Each append keeps its last position only. How many can a prompt bring at once?",
            knobs={
                "keys": lambda held, new: at_the_end(held, new[..., -1:, :]),
                "values": lambda held, new: at_the_end(held, new[..., -1:, :]),
            },
        ),
        Misconception(
            "one-position-an-append",
            "Each append keeps its first position only. How many can a prompt bring at once?",
            twin=cache_variant(
                keys=lambda held, new: at_the_end(held, new[..., :1, :]),
                values=lambda held, new: at_the_end(held, new[..., :1, :]),
            ),
        ),
        Misconception(
            "added-for-appended",
            "New keys are added to the old ones, number by number. How many positions should be held after two "
            "appends?",
            twin=cache_variant(
                keys=lambda held, new: new.clone() if held is None else held + new,
                values=lambda held, new: new.clone() if held is None else held + new,
            ),
        ),
        Misconception(
            "keys-kept-as-values",
            "Your values are the keys. Which two things does a cache hold for each token?",
            twin=cache_variant(give=lambda k, v, new_k, new_v: (k, k)),
        ),
        Misconception(
            "values-kept-as-keys",
            "Your keys are the values. Which two things does a cache hold for each token?",
            twin=cache_variant(give=lambda k, v, new_k, new_v: (v, v)),
        ),
        Misconception(
            "keys-and-values-swapped",
            "Values come first and keys second. In which order does the question ask for them?",
            knobs={"give": lambda k, v, new_k, new_v: (v, k)},
        ),
        Misconception(
            "values-not-returned",
            "The keys came back alone. What does the query mix, once it has its weights?",
            twin=cache_variant(give=lambda k, v, new_k, new_v: k),
        ),
        Misconception(
            "stacked",
            "One tensor came back, keys and values stacked. Two were asked for: how do you hand over both?",
            twin=cache_variant(give=lambda k, v, new_k, new_v: torch.stack([k, v])),
        ),
        Misconception(
            "heads-and-positions-swapped",
            "The axes of heads and positions have changed places. In which shape came the keys, and in which should "
            "they go?",
            twin=cache_variant(give=lambda k, v, new_k, new_v: (k.transpose(1, 2), v.transpose(1, 2))),
        ),
        Misconception(
            "counts-appends",
            lambda seen: f"Your length counts appends. {held_there(seen)}. Which of the two is the length?",
            knobs={"count": lambda cache: cache.appends},
        ),
        Misconception(
            "counts-appends",
            lambda seen: f"Your length counts entries in a list. {held_there(seen)}. Which of the two is the length?",
            twin=HoldsItself,
        ),
        Misconception(
            "length-twice-too-large",
            "Your length counts keys and values. A token has one of each: how many positions are that?",
            knobs={"count": lambda cache: 0 if cache.k is None else 2 * cache.k.shape[-2]},
        ),
        Misconception(
            "length-of-another-axis",
            "Your length is that of axis 0, the batch. Which axis counts positions?",
            twin=cache_variant(count=lambda cache: 0 if cache.k is None else len(cache.k)),
        ),
        Misconception(
            "length-of-another-axis",
            "Your length is the number of heads. Which axis counts positions?",
            twin=cache_variant(count=lambda cache: 0 if cache.k is None else cache.k.shape[1]),
        ),
        Misconception(
            "length-of-another-axis",
            "Your length is the number of features. Which axis counts positions?",
            twin=cache_variant(count=lambda cache: 0 if cache.k is None else cache.k.shape[-1]),
        ),
        Misconception(
            "length-of-another-axis",
            "Your length counts positions once for every example or head. How many tokens long is the text?",
            twin=cache_variant(count=lambda cache: 0 if cache.k is None else math.prod(cache.k.shape[:-1])),
        ),
        Misconception(
            "length-of-another-axis",
            "Your length counts positions once for every example. How many tokens long is the text?",
            twin=cache_variant(count=lambda cache: 0 if cache.k is None else cache.k.shape[0] * cache.k.shape[-2]),
        ),
        Misconception(
            "length-of-another-axis",
            "Your length counts numbers. How many positions do they belong to?",
            twin=cache_variant(count=lambda cache: 0 if cache.k is None else cache.k.numel()),
        ),
        Misconception(
            "length-off-by-one",
            "Your length is the index of the last position. How many positions are there up to it?",
            knobs={"count": lambda cache: 0 if cache.k is None else cache.k.shape[-2] - 1},
        ),
        Misconception(
            "length-off-by-one",
            "Your length is one too large. How many positions does an empty cache hold?",
            twin=cache_variant(count=lambda cache: 1 if cache.k is None else cache.k.shape[-2] + 1),
        ),
        Misconception(
            "length-of-an-empty-cache",
            "Right as soon as something is held. How many positions does a cache hold before the first append?",
            twin=cache_variant(count=lambda cache: 1 if cache.k is None else cache.k.shape[-2]),
        ),
        Misconception(
            "first-position-dropped",
            "The oldest position is missing from what comes back. With which index does a slice begin?",
            twin=cache_variant(give=lambda k, v, new_k, new_v: (k[..., 1:, :], v[..., 1:, :])),
        ),
        Misconception(
            "last-position-only",
            "Only the newest position comes back. What does the next query need to see?",
            twin=cache_variant(give=lambda k, v, new_k, new_v: (k[..., -1:, :], v[..., -1:, :])),
        ),
        Misconception(
            "last-position-dropped",
            "The newest position is missing from what comes back. Does a token see itself?",
            twin=cache_variant(give=lambda k, v, new_k, new_v: (k[..., :-1, :], v[..., :-1, :])),
        ),
        Misconception(
            "length-of-an-empty-cache",
            "Right as soon as something is held. What is the length of a cache before the first append, and what does "
            "yours hold then?",
            twin=cache_variant(count=lambda cache: cache.k.shape[-2]),
        ),
        Misconception(
            "shared-by-all-caches",
            "Your second cache begins with what the first one held. Is the store made when the class is read, or when "
            "an object is made?",
            knobs={"shared": True},
        ),
        Misconception(
            "earlier-results-change",
            "What an earlier call returned has grown since. Whoever kept it finds other keys there now. Do you hand "
            "out your own store, and change it later?",
            twin=GrowsInPlace,
        ),
    ),
)

# ── 7.2 one step of decoding ──────────────────────────────────────────────────────────────────────


class HandedCache:
    """The cache that an answer to 7.2 is handed: it appends and it has a length."""

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        if k.ndim != 4 or v.ndim != 4:
            raise ValueError(
                f"this cache holds tensors (B, 1, n, d); it was given k {tuple(k.shape)} and v {tuple(v.shape)}"
            )
        if self.keys is None or self.values is None:
            self.keys, self.values = k, v
        else:
            self.keys = torch.cat([self.keys, k], dim=-2)
            self.values = torch.cat([self.values, v], dim=-2)
        return self.keys, self.values

    def __len__(self) -> int:
        return 0 if self.keys is None else self.keys.shape[-2]


Scale = Callable[[Tensor, Tensor, Tensor, Tensor], float]  # of x_t, q, keys, values


def over_keys(scores: Tensor) -> Tensor:
    return scores.softmax(dim=-1)


def see_all(keys: Tensor, values: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return keys, values


def step_variant(
    project: Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]] = lambda x, q, k, v: (
        x @ q,
        x @ k,
        x @ v,
    ),
    store: Callable[[Any, Tensor, Tensor], tuple[Tensor, Tensor]] = lambda cache, k, v: cache.append(k, v),
    see: Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]] = see_all,
    scale: Scale = lambda x, q, keys, values: math.sqrt(q.shape[-1]),
    share: Callable[[Tensor], Tensor] = over_keys,
    mix: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda weights, keys, values: weights @ values,
    give: Callable[[Tensor, Tensor], Any] = lambda out, weights: out.squeeze(1),
) -> Callable[..., Any]:
    """Give an answer to 7.2 that goes wrong at some of its steps."""

    def variant(x_t: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Any) -> Any:
        q, k, v = project(x_t.unsqueeze(1), w_q, w_k, w_v)
        keys, values = see(*store(cache, k, v), k, v)
        weights = share(q @ keys.mT / scale(x_t, q, keys, values))
        return give(mix(weights, keys, values), weights)

    return variant


def append_twice(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    cache.append(k, v)
    return cache.append(k, v)


def append_again_later(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    keys, values = cache.append(k, v)
    cache.append(k, v)
    return keys, values


def see_past_only(x_t: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Any) -> Tensor:
    q, k, v = (x_t.unsqueeze(1) @ w for w in (w_q, w_k, w_v))
    keys, values = cache.append(k, v)
    return attention(q, keys[..., :-1, :], values[..., :-1, :])[0].squeeze(1)


def step_in_steps(at: At) -> Callable[..., Tensor]:
    def answer(x_t: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Any) -> Tensor:
        x = at("token", x_t).unsqueeze(1)
        q = at("queries", x @ at("query_matrix", w_q))
        k, v = at("keys", x @ at("key_matrix", w_k)), at("values", x @ at("value_matrix", w_v))
        keys, values = cache.append(k, v)
        scores = at("scores", q @ keys.mT / math.sqrt(q.shape[-1]))
        return at("output", (at("weights", over_keys(scores)) @ values).squeeze(1))

    return answer


def attended(x_t: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Any, order: tuple[int, int, int]) -> Tensor:
    """Take a step in which query, keys and values are handed to attention in this order."""
    q, k, v = (x_t.unsqueeze(1) @ w for w in (w_q, w_k, w_v))
    three = (q, *cache.append(k, v))
    return attention(*(three[i] for i in order))[0].squeeze(1)


def draw_steps(draw: Draw) -> list[Case]:
    def case(
        name: str, n_held: int, n_steps: int, dtype: torch.dtype = torch.float32, batch: int | None = None, **fixed: int
    ) -> Case:
        fixed = {"d_k": EXACT} | fixed if dtype == torch.float64 else fixed
        s = draw.sizes("d_model", "d_k", "d_v", **fixed)
        s["B"] = draw.choose((2, 3)) if batch is None else batch
        weights = [
            draw.normal(s["d_model"], s[d], dtype=dtype, scale=s["d_model"] ** -0.5) for d in ("d_k", "d_k", "d_v")
        ]
        held = Provided(HandedCache)
        steps: list[Step] = []
        if n_held:
            k, v = (draw.normal(s["B"], 1, n_held, s[d], dtype=dtype) for d in ("d_k", "d_v"))
            steps.append(method("append", k, v, on=held))
        for _ in range(n_steps):
            x_t = draw.normal(s["B"], 1, s["d_model"], dtype=dtype)
            steps += [call(x_t, *weights, held), length(on=held)]
        return Case(tuple(steps), name, s)

    same = draw.choose((5, 6, 7))
    return [
        case("plain", draw.choose((4, 6, 8)), 1),
        case("plain", draw.choose((3, 5)), 3),
        case("an empty cache", 0, 4),
        case("float64", 5, 2, torch.float64),
        case("one example", 4, 2, batch=1),
        case("keys and values of one size", 4, 2, d_k=same, d_v=same),
        case("all sizes equal", 4, 2, d_model=same, d_k=same, d_v=same),
        case("as many positions as examples", 2, 1, batch=3),
        case("d_k = 1", 3, 2, d_k=1),
    ]


def root_of(size: str) -> str:
    return f"Your scores are divided by the root of {size}. How many products are summed in one score?"


STEP = Question(
    id="7.2",
    points=4,
    title="One step of decoding",
    inputs=("x_t", "w_q", "w_k", "w_v", "cache"),
    outputs=("out (B, 1, d_v)",),
    draw=draw_steps,
    reference=decode_step,
    variant=step_variant,
    gradients=True,
    misconceptions=(
        Misconception(
            "not-appended",
            "The cache does not grow: your token attends to itself alone, and leaves nothing behind. Who hands the "
            "next token this one's key?",
            knobs={"store": lambda cache, k, v: (k, v)},
        ),
        Misconception(
            "sees-itself-only",
            "Your token is stored, but it attends to itself alone. What came back from the cache, and is it used?",
            knobs={"see": lambda keys, values, k, v: (k, v)},
        ),
        Misconception(
            "cannot-see-itself",
            "Your token sees all before it, but not itself. Is it appended before it attends, or after? And what does "
            "the very first token see?",
            twin=see_past_only,
        ),
        Misconception(
            "sees-the-oldest-only",
            "Your token sees the oldest position alone. A causal mask for one query, aligned at the top left, does "
            "that. Does the newest token need a mask?",
            knobs={"see": lambda keys, values, k, v: (keys[..., :1, :], values[..., :1, :])},
        ),
        Misconception(
            "appended-twice",
            "The cache grows by two. How often do you call `append` in one step?",
            knobs={"store": append_twice},
        ),
        Misconception(
            "appended-twice",
            "Your result is right, and yet the cache grows by two. How often do you call `append` in one step?",
            knobs={"store": append_again_later},
        ),
        Misconception(
            "keys-and-values-swapped",
            "What you append first is the value, and then the key. In which order does `append` take them?",
            knobs={"store": lambda cache, k, v: cache.append(v, k)},
        ),
        Misconception(
            "keys-and-values-swapped",
            "You take values for keys when they come back. In which order does `append` return them?",
            knobs={"see": lambda keys, values, k, v: (values, keys)},
        ),
        Misconception(
            "keys-and-values-swapped",
            "Your keys come from w_v and your values from w_k. Which matrix makes which?",
            twin=step_variant(project=lambda x, q, k, v: (x @ q, x @ v, x @ k)),
        ),
        Misconception(
            "query-and-key-swapped",
            "Your query comes from w_k and your key from w_q. Which of the two is kept for later tokens?",
            knobs={"project": lambda x, q, k, v: (x @ k, x @ q, x @ v)},
        ),
        Misconception(
            "query-stored-as-key",
            "What you store as a key is the query. Does any later token look for what this one asked?",
            twin=step_variant(project=lambda x, q, k, v: (x @ q, x @ q, x @ v)),
        ),
        Misconception(
            "key-asks",
            "Your token asks with its key. From which matrix does its question come?",
            twin=step_variant(project=lambda x, q, k, v: (x @ k, x @ k, x @ v)),
        ),
        Misconception(
            "inputs-cached",
            "What you store is x_t itself. The cache held keys and values before: what did it spare them?",
            twin=lambda x_t, w_q, w_k, w_v, cache: attention(
                x_t.unsqueeze(1) @ w_q,
                (held := cache.append(x_t.unsqueeze(1), x_t.unsqueeze(1))[0]) @ w_k,
                held @ w_v,
            )[0].squeeze(1),
        ),
        Misconception(
            "projected-again",
            "What comes back from the cache is multiplied by w_k and w_v once more. Were its keys not projected when "
            "they went in?",
            twin=step_variant(see=lambda keys, values, k, v: (keys @ keys.mT @ keys, values @ values.mT @ values)),
        ),
        Misconception(
            "matrices-transposed",
            "Right shapes only where all sizes are equal: your matrices stand transposed. With x a row, on which side "
            "does a matrix (d_model, d_k) stand?",
            twin=step_variant(project=lambda x, q, k, v: (x @ q.mT, x @ k.mT, x @ v.mT)),
        ),
        Misconception(
            "no-scale",
            lambda seen: (
                f"Your scores are not scaled. Each is a sum of {seen['d_k']} products here. By what does attention "
                "divide it?"
            ),
            knobs={"scale": lambda x, q, keys, values: 1.0},
        ),
        Misconception(
            "scaled-by-d-k",
            "Your scores are divided by d_k. That is right for a variance. By what do you divide a number, so that its "
            "variance falls by a factor d_k?",
            knobs={"scale": lambda x, q, keys, values: q.shape[-1]},
        ),
        Misconception(
            "scale-multiplied",
            "Your scores grew with d_k: they are multiplied by its root. Is the sum of many products too small for the "
            "softmax, or too large?",
            knobs={"scale": lambda x, q, keys, values: q.shape[-1] ** -0.5},
        ),
        Misconception(
            "scaled-by-d-model", root_of("d_model"), knobs={"scale": lambda x, q, keys, values: x.shape[-1] ** 0.5}
        ),
        Misconception(
            "scaled-by-d-v",
            root_of("d_v"),
            twin=step_variant(scale=lambda x, q, keys, values: values.shape[-1] ** 0.5),
        ),
        Misconception(
            "scaled-by-number-of-keys",
            root_of("the number of positions"),
            twin=step_variant(scale=lambda x, q, keys, values: keys.shape[-2] ** 0.5),
        ),
        Misconception(
            "softmax-over-queries",
            "Every key gets the whole weight of 1: your softmax runs over the queries, and there is one. Whose weight "
            "is shared out, and among whom?",
            knobs={"share": lambda scores: scores.softmax(dim=-2)},
        ),
        Misconception(
            "softmax-over-the-batch",
            "Your softmax runs along axis 0, and shares weights out among examples. Along which axis do the keys lie?",
            twin=step_variant(share=lambda scores: scores.softmax(dim=0)),
        ),
        Misconception(
            "softmax-over-everything",
            "Your weights sum to 1 over the whole batch. Has each example a query of its own?",
            twin=step_variant(share=lambda scores: scores.flatten().softmax(-1).view_as(scores)),
        ),
        Misconception(
            "no-softmax",
            "Your weights are the scores themselves: they do not sum to 1. What makes weights of scores?",
            knobs={"share": lambda scores: scores},
        ),
        Misconception(
            "not-normalised",
            "Your weights are positive, but do not sum to 1. What is missing after the exponential?",
            twin=step_variant(share=torch.exp),
        ),
        Misconception(
            "sigmoid",
            "Each of your weights lies between 0 and 1, but together they are not 1. Do the keys compete?",
            twin=step_variant(share=torch.sigmoid),
        ),
        Misconception(
            "softmax-twice",
            "Your weights are nearly equal: a softmax was taken of weights. How often should scores go through it?",
            twin=step_variant(share=lambda scores: scores.softmax(-1).softmax(-1)),
        ),
        Misconception(
            "all-keys-alike",
            "Your output is the mean of all values. What should decide who gets more?",
            twin=step_variant(share=lambda scores: torch.full_like(scores, 1 / scores.shape[-1])),
        ),
        Misconception(
            "only-the-best-key",
            "Your output is a single value, that of the best key. Does a soft look-up take one value, or a mixture?",
            twin=step_variant(share=lambda scores: (scores == scores.amax(-1, keepdim=True)).to(scores.dtype)),
        ),
        Misconception(
            "scores-negated",
            "Your largest weight goes to the key that fits worst. Which sign do your scores have?",
            twin=step_variant(share=lambda scores: (-scores).softmax(-1)),
        ),
        *slips(
            step_in_steps,
            keys="the new key",
            values="the new value",
            output="your output",
        ),
        *slips(step_in_steps, "rounded", queries="the query"),
        *slips(
            step_in_steps, "rounded cut", query_matrix="w_q", key_matrix="w_k", value_matrix="w_v", scores="your scores"
        ),
        *slips(step_in_steps, "rounded", weights="your weights"),
        *slips(step_in_steps, "rounded cut", token="x_t"),
        *(
            Misconception(
                "another-order",
                f"Your three products are taken for {order}. Which matrix makes which?",
                twin=step_variant(project=project),
            )
            for order, project in (
                ("k, v and q", lambda x, q, k, v: (x @ v, x @ q, x @ k)),
                ("v, k and q", lambda x, q, k, v: (x @ v, x @ k, x @ q)),
                ("v, q and k", lambda x, q, k, v: (x @ k, x @ v, x @ q)),
            )
        ),
        *(
            Misconception(slug, says, twin=step_variant(project=project))
            for slug, says, project in (
                (
                    "entry-by-entry",
                    "x_t and the matrices are multiplied entry by entry. Which product sums as it goes?",
                    lambda x, q, k, v: (x * q, x * k, x * v),
                ),
                (
                    "nothing-projected",
                    "x_t itself asks, is found and is handed over. What are the three matrices for?",
                    lambda x, q, k, v: (x, x, x),
                ),
                (
                    "token-left-out",
                    "Your query, key and value are the matrices themselves. Whose are they to be?",
                    lambda x, q, k, v: (q, k, v),
                ),
                (
                    "matrix-on-the-left",
                    "The matrices stand to the left of x_t. With x a row, on which side does a matrix stand?",
                    lambda x, q, k, v: (q @ x, k @ x, v @ x),
                ),
                (
                    "head-axis-forgotten",
                    "What you append has three axes, and the cache holds four: (B, 1, n, d). Which one is missing?",
                    lambda x, q, k, v: (x[:, 0] @ q, x[:, 0] @ k, x[:, 0] @ v),
                ),
                (
                    "head-axis-in-front",
                    "Your axis of heads stands before the batch. In which order does the cache hold them?",
                    lambda x, q, k, v: (x.transpose(0, 1) @ q, x.transpose(0, 1) @ k, x.transpose(0, 1) @ v),
                ),
            )
        ),
        Misconception(
            "query-and-keys-exchanged",
            "The cached keys ask, and your query is what they find. Who asks in this step?",
            twin=lambda x_t, w_q, w_k, w_v, cache: attended(x_t, w_q, w_k, w_v, cache, (1, 0, 2)),
        ),
        Misconception(
            "query-and-values-exchanged",
            "The cached values ask, and your query is what is mixed. Who asks in this step?",
            twin=lambda x_t, w_q, w_k, w_v, cache: attended(x_t, w_q, w_k, w_v, cache, (2, 1, 0)),
        ),
        Misconception(
            "query-returned",
            "Your query came back. What does it find in the cache?",
            twin=lambda x_t, w_q, w_k, w_v, cache: (cache.append(*(x_t[:, None] @ w for w in (w_k, w_v))), x_t @ w_q)[
                1
            ],
        ),
        Misconception(
            "too-many-axes-squeezed",
            "All axes of size 1 are gone from your output, the token's too. How many axes has (B, 1, d_v)?",
            twin=lambda x_t, w_q, w_k, w_v, cache: step_variant()(x_t, w_q, w_k, w_v, cache).squeeze(),
        ),
        Misconception(
            "nothing-returned",
            "The cache grows, and nothing comes back. Does your function end in a `return`?",
            twin=step_variant(give=lambda out, weights: None),
        ),
        Misconception(
            "keys-used-as-values",
            "Your output mixes the keys. A key is what a token is found by. What does it hand over?",
            knobs={"mix": lambda weights, keys, values: weights @ keys},
        ),
        Misconception(
            "head-axis-left",
            "Your output has the cache's axis of heads still: (B, 1, 1, d_v). Which shape did the token come in?",
            knobs={"give": lambda out, weights: out},
        ),
        Misconception(
            "token-axis-lost",
            "Your output has lost the token's axis: (B, d_v). How many axes has (B, 1, d_v)?",
            knobs={"give": lambda out, weights: out.squeeze(1).squeeze(1)},
        ),
        Misconception(
            "token-axis-lost",
            "Right for a batch, wrong for one example: every axis of size 1 was squeezed away. Which one was to go?",
            twin=lambda x_t, w_q, w_k, w_v, cache: (
                (out := step_variant()(x_t, w_q, w_k, w_v, cache).squeeze())[..., None, :] if len(x_t) > 1 else out
            ),
        ),
        Misconception(
            "weights-returned-too",
            "The output came back with the weights. This question asks for out alone.",
            knobs={"give": lambda out, weights: (out.squeeze(1), weights)},
        ),
        Misconception(
            "weights-returned",
            "The weights came back. What do they mix?",
            twin=step_variant(give=lambda out, weights: weights.squeeze(1)),
        ),
        Misconception(
            "input-added",
            "Your output holds x_t once more: a residual connection comes later in a block. Does the formula have it?",
            twin=lambda x_t, w_q, w_k, w_v, cache: (
                decode_step(x_t, w_q, w_k, w_v, cache) + x_t if w_v.shape[0] == w_v.shape[1] else x_t @ w_v.new_zeros(0)
            ),
        ),
        Misconception(
            "cache-written-into",
            "The cache holds other values after your step than it was given: you change what `append` returns, in "
            "place. Whose tensors are those?",
            twin=lambda x_t, w_q, w_k, w_v, cache: scaled_in_the_cache(x_t, w_q, w_k, w_v, cache),
        ),
    ),
)


def scaled_in_the_cache(x_t: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Any) -> Tensor:
    q, k, v = (x_t.unsqueeze(1) @ w for w in (w_q, w_k, w_v))
    keys, values = cache.append(k, v)
    keys /= math.sqrt(keys.shape[-1])
    return ((q @ keys.mT).softmax(-1) @ values).squeeze(1)


# ── 7.3 the size of a cache ───────────────────────────────────────────────────────────────────────

Factors = tuple[int, int, int, int, int, int]  # layers, kv_heads, d_head, tokens, batch, bytes_per_value


def bytes_by(reckon: Callable[..., Any]) -> Callable[..., Any]:
    """Give an answer to 7.3 that reckons otherwise, from the six numbers."""

    def variant(layers: int, kv_heads: int, d_head: int, tokens: int, batch: int = 1, bytes_per_value: int = 2) -> Any:
        return reckon(layers, kv_heads, d_head, tokens, batch, bytes_per_value)

    return variant


def without(*left_out: int) -> Callable[..., int]:
    """Give an answer to 7.3 without some of the factors; number 6 is the 2 of keys and values."""
    return bytes_by(lambda *sizes: math.prod(s for i, s in enumerate([*sizes, 2]) if i not in left_out))


def times(power: Callable[..., Any]) -> Callable[..., Any]:
    """Give an answer to 7.3 that is wrong by a factor."""
    return bytes_by(lambda *sizes: kv_cache_bytes(*sizes) * power(*sizes))


FACTORS = ("2", "layers", "kv_heads", "d_head", "tokens", "batch", "bytes_per_value")


def listed(kept: list[int]) -> str:
    return ", ".join(FACTORS[i] for i in kept)


def with_operation(place: int, operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Give an answer to 7.3 that has another operation before one of its factors."""

    def reckon(*sizes: int) -> Any:
        total: Any = 2
        for i, size in enumerate(sizes, start=1):
            total = operation(total, size) if i == place else total * size
        return total

    return bytes_by(reckon)


def with_defaults(default_batch: int, default_bytes: int) -> Callable[..., int]:
    """Give an answer to 7.3 with other defaults."""
    return lambda layers, kv_heads, d_head, tokens, batch=default_batch, bytes_per_value=default_bytes: kv_cache_bytes(
        layers, kv_heads, d_head, tokens, batch, bytes_per_value
    )


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


BYTES = Question(
    id="7.3",
    points=2,
    title="What a cache weighs",
    inputs=("layers", "kv_heads", "d_head", "tokens"),
    outputs=("bytes",),
    draw=draw_bytes,
    reference=kv_cache_bytes,
    misconceptions=(
        Misconception(
            "factor-two-forgotten",
            "Your cache is half as large as it should be. What is kept for each token besides its key?",
            twin=without(6),
        ),
        Misconception(
            "factor-two-forgotten",
            "Your cache is half as large as it should be, or the bytes of a number are left out. What is kept for each "
            "token besides its key, and how large is one number of it?",
            twin=without(5, 6),
        ),
        Misconception(
            "bytes-for-keys-and-values",
            "Right for 2 bytes a number only: your two 2s are one. Which one counts keys and values, and which one "
            "bytes?",
            twin=without(5),
        ),
        Misconception(
            "bytes-for-keys-and-values",
            "Right for 2 bytes a number only: bytes_per_value is squared, or stands for keys and values as well. Where "
            "does the 2 of key and value come from?",
            twin=bytes_by(lambda layers, heads, d, n, b, size: layers * heads * d * n * b * size * size),
        ),
        Misconception(
            "bytes-ignored",
            "Right for 2 bytes a number only. Where does `bytes_per_value` come in?",
            twin=bytes_by(lambda layers, heads, d, n, b, size: 4 * layers * heads * d * n * b),
        ),
        Misconception(
            "factor-two-twice",
            "Your cache is twice as large as it should be. Keys and values are two: what else did you double?",
            twin=times(lambda *sizes: 2),
        ),
        Misconception(
            "queries-counted-too",
            "You count three things for each token. Which one of query, key and value is asked once and forgotten?",
            twin=bytes_by(lambda *sizes: 3 * math.prod(sizes)),
        ),
        Misconception(
            "bits-for-bytes",
            "You count bits. How many of them are a byte, and does bytes_per_value know that already?",
            twin=times(lambda *sizes: 8),
        ),
        Misconception(
            "bits-taken-for-bytes",
            "Your result is an eighth of what it should be. Is bytes_per_value in bits?",
            twin=bytes_by(lambda *sizes: kv_cache_bytes(*sizes) // 8),
        ),
        Misconception(
            "other-unit",
            "You give KiB, MiB or GiB. In which unit was it asked for?",
            twin=bytes_by(lambda *sizes: kv_cache_bytes(*sizes) // 1024),
        ),
        Misconception(
            "other-unit",
            "You give KiB, and a fraction. In which unit was it asked for, and can it be anything but whole?",
            twin=bytes_by(lambda *sizes: kv_cache_bytes(*sizes) / 1024),
        ),
        Misconception(
            "other-unit",
            "You give MiB. In which unit was it asked for?",
            twin=bytes_by(lambda *sizes: kv_cache_bytes(*sizes) / 1024**2),
        ),
        Misconception(
            "other-unit",
            "You give GiB. In which unit was it asked for?",
            twin=bytes_by(lambda *sizes: kv_cache_bytes(*sizes) / 1024**3),
        ),
        Misconception(
            "other-unit",
            "You give thousands, millions or billions of bytes. In which unit was it asked for?",
            twin=bytes_by(lambda *sizes: kv_cache_bytes(*sizes) / 1e9),
        ),
        Misconception(
            "layers-forgotten",
            "Your result does not change with the number of layers. Does one cache serve them all?",
            twin=without(0),
        ),
        Misconception(
            "heads-forgotten",
            "Your result does not change with the number of KV heads. Do heads share their keys?",
            twin=without(1),
        ),
        Misconception(
            "features-forgotten",
            "Your result does not change with d_head. How many numbers has one key?",
            twin=without(2),
        ),
        Misconception(
            "tokens-forgotten",
            "Your result is that of one token. How many tokens are kept?",
            twin=without(3),
        ),
        Misconception(
            "batch-forgotten",
            "Right for one text, wrong for a batch. Can two texts share their keys?",
            twin=without(4),
        ),
        Misconception(
            "batch-and-bytes-ignored",
            "Right without `batch` and `bytes_per_value`. What do these two change?",
            twin=bytes_by(lambda layers, heads, d, n, b, size: 4 * layers * heads * d * n),
        ),
        Misconception(
            "quadratic-in-tokens",
            "Your cache grows with the square of the tokens. That is how scores grow. Are scores kept?",
            twin=times(lambda layers, heads, d, n, b, size: n),
        ),
        Misconception(
            "scores-counted-too",
            "Your result holds something for every pair of tokens. Are scores or weights kept for later?",
            twin=bytes_by(
                lambda layers, heads, d, n, b, size: (
                    kv_cache_bytes(layers, heads, d, n, b, size) + layers * heads * n * n * b * size
                )
            ),
        ),
        Misconception(
            "quadratic-in-features",
            "Your result grows with the square of d_head. That is how weight matrices grow. Are those in the cache?",
            twin=times(lambda layers, heads, d, n, b, size: d),
        ),
        Misconception(
            "quadratic-in-heads",
            "Your result grows with the square of the heads. How many keys has a token in a layer?",
            twin=times(lambda layers, heads, d, n, b, size: heads),
        ),
        Misconception(
            "heads-as-a-divisor",
            "You divide by the heads. Is d_head the width of one head, or of all of them together?",
            twin=bytes_by(
                lambda layers, heads, d, n, b, size: (
                    2 * layers * heads * (d // heads if d > heads else 1) * n * b * size
                )
            ),
        ),
        Misconception(
            "newest-token-not-counted",
            "One token is missing. Does the newest one keep its key, too?",
            twin=bytes_by(lambda layers, heads, d, n, b, size: kv_cache_bytes(layers, heads, d, n - 1, b, size)),
        ),
        Misconception(
            "one-token-too-many",
            "There is one token too many. How many keys do n tokens leave?",
            twin=bytes_by(lambda layers, heads, d, n, b, size: kv_cache_bytes(layers, heads, d, n + 1, b, size)),
        ),
        *(
            Misconception(
                slug,
                f"{done} at “{FACTORS[place]}”. Make one of your numbers twice as large: should the cache become "
                "twice as large?",
                twin=with_operation(place, operation),
            )
            for slug, done, operation in (
                ("added-for-multiplied", "You add", lambda a, b: a + b),
                ("subtracted", "You subtract", lambda a, b: a - b),
                ("divided", "You divide", lambda a, b: a / b),
                ("divided", "You divide, and round,", lambda a, b: a // b),
                ("raised", "You take a power", lambda a, b: a**b if a**0.5 < 1e8 and b < 40 else 0),
            )
            for place in range(1, 7)
        ),
        *(
            Misconception(
                "several-factors-forgotten",
                f"Your result is made of {listed(kept)} alone. With what else does a cache grow?",
                twin=bytes_by(lambda *sizes, kept=kept: math.prod(([2, *sizes])[i] for i in kept)),
            )
            for kept in ([0, 1], [0, 1, 2], [0, 1, 2, 3], [6], [5, 6], [4, 5, 6], [3, 4, 5, 6], [2, 3, 4, 5, 6])
        ),
        *(
            Misconception(
                "another-default",
                f"Right where everything is given. Without it, `bytes_per_value` is {default} in yours. Which was "
                "asked for?",
                twin=with_defaults(1, default),
            )
            for default in (1, 3, 4)
        ),
        *(
            Misconception(
                "another-default",
                f"Right where everything is given. Without it, `batch` is {default} in yours. How many texts is one?",
                twin=with_defaults(default, 2),
            )
            for default in (0, 2)
        ),
        Misconception(
            "all-added",
            "The numbers are added. For each layer there are so many heads: which operation counts that?",
            twin=bytes_by(lambda *sizes: sum(sizes)),
        ),
        Misconception(
            "all-added",
            "Numbers are added before they are doubled. For each layer there are so many heads: which operation counts "
            "that?",
            twin=bytes_by(lambda *sizes: 2 * sum(sizes)),
        ),
        Misconception(
            "bytes-negated",
            "Your result is negative. Where does a minus come in?",
            twin=times(lambda *sizes: -1),
        ),
        Misconception(
            "keys-and-values-added",
            "A 2 is added, where keys and values double everything. What is the size of two equal things?",
            twin=bytes_by(lambda *sizes: 2 + math.prod(sizes)),
        ),
    ),
)

# ── 7.4 a prefix that can be used again ───────────────────────────────────────────────────────────


def agreements(cached: list[int], prompt: list[int]) -> list[bool]:
    return [a == b for a, b in zip(cached, prompt, strict=False)]


def copied(ids: list[int]) -> list[int]:
    """The same numbers as other objects: to tell == from `is`."""
    return [int(str(i)) for i in ids]


def draw_prompts(draw: Draw) -> list[Case]:
    def ids(n: int) -> list[int]:
        return (1000 + draw.ids(n, below=50000)).tolist()

    def case(name: str, shared: int, rest_cached: int, rest_prompt: int, again: int = 0, skip: int = 1) -> Case:
        """Share a prefix, differ in `skip` places, agree in `again` more, and end with other tokens."""
        prefix, later = ids(shared), ids(again)
        head = ids(2 * skip) if again else []
        cached = [*prefix, *head[:skip], *later, *unlike(0, rest_cached)]
        prompt = [*copied(prefix), *head[skip:], *copied(later), *unlike(1, rest_prompt)]
        return Case(call(cached, prompt), name, {"cached": len(cached), "prompt": len(prompt)})

    def unlike(start: int, n: int) -> list[int]:
        return [2 * i + start for i in draw.ids(n, below=400).tolist()]

    n = draw.whole(3, 6)
    other = ids(7)
    moved = ids(6)
    double = ids(1) * 4
    return [
        case("plain", n, draw.whole(2, 4), draw.whole(5, 8)),
        case("plain", draw.choose((5, 7)), draw.whole(5, 8), draw.whole(2, 4)),
        case("a difference, then the same again", draw.whole(2, 4), 2, 3, again=draw.whole(3, 5)),
        case("the first token differs", 0, 2, 3, again=4),
        case("the last token differs", 6, 1, 1),
        case("nothing in common", 0, 3, 4),
        Case(call(other, copied(other)), "the same twice", {"cached": 7, "prompt": 7}),
        Case(call(other[:4], copied(other)), "the prompt goes on", {"cached": 4, "prompt": 7}),
        Case(call(copied(other), other[:5]), "the prompt stops earlier", {"cached": 7, "prompt": 5}),
        Case(call(moved, ids(1) + copied(moved)), "a token inserted in front", {"cached": 6, "prompt": 7}),
        Case(call(moved, copied(moved[1:])), "the first token dropped", {"cached": 6, "prompt": 5}),
        Case(
            call(moved, copied([moved[0], moved[2], moved[1], *moved[3:]])), "two exchanged", {"cached": 6, "prompt": 6}
        ),
        Case(call(moved, copied([moved[0], *moved[:0:-1]])), "all but the first reversed", {"cached": 6, "prompt": 6}),
        Case(call([*double, 3], [*double[:2], 4, *double]), "a token again and again", {"cached": 5, "prompt": 7}),
        case("a long text", draw.choose((35, 37, 39)), 6, 5),
        Case(call([], ids(3)), "nothing cached", {"cached": 0, "prompt": 3}),
        Case(call(ids(4), []), "an empty prompt", {"cached": 4, "prompt": 0}),
        Case(call([], []), "both empty", {"cached": 0, "prompt": 0}),
        Case(call([7], [7]), "one token each", {"cached": 1, "prompt": 1}),
        Case(call([0, 0, 5], [0, 0, 6, 1]), "ids that are 0", {"cached": 3, "prompt": 4}),
    ]


def longest_run(cached: list[int], prompt: list[int]) -> int:
    best = 0
    for i in range(len(cached)):
        for j in range(len(prompt)):
            best = max(best, reusable_prefix(cached[i:], prompt[j:]))
    return best


def longest_subsequence(cached: list[int], prompt: list[int]) -> int:
    table = [[0] * (len(prompt) + 1) for _ in range(len(cached) + 1)]
    for i, a in enumerate(cached):
        for j, b in enumerate(prompt):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def known_anywhere(cached: list[int], prompt: list[int]) -> int:
    return len(list(takewhile(lambda token: token in cached, prompt)))


def whole_blocks(size: int) -> Callable[..., int]:
    return lambda cached, prompt: reusable_prefix(cached, prompt) // size * size


def first_mismatch_or_none(cached: list[int], prompt: list[int]) -> int | None:
    return next((i for i, same in enumerate(agreements(cached, prompt)) if not same), None)


def first_mismatch_or(fallback: Callable[[list[int], list[int]], int | None]) -> Callable[..., int | None]:
    """Give an answer to 7.4 that is right at a mismatch, and gives this where there is none."""

    def variant(cached: list[int], prompt: list[int]) -> int | None:
        found = first_mismatch_or_none(cached, prompt)
        return fallback(cached, prompt) if found is None else found

    return variant


def over(counted: Callable[[list[int], list[int]], int]) -> Callable[..., int]:
    """Give an answer to 7.4 that goes on through one list by its index, and falls off the end of the other."""

    def variant(cached: list[int], prompt: list[int]) -> int:
        for i in range(counted(cached, prompt)):
            if cached[i] != prompt[i]:
                return i
        return counted(cached, prompt)

    return variant


def while_equal(cached: list[int], prompt: list[int]) -> int:
    i = 0
    while cached[i] == prompt[i]:
        i += 1
    return i


def counted_while(cached: list[int], prompt: list[int], go_on: Callable[[int, int], bool]) -> int:
    return len(list(takewhile(lambda pair: go_on(*pair), zip(cached, prompt, strict=False))))


def is_the_same(cached: list[int], prompt: list[int]) -> int:
    return len(list(takewhile(lambda pair: pair[0] is pair[1], zip(cached, prompt, strict=False))))


EITHER_SHORTER = (
    "It works while both lists go on, and raises IndexError when one of them ends. Which of the two may be the shorter?"
)
NO_MISMATCH = "Where one list is the beginning of the other, you give {}. How many tokens do they share then?"

PREFIX = Question(
    id="7.4",
    points=2,
    title="How much of a prompt is cached?",
    inputs=("cached", "prompt"),
    outputs=("length",),
    draw=draw_prompts,
    reference=reusable_prefix,
    misconceptions=(
        Misconception(
            "counted-after-a-mismatch",
            "You count tokens that agree behind the first difference as well. On what do their keys depend, from layer "
            "2 on?",
            twin=lambda cached, prompt: sum(agreements(cached, prompt)),
        ),
        Misconception(
            "counted-anywhere",
            "You count tokens that occur in both, wherever they stand. Is the key of a token the same in another "
            "place?",
            twin=lambda cached, prompt: len(set(cached) & set(prompt)),
        ),
        Misconception(
            "counted-anywhere",
            "You count the prompt's tokens that were seen anywhere. Is the key of a token the same in another place?",
            twin=lambda cached, prompt: sum(token in cached for token in prompt),
        ),
        Misconception(
            "counted-anywhere",
            "You count the cached tokens that the prompt has anywhere. Is the key of a token the same in another "
            "place?",
            twin=lambda cached, prompt: sum(token in prompt for token in cached),
        ),
        Misconception(
            "counted-anywhere",
            "You count from the start while a token was seen anywhere before. Is the key of a token the same in "
            "another place?",
            twin=known_anywhere,
        ),
        Misconception(
            "longest-run",
            "You look for the longest stretch in common, wherever it stands. What must be the same *before* a token, "
            "so that its keys hold?",
            twin=longest_run,
        ),
        Misconception(
            "longest-run",
            "You look for the longest stretch that agrees place by place. What must be the same *before* a token, so "
            "that its keys hold?",
            twin=lambda cached, prompt: longest_true(agreements(cached, prompt)),
        ),
        Misconception(
            "longest-subsequence",
            "You count tokens in common in the same order, with gaps between. What does a gap do to the keys behind "
            "it?",
            twin=longest_subsequence,
        ),
        Misconception(
            "suffix-for-prefix",
            "You count from the end. Which part of a text do a token's keys depend on: what is before, or after?",
            twin=lambda cached, prompt: reusable_prefix(cached[::-1], prompt[::-1]),
        ),
        Misconception(
            "last-difference",
            "You give the place of the last difference. Are keys behind the *first* one still right?",
            twin=lambda cached, prompt: next(
                (i for i, same in reversed(list(enumerate(agreements(cached, prompt)))) if not same),
                min(len(cached), len(prompt)),
            ),
        ),
        Misconception(
            "differences-counted",
            "You count tokens that differ. What was to be counted?",
            twin=lambda cached, prompt: agreements(cached, prompt).count(False),
        ),
        Misconception(
            "off-by-one",
            "Your count is one too large. Is the first token that differs still usable?",
            twin=lambda cached, prompt: reusable_prefix(cached, prompt) + 1,
        ),
        Misconception(
            "off-by-one",
            "Your count is one too large where there is a difference. Is the first token that differs still usable?",
            twin=lambda cached, prompt: min(reusable_prefix(cached, prompt) + 1, len(cached), len(prompt)),
        ),
        Misconception(
            "off-by-one",
            "You give the index of the last token in common. How many tokens are there up to it?",
            twin=lambda cached, prompt: reusable_prefix(cached, prompt) - 1,
        ),
        Misconception(
            "off-by-one",
            "Your count is one too small where anything is shared. Counting from 0, how many tokens come before the "
            "first difference?",
            twin=lambda cached, prompt: max(reusable_prefix(cached, prompt) - 1, 0),
        ),
        Misconception(
            "last-token-always-run",
            "Where the whole prompt is cached, you leave one token to run. A server may do that, for its logits. What "
            "is the length of the prefix?",
            twin=lambda cached, prompt: min(reusable_prefix(cached, prompt), max(len(prompt) - 1, 0)),
        ),
        *(
            Misconception(
                "whole-blocks-only",
                f"You count in whole blocks of {size} tokens, as a server does. Which length was asked for here?",
                twin=whole_blocks(size),
            )
            for size in (2, 4, 16)
        ),
        Misconception(
            "all-or-nothing",
            "You reuse all that is cached or nothing. What if the prompt agrees for a while, and then differs?",
            twin=lambda cached, prompt: len(cached) if prompt[: len(cached)] == cached else 0,
        ),
        Misconception(
            "all-or-nothing",
            "You reuse the whole prompt or nothing. What if it agrees for a while, and then goes another way?",
            twin=lambda cached, prompt: len(prompt) if cached[: len(prompt)] == prompt else 0,
        ),
        Misconception(
            "all-or-nothing",
            "You reuse a text only if it is the same from end to end. What if the two agree for a while?",
            twin=lambda cached, prompt: len(prompt) if cached == prompt else 0,
        ),
        Misconception(
            "no-comparison",
            "You give the length of the shorter list. What if their tokens differ?",
            twin=lambda cached, prompt: min(len(cached), len(prompt)),
        ),
        Misconception(
            "no-comparison",
            "You give the length of what is cached. What if the tokens differ?",
            twin=lambda cached, prompt: len(cached),
        ),
        Misconception(
            "rest-counted",
            "You count the tokens that are left to run. Which part was asked for?",
            twin=lambda cached, prompt: len(prompt) - reusable_prefix(cached, prompt),
        ),
        Misconception(
            "tokens-returned",
            "The prefix itself came back. Its length was asked for.",
            twin=lambda cached, prompt: prompt[: reusable_prefix(cached, prompt)],
        ),
        Misconception(
            "nothing-without-a-mismatch", NO_MISMATCH.format("0"), twin=first_mismatch_or(lambda cached, prompt: 0)
        ),
        Misconception(
            "nothing-without-a-mismatch", NO_MISMATCH.format("−1"), twin=first_mismatch_or(lambda cached, prompt: -1)
        ),
        Misconception(
            "longer-for-shorter",
            "Where one list is the beginning of the other, you give the length of the longer one. How many tokens do "
            "they share?",
            twin=first_mismatch_or(lambda cached, prompt: max(len(cached), len(prompt))),
        ),
        Misconception(
            "longer-for-shorter",
            "Where nothing differs you give the length of what is cached. Which of the two lists may be the shorter?",
            twin=first_mismatch_or(lambda cached, prompt: len(cached)),
        ),
        Misconception(
            "longer-for-shorter",
            "Where nothing differs you give the length of the prompt. Which of the two lists may be the shorter?",
            twin=first_mismatch_or(lambda cached, prompt: len(prompt)),
        ),
        Misconception("one-list-ends", EITHER_SHORTER, twin=over(lambda cached, prompt: len(cached))),
        Misconception("one-list-ends", EITHER_SHORTER, twin=over(lambda cached, prompt: len(prompt))),
        Misconception("one-list-ends", EITHER_SHORTER, twin=over(lambda cached, prompt: max(len(cached), len(prompt)))),
        Misconception("one-list-ends", EITHER_SHORTER, twin=while_equal),
        Misconception(
            "comparison-inverted",
            "You stop at the first token that is the same. At which kind of token should you stop?",
            twin=lambda cached, prompt: counted_while(cached, prompt, lambda old, new: old != new),
        ),
        *(
            Misconception(
                "ordered-for-equal",
                "You go on while one token's number is below the other's, or not above it. What does the size of an id "
                "mean?",
                twin=lambda cached, prompt, compare=compare: counted_while(cached, prompt, compare),
            )
            for compare in (operator.lt, operator.le, operator.gt, operator.ge)
        ),
        *(
            Misconception(
                "length-negated",
                f"Your count is negative {where}. Where does a minus come in?",
                twin=twin,
            )
            for where, twin in (
                ("", lambda cached, prompt: -reusable_prefix(cached, prompt)),
                (
                    "where one list is the beginning of the other",
                    first_mismatch_or(lambda cached, prompt: -min(len(cached), len(prompt))),
                ),
                (
                    "where there is a difference",
                    lambda cached, prompt: (
                        (-1 if first_mismatch_or_none(cached, prompt) is not None else 1)
                        * reusable_prefix(cached, prompt)
                    ),
                ),
            )
        ),
        Misconception(
            "nothing-without-a-mismatch",
            "Where one list is the beginning of the other, nothing comes back. Does every way through your code end in "
            "a `return`?",
            twin=first_mismatch_or(lambda cached, prompt: None),
        ),
        Misconception(
            "is-for-equals",
            "Right for small numbers only. `is` asks whether two names hold one object. What asks whether two numbers "
            "are equal?",
            twin=is_the_same,
        ),
    ),
)


def longest_true(flags: list[bool]) -> int:
    best = run = 0
    for flag in flags:
        run = run + 1 if flag else 0
        best = max(best, run)
    return best


# ── 7.5 grouped-query attention ───────────────────────────────────────────────────────────────────

Spread = Callable[[Tensor, int], Tensor]  # of keys or values (B, H_kv, n, d) and H: one for each query head


def repeated(t: Tensor, n_heads: int) -> Tensor:
    return t.repeat_interleave(n_heads // t.shape[1], dim=1)


def tiled(t: Tensor, n_heads: int) -> Tensor:
    return t.repeat(1, n_heads // t.shape[1], 1, 1)


def see_before(scores: Tensor) -> Tensor:
    return torch.ones(scores.shape[-2:], dtype=torch.bool).tril()


def masked(scores: Tensor, see: Tensor) -> Tensor:
    return scores.masked_fill(~see, -torch.inf).softmax(dim=-1)


def grouped_variant(
    keys: Spread = repeated,
    values: Spread = repeated,
    scale: Callable[[Tensor, Tensor], float] = lambda q, k: math.sqrt(q.shape[-1]),
    see: Callable[[Tensor], Tensor] = see_before,
    share: Callable[[Tensor, Tensor], Tensor] = masked,
    give: Callable[[Tensor, Tensor, int], Any] = lambda out, weights, n_kv_heads: out,
    product: Callable[[Tensor, Tensor], Tensor] = lambda q, k: q @ k.mT,
    mix: Callable[[Tensor, Tensor], Tensor] = lambda weights, v: weights @ v,
) -> Callable[..., Any]:
    """Give an answer to 7.5 that shares heads, scales, masks or goes on in another way."""

    def variant(q: Tensor, k: Tensor, v: Tensor) -> Any:
        n_heads, n_kv_heads = q.shape[1], k.shape[1]
        scores = product(q, keys(k, n_heads)) / scale(q, k)
        weights = share(scores, see(scores))
        return give(mix(weights, values(v, n_heads)), weights, n_kv_heads)

    return variant


def grouped_in_steps(at: At) -> Callable[..., Any]:
    return grouped_variant(
        keys=lambda t, n_heads: at("keys", repeated(t, n_heads)),
        values=lambda t, n_heads: at("values", repeated(t, n_heads)),
        product=lambda q, k: at("products", q @ k.mT),
        share=lambda scores, see: at("weights", masked(at("scores", scores), see)),
        give=lambda out, weights, n_kv_heads: at("output", out),
    )


def along(axis: int) -> Spread:
    """Repeat along another axis than the heads'."""
    return lambda t, n_heads: t.repeat_interleave(n_heads // t.shape[1], dim=axis)


def ones_before(n: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool).tril()


def plain_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return masked(scores, see_before(scores)) @ v


def masked_after(scores: Tensor, see: Tensor) -> Tensor:
    return scores.softmax(dim=-1) * see


def renormalised(scores: Tensor, see: Tensor) -> Tensor:
    return (scores * see).softmax(dim=-1)


def in_groups(t: Tensor, n_kv_heads: int) -> Tensor:
    return t.unflatten(1, (n_kv_heads, -1))


def draw_groups(draw: Draw) -> list[Case]:
    def case(name: str, heads: tuple[int, int], dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        d = EXACT if dtype == torch.float64 else draw.choose((5, 7, 10, 11))
        n_heads, n_kv_heads = heads
        s = {"H": n_heads, "H_kv": n_kv_heads, "B": draw.choose([b for b in (1, 2, 3) if b != n_kv_heads])}
        s |= draw.sizes("n", "d", **{"H": n_heads, "d": d} | fixed)
        q = draw.normal(s["B"], n_heads, s["n"], s["d"], dtype=dtype)
        k, v = (draw.normal(s["B"], n_kv_heads, s["n"], s["d"], dtype=dtype) for _ in range(2))
        return Case(call(q, k, v), name, s)

    return [
        case("plain", (6, 2), B=3),
        case("plain", draw.choose(((6, 3), (8, 2), (9, 3), (8, 4)))),
        case("float64", (6, 2), torch.float64),
        case("one KV head for all", (draw.choose((3, 5)), 1)),
        case("as many KV heads as query heads", (draw.choose((3, 4)),) * 2),
        case("groups as many as their members", (4, 2)),
        case("one head", (1, 1)),
        case("n = 1", (6, 2), n=1),
        case("one example", (6, 3), B=1),
        case("as many tokens as features", (6, 3), n=7, d=7),
        case("as many tokens as heads", (6, 2), n=6),
        case("d = 1", (6, 2), d=1),
    ]


def group_of(seen: Seen) -> str:
    return f"Here {seen['H']} query heads share {seen['H_kv']} KV heads"


GROUPED = Question(
    id="7.5",
    points=3,
    title="Fewer keys than queries",
    inputs=("q", "k", "v"),
    outputs=("out (B, H, n, d)",),
    draw=draw_groups,
    reference=grouped_query_attention,
    variant=grouped_variant,
    gradients=True,
    misconceptions=(
        Misconception(
            "kv-heads-tiled",
            lambda seen: (
                f"{group_of(seen)}. In yours, query heads 0 and 1 read different ones: the KV heads are laid out as "
                "0, 1, …, 0, 1, … Which query heads make a group?"
            ),
            knobs={"keys": tiled, "values": tiled},
        ),
        Misconception(
            "kv-heads-tiled",
            "Your keys are laid out as 0, 1, …, 0, 1, …, and your values in groups. Does a head read keys and values "
            "of one KV head?",
            twin=grouped_variant(keys=tiled),
        ),
        Misconception(
            "kv-heads-tiled",
            "Your values are laid out as 0, 1, …, 0, 1, …, and your keys in groups. Does a head read keys and values "
            "of one KV head?",
            twin=grouped_variant(values=tiled),
        ),
        Misconception(
            "one-kv-head-for-all",
            lambda seen: f"{group_of(seen)}. In yours all read the first one. What are the others for?",
            knobs={
                "keys": lambda t, n_heads: t[:, :1].expand(-1, n_heads, -1, -1),
                "values": lambda t, n_heads: t[:, :1].expand(-1, n_heads, -1, -1),
            },
        ),
        Misconception(
            "kv-heads-averaged",
            lambda seen: f"{group_of(seen)}. In yours all read their mean. Which one should query head 0 read?",
            knobs={
                "keys": lambda t, n_heads: t.mean(1, keepdim=True).expand(-1, n_heads, -1, -1),
                "values": lambda t, n_heads: t.mean(1, keepdim=True).expand(-1, n_heads, -1, -1),
            },
        ),
        Misconception(
            "kv-heads-reversed",
            "Your groups read the KV heads in the reverse order. Which one does the first group read?",
            twin=grouped_variant(
                keys=lambda t, n_heads: repeated(t.flip(1), n_heads),
                values=lambda t, n_heads: repeated(t.flip(1), n_heads),
            ),
        ),
        Misconception(
            "kv-heads-not-shared",
            "Right where there are as many KV heads as query heads, or one. Nothing is done about the others: how many "
            "query heads does one KV head serve?",
            knobs={"keys": lambda t, n_heads: t, "values": lambda t, n_heads: t},
        ),
        Misconception(
            "no-causal-mask",
            "The first token's output changes with the last token. Which tokens may a token see?",
            knobs={"see": lambda scores: torch.ones_like(scores, dtype=torch.bool)},
        ),
        Misconception(
            "mask-inverted",
            "Your tokens see the future and not the past. What does True mean in your mask, and what does it do?",
            knobs={"see": lambda scores: ~see_before(scores)},
        ),
        Misconception(
            "mask-inverted",
            "Your tokens see themselves and the future. Which triangle is the past?",
            knobs={"see": lambda scores: see_before(scores).mT},
        ),
        Misconception(
            "mask-off-by-one",
            "Your tokens cannot see themselves, so the first one sees nothing. Does the diagonal belong to the mask?",
            knobs={"see": lambda scores: see_before(scores).tril(-1)},
        ),
        Misconception(
            "mask-off-by-one",
            "Your tokens see one ahead. On which side of the diagonal does the mask begin?",
            knobs={"see": lambda scores: torch.ones(scores.shape[-2:], dtype=torch.bool).tril(1)},
        ),
        Misconception(
            "sees-itself-only",
            "Your tokens see themselves alone. What about those before them?",
            twin=grouped_variant(see=lambda scores: torch.eye(scores.shape[-1], dtype=torch.bool)),
        ),
        Misconception(
            "mask-after-softmax",
            "Your weights do not sum to 1: they were masked after the softmax. What must a hidden key be before it, so "
            "that it takes no share?",
            knobs={"share": masked_after},
        ),
        Misconception(
            "zero-for-minus-infinity",
            "A hidden key has the score 0, and e⁰ is 1. Which score gives the weight 0?",
            knobs={"share": renormalised},
        ),
        Misconception(
            "mask-added",
            "Your mask is added to the scores as 0 and 1. How much does that hide?",
            twin=grouped_variant(share=lambda scores, see: (scores + see).softmax(dim=-1)),
        ),
        Misconception(
            "mask-added",
            "Your mask lowers the scores of hidden keys by 1. How much does that hide?",
            twin=grouped_variant(share=lambda scores, see: (scores - (~see).to(scores.dtype)).softmax(dim=-1)),
        ),
        Misconception(
            "plus-infinity",
            "There is NaN: hidden keys got the score +∞. Which score gives the weight 0?",
            twin=grouped_variant(share=lambda scores, see: scores.masked_fill(~see, torch.inf).softmax(dim=-1)),
        ),
        Misconception(
            "softmax-over-queries",
            "Each of your columns shares out a weight of 1. Whose attention is shared out: a key's, or a query's?",
            knobs={"share": lambda scores, see: scores.masked_fill(~see, -torch.inf).softmax(dim=-2)},
        ),
        Misconception(
            "softmax-over-heads",
            "Your heads share out a weight of 1 among them. Has not each head a softmax of its own?",
            twin=grouped_variant(share=lambda scores, see: scores.masked_fill(~see, -1e9).softmax(dim=1) * see),
        ),
        Misconception(
            "softmax-over-heads",
            "Your heads share out a weight of 1 among them. Has not each head a softmax of its own?",
            twin=grouped_variant(share=lambda scores, see: scores.masked_fill(~see, -torch.inf).softmax(dim=1)),
        ),
        Misconception(
            "softmax-over-the-batch",
            "Your softmax runs along the batch. Along which axis do the keys lie?",
            twin=grouped_variant(share=lambda scores, see: scores.masked_fill(~see, -torch.inf).softmax(dim=0)),
        ),
        Misconception(
            "no-softmax",
            "Your weights are the scores themselves. What makes weights of scores?",
            twin=grouped_variant(share=lambda scores, see: scores.masked_fill(~see, 0.0)),
        ),
        Misconception(
            "not-normalised",
            "Your weights are positive, but their rows do not sum to 1. What is missing after the exponential?",
            twin=grouped_variant(share=lambda scores, see: scores.masked_fill(~see, -torch.inf).exp()),
        ),
        Misconception(
            "softmax-twice",
            "A softmax was taken of weights, so hidden keys get a share again. How often should scores go through it?",
            twin=grouped_variant(share=lambda scores, see: masked(scores, see).softmax(dim=-1)),
        ),
        Misconception(
            "all-keys-alike",
            "Each token takes the mean of all it sees. What should decide who gets more?",
            twin=grouped_variant(share=lambda scores, see: masked(torch.zeros_like(scores), see)),
        ),
        Misconception(
            "scores-negated",
            "Your largest weight goes to the key that fits worst. Which sign do your scores have?",
            twin=grouped_variant(share=lambda scores, see: masked(-scores, see)),
        ),
        *slips(grouped_in_steps, "rounded", products="your products q · k", weights="your weights"),
        *slips(grouped_in_steps, "rounded cut", keys="the keys", scores="your scores"),
        *slips(grouped_in_steps, "rounded cut", values="the values"),
        *slips(grouped_in_steps, output="your output"),
        *(
            Misconception(slug, says, twin=grouped_variant(**parts))
            for slug, says, parts in (
                (
                    "elementwise-product",
                    "q and kᵀ are multiplied number by number. Which product sums as it goes?",
                    {"product": lambda q, k: q * k.mT},
                ),
                (
                    "keys-on-the-left",
                    "The transposed keys stand to the left of the queries. Over what should the product sum?",
                    {"product": lambda q, k: k.mT @ q},
                ),
                ("keys-left-out", "Your queries went on alone. What is a score of?", {"product": lambda q, k: q}),
                ("queries-left-out", "Your keys went on alone. What is a score of?", {"product": lambda q, k: k.mT}),
                (
                    "query-and-key-swapped",
                    "Your rows belong to keys, and your columns to queries. Who asks, and who is asked?",
                    {"product": lambda q, k: k @ q.mT},
                ),
                (
                    "keys-not-transposed",
                    "q and k are multiplied as they stand. Which axis should the product sum over, and where does it "
                    "stand in k?",
                    {"product": lambda q, k: q @ k},
                ),
                (
                    "other-axes-swapped",
                    "You swap heads and features of k. Which two axes are to change places?",
                    {"product": lambda q, k: q @ k.transpose(-3, -1)},
                ),
                (
                    "other-axes-swapped",
                    "You swap heads and tokens of k. Which two axes are to change places?",
                    {"product": lambda q, k: q @ k.transpose(-2, -3)},
                ),
                (
                    "fraction-turned-over",
                    "Your √d is divided by the scores. Which of the two is to be made smaller?",
                    {"product": lambda q, k: q.shape[-1] / (q @ k.mT)},
                ),
                (
                    "weights-times-values-one-by-one",
                    "Weights and values are multiplied number by number. Which product sums as it goes?",
                    {"mix": lambda weights, v: weights * v},
                ),
                (
                    "values-on-the-left",
                    "The values stand to the left of the weights. Which axis do both share?",
                    {"mix": lambda weights, v: v @ weights},
                ),
                (
                    "no-softmax",
                    "Your weights are the scores, hidden ones too. What makes weights of scores?",
                    {"share": lambda scores, see: scores},
                ),
                (
                    "no-softmax",
                    "Your weights are scores, and hidden ones are −∞. What makes weights of scores?",
                    {"share": lambda scores, see: scores.masked_fill(~see, -torch.inf)},
                ),
                (
                    "mask-inverted",
                    "Your tokens see the future and not the past, and the last one nothing. What does True mean?",
                    {"share": lambda scores, see: masked(scores, ~see).masked_fill(see, 0.0)},
                ),
            )
        ),
        *(
            Misconception(
                "mask-of-another-size",
                f"Your causal mask is as large as {what}. How many tokens are there?",
                twin=lambda q, k, v, axis=axis: grouped_variant(see=lambda scores: ones_before(q.shape[axis]))(q, k, v),
            )
            for what, axis in (("there are features", -1), ("there are heads", 1), ("the batch", 0))
        ),
        *(
            Misconception(
                "heads-repeated-too-often",
                f"Each KV head is repeated {what} times. How many query heads does one serve?",
                twin=grouped_variant(keys=spread, values=spread),
            )
            for what, spread in (
                ("H", lambda t, n_heads: t.repeat_interleave(n_heads, dim=1)),
                ("H · H_kv", lambda t, n_heads: t.repeat_interleave(n_heads * t.shape[1], dim=1)),
                ("H_kv", lambda t, n_heads: t.repeat_interleave(t.shape[1], dim=1)),
                ("H_kv // H", lambda t, n_heads: t.repeat_interleave(t.shape[1] // n_heads, dim=1)),
            )
        ),
        Misconception(
            "group-not-whole",
            "The number of repeats is a fraction, and torch wants a whole one. Which of `/` and `//` gives that?",
            twin=grouped_variant(keys=lambda t, n_heads: t.repeat_interleave(cast(int, n_heads / t.shape[1]), dim=1)),
        ),
        *(
            Misconception(
                "another-axis-repeated",
                f"The {what} are repeated along axis {axis}. Which axis counts heads?",
                twin=grouped_variant(**dict[str, Any]({what: along(axis)})),
            )
            for what in ("keys", "values")
            for axis in (-1, -2)
        ),
        Misconception(
            "query-and-values-exchanged",
            "Queries and values change places when attention is called. Who asks, and what is mixed?",
            twin=lambda q, k, v: plain_attention(repeated(v, q.shape[1]), repeated(k, q.shape[1]), q),
        ),
        Misconception(
            "query-returned",
            "The queries came back. What do they find?",
            twin=lambda q, k, v: q,
        ),
        Misconception(
            "no-scale",
            lambda seen: (
                f"Your scores are not scaled. Each is a sum of {seen['d']} products here. By what does attention "
                "divide it?"
            ),
            knobs={"scale": lambda q, k: 1.0},
        ),
        Misconception(
            "scaled-by-d-k",
            "Your scores are divided by d. That is right for a variance. By what do you divide a number, so that its "
            "variance falls by a factor d?",
            knobs={"scale": lambda q, k: q.shape[-1]},
        ),
        Misconception(
            "scale-multiplied",
            "Your scores grew: they are multiplied by √d. Is the sum of many products too small for the softmax, or "
            "too large?",
            knobs={"scale": lambda q, k: q.shape[-1] ** -0.5},
        ),
        Misconception(
            "scaled-by-d-model",
            "Your scores are divided by the root of H · d, the width of the model. How many products are summed in the "
            "score of one head?",
            knobs={"scale": lambda q, k: math.sqrt(q.shape[-1] * q.shape[1])},
        ),
        Misconception(
            "scaled-by-number-of-keys",
            root_of("the number of tokens"),
            twin=grouped_variant(scale=lambda q, k: math.sqrt(k.shape[-2])),
        ),
        Misconception(
            "scaled-by-number-of-heads",
            root_of("the number of heads"),
            twin=grouped_variant(scale=lambda q, k: math.sqrt(q.shape[1])),
        ),
        Misconception(
            "scaled-by-number-of-heads",
            root_of("the number of KV heads"),
            twin=grouped_variant(scale=lambda q, k: math.sqrt(k.shape[1])),
        ),
        Misconception(
            "keys-used-as-values",
            "Your output mixes the keys. A key is what a token is found by. What does it hand over?",
            twin=lambda q, k, v: grouped_query_attention(q, k, k),
        ),
        Misconception(
            "values-used-as-keys",
            "Your scores compare queries with values. By what is a token found, and what does it hand over?",
            twin=lambda q, k, v: grouped_query_attention(q, v, v),
        ),
        Misconception(
            "keys-and-values-swapped",
            "Your scores compare queries with values, and your output mixes keys. Which of k and v is which?",
            twin=lambda q, k, v: grouped_query_attention(q, v, k),
        ),
        Misconception(
            "groups-averaged",
            "One output a KV head came back: the query heads of a group were averaged. How many heads should there be?",
            twin=grouped_variant(give=lambda out, weights, n_kv_heads: in_groups(out, n_kv_heads).mean(2)),
        ),
        Misconception(
            "groups-summed",
            "One output a KV head came back: the query heads of a group were summed. How many heads should there be?",
            twin=grouped_variant(give=lambda out, weights, n_kv_heads: in_groups(out, n_kv_heads).sum(2)),
        ),
        Misconception(
            "groups-left-apart",
            "Your output has an axis for groups still. Which shape did the queries come in?",
            twin=grouped_variant(give=lambda out, weights, n_kv_heads: in_groups(out, n_kv_heads)),
        ),
        Misconception(
            "heads-merged",
            "Your heads are merged already: (B, n, H · d). Was that asked for here?",
            knobs={"give": lambda out, weights, n_kv_heads: out.transpose(1, 2).flatten(2)},
        ),
        Misconception(
            "heads-and-tokens-swapped",
            "The axes of heads and tokens have changed places. Which shape did the queries come in?",
            knobs={"give": lambda out, weights, n_kv_heads: out.transpose(1, 2)},
        ),
        Misconception(
            "weights-returned-too",
            "The output came back with the weights. This question asks for out alone.",
            knobs={"give": lambda out, weights, n_kv_heads: (out, weights)},
        ),
        Misconception(
            "weights-returned",
            "The weights came back. What do they mix?",
            twin=grouped_variant(give=lambda out, weights, n_kv_heads: weights),
        ),
    ),
)

QUESTIONS = (CACHE, STEP, BYTES, PREFIX, GROUPED)
