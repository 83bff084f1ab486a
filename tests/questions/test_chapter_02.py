"""Chapter 2: right answers in many shapes, wrong ones that no twin foresaw, and what is said of them."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from qkv.questions import questions_of
from tests.questions.answers import expected_verdicts, right_answers
from tests.questions.test_twins import verdict

QUESTIONS = questions_of(2)

# ── right answers, written otherwise ──────────────────────────────────────────────────────────────


def each_token(x, w):
    rows = [sum(x[..., f, None] * w[f] for f in range(len(w)))]
    return rows[0]


def projected_together(x, w_q, w_k, w_v):
    d_k = w_q.shape[1]
    both = x @ torch.cat([w_q, w_k, w_v], dim=1)
    return both.split([d_k, d_k, w_v.shape[1]], dim=-1)


def projected_flat(x, w_q, w_k, w_v):
    flat = x.reshape(-1, x.shape[-1])
    return [torch.mm(flat, w).reshape(*x.shape[:-1], w.shape[1]) for w in (w_q, w_k, w_v)]


PROJECTIONS = [
    projected_together,
    projected_flat,
    lambda x, *matrices: tuple(each_token(x, w) for w in matrices),
    lambda x, *matrices: tuple(torch.einsum("...nm,mk->...nk", x, w) for w in matrices),
    lambda x, *matrices: tuple(F.linear(x, w.T) for w in matrices),
    lambda x, *matrices: tuple((w.mT @ x.mT).mT for w in matrices),
    lambda x, *matrices: tuple(torch.tensordot(x, w, dims=1) for w in matrices),
]


def scores_filled(q, k):
    scores = torch.zeros(*q.shape[:-1], k.shape[-2], dtype=q.dtype)
    for i in range(q.shape[-2]):
        for j in range(k.shape[-2]):
            scores[..., i, j] = (q[..., i, :] * k[..., j, :]).sum(-1)
    return scores


def scores_by_rows(q, k):
    return torch.stack([(k @ q[..., i, :, None]).squeeze(-1) for i in range(q.shape[-2])], dim=-2)


def scores_from_distances(q, k):
    """q · k = (|q|² + |k|² − |q − k|²) / 2."""
    squares = (q**2).sum(-1)[..., :, None] + (k**2).sum(-1)[..., None, :]
    return (squares - ((q.unsqueeze(-2) - k.unsqueeze(-3)) ** 2).sum(-1)) / 2


SCORES = [
    scores_filled,
    scores_by_rows,
    scores_from_distances,
    lambda q, k: torch.einsum("...id,...jd->...ij", q, k),
    lambda q, k: (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1),
    lambda q, k: (k @ q.transpose(-1, -2)).mT,
    lambda q, k: torch.matmul(q, k.swapaxes(-1, -2)).contiguous(),
]


def additive_by_loops(q, k, w_q, w_k, v):
    scores = torch.empty(*q.shape[:-1], k.shape[-2], dtype=q.dtype)
    for i in range(q.shape[-2]):
        for j in range(k.shape[-2]):
            hidden = torch.tanh(q[..., i, :] @ w_q + k[..., j, :] @ w_k)
            scores[..., i, j] = (hidden * v).sum(-1)
    return scores


def additive_by_joining(q, k, w_q, w_k, v):
    """[q, k] times the two matrices, one above the other."""
    n_q, n_k = q.shape[-2], k.shape[-2]
    q = q.unsqueeze(-2).expand(*q.shape[:-1], n_k, q.shape[-1])
    k = k.unsqueeze(-3).expand(*k.shape[:-2], n_q, n_k, k.shape[-1])
    return (torch.tanh(torch.cat([q, k], dim=-1) @ torch.cat([w_q, w_k])) @ v[:, None]).squeeze(-1)


def additive_by_units(q, k, w_q, w_k, v):
    total = 0
    for a in range(len(v)):
        total = total + v[a] * torch.tanh((q @ w_q[:, a])[..., :, None] + (k @ w_k[:, a])[..., None, :])
    return total


def additive_by_exponentials(q, k, w_q, w_k, v):
    power = torch.exp(2 * ((q @ w_q).unsqueeze(-2) + (k @ w_k).unsqueeze(-3)))
    return torch.einsum("...a,a->...", (power - 1) / (power + 1), v)


ADDITIVE = [
    additive_by_loops,
    additive_by_joining,
    additive_by_units,
    additive_by_exponentials,
    lambda q, k, w_q, w_k, v: (((q @ w_q)[..., None, :] + (k @ w_k)[..., None, :, :]).tanh() * v).sum(-1),
    lambda q, k, w_q, w_k, v: F.linear(((k @ w_k).unsqueeze(-3) + (q @ w_q).unsqueeze(-2)).tanh_(), v),
    lambda q, k, a, b, v: F.linear(torch.tanh((q @ a).unsqueeze(-2) + (k @ b).unsqueeze(-3)), v[None])[..., 0],
]


def mixed_by_keys(weights, v):
    return sum(weights[..., :, j, None] * v[..., None, j, :] for j in range(v.shape[-2]))


def mixed_in_place(weights, v):
    out = torch.zeros(*weights.shape[:-1], v.shape[-1], dtype=v.dtype)
    for i in range(weights.shape[-2]):
        for j in range(v.shape[-2]):
            out[..., i, :] += weights[..., i, j, None] * v[..., j, :]
    return out


MIXTURES = [
    mixed_by_keys,
    mixed_in_place,
    lambda weights, v: torch.einsum("...ij,...jd->...id", weights, v),
    lambda weights, v: (weights.unsqueeze(-1) * v.unsqueeze(-3)).sum(-2),
    lambda weights, v: (v.mT @ weights.mT).mT,
    lambda w, v: torch.stack([(w[..., i, :, None] * v).sum(-2) for i in range(w.shape[-2])], -2),
]


class WithBias(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.scale = d_k**-0.5
        self.w_q, self.w_k, self.w_v = nn.Linear(d_model, d_k), nn.Linear(d_model, d_k), nn.Linear(d_model, d_v)

    def forward(self, x):
        weights = F.softmax(self.w_q(x) @ self.w_k(x).mT * self.scale, dim=-1)
        return weights @ self.w_v(x), weights


class WithoutBias(WithBias):
    def __init__(self, d_in, d_query, d_out):
        super().__init__(d_in, d_query, d_out)
        self.w_q, self.w_k = nn.Linear(d_in, d_query, bias=False), nn.Linear(d_in, d_query, bias=False)
        self.w_v = nn.Linear(d_in, d_out, bias=False)


class BiasForValuesOnly(WithoutBias):
    def __init__(self, d_model, d_k, d_v):
        super().__init__(d_model, d_k, d_v)
        self.w_v = nn.Linear(d_model, d_v)


class ByHand(nn.Module):
    """Uses the stored weights, a softmax by hand, and an extra tensor that is no parameter."""

    def __init__(self, *sizes):
        nn.Module.__init__(self)
        d_model, self.d_k, d_v = sizes
        for name, width in (("w_q", self.d_k), ("w_k", self.d_k), ("w_v", d_v)):
            setattr(self, name, nn.Linear(d_model, width))
        self.register_buffer("root", torch.tensor(float(self.d_k)).sqrt(), persistent=False)

    def forward(self, tokens):
        q = torch.einsum("...m,km->...k", tokens, self.w_q.weight) + self.w_q.bias
        k, v = self.w_k(tokens), self.w_v(tokens)
        scores = torch.einsum("...id,...jd->...ij", q, k) / self.d_k**0.5
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        weights = powers / powers.sum(-1, keepdim=True)
        return [torch.einsum("...ij,...jd->...id", weights, v), weights]


class ByTorch(WithBias):
    def forward(self, x, mask=None):
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        eye = torch.eye(x.shape[-2], dtype=x.dtype).expand(*x.shape[:-1], -1)
        return F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, eye)


class ByTokens(WithBias):
    def forward(self, x):
        k, v = self.w_k(x), self.w_v(x)
        rows = []
        for i in range(x.shape[-2]):
            q = self.w_q(x[..., i : i + 1, :])
            rows.append(torch.softmax((q * k).sum(-1) * self.scale, dim=-1))
        weights = torch.stack(rows, dim=-2)
        return torch.matmul(weights, v), weights


HEADS = [WithBias, WithoutBias, BiasForValuesOnly, ByHand, ByTorch, ByTokens]

test_a_right_answer_is_accepted = right_answers(
    {"2.1": PROJECTIONS, "2.2": SCORES, "2.3": ADDITIVE, "2.4": MIXTURES, "2.5": HEADS}
)

# ── wrong answers, and what is said of them ───────────────────────────────────────────────────────


def stub(*inputs):
    raise NotImplementedError


class Stub(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        raise NotImplementedError

    def forward(self, x):
        raise NotImplementedError


class HalfAStub(WithBias):
    def forward(self, x):
        raise NotImplementedError


class NoLayers(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.sizes = d_model, d_k, d_v

    def forward(self, x):
        layers = [nn.Linear(x.shape[-1], d) for d in self.sizes[1:]]
        return layers[1](x), layers[0](x) @ layers[0](x).mT


class OtherNames(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(d_model, d_k), nn.Linear(d_model, d_k), nn.Linear(d_model, d_v)

    def forward(self, x):
        weights = (self.query(x) @ self.key(x).mT).softmax(-1)
        return weights @ self.value(x), weights


class WidthsSwapped(WithBias):
    def __init__(self, d_model, d_k, d_v):
        super().__init__(d_model, d_v, d_k)


class Dropped(WithBias):
    def forward(self, x):
        weights = F.dropout(super().forward(x)[1], 0.3, self.training)
        return weights @ self.w_v(x), weights


class BatchOnly(WithBias):
    def forward(self, x):
        b, n, _ = x.shape
        weights = torch.bmm(self.w_q(x), self.w_k(x).transpose(1, 2)).mul(self.scale).softmax(dim=2)
        return torch.bmm(weights, self.w_v(x)).view(b, n, -1), weights


class Detached(WithBias):
    def forward(self, x):
        weights = super().forward(x)[1]
        return weights.detach() @ self.w_v(x), weights


class FixedScale(WithBias):
    def __init__(self, d_model, d_k, d_v):
        super().__init__(d_model, d_k, d_v)
        self.scale = 1 / 8


class NoScaleOverQueries(WithBias):
    def forward(self, x):
        weights = (self.w_q(x) @ self.w_k(x).mT).softmax(-2)
        return weights @ self.w_v(x), weights


def product(q, k):
    return q @ k.mT


SAID = {
    "stub": ("2.1", stub, "not attempted", None, ["NotImplementedError"]),
    "stub class": ("2.5", Stub, "not attempted", None, ["NotImplementedError"]),
    "half a stub": ("2.5", HalfAStub, "not attempted", None, ["NotImplementedError"]),
    "raises": ("2.2", lambda q, k: 1 / 0, "error", None, ["ZeroDivisionError"]),
    "two of three": ("2.1", lambda x, a, b, c: (x @ a, x @ b), "failed", "value-not-returned", ["hand over"]),
    "from the queries": (
        "2.1", lambda x, a, b, c: (x @ a, x @ a @ b, x @ a @ c), "error", "projected-one-after-another", ["made from"],
    ),
    "writes": (
        "2.1", lambda x, a, b, c: (a.zero_(), (x @ a, x @ b, x @ c))[1], "failed", None, [],
    ),
    "scaled and over queries": (
        "2.2", lambda q, k: (product(q, k) / q.shape[-1]).softmax(-2), "failed", None, [],
    ),
    "2 % off": ("2.2", lambda q, k: product(q, k) * 1.02, "failed", None, ["1.02 times"]),
    "rounded": ("2.2", lambda q, k: product(q, k).round(), "failed", "scores-rounded", ["whole numbers"]),
    "detached": ("2.2", lambda q, k: product(q, k.detach()), "failed", "gradient-cut", ["reaches k"]),
    "double": ("2.4", lambda w, v: (w @ v).double(), "failed", "wrong-dtype", ["float32 was expected"]),
    "new axes from the front": (
        "2.4", lambda w, v: (w[:, :, None] * v[None, :, :]).sum(dim=1), "error", "axis-counted-from-the-front",
        ["for one sequence, but not for a batch", "from the back"],
    ),
    "new axes of a batch": (
        "2.3", lambda q, k, a, b, v: torch.tanh((q @ a).unsqueeze(2) + (k @ b).unsqueeze(1)) @ v, "error",
        "axis-counted-from-the-front", ["for a batch, but not for one sequence"],
    ),
    "tanh of a product": (
        "2.3", lambda q, k, a, b, v: torch.tanh((q @ a) @ (k @ b).mT), "failed", "dot-product-after-all",
        ["added or multiplied"],
    ),
    "in place": ("2.4", lambda w, v: (w @ v, w.mul_(2))[0], "failed", "inputs-changed", ["weights has"]),
    "two ideas": (
        "2.3", lambda q, k, a, b, v: torch.relu((q @ b).unsqueeze(-2) + (k @ a).unsqueeze(-3)) @ v,
        "failed", "another-function", ["Two mistakes at once", "by w_k"],
    ),
    "no layers": ("2.5", NoLayers, "failed", None, ["no parameters"]),
    "other names": ("2.5", OtherNames, "failed", None, ["no nn.Linear layer called w_q or w_k or w_v", "query"]),
    "widths swapped": ("2.5", WidthsSwapped, "failed", None, ["w_q.weight has shape"]),
    "dropout": ("2.5", Dropped, "failed", "not-the-same-twice", ["two different results"]),
    "batch only": ("2.5", BatchOnly, "error", None, ["ValueError"]),
    "gradient half cut": ("2.5", Detached, "failed", "gradient-cut", ["is cut off"]),
    "fixed scale": ("2.5", FixedScale, "failed", None, []),
    "two ideas in a class": (
        "2.5", NoScaleOverQueries, "failed", "softmax-over-queries", ["Two mistakes at once", "q · k, without a scale"],
    ),
}  # fmt: skip


test_what_is_said_of_a_wrong_answer = expected_verdicts(SAID)


def test_reckoning_in_float32_is_accepted_with_a_remark():
    for question, answer in {
        "2.2": lambda q, k: product(q.float(), k.float()).to(q.dtype),
        "2.4": lambda w, v: (w.float() @ v.float()).to(v.dtype),
    }.items():
        for _ in range(3):
            found = verdict(QUESTIONS[question], answer)
            assert found.status == "passed"
            assert "fewer digits" in found.message


def test_the_scale_of_a_head_comes_from_its_queries():
    """√ of d_model, d_v or n in place of d_k is never accepted, and named."""
    for attribute, slug in (("w_q.in_features", "scaled-by-d-model"), ("w_v.out_features", "scaled-by-d-v")):
        layer, _, size = attribute.partition(".")

        class Scaled(WithBias):
            def __init__(self, *sizes, layer=layer, size=size):
                super().__init__(*sizes)
                self.scale = 1 / math.sqrt(getattr(getattr(self, layer), size))

        for _ in range(2):
            assert verdict(QUESTIONS["2.5"], Scaled).misconception == slug


def test_what_fits_one_sequence_alone_is_asked_about_the_batch():
    """A product that does not fit in a batch is not the fault of what lies on its side."""

    def by_loops(q, k, w_q, w_k, v):
        pairs = [[v @ torch.tanh(a + b) for b in k @ w_k] for a in q @ w_q]
        return torch.stack([torch.stack(row) for row in pairs])

    found = verdict(QUESTIONS["2.3"], by_loops)
    assert found.misconception == "one-batch-shape"
    assert "works along another axis" in found.message


def test_an_idea_that_would_be_right_where_the_answer_fails_is_not_its_idea():
    answer = verdict(QUESTIONS["2.3"], lambda q, k, a, b, v: ((q @ a)[..., None] + (k @ b)[..., None, :]).tanh() @ v)
    assert answer.misconception != "softmax-axis-from-the-front"


# ── 2.6: write the head that finds the other noun ─────────────────────────────────────────────────


def other_noun_by_minus(words, is_noun):
    """The key of a noun also has a 1 in a common place; the noun itself is taken off again."""
    any_noun = words[is_noun].sum(0, keepdim=True)
    root = (1 + len(words)) ** 0.5
    return 40 * root * torch.cat([any_noun, -words]).T, torch.cat([any_noun, words]).T


def other_noun_by_one_matrix(words, is_noun):
    """All is in W_Q, and keys are the inputs."""
    nouns = words[is_noun]
    match = nouns.sum(0)[:, None] * nouns.sum(0) - nouns.T @ nouns
    return 30 * words.shape[1] ** 0.5 * match, torch.eye(words.shape[1])


test_a_right_head_is_accepted = right_answers({"2.6": [other_noun_by_minus, other_noun_by_one_matrix]})


def test_a_head_without_the_right_form_is_told_what_was_asked_for():
    for answer, part in (
        (lambda words, is_noun: words, "as a tuple"),
        (lambda words, is_noun: (words, words), "x @ w_q is computed"),
        (lambda words, is_noun: (words.T, words.T[:, :-1]), "differ in shape"),
        (lambda words, is_noun: (words.T.long(), words.T), "floating-point"),
    ):
        found = verdict(QUESTIONS["2.6"], answer)
        assert found.status == "failed"
        assert part in found.message
