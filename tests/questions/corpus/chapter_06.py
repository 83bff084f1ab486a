"""Answers to the questions of chapter 6."""

import math

import numpy as np
import torch

from tests.questions.corpus.label import right, wrong


@right("6.1", "The Annotated Transformer, PositionalEncoding")
def encoding_annotated(n, d_model):
    pe = torch.zeros(n, d_model)
    position = torch.arange(0, n).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


@right("6.1", "NumPy loops, blog posts")
def encoding_numpy(n, d_model):
    out = np.array([[pos / np.power(10000, 2 * (j // 2) / d_model) for j in range(d_model)] for pos in range(n)])
    out[:, 0::2] = np.sin(out[:, 0::2])
    out[:, 1::2] = np.cos(out[:, 1::2])
    return torch.from_numpy(out).float()


@wrong("6.1", "fairseq and tensor2tensor", "concatenated", "slowed-to-the-very-base")
def encoding_fairseq(n, d_model):
    half = d_model // 2
    emb = torch.exp(torch.arange(half) * -(math.log(10000) / max(half - 1, 1)))
    emb = torch.arange(n)[:, None] * emb[None, :]
    return torch.cat([torch.sin(emb), torch.cos(emb)], dim=1)


@wrong("6.1", "nerf style concatenation", "concatenated")
def encoding_concatenated(n, d_model):
    angles = torch.arange(n)[:, None] * 10000 ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


@wrong("6.1", "loop over i by twos, with 2 i", "two-counted-twice")
def encoding_twice(n, d_model):
    pe = torch.zeros(n, d_model)
    for pos in range(n):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(pos / 10000 ** ((2 * i) / d_model))
            pe[pos, i + 1] = math.cos(pos / 10000 ** ((2 * i) / d_model))
    return pe


@wrong("6.1", "The Annotated Transformer, the buffer", "batch-axis-added")
def encoding_buffer(n, d_model):
    return encoding_annotated(n, d_model).unsqueeze(0)


@right("6.2", "block_diag")
def shift_block_diag(k, d_model):
    omega = 10000 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    blocks = [
        torch.tensor([[math.cos(k * w), math.sin(k * w)], [-math.sin(k * w), math.cos(k * w)]]) for w in omega.tolist()
    ]
    return torch.block_diag(*blocks)


@wrong("6.2", "the textbook's rotation", "shifted-backwards")
def shift_textbook(k, d_model):
    return shift_block_diag(k, d_model).T


@wrong("6.2", "rotate_half layout", "in-halves")
def shift_halves(k, d_model):
    a = k * 10000 ** (-torch.arange(0, d_model, 2) / d_model)
    cos, sin = torch.diag(a.cos()), torch.diag(a.sin())
    return torch.cat([torch.cat([cos, sin], 1), torch.cat([-sin, cos], 1)], 0)


@right("6.3", "llama, complex numbers in float32")
def rope_llama(x, positions, base=10000.0):
    d = x.shape[-1]
    freqs = 1.0 / (base ** (torch.arange(0, d, 2)[: d // 2].float() / d))
    angles = torch.outer(positions.float(), freqs)
    turns = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(pairs * turns).flatten(-2).type_as(x)


@right("6.3", "GPT-J, rotate_every_two")
def rope_gptj(x, positions, base=10000.0):
    d = x.shape[-1]
    inv = 1.0 / base ** (torch.arange(0, d, 2, dtype=x.dtype) / d)
    a = torch.repeat_interleave(positions[:, None].to(x.dtype) * inv, 2, dim=-1)
    turned = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
    return x * a.cos() + turned * a.sin()


@wrong("6.3", "Hugging Face rotate_half", "half-split")
def rope_rotate_half(x, positions, base=10000.0):
    d = x.shape[-1]
    inv = 1.0 / base ** (torch.arange(0, d, 2, dtype=x.dtype) / d)
    emb = positions[:, None].to(x.dtype) * inv
    emb = torch.cat((emb, emb), dim=-1)
    half = torch.cat((-x[..., d // 2 :], x[..., : d // 2]), dim=-1)
    return x * emb.cos() + half * emb.sin()


@wrong("6.3", "a cache cut to the length", "positions-ignored")
def rope_cache(x, positions, base=10000.0):
    d, n = x.shape[-1], x.shape[-2]
    cache = torch.arange(1024)[:, None] * base ** (-torch.arange(0, d, 2).double() / d)
    cos, sin = cache[:n].cos().to(x.dtype), cache[:n].sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


@wrong("6.3", "a bfloat16 cache", "half-precision")
def rope_bfloat16(x, positions, base=10000.0):
    d = x.shape[-1]
    cache = torch.arange(1024)[:, None] * base ** (-torch.arange(0, d, 2).float() / d)
    cos, sin = cache[positions].cos().bfloat16().to(x.dtype), cache[positions].sin().bfloat16().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


@wrong("6.3", "base left in the default", "base-ignored")
def rope_base(x, positions, base=10000.0):
    d = x.shape[-1]
    angles = positions[:, None] / 10000 ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


@right("6.4", "the ALiBi paper, symmetric")
def alibi_symmetric(n_heads, n):
    start = 2 ** (-8 / n_heads)
    slopes = torch.tensor([start * start**i for i in range(n_heads)])
    relative = torch.arange(n)[None, :] - torch.arange(n)[:, None]
    return -relative.abs()[None] * slopes[:, None, None]


def published_slopes(n):
    def power_of_2(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(n).is_integer():
        return power_of_2(n)
    closest = 2 ** math.floor(math.log2(n))
    return power_of_2(closest) + published_slopes(2 * closest)[0::2][: n - closest]


@wrong("6.4", "ofirpress, get_slopes", "published-slopes")
def alibi_published(n_heads, n):
    distance = (torch.arange(n)[None, :] - torch.arange(n)[:, None]).abs()
    return -torch.tensor(published_slopes(n_heads))[:, None, None] * distance


@wrong("6.4", "BLOOM, keys alone", "position-for-distance")
def alibi_bloom(n_heads, n):
    slopes = 2 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    return (slopes[:, None, None] * torch.arange(n)[None, None, :]).expand(n_heads, n, n)


@wrong("6.4", "causal code, j - i", "distance-signed")
def alibi_signed(n_heads, n):
    slopes = 2 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    return slopes[:, None, None] * (torch.arange(n)[None, :] - torch.arange(n)[:, None])
