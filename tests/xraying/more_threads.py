"""Twenty more bugs of public threads, each written anew in a few lines, and ten right programs that look suspicious.

They were written, and committed, before `xray` ran on any of them. With `fixed=True`, a program has the repair that its
thread names. The comment `# here` stands at the line that mixes tokens, examples or heads if it is not fixed.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.xraying.threads import GITHUB, HIDDEN, PADDED, B, D, H, N, Thread, attend, merge, split


class Layer(nn.Module):
    """Self-attention with the projections of a trained model."""

    def __init__(self, fixed=False):
        super().__init__()
        torch.manual_seed(0)
        self.q, self.k, self.v, self.o = (nn.Linear(D, D) for _ in range(4))
        self.norm = nn.LayerNorm(D)
        self.fixed = fixed


# ── heads ─────────────────────────────────────────────────────────────────────────────────────────


class HeadsMergedByView(Layer):
    def forward(self, x):
        B, L, _ = x.shape
        q, k, v = (project(x).view(B, L, H, -1).transpose(1, 2) for project in (self.q, self.k, self.v))
        scores = torch.einsum("bhle,bhse->bhls", q, k) / q.shape[-1] ** 0.5
        hidden = torch.ones(L, L, dtype=torch.bool).triu(1)
        weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
        out = torch.einsum("bhls,bhsd->bhld", weights, v)
        if self.fixed:
            out = out.permute(0, 2, 1, 3).contiguous()
        out = out.view(B, L, -1)  # here
        return self.o(out)


class HeadsSplitInTheOrderOfTheResult(Layer):
    def divide(self, tensor):
        batch_size, length, d_model = tensor.size()
        d_tensor = d_model // H
        if self.fixed:
            return tensor.view(batch_size, length, H, d_tensor).transpose(1, 2)
        return tensor.view(batch_size, H, length, d_tensor)  # here

    def forward(self, x):
        for _ in range(2):
            q, k, v = self.divide(self.q(x)), self.divide(self.k(x)), self.divide(self.v(x))
            score = (q @ k.transpose(2, 3)) / q.shape[-1] ** 0.5
            out = (score.softmax(-1) @ v).transpose(1, 2).contiguous().view(x.shape)
            x = self.norm(x + self.o(out))
        return x


def only_keys_split_by_view(x, pooled, fixed=False):
    q = x.view(len(x), -1, H, D // H).transpose(1, 2)
    k = pooled.view(len(x), -1, H, D // H).transpose(1, 2) if fixed else pooled.view(len(x), H, -1, D // H)  # here
    v = pooled.view(len(x), -1, H, D // H).transpose(1, 2)
    return merge((q @ k.transpose(-2, -1)).softmax(-1) @ v)


def values_of_another_text_merged(x, memory, fixed=False):
    q = x.reshape(B, x.shape[1], H, -1).permute(0, 2, 1, 3)
    kv = torch.cat([memory, memory.tanh()], dim=-1).reshape(B, memory.shape[1], H, -1).permute(0, 2, 1, 3)
    k, v = kv.chunk(2, dim=-1)
    values = F.scaled_dot_product_attention(q, k, v)
    if fixed:
        values = values.permute(0, 2, 1, 3)
    values = values.reshape(x.shape)  # here
    return values


def folded_heads_put_back_as_tokens(x, fixed=False):
    bsz, tgt_len, embed_dim = x.shape
    q = x.transpose(0, 1)
    q = q.contiguous().view(tgt_len, bsz * H, embed_dim // H).transpose(0, 1)
    weights = torch.bmm(q, q.transpose(1, 2)).softmax(dim=-1)
    out = torch.bmm(weights, q)
    if fixed:
        return out.view(bsz, H, tgt_len, -1).transpose(1, 2).contiguous().view(bsz, tgt_len, embed_dim)
    return out.view(bsz, tgt_len, embed_dim)  # here


def keys_summed_over_heads(x, fixed=False):
    q = k = v = x.unflatten(-1, (H, -1)).exp()  # (B, T, H, K)
    states = torch.einsum("bthk,bthv->bthkv", k, v).cumsum(1)
    out = torch.einsum("bthk,bthkv->bthv", q, states)
    k = k.cumsum(1) if fixed else k.cumsum(-2)  # here
    return (out / (q * k).sum(-1, keepdim=True)).flatten(-2)


# ── local attention and windows ───────────────────────────────────────────────────────────────────


def windows_stacked_behind_the_features(x, fixed=False):
    b, n, d = x.shape
    padded = F.pad(x, (0, 0, 1, 1))
    windows = torch.stack([padded[:, i : i + 3] for i in range(n)], dim=-1)  # (b, 3, d, n)
    if fixed:
        windows = windows.permute(0, 1, 3, 2)
    windows = windows.reshape(b, 3, n, d)  # here
    weights = torch.einsum("bnd,bwnd->bnw", x, windows).softmax(-1)
    return torch.einsum("bnw,bwnd->bnd", weights, windows)


def windows_put_back_with_the_same_index(x, fixed=False):
    b, n, d = x.shape
    index = torch.arange(n).view(-1, 2, 3).transpose(0, 1).reshape(-1).roll(1)
    windows = x[:, index].view(b * 2, n // 2, d)
    out = attend(windows, windows, windows).view(b, n, d)
    out = out[:, index.argsort()] if fixed else out[:, index]
    return x + out  # here


# ── examples ──────────────────────────────────────────────────────────────────────────────────────


def softmax_over_the_folded_batch(query, context, fixed=False):
    b, n, _ = query.shape
    scores = torch.bmm(query, context.transpose(1, 2)).view(b * n, -1)
    weights = scores.softmax(-1) if fixed else scores.softmax(0)  # here
    return torch.bmm(weights.view(b, n, -1), context)


def tokens_shifted_across_examples(x, fixed=False):
    b, n, d = x.shape
    return x.roll(1, dims=1) if fixed else x.reshape(b * n, d).roll(1, dims=0).view(b, n, d)  # here


def pooled_text_of_another_image(latents, pooled, fixed=False):
    images = 3
    latents = latents.repeat_interleave(images, dim=0)
    repeated = pooled.repeat(1, images) if fixed else pooled.repeat(images, 1)
    repeated = repeated.view(len(pooled) * images, -1)
    modulated = latents * (1 + repeated[:, None])  # here
    return attend(modulated, modulated, modulated)


def memory_repeated_in_another_order_than_beams(target, memory, fixed=False):
    beams = 3
    target = target[:, None].expand(-1, beams, -1, -1).flatten(0, 1)
    repeated = memory.repeat_interleave(beams, 0) if fixed else memory.repeat(beams, 1, 1)
    return merge(F.scaled_dot_product_attention(split(target), split(repeated), split(repeated)))  # here


def mask_left_behind_when_beams_are_reordered(x, mask, fixed=False):
    order = torch.tensor([1, 0])
    x = x.index_select(0, order)
    if fixed:
        mask = mask.index_select(0, order)
    scores = (x @ x.mT).masked_fill(~mask[:, None], HIDDEN)  # here
    return scores.softmax(-1) @ x


def last_states_viewed_as_one_row_an_example(x, fixed=False):
    torch.manual_seed(0)
    encoder = nn.GRU(D, 4, num_layers=2, batch_first=True)
    _, hidden = encoder(x)  # (layers, b, 4)
    if fixed:
        hidden = hidden.transpose(0, 1)
    return hidden.reshape(len(x), 8)  # here


def attention_among_examples(x, fixed=False):
    q = k = v = x.unflatten(-1, (H, -1))
    if fixed:
        scores = torch.einsum("bihd,bjhd->bhij", q, k)
        return torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v).flatten(-2)
    scores = torch.einsum("ibhd,jbhd->bhij", q, k)  # here
    return torch.einsum("bhij,jbhd->ibhd", scores.softmax(-1), v).flatten(-2)


def moments_of_all_examples(x, fixed=False):
    over = (-1,) if fixed else (0, 1)
    mean = x.mean(over, keepdim=True)
    variance = ((x - mean) ** 2).mean(over, keepdim=True)  # here
    return (x - mean) / (variance + 1e-5).sqrt()


# ── images, videos and sound ──────────────────────────────────────────────────────────────────────


def rows_and_columns_of_an_image_exchanged(x, fixed=False):
    b, c, h, w, dim = x.shape
    x = x.permute(0, 1, 4, 2, 3) if fixed else x.permute(0, 1, 3, 2, 4)
    return x.reshape(b, c * dim, h, w)  # here


def frames_and_channels_exchanged(x, fixed=False):
    b, t, c, h, w = x.shape
    frames = x.flatten(0, 1).relu()
    video = frames.view(b, t, c, h, w).transpose(1, 2) if fixed else frames.view(b, c, t, h, w)  # here
    return video.mean((-2, -1))


def feature_map_viewed_as_pixels(x, fixed=False):
    b, c, h, w = x.shape
    pixels = x.flatten(2).transpose(1, 2) if fixed else x.view(b, h * w, c)  # here
    return attend(pixels, pixels, pixels)


def channels_and_frequencies_before_time(x, fixed=False):
    b, _, t, _ = x.shape
    if fixed:
        return x.permute(0, 2, 1, 3).reshape(b, t, -1, 1)
    return x.reshape(b, -1, t, 1)  # here


HEADS = "heads are not followed: their number stands in the program, and no input grows with it"
POOLED = torch.linspace(-1, 1, B * D).view(B, D) ** 3
POSITIONS = torch.linspace(-1, 1, N * D).view(N, D) ** 3
OTHER = torch.linspace(-1, 1, B * 4 * D).view(B, 4, D) ** 3
MORE_THREADS = [
    Thread(f"{GITHUB}zhouhaoyi/Informer2020/issues/100", HeadsMergedByView),
    Thread(f"{GITHUB}hyunwoongko/transformer/issues/15", HeadsSplitInTheOrderOfTheResult),
    Thread(f"{GITHUB}MCG-NKU/E2FGVI/issues/47", only_keys_split_by_view, more=(OTHER,)),
    Thread(f"{GITHUB}ajhalthor/Transformer-Neural-Network/pull/4", values_of_another_text_merged, more=(OTHER,)),
    Thread(f"{GITHUB}meta-pytorch/opacus/pull/825", folded_heads_put_back_as_tokens),
    Thread(f"{GITHUB}fla-org/flash-linear-attention/pull/594", keys_summed_over_heads, limit=HEADS),
    Thread(f"{GITHUB}apple/ml-capsules-inverted-attention-routing/pull/1", windows_stacked_behind_the_features),
    Thread(f"{GITHUB}lablup/mlxcel/issues/1600", windows_put_back_with_the_same_index, (B, 6, D)),
    Thread(f"{GITHUB}PetrochukM/PyTorch-NLP/issues/2", softmax_over_the_folded_batch, more=(OTHER,)),
    Thread(f"{GITHUB}verl-project/verl/issues/6475", tokens_shifted_across_examples),
    Thread(f"{GITHUB}huggingface/diffusers/pull/9280", pooled_text_of_another_image, more=(POOLED,)),
    Thread(
        f"{GITHUB}jadore801120/attention-is-all-you-need-pytorch/issues/28",
        memory_repeated_in_another_order_than_beams,
        more=(OTHER,),
    ),
    Thread(f"{GITHUB}facebookresearch/fairseq2/pull/74", mask_left_behind_when_beams_are_reordered, more=(PADDED,)),
    Thread(f"{GITHUB}timbmg/Sentence-VAE/issues/15", last_states_viewed_as_one_row_an_example),
    Thread(f"{GITHUB}songyangco/GETNext/issues/2", attention_among_examples),
    Thread(f"{GITHUB}Kyubyong/transformer/issues/40", moments_of_all_examples),
    Thread(
        f"{GITHUB}ehoogeboom/multinomial_diffusion/issues/1",
        rows_and_columns_of_an_image_exchanged,
        (B, 3, 5, 4, 7),
        tokens=2,
    ),
    Thread(f"{GITHUB}dmenig/Pytorch-StNet/issues/2", frames_and_channels_exchanged, (B, N, 3, 4, 7), tokens=1),
    Thread(f"{GITHUB}ohtlab/headpose-fsanet-pytorch/issues/4", feature_map_viewed_as_pixels, (B, 3, N, 4)),
    Thread(f"{GITHUB}vitrioil/Speech-Separation/issues/4", channels_and_frequencies_before_time, (B, 3, N, 4)),
]


# ── programs without a mistake ────────────────────────────────────────────────────────────────────


def keys_and_values_shared_in_turn(x):
    """Query head h uses key head h % 3. It is another order than the usual one, and as good."""
    q = x.unflatten(-1, (2 * H, -1)).transpose(1, 2)
    kv = x[..., : D // 2].unflatten(-1, (H, -1)).transpose(1, 2).repeat(1, 2, 1, 1)
    return merge((q @ kv.mT).softmax(-1) @ kv)


def pixels_of_a_patch_in_another_order(x):
    b, n, _ = x.shape
    patches = x.reshape(b, n // 2, 2, 2, 2, 3)
    image = torch.einsum("nhwpqc->nchpwq", patches)
    return image.reshape(b, 3, n, 4)


def masks_repeated_for_each_head(x, mask):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(D, H, batch_first=True)
    n = x.shape[1]
    hidden = (~mask).unsqueeze(1).repeat(1, n * H, 1).view(-1, n, n)
    return layer(x, x, x, attn_mask=hidden)[0]


def relative_positions_shifted_by_view(x, positions):
    b, n, _ = x.shape
    scores = x @ positions.mT
    padded = torch.cat([torch.zeros(b, n, 1), scores], dim=-1)
    shifted = padded.view(b, n + 1, n)[:, 1:].reshape(b, n, n)
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1)
    return (x @ x.mT + shifted).masked_fill(hidden, HIDDEN).softmax(-1) @ x


def last_tokens_kept_in_a_rolling_cache(x):
    b, n, d = x.shape
    keys, out = torch.zeros(b, 3, d), []
    for t in range(n):
        keys = keys.roll(-1, dims=1)
        keys[:, -1] = x[:, t]
        seen = keys[:, -min(t + 1, 3) :]
        out.append(attend(x[:, t : t + 1], seen, seen))
    return torch.cat(out, dim=1)


def half_of_the_heads_shifted_by_half_a_group(x):
    b, n, d = x.shape
    heads = x.view(b, n, 2, d // 2)
    shifted = torch.cat([heads[:, :, :1], heads[:, :, 1:].roll(-1, dims=1)], dim=2)
    groups = shifted.reshape(b * n // 2, 2, 2, d // 2).transpose(1, 2)
    out = attend(groups, groups, groups).transpose(1, 2).reshape(b, n, 2, d // 2)
    return torch.cat([out[:, :, :1], out[:, :, 1:].roll(1, dims=1)], dim=2).flatten(2)


def four_pixels_merged_into_a_token(x):
    b, n, d = x.shape
    image = x.view(b, 4, n // 4, d)
    halves = image.reshape(b, 2, 2, n // 8, 2, d).permute(0, 1, 3, 2, 4, 5)
    return halves.reshape(b, n // 4, 4 * d)


def keys_of_windows(x):
    windows = F.pad(x, (0, 0, 1, 1)).unfold(1, 3, 1)  # (b, n, d, 3)
    weights = torch.einsum("bnd,bndw->bnw", x, windows).softmax(-1)
    return torch.einsum("bnw,bndw->bnd", weights, windows)


def image_made_into_tokens(x):
    tokens = x.flatten(2).unsqueeze(0).transpose(0, 3).squeeze(3)  # (h * w, b, c)
    torch.manual_seed(0)
    return nn.MultiheadAttention(D, H)(tokens, tokens, tokens)[0]


def neighbours_joined_by_a_convolution(x):
    torch.manual_seed(0)
    convolution = nn.Conv1d(D, D, 3, padding=1, groups=D)
    x = x + convolution(x.mT).mT
    return attend(x, x, x)


MORE_RIGHT = [
    Thread(f"{GITHUB}onnx/onnx/pull/7274", keys_and_values_shared_in_turn),
    Thread(f"{GITHUB}cloneofsimo/minRF/issues/6", pixels_of_a_patch_in_another_order, (B, 6, D)),
    Thread(f"{GITHUB}reczoo/FuxiCTR/issues/130", masks_repeated_for_each_head, more=(PADDED,)),
    Thread(f"{GITHUB}kimiyoung/transformer-xl/issues/138", relative_positions_shifted_by_view, more=(POSITIONS,)),
    Thread(f"{GITHUB}huggingface/transformers/issues/37574", last_tokens_kept_in_a_rolling_cache),
    Thread(f"{GITHUB}JIA-Lab-research/LongLoRA/issues/182", half_of_the_heads_shifted_by_half_a_group, (B, 6, D)),
    Thread(f"{GITHUB}OpenGVLab/InternVL/issues/962", four_pixels_merged_into_a_token, (B, 16, D)),
    Thread(f"{GITHUB}leaderj1001/Stand-Alone-Self-Attention/issues/11", keys_of_windows),
    Thread(f"{GITHUB}ultralytics/yolov5/issues/5318", image_made_into_tokens, (B, D, 2, 5), tokens=3),
    Thread(f"{GITHUB}lucidrains/soundstorm-pytorch/issues/26", neighbours_joined_by_a_convolution),
]
