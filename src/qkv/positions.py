"""Where a token stands, as the book derives it: added to the input, turned into q and k, or added to scores.

Positions count from 0. Features come in pairs; pair i turns by ω_i = base^(−2i/d) radians a step.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def pair_frequencies(d: int, base: float = 10000.0) -> Tensor:
    """Say how fast each pair of features turns: ω_i = base^(−2i/d), i = 0 … d/2 − 1.

    Returns:
        (d/2,) float64, in radians a position: 1 for the first pair, nearly 1/base for the last
    Raises:
        ValueError: d is odd.
    """
    if d < 2 or d % 2:
        raise ValueError(f"expected an even number of features; got {d}")
    return base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)


# ── added to the input ────────────────────────────────────────────────────────────────────────────


def sinusoidal_encoding(n: int, d_model: int, base: float = 10000.0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Encode positions 0 … n − 1 by clock hands, each pair slower than the one before.

    PE[t, 2i] = sin(t ω_i),  PE[t, 2i + 1] = cos(t ω_i), [Vaswani et al., 2017, section 3.5].

    Returns:
        (n, d_model)
    Raises:
        ValueError: d_model is odd.
    """
    positions = torch.arange(n, dtype=torch.float64)
    angles = torch.outer(positions, pair_frequencies(d_model, base))  # (n, d_model/2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).to(dtype)


def shift_matrix(k: int, d_model: int, base: float = 10000.0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Find the one matrix M that moves every encoding k positions on: PE[t + k] = M PE[t].

    Each pair (sin, cos) turns by k ω_i: M has the blocks [[cos, sin], [−sin, cos]] of that
    angle on its diagonal, and zeros elsewhere.

    Returns:
        (d_model, d_model), orthogonal
    Raises:
        ValueError: d_model is odd.
    """
    angles = k * pair_frequencies(d_model, base)
    sin, cos = angles.sin(), angles.cos()
    rows = torch.stack([cos, sin, -sin, cos], dim=-1).unflatten(-1, (2, 2))  # (d_model/2, 2, 2)
    return torch.block_diag(*rows).to(dtype)


class LearnedPositions(nn.Module):
    """Learn one vector a position, as BERT and GPT-2 do: nothing is known past the last one.

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
        """Give the vectors of positions start … end − 1, (end − start, d_model)."""
        if end > len(self.table):
            raise ValueError(f"expected at most {len(self.table)} positions; got {end}")
        return self.table[start:end]


# ── turned into queries and keys ──────────────────────────────────────────────────────────────────


def apply_rope(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Turn each pair of neighbouring features by an angle that grows with the position.

    (x_2i, x_2i+1) becomes (x_2i cos θ − x_2i+1 sin θ, x_2i sin θ + x_2i+1 cos θ), where
    θ = position · ω_i. Then q · k depends on the two positions by their difference alone
    [Su et al., 2021, eq. 34].

    Shapes:
        x (..., n, d)   positions (n,) of integers
    Returns:
        (..., n, d)
    Raises:
        ValueError: d is odd, or there is not one position for each row.
    """
    cos, sin = _turns(x, positions, base)
    even, odd = x[..., 0::2], x[..., 1::2]  # (..., n, d/2)
    turned = [even * cos - odd * sin, even * sin + odd * cos]
    return torch.stack(turned, dim=-1).flatten(-2)


def apply_rope_half_split(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Turn pairs as apply_rope does, where pair i is (x_i, x_i+d/2): the layout of Llama in transformers.

    Shapes, returns and errors as for apply_rope.
    """
    cos, sin = _turns(x, positions, base)
    first, second = x.chunk(2, dim=-1)  # (..., n, d/2)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def to_half_split(x: Tensor) -> Tensor:
    """Reorder features from neighbouring pairs to halves: x_0, x_2, …, x_1, x_3, …

    apply_rope_half_split(to_half_split(x), p) is to_half_split(apply_rope(x, p)).

    Shapes:
        x (..., d)
    Returns:
        (..., d)
    """
    return torch.cat([x[..., 0::2], x[..., 1::2]], dim=-1)


def _turns(x: Tensor, positions: Tensor, base: float) -> tuple[Tensor, Tensor]:
    """Give the cosine and sine of each row's and pair's angle, (n, d/2), in x's dtype."""
    if positions.shape != (x.shape[-2],):
        raise ValueError(
            f"expected one position a row, ({x.shape[-2]},), for x {tuple(x.shape)}; "
            f"got positions {tuple(positions.shape)}"
        )
    # float64 until here: in float32 the angle of position 100,000 would be off by 0.004.
    angles = torch.outer(positions.cpu(), pair_frequencies(x.shape[-1], base))
    return angles.cos().to(x), angles.sin().to(x)


# ── added to the scores ───────────────────────────────────────────────────────────────────────────


def alibi_bias(n_heads: int, n: int) -> Tensor:
    """Lower a score by how far apart query and key are, each head at its own rate.

    bias[h, i, j] = −slope_h · |i − j|, with slope_h = 2^(−8h/H) for h = 1 … H
    [Press et al., 2022]. It is added to scaled scores, before the softmax.

    Returns:
        (H, n, n)
    """
    slopes = 2.0 ** (-8.0 * torch.arange(1, n_heads + 1) / n_heads)
    positions = torch.arange(n)
    distance = (positions[:, None] - positions[None, :]).abs()  # (n, n)
    return -slopes[:, None, None] * distance


def relative_bias(table: Tensor, n: int) -> Tensor:
    """Look up a learned bias by how far the key lies from the query.

    bias[..., i, j] = table[..., clip(j − i, −r, r) + r]: past r positions, all distances
    count as r. It is a number that is added to the score, as in T5 [Raffel et al., 2020], where
    ranges of far distances share one. Shaw et al., 2018, clip in the same way, but learn a
    vector for each distance and add it to the key.

    Shapes:
        table (..., 2r + 1)
    Returns:
        (..., n, n)
    """
    reach = table.shape[-1] // 2
    positions = torch.arange(n, device=table.device)
    offset = positions[None, :] - positions[:, None]  # (n, n), key minus query
    return table[..., offset.clamp(-reach, reach) + reach]
