"""The names of operations in the graph of gradients, as `print(x)` shows them: `grad_fn=<MulBackward0>`.

An operation has the name of the function that code outside of the page's torch called, if torch has no other for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from os.path import dirname
from types import FrameType
from typing import Any

HERE = dirname(__file__)
MODULES = ("forward", "__call__")  # a module's functions: the operation is what they call
HELPERS = {"checked", "renamed", "write", "<lambda>", "<genexpr>", "<listcomp>"}

Locals = dict[str, Any]  # the local variables of a function


def by_dim(name: str, whole: int = 0, along: int = 1) -> Callable[[Locals], str]:
    """Return a rule for a reduction, which has one name for all numbers and another one for an axis."""
    return lambda names: f"{name}Backward{whole if names.get('dim') is None else along}"


def by_operands(names: Locals) -> str:
    """Return the name of a power: of a tensor and a number, of two tensors, or of a number and a tensor."""
    a, b = names["a"], names["b"]
    return f"PowBackward{0 if not hasattr(b, 'ndim') else 1 if hasattr(a, 'ndim') else 2}"


def of_product(names: Locals) -> str:
    """Return the name of a product of matrices or vectors."""
    sizes = (names["a"].ndim, names["b"].ndim)
    small = {(1, 1): "DotBackward0", (2, 1): "MvBackward0", (1, 2): "SqueezeBackward4", (2, 2): "MmBackward0"}
    return small.get(sizes, "ViewBackward0" if sizes[1] == 1 else "UnsafeViewBackward0")


def of_linear(names: Locals) -> str:
    """Return the name of a linear function: with a bias, it is one operation of matrices."""
    if names["bias"] is None:
        return of_product({"a": names["x"], "b": names["weight"]})
    return "AddmmBackward0" if names["x"].ndim == 2 else "ViewBackward0"


def of_left(names: Locals) -> str:
    """Return the name of an operator with the tensor on its left."""
    if names["name"] == "floordiv":
        return "NotImplemented"
    if names["name"] == "pow":
        return by_operands({"a": names["x"], "b": names["other"]})
    return f"{OPERATORS.get(names['name'], names['name'].capitalize())}Backward0"


def of_right(names: Locals) -> str:
    """Return the name of an operator with a number on its left."""
    name = names["f"].__name__  # that of the addition is a lambda
    other = {"sub": "RsubBackward1", "div": "MulBackward0", "pow": "PowBackward2", "<lambda>": "AddBackward0"}
    return other.get(name) or camel_case(name)


def of_reshape(names: Locals) -> str:
    """Return the name of a change of shape, which copies the numbers unless they lie in order."""
    return "ViewBackward0" if names["x"].is_contiguous() else "UnsafeViewBackward0"


def of_index(names: Locals) -> str:
    """Return the name of the last step of an index."""
    key = names["key"]
    keys = key if isinstance(key, tuple) else (key,)
    steps = [step for k in keys if (step := step_of_index(k, isinstance(key, tuple)))]
    return f"{'Index' if 'Index' in steps else steps[-1] if steps else 'Alias'}Backward0"


def step_of_index(key: Any, is_one_of_many: bool) -> str:
    """Return the operation of one part of an index, or "" if it changes nothing."""
    if isinstance(key, bool) or key is None:
        return "Unsqueeze" if key is None else "Index"
    if key is Ellipsis:
        return ""
    if isinstance(key, slice):
        return "" if is_one_of_many and key == slice(None) else "Slice"
    return "Index" if isinstance(key, list) or getattr(key, "ndim", None) else "Select"


def of_squeeze(names: Locals) -> str:
    dim = names["dim"]
    return f"SqueezeBackward{0 if dim is None else 1 if isinstance(dim, int) else 2}"


def of_attention(names: Locals) -> str:
    """Return the name of scaled dot-product attention, which is one operation for a batch of heads."""
    known = {2: "MmBackward0", 4: "ScaledDotProductFlashAttentionForCpuBackward0"}
    return known.get(names["q"].ndim, "UnsafeViewBackward0")


OPERATORS = {"truediv": "Div", "mod": "Remainder"}
RULES: dict[str, Callable[[Locals], str]] = {
    **{name: by_dim(name.capitalize()) for name in ("sum", "mean", "prod", "median")},
    **{name: by_dim(name.capitalize(), 1, 0) for name in ("max", "min")},
    **{"pow": by_operands, "left": of_left, "right": of_right, "linear": of_linear, "squeeze": of_squeeze},
    **{"matmul": of_product, "__matmul__": lambda names: of_product({"a": names["x"], "b": names["o"]})},
    **dict.fromkeys(("reshape", "flatten"), of_reshape),
    **{"__getitem__": of_index, "scaled_dot_product_attention": of_attention},
    "round": lambda names: f"RoundBackward{1 if names['decimals'] else 0}",
    "diag": lambda names: "DiagonalBackward0_copy" if names["x"].ndim == 2 else "DiagEmbedBackward0",
    "apply": lambda names: camel_case(names["name"]),
    "cross_entropy": lambda names: f"NllLoss{'2D' if names['x'].ndim > 2 else ''}Backward0",
    "kl_div": lambda names: f"{'Div' if names['reduction'] == 'batchmean' else 'Mean'}Backward0",
    "scatter": lambda names: f"ScatterBackward{0 if hasattr(names['src'], 'ndim') else 1}",
}
OTHERS = {  # torch's names for functions of other names
    **dict.fromkeys(("norm", "vector_norm"), "LinalgVectorNormBackward0"),
    **dict.fromkeys(("to", "type_"), "ToCopyBackward0"),
    **dict.fromkeys(("T", "movedim", "moveaxis"), "PermuteBackward0"),
    **dict.fromkeys(("mT", "swapaxes", "swapdims"), "TransposeBackward0"),
    **dict.fromkeys(("view_as", "unflatten", "repeat_interleave", "einsum"), "ViewBackward0"),
    **dict.fromkeys(("expand_as", "broadcast_to"), "ExpandBackward0"),
    **dict.fromkeys(("vstack", "hstack", "concat", "concatenate"), "CatBackward0"),
    **dict.fromkeys(("narrow", "tensor_split"), "SliceBackward0"),
    **dict.fromkeys(("dropout", "outer"), "MulBackward0"),
    **dict.fromkeys(("clamp", "clip"), "ClampBackward1"),
    **dict.fromkeys(("__setitem__", "copy_slices"), "CopySlices"),
    "__iter__": "UnbindBackward0",
    "contiguous": "CloneBackward0",
    "copy_": "CopyBackwards",
    "cosine_similarity": "SumBackward1",
    "floor_divide": "NotImplemented",
    "l1_loss": "MeanBackward0",
    "layer_norm": "NativeLayerNormBackward0",
    "log1p": "Log1PBackward0",
    "chunk": "SplitBackward0",
    "diff": "SubBackward0",
    "kron": "UnsafeViewBackward0",
    "normalize": "DivBackward0",
    "pad": "ConstantPadNdBackward0",
    "softmin": "SoftmaxBackward0",
    "square": "PowBackward0",
    "take_along_dim": "GatherBackward0",
    "tile": "RepeatBackward0",
}


def camel_case(name: str) -> str:
    """Return torch's name for an operation, from that of its function."""
    name = name.strip("_")
    return OTHERS.get(name) or "".join(part[:1].upper() + part[1:] for part in name.split("_")) + "Backward0"


def name_of_operation() -> str:
    """Return the name of the operation that is being recorded."""
    frame: FrameType | None = sys._getframe(2)
    outer: FrameType | None = None
    while frame is not None and frame.f_code.co_filename.startswith(HERE) and frame.f_code.co_name not in MODULES:
        if frame.f_code.co_name not in HELPERS:
            outer = frame
        frame = frame.f_back
    if outer is None:
        return "Backward0"
    name = outer.f_code.co_name
    return RULES[name](outer.f_locals) if name in RULES else OTHERS.get(name) or camel_case(name)
