"""The names of operations in the graph of gradients, as `print(x)` shows them: `grad_fn=<MulBackward0>`.

An operation has the name of the function that code outside of the page's torch called, if torch has no other for it. A
function `of_…` or `by_…` is a rule for the node of one kind of operation, or returns one. From the local variables of
the function that computes the operation, it returns the node's name, such as "MulBackward0". `name_of_operation` calls
it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from os.path import dirname
from types import FrameType
from typing import Any

HERE = dirname(__file__)
MODULES = (
    "forward",
    "__call__",
    "_step",
    "lstm_step",
    "gru_step",
)  # a module's functions: the operation is what they call
HELPERS = {"of_all", "checked", "named_sizes", "write_left", "renamed", "write", "<lambda>", "<genexpr>", "<listcomp>"}

Locals = dict[str, Any]  # the local variables of a function


def by_dim(name: str, whole: int = 0, along: int = 1) -> Callable[[Locals], str]:
    """Return a rule for a reduction, whose node has one name for all numbers and another one for an axis.

    The names are `name` with "Backward" and a digit: `whole` for all numbers, `along` for an axis.
    """
    return lambda names: f"{name}Backward{whole if names.get('dim') is None else along}"


def by_operands(names: Locals) -> str:
    """Return the name of a power's node: of a tensor and a number, of two tensors, or of a number and a tensor."""
    a, b = names["a"], names["b"]
    return f"PowBackward{0 if not hasattr(b, 'ndim') else 1 if hasattr(a, 'ndim') else 2}"


def of_product(names: Locals) -> str:
    """Return the name of the last node of a product of matrices or vectors."""
    a, b = names["a"], names["b"]
    if b.ndim > 2 and a.requires_grad and (a.ndim == 2 or (b.ndim == a.ndim == 3 and a.shape[0] == 1 < b.shape[0])):
        return f"{'Transpose' if 1 in (a.shape[-2], b.shape[-1]) else 'Clone'}Backward0"  # torch swaps the factors
    sizes = (a.ndim, b.ndim)
    small = {(1, 1): "DotBackward0", (2, 1): "MvBackward0", (1, 2): "SqueezeBackward4", (2, 2): "MmBackward0"}
    return small.get(sizes, "ViewBackward0" if sizes[1] == 1 else "UnsafeViewBackward0")


def of_linear(names: Locals) -> str:
    """Return the name of the last node of a linear function: with a bias and a matrix x, it is the only one."""
    if names["bias"] is None:
        return of_product({"a": names["x"], "b": names["weight"]})
    return "AddmmBackward0" if names["x"].ndim == 2 else "ViewBackward0"


def of_left(names: Locals) -> str:
    """Return the name of the node of an operator with the tensor on its left.

    `//` has no gradient: torch prints its node as "NotImplemented".
    """
    if names["name"] == "floordiv":
        return "NotImplemented"
    if names["name"] == "pow":
        return by_operands({"a": names["x"], "b": names["other"]})
    return f"{OPERATORS.get(names['name'], names['name'].capitalize())}Backward0"


def of_right(names: Locals) -> str:
    """Return the name of the node of an operator with a number on its left."""
    name = names["f"].__name__  # that of the addition is a lambda
    other = {"sub": "RsubBackward1", "div": "MulBackward0", "pow": "PowBackward2", "<lambda>": "AddBackward0"}
    return other.get(name) or camel_case(name)


def of_reshape(names: Locals) -> str:
    """Return the name of the node of a change of shape, which copies the numbers unless they lie in order."""
    return "ViewBackward0" if names["x"].is_contiguous() else "UnsafeViewBackward0"


def of_index(names: Locals) -> str:
    """Return the name of the last node of an index. A slice of a whole axis has none, if it is one part of several."""
    key, shape = names["key"], names["x"].shape
    if not isinstance(key, tuple):
        return f"{step_of_index(key) or 'Alias'}Backward0"
    steps, axis = [], 0
    for i, part in enumerate(key):
        if part is Ellipsis:
            axis = len(shape) - sum(map(axes_of_index, key[i + 1 :]))
        elif not isinstance(part, slice) or not is_whole(part, shape[axis]):
            steps.append(step_of_index(part))
        axis += axes_of_index(part)
    return f"{'Index' if 'Index' in steps else steps[-1] if steps else 'Alias'}Backward0"


def is_whole(part: slice, size: int) -> bool:
    """Check whether torch takes a slice for one of the whole axis: a start from the end is none."""
    return part.start in (None, 0) and (part.stop is None or part.stop >= size) and part.step in (None, 1)


def axes_of_index(part: Any) -> int:
    """Return the number of axes to which one part of an index applies."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return part.ndim if getattr(part, "ndim", 0) and str(part.dtype) == "torch.bool" else 1


def step_of_index(key: Any) -> str:
    """Return the operation of one part of an index, such as "Select", or "" if it changes nothing."""
    if isinstance(key, bool) or key is None:
        return "Unsqueeze" if key is None else "Index"
    if key is Ellipsis:
        return ""
    if isinstance(key, slice):
        return "Slice"
    return "Index" if isinstance(key, list) or getattr(key, "ndim", None) else "Select"


def of_write(names: Locals) -> str:
    """Return the name of the node of a write to an index.

    A write by lists of indices, or by truth values, is an operation of its own.
    """
    key, x = names["key"], names["x"]
    keys = key if isinstance(key, tuple) else (key,)
    lists = [k for k in keys if isinstance(k, list) or getattr(k, "ndim", None)]
    others = [k for k in keys if not (isinstance(k, list) or hasattr(k, "ndim"))]
    if x._base is not None or not all(k is Ellipsis or (isinstance(k, slice) and k == slice(None)) for k in others):
        return "CopySlices"
    if lists:
        return "IndexPutBackward0"
    return "CopyBackwards" if hasattr(names["value"], "ndim") else "FillBackward3"


def of_squeeze(names: Locals) -> str:
    dim = names["dim"]
    return f"SqueezeBackward{0 if dim is None else 1 if isinstance(dim, int) else 2}"


def of_attention(names: Locals) -> str:
    """Return the name of the last node of scaled dot-product attention, which is the only one for a batch of heads."""
    known = {2: "MmBackward0", 4: "ScaledDotProductFlashAttentionForCpuBackward0"}
    return known.get(names["q"].ndim, "UnsafeViewBackward0")


def by_reduction(none: str) -> Callable[[Locals], str]:
    """Return a rule for a loss: its node is called `none` if it is not reduced, and else as the reduction's."""
    known = {"mean": "MeanBackward0", "sum": "SumBackward0", "batchmean": "DivBackward0", "none": none}
    return lambda names: known[names["reduction"]]


def of_smooth_l1(names: Locals) -> str:
    return "SmoothL1LossBackward0" if names["beta"] else by_reduction("AbsBackward0")(names)


def of_cross_entropy(names: Locals) -> str:
    """Return the name of the last node of a cross entropy, with classes or with their probabilities."""
    if names["target"].is_floating_point():
        return {"mean": "DivBackward1", "sum": "NegBackward0", "none": "NegBackward0"}[names["reduction"]]
    if names["label_smoothing"]:
        return "AddBackward0"
    return f"NllLoss{'2D' if names['x'].ndim > 2 else ''}Backward0"


def of_norm(names: Locals) -> str:
    """Return the name of the last node of a norm: of vectors, or of matrices if its order `ord` is one of theirs."""
    order, dim = names.get("ord"), names.get("dim")
    of_matrices = names["x"].ndim == 2 if dim is None else not isinstance(dim, int) and len(dim) == 2
    if not of_matrices or order in (None, "fro"):
        return "LinalgVectorNormBackward0"
    return "SumBackward1" if order == "nuc" else "AmaxBackward0" if order > 0 else "AminBackward0"


def of_einsum(names: Locals) -> str:
    """Return the name of the last node of `einsum`, which depends on whether a letter is summed over."""
    summed = set("".join(names["full"])) - set(names["right"])
    if len(names["ops"]) == 1:
        return "SumBackward1" if summed else "PermuteBackward0"
    return "ViewBackward0" if summed else "MulBackward0"


def of_convolution(names: Locals) -> str:
    return "ConvolutionBackward0" if names["x"].ndim == names["weight"].ndim else "SqueezeBackward1"


OPERATORS = {"truediv": "Div", "mod": "Remainder"}
RULES: dict[str, Callable[[Locals], str]] = {
    **{name: by_dim(name.capitalize()) for name in ("sum", "mean", "prod", "median")},
    **{name: by_dim(name.capitalize(), 1, 0) for name in ("max", "min")},
    **{"pow": by_operands, "left": of_left, "right": of_right, "linear": of_linear, "squeeze": of_squeeze},
    **{"matmul": of_product, "__matmul__": lambda names: of_product({"a": names["x"], "b": names["o"]})},
    **dict.fromkeys(("reshape", "flatten"), of_reshape),
    **{"__setitem__": of_write, "__getitem__": of_index, "scaled_dot_product_attention": of_attention},
    "round": lambda names: f"RoundBackward{1 if names['decimals'] else 0}",
    "diag": lambda names: "DiagonalBackward0_copy" if names["x"].ndim == 2 else "DiagEmbedBackward0",
    "apply": lambda names: camel_case(names["name"]) if "name" in names else names["cls"].__name__ + "Backward",
    **{"cross_entropy": of_cross_entropy, "smooth_l1_loss": of_smooth_l1, "l1_loss": by_reduction("AbsBackward0")},
    "kl_div": lambda names: by_reduction(f"{'Mul' if names['log_target'] else 'Sub'}Backward0")(names),
    **dict.fromkeys(("norm", "matrix_norm"), of_norm),
    **dict.fromkeys(("conv1d", "conv2d"), of_convolution),
    "einsum": of_einsum,
    "gumbel_softmax": lambda names: "AddBackward0" if names["hard"] else "SoftmaxBackward0",
    "float_power": lambda names: f"PowBackward{1 if hasattr(names['exponent'], 'ndim') else 0}",
    "trapezoid": lambda names: "MulBackward1" if names["x"] is None else "DivBackward0",
    "unfold": lambda names: f"{'Im2Col' if 'kernel_size' in names else 'Unfold'}Backward0",
    "bilinear": lambda names: f"{'View' if names['bias'] is None else 'Add'}Backward0",
    "poisson_nll_loss": by_reduction("SubBackward0"),
    "gaussian_nll_loss": by_reduction("MulBackward0"),
    **dict.fromkeys(("margin_ranking_loss", "triplet_margin_loss"), by_reduction("ClampMinBackward0")),
    **dict.fromkeys(("hinge_embedding_loss", "cosine_embedding_loss"), by_reduction("AddBackward0")),
    "adaptive_avg_pool2d": lambda names: (
        "MeanBackward1" if names["output_size"] in (1, (1, 1)) else "AdaptiveAvgPool2DBackward0"
    ),
    "transposed_result": lambda names: f"TransposeBackward{1 if names['gates'] == 3 else 0}",
    "stacked_result": lambda names: "MkldnnRnnLayerBackward0" if names["gates"] == 4 else "StackBackward0",
    "corrcoef": lambda names: "ClampBackward1" if names["x"].shape[:-1].numel() > 1 else "DivBackward0",
    "interpolate": lambda names: f"UpsampleNearest{names['x'].ndim - 2}DBackward0",
    "scatter": lambda names: f"ScatterBackward{0 if hasattr(names['src'], 'ndim') else 1}",
}
OTHERS = {  # torch's names for functions of other names
    "vector_norm": "LinalgVectorNormBackward0",
    **{name: f"Linalg{name.capitalize()}Backward0" for name in ("det", "qr", "pinv")},
    **{name: f"Linalg{name.capitalize()}ExBackward0" for name in ("inv", "solve", "cholesky")},
    **dict.fromkeys(("svd", "svdvals"), "LinalgSvdBackward0"),
    **dict.fromkeys(("eigh", "eigvalsh"), "LinalgEighBackward0"),
    **dict.fromkeys(("avg_pool1d", "max_pool1d", "adaptive_max_pool1d"), "SqueezeBackward1"),
    "adaptive_max_pool2d": "AdaptiveMaxPool2DBackward0",
    **{"avg_pool2d": "AvgPool2DBackward0", "max_pool2d": "MaxPool2DWithIndicesBackward0"},
    **{"relu6": "HardtanhBackward0", "selu": "EluBackward0", "softsign": "DivBackward0"},
    **{"prelu": "PreluKernelBackward0", "logsigmoid": "LogSigmoidBackward0"},
    **{"rms_norm": "MulBackward0", "batch_norm": "NativeBatchNormBackward0", "group_norm": "NativeGroupNormBackward0"},
    **{"cov": "SqueezeBackward0", "quantile": "SqueezeBackward4", "cartesian_prod": "StackBackward0"},
    **dict.fromkeys(("to", "type_", "type_as"), "ToCopyBackward0"),
    **dict.fromkeys(("T", "movedim", "moveaxis"), "PermuteBackward0"),
    **dict.fromkeys(("mT", "swapaxes", "swapdims"), "TransposeBackward0"),
    **dict.fromkeys(("view_as", "unflatten", "repeat_interleave"), "ViewBackward0"),
    **dict.fromkeys(("expand_as", "broadcast_to"), "ExpandBackward0"),
    **{"unique": "Unique2Backward0", "deg2rad": "Deg2RadBackward0", "rad2deg": "Rad2DegBackward0"},
    **dict.fromkeys(("vstack", "hstack", "concat", "concatenate"), "CatBackward0"),
    **dict.fromkeys(("narrow", "tensor_split", "hsplit", "vsplit"), "SliceBackward0"),
    **dict.fromkeys(("dropout", "outer"), "MulBackward0"),
    **dict.fromkeys(("clamp", "clip"), "ClampBackward1"),
    "copy_slices": "CopySlices",
    **dict.fromkeys(("cross", "cross_product"), "LinalgCrossBackward0"),
    **{"nanmean": "DivBackward0", "nanquantile": "SqueezeBackward4", "cumulative_trapezoid": "CumsumBackward0"},
    **{"msort": "SortBackward0", "combinations": "StackBackward0", "vander": "FlipBackward0", "vdot": "VdotBackward0"},
    **{"flipud": "FlipBackward0", "atleast_3d": "UnsqueezeBackward0", "dstack": "CatBackward0"},
    **dict.fromkeys(("adjoint", "H"), "TransposeBackward0"),
    **{"tanhshrink": "SubBackward0", "pairwise_distance": "NormBackward1"},
    **{"adaptive_avg_pool1d": "SqueezeBackward1", "parameters_to_vector": "CatBackward0"},
    "__iter__": "UnbindBackward0",
    "contiguous": "CloneBackward0",
    "copy_": "CopyBackwards",
    "cosine_similarity": "SumBackward1",
    **dict.fromkeys(("floor_divide", "heaviside"), "NotImplemented"),
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
    """Return torch's name for the node of an operation, from the name of its function."""
    name = name.strip("_")
    return OTHERS.get(name) or "".join(part[:1].upper() + part[1:] for part in name.split("_")) + "Backward0"


@lru_cache(maxsize=500)
def is_here(file: str) -> bool:
    """Check whether a file is one of the page's torch."""
    return file.startswith(HERE)


def name_of_operation() -> tuple[str, str]:
    """Return the name of the node that is being recorded, and that of the function that computes the operation.

    Without such a function, they are "Backward0" and "".
    """
    frame: FrameType | None = sys._getframe(2)
    outer: FrameType | None = None
    while frame is not None and is_here(frame.f_code.co_filename) and frame.f_code.co_name not in MODULES:
        if frame.f_code.co_name not in HELPERS:
            outer = frame
        frame = frame.f_back
    if outer is None:
        return "Backward0", ""
    name = outer.f_code.co_name
    return RULES[name](outer.f_locals) if name in RULES else OTHERS.get(name) or camel_case(name), name
