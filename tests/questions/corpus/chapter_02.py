"""Answers to the questions of chapter 2."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.questions.corpus.label import right, wrong


@right("2.1", "nanoGPT, one matrix for three")
def project_joined(x, w_q, w_k, w_v):
    widths = [w_q.size(1), w_k.size(1), w_v.size(1)]
    return (x @ torch.cat([w_q, w_k, w_v], dim=1)).split(widths, dim=-1)


@right("2.1", "TransformerLens, einsum")
def project_einsum(x, w_q, w_k, w_v):
    return tuple(torch.einsum("...nm,md->...nd", x, w) for w in (w_q, w_k, w_v))


@wrong("2.1", "F.linear", "matrices-transposed")
def project_linear(x, w_q, w_k, w_v):
    return F.linear(x, w_q), F.linear(x, w_k), F.linear(x, w_v)


@wrong("2.1", "mixed precision, Hugging Face", "half-precision")
def project_bfloat16(x, w_q, w_k, w_v):
    q, k, v = (x.bfloat16() @ w.bfloat16() for w in (w_q, w_k, w_v))
    return q.type_as(x), k.type_as(x), v.type_as(x)


@wrong("2.1", "LLMs-from-scratch, order of its lines", "another-order")
def project_keys_first(x, w_q, w_k, w_v):
    keys = x @ w_k
    queries = x @ w_q
    values = x @ w_v
    return keys, queries, values


@right("2.2", "The Annotated Transformer")
def scores_matmul(q, k):
    return torch.matmul(q, k.transpose(-2, -1))


@right("2.2", "x-transformers")
def scores_einsum(q, k):
    return torch.einsum("...id,...jd->...ij", q, k)


@wrong("2.2", "LLMs-from-scratch, chapter 3", "axes-swapped-from-the-front", "one-batch-shape")
def scores_capital_t(q, k):
    return q @ k.permute(*range(k.ndim - 1, -1, -1))


@wrong("2.2", "LLMs-from-scratch, transpose(1, 2)", "axes-of-a-batch-alone")
def scores_transpose_1_2(q, k):
    return q @ k.transpose(1, 2)


@wrong("2.2", "habit from the formula", "scaled-already")
def scores_scaled(q, k):
    return torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(k.size(-1))


@wrong("2.2", "forum, cosine_similarity", "cosine-similarity")
def scores_cosine(q, k):
    return F.cosine_similarity(q.unsqueeze(-2), k.unsqueeze(-3), dim=-1)


@right("2.3", "d2l AdditiveAttention, axes from the back")
def additive_d2l(q, k, w_q, w_k, v):
    queries, keys = torch.matmul(q, w_q), torch.matmul(k, w_k)
    features = torch.tanh(queries.unsqueeze(-2) + keys.unsqueeze(-3))
    return torch.matmul(features, v.unsqueeze(-1)).squeeze(-1)


@wrong("2.3", "d2l AdditiveAttention as it is", "axis-counted-from-the-front")
def additive_d2l_batch(q, k, w_q, w_k, v):
    queries, keys = q @ w_q, k @ w_k
    features = torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1))
    return features @ v


@wrong("2.3", "NMT tutorial, weights for scores", "softmax-already-applied")
def additive_weights(q, k, w_q, w_k, v):
    energy = torch.tanh((q @ w_q)[..., :, None, :] + (k @ w_k)[..., None, :, :])
    return F.softmax(energy @ v, dim=-1)


@wrong("2.3", "GAT", "another-function")
def additive_leaky(q, k, w_q, w_k, v):
    return F.leaky_relu((q @ w_q)[..., :, None, :] + (k @ w_k)[..., None, :, :], 0.2) @ v


@right("2.4", "einsum, TransformerLens")
def mix_einsum(weights, v):
    return torch.einsum("...qk,...kd->...qd", weights, v)


@right("2.4", "broadcast and sum, the first lesson of nanoGPT's lecture")
def mix_broadcast(weights, v):
    return (weights.unsqueeze(-1) * v.unsqueeze(-3)).sum(dim=-2)


@wrong("2.4", "d2l, torch.bmm", "one-batch-shape")
def mix_bmm(weights, v):
    return torch.bmm(weights, v)


@wrong("2.4", "dropout on weights, d2l", "not-the-same-twice")
def mix_dropout(weights, v):
    return F.dropout(weights, 0.1) @ v


@wrong("2.4", "softmax once more", "softmax-again")
def mix_softmax(weights, v):
    return F.softmax(weights, dim=-1) @ v


class Base(nn.Module):
    """The three layers, as LLMs-from-scratch names and makes them."""

    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_q = nn.Linear(d_model, d_k, bias=False)
        self.w_k = nn.Linear(d_model, d_k, bias=False)
        self.w_v = nn.Linear(d_model, d_v, bias=False)


@right("2.5", "LLMs-from-scratch SelfAttention_v2")
class SelfAttentionV2(Base):
    def forward(self, x):
        keys, queries, values = self.w_k(x), self.w_q(x), self.w_v(x)
        attn_scores = queries @ keys.transpose(-2, -1)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values, attn_weights


@right("2.5", "Hugging Face Llama, softmax in float32")
class LlamaSoftmax(Base):
    def forward(self, x):
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        w = torch.matmul(q, k.transpose(-2, -1)) * k.shape[-1] ** -0.5
        w = F.softmax(w, dim=-1, dtype=torch.float32).to(q.dtype)
        return torch.matmul(w, v), w


@right("2.5", "layers behind properties, a framework's style")
class Properties(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.layers = nn.ModuleDict(
            {"q": nn.Linear(d_model, d_k), "k": nn.Linear(d_model, d_k), "v": nn.Linear(d_model, d_v)}
        )

    @property
    def w_q(self):
        return self.layers["q"]

    @property
    def w_k(self):
        return self.layers["k"]

    @property
    def w_v(self):
        return self.layers["v"]

    def forward(self, x):
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        weights = (q @ k.mT / math.sqrt(k.shape[-1])).softmax(-1)
        return weights @ v, weights


@wrong("2.5", "LLMs-from-scratch SelfAttention_v1", "parameters-for-layers")
class SelfAttentionV1(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.w_q = nn.Parameter(torch.rand(d_model, d_k))
        self.w_k = nn.Parameter(torch.rand(d_model, d_k))
        self.w_v = nn.Parameter(torch.rand(d_model, d_v))

    def forward(self, x):
        q, k, v = x @ self.w_q, x @ self.w_k, x @ self.w_v
        weights = (q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5).softmax(-1)
        return weights @ v, weights


@wrong("2.5", "permute(0, 2, 1), Keras style", "axes-of-a-batch-alone", "one-batch-shape")
class Permuted(Base):
    def forward(self, x):
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        weights = (q @ k.permute(0, 2, 1) / k.shape[-1] ** 0.5).softmax(-1)
        return weights @ v, weights


@wrong("2.5", "nanoGPT's lecture, Head", "masked-though-not-asked")
class CausalHead(Base):
    def forward(self, x):
        n = x.shape[-2]
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(torch.tril(torch.ones(n, n)) == 0, float("-inf"))
        wei = F.softmax(wei, dim=-1)
        return wei @ v, wei


@wrong("2.5", "nanoGPT's lecture, C is the input's width", "scaled-by-d-model")
class WidthHead(Base):
    def forward(self, x):
        channels = x.shape[-1]
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        wei = F.softmax(q @ k.transpose(-2, -1) * channels**-0.5, dim=-1)
        return wei @ v, wei


@wrong("2.5", "a function for a class", "function-for-a-class")
def single_head_attention(x):
    weights = (x @ x.mT / x.shape[-1] ** 0.5).softmax(-1)
    return weights @ x, weights


@wrong("2.5", "F.softmax without dim, old tutorials", "softmax-without-an-axis", "softmax-axis-from-the-front")
class NoDim(Base):
    def forward(self, x):
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        weights = F.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5)
        return weights @ v, weights
