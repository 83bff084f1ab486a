"""Functions of `functional` as layers, with their settings as attributes: activations, pooling, losses and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..tensors import Tensor
from . import functional
from .module import Module
from .windows import each

BUFFERS = ("weight", "pos_weight")  # settings that are part of the state


class Function(Module):
    """A function as a layer. The settings are the arguments after those that `forward` gets, and their values.

    Each is an attribute, or a buffer if it is a tensor of weights. A TypeError is raised for an unknown or missing
    setting.
    """

    _function: ClassVar[str]  # its name in `functional`
    _settings: ClassVar[dict[str, Any]]
    _shown: ClassVar[tuple[str, ...]]  # the settings that the layer's text has

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        given = dict(zip(self._settings, args, strict=False)) | kwargs
        if len(args) > len(self._settings) or given.keys() - set(self._settings):
            raise TypeError(f"{type(self).__name__}.__init__() takes the arguments: {', '.join(self._settings)}")
        for name, value in {**self._settings, **given}.items():
            if value is ...:
                raise TypeError(f"{type(self).__name__}.__init__() missing 1 required positional argument: '{name}'")
            if name in BUFFERS:
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, *args: Tensor, **named: Tensor) -> Tensor:
        settings = {name: getattr(self, name) for name in self._settings}
        return getattr(functional, self._function)(*args, **named, **settings)

    def extra_repr(self) -> str:
        """Return the settings that torch shows; of `inplace`, only whether it is set."""
        shown = [f"{name}={getattr(self, name)!r}" for name in self._shown]
        return ", ".join(shown + ["inplace=True"] * bool(getattr(self, "inplace", False)))


class Pooling(Function):
    """Pooling as a layer. The windows' size is also their step, unless another is given."""

    kernel_size: Any
    stride: Any
    padding: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stride = self.kernel_size if self.stride is None else self.stride
        if self._function == "avg_pool1d":
            self.kernel_size, self.stride, self.padding = (
                tuple(each(sizes, 1)) for sizes in (self.kernel_size, self.stride, self.padding)
            )


def layer_of(title: str, function: str, shown: str = "", base: type[Function] = Function, **settings: Any) -> Any:
    """Return the class of a function as a layer, with the names of the settings that it shows, and with their values."""
    members = {"_function": function, "_shown": tuple(shown.split()), "_settings": settings}
    return type(title, (base,), {**members, "__doc__": f"`functional.{function}` as a layer.", "__module__": __name__})


OLDER: dict[str, Any] = {"size_average": None, "reduce": None, "reduction": "mean"}  # the end of a loss's settings

Softmax = layer_of("Softmax", "softmax", "dim", dim=None)
LogSoftmax = layer_of("LogSoftmax", "log_softmax", "dim", dim=None)
Softmin = layer_of("Softmin", "softmin", "dim", dim=None)
GLU = layer_of("GLU", "glu", "dim", dim=-1)
GELU = layer_of("GELU", "gelu", "approximate", approximate="none")
ReLU = layer_of("ReLU", "relu", inplace=False)
SiLU = layer_of("SiLU", "silu", inplace=False)
SELU = layer_of("SELU", "selu", inplace=False)
Mish = layer_of("Mish", "mish", inplace=False)
Tanh = layer_of("Tanh", "tanh")
Sigmoid = layer_of("Sigmoid", "sigmoid")
LogSigmoid = layer_of("LogSigmoid", "logsigmoid")
Softsign = layer_of("Softsign", "softsign")
LeakyReLU = layer_of("LeakyReLU", "leaky_relu", "negative_slope", negative_slope=0.01, inplace=False)
ELU = layer_of("ELU", "elu", "alpha", alpha=1.0, inplace=False)
Softplus = layer_of("Softplus", "softplus", "beta threshold", beta=1.0, threshold=20.0)
Hardtanh = layer_of("Hardtanh", "hardtanh", "min_val max_val", min_val=-1.0, max_val=1.0, inplace=False)
ReLU6 = layer_of("ReLU6", "relu6", base=Hardtanh, inplace=False)
CosineSimilarity = layer_of("CosineSimilarity", "cosine_similarity", dim=1, eps=1e-08)
POOL: dict[str, Any] = {"kernel_size": ..., "stride": None, "padding": 0}
MAX = {**POOL, "dilation": 1, "return_indices": False, "ceil_mode": False}
MaxPool1d = layer_of("MaxPool1d", "max_pool1d", "kernel_size stride padding dilation ceil_mode", Pooling, **MAX)
MaxPool2d = layer_of("MaxPool2d", "max_pool2d", "kernel_size stride padding dilation ceil_mode", Pooling, **MAX)
AVERAGE = {**POOL, "ceil_mode": False, "count_include_pad": True}
AvgPool1d = layer_of("AvgPool1d", "avg_pool1d", "kernel_size stride padding", Pooling, **AVERAGE)
AvgPool2d = layer_of("AvgPool2d", "avg_pool2d", "kernel_size stride padding", Pooling, **AVERAGE)
MSELoss = layer_of("MSELoss", "mse_loss", **OLDER)
L1Loss = layer_of("L1Loss", "l1_loss", **OLDER)
SmoothL1Loss = layer_of("SmoothL1Loss", "smooth_l1_loss", **OLDER, beta=1.0)
HuberLoss = layer_of("HuberLoss", "huber_loss", reduction="mean", delta=1.0)
KLDivLoss = layer_of("KLDivLoss", "kl_div", **OLDER, log_target=False)
BCELoss = layer_of("BCELoss", "binary_cross_entropy", weight=None, **OLDER)
BCEWithLogitsLoss = layer_of(
    "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", weight=None, **OLDER, pos_weight=None
)
IGNORED: dict[str, Any] = {"weight": None, "size_average": None, "ignore_index": -100, "reduce": None}
NLLLoss = layer_of("NLLLoss", "nll_loss", **IGNORED, reduction="mean")
CrossEntropyLoss = layer_of("CrossEntropyLoss", "cross_entropy", **IGNORED, reduction="mean", label_smoothing=0.0)


SoftMarginLoss = layer_of("SoftMarginLoss", "soft_margin_loss", **OLDER)
POISSON: dict[str, Any] = {"log_input": True, "full": False, "size_average": None, "eps": 1e-8}
PoissonNLLLoss = layer_of("PoissonNLLLoss", "poisson_nll_loss", **POISSON, reduce=None, reduction="mean")
GaussianNLLLoss = layer_of("GaussianNLLLoss", "gaussian_nll_loss", full=False, eps=1e-6, reduction="mean")
MarginRankingLoss = layer_of("MarginRankingLoss", "margin_ranking_loss", margin=0.0, **OLDER)
HingeEmbeddingLoss = layer_of("HingeEmbeddingLoss", "hinge_embedding_loss", margin=1.0, **OLDER)
CosineEmbeddingLoss = layer_of("CosineEmbeddingLoss", "cosine_embedding_loss", margin=0.0, **OLDER)
TRIPLET: dict[str, Any] = {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False}
TripletMarginLoss = layer_of("TripletMarginLoss", "triplet_margin_loss", **TRIPLET, **OLDER)
Hardsigmoid = layer_of("Hardsigmoid", "hardsigmoid", inplace=False)
Hardswish = layer_of("Hardswish", "hardswish", inplace=False)
CELU = layer_of("CELU", "celu", "alpha", alpha=1.0, inplace=False)
Threshold = layer_of("Threshold", "threshold", "threshold value", threshold=..., value=..., inplace=False)
Tanhshrink = layer_of("Tanhshrink", "tanhshrink")
PairwiseDistance = layer_of("PairwiseDistance", "pairwise_distance", p=2.0, eps=1e-6, keepdim=False)
UNFOLD: dict[str, Any] = {"kernel_size": ..., "dilation": 1, "padding": 0, "stride": 1}
Unfold = layer_of("Unfold", "unfold", "kernel_size dilation padding stride", **UNFOLD)


class Shrink(Function):
    """A function that draws numbers to 0, as a layer."""

    lambd: float

    def extra_repr(self) -> str:
        return str(self.lambd)


Softshrink = layer_of("Softshrink", "softshrink", base=Shrink, lambd=0.5)
Hardshrink = layer_of("Hardshrink", "hardshrink", base=Shrink, lambd=0.5)


class Adaptive(Function):
    """Means of as many windows as the result has places, as a layer."""

    output_size: Any

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


AdaptiveAvgPool1d = layer_of("AdaptiveAvgPool1d", "adaptive_avg_pool1d", base=Adaptive, output_size=...)
AdaptiveAvgPool2d = layer_of("AdaptiveAvgPool2d", "adaptive_avg_pool2d", base=Adaptive, output_size=...)
AdaptiveMaxPool1d = layer_of(
    "AdaptiveMaxPool1d", "adaptive_max_pool1d", base=Adaptive, output_size=..., return_indices=False
)
AdaptiveMaxPool2d = layer_of(
    "AdaptiveMaxPool2d", "adaptive_max_pool2d", base=Adaptive, output_size=..., return_indices=False
)


class Upsample(Module):
    """`interpolate` as a layer."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size, self.mode, self.align_corners = size, mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor
        self.scale_factor = scale_factor if scale_factor is None else float(scale_factor)

    def forward(self, input: Tensor) -> Tensor:
        settings = (self.mode, self.align_corners, self.recompute_scale_factor)
        return functional.interpolate(input, self.size, self.scale_factor, *settings)

    def extra_repr(self) -> str:
        given = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{given}, mode='{self.mode}'"


class Identity(Module):
    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Flatten(Module):
    """`flatten` as a layer, which by default keeps the axis of the batch."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """`unflatten` as a layer. A size that is no integer raises a TypeError."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {i}"
                )
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
