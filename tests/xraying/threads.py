"""Twenty bugs of public threads, each written anew in a few lines, for `xray` to find.

They were written, and committed, before `xray` ran on any of them. With `fixed=True`, a program has the repair that its
thread names. The comment `# here` stands at the line that mixes tokens or examples if it is not fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

B, N, D, H = 2, 5, 12, 3
HIDDEN = -1e9


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v


def split(x: Tensor) -> Tensor:
    """(B, n, D) to (B, H, n, D / H)."""
    return x.view(len(x), x.shape[1], H, -1).transpose(1, 2)


def merge(x: Tensor) -> Tensor:
    """(B, H, n, D / H) to (B, n, D)."""
    return x.transpose(1, 2).flatten(2)


# ── heads ─────────────────────────────────────────────────────────────────────────────────────────


def heads_merged_without_a_permute(x, fixed=False):
    values = attend(split(x), split(x), split(x))
    if fixed:
        values = values.permute(0, 2, 1, 3)
    return values.reshape(len(x), x.shape[1], -1)  # here


def heads_viewed_as_more_examples(x, fixed=False):
    b, n, d = x.shape
    heads = split(x).reshape(b * H, n, d // H) if fixed else x.view(b * H, -1, d // H)  # here
    return merge(attend(heads, heads, heads).view(b, H, n, d // H))


def heads_and_examples_exchanged_on_the_way_back(x, fixed=False):
    b, n, d = x.shape
    heads = split(x).reshape(b * H, n, d // H)
    out = attend(heads, heads, heads)
    out = out.view(b, H, n, d // H) if fixed else out.view(H, b, n, d // H)  # here
    return out.permute(0, 2, 1, 3).contiguous().view(b, n, d)


def folded_heads_viewed_as_features(x, fixed=False):
    b, n, d = x.shape
    heads = split(x).reshape(b * H, n, d // H)
    context = attend(heads, heads, heads)
    if fixed:
        context = context.view(b, H, n, d // H).transpose(1, 2).contiguous()
    return context.view(b, -1, d)  # here


def list_of_heads_viewed_as_features(x, fixed=False):
    b, n, d = x.shape
    heads = torch.zeros(H, b, n, d // H)
    for h, part in enumerate(x.chunk(H, dim=-1)):
        heads[h] = attend(part, part, part)
    if fixed:
        heads = heads.permute(1, 2, 0, 3).contiguous()
    return heads.view(b, n, -1)  # here


# ── masks and biases ──────────────────────────────────────────────────────────────────────────────


def mask_repeated_in_another_order_than_heads(x, mask, fixed=False):
    b, n, d = x.shape
    heads = split(x).transpose(0, 1).reshape(H * b, n, d // H)
    repeated = mask.repeat(H, 1) if fixed else mask.repeat_interleave(H, dim=0)
    scores = heads @ heads.mT
    scores = scores.masked_fill(~repeated[:, None], HIDDEN)  # here
    out = scores.softmax(-1) @ heads
    return merge(out.view(H, b, n, d // H).transpose(0, 1))


def mask_of_torchs_module_tiled(x, mask, fixed=False):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(D, H, batch_first=True)
    hidden = ~mask[:, None, :].expand(-1, x.shape[1], -1)
    per_head = hidden.repeat_interleave(H, dim=0) if fixed else hidden.repeat(H, 1, 1)
    return layer(x, x, x, attn_mask=per_head)[0]  # here


def mask_of_examples_taken_for_one_of_heads(x, mask, fixed=False):
    heads = split(x)
    pairs = mask[:, :, None] & mask[:, None, :]
    if fixed:
        pairs = pairs[:, None]
    scores = (heads @ heads.mT).masked_fill(~pairs, HIDDEN)  # here
    return merge(scores.softmax(-1) @ heads)


def bias_repeated_in_another_order_than_samples(x, bias, fixed=False):
    samples = x.repeat(4, 1, 1)
    repeated = bias.repeat(4, 1, 1) if fixed else bias.repeat_interleave(4, dim=0)
    scores = samples @ samples.mT
    scores = scores + repeated  # here
    return scores.softmax(-1) @ samples


# ── the order of axes that a module expects ───────────────────────────────────────────────────────


def tokens_and_examples_exchanged_by_view(x, fixed=False):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(D, H)
    b, n, d = x.shape
    x = x.transpose(0, 1) if fixed else x.view(n, b, d)  # here
    y = layer(x, x, x)[0]
    return y.transpose(0, 1) if fixed else y.view(b, n, d)


def encoder_that_wants_tokens_first(x, fixed=False):
    torch.manual_seed(0)
    encoder = nn.TransformerEncoderLayer(D, H, 20, batch_first=fixed)
    return encoder.eval()(x)  # here


def windows_given_to_a_module_that_wants_tokens_first(x, fixed=False):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(D, H, batch_first=fixed)
    b, n, d = x.shape
    windows = x.reshape(b * 2, n // 2, d)
    out = layer(windows, windows, windows)[0]  # here
    return out.reshape(b, n, d)


# ── images and videos ─────────────────────────────────────────────────────────────────────────────


def attention_put_back_into_an_image(x, fixed=False):
    b, n, d = x.shape
    out = attend(split(x), split(x), split(x))
    if fixed:
        out = out.mT
    image = out.reshape(b, H, d // H, 2, n // 2)  # here
    return image.reshape(b, d, 2, n // 2)


def patches_put_back_into_an_image(x, fixed=False):
    b, n, d = x.shape
    x = attend(x, x, x)
    if fixed:
        x = x.permute(0, 2, 1)
    return x.reshape(b, d, 2, n // 2)  # here


def frames_folded_into_the_batch(x, fixed=False):
    b, c, t, h, w = x.shape
    if fixed:
        x = x.permute(0, 2, 1, 3, 4)
    frames = x.reshape(b * t, c, h * w)  # here
    return attend(frames.mT, frames.mT, frames.mT)


def text_of_another_example_for_each_pixel(x, text, fixed=False):
    b, s, t, c = x.shape
    frames = x.reshape(b * s, t, c)
    if fixed:
        context = text[:, None].expand(b, s, -1, c).reshape(b * s, -1, c)
    else:
        context = text[None].expand(s, b, -1, c).reshape(s * b, -1, c)
    scores = frames @ context.mT  # here
    return scores.softmax(-1) @ context


def frames_and_channels_exchanged_on_the_way_back(x, fixed=False):
    b, s, t, c = x.shape
    frames = x.reshape(b * s, t, c)
    out = attend(frames, frames, frames)
    if fixed:
        return out.reshape(b, s, t, c).permute(0, 2, 3, 1)
    out = out.reshape(b, s, c, t)  # here
    return out.permute(0, 3, 2, 1)


def windows_put_back_into_rows(x, fixed=False):
    b, h, w, c = x.shape
    windows = x.view(b, h // 2, 2, w // 2, 2, c).permute(0, 1, 3, 2, 4, 5)
    out = windows.tanh()
    if fixed:
        out = out.permute(0, 1, 3, 2, 4, 5)
    return out.reshape(b, h, w, c)  # here


# ── norms ─────────────────────────────────────────────────────────────────────────────────────────


def norm_over_tokens(z, fixed=False):
    axis = -1 if fixed else 1
    mean = z.mean(dim=axis, keepdim=True)
    spread = z.std(dim=axis, keepdim=True)
    centred = z - mean  # here
    return centred / (spread + 1e-3)


def norm_over_all_but_the_batch(x, fixed=False):
    shape = x.shape[-1:] if fixed else x.shape[1:]
    return F.layer_norm(x, shape)  # here


@dataclass(frozen=True)
class Thread:
    """A bug of a public thread.

    Attributes:
        program: a function or a module, which takes `fixed`
        shape: the shape of its first input
        more: further inputs
        tokens: the axis of tokens
        limit: why `xray` does not find it
    """

    url: str
    program: Callable[..., Any]
    shape: tuple[int, ...] = (B, N, D)
    more: tuple[Tensor, ...] = ()
    tokens: int = -2
    limit: str = ""

    @property
    def name(self) -> str:
        return self.program.__name__

    def made(self, fixed: bool) -> Callable[..., Any]:
        """Return the program, with its bug or without."""
        return self.program(fixed=fixed) if isinstance(self.program, type) else partial(self.program, fixed=fixed)


PADDED = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
THREE = torch.tensor([[True] * 5, [True] * 3 + [False] * 2, [True] * 4 + [False]])
BIAS = torch.linspace(-1, 1, B * N * N).view(B, N, N) ** 3
TEXT = torch.linspace(-1, 1, B * 7 * D).view(B, 7, D) ** 3
GITHUB = "https://github.com/"
THREADS = [
    Thread(f"{GITHUB}jsbaan/transformer-from-scratch/pull/6", heads_merged_without_a_permute),
    Thread(f"{GITHUB}reczoo/FuxiCTR/issues/30", heads_viewed_as_more_examples),
    Thread(
        f"{GITHUB}gazelle93/Transformer-Various-Positional-Encoding/issues/1",
        heads_and_examples_exchanged_on_the_way_back,
    ),
    Thread(f"{GITHUB}649453932/Chinese-Text-Classification-Pytorch/issues/10", folded_heads_viewed_as_features),
    Thread(f"{GITHUB}hackiey/QAnet-pytorch/issues/2", list_of_heads_viewed_as_features),
    Thread(
        f"{GITHUB}lsdefine/attention-is-all-you-need-keras/issues/36",
        mask_repeated_in_another_order_than_heads,
        more=(PADDED,),
    ),
    Thread(f"{GITHUB}line/lighthouse/pull/77", mask_of_torchs_module_tiled, more=(PADDED,)),
    Thread(
        f"{GITHUB}lucidrains/graph-transformer-pytorch/pull/2",
        mask_of_examples_taken_for_one_of_heads,
        (H, N, D),
        (THREE,),
    ),
    Thread(f"{GITHUB}jwohlwend/boltz/issues/523", bias_repeated_in_another_order_than_samples, more=(BIAS,)),
    Thread(f"{GITHUB}rish-16/tokenlearner-pytorch/issues/1", tokens_and_examples_exchanged_by_view),
    Thread(f"{GITHUB}IBM/TabFormer/pull/14", encoder_that_wants_tokens_first),
    Thread(f"{GITHUB}aipixel/AEMatter/issues/3", windows_given_to_a_module_that_wants_tokens_first, (B, 6, D)),
    Thread(f"{GITHUB}leaderj1001/Attention-Augmented-Conv2d/issues/21", attention_put_back_into_an_image, (B, 6, D)),
    Thread(f"{GITHUB}lightly-ai/lightly-train/pull/119", patches_put_back_into_an_image, (B, 6, D)),
    Thread(f"{GITHUB}PKU-YuanGroup/Open-Sora-Plan/issues/171", frames_folded_into_the_batch, (B, 7, N, 3, 4), tokens=2),
    Thread(f"{GITHUB}huggingface/diffusers/pull/7268", text_of_another_example_for_each_pixel, (B, 3, N, D), (TEXT,)),
    Thread(f"{GITHUB}huggingface/diffusers/pull/5496", frames_and_channels_exchanged_on_the_way_back, (B, 3, N, D)),
    Thread(f"{GITHUB}ByChelsea/CMOS/issues/4", windows_put_back_into_rows, (B, 6, 4, D), tokens=1),
    Thread(f"{GITHUB}jadore801120/attention-is-all-you-need-pytorch/pull/17", norm_over_tokens),
    Thread(f"{GITHUB}Qualcomm-AI-research/geometric-algebra-transformer/pull/8", norm_over_all_but_the_batch),
]
