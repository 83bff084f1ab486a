"""Initial values of parameters."""

from __future__ import annotations

import math

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
    """Return the numbers of inputs and of outputs of a layer with this weight."""
    if t.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(t.shape[2:])
    return t.shape[1] * field, t.shape[0] * field


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
    """Draw uniform numbers whose variance keeps that of the activations (He et al., 2015)."""
    gains = {"leaky_relu": math.sqrt(2.0 / (1 + a * a)), "relu": math.sqrt(2.0), "linear": 1.0, "sigmoid": 1.0}
    if nonlinearity not in gains:
        refuse(f"`nonlinearity={nonlinearity}` of `kaiming_uniform_`")
    bound = gains[nonlinearity] * math.sqrt(3.0 / fans(t)[("fan_in", "fan_out").index(mode)])
    return uniform_(t, -bound, bound, generator)


__getattr__ = missing_getattr("torch.nn.init")
