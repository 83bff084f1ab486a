"""Right programs of odd kinds: tokens meet in them outside of products and softmax, or move as whole rows.

Most were written before `xray` ran on any of them. The wrong ones at the end look like these, and are still found.
"""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from tests.xraying.styles import MEMORY, PADDED, B, D, E, H, N, Program, W, kept

ODD: list[Program] = []
ALIKE: list[Program] = []
odd, alike = partial(kept, ODD), partial(kept, ALIKE)


def seeded(make):
    torch.manual_seed(0)
    return make().eval()


# ── convolutions, pools and other declared mixtures ───────────────────────────────────────────────


class CausalConvolutions(nn.Module):
    """Dilated convolutions over the tokens, each padded on the left, with a gate and a residual stream."""

    def __init__(self):
        super().__init__()
        self.filters = nn.ModuleList(nn.Conv1d(D, D, 2, dilation=2**i) for i in range(2))
        self.gates = nn.ModuleList(nn.Conv1d(D, D, 2, dilation=2**i) for i in range(2))

    def forward(self, x):
        y = x.transpose(1, 2)
        for i, (filtered, gate) in enumerate(zip(self.filters, self.gates, strict=True)):
            padded = F.pad(y, (2**i, 0))
            y = y + filtered(padded).tanh() * gate(padded).sigmoid()
        return y.transpose(1, 2)


odd()(seeded(CausalConvolutions))


@odd()
def mean_of_neighbours(x):  # PoolFormer: a pool in place of attention
    y = F.layer_norm(x, (D,))
    pooled = F.avg_pool1d(y.mT, 3, stride=1, padding=1).mT
    x = x + pooled - y
    return x + F.gelu(F.layer_norm(x, (D,)) @ W["q"]) @ W["o"]


@odd(shape=(B, 6, D))
def keys_of_pooled_tokens(x):  # PVT: queries of all tokens, keys and values of every two
    short = F.max_pool1d(x.transpose(1, 2), 2).transpose(1, 2)
    q, k, v = (y.unflatten(-1, (H, E)).transpose(1, 2) for y in (x @ W["q"], short @ W["k"], short @ W["v"]))
    return ((q @ k.mT).softmax(-1) @ v).transpose(1, 2).flatten(2)


@odd()
def fourier_in_place_of_attention(x):  # FNet
    y = torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real
    return F.layer_norm(x + y, (D,))


@odd()
def upsampled_and_pooled_again(x):
    long = F.interpolate(x.mT, scale_factor=2, mode="nearest").mT
    out = F.scaled_dot_product_attention(long, long, long)
    return x + out[:, ::2]


# ── means over tokens ─────────────────────────────────────────────────────────────────────────────


@odd()
def mean_query(x):  # one query, the mean of all tokens, before a softmax over the tokens
    q = x.mean(dim=1, keepdim=True) @ W["q"]
    weights = (q @ (x @ W["k"]).mT / D**0.5).softmax(-1)
    return (weights @ (x @ W["v"])).squeeze(1)


@odd(more=(PADDED,))
def classes_of_the_mean(x, keep):  # the mean of the real tokens, then a softmax over classes
    y = F.scaled_dot_product_attention(x, x, x, attn_mask=keep[:, None])
    mean = (y * keep[..., None]).sum(1) / keep.sum(1, keepdim=True)
    return (mean @ W["o"])[:, :4].softmax(-1)


@odd()
def gates_of_the_mean_keys(x):  # efficient attention: softmax of keys over tokens, one context for all queries
    q, k, v = x @ W["q"], x @ W["k"], x @ W["v"]
    context = k.softmax(dim=1).transpose(1, 2) @ v
    return q.softmax(dim=-1) @ context


@odd()
def scores_less_their_mean(x):
    scores = x @ x.mT / D**0.5
    scores = scores - scores.mean(dim=-1, keepdim=True)
    return (scores / scores.std(dim=-1, keepdim=True)).softmax(-1) @ x


# ── sums over earlier tokens ──────────────────────────────────────────────────────────────────────


@odd()
def linear_attention_by_cumsum(x):
    q, k, v = ((F.elu(x @ W[name]) + 1).unflatten(-1, (H, E)) for name in "qkv")
    states = (k[..., None] * v[..., None, :]).cumsum(dim=1)
    total = (q * k.cumsum(dim=1)).sum(-1, keepdim=True)
    return ((q[..., None] * states).sum(-2) / total).flatten(2)


@odd()
def gated_recurrence_by_a_loop(x):  # a state of sums, without a product of matrices
    gate, new = (x @ W["q"]).sigmoid(), (x @ W["v"]).tanh()
    state, states = torch.zeros(len(x), D), []
    for t in range(x.shape[1]):
        state = gate[:, t] * state + (1 - gate[:, t]) * new[:, t]
        states.append(state)
    return x + torch.stack(states, dim=1) @ W["o"]


@odd()
def mean_of_all_tokens_so_far(x):
    count = torch.arange(1, x.shape[1] + 1)[:, None]
    return x + (x.cumsum(1) / count) @ W["v"]


@odd()
def sums_of_later_tokens(x):
    return x * x.flip(1).cumsum(1).flip(1).sigmoid()


class CellByCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(D, D)

    def forward(self, x):
        state, states = x.new_zeros(len(x), D), []
        for token in x.unbind(dim=1):
            state = self.cell(token, state)
            states.append(state)
        return torch.stack(states, dim=1)


odd()(seeded(CellByCell))


# ── torch's own modules ───────────────────────────────────────────────────────────────────────────


@odd(more=(MEMORY,))
def torchs_layer_with_batch_first(x, memory):
    layer = seeded(lambda: nn.MultiheadAttention(D, H, batch_first=True))
    return x + layer(x, memory, memory, need_weights=False)[0]


@odd(shape=(N, B, D), tokens=0)
def torchs_layer_with_tokens_first(x):
    layer = seeded(lambda: nn.MultiheadAttention(D, H))
    out, weights = layer(x, x, x, average_attn_weights=False)
    return x + out, weights


@odd(more=(MEMORY,))
def torchs_decoder(x, memory):
    layer = seeded(lambda: nn.TransformerDecoderLayer(D, H, 20, batch_first=True))
    causal = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
    return layer(x, memory, tgt_mask=causal)


# ── whole rows that move ──────────────────────────────────────────────────────────────────────────


@odd()
def rearranged_by_reshape_and_permute(x):  # "b n (qkv h e) -> qkv (b h) n e", and "(b h) n e -> b n (h e)" back
    b, n, d = x.shape
    packed = torch.cat([x @ W[name] for name in "qkv"], -1)
    q, k, v = packed.reshape(b, n, 3, H, E).permute(2, 0, 3, 1, 4).reshape(3, b * H, n, E)
    out = (q @ k.mT / E**0.5).softmax(-1) @ v
    return out.reshape(b, H, n, E).permute(0, 2, 1, 3).reshape(b, n, d)


@odd()
def windows_by_unfold(x):
    padded = F.pad(x, (0, 0, 2, 0))
    windows = padded.unfold(1, 3, 1).transpose(-1, -2)  # (b, n, 3, d)
    weights = (x[:, :, None] @ windows.mT).softmax(-1)
    return (weights @ windows).squeeze(2)


@odd()
def windows_by_an_index(x):
    padded = F.pad(x, (0, 0, 1, 1))
    at = torch.arange(x.shape[1])[:, None] + torch.arange(3)
    windows = padded[:, at]  # (b, n, 3, d)
    weights = torch.einsum("bnd,bnwd->bnw", x, windows).softmax(-1)
    return torch.einsum("bnw,bnwd->bnd", weights, windows)


@odd()
def neighbours_side_by_side(x):  # each token beside the one before it, then a linear layer
    before = F.pad(x, (0, 0, 1, 0))[:, :-1]
    pair = torch.cat([x, before], dim=-1)
    return F.linear(pair, torch.cat([W["q"], W["k"]], dim=1))


@odd()
def half_of_the_features_from_the_token_before(x):  # a token shift
    before = torch.roll(x, 1, dims=1)
    shifted = torch.cat([before[..., : D // 2], x[..., D // 2 :]], dim=-1)
    return x + shifted @ W["v"]


@odd(shape=(B, 6, D))
def blocks_with_the_block_before(x):  # local attention: each block of two tokens sees itself and the one before
    b, n, d = x.shape
    blocks = x.view(b, n // 2, 2, d)
    before = F.pad(blocks, (0, 0, 0, 0, 1, 0))[:, :-1]
    seen = torch.cat([before, blocks], dim=2)
    return ((blocks @ seen.mT).softmax(-1) @ seen).view(b, n, d)


@odd(shape=(B, D, 4, 5), tokens=3)
def patches_by_unfold(x):  # F.unfold of an image: columns of neighbours
    columns = F.unfold(x, 3, padding=1)  # (b, d * 9, h * w)
    torch.manual_seed(0)
    return torch.randn(D, D * 9) @ columns


@odd()
def a_summary_in_front(x):  # a learned token before the others, read at the end
    first = torch.ones(len(x), 1, D)
    y = torch.cat([first, x], dim=1)
    y = y + F.scaled_dot_product_attention(y @ W["q"], y @ W["k"], y @ W["v"])
    return y[:, 0] @ W["o"], y[:, 1:]


@odd()
def tokens_in_another_order_and_back(x):  # sorted by a score, attended, and put back
    order = (x @ W["q"][:, 0]).argsort(dim=1)
    index = order[..., None].expand_as(x)
    y = x.gather(1, index)
    y = F.scaled_dot_product_attention(y, y, y, is_causal=True)
    return torch.zeros_like(x).scatter(1, index, y)


@odd(shape=(4, 6, D))
def windows_folded_into_the_batch(x):  # Swin: tokens of a window attend to each other
    b, n, d = x.shape
    windows = x.view(b, n // 2, 2, d).reshape(b * n // 2, 2, d)
    out = (windows @ windows.mT).softmax(-1) @ windows
    return out.view(b, n // 2, 2, d).reshape(b, n, d)


@odd(shape=(3, 6, D))
def windows_shifted_by_half_and_back(x):
    b, n, d = x.shape
    shifted = x.roll(-1, dims=1)
    windows = shifted.reshape(b * n // 2, 2, d)
    out = F.scaled_dot_product_attention(windows, windows, windows)
    return x + out.reshape(b, n, d).roll(1, dims=1)


@odd()
def tokens_left_out_at_random(x):  # masked autoencoder: another order for each example, of which three are kept
    order = torch.rand(x.shape[:2]).argsort(dim=1)[:, :3]
    kept = x.gather(1, order[..., None].expand(-1, -1, x.shape[-1]))
    return F.scaled_dot_product_attention(kept, kept, kept)


# ── wrong ones that look like these ───────────────────────────────────────────────────────────────


@alike(shape=(B, 5, 16))
def features_and_tokens_exchanged_where_their_sizes_hide_it(x):  # 16 is 1 more than a multiple of 5
    y = x.transpose(1, 2).reshape(x.shape)  # here
    return F.scaled_dot_product_attention(y, y, y)


@alike(shape=(B, 3, 4))
def features_and_tokens_exchanged_in_a_small_input(x):
    y = x.transpose(1, 2).reshape(x.shape)  # here
    return y + x


@alike(shape=(B, 5, D))
def more_heads_than_tokens_merged_wrong(x):
    heads = x.unflatten(-1, (6, -1)).transpose(1, 2)
    out = F.scaled_dot_product_attention(heads, heads, heads)
    out = out.reshape(len(x), x.shape[1], 6, -1)  # here
    return out.flatten(2) @ W["o"]


@alike()
def heads_put_in_the_place_of_tokens_in_two_steps(x):
    heads = x.unflatten(-1, (H, E)).transpose(1, 2)
    heads = heads.contiguous().view(len(x), x.shape[1], H, E)  # here
    return heads.flatten(2)


@alike()
def windows_cut_from_features(x):  # the windows stand behind the features, and are read as if before them
    padded = F.pad(x, (0, 0, 1, 1))
    windows = torch.stack([padded[:, i : i + x.shape[1]] for i in range(3)], dim=-1)  # (b, n, d, 3)
    windows = windows.transpose(1, 2).reshape(len(x), x.shape[1], 3, D)  # here
    return torch.einsum("bnd,bnwd->bnw", x, windows).softmax(-1)


@alike()
def neighbour_added(x):
    before = F.pad(x, (0, 0, 1, 0))[:, :-1]
    return x + before  # here


@alike()
def state_carried_into_the_next_example(x):
    state, states = torch.zeros(D), []
    for row in x.reshape(-1, D):
        state = 0.5 * state + row
        states.append(state)
    return torch.stack(states).view(x.shape)  # here


@alike()
def state_over_examples(x):
    state, states = torch.zeros(x.shape[1], D), []
    for example in x:
        state = 0.5 * state + example
        states.append(state)
    return torch.stack(states)  # here


@alike()
def rows_of_another_example_beside_each_token(x):
    return torch.cat([x, x.roll(1, dims=0)], dim=-1)  # here


@alike()
def tokens_gathered_along_examples(x):
    order = torch.tensor([[1, 0, 1, 0, 1], [0, 0, 0, 0, 0]])
    return x.gather(0, order[..., None].expand_as(x))  # here
