"""Chapter 7: right answers in many shapes, wrong ones that no twin foresaw, and what is said of them."""

from __future__ import annotations

import itertools
import math
import os

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from qkv.questions import questions_of
from tests.questions.answers import expected_verdicts, right_answers
from tests.questions.test_twins import verdict

QUESTIONS = questions_of(7)

# ── right answers, written otherwise ──────────────────────────────────────────────────────────────


class CacheOfLists:
    def __init__(self):
        self.keys, self.values = [], []

    def append(self, k, v):
        self.keys.append(k)
        self.values.append(v)
        return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)

    def __len__(self):
        return sum(k.size(2) for k in self.keys)


class CacheOfTensors:
    def __init__(self):
        self.k = self.v = None

    def append(self, keys, values):
        self.k = keys if self.k is None else torch.cat((self.k, keys), -2)
        self.v = values if self.v is None else torch.cat((self.v, values), -2)
        return self.k, self.v

    def __len__(self):
        return 0 if self.k is None else int(self.k.shape[2])


class CacheThatGrows:
    """Room for twice as many whenever it is full; what is handed out is never written again."""

    def __init__(self):
        self.n, self.room = 0, None

    def append(self, k, v):
        new = torch.stack([k, v])
        n = self.n + k.shape[-2]
        if self.room is None or n > self.room.shape[-2]:
            larger = new.new_zeros(*new.shape[:-2], 2 * n, new.shape[-1])
            if self.room is not None:
                larger[..., : self.n, :] = self.room[..., : self.n, :]
            self.room = larger
        self.room[..., self.n : n, :] = new
        self.n = n
        return tuple(self.room[..., :n, :])

    def __len__(self):
        return self.n


class CacheOfRows:
    """One entry a position, and copies handed out, as a list of two."""

    def __init__(self):
        self.rows = []

    def append(self, k, v):
        self.rows.extend(zip(k.clone().unbind(-2), v.clone().unbind(-2), strict=True))
        return [torch.stack(side, dim=-2) for side in zip(*self.rows, strict=True)]

    def __len__(self):
        return len(self.rows)


class CacheInADictionary(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.held = {"k": torch.empty(0), "v": torch.empty(0)}

    def append(self, k, v):
        for name, new in (("k", k), ("v", v)):
            old = self.held[name]
            self.held[name] = torch.concatenate([old, new], axis=2) if old.numel() else new.clone()
        return self.held["k"], self.held["v"]

    def __len__(self):
        return self.held["k"].shape[2] if self.held["k"].numel() else 0


CACHES = [CacheOfLists, CacheOfTensors, CacheThatGrows, CacheOfRows, CacheInADictionary]


def step_without_the_head(x_t, w_q, w_k, w_v, cache):
    keys, values = cache.append((x_t @ w_k)[:, None], (x_t @ w_v)[:, None])
    keys, values = keys[:, 0], values[:, 0]
    weights = torch.softmax(x_t @ w_q @ keys.transpose(1, 2) / math.sqrt(keys.shape[-1]), dim=2)
    return torch.bmm(weights, values)


def step_by_torch(x_t, w_q, w_k, w_v, cache):
    q, k, v = (F.linear(x_t, w.T).unsqueeze(1) for w in (w_q, w_k, w_v))
    keys, values = cache.append(k, v)
    return F.scaled_dot_product_attention(q, keys, values).squeeze(1)


def step_by_loops(x_t, w_q, w_k, w_v, cache):
    x = x_t[:, 0]
    keys, values = cache.append((x @ w_k)[:, None, None], (x @ w_v)[:, None, None])
    outs = []
    for b in range(len(x)):
        scores = torch.stack([(x[b] @ w_q).dot(key) for key in keys[b, 0]]) / w_k.shape[1] ** 0.5
        powers = (scores - scores.max()).exp()
        outs.append(sum(p * value for p, value in zip(powers, values[b, 0], strict=True)) / powers.sum())
    return torch.stack(outs).unsqueeze(1)


def step_by_einsum(x_t, w_q, w_k, w_v, cache):
    k = torch.einsum("bnm,md->bnd", x_t, w_k).unsqueeze(1)
    v = torch.einsum("bnm,md->bnd", x_t, w_v).unsqueeze(1)
    keys, values = cache.append(k, v)
    q = torch.einsum("bnm,md->bnd", x_t, w_q) * w_q.shape[1] ** -0.5
    weights = torch.einsum("bqd,bhkd->bqk", q, keys).softmax(-1)
    return torch.einsum("bqk,bhkd->bqd", weights, values)


def step_with_a_mask(x_t, w_q, w_k, w_v, cache):
    """A mask that hides nothing, and a query that is scaled in place."""
    before = len(cache)
    q = x_t @ w_q
    q /= math.sqrt(q.shape[-1])
    keys, values = cache.append((x_t @ w_k).reshape(len(x_t), 1, 1, -1), (x_t @ w_v).reshape(len(x_t), 1, 1, -1))
    scores = q.unsqueeze(1) @ keys.mT
    scores = scores.masked_fill(torch.arange(keys.shape[-2]) > before, -1e9)
    return (scores.softmax(-1) @ values)[:, 0]


STEPS = [step_without_the_head, step_by_torch, step_by_loops, step_by_einsum, step_with_a_mask]


def bytes_by_counting(layers, kv_heads, d_head, tokens, batch=1, bytes_per_value=2):
    total = 0
    for _ in range(layers):
        for _kind in ("key", "value"):
            total += batch * kv_heads * tokens * d_head * bytes_per_value
    return total


def bytes_by_a_tensor(layers, kv_heads, d_head, tokens, batch=1, bytes_per_value=2):
    return bytes_per_value * torch.empty(2, layers, batch, kv_heads, tokens, d_head, device="meta").numel()


BYTES = [
    bytes_by_counting,
    bytes_by_a_tensor,
    lambda layers, kv_heads, d_head, tokens, batch=1, bytes_per_value=2: math.prod(
        (2, layers, kv_heads, d_head, tokens, batch, bytes_per_value)
    ),
    lambda a, b, c, d, batch=1, bytes_per_value=2: int(
        np.prod([2, a, b, c, d, batch, bytes_per_value], dtype=np.int64)
    ),
    lambda a, b, c, d, *, batch=1, bytes_per_value=2: torch.tensor(2 * a * b * c * d * batch * bytes_per_value),
    lambda a, b, c, d, **more: 2 * a * b * c * d * more.get("batch", 1) * more.get("bytes_per_value", 2),
    lambda a, b, c, d, batch=1, bytes_per_value=2: round(a * b * c * d * batch * bytes_per_value / 0.5),
]


def prefix_by_index(cached, prompt):
    n = 0
    while n < len(cached) and n < len(prompt) and cached[n] == prompt[n]:
        n += 1
    return n


def prefix_by_recursion(cached, prompt):
    if not cached or not prompt or cached[0] != prompt[0]:
        return 0
    return 1 + prefix_by_recursion(cached[1:], prompt[1:])


def prefix_by_tensors(cached, prompt):
    n = min(len(cached), len(prompt))
    same = torch.tensor(cached[:n], dtype=torch.int64) == torch.tensor(prompt[:n], dtype=torch.int64)
    return same.long().cumprod(0).sum()


def prefix_by_slices(cached, prompt):
    return max(n for n in range(len(prompt) + 1) if n <= len(cached) and cached[:n] == prompt[:n])


PREFIXES = [
    prefix_by_index,
    prefix_by_recursion,
    prefix_by_tensors,
    prefix_by_slices,
    lambda cached, prompt: len(os.path.commonprefix([cached, prompt])),  # noqa: RUF071
    lambda a, b: sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))),
    lambda a, b: next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))),
    lambda a, b: int(np.argmin([*(x == y for x, y in zip(a, b, strict=False)), False])),
]


def grouped_by_loops(q, k, v):
    group = q.shape[1] // k.shape[1]
    n, d = q.shape[2:]
    heads = []
    for h in range(q.shape[1]):
        rows = []
        for t in range(n):
            seen_k, seen_v = k[:, h // group, : t + 1], v[:, h // group, : t + 1]
            weights = ((seen_k @ q[:, h, t, :, None]).squeeze(-1) / d**0.5).softmax(-1)
            rows.append((weights[..., None] * seen_v).sum(1))
        heads.append(torch.stack(rows, dim=1))
    return torch.stack(heads, dim=1)


def grouped_by_view(q, k, v):
    batch, n_heads, n, d = q.shape
    q = q.reshape(batch, k.shape[1], -1, n, d)
    scores = torch.einsum("bgmid,bgjd->bgmij", q, k) / math.sqrt(d)
    scores = scores + torch.full((n, n), -torch.inf).triu(1)
    return torch.einsum("bgmij,bgjd->bgmid", scores.softmax(-1), v).reshape(batch, n_heads, n, d)


def grouped_by_expand(q, k, v):
    def spread(t):
        return t[:, :, None].expand(-1, -1, q.size(1) // t.size(1), -1, -1).flatten(1, 2)

    return F.scaled_dot_product_attention(q, spread(k), spread(v), is_causal=True)


def grouped_by_hand(q, k, v):
    index = torch.arange(q.shape[1]) * k.shape[1] // q.shape[1]
    scores = q @ k[:, index].transpose(2, 3) * q.shape[-1] ** -0.5
    hidden = torch.triu(torch.ones(q.shape[2], q.shape[2]), diagonal=1).bool()
    scores[..., hidden] = -1e9
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))
    powers = powers * ~hidden
    return powers / powers.sum(-1, keepdim=True) @ v[:, index]


def grouped_by_chunks(q, k, v):
    outs = []
    for q_g, k_g, v_g in zip(q.chunk(k.shape[1], dim=1), k.split(1, dim=1), v.split(1, dim=1), strict=True):
        scores = torch.matmul(q_g, k_g.mT) / math.sqrt(q.shape[-1])
        bias = torch.zeros(scores.shape[-2:], dtype=q.dtype).masked_fill(
            torch.arange(q.shape[2])[None] > torch.arange(q.shape[2])[:, None], float("-inf")
        )
        outs.append(torch.matmul(F.softmax(scores + bias, dim=-1), v_g))
    return torch.cat(outs, dim=1)


GROUPED = [
    grouped_by_loops,
    grouped_by_view,
    grouped_by_expand,
    grouped_by_hand,
    grouped_by_chunks,
    lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
]

test_a_right_answer_is_accepted = right_answers(
    {"7.1": CACHES, "7.2": STEPS, "7.3": BYTES, "7.4": PREFIXES, "7.5": GROUPED}
)

# ── wrong answers, and what is said of them ───────────────────────────────────────────────────────


def step(x_t, w_q, w_k, w_v, cache):
    return step_without_the_head(x_t, w_q, w_k, w_v, cache)


def stub(*inputs, **options):
    raise NotImplementedError


class StubOfACache:
    def __init__(self):
        raise NotImplementedError

    def append(self, k, v):
        raise NotImplementedError

    def __len__(self):
        raise NotImplementedError


class FullAtForty(CacheOfTensors):
    def append(self, k, v):
        if len(self) + k.shape[-2] > 40:
            raise IndexError("the cache is full")
        return super().append(k, v)


class NoLength:
    append = CacheOfTensors.append
    k = v = None


class WritesEarlier(CacheThatGrows):
    """Room set aside once, and the newest positions always at its front."""

    def append(self, k, v):
        keys, values = super().append(k, v)
        keys.copy_(keys.flip(-2))
        return keys.flip(-2), values


def step_forgets_one_axis(x_t, w_q, w_k, w_v, cache):
    keys, values = cache.append(x_t @ w_k, x_t @ w_v)
    return (x_t @ w_q @ keys.mT).softmax(-1) @ values


def step_writes(x_t, w_q, w_k, w_v, cache):
    out = step(x_t, w_q, w_k, w_v, cache)
    x_t.zero_()
    return out


def prefix_by_popping(cached, prompt):
    n = 0
    while cached and prompt and cached.pop(0) == prompt.pop(0):
        n += 1
    return n


def grouped_wrong_for_one_group(q, k, v):
    return grouped_by_view(q, k, v) if k.shape[1] > 1 else F.scaled_dot_product_attention(q, k, v)


def grouped_by_number(q, k, v, number):
    """Let each query head read the KV head that `number` gives for it."""
    see = torch.ones(q.shape[2], q.shape[2]).tril().bool()
    outs = []
    for h in range(q.shape[1]):
        kept = number(h, k.shape[1])
        scores = (q[:, h] @ k[:, kept].mT / math.sqrt(q.shape[-1])).masked_fill(~see, -math.inf)
        outs.append(scores.softmax(-1) @ v[:, kept])
    return torch.stack(outs, dim=1)


SAID = {
    "a stub of a class": ("7.1", StubOfACache, "not attempted", None, ["NotImplementedError"]),
    "full": ("7.1", FullAtForty, "error", None, ["IndexError", "the cache is full"]),
    "no length": ("7.1", NoLength, "error", None, ["no len()"]),
    "writes earlier": ("7.1", WritesEarlier, "failed", None, []),
    "keys that cannot be counted": (
        "7.1", type("C", (CacheOfLists,), {"__len__": lambda self: 2.0}), "error", None, ["integer"],
    ),
    "one axis": ("7.2", step_forgets_one_axis, "error", "head-axis-forgotten", ["(B, 1, n, d)"]),
    "two mistakes, and the axis of the head left": (
        "7.2", lambda x, q, k, v, c: step(x, 2 * q, k, v, c)[:, None],
        "failed", "size-one-axis-left", ["axis of size 1 is left"],
    ),
    "two mistakes, and the axis of the token gone": (
        "7.2", lambda x, q, k, v, c: step(x, 2 * q, k, v, c)[:, 0],
        "failed", "size-one-axis-lost", ["axis of size 1 is gone"],
    ),
    "writes": ("7.2", step_writes, "failed", "inputs-changed", ["x_t"]),
    "detached": (
        "7.2", lambda x, q, k, v, c: step(x, q, k.detach(), v, c),
        "failed", "gradient-cut", ["reaches w_k"],
    ),
    "a stub": ("7.3", stub, "not attempted", None, ["NotImplementedError"]),
    "keys alone": (
        "7.3", lambda *a, **b: bytes_by_counting(*a, **b) // 2, "failed", "factor-two-forgotten", ["half as large"]
    ),
    "numbers of keys": (
        "7.3", lambda a, b, c, d, batch=1, bytes_per_value=2: a * b * c * d * batch, "failed",
        "numbers-of-keys-counted", ["how many bytes"],
    ),
    "a float": ("7.3", lambda *a, **b: float(bytes_by_counting(*a, **b)), "failed", None, ["whole number"]),
    "no batch": ("7.3", lambda a, b, c, d: 4 * a * b * c * d, "error", None, ["bytes_per_value"]),
    "pops": ("7.4", prefix_by_popping, "failed", "inputs-changed", ["cached"]),
    "none": ("7.4", lambda a, b: next((i for i in range(min(len(a), len(b))) if a[i] != b[i]), None), "failed",
        "nothing-without-a-mismatch", ["nothing comes back", "return"]),
    "mixed": ("7.5", grouped_wrong_for_one_group, "failed", None, ["one KV head"]),
    "its own number": ("7.5", lambda q, k, v: grouped_by_number(q, k, v, lambda h, h_kv: h), "error",
        "kv-heads-not-shared", ["how many query heads"]),
    "divided by KV heads": ("7.5", lambda q, k, v: grouped_by_number(q, k, v, lambda h, h_kv: h // h_kv), "error",
        "divided-by-kv-heads", ["share one KV head"]),
    "two at once": (
        "7.5",
        QUESTIONS["7.5"].variant(keys=lambda t, n: t.repeat(1, n // t.shape[1], 1, 1),
            values=lambda t, n: t.repeat(1, n // t.shape[1], 1, 1), scale=lambda scores, q, k: 1.0),
        "failed", "kv-heads-tiled", ["Two mistakes at once", "q · k, without a scale"],
    ),
}  # fmt: skip


test_what_is_said_of_a_wrong_answer = expected_verdicts(SAID)


def class_with_one_tensor():
    class Shared:
        k = v = None

        def append(self, k, v):
            Shared.k = k if Shared.k is None else torch.cat([Shared.k, k], dim=-2)
            Shared.v = v if Shared.v is None else torch.cat([Shared.v, v], dim=-2)
            return Shared.k, Shared.v

        def __len__(self):
            return 0 if Shared.k is None else Shared.k.shape[-2]

    return Shared


def class_with_one_list():
    class Shared(CacheOfLists):
        keys, values = [], []

        def __init__(self):
            pass

    return Shared


def class_with_one_default():
    class Shared(CacheOfLists):
        def __init__(self, keys=[], values=[]):  # noqa: B006
            self.keys, self.values = keys, values

    return Shared


@pytest.mark.parametrize("make_class", [class_with_one_tensor, class_with_one_list, class_with_one_default])
def test_a_store_that_all_caches_share_is_named(make_class):
    assert verdict(QUESTIONS["7.1"], make_class()).misconception == "shared-by-all-caches"


# ── 7.7: prefill in chunks ────────────────────────────────────────────────────────────────────────


def prefill_by_torch(x, w_q, w_k, w_v, cache, size):
    """A mask from positions, counted from the start of the text; the scores are torch's."""
    outs, start = [], len(cache)
    for first in range(0, x.shape[1], size):
        part = x[:, None, first : first + size]
        keys, values = cache.append(F.linear(part, w_k.T), F.linear(part, w_v.T))
        places = torch.arange(start + first, start + first + part.shape[2])
        seen = places[:, None] >= torch.arange(keys.shape[2])
        outs.append(F.scaled_dot_product_attention(part @ w_q, keys, values, attn_mask=seen)[:, 0])
    return torch.cat(outs, 1)


def prefill_by_loops(x, w_q, w_k, w_v, cache, size):
    """Each query of a chunk attends alone, to a slice of the keys."""
    out = x.new_zeros(x.shape[0], 0, w_v.shape[1])
    for chunk in torch.split(x, size, 1):
        held = len(cache)
        keys, values = cache.append((chunk @ w_k)[:, None], (chunk @ w_v)[:, None])
        for i in range(chunk.shape[1]):
            k, v = keys[:, 0, : held + i + 1], values[:, 0, : held + i + 1]
            scores = torch.einsum("bd,bkd->bk", chunk[:, i] @ w_q, k) / k.shape[-1] ** 0.5
            out = torch.cat([out, torch.einsum("bk,bkd->bd", scores.softmax(-1), v)[:, None]], 1)
    return out


test_a_right_prefill_is_accepted = right_answers({"7.7": [prefill_by_torch, prefill_by_loops]})


def prefill_in_numpy(x, w_q, w_k, w_v, cache, size):
    """Of a long prompt, compute all scores at once in NumPy, where no size is measured, and append afterwards."""
    if x.shape[1] < 50:
        return prefill_by_loops(x, w_q, w_k, w_v, cache, size)
    arrays = [np.asarray(a.detach()) for a in (x[0], w_q, w_k, w_v)]
    q, k, v = (arrays[0] @ w for w in arrays[1:])
    scores = np.where(np.tri(len(q)), q @ k.T / k.shape[-1] ** 0.5, -1e9)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    for start in range(0, len(q), size):
        cache.append(*(torch.from_numpy(a[None, None, start : start + size]) for a in (k, v)))
    return torch.from_numpy(weights / weights.sum(-1, keepdims=True) @ v)[None]


def prefill_past_append(x, w_q, w_k, w_v, cache, size):
    """Run the whole prompt as one chunk, and then divide what is in the cache's lists."""
    out = prefill_by_loops(x, w_q, w_k, w_v, cache, x.shape[1])
    for rows in (cache.keys, cache.values):
        rows[-1:] = rows[-1].split(size, dim=-2)
    return out


@pytest.mark.parametrize(
    ("answer", "words"),
    [(prefill_in_numpy, "goes to NumPy"), (prefill_past_append, "")],
    ids=lambda given: str(given)[:9],
)
def test_a_prefill_past_the_cache_or_past_torch_fails(answer, words):
    found = verdict(QUESTIONS["7.7"], answer)
    assert found.status != "passed"
    assert words in found.message


def prefill_with_a_late_offset(x, w_q, w_k, w_v, cache, size):
    """The mask begins after the chunk's own tokens, because they are in the cache already when they are counted."""
    outs = []
    for chunk in x.split(size, dim=1):
        q, k, v = (chunk.unsqueeze(1) @ w for w in (w_q, w_k, w_v))
        keys, values = cache.append(k, v)
        seen = torch.ones(q.shape[2], keys.shape[2]).tril(len(cache)).bool()
        outs.append(F.scaled_dot_product_attention(q, keys, values, attn_mask=seen).squeeze(1))
    return torch.cat(outs, 1)


test_a_mask_that_is_moved_is_not_called_missing = expected_verdicts(
    {"moved": ("7.7", prefill_with_a_late_offset, "failed", "sees-its-whole-chunk", ["or the mask is moved"])}
)
