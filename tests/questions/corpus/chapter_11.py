"""Answers to the questions of chapter 11."""

import torch
import torch.nn.functional as F

from tests.questions.corpus.label import right, wrong


@right("11.1", "F.unfold")
def patches_unfold(image, patch):
    _, h, w = image.shape
    if h % patch or w % patch:
        raise ValueError("image dimensions must be divisible by the patch size")
    return F.unfold(image[None].float(), patch, stride=patch)[0].T.to(image.dtype)


@right("11.1", "Tensor.unfold twice")
def patches_unfold_twice(image, patch):
    if image.shape[1] % patch != 0 or image.shape[2] % patch != 0:
        raise ValueError
    tiles = image.unfold(1, patch, patch).unfold(2, patch, patch)
    return tiles.permute(1, 2, 0, 3, 4).flatten(2).flatten(0, 1)


@wrong("11.1", "MAE and vit-pytorch, (p q c)", "channels-last")
def patches_mae(image, patch):
    c, h, w = image.shape
    if h % patch or w % patch:
        raise ValueError
    x = image.reshape(c, h // patch, patch, w // patch, patch)
    return torch.einsum("chpwq->hwpqc", x).reshape(-1, patch * patch * c)


@wrong("11.1", "assert, as in MAE", "assertion-for-an-error", "rest-not-refused")
def patches_assert(image, patch):
    c, h, w = image.shape
    assert h % patch == 0
    assert w % patch == 0
    x = image.reshape(c, h // patch, patch, w // patch, patch)
    return x.permute(1, 3, 0, 2, 4).reshape(-1, c * patch * patch)


@right("11.2", "scatter by two index lists")
def graph_scatter(edges, n, self_loops=True):
    mask = torch.zeros(n, n, dtype=torch.bool)
    if edges:
        i, j = torch.tensor(edges).T
        mask[i, j] = True
        mask[j, i] = True
    return mask | torch.eye(n, dtype=torch.bool) if self_loops else mask


@wrong("11.2", "PyG edge_index, one direction", "one-way-only")
def graph_directed(edges, n, self_loops=True):
    mask = torch.eye(n, dtype=torch.bool) if self_loops else torch.zeros(n, n, dtype=torch.bool)
    for i, j in edges:
        mask[i, j] = True
    return mask


@wrong("11.2", "an adjacency matrix of floats", "wrong-dtype", "numbers-for-truth-values", "numbers-to-add")
def graph_floats(edges, n, self_loops=True):
    a = torch.zeros(n, n)
    for i, j in edges:
        a[i, j] = a[j, i] = 1.0
    return a + torch.eye(n) if self_loops else a
