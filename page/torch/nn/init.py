"""Initial values of parameters."""

from __future__ import annotations

import math
from typing import Any

from ..modes import no_grad


def uniform_(t: Any, a: Any = 0.0, b: Any = 1.0, generator: Any = None) -> Any:
    with no_grad():
        return t.uniform_(a, b, generator)


def normal_(t: Any, mean: Any = 0.0, std: Any = 1.0, generator: Any = None) -> Any:
    with no_grad():
        return t.normal_(mean, std, generator)


def zeros_(t: Any) -> Any:
    with no_grad():
        return t.zero_()


def ones_(t: Any) -> Any:
    with no_grad():
        return t.fill_(1)


def xavier_uniform_(t: Any, gain: Any = 1.0) -> Any:
    a = gain * math.sqrt(6.0 / (t.shape[0] + t.shape[1]))
    with no_grad():
        return t.uniform_(-a, a)


def constant_(t: Any, value: Any) -> Any:
    with no_grad():
        return t.fill_(value)


def xavier_normal_(t: Any, gain: Any = 1.0) -> Any:
    return normal_(t, 0.0, gain * math.sqrt(2.0 / (t.shape[0] + t.shape[1])))


def kaiming_uniform_(t: Any, a: Any = 0.0) -> Any:
    bound = math.sqrt(2.0 / (1 + a * a)) * math.sqrt(3.0 / t.shape[1])
    return uniform_(t, -bound, bound)
