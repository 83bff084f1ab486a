"""Attention on pictures, sounds, graphs and sets: how tokens are made, and masks of who may see whom."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.attention import masked_softmax, softmax, weighted_sum, window_mask

# ── pictures ──────────────────────────────────────────────────────────────────────────────────────


def patchify(image: Tensor, patch: int) -> Tensor:
    """Cut a picture into squares and flatten each to a row of numbers, a token [Dosovitskiy et al., 2021].

    Shapes:
        image (C, H, W)
    Returns:
        (n_patches, C · patch²), patches row by row, each flattened as (C, patch, patch)
    Raises:
        ValueError: the height or the width is not a multiple of the patch.
    """
    channels, height, width = image.shape
    if height % patch or width % patch:
        raise ValueError(f"expected a height and a width that are multiples of {patch}; got {height} and {width}")
    tiles = image.reshape(channels, height // patch, patch, width // patch, patch)
    return tiles.permute(1, 3, 0, 2, 4).reshape(-1, channels * patch * patch)


def unpatchify(patches: Tensor, patch: int, height: int, width: int) -> Tensor:
    """Put the squares together again: the inverse of patchify.

    Shapes:
        patches (n_patches, C · patch²)
    Returns:
        (C, height, width)
    """
    tiles = patches.reshape(height // patch, width // patch, -1, patch, patch)
    return tiles.permute(2, 0, 3, 1, 4).reshape(-1, height, width)


def offset_scores(height: int, width: int, reach: int = 1, sharpness: float = 1000.0) -> Tensor:
    """Return scores that depend on positions only: head h prefers the pixel at the h-th offset.

    score = −sharpness · |position of the key − position of the query − offset|²
    [Cordonnier et al., 2020]. Any other pixel is at least 1 away from the offset, so its weight
    is at most exp(−sharpness), which is exactly 0 for a sharpness of 1,000. The keys are the
    pixels of the picture and of a border of width `reach` around it. Offsets are −reach … reach
    down and across; like queries and keys, they are in order row by row.

    Returns:
        ((2 · reach + 1)², height · width, (height + 2 · reach) · (width + 2 · reach))
    """
    reached = torch.arange(-reach, reach + 1)
    offsets = torch.cartesian_prod(reached, reached)  # (heads, 2): down, across
    queries = torch.cartesian_prod(torch.arange(height), torch.arange(width))
    keys = torch.cartesian_prod(torch.arange(-reach, height + reach), torch.arange(-reach, width + reach))
    away = keys[None, None] - queries[None, :, None] - offsets[:, None, None]  # (heads, n_q, n_k, 2)
    return -sharpness * away.square().sum(-1)


def convolution_as_attention(image: Tensor, kernel: Tensor) -> Tensor:
    """Compute a convolution as attention with one head for each offset of the kernel.

    The scores depend on positions only, so each head attends to the one pixel at its offset. The C channels of that
    pixel are multiplied by the kernel's matrix for the offset, which takes the place of the head's rows of W_O.

    Shapes:
        image (C, H, W)   kernel (C_out, C, size, size), size odd
    Returns:
        (C_out, H, W), equal to F.conv2d(image, kernel, padding=size // 2)
    """
    _, height, width = image.shape
    reach = kernel.shape[-1] // 2
    pixels = F.pad(image, [reach] * 4).flatten(1).T  # (n_k, C)
    weights = softmax(offset_scores(height, width, reach).to(pixels))  # (heads, n_q, n_k)
    bands = kernel.flatten(2).permute(2, 1, 0)  # (heads, C, C_out)
    out = (weighted_sum(weights, pixels) @ bands).sum(0)  # (n_q, C_out)
    return out.T.unflatten(-1, (height, width))


# ── graphs ────────────────────────────────────────────────────────────────────────────────────────


def graph_mask(edges: list[tuple[int, int]], n: int, self_loops: bool = True) -> Tensor:
    """Let each node see its neighbours, in both directions of an edge, and with `self_loops` itself.

    Returns:
        bool (n, n), symmetric
    """
    mask = torch.eye(n, dtype=torch.bool) if self_loops else torch.zeros(n, n, dtype=torch.bool)
    for i, j in edges:
        mask[i, j] = mask[j, i] = True
    return mask


def neighbour_mean(x: Tensor, mask: Tensor) -> Tensor:
    """Average the features that each node sees: attention whose scores are all equal.

    Shapes:
        x (..., n, d)   mask (n, n) bool
    Returns:
        (..., n, d), zeros for a node that sees no node
    Raises:
        ValueError: the mask is not boolean.
    """
    return weighted_sum(masked_softmax(torch.zeros(mask.shape).to(x), mask), x)


def graph_attention(x: Tensor, w: Tensor, asks: Tensor, offers: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Mix the features that each node sees, with the additive score of graph attention networks.

    score[i, j] = leaky_relu(asks · x_i W + offers · x_j W), slope 0.2 [Veličković et al., 2018].

    Shapes:
        x (..., n, d)   w (d, d_v)   asks, offers (d_v,)   mask (n, n) bool
    Returns:
        out (..., n, d_v), weights (..., n, n)
    Raises:
        ValueError: the mask is not boolean, or does not fit.
    """
    h = x @ w
    scores = F.leaky_relu((h @ asks).unsqueeze(-1) + (h @ offers).unsqueeze(-2), 0.2)
    weights = masked_softmax(scores, mask)
    return weighted_sum(weights, h), weights


# ── sounds and sets ───────────────────────────────────────────────────────────────────────────────


def frame_mask(n_frames: int, reach: float, hop: float = 0.01) -> Tensor:
    """Let each frame of a sound see the frames that start at most `reach` seconds before or after it.

    `hop` is the time from one frame to the next, in seconds. Ten seconds with hops of 10 ms are
    1,000 frames, which would have a million weights without the mask.

    Returns:
        bool (n_frames, n_frames)
    """
    return window_mask(n_frames, int(reach / hop + 1e-9) + 1, causal=False)
