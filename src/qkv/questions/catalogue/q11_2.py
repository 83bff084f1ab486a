"""11.2: the mask of a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.everywhere import graph_mask
from qkv.questions.engine import Case, Draw, Question, call, mistake

Edges = list[tuple[int, int]]


def draw_graphs(draw: Draw) -> list[Case]:
    def some_edges(n: int, count: int) -> Edges:
        """Draw pairs, each once, with either end first; the last node has none."""
        pairs = [(i, j) for i in range(n - 1) for j in range(i)]
        order = torch.randperm(len(pairs), generator=draw.generator).tolist()[:count]
        return [pairs[at] if turn % 2 else pairs[at][::-1] for turn, at in enumerate(order)]

    def case(name: str, edges: Edges, n: int, **options: bool) -> Case:
        return Case(call(edges, n, **options), name, {"n": n, "edges": len(edges)})

    def drawn(name: str, **options: bool) -> Case:
        n = draw.whole(6, 8)
        return case(name, some_edges(n, draw.whole(4, 6)), n, **options)

    return [
        drawn("plain"),
        drawn("plain"),
        drawn("without self-loops", self_loops=False),
        drawn("with self-loops, and said so", self_loops=True),
        case("a path", [(0, 1), (1, 2), (2, 3), (3, 4)], 5),
        case("a path without self-loops", [(1, 0), (2, 1), (3, 2)], 4, self_loops=False),
        case("a star", [(3, 0), (3, 1), (3, 2), (3, 4)], 5),
        case("no edges", [], 4),
        case("no edges, no self-loops", [], 3, self_loops=False),
        case("one node", [], 1),
    ]


def mask_variant(
    join: Callable[[Tensor, int, int], None],
    loops: Callable[[bool], bool] = lambda self_loops: self_loops,
    give: Callable[[Tensor], Any] = lambda mask: mask,
) -> Callable[..., Any]:
    """Give an answer that joins two nodes otherwise, or uses `self_loops` otherwise, or gives another form."""

    def variant(edges: Edges, n: int, self_loops: bool = True) -> Any:
        mask = torch.eye(n).bool() if loops(self_loops) else torch.zeros(n, n, dtype=torch.bool)
        for i, j in edges:
            join(mask, i, j)
        return give(mask)

    return variant


def both(mask: Tensor, i: int, j: int) -> None:
    mask[i, j] = mask[j, i] = True


def forth(mask: Tensor, i: int, j: int) -> None:
    mask[i, j] = True


def back(mask: Tensor, i: int, j: int) -> None:
    mask[j, i] = True


def downwards(mask: Tensor, i: int, j: int) -> None:
    mask[max(i, j), min(i, j)] = True


def upwards(mask: Tensor, i: int, j: int) -> None:
    mask[min(i, j), max(i, j)] = True


def counted_from_one(mask: Tensor, i: int, j: int) -> None:
    both(mask, i - 1, j - 1)


def between(mask: Tensor, i: int, j: int) -> None:
    mask[i, min(i, j) : max(i, j) + 1] = mask[j, min(i, j) : max(i, j) + 1] = True


def loops_at_ends(mask: Tensor, i: int, j: int) -> None:
    both(mask, i, j)
    mask[i, i] = mask[j, j] = True


def loops_where_edges_are(edges: Edges, n: int, self_loops: bool = True) -> Tensor:
    mask = graph_mask(edges, n, self_loops)
    return mask & graph_mask(edges, n, False).any(-1)[:, None]


def last_edge(edges: Edges, n: int, self_loops: bool = True) -> Tensor:
    return graph_mask(edges[-1:], n, self_loops)


def two_steps(edges: Edges, n: int, self_loops: bool = True) -> Tensor:
    mask = graph_mask(edges, n, self_loops).float()
    return (mask + mask @ mask) > 0


def connected(edges: Edges, n: int, self_loops: bool = True) -> Tensor:
    mask = graph_mask(edges, n, True).float()
    seen = torch.linalg.matrix_power(mask, n) > 0
    return seen if self_loops else seen & ~torch.eye(n, dtype=torch.bool)


QUESTION = Question(
    points=3,
    inputs=("edges", "n"),
    outputs=("mask (n, n)",),
    draw=draw_graphs,
    reference=graph_mask,
    misconceptions=(
        mistake("one-way-only", *map(mask_variant, (forth, back))),
        mistake("half-of-the-mask", *map(mask_variant, (downwards, upwards))),
        mistake("self-loops-always", mask_variant(both, loops=lambda self_loops: True)),
        mistake("self-loops-never", mask_variant(both, loops=lambda self_loops: False)),
        mistake("self-loops-turned-round", mask_variant(both, loops=lambda self_loops: not self_loops)),
        mistake("no-self-loops-by-default", lambda edges, n, self_loops=False: graph_mask(edges, n, self_loops)),
        mistake(
            "self-loops-of-joined-nodes",
            mask_variant(loops_at_ends, loops=lambda self_loops: False),
            loops_where_edges_are,
        ),
        mistake("mask-inverted", mask_variant(both, give=torch.logical_not)),
        mistake(
            "numbers-to-add",
            mask_variant(both, give=lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)),
        ),
        mistake("counted-from-one", mask_variant(counted_from_one)),
        mistake("all-between", mask_variant(between)),
        mistake("last-edge-only", last_edge),
        mistake("neighbours-of-neighbours", two_steps),
        mistake("all-that-are-connected", connected),
    ),
)
