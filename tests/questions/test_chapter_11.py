"""Chapter 11: right answers in many shapes, and what is said of some wrong ones."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.questions.answers import expected_verdicts, right_answers


def whole(image, patch):
    if any(side % patch for side in image.shape[1:]):
        raise ValueError("the patch does not divide a side")
    return image


def patches_by_loops(image, patch):
    _, height, width = whole(image, patch).shape
    corners = [(i, j) for i in range(0, height, patch) for j in range(0, width, patch)]
    return torch.stack([image[:, i : i + patch, j : j + patch].flatten() for i, j in corners])


def patches_by_unfold(image, patch):
    return F.unfold(whole(image, patch)[None], patch, stride=patch)[0].T


def mask_by_index(edges, n, self_loops=True):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i, j in [*edges, *((j, i) for i, j in edges), *(((i, i) for i in range(n)) if self_loops else [])]:
        mask[i][j] = True
    return mask


def mask_by_comprehension(edges, n, self_loops=True):
    joined = {frozenset(edge) for edge in edges}
    rows = [[(self_loops if i == j else frozenset((i, j)) in joined) for j in range(n)] for i in range(n)]
    return torch.tensor(rows)


test_a_right_answer_is_accepted = right_answers(
    {"11.1": [patches_by_loops, patches_by_unfold], "11.2": [mask_by_index, mask_by_comprehension]}
)


def loops_where_edges_are(edges, n, self_loops=True):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i, j in edges:
        mask[i, j] = mask[j, i] = True
        if self_loops:
            mask[i, i] = mask[j, j] = True
    return mask


SAID = {
    "loops where edges are": (
        "11.2", loops_where_edges_are, "failed", "self-loops-of-joined-nodes", ["without edges"],
    ),
    "a matrix of 0 and 1": (
        "11.2", lambda edges, n, self_loops=True: mask_by_index(edges, n, self_loops).float(),
        "failed", "wrong-dtype", ["bool"],
    ),
}  # fmt: skip

test_what_is_said_of_a_wrong_answer = expected_verdicts(SAID)
