"""Gradients: the graph of operations, and backpropagation through it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from .dtypes import TYPE_NAMES, State
from .graph_names import name_of_operation
from .missing import refuse

if TYPE_CHECKING:
    from .tensors import Tensor


USED_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


Back = Callable[..., list[Any]]  # from the gradient of a result, and saved values, to those of its operands


class Saved:
    """A tensor or number that a gradient depends on, with the number of writes to the tensor's storage so far.

    A tensor that was made in inference mode raises a RuntimeError.
    """

    def __init__(self, value: Any) -> None:
        if getattr(value, "_inference", False):
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
                "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it "
                "in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
            )
        self.value, self.writes, self.freed = value, writes_to(value), False
        self.has_gradient = getattr(value, "requires_grad", False)  # a result of the node itself has none yet

    def read(self, name: str = "") -> Any:
        """Return the tensor or number, which a node of this name saved.

        Raises:
            RuntimeError: it was freed by an earlier backward pass, or the tensor was changed by an in-place operation.
        """
        if self.freed:
            raise RuntimeError(USED_TWICE)
        if writes_to(self.value) != self.writes:
            value = self.value
            if value.requires_grad and self.has_gradient:
                name = value._node._name if value._node else ""
            made = f", which is output 0 of {name.partition('Backward')[0]}," if value.requires_grad and name else ""
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[torch.{TYPE_NAMES[value.dtype]}Tensor {list(value.shape)}]{made} is at version {writes_to(value)}; "
                f"expected version {self.writes} instead. Hint: enable anomaly detection to find the operation that failed "
                "to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
            )
        return self.value

    def free(self) -> None:
        self.value, self.freed = None, True


def writes_to(value: object) -> int:
    """Return the number of in-place writes to a tensor's storage, or 0 for a number."""
    return value._writes[0] if hasattr(value, "_writes") else 0


# functions of one step, in torch and here; operations of two inputs, of which one may be a number
ONE_STEP = {
    *(
        "T",
        "apply",
        "bmm",
        "cat",
        "chunk",
        "clamp",
        "clone",
        "cumsum",
        "diagonal",
        "embedding",
        "expand",
        "flip",
        "gather",
    ),
    *(
        "left",
        "log_softmax",
        "masked_fill",
        "minimum",
        "mm",
        "neg",
        "permute",
        "pow",
        "prod",
        "reshape",
        "roll",
        "softmax",
    ),
    *("split", "square", "squeeze", "sum", "t", "to", "transpose", "tril", "unbind", "unsqueeze", "view", "where"),
}
OF_TWO = {"AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0"}


class Node:
    """One operation of the graph: the nodes of its inputs, and the function `back` from its gradient to theirs.

    `back` also receives the values in `saved`. A node with a `leaf` stands for this tensor, in whose `grad` gradients
    accumulate. The gradient of a node with `retains` is also stored in the `grad` of this tensor.
    """

    retains: Any = None
    parents: Sequence[Node | None] = ()  # also of a node that could not save a tensor
    back: Back | None = None
    saved: Sequence[Saved] = ()
    unlinking: ClassVar[list[Any]] = []  # what nodes held that are gone

    def __init__(
        self, parents: Sequence[Node | None], back: Back | None, leaf: Tensor | None = None, saved: Iterable[Any] = ()
    ) -> None:
        self.parents, self.back, self.leaf, self.saved = parents, back, leaf, [Saved(value) for value in saved]
        self._name, self._function = name_of_operation() if leaf is None else ("AccumulateGrad", "")
        self.__class__ = kind_of_node(self._name)

    def __del__(self) -> None:
        """Release what the node held, one node after the other: a long chain of them would overflow the stack."""
        held, is_first = (self.parents, self.back, self.saved), not Node.unlinking
        self.parents, self.back, self.saved = (), None, []
        Node.unlinking += [None, held] if is_first else [held]  # None: a sign that this is going on
        del held
        while is_first and len(Node.unlinking) > 1:
            Node.unlinking.pop()
        if is_first:
            Node.unlinking.clear()

    hooks: dict[int, Any] | None = None

    def add_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        self.hooks = self.hooks or {}
        return RemovableHandle(self.hooks, hook)

    def name(self) -> str:
        return self._name if self.leaf is None else f"torch::autograd::{self._name}"

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs, as torch lists them. The number beside a tensor has None.

        Raises:
            NotImplementedError: the operation is one step in torch and several here, or the other way round.
        """
        if self.leaf is None and self._function not in ONE_STEP:
            refuse(f"`next_functions` of `{self._name}`")
        more = [None] * (self._name in OF_TWO and len(self.parents) == 1)
        return tuple((parent, 0) for parent in [*self.parents, *more])

    @property
    def variable(self) -> Any:
        return self.leaf

    def __repr__(self) -> str:
        return f"<{self._name} object at {id(self):#x}>"


class RemovableHandle:
    """A handle of a registered hook, which is called until `remove` is called, or the `with` block ends."""

    count = 0

    def __init__(self, hooks: dict[int, Any], hook: Callable[..., Any]) -> None:
        self.hooks, self.id = hooks, RemovableHandle.count
        RemovableHandle.count += 1
        hooks[self.id] = hook

    def remove(self) -> None:
        self.hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


RemovableHandle.__module__ = "torch.utils.hooks"


@lru_cache(maxsize=500)
def kind_of_node(name: str) -> type[Node]:
    """Return the class of the nodes of this name, as `type(x.grad_fn)` shows it."""
    return type(name, (Node,), {"__module__": "builtins"})


def node_of(t: Tensor) -> Node | None:
    """Return the node that receives a tensor's gradient: its operation's, or a leaf's own; None without gradient."""
    if not t.requires_grad or t._node is not None:
        return t._node
    if t._leaf is None:
        t._leaf = Node((), None, t)
    return t._leaf


def record_step(
    out: Tensor, parents: Sequence[Tensor], back: Callable[..., list[Any]], saved: Iterable[Any] = ()
) -> Tensor:
    """Record that `out` was computed from `parents`, if gradients are on and one of these requires one; return `out`.

    `back` maps the gradient of `out`, and the tensors in `saved`, to a list with the gradient of each parent.
    """
    if State.grad_enabled:
        for p in parents:
            if p.requires_grad:
                out._node, out._needs_grad = Node([node_of(p) for p in parents], back, saved=saved), True
                break
    return out


def topological_order(nodes: list[Any]) -> list[Any]:
    """Return these nodes and all their ancestors, each one after its parents."""
    order: list[Any] = []
    seen: set[Any] = {None}
    ahead = [(n, False) for n in nodes]
    while ahead:
        n, done = ahead.pop()
        if done:
            order.append(n)
        elif n not in seen:
            seen.add(n)
            ahead.append((n, True))
            ahead += [(p, False) for p in n.parents if p not in seen]
    return order


def run_backward(outs: list[Any], grads: list[Any], keep_in_leaves: bool, retain_graph: bool = False) -> dict[int, Any]:
    """Backpropagate `grads` from `outs`, and return the gradient of each node by the node's `id`.

    With `keep_in_leaves`, also accumulate the gradients in the leaves' `grad`. Without `retain_graph`, free the tensors
    that the nodes saved, so that a second pass raises an error.
    """
    for i, (out, g) in enumerate(zip(outs, grads, strict=False)):
        if out.shape != g.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {out.shape}."
            )
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
            for hook in list((n.hooks or {}).values()):
                g = g if (changed := hook(g)) is None else changed
            got[id(n)] = g
            if keep_in_leaves:
                store_gradient(n, g)
            if n.leaf is not None:
                continue
            for p, d in zip(n.parents, n.back(g, *[s.read(n._name) for s in n.saved]), strict=False):
                if d is not None and p is not None:
                    got[id(p)] = d if id(p) not in got else got[id(p)] + d
            for s in n.saved if not retain_graph else ():
                s.free()
    finally:
        State.grad_enabled = was
    return got


def check_start(out: Tensor, start: Tensor | None, place: int = 0) -> None:
    """Raise a RuntimeError if `start`, the gradient that output number `place` starts with, has another shape."""
    if start is not None and start.shape != out.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{place}] has a shape of {start.shape} and output[{place}] has a shape of "
            f"{out.shape}."
        )


def store_gradient(n: Node, g: Tensor) -> None:
    """Add a node's gradient to the `grad` of its leaf, or store it in the `grad` of the tensor that retains it.

    Other nodes store none.
    """
    if n.leaf is None:
        if n.retains is not None:
            n.retains.grad = g if n.retains.grad is None else n.retains.grad + g
    elif n.leaf.grad is None:
        n.leaf.grad = g.contiguous().clone()
    else:
        n.leaf.grad.add_(g)
