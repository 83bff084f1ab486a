"""Answers to the questions of chapter 3."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.questions.corpus.label import right, wrong


@right("3.1", "x-transformers")
def scaled_einsum(q, k):
    return torch.einsum("...id,...jd->...ij", q, k) * q.shape[-1] ** -0.5


@right("3.1", "Whisper, a fourth root on each side")
def scaled_whisper(q, k):
    scale = q.shape[-1] ** -0.25
    return (q * scale) @ (k * scale).transpose(-2, -1)


@right("3.1", "float32 inside, Hugging Face")
def scaled_float32(q, k):
    return (q.float() @ k.float().mT / math.sqrt(q.size(-1))).type_as(q)


@wrong("3.1", "muP", "scaled-by-d-k")
def scaled_mup(q, k):
    return q @ k.transpose(-2, -1) / q.size(-1)


@wrong("3.1", "64 features, as in the paper", "hard-coded-size")
def scaled_by_eight(q, k):
    return q @ k.transpose(-2, -1) / 8.0


@wrong("3.1", "forum, size(-2)", "scaled-by-number-of-keys")
def scaled_by_keys(q, k):
    return q @ k.transpose(-2, -1) / math.sqrt(k.size(-2))


@wrong("3.1", "operators in the wrong order", "scale-multiplied")
def scaled_multiplied(q, k):
    return q @ k.transpose(-2, -1) * math.sqrt(q.size(-1))


@wrong("3.1", "bfloat16 throughout", "half-precision")
def scaled_bfloat16(q, k):
    return (q.bfloat16() @ k.bfloat16().mT / math.sqrt(q.size(-1))).to(q.dtype)


@right("3.2", "Attention Is All You Need, footnote 4")
def variance_product(d_k, var_q, var_k):
    return float(d_k) * float(var_q) * float(var_k)


@wrong("3.2", "standard deviation, blog posts", "standard-deviation")
def variance_root(d_k, var_q, var_k):
    return math.sqrt(d_k * var_q * var_k)


@wrong("3.2", "variances add", "variances-added")
def variance_added(d_k, var_q, var_k):
    return d_k * (var_q + var_k)


@right("3.3", "The Annotated Transformer")
def attention_annotated(query, key, value):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, value), p_attn


@right("3.3", "Hugging Face eager attention")
def attention_eager(query, key, value):
    attn_weights = torch.matmul(query, key.transpose(-2, -1)) * query.size(-1) ** -0.5
    attn_weights = F.softmax(attn_weights, dim=-1, dtype=torch.float32).to(query.dtype)
    return torch.matmul(attn_weights, value), attn_weights


@right("3.3", "torch's fused attention beside the weights")
def attention_fused(q, k, v):
    weights = torch.softmax(q @ k.mT / k.shape[-1] ** 0.5, dim=-1)
    return F.scaled_dot_product_attention(q, k, v), weights


@wrong("3.3", "F.softmax without dim", "softmax-without-an-axis", "softmax-axis-from-the-front")
def attention_no_dim(q, k, v):
    weights = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)))
    return weights @ v, weights


@wrong("3.3", "nanoGPT, causal", "masked-though-not-asked")
def attention_causal(q, k, v):
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    att = att.masked_fill(torch.ones_like(att).tril() == 0, float("-inf"))
    att = F.softmax(att, dim=-1)
    return att @ v, att


@wrong("3.3", "softmax(dim=1), tutorials for one head", "softmax-axis-from-the-front")
def attention_dim_1(q, k, v):
    att = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(k.size(-1)), dim=1)
    return att @ v, att


@wrong("3.3", "dropout, d2l DotProductAttention", "not-the-same-twice")
def attention_dropout(q, k, v):
    weights = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1)
    return F.dropout(weights, 0.1) @ v, weights


@wrong("3.3", "d2l, a module where a function is asked", "class-for-a-function")
class DotProductAttention(nn.Module):
    def forward(self, q, k, v):
        weights = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1)
        return weights @ v, weights


@right("3.4", "Stack Overflow, diagflat")
def jacobian_diagflat(p):
    s = p.reshape(-1, 1)
    return torch.diagflat(s) - s @ s.T


@right("3.4", "autograd at the logarithm")
def jacobian_autograd(p):
    return torch.autograd.functional.jacobian(lambda z: z.softmax(-1), p.detach().log(), create_graph=True)


@right("3.4", "two loops, blog posts")
def jacobian_loops(p):
    rows = []
    for i in range(len(p)):
        rows.append(torch.stack([p[i] * (1 - p[i]) if i == j else -p[i] * p[j] for j in range(len(p))]))
    return torch.stack(rows)


@wrong("3.4", "CS231n, sigmoid's derivative", "elementwise")
def jacobian_elementwise(p):
    return p * (1 - p)


@wrong("3.4", "the outer product alone", "outer-product-only", "diagonal-term-forgotten")
def jacobian_outer(p):
    return -torch.outer(p, p)


@right("3.5", "a test against torch's fused attention")
def catches_by_fused(attend):
    torch.manual_seed(0)
    q, k, v = torch.randn(4, 10), torch.randn(6, 10), torch.randn(6, 3)
    return not torch.allclose(attend(q, k, v)[0], F.scaled_dot_product_attention(q, k, v), atol=1e-4)


@wrong("3.5", "rows sum to 1", "always-false")
def catches_by_row_sums(attend):
    q, k, v = torch.randn(4, 8), torch.randn(5, 8), torch.randn(5, 8)
    return not torch.allclose(attend(q, k, v)[1].sum(-1), torch.ones(4))


@wrong("3.5", "equal without a tolerance", "right-one-accused")
def catches_exactly(attend):
    q, k, v = torch.randn(4, 7), torch.randn(5, 7), torch.randn(5, 3)
    weights = torch.softmax(q @ k.T / math.sqrt(7), dim=-1)
    return not torch.equal(attend(q, k, v)[1], weights)
