"""Answers to the questions of chapter 5."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.questions.corpus.label import right, wrong


@right("5.1", "Hugging Face BERT, transpose_for_scores")
def split_bert(x, n_heads):
    if x.size(-1) % n_heads != 0:
        raise ValueError("The hidden size is not a multiple of the number of attention heads")
    return x.view((*x.size()[:-1], n_heads, x.size(-1) // n_heads)).permute(0, 2, 1, 3)


@right("5.1", "chunk and stack")
def split_chunks(x, n_heads):
    if x.shape[2] % n_heads:
        raise ValueError
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


@wrong("5.1", "nanoGPT, assert", "assertion-for-an-error")
def split_nanogpt(x, n_heads):
    B, T, C = x.size()
    assert C % n_heads == 0
    return x.view(B, T, n_heads, C // n_heads).transpose(1, 2)


@wrong("5.1", "forum, view in one step", "heads-split-by-reshape")
def split_view(x, n_heads):
    B, n, d = x.shape
    if d % n_heads:
        raise ValueError
    return x.reshape(B, n_heads, n, d // n_heads)


@wrong("5.1", "d2l transpose_qkv", "heads-as-more-examples")
def split_d2l(x, n_heads):
    if x.shape[2] % n_heads:
        raise ValueError
    x = x.reshape(x.shape[0], x.shape[1], n_heads, -1).permute(0, 2, 1, 3)
    return x.reshape(-1, x.shape[2], x.shape[3])


@wrong("5.1", "LLMs-from-scratch, without a check", "indivisible-left-to-torch", "indivisible-let-through")
def split_unchecked(x, n_heads):
    b, n, d = x.shape
    return x.view(b, n, n_heads, d // n_heads).transpose(1, 2)


@right("5.2", "nanoGPT")
def merge_nanogpt(x):
    B, H, T, d = x.shape
    return x.transpose(1, 2).contiguous().view(B, T, H * d)


@right("5.2", "nanoGPT's lecture, cat of heads")
def merge_cat(x):
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=-1)


@wrong("5.2", "contiguous forgotten", "view-after-transpose")
def merge_view(x):
    B, H, T, d = x.shape
    return x.transpose(1, 2).view(B, T, H * d)


@wrong("5.2", "reshape alone", "heads-merged-by-reshape")
def merge_reshape(x):
    B, H, T, d = x.shape
    return x.reshape(B, T, H * d)


@right("5.3", "arange comparison, Hugging Face")
def causal_arange(n):
    i = torch.arange(n)
    return i <= i.view(-1, 1)


@wrong("5.3", "LLMs-from-scratch, True hides", "mask-inverted")
def causal_triu(n):
    return torch.triu(torch.ones(n, n), diagonal=1).bool()


@wrong("5.3", "nanoGPT's lecture, floats", "numbers-for-truth-values")
def causal_floats(n):
    return torch.tril(torch.ones(n, n))


@wrong("5.3", "The Annotated Transformer, subsequent_mask", "extra-axes")
def causal_annotated(n):
    return torch.triu(torch.ones(1, n, n), diagonal=1).type(torch.uint8) == 0


@wrong("5.3", "nn.Transformer generate_square_subsequent_mask", "additive-mask")
def causal_additive(n):
    return torch.triu(torch.full((n, n), float("-inf")), diagonal=1)


@right("5.4", "finfo.min, then masked again")
def masked_finfo(q, k, v, mask):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    w = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask
    return w @ v, w


@right("5.4", "nan_to_num")
def masked_nan_to_num(q, k, v, mask):
    w = (q @ k.mT / q.size(-1) ** 0.5).masked_fill(~mask, float("-inf")).softmax(-1).nan_to_num(0.0)
    return w @ v, w


@right("5.4", "float32 softmax, cast back")
def masked_float32(q, k, v, mask):
    scores = (q @ k.mT / q.size(-1) ** 0.5).float().masked_fill(~mask, -math.inf)
    w = scores.softmax(-1).masked_fill(~mask, 0.0).type_as(q)
    return w @ v, w


@wrong("5.4", "GPT-2 in Hugging Face, -1e4", "large-number-for-minus-infinity")
def masked_minus_1e4(q, k, v, mask):
    w = torch.where(mask, q @ k.mT / math.sqrt(k.size(-1)), torch.tensor(-1e4, dtype=q.dtype)).softmax(-1)
    w = w * mask.any(-1, keepdim=True)
    return w @ v, w


@wrong("5.4", "BERT's extended attention mask", "unmasked-on-a-blind-row", "large-number-for-minus-infinity")
def masked_bert(q, k, v, mask):
    extended = (1.0 - mask.to(q.dtype)) * -10000.0
    w = F.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)) + extended, dim=-1)
    return w @ v, w


@wrong("5.4", "The Annotated Transformer, -1e9", "even-shares-on-a-blind-row")
def masked_annotated(q, k, v, mask):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    p_attn = scores.masked_fill(mask == 0, -1e9).softmax(dim=-1)
    return torch.matmul(p_attn, v), p_attn


@wrong("5.4", "nn.MultiheadAttention's convention", "mask-inverted")
def masked_inverted(q, k, v, mask):
    scores = (q @ k.mT / math.sqrt(q.size(-1))).masked_fill(mask, -math.inf)
    w = scores.softmax(-1).masked_fill(mask, 0.0)
    return w @ v, w


@wrong("5.4", "nanoGPT, rows without keys", "nan-on-a-blind-row")
def masked_nanogpt(q, k, v, mask):
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    att = F.softmax(att.masked_fill(mask == 0, float("-inf")), dim=-1)
    return att @ v, att


@wrong("5.4", "llama, scores + mask with a bool", "mask-added-as-a-number")
def masked_added(q, k, v, mask):
    w = (q @ k.mT / math.sqrt(q.size(-1)) + mask).softmax(-1)
    return w @ v, w


class FourLayers(nn.Module):
    """Multi-head attention as most code writes it; a subclass replaces one step."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h, self.d_k = n_heads, d_model // n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def heads(self, x):
        return x.view(x.size(0), -1, self.h, self.d_k).transpose(1, 2)

    def weigh(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask

    def inputs(self, query, key, value):
        key = query if key is None else key
        value = key if value is None else value
        return self.heads(self.w_q(query)), self.heads(self.w_k(key)), self.heads(self.w_v(value))

    def forward(self, query, key=None, value=None, mask=None):
        q, k, v = self.inputs(query, key, value)
        w = self.weigh(q @ k.transpose(-2, -1) / math.sqrt(self.d_k), mask)
        out = (w @ v).transpose(1, 2).contiguous().view(query.size(0), -1, self.h * self.d_k)
        return self.w_o(out), w


@right("5.5", "The Annotated Transformer, MultiHeadedAttention")
class AnnotatedMHA(FourLayers):
    pass


@right("5.5", "Hugging Face, softmax in float32")
class Float32MHA(FourLayers):
    def weigh(self, scores, mask):
        return super().weigh(scores.float(), mask).to(scores.dtype)


@wrong("5.5", "nanoGPT CausalSelfAttention", "causal-though-not-asked")
class NanoMHA(FourLayers):
    def weigh(self, scores, mask):
        past = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        return super().weigh(scores, past if mask is None else past & mask)


@wrong("5.5", "nanoGPT, B, T from the query", "length-of-the-queries-for-keys")
class OneLengthMHA(FourLayers):
    def inputs(self, query, key, value):
        key = query if key is None else key
        value = key if value is None else value
        B, T, C = query.size()
        q = self.w_q(query).view(B, T, self.h, C // self.h).transpose(1, 2)
        k = self.w_k(key).view(B, T, self.h, C // self.h).transpose(1, 2)
        v = self.w_v(value).view(B, T, self.h, C // self.h).transpose(1, 2)
        return q, k, v


@wrong("5.5", "fallback after the projection", "fallback-after-projection", "one-layer-for-two")
class LateFallbackMHA(FourLayers):
    def inputs(self, query, key, value):
        q = self.w_q(query)
        k = q if key is None else self.w_k(key)
        v = k if value is None else self.w_v(value)
        return self.heads(q), self.heads(k), self.heads(v)


@wrong("5.5", "The Annotated Transformer, -1e9", "even-shares-on-a-blind-row")
class MinusBillionMHA(FourLayers):
    def weigh(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(mask == 0, -1e9)).softmax(-1)


@wrong("5.5", "nn.MultiheadAttention averages weights", "weights-averaged-over-heads")
class AveragedMHA(FourLayers):
    def forward(self, query, key=None, value=None, mask=None):
        out, w = super().forward(query, key, value, mask)
        return out, w.mean(dim=1)


@wrong("5.5", "value falls back to query", "value-defaults-to-query")
class QueryValueMHA(FourLayers):
    def inputs(self, query, key=None, value=None):
        value = query if value is None else value
        return super().inputs(query, key, value)


@right("5.6", "permutation and batch tests")
def catches_mixed_by_permutation(module):
    x = torch.randn(2, 6, 12)
    order = torch.randperm(6).roll(1)
    out = module(x)[0]
    if not torch.allclose(module(x[:, order])[0], out[:, order], atol=1e-4):
        return True
    if not torch.allclose(torch.cat([module(x[:1])[0], module(x[1:])[0]]), out, atol=1e-4):
        return True
    y = x.clone()
    y[:, 3] += 3.0
    return bool(torch.allclose(module(y)[0][:, 0], out[:, 0], atol=1e-4))


@wrong("5.6", "only shapes", "always-false")
def catches_mixed_by_shape(module):
    x = torch.randn(2, 5, 12)
    return module(x)[0].shape != x.shape
