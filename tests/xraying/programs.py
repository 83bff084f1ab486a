"""Programs for `xray`: real mistakes, each written anew in a few lines, and programs without a mistake.

The comment `# here` stands at the line to find. The programs also run on the page's torch.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from qkv.attention import MultiHeadAttention

B, N, D, H = 2, 5, 12, 3


def attend(q, k, v):
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v


def split(x):
    return x.view(len(x), x.shape[1], H, -1).transpose(1, 2)


def merge(x):
    return x.transpose(1, 2).reshape(len(x), x.shape[2], -1)


def heads_split_by_view(x):
    b, n, d = x.shape
    heads = x.view(b, H, n, d // H)  # here
    return merge(attend(heads, heads, heads))


def heads_merged_by_reshape(x):
    heads = split(x)
    out = attend(heads, heads, heads)
    return out.reshape(len(x), x.shape[1], -1)  # here


def view_after_a_transpose_that_was_made_contiguous(x):
    b, n, d = x.shape
    columns = x.transpose(1, 2).contiguous()
    x = columns.view(b, n, d)  # here
    return attend(x, x, x)


def mask_of_the_wrong_example_for_folded_heads(x, mask):
    b, n, d = x.shape
    folded = split(x).reshape(b * H, n, d // H)
    scores = folded @ folded.mT
    per_head = mask.repeat(H, 1)[:, None, :]
    scores = scores.masked_fill(~per_head, -1e9)  # here
    return merge((scores.softmax(-1) @ folded).view(b, H, n, d // H))


def mask_added_across_the_batch(x, mask):
    scores = x @ x.mT
    bias = torch.zeros(mask.shape).masked_fill(~mask, -1e9)
    scores = scores + bias.sum(0)[None, None, :]  # here
    return scores.softmax(-1) @ x


def sequence_first_layer_on_batch_first_input(x):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(D, H)
    return layer(x, x, x)[0]  # here


def keys_cut_with_the_length_of_the_queries(q, k):
    keys = k.reshape(len(k), q.shape[1], -1)[..., : q.shape[-1]]
    keys = torch.cat([keys, keys], dim=1)  # here
    return attend(q, keys, keys)


def heads_of_the_batch_first(x):
    b, n, d = x.shape
    heads = x.reshape(H, b, n, d // H).transpose(0, 1)  # here
    return merge(attend(heads, heads, heads))


def mean_over_tokens_taken_off(x):
    return x - x.mean(dim=1, keepdim=True)  # here


def statistics_over_the_batch(x):
    centred = x - x.mean(dim=0)  # here
    return centred / x.std(dim=0)


def written_into_the_wrong_rows(x):
    out = torch.zeros_like(x)
    for t in range(x.shape[1]):
        out[:, t] += x[:, t]
    out[:, 1:] += x[:, :-1]  # here
    return out


PADDING = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
MISTAKES = [
    *((fn, ()) for fn in (heads_split_by_view, heads_merged_by_reshape, heads_of_the_batch_first)),
    (view_after_a_transpose_that_was_made_contiguous, ()),
    (mask_of_the_wrong_example_for_folded_heads, (PADDING,)),
    (mask_added_across_the_batch, (PADDING,)),
    (sequence_first_layer_on_batch_first_input, ()),
    *((fn, ()) for fn in (mean_over_tokens_taken_off, statistics_over_the_batch, written_into_the_wrong_rows)),
]


# ── programs without a mistake ────────────────────────────────────────────────────────────────────


def maximum_of_everything_subtracted(x):
    scores = x @ x.mT
    shifted = (scores - scores.max()).exp()
    return shifted / shifted.sum(-1, keepdim=True) @ x


def folded_heads(x, mask):
    b, n, d = x.shape
    folded = split(x).reshape(b * H, n, d // H)
    scores = (folded @ folded.mT).masked_fill(~mask.repeat_interleave(H, 0)[:, None, :], -1e9)
    return merge((scores.softmax(-1) @ folded).view(b, H, n, d // H))


def by_einsum(x):
    heads = x.unflatten(-1, (H, -1))
    weights = torch.einsum("bihd,bjhd->bhij", heads, heads).softmax(-1)
    return torch.einsum("bhij,bjhd->bihd", weights, heads).flatten(2)


def by_torch(x):
    return merge(F.scaled_dot_product_attention(split(x), split(x), split(x), is_causal=True))


def heads_one_by_one(x):
    parts = [attend(part, part, part) for part in x.chunk(H, dim=-1)]
    return torch.cat(parts, dim=-1) + F.layer_norm(x, x.shape[-1:])


def one_vector_for_all(x):
    return x.mean(dim=1)


RIGHT = [
    *((fn, ()) for fn in (maximum_of_everything_subtracted, by_einsum, by_torch, heads_one_by_one, one_vector_for_all)),
    (folded_heads, (PADDING,)),
    (MultiHeadAttention(D, H), ()),
]
