"""Position encodings, as the book derives them: added to the input, rotations of q and k, or added to scores.

Positions count from 0. Features come in pairs; pair i rotates by ω_i = base^(−2i/d) radians per position.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def pair_frequencies(d: int, base: float = 10000.0) -> Tensor:
    """Return the angular frequency of each pair of features: ω_i = base^(−2i/d), i = 0 … d/2 − 1.

    Returns:
        (d/2,) float64, in radians per position: 1 for the first pair, nearly 1/base for the last
    Raises:
        ValueError: d is odd, or below 2.
    """
    if d < 2 or d % 2:
        raise ValueError(f"expected an even number of features; got {d}")
    return base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)


# ── added to the input ────────────────────────────────────────────────────────────────────────────


def sinusoidal_encoding(n: int, d_model: int, base: float = 10000.0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Encode positions 0 … n − 1 by sines and cosines, each pair slower than the one before.

    PE[t, 2i] = sin(t ω_i),  PE[t, 2i + 1] = cos(t ω_i), [Vaswani et al., 2017, section 3.5].

    Returns:
        (n, d_model)
    Raises:
        ValueError: d_model is odd, or below 2.
    """
    positions = torch.arange(n, dtype=torch.float64)
    angles = torch.outer(positions, pair_frequencies(d_model, base))  # (n, d_model/2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).to(dtype)


def shift_matrix(k: int, d_model: int, base: float = 10000.0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return the matrix M that moves every encoding k positions on: PE[t + k] = M PE[t].

    Each pair (sin, cos) rotates by k ω_i: M has the blocks [[cos, sin], [−sin, cos]] of that
    angle on its diagonal, and zeros elsewhere.

    Returns:
        (d_model, d_model), orthogonal
    Raises:
        ValueError: d_model is odd, or below 2.
    """
    angles = k * pair_frequencies(d_model, base)
    sin, cos = angles.sin(), angles.cos()
    rows = torch.stack([cos, sin, -sin, cos], dim=-1).unflatten(-1, (2, 2))  # (d_model/2, 2, 2)
    return torch.block_diag(*rows).to(dtype)


class LearnedPositions(nn.Module):
    """A table with one learned vector for each position up to n_max, as in BERT and GPT-2.

    Shapes:
        x (..., n, d_model)
    Returns:
        x plus the rows for positions start … start + n − 1
    Raises:
        ValueError: the sequence reaches past n_max.
    """

    def __init__(self, n_max: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(n_max, d_model) * 0.02)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        return x + self.rows(start, start + x.shape[-2])

    def rows(self, start: int, end: int) -> Tensor:
        """Return the vectors of positions start … end − 1, (end − start, d_model).

        Raises:
            ValueError: end is larger than n_max.
        """
        if end > len(self.table):
            raise ValueError(f"expected at most {len(self.table)} positions; got {end}")
        return self.table[start:end]


# ── rotations of queries and keys ─────────────────────────────────────────────────────────────────


def apply_rope(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Rotate each pair of neighbouring features by an angle that grows with the position.

    (x_2i, x_2i+1) becomes (x_2i cos θ − x_2i+1 sin θ, x_2i sin θ + x_2i+1 cos θ), where
    θ = position · ω_i. Then q · k depends only on the difference of the two positions
    [Su et al., 2021, eq. 34].

    Shapes:
        x (..., n, d)   positions (n,) of integers
    Returns:
        (..., n, d)
    Raises:
        ValueError: d is odd, or the number of positions is not the number of rows.
    """
    cos, sin = _cos_and_sin(x, positions, base)
    even, odd = x[..., 0::2], x[..., 1::2]  # (..., n, d/2)
    turned = [even * cos - odd * sin, even * sin + odd * cos]
    return torch.stack(turned, dim=-1).flatten(-2)


def apply_rope_half_split(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Rotate as apply_rope does, but with (x_i, x_i+d/2) as pair i: the layout of Llama in transformers.

    Shapes, returns and errors as for apply_rope.
    """
    cos, sin = _cos_and_sin(x, positions, base)
    first, second = x.chunk(2, dim=-1)  # (..., n, d/2)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def to_half_split(x: Tensor) -> Tensor:
    """Reorder features from neighbouring pairs to halves: x_0, x_2, …, x_1, x_3, …

    apply_rope_half_split(to_half_split(x), p) equals to_half_split(apply_rope(x, p)).

    Shapes:
        x (..., d)
    Returns:
        (..., d)
    """
    return torch.cat([x[..., 0::2], x[..., 1::2]], dim=-1)


def _cos_and_sin(x: Tensor, positions: Tensor, base: float) -> tuple[Tensor, Tensor]:
    """Return the cosine and sine of the angle of each row and pair, (n, d/2), in the dtype of x.

    Raises:
        ValueError: there is not one position for each row of x, or d is odd or below 2.
    """
    if positions.shape != (x.shape[-2],):
        raise ValueError(
            f"expected one position a row, ({x.shape[-2]},), for x {tuple(x.shape)}; "
            f"got positions {tuple(positions.shape)}"
        )
    # In float64, because in float32 the angle of position 100,000 would be off by 0.004.
    angles = torch.outer(positions.cpu(), pair_frequencies(x.shape[-1], base))
    return angles.cos().to(x), angles.sin().to(x)


# ── added to the scores ───────────────────────────────────────────────────────────────────────────


def alibi_bias(n_heads: int, n: int) -> Tensor:
    """Return a bias that lowers a score by the distance of query and key, at a different rate in each head.

    bias[h, i, j] = −slope_h · |i − j|, with slope_h = 2^(−8h/H) for h = 1 … H
    [Press et al., 2022]. It is added to the scaled scores, before the softmax.

    Returns:
        (H, n, n)
    """
    slopes = 2.0 ** (-8.0 * torch.arange(1, n_heads + 1) / n_heads)
    positions = torch.arange(n)
    distance = (positions[:, None] - positions[None, :]).abs()  # (n, n)
    return -slopes[:, None, None] * distance


def relative_bias(table: Tensor, n: int) -> Tensor:
    """Look up a learned bias by the distance of the key from the query.

    bias[..., i, j] = table[..., clip(j − i, −r, r) + r]: all distances past r count as r. The
    bias is added to the score, as in T5 [Raffel et al., 2020], where ranges of far distances
    share one number. Shaw et al., 2018, clip in the same way, but learn a vector for each
    distance and add it to the key.

    Shapes:
        table (..., 2r + 1)
    Returns:
        (..., n, n)
    """
    reach = table.shape[-1] // 2
    positions = torch.arange(n, device=table.device)
    offset = positions[None, :] - positions[:, None]  # (n, n), key minus query
    return table[..., offset.clamp(-reach, reach) + reach]
