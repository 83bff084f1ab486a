"""Gradients: the graph of operations, and backpropagation through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .dtypes import State


class Node:
    """One operation of the graph: the nodes of its inputs, and the function `back` from its gradient to theirs.

    A node with a `leaf` stands for this tensor, in whose `grad` gradients accumulate.
    """

    def __init__(self, parents: Any, back: Any, leaf: Any = None) -> None:
        self.parents, self.back, self.leaf = parents, back, leaf

    def __repr__(self) -> Any:
        return "<Backward0>"


def node_of(t: Any) -> Any:
    """Return the node that receives a tensor's gradient: its operation's, or a leaf's own; None without gradient."""
    if t._node is not None or not t.requires_grad:
        return t._node
    if t._leaf is None:
        t._leaf = Node((), None, t)
    return t._leaf


def record_step(out: Any, parents: Any, back: Callable[[Any], list[Any]]) -> Any:
    """Record that `out` was computed from `parents`, if gradients are on, and return `out`.

    `back` maps the gradient of `out` to a list with the gradient of each parent.
    """
    if State.grad_enabled:
        for p in parents:
            if p.requires_grad:
                out._node, out.requires_grad = Node([node_of(p) for p in parents], back), True
                break
    return out


def topological_order(nodes: list[Any]) -> list[Any]:
    """Return these nodes and all their ancestors, each one after its parents."""
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
    """Backpropagate `grads` from `outs`, and return the gradient of each node by the node's `id`.

    With `keep_in_leaves`, also accumulate the gradients in the leaves' `grad`.
    """
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
