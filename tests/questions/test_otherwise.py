"""Answers by people who never saw the reference: by NumPy, by objects, by partial functions, by tricks."""

from __future__ import annotations

import functools
import itertools
import math
import operator

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from qkv.questions import find
from qkv.questions.engine import Case, method
from qkv.questions.engine.causes import cause_of_a_product, most_frequent
from qkv.questions.engine.comparing import agree, result_differences
from qkv.sandboxed.observations import Observation, results_of
from tests.questions.answers import expected_verdicts, right_answers
from tests.questions.test_twins import verdict, verdict_in

# ── chapter 1 ─────────────────────────────────────────────────────────────────────────────────────


def one_hot_by_numpy(ids, vocab_size):
    array = ids.numpy()
    if array.size and (array.min() < 0 or array.max() >= vocab_size):
        raise ValueError("bad id")
    return torch.tensor(np.eye(vocab_size)[array], dtype=torch.float32)


def one_hot_by_scatter(ids, vocab_size):
    if not all(0 <= i < vocab_size for i in ids.tolist()):
        raise ValueError
    return torch.zeros(len(ids), vocab_size).scatter_(1, ids.unsqueeze(1), 1)


class OneHot:
    class OutsideError(ValueError):
        pass

    def __call__(self, ids, vocab_size):
        if torch.any(ids >= vocab_size) or torch.any(ids < 0):
            raise self.OutsideError(f"{ids}")
        return F.one_hot(ids, num_classes=vocab_size).double()


class Embedder:
    @staticmethod
    def embed(ids, table):
        return torch.stack([table[i] for i in ids.flatten()]).view(*ids.shape, -1)


def pad_by_insertion(sequences):
    longest = max(map(len, sequences))
    rows = [torch.cat([s, s.new_zeros(longest - s.size(0), s.size(1))]) for s in sequences]
    return torch.stack(rows), torch.stack([torch.arange(longest).lt(len(s)) for s in sequences])


def pad_by_padding(sequences):
    n = max(s.shape[0] for s in sequences)
    batch = torch.stack([F.pad(s, (0, 0, 0, n - s.shape[0])) for s in sequences])
    mask = [[True] * s.shape[0] + [False] * (n - s.shape[0]) for s in sequences]
    return [batch, torch.tensor(mask)]


def frames_by_strides(signal, window, hop):
    view = np.lib.stride_tricks.sliding_window_view(signal.numpy(), window)[::hop]
    return torch.from_numpy(view.copy())


def frames_by_index(signal, window, hop):
    n = 1 + (signal.numel() - window) // hop
    return signal[torch.arange(n)[:, None] * hop + torch.arange(window)]


# ── chapters 2 and 3 ──────────────────────────────────────────────────────────────────────────────


def scores_of_flat_rows(q, k):
    lead = q.shape[:-2]
    flat = torch.bmm(q.reshape(-1, *q.shape[-2:]), k.reshape(-1, *k.shape[-2:]).permute(0, 2, 1))
    return flat.reshape(*lead, q.shape[-2], k.shape[-2])


class Scores:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, q, k):
        return torch.einsum("...qd,...kd->...qk", q, k) * self.scale(q.shape[-1])


def additive_with_layers(q, k, w_q, w_k, v):
    hidden = F.linear(q, w_q.t())[..., :, None, :] + F.linear(k, w_k.t())[..., None, :, :]
    return torch.einsum("...a,a", hidden.tanh(), v)


class TinyHead(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_v = nn.Linear(d_model, d_v, bias=False)
        self.w_k, self.w_q = (nn.Linear(d_model, d_k, bias=False) for _ in "kq")
        self.softmax = nn.Softmax(dim=-1)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x):
        scores = torch.einsum("...id,...jd->...ij", self.w_q(x), self.w_k(x)).mul(self.w_k.out_features**-0.5)
        weights = self.dropout(self.softmax(scores))
        return torch.einsum("...ij,...jd->...id", weights, self.w_v(x)), weights


def attention_in_place(q, k, v):
    weights = q @ k.mT
    weights *= 1 / math.sqrt(k.size(-1))
    weights -= weights.max(-1, keepdim=True).values
    weights = torch.exp_(weights)
    return (weights @ v) / weights.sum(-1, keepdim=True), weights / weights.sum(-1, keepdim=True)


def jacobian_by_numpy(p):
    return torch.from_numpy(np.diagflat(p.numpy()) - np.outer(p.numpy(), p.numpy()))


# ── chapter 4 ─────────────────────────────────────────────────────────────────────────────────────


def softmax_by_logsumexp(z, temperature=1.0, dim=-1):
    if temperature <= 0:
        raise ValueError("T")
    z = z / temperature
    return (z - z.logsumexp(dim, keepdim=True)).exp()


def entropy_by_distribution(p, dim=-1):
    return torch.distributions.Categorical(probs=p.movedim(dim, -1)).entropy()


def entropy_by_where(p, dim=-1):
    positive = p > 0
    safe = torch.where(positive, p, torch.ones_like(p))
    return -(safe * safe.log()).sum(dim)


def token_by_exponentials(logits, temperature, generator):
    if temperature == 0:
        return logits.argmax()
    waiting = torch.empty_like(logits).exponential_(generator=generator)
    return (F.softmax(logits / temperature, dim=0) / waiting).argmax().item()


def temperature_by_numpy(z, target):
    x = z.double().numpy() - z.double().numpy().max()
    low, high = -30.0, 30.0
    for _ in range(80):
        middle = (low + high) / 2
        p = np.exp(x / np.exp(middle))
        low, high = (middle, high) if p.max() / p.sum() > target else (low, middle)
    return np.exp(low)


# ── chapter 5 ─────────────────────────────────────────────────────────────────────────────────────


def split_by_list(x, n_heads):
    width, rest = divmod(x.shape[2], n_heads)
    if rest:
        raise ValueError(rest)
    return torch.cat([part.unsqueeze(1) for part in x.split(width, dim=2)], dim=1)


def causal_by_numpy(n):
    return torch.tensor(np.tril(np.ones((n, n), dtype=bool)))


def masked_by_bias(q, k, v, mask):
    bias = torch.zeros(mask.shape, dtype=q.dtype).masked_fill_(mask.logical_not(), float("-inf"))
    blind = ~mask.any(-1, keepdim=True)
    weights = F.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5 + bias.masked_fill(blind, 0), dim=-1) * ~blind
    return weights @ v, weights


def masked_with_a_bad_gradient(q, k, v, mask):
    bias = torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, -torch.inf)
    weights = F.softmax(q @ k.mT / k.shape[-1] ** 0.5 + bias, dim=-1).nan_to_num(0.0)
    return weights @ v, weights


class LoopedHeads(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_head = d_model // n_heads
        for name in ("w_q", "w_k", "w_v", "w_o"):
            self.add_module(name, nn.Linear(d_model, d_model, bias=name == "w_o"))

    def forward(self, query, key=None, value=None, mask=None):
        key = key if key is not None else query
        value = value if value is not None else key
        outs, weights = [], []
        for h, parts in enumerate(zip(*(self.heads(*pair) for pair in self.pairs(query, key, value)), strict=True)):
            q, k, v = parts
            scores = q @ k.mT / self.d_head**0.5
            if mask is None:
                w = scores.softmax(-1)
            else:
                seen = mask.expand(*self.full(query, key))[:, h]
                w = torch.nan_to_num(scores.masked_fill(~seen, -torch.inf).softmax(-1))
            outs.append(w @ v)
            weights.append(w)
        return self.w_o(torch.cat(outs, dim=-1)), torch.stack(weights, dim=1)

    def full(self, query, key):
        return query.shape[0], self.w_q.out_features // self.d_head, query.shape[1], key.shape[1]

    def pairs(self, query, key, value):
        return (self.w_q, query), (self.w_k, key), (self.w_v, value)

    def heads(self, layer, x):
        return layer(x).split(self.d_head, dim=-1)


# ── chapters 6 and 7 ──────────────────────────────────────────────────────────────────────────────


def encoding_by_numpy(n, d_model):
    place, column = np.indices((n, d_model))
    angles = place / 10000 ** (2 * (column // 2) / d_model)
    return torch.tensor(np.where(column % 2, np.cos(angles), np.sin(angles)), dtype=torch.float32)


def shift_by_complex(k, d_model):
    turns = torch.polar(
        torch.ones(d_model // 2).double(), k * 10000 ** (-torch.arange(0, d_model, 2).double() / d_model)
    )
    blocks = [torch.tensor([[z.real, z.imag], [-z.imag, z.real]]) for z in turns.tolist()]
    return torch.block_diag(*blocks)


def rope_by_complex(x, positions, base=10000.0):
    speeds = base ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
    angles = positions.double()[:, None] * speeds
    pairs = torch.view_as_complex(x.contiguous().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles).to(pairs.dtype)).flatten(-2)


def alibi_by_comprehension(n_heads, n):
    slopes = [2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)]
    return torch.tensor([[[-s * abs(i - j) for j in range(n)] for i in range(n)] for s in slopes])


class Shelf:
    def __init__(self):
        self.pieces = ([], [])

    def append(self, *new):
        for piece, held in zip(new, self.pieces, strict=True):
            held.append(piece)
        return [torch.cat(held, dim=2) for held in self.pieces]

    def __len__(self):
        return sum(piece.shape[2] for piece in self.pieces[0])


def empty_of_one_shape():
    return [torch.zeros(1, 1, 0, 1)], [torch.zeros(1, 1, 0, 1)]


def step_by_einsum(x_t, w_q, w_k, w_v, cache):
    keys, values = cache.append((x_t @ w_k)[:, None], (x_t @ w_v)[:, None])
    scores = torch.einsum("bqd,bnd->bqn", x_t @ w_q, keys[:, 0]) / w_k.shape[1] ** 0.5
    return torch.einsum("bqn,bnd->bqd", scores.softmax(2), values[:, 0])


def shared(a, b):
    return [x for x, y in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))]


def grouped_by_views(q, k, v):
    b, n_heads, n, d = q.shape
    grouped = q.view(b, k.shape[1], -1, n, d)
    scores = torch.einsum("bghid,bgjd->bghij", grouped, k) / d**0.5
    scores = scores + torch.full((n, n), -torch.inf, dtype=q.dtype).triu(1)
    return torch.einsum("bghij,bgjd->bghid", scores.softmax(-1), v).reshape(b, n_heads, n, d)


test_a_right_answer_is_accepted = right_answers(
    {
        "1.1": [one_hot_by_numpy, one_hot_by_scatter, OneHot()],
        "1.2": [
            Embedder.embed,
            lambda ids, table: torch.index_select(table, 0, ids.reshape(-1)).unflatten(0, ids.shape),
            lambda ids, table: F.one_hot(ids, table.shape[0]).to(table) @ table,
        ],
        "1.3": [pad_by_insertion, pad_by_padding],
        "1.4": [frames_by_strides, frames_by_index],
        "2.1": [
            lambda x, *ws: [torch.einsum("...i,ij", x, w) for w in ws],
            lambda x, *ws: tuple(map(functools.partial(torch.matmul, x), ws)),
        ],
        "2.2": [scores_of_flat_rows, Scores(lambda d: 1), lambda q, k: torch.inner(q, k) if q.ndim < 3 else q @ k.mT],
        "2.3": [additive_with_layers],
        "2.4": [operator.matmul, torch.matmul, functools.partial(torch.einsum, "...qk,...kd->...qd")],
        "2.5": [TinyHead],
        "3.1": [Scores(lambda d: 1 / np.sqrt(d)), Scores(lambda d: d**-0.5)],
        "3.2": [
            lambda *sizes: math.prod(sizes),
            lambda d, a, b: sum([a * b] * d),
            lambda d, a, b: np.float64(d) * a * b,
        ],
        "3.3": [attention_in_place],
        "3.4": [jacobian_by_numpy],
        "4.1": [softmax_by_logsumexp],
        "4.2": [entropy_by_distribution, entropy_by_where],
        "4.3": [token_by_exponentials],
        "4.4": [temperature_by_numpy],
        "5.1": [split_by_list],
        "5.2": [lambda x: torch.cat([*x.movedim(1, 0)], dim=-1), lambda x: x.swapaxes(1, 2).flatten(start_dim=2)],
        "5.3": [causal_by_numpy, lambda n: torch.ones((n, n)).cumsum(1) <= torch.arange(1, n + 1)[:, None]],
        "5.4": [masked_by_bias],
        "5.5": [LoopedHeads],
        "6.1": [encoding_by_numpy],
        "6.2": [shift_by_complex],
        "6.3": [rope_by_complex],
        "6.4": [alibi_by_comprehension],
        "7.1": [Shelf],
        "7.2": [step_by_einsum],
        "7.3": [lambda *sizes, batch=1, bytes_per_value=2: int(np.prod([*sizes, batch, bytes_per_value, 2]))],
        "7.4": [
            lambda a, b: len(shared(a, b)),
            lambda a, b: sum(1 for _ in itertools.takewhile(lambda pair: operator.eq(*pair), zip(a, b, strict=False))),
        ],
        "7.5": [grouped_by_views],
    }
)


test_what_is_said_of_a_wrong_answer = expected_verdicts(
    {
        "a half for a root": (
            "3.1", lambda q, k: q @ k.mT / q.shape[-1] ** 1 / 2, "failed", "one-over-root-off", ["brackets"],
        ),
        "brackets left out": (
            "3.1", lambda q, k: q @ k.mT / (q.shape[-1] ** 1 / 2), "failed", "one-over-root-off", ["brackets"],
        ),
        "a float for a length": ("7.4", lambda a, b: float(len(shared(a, b))), "failed", None, ["whole"]),
        "lists of tensors": ("2.1", lambda x, a, b, c: ([x @ a], [x @ b], [x @ c]), "failed", None, ["a list of 1"]),
        "bare matrices": (
            "2.5", type("Bare", (TinyHead,), {"__init__": lambda self, a, b, c: bare(self, a, b, c)}),
            "failed", "parameters-for-layers", ["nn.Parameter"],
        ),
        "one sequence detached": (
            "1.3", lambda s: pad_by_insertion([s[0].detach(), *s[1:]]), "failed", "gradient-cut", ["is cut off"],
        ),
        "a store that is never made": (
            "7.1", type("Forgetful", (Shelf,), {"__init__": lambda self: None}),
            "error", "attribute-never-set", ["'pieces'", "__init__"],
        ),
        "a comparison of three": (
            "10.1", lambda n, window, causal=True: 0 <= torch.arange(n)[:, None] - torch.arange(n) < window,
            "error", "one-truth-for-many", ["entry by entry"],
        ),
        "parts that do not fit": (
            "7.1", type("OneShape", (Shelf,), {"__init__": lambda self: setattr(self, "pieces", empty_of_one_shape())}),
            "error", "parts-do-not-fit", ["along one axis"],
        ),
        "an axis lost": (
            "10.2", lambda q, k, v, phi: phi(q) @ (phi(k).mT @ v) / (phi(q) @ phi(k).sum(-2)),
            "error", "sizes-do-not-match", ["one below the other"],
        ),
        "NaN on the way back": ("5.4", masked_with_a_bad_gradient, "failed", "gradient-is-nan", ["of q is NaN"]),
        "id in place of an error": ("1.1", lambda i, n: torch.eye(n)[i % n], "failed", "id-not-checked", ["complaint"]),
        "of one head": ("5.1", lambda x, h: x[:, None], "failed", None, ["shape"]),
        "minus infinity in float16": (
            "5.4", lambda q, k, v, mask: masked_by_bias(q.half(), k.half(), v.half(), mask),
            "failed", "half-precision", ["float16"],
        ),
    }
)  # fmt: skip


def bare(module, d_model, d_k, d_v):
    nn.Module.__init__(module)
    module.w_q, module.w_k, module.w_v = (nn.Parameter(torch.zeros(d_model, d)) for d in (d_k, d_k, d_v))


def test_a_list_within_a_result_is_compared_member_by_member():
    case = find("2.1").fresh_cases(0)[0]

    def seen(*results):
        return Observation(results=results)

    here, there = ([torch.ones(2)], torch.ones(1), 1), ([torch.zeros(2)], torch.ones(1), 1)
    assert agree(find("2.1"), case, seen(here), seen(here))
    assert not agree(find("2.1"), case, seen(here), seen(there))
    assert not agree(find("2.1"), case, seen((None, None, None)), seen(here))
    assert not agree(find("2.1"), case, seen(here), seen((None, None, None)))


def test_what_eval_hands_back_is_not_compared():
    question = find("2.5")
    made, loaded, called = question.fresh_cases(0)[0].script
    case = Case((made, loaded, method("eval"), called))
    other = type("OtherName", (question.reference,), {})
    assert not [*result_differences(question, case, results_of(other, case), results_of(question.reference, case))]


@pytest.mark.parametrize("question", ["1.1", "9.1"])
def test_the_shape_of_ids_is_not_taken_for_an_id(question):
    """ "ids (7,)" would say that the id 7 was tried."""
    tried = [verdict(find(question), lambda *inputs: 1 / 0, seed).tried for seed in range(4)]
    assert any("ids of shape (" in text for text in tried), tried
    assert not any("ids (" in text for text in tried), tried


def test_an_error_of_ones_own_words_is_known_by_its_kind():
    def refuses_the_last(ids, vocab_size):
        if any(i < 0 or i >= vocab_size - 1 for i in ids.tolist()):
            raise ValueError("this word is not in my book")
        return F.one_hot(ids, vocab_size).float()

    assert verdict(find("1.1"), refuses_the_last).misconception == "last-id-refused"


@pytest.mark.parametrize("sizes", ["10x9 and 5x9", "10x9 and 10x5"])
def test_either_of_two_factors_may_lack_its_transpose(sizes):
    assert cause_of_a_product(f"mat1 and mat2 ({sizes})")[0] == "not-transposed"


def test_a_weight_that_linear_transposes_is_not_said_to_lack_a_transpose():
    cause = cause_of_a_product("mat1 and mat2 (10x9 and 5x9)", line="return F.linear(y, w.T)")
    assert cause[0] == "weight-for-linear-transposed"


@pytest.mark.parametrize("question", ["3.1", "3.3"])
@pytest.mark.parametrize("seed", range(4))
def test_queries_that_are_transposed_are_not_asked_to_change_places(question, seed):
    """Without a scale they are two mistakes. In the other order the product of the two would be the transpose."""
    answers = {
        "3.1": lambda q, k: q.mT @ k,
        "3.3": lambda q, k, v: ((q.mT @ k).softmax(-1) @ v, (q.mT @ k).softmax(-1)),
    }
    found = verdict(find(question), answers[question], seed)
    assert found.misconception == "wrong-factor-transposed", found
    assert "other way round" not in found.message


def test_values_on_the_wrong_side_are_asked_to_change_places():
    cause = cause_of_a_product("mat1 and mat2 (7x4 and 5x7)", [(5, 4), (5, 7)])
    assert cause[0] == "factors-in-the-wrong-order"


def test_sizes_that_are_equal_by_chance_name_no_cause():
    by_chance, others = (cause_of_a_product(f"mat1 and mat2 ({sizes})") for sizes in ("6x30 and 6x6", "6x30 and 7x5"))
    assert by_chance[0] == "factors-in-the-wrong-order"
    assert most_frequent(by_chance, [by_chance, others, others]) == (None, "")
    assert most_frequent(by_chance, [by_chance] * 3 + [others]) == by_chance


def test_an_exception_that_many_ideas_raise_names_none():
    found = verdict(find("5.5"), type("Broken", (LoopedHeads,), {"heads": lambda self, layer, x: layer(x.mT)}))
    assert (found.status, found.misconception) in (("error", None), ("error", "not-transposed"))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("seed", range(8))
def test_half_precision_is_named_also_where_numbers_nearly_cancel(seed, dtype):
    def scores(q, k):
        return (q.to(dtype) @ k.to(dtype).mT / math.sqrt(q.size(-1))).type_as(q)

    found = verdict_in(find("3.1"), scores, find("3.1").fresh_cases(seed))
    assert found.misconception == "half-precision", found


def test_a_class_without_init_is_a_class_where_a_function_is_asked():
    found = verdict(find("3.1"), type("Scores", (), {"forward": lambda self, q, k: q @ k.mT}))
    assert found.misconception == "class-for-a-function", found
