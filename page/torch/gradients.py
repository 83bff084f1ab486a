"""Gradients: each result knows what it was made of, and how a gradient goes back to that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .dtypes import State


class Node:
    """One step of the graph: where its gradient goes on to, and how."""

    def __init__(self, parents: Any, back: Any, leaf: Any = None) -> None:
        self.parents, self.back, self.leaf = parents, back, leaf

    def __repr__(self) -> Any:
        return "<Backward0>"


def node_of(t: Any) -> Any:
    """Where a tensor's gradient goes: to what made it, or, for a leaf, to itself."""
    if t._node is not None or not t.requires_grad:
        return t._node
    if t._leaf is None:
        t._leaf = Node((), None, t)
    return t._leaf


def record_step(out: Any, parents: Any, back: Callable[[Any], list[Any]]) -> Any:
    """Note that `out` was made of `parents`; `back` leads a gradient of `out` to one for each."""
    if State.grad_enabled:
        for p in parents:
            if p.requires_grad:
                out._node, out.requires_grad = Node([node_of(p) for p in parents], back), True
                break
    return out


def topological_order(nodes: list[Any]) -> list[Any]:
    """Every node that these come from, before what was made of it."""
    order: list[Any] = []
    seen: set[int] = set()
    ahead = [(n, False) for n in nodes]
    while ahead:
        n, done = ahead.pop()
        if done:
            order.append(n)
        elif id(n) not in seen:
            seen.add(id(n))
            ahead.append((n, True))
            for p in n.parents:
                if p is not None and id(p) not in seen:
                    ahead.append((p, False))
    return order


def run_backward(outs: list[Any], grads: list[Any], keep_in_leaves: bool) -> dict[int, Any]:
    """Lead gradients back; the gradient of each node by its id, and in the leaves' `grad` where asked for."""
    nodes = [node_of(o) for o in outs]
    got: dict[int, Any] = {}
    was = State.grad_enabled
    for n, g in zip(nodes, grads, strict=False):
        got[id(n)] = g if id(n) not in got else got[id(n)] + g
    State.grad_enabled = False
    try:
        for n in reversed(topological_order(nodes)):
            g = got.get(id(n))
            if g is None:
                continue
            if n.leaf is not None:
                if keep_in_leaves:
                    n.leaf.grad = g.clone() if n.leaf.grad is None else n.leaf.grad + g
                continue
            for p, d in zip(n.parents, n.back(g), strict=False):
                if d is not None and p is not None:
                    got[id(p)] = d if id(p) not in got else got[id(p)] + d
    finally:
        State.grad_enabled = was
    return got
