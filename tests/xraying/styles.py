"""Programs in many styles, twenty wrong ones and twenty-one right ones, that were written before `xray` ran on any.

All shapes are right. The comment `# here` stands at the line where one row comes to hold several tokens or examples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

B, N, D, H = 2, 5, 12, 3
E = D // H
DRAW = torch.Generator().manual_seed(7)
W = {name: torch.randn(D, D, generator=DRAW) / D**0.5 for name in "qkvo"}
PADDED = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
MEMORY = torch.randn(B, 4, D, generator=DRAW)
MOVED = "rows that move to other places are mixed only where they are added to others, a line later"


@dataclass(frozen=True)
class Program:
    """A program, the shape of its input, its axis of tokens, further inputs, and why `xray` is wrong about it."""

    fn: Any
    shape: tuple[int, ...]
    tokens: int
    more: tuple[Tensor, ...]
    limit: str

    @property
    def name(self) -> str:
        return str(getattr(self.fn, "__name__", type(self.fn).__name__))


WRONG: list[Program] = []
RIGHT: list[Program] = []


def kept(
    programs: list[Program],
    shape: tuple[int, ...] = (B, N, D),
    tokens: int = -2,
    more: tuple[Tensor, ...] = (),
    limit: str = "",
) -> Callable[[Any], Any]:
    def keep(fn: Any) -> Any:
        programs.append(Program(fn, shape, tokens, more, limit))
        return fn

    return keep


wrong, right = partial(kept, WRONG), partial(kept, RIGHT)


# ── wrong ─────────────────────────────────────────────────────────────────────────────────────────


@wrong()
def bert_permute_lost(x):  # HF style: new shape then no permute
    shape = (*x.shape[:-1], H, E)
    q, k, v = ((x @ W[c]).view(shape).permute(0, 2, 1, 3) for c in "qkv")
    context = torch.matmul(F.softmax(q @ k.transpose(-1, -2) / math.sqrt(E), dim=-1), v)
    context = context.permute(0, 1, 2, 3).contiguous()
    context = context.view(context.size(0), x.size(1), D)  # here
    return context @ W["o"]


@wrong()
def packed_qkv_cut_wrong(x):  # timm-style, axes in the wrong order of the packed view
    b, n, d = x.shape
    qkv = torch.cat([x @ W[c] for c in "qkv"], dim=-1)
    qkv = qkv.reshape(b, 3, n, H, d // H)  # here
    q, k, v = qkv.permute(1, 0, 3, 2, 4)
    out = F.scaled_dot_product_attention(q, k, v)
    return out.transpose(1, 2).reshape(b, n, d)


@wrong()
def batch_first_forgotten(x):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(D, H)
    out, _ = layer(x, x, x)  # here
    return x + out


@wrong()
def lstm_batch_first_forgotten(x):
    torch.manual_seed(0)
    rnn = nn.GRU(D, D)
    y = F.layer_norm(x, (D,))
    out, _ = rnn(y)  # here
    return x + out


@wrong(more=(PADDED,))
def mask_over_the_batch(x, keep):  # (B, n) mask, tiled for heads in another order than the folded batch
    q = x.view(len(x), -1, H, E).transpose(1, 2).flatten(0, 1)
    mask = keep.repeat(H, 1)  # (H*B, n) while q is (B*H, n, d)
    scores = q @ q.mT / 2
    scores = scores.masked_fill(~mask[:, None], -1e9)  # here
    out = scores.softmax(-1) @ q
    return out.view(len(x), H, -1, E).transpose(1, 2).flatten(2)


@wrong()
def gqa_repeat_of_examples(x):  # repeat(…) along the batch for groups, folded as repeat_interleave
    b, n, d = x.shape
    q = x.view(b, n, H, d // H).transpose(1, 2).reshape(b * H, n, d // H)
    kv = x[..., : d // H]
    kv = kv.repeat(H, 1, 1)  # (H*b)
    out = (q @ kv.mT).softmax(-1) @ kv  # here
    return out.view(b, H, n, d // H).transpose(1, 2).reshape(b, n, d)


@wrong()
def einsum_letters(x):  # sums over queries in the wrong axis: n of batch
    q, k, v = (x @ W[c] for c in "qkv")
    scores = torch.einsum("bid,bjd->bij", q, k) / D**0.5
    weights = scores.softmax(-1)
    out = torch.einsum("bij,cjd->bid", weights, v)  # here
    return out


@wrong()
def norm_over_tokens(x):
    mean = x.mean(dim=1, keepdim=True)
    var = x.var(dim=1, keepdim=True, unbiased=False)
    return (x - mean) / (var + 1e-5).sqrt()  # here


@wrong()
def layer_norm_of_all(x):
    y = x @ W["q"]
    y = F.layer_norm(y, y.shape[1:])  # here
    return y @ W["o"]


@wrong()
def cumsum_over_batch(x):  # linear attention, cumulative state over the examples
    q, k, v = (F.elu(x @ W["q"]) + 1, F.elu(x @ W["k"]) + 1, x @ W["v"])
    state = torch.einsum("bnd,bne->bnde", k, v)
    state = state.cumsum(0)  # here
    return torch.einsum("bnd,bnde->bne", q, state)


@wrong(limit=MOVED)
def rolled_over_flat(x):  # token shift as in RWKV, done on the flattened batch
    b, n, d = x.shape
    flat = x.reshape(b * n, d)
    before = torch.roll(flat, 1, 0)  # here
    mixed = 0.5 * flat + 0.5 * before
    return mixed.view(b, n, d)


@wrong()
def stacked_heads_on_the_wrong_axis(x):
    heads = []
    for part in x.split(E, dim=-1):
        heads.append((part @ part.mT).softmax(-1) @ part)
    out = torch.stack(heads, dim=1)
    return out.reshape(x.shape)  # here


@wrong()
def chunk_of_tokens(x):  # gated unit: chunk along tokens instead of features, joined again
    y = torch.cat([x @ W["q"], x @ W["k"]], dim=1)
    y = y.view(x.shape[0], x.shape[1], -1)  # here
    a, g = y.chunk(2, dim=-1)
    return a * g.sigmoid()


@wrong()
def rotary_halves_across_tokens(x):  # reshape for pairs mixes the tokens
    b, n, d = x.shape
    pairs = x.transpose(1, 2).reshape(b, n, d // 2, 2)  # here
    angle = torch.arange(n)[:, None] * 10000 ** (-torch.arange(d // 2) / (d // 2))
    c, s = angle.cos(), angle.sin()
    one, two = pairs.unbind(-1)
    return torch.stack([one * c - two * s, one * s + two * c], dim=-1).flatten(-2)


@wrong()
def windows_of_the_flat_batch(x):  # windows of (B*n) tokens: a window over a text's end
    b, n, d = x.shape
    flat = x.reshape(1, b * n, d)
    windows = flat.view(2, b * n // 2, d).transpose(0, 1)  # tokens of both halves
    windows = windows.reshape(b, n, d)  # here
    return windows


@wrong(shape=(B, N, D))
def batch_norm_of_tokens(x):
    norm = nn.BatchNorm1d(D)
    norm.train()
    y = norm(x.reshape(-1, D))  # here
    return y.view(x.shape)


@wrong(more=(MEMORY,))
def memory_of_another_example(x, memory):  # encoder states flipped with the beams
    q = x @ W["q"]
    k, v = memory @ W["k"], memory @ W["v"]
    k, v = k.roll(1, 0), v.roll(1, 0)
    out = F.scaled_dot_product_attention(q, k, v)  # here
    return x + out


@wrong()
def cache_shared_by_all_examples(x):  # decode loop; cache kept as one list over batch
    keys = torch.empty(0, D)
    out = []
    for t in range(x.shape[1]):
        keys = torch.cat([keys, x[:, t]], dim=0)
        out.append((x[:, t] @ keys.mT).softmax(-1) @ keys)  # here
    return torch.stack(out, dim=1)


@wrong()
def padding_moved_into_the_next_row(x):  # pad one token left, view back, drop last
    b, n, d = x.shape
    padded = F.pad(x, (0, 0, 1, 0))
    shifted = padded.reshape(-1, d)[: b * n].view(b, n, d)  # here
    return x + shifted


@wrong(shape=(B, D, N), tokens=-1)
def channels_first_read_as_last(x):  # (B, C, T) viewed as (B, T, C)
    y = x.view(x.shape[0], x.shape[2], x.shape[1])  # here
    q = y @ W["q"]
    return F.scaled_dot_product_attention(q, q, y)


# ── right ─────────────────────────────────────────────────────────────────────────────────────────


class NanoGPT(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.c_attn, self.c_proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.ln_1, self.ln_2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D), nn.Dropout(0.1))
        self.register_buffer("bias", torch.tril(torch.ones(64, 64)).view(1, 1, 64, 64))

    def attend(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        k = k.view(B, T, H, C // H).transpose(1, 2)
        q = q.view(B, T, H, C // H).transpose(1, 2)
        v = v.view(B, T, H, C // H).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


right()(NanoGPT())


class Llama(nn.Module):
    """HF Llama: rotary, grouped queries, repeat_kv, RMS norm, SwiGLU."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.q, self.k, self.v = nn.Linear(D, 2 * D, False), nn.Linear(D, D // 2, False), nn.Linear(D, D // 2, False)
        self.o = nn.Linear(2 * D, D, False)
        self.gate, self.up, self.down = nn.Linear(D, 20), nn.Linear(D, 20), nn.Linear(20, D)
        self.weight = nn.Parameter(torch.ones(D))

    def norm(self, h):
        variance = h.pow(2).mean(-1, keepdim=True)
        return self.weight * (h * torch.rsqrt(variance + 1e-6))

    @staticmethod
    def rotate_half(x):
        x1 = x[..., : x.shape[-1] // 2]
        x2 = x[..., x.shape[-1] // 2 :]
        return torch.cat((-x2, x1), dim=-1)

    @staticmethod
    def repeat_kv(h, n_rep):
        batch, heads, slen, dim = h.shape
        h = h[:, :, None, :, :].expand(batch, heads, n_rep, slen, dim)
        return h.reshape(batch, heads * n_rep, slen, dim)

    def forward(self, x):
        b, n, _ = x.shape
        y = self.norm(x)
        q = self.q(y).view(b, n, -1, 2).transpose(1, 2)
        k = self.k(y).view(b, n, -1, 2).transpose(1, 2)
        v = self.v(y).view(b, n, -1, 2).transpose(1, 2)
        freqs = torch.arange(n)[:, None].float() * torch.tensor([1.0])
        emb = torch.cat((freqs, freqs), dim=-1)
        cos, sin = emb.cos()[None, None], emb.sin()[None, None]
        q = q * cos + self.rotate_half(q) * sin
        k = k * cos + self.rotate_half(k) * sin
        k, v = self.repeat_kv(k, 4), self.repeat_kv(v, 4)
        scores = torch.matmul(q, k.transpose(2, 3)) / 2**0.5
        causal = torch.full((n, n), float("-inf")).triu(1)
        weights = nn.functional.softmax(scores + causal, dim=-1, dtype=torch.float32).to(q.dtype)
        out = torch.matmul(weights, v).transpose(1, 2).contiguous().reshape(b, n, -1)
        x = x + self.o(out)
        y = self.norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


right()(Llama())


@right()
def einops_like(x):  # rearrange written by hand with unflatten and flatten
    qkv = torch.cat([x @ W[c] for c in "qkv"], -1).unflatten(-1, (3, H, E))
    q, k, v = qkv.movedim(2, 0).movedim(-2, 2).unbind(0)
    sim = torch.einsum("b h i d, b h j d -> b h i j", q, k) * E**-0.5
    sim = sim - sim.amax(dim=-1, keepdim=True).detach()
    attn = sim.softmax(dim=-1)
    out = torch.einsum("b h i j, b h j d -> b h i d", attn, v)
    return out.movedim(1, 2).flatten(-2) @ W["o"]


@right()
def loop_over_heads_and_queries(x):
    out = torch.zeros_like(x)
    for b in range(x.shape[0]):
        for h in range(H):
            s = slice(h * E, (h + 1) * E)
            for i in range(x.shape[1]):
                w = torch.softmax(x[b, : i + 1, s] @ x[b, i, s] / 2, 0)
                out[b, i, s] = w @ x[b, : i + 1, s]
    return out


@right()
def alibi(x):
    n = x.shape[1]
    q = k = v = x.reshape(len(x), n, H, E).swapaxes(1, 2)
    slopes = torch.tensor([2.0 ** -(i + 1) for i in range(H)]).view(H, 1, 1)
    distance = torch.arange(n)[None, :] - torch.arange(n)[:, None]
    bias = slopes * distance
    bias = bias.masked_fill(distance > 0, -torch.inf)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias).swapaxes(1, 2).reshape(x.shape)


@right()
def sliding_window(x, window=2):
    n = x.shape[1]
    i, j = torch.arange(n)[:, None], torch.arange(n)
    seen = (j <= i) & (i - j < window)
    scores = torch.baddbmm(torch.zeros(len(x), n, n), x, x.mT, alpha=D**-0.5)
    probabilities = torch.where(seen, scores, torch.tensor(-1e4)).softmax(2)
    return torch.bmm(probabilities, x)


@right(more=(MEMORY,))
def cross_attention(x, memory):
    q = (x @ W["q"]).view(x.shape[0], x.shape[1], H, E).permute(0, 2, 1, 3)
    kv = torch.stack([memory @ W["k"], memory @ W["v"]])
    k, v = kv.view(2, memory.shape[0], memory.shape[1], H, E).permute(0, 1, 3, 2, 4)
    weights = torch.softmax(q @ k.transpose(-1, -2) / E**0.5, -1)
    return x + (weights @ v).permute(0, 2, 1, 3).flatten(2) @ W["o"]


@right(more=(PADDED,))
def padded_by_lengths(x, keep):
    lengths = keep.sum(1)
    x.shape[1]
    mask = torch.arange(keep.shape[1])[None] < lengths[:, None]
    scores = x @ x.mT
    scores = scores + (~mask)[:, None].float() * -1e9
    weights = scores.softmax(-1)
    out = weights @ x
    return out * mask[..., None]


@right()
def cached_decoding(x):
    cache_k, cache_v, outs = [], [], []
    for t in range(x.shape[1]):
        token = x[:, t : t + 1]
        cache_k.append(token @ W["k"])
        cache_v.append(token @ W["v"])
        k, v = torch.cat(cache_k, 1), torch.cat(cache_v, 1)
        attn = ((token @ W["q"]) @ k.transpose(1, 2) / D**0.5).softmax(-1)
        outs.append(attn @ v)
    return torch.cat(outs, 1)


@right()
def preallocated_cache(x):
    b, n, d = x.shape
    k_cache = x.new_zeros(b, n + 3, d)
    outs = []
    for pos in range(n):
        k_cache[:, pos] = x[:, pos]
        keys = k_cache[:, : pos + 1]
        w = torch.einsum("bd,bkd->bk", x[:, pos], keys).softmax(-1)
        outs.append(torch.einsum("bk,bkd->bd", w, keys))
    return torch.stack(outs, 1)


@right()
def conv_then_attention(x):
    torch.manual_seed(0)
    conv = nn.Conv1d(D, D, kernel_size=3, groups=3)
    y = conv(F.pad(x.transpose(1, 2), (2, 0))).transpose(1, 2)
    y = F.silu(y)
    return F.scaled_dot_product_attention(y, y, x, is_causal=True)


@right()
def linear_attention_in_a_product(x):  # RNN-free mixing: causal mask times products
    q, k, v = F.elu(x @ W["q"]) + 1, F.elu(x @ W["k"]) + 1, x @ W["v"]
    scores = torch.tril(q @ k.mT)
    out = scores @ v
    return out / scores.sum(-1, keepdim=True)


@right()
def mlp_mixer(x):  # tokens mix in a product with a fixed matrix
    n = x.shape[1]
    g = torch.Generator().manual_seed(0)
    mix = torch.randn(64, 64, generator=g)[:n, :n]
    y = F.layer_norm(x, (D,))
    x = x + (y.transpose(1, 2) @ mix.T).transpose(1, 2)
    return x + F.gelu(F.layer_norm(x, (D,)) @ W["q"]) @ W["o"]


@right()
def fourier_free_decay(x):  # retention: product with a matrix of decays
    n = x.shape[-2]
    i = torch.arange(n)
    decay = torch.where(i[:, None] >= i, 0.9 ** (i[:, None] - i).clamp(min=0).float(), torch.tensor(0.0))
    q, k, v = ((x @ W[c]).view(*x.shape[:-1], H, E).transpose(-3, -2) for c in "qkv")
    out = ((q @ k.transpose(-2, -1)) * decay) @ v
    out = out.transpose(-3, -2)
    out = F.group_norm(out.reshape(-1, D), H).view(x.shape)
    return out


@right()
def torch_mha(x):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(D, H, batch_first=True).eval()
    causal = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
    out, _weights = layer(x, x, x, attn_mask=causal, need_weights=True)
    return x + out


@right()
def sequence_first_on_purpose(x):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(D, H).eval()
    y = x.transpose(0, 1)
    out, _ = layer(y, y, y)
    return out.transpose(0, 1)


@right()
def folded_heads_bmm(x):  # fairseq: (T, B, C) and B * H folded
    b, n, d = x.shape
    y = x.transpose(0, 1)
    q, k, v = ((y @ W[c]).contiguous().view(n, b * H, E).transpose(0, 1) for c in "qkv")
    weights = F.softmax(torch.bmm(q, k.transpose(1, 2)), dim=-1)
    out = torch.bmm(weights, v)
    out = out.transpose(0, 1).contiguous().view(n, b, d)
    return out.transpose(0, 1) @ W["o"]


@right()
def multi_query_by_broadcast(x):
    q = (x @ W["q"]).unflatten(-1, (H, E))
    k, v = (x @ W["k"])[..., None, :E], (x @ W["v"])[..., None, :E]
    logits = torch.einsum("bqhd,bkgd->bhqk", q, k)
    out = torch.einsum("bhqk,bkgd->bqhd", logits.softmax(-1), v)
    return out.reshape(x.shape)


@right()
def top_k_keys(x):
    scores = x @ x.mT / D**0.5
    best = scores.topk(2, dim=-1)
    kept = torch.full_like(scores, -torch.inf).scatter(-1, best.indices, best.values)
    return kept.softmax(-1) @ x


@right()
def online_softmax(x):  # blocks of keys, running maximum and sum
    m = torch.full((*x.shape[:-1], 1), -torch.inf)
    total, out = torch.zeros_like(m), torch.zeros_like(x)
    for block in x.split(2, dim=1):
        s = x @ block.mT
        new = torch.maximum(m, s.amax(-1, keepdim=True))
        p, old = (s - new).exp(), (m - new).exp()
        total = total * old + p.sum(-1, keepdim=True)
        out = out * old + p @ block
        m = new
    return out / total


@right(shape=(B, D, N), tokens=-1)
def channels_first_conformer(x):
    torch.manual_seed(0)
    point = nn.Conv1d(D, 2 * D, 1)
    y = F.glu(point(x), dim=1)
    q = y.mT
    out = (q @ q.mT / D**0.5).softmax(-1) @ q
    return x + out.mT
