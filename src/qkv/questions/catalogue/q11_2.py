"""11.2: the mask of a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from qkv.modalities import graph_mask
from qkv.questions.engine import Case, Draw, Misconception, Question, by_knob, call, mistake
from qkv.words import mark

Edges = list[tuple[int, int]]


def draw_graphs(draw: Draw) -> list[Case]:
    """Draw graphs: random ones, a path, a star, without edges, with one node."""

    def some_edges(n: int, count: int) -> Edges:
        """Draw different edges, with either node first; the last node has no edge."""
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
        drawn(mark("without self-loops"), self_loops=False),
        drawn(mark("self_loops=True is passed"), self_loops=True),
        case("a path", [(0, 1), (1, 2), (2, 3), (3, 4)], 5),
        case("a path without self-loops", [(1, 0), (2, 1), (3, 2)], 4, self_loops=False),
        case("a star", [(3, 0), (3, 1), (3, 2), (3, 4)], 5),
        case("no edges", [], 4),
        case("no edges, no self-loops", [], 3, self_loops=False),
        case("one node", [], 1),
    ]


def mask_variant(
    entries_of: Callable[[int, int], Edges] = lambda i, j: [(i, j), (j, i)],
    loops: Callable[[bool], bool] = lambda self_loops: self_loops,
    result: Callable[[Tensor], Any] = lambda mask: mask,
) -> Callable[..., Any]:
    """Return an answer(edges, n, self_loops); by default it is right.

    The arguments replace the entries of an edge and the use of `self_loops`, or change the mask.
    """

    def variant(edges: Edges, n: int, self_loops: bool = True) -> Any:
        mask = torch.eye(n).bool() if loops(self_loops) else torch.zeros(n, n, dtype=torch.bool)
        for edge in edges:
            for entry in entries_of(*edge):
                mask[entry] = True
        return result(mask)

    return variant


def self_loops_of_joined_nodes(edges: Edges, n: int, self_loops: bool = True) -> Tensor:
    mask = graph_mask(edges, n, self_loops)
    return mask & graph_mask(edges, n, False).any(-1)[:, None]


def some_edge_needed(error: type[Exception]) -> Callable[..., Tensor]:
    """Return an answer that raises this error for a list without edges, and is right for any other."""

    def answer(edges: Edges, n: int, self_loops: bool = True) -> Tensor:
        if not edges:
            raise error("no edges")
        return graph_mask(edges, n, self_loops)

    return answer


def normalised_adjacency(power: float) -> Callable[[Tensor], Tensor]:
    """Return a function that turns a mask into numbers: divided by its row sums if the power is 1.

    With the power 0.5, it is divided by the roots of row and column sums, as a GCN does. A sum of 0 counts as 1.
    """

    def normalise(mask: Tensor) -> Tensor:
        degree = mask.float().sum(-1, keepdim=True).clamp(min=1)
        return mask / degree**power / (degree.mT**power if power < 1 else 1)

    return normalise


def neighbours_of_neighbours(edges: Edges, n: int, self_loops: bool = True) -> Tensor:
    mask = graph_mask(edges, n, self_loops).float()
    return (mask + mask @ mask) > 0


def all_that_are_connected(edges: Edges, n: int, self_loops: bool = True) -> Tensor:
    mask = graph_mask(edges, n, True).float()
    seen = torch.linalg.matrix_power(mask, n) > 0
    return seen if self_loops else seen & ~torch.eye(n, dtype=torch.bool)


joined_by = by_knob("entries_of", alone=True)
loops_by = by_knob("loops", alone=True)
returned = by_knob("result", alone=True)

QUESTION = Question(
    points=3,
    inputs=("edges", "n"),
    outputs=("mask (n, n)",),
    draw=draw_graphs,
    reference=graph_mask,
    variant=mask_variant,
    misconceptions=(
        joined_by("one-way-only", lambda i, j: [(i, j)], lambda i, j: [(j, i)]),
        joined_by("half-of-the-mask", lambda i, j: [(max(i, j), min(i, j))], lambda i, j: [(min(i, j), max(i, j))]),
        loops_by("self-loops-always", lambda self_loops: True),
        loops_by("self-loops-never", lambda self_loops: False),
        loops_by("self-loops-turned-round", lambda self_loops: not self_loops),
        mistake("no-self-loops-by-default", lambda edges, n, self_loops=False: graph_mask(edges, n, self_loops)),
        mistake(
            "self-loops-of-joined-nodes",
            self_loops_of_joined_nodes,
            mask_variant(lambda i, j: [(i, j), (j, i), (i, i), (j, j)], loops=lambda self_loops: False),
        ),
        returned("mask-inverted", torch.logical_not),
        returned("rows-that-sum-to-one", *map(normalised_adjacency, (1.0, 0.5))),
        returned("numbers-to-add", lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)),
        joined_by("counted-from-one", lambda i, j: [(i - 1, j - 1), (j - 1, i - 1)]),
        joined_by("all-between", lambda i, j: [(a, b) for a in (i, j) for b in range(min(i, j), max(i, j) + 1)]),
        Misconception(
            "no-edges",
            twins=tuple(map(some_edge_needed, (ValueError, IndexError, RuntimeError, TypeError))),
            in_any_words=True,
        ),
        mistake("last-edge-only", lambda edges, n, self_loops=True: graph_mask(edges[-1:], n, self_loops)),
        mistake("neighbours-of-neighbours", neighbours_of_neighbours),
        mistake("all-that-are-connected", all_that_are_connected),
    ),
)
