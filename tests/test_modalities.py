"""Pictures, graphs, sounds and sets: against torch's own layers, and by what must and must not change."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from qkv.modalities import (
    convolution_as_attention,
    frame_mask,
    graph_attention,
    graph_mask,
    neighbour_mean,
    offset_scores,
    patchify,
    unpatchify,
)

EDGES, N = [(0, 1), (3, 1), (3, 4), (5, 2)], 7  # node 6 stands alone


def normal(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def assert_near(seen, expected, atol=1e-12):
    torch.testing.assert_close(seen, expected, atol=atol, rtol=0)


# ── pictures ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("patch", [1, 2, 4])
def test_patches_are_those_of_torchs_unfold(patch):
    image = normal(0, 3, 8, 12)
    assert torch.equal(patchify(image, patch), F.unfold(image[None], patch, stride=patch)[0].T)


def test_patches_go_row_by_row():
    image = torch.arange(24.0).reshape(1, 4, 6)
    assert patchify(image, 2)[:2].tolist() == [[0, 1, 6, 7], [2, 3, 8, 9]]
    assert patchify(image, 2)[3].tolist() == [12, 13, 18, 19]


def test_patches_are_put_together_again():
    image = normal(0, 3, 8, 12)
    assert torch.equal(unpatchify(patchify(image, 4), 4, 8, 12), image)


@pytest.mark.parametrize("shape", [(3, 8, 10), (3, 10, 8)])
def test_a_picture_that_does_not_divide_is_refused(shape):
    with pytest.raises(ValueError, match="multiples of 4; got"):
        patchify(normal(0, *shape), 4)


@pytest.mark.parametrize("size", [1, 3, 5])
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_a_convolution_is_attention_by_position_alone(size, dtype, atol):
    image, kernel = normal(0, 2, 6, 9).to(dtype), normal(1, 4, 2, size, size).to(dtype)
    expected = F.conv2d(image[None], kernel, padding=size // 2)[0]
    assert_near(convolution_as_attention(image, kernel), expected, atol)


def test_each_head_of_a_convolution_looks_at_one_pixel():
    weights = offset_scores(3, 4).softmax(-1)
    assert weights.shape == (9, 12, 30)
    assert set(weights.unique().tolist()) == {0.0, 1.0}
    blurred = offset_scores(3, 4, sharpness=1.0).softmax(-1)
    assert blurred.amax() < 0.6


# ── graphs ────────────────────────────────────────────────────────────────────────────────────────


def test_edges_go_both_ways_and_nodes_see_themselves():
    expected = [[i == j or (i, j) in EDGES or (j, i) in EDGES for j in range(N)] for i in range(N)]
    assert graph_mask(EDGES, N).tolist() == expected
    without = graph_mask(EDGES, N, self_loops=False)
    assert not without.diagonal().any()
    assert torch.equal(without | torch.eye(N, dtype=torch.bool), graph_mask(EDGES, N))
    assert not graph_mask([], N, self_loops=False).any()
    assert graph_mask([], N).dtype == torch.bool


def test_the_mean_of_neighbours_is_taken_with_each_in_equal_parts():
    x = normal(0, N, 5)
    seen = neighbour_mean(x, graph_mask(EDGES, N))
    assert_near(seen[1], (x[0] + x[1] + x[3]) / 3)
    assert_near(seen[6], x[6])
    lost = neighbour_mean(x, graph_mask(EDGES, N, self_loops=False))
    assert_near(lost[1], (x[0] + x[3]) / 2)  # without self-loops a node forgets itself
    assert lost[6].abs().max() == 0


def test_graph_attention_is_the_published_formula():
    x, w, a = normal(0, N, 5), normal(1, 5, 4), normal(2, 8)
    mask = graph_mask(EDGES, N)
    out, weights = graph_attention(x, w, a[:4], a[4:], mask)
    for i in range(N):
        seen = [j for j in range(N) if mask[i, j]]
        scores = torch.stack([F.leaky_relu(a @ torch.cat([x[i] @ w, x[j] @ w]), 0.2) for j in seen])
        assert_near(weights[i, seen], scores.softmax(0))
        assert_near(out[i], scores.softmax(0) @ (x[seen] @ w))
    assert weights[~mask].abs().max() == 0


def test_renaming_the_nodes_renames_the_outputs():
    x, w, asks, offers, mask = normal(0, N, 5), normal(1, 5, 4), normal(2, 4), normal(3, 4), graph_mask(EDGES, N)
    order = torch.randperm(N, generator=torch.Generator().manual_seed(4))
    out, _ = graph_attention(x, w, asks, offers, mask)
    renamed, _ = graph_attention(x[order], w, asks, offers, mask[order][:, order])
    assert_near(renamed, out[order])


# ── sounds and sets ───────────────────────────────────────────────────────────────────────────────


def test_frames_see_those_that_are_near_in_time():
    mask = frame_mask(20, reach=0.03)
    assert mask.tolist() == [[abs(i - j) <= 3 for j in range(20)] for i in range(20)]
    assert frame_mask(20, reach=0.3).all()
    assert torch.equal(frame_mask(20, 0.1, hop=0.05), frame_mask(20, 0.02))
