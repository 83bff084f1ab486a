"""Initial values of parameters."""

from __future__ import annotations

import math

from ..arithmetic import where
from ..creation import empty_like, eye
from ..missing import missing_getattr, refuse
from ..modes import no_grad
from ..randomness import Generator
from ..tensors import Tensor


def uniform_(t: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    with no_grad():
        return t.uniform_(a, b, generator=generator)


def normal_(t: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    with no_grad():
        return t.normal_(mean, std, generator=generator)


def zeros_(t: Tensor) -> Tensor:
    with no_grad():
        return t.zero_()


def ones_(t: Tensor) -> Tensor:
    with no_grad():
        return t.fill_(1)


def constant_(t: Tensor, val: float) -> Tensor:
    with no_grad():
        return t.fill_(val)


def fans(t: Tensor) -> tuple[int, int]:
    """Return the numbers of inputs and of outputs of a layer with this weight.

    Raises:
        ValueError: it has fewer than two axes.
    """
    if t.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(t.shape[2:])
    return t.shape[1] * field, t.shape[0] * field


def fan_of(t: Tensor, mode: str) -> int:
    """Return the number of inputs ("fan_in") or outputs ("fan_out") of a layer; another mode raises a ValueError."""
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return fans(t)[modes.index(mode.lower())]


def xavier_uniform_(t: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    a = gain * math.sqrt(6.0 / sum(fans(t)))
    return uniform_(t, -a, a, generator)


def xavier_normal_(t: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    return normal_(t, 0.0, gain * math.sqrt(2.0 / sum(fans(t))), generator)


def kaiming_uniform_(
    t: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Write uniform numbers into `t` whose variance keeps that of the activations (He et al., 2015), and return it.

    `mode` says whether inputs ("fan_in") or outputs ("fan_out") are counted; `a` is the slope of a leaky ReLU.

    Raises:
        ValueError: the mode or the function is not known, or `t` has fewer than two axes.
    """
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3.0 / fan_of(t, mode))
    return uniform_(t, -bound, bound, generator)


def kaiming_normal_(
    t: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Write normal numbers into `t` whose variance keeps that of the activations (He et al., 2015), and return it.

    `mode` says whether inputs ("fan_in") or outputs ("fan_out") are counted; `a` is the slope of a leaky ReLU.

    Raises:
        ValueError: the mode or the function is not known, or `t` has fewer than two axes.
    """
    gain = calculate_gain(nonlinearity, a)
    return normal_(t, 0.0, gain / math.sqrt(fan_of(t, mode)), generator)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor by which a function's weights are larger, so that the variance stays.

    `param` is the slope of a leaky ReLU.

    Raises:
        ValueError: the function is not known.
    """
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, (int, float, type(None))):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in (*gains, "linear", "conv1d", "conv2d", "sigmoid"):
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains.get(nonlinearity, 1)


def trunc_normal_(
    t: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Write normal numbers into `t`, each drawn anew until it is between a and b, and return it.

    Raises:
        NotImplementedError: the bounds leave few numbers, for which torch draws in another way.
    """
    if math.erf((b - mean) / std / math.sqrt(2)) - math.erf((a - mean) / std / math.sqrt(2)) <= 0.6:
        refuse("`trunc_normal_` with bounds that leave few numbers")
    with no_grad():
        t.normal_(mean, std, generator=generator)
        while bool((outside := (t < a) | (t > b)).any()):
            t.copy_(where(outside, empty_like(t).normal_(mean, std, generator=generator), t))
    return t


def eye_(t: Tensor) -> Tensor:
    """Write the identity matrix into a matrix, and return it.

    Raises:
        ValueError: it is no matrix.
    """
    if t.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return t.copy_(eye(*t.shape))


__getattr__ = missing_getattr("torch.nn.init")
