"""Convolutions and pooling: functions of the windows of a tensor along its last axes.

Errors are those of torch, also where a docstring does not list them. What the page's version lacks raises a
NotImplementedError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..dtypes import C_NAMES
from ..joining import cat
from ..missing import refuse, refuse_set
from ..numbers import INTEGERS, plain
from ..tensors import Tensor
from . import functional

Sizes = int | Sequence[int]  # one for all axes, or one for each


def each(sizes: Sizes, n: int) -> list[int]:
    """Return one size for each of n axes: a single one n times, several as they are."""
    given = [sizes] if isinstance(sizes, INTEGERS) else list(sizes)
    return [plain(size) for size in given] * (n if len(given) == 1 else 1)


def windows(x: Tensor, size: list[int], step: list[int], dilation: list[int]) -> Tensor:
    """Return a view of the windows along as many last axes as `size` has numbers.

    A window's numbers are `dilation` apart, and windows `step` apart, along each axis.

    Shapes:
        x (batch, channels, *sizes); result (batch, channels, *numbers of windows, *sizes of a window)
    """
    n = len(size)
    for i in range(n):
        x = x.unfold(x.ndim - n, (size[i] - 1) * dilation[i] + 1, step[i])  # its last axis counts within a window
    return x[(..., *(slice(None, None, d) for d in dilation))] if max(dilation) > 1 else x


def padded(x: Tensor, padding: list[int], value: float = 0.0) -> Tensor:
    """Add the same padding before and after each of the last axes."""
    return functional.pad(x, [p for p in reversed(padding) for _ in "ab"], value=value) if any(padding) else x


def check_axes(name: str, x: Tensor, n: int) -> None:
    """Raise a RuntimeError unless `x` has n axes after batch and channels, or after channels without a batch.

    The message says that it is the input to `name`.
    """
    if x.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: {list(x.shape)}"
        )


def convolution(
    n: int,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
    groups: int,
) -> Tensor:
    """Multiply each window of x along n axes with each filter, and add up, with zeros as padding.

    Windows are `stride` apart, and their numbers `dilation`: one number for all axes, or one each. `padding` "same"
    keeps the sizes of x, and "valid" is none.

    Shapes:
        x (batch, channels, *sizes) or without the batch; weight (filters, channels / groups, *sizes of a window);
        bias (filters); result (batch, filters, *numbers of windows)
    Raises:
        RuntimeError: `x` has other axes, channels or another dtype than the filters, `groups` does not divide these, a
            window is larger than the padded `x`, `stride` or `groups` is below 1, or `padding` is negative, another
            text, or "same" with a stride.
    """
    check_axes(f"conv{n}d", x, n)
    if isinstance(padding, str) and padding not in ("same", "valid"):
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if padding == "same" and max(each(stride, n)) > 1:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    other, name = (weight, "weight") if bias is None else (bias, "bias")
    if x.dtype is not other.dtype:
        kinds = C_NAMES[x.dtype], C_NAMES[other.dtype]
        raise RuntimeError(f"Input type ({kinds[0]}) and {name} type ({kinds[1]}) should be the same")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if min(each(stride, n)) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if not isinstance(padding, str) and min(each(padding, n)) < 0:
        raise RuntimeError("negative padding is not supported")
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"[{list(weight.shape)}] instead"
        )
    size, dilations = list(weight.shape[2:]), each(dilation, n)
    batch = x if x.ndim == n + 2 else x.unsqueeze(0)
    if batch.shape[1] != weight.shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{list(batch.shape)} to have "
            f"{weight.shape[1] * groups} channels, but got {batch.shape[1]} channels instead"
        )
    batch = padded(batch, each(padding, n)) if not isinstance(padding, str) else batch
    if padding == "same":
        gaps = [(k - 1) * d for k, d in zip(size, dilations, strict=True)]
        batch = functional.pad(batch, [side for gap in reversed(gaps) for side in (gap // 2, gap - gap // 2)])
    if any((k - 1) * d + 1 > m for k, d, m in zip(size, dilations, batch.shape[2:], strict=True)):
        sizes = [" x ".join(map(str, one)) for one in (batch.shape[2:], size)]
        raise RuntimeError(
            f"Calculated padded input size per channel: ({sizes[0]}). Kernel size: ({sizes[1]}). Kernel size can't be "
            "greater than actual input size"
        )
    seen = windows(batch, size, each(stride, n), dilations)
    # (batch, channels, *places, *window) → (batch, *places, channels · window)
    rows = seen.permute(0, *range(2, 2 + n), 1, *range(2 + n, 2 + 2 * n)).flatten(n + 1)
    parts = zip(rows.chunk(groups, -1), weight.flatten(1).chunk(groups), strict=True)
    out = cat([part @ filters.mT for part, filters in parts], -1)
    out = (out if bias is None else out + bias).movedim(-1, 1)
    out = out.flatten().view(out.shape)  # the strides of an axis with one place are those of torch, too
    return out if x.ndim == n + 2 else out[0]


def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Multiply each window along the last axis with each filter, and add up: see `convolution`."""
    return convolution(1, x, weight, bias, stride, padding, dilation, groups)


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Multiply each window along the last two axes with each filter, and add up: see `convolution`."""
    return convolution(2, x, weight, bias, stride, padding, dilation, groups)


def unfold(x: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> Tensor:
    """Return the windows along the last two axes as columns, with zeros as padding.

    Shapes:
        x (batch, channels, *sizes) or without the batch; result (batch, channels · numbers of a window, windows)
    Raises:
        NotImplementedError: `x` has other axes, or a window is larger than the padded `x`.
    """
    if x.ndim not in (3, 4):
        refuse("`unfold` of a tensor with other than three or four axes")
    size, dilations = each(kernel_size, 2), each(dilation, 2)
    batch = padded(x if x.ndim == 4 else x.unsqueeze(0), each(padding, 2))
    if any((k - 1) * d + 1 > m for k, d, m in zip(size, dilations, batch.shape[2:], strict=True)):
        refuse("`unfold` with windows that are larger than the tensor")
    seen = windows(batch, size, each(stride, 2), dilations)  # (batch, channels, *places, *window)
    out = seen.permute(0, 1, 4, 5, 2, 3).flatten(4).flatten(1, 3)
    return out if x.ndim == 4 else out[0]


def pooled(
    name: str,
    x: Tensor,
    sizes: tuple[Sizes, Sizes | None, Sizes, Sizes],
    value: float,
    pool: Callable[[Tensor], Tensor],
) -> Tensor:
    """Apply `pool`, which reduces the last axis, to the windows along as many last axes as `name` says ("max_pool2d").

    `sizes` are those of a window, the steps (None: those of a window), the padding, filled with `value`, and the
    dilation.

    Shapes:
        x (batch, channels, *sizes) or without the batch; the result as x, with the number of windows for each size
    Raises:
        RuntimeError: `x` has more or fewer axes, the padding exceeds half a window, or a window exceeds the padded `x`.
    """
    n = int(name[-2])
    check_axes(name, x, n)
    size, padding = each(sizes[0], n), each(sizes[2], n)
    if any(2 * p > k for p, k in zip(padding, size, strict=True)):
        raise RuntimeError("pad should be at most half of effective kernel size")
    batch = padded(x if x.ndim == n + 2 else x.unsqueeze(0), padding, value)
    spans = [(k - 1) * d + 1 for k, d in zip(size, each(sizes[3], n), strict=True)]
    if any(m < span for m, span in zip(batch.shape[2:], spans, strict=True)):
        raise RuntimeError(f"{name}() Invalid computed output size: 0")
    step = size if sizes[1] is None else each(sizes[1], n)
    out = pool(windows(batch, size, step, each(sizes[3], n)).flatten(2 + n))
    return out if x.ndim == n + 2 else out[0]


def average(x: Tensor) -> Tensor:
    return x.mean(-1)


def largest(x: Tensor) -> Tensor:
    return x.max(-1)[0]


def avg_pool1d(
    x: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Return the mean of each window along the last axis: see `pooled`. Padding counts as zeros.

    `ceil_mode`, and `count_include_pad=False`, raise a NotImplementedError.
    """
    refuse_set("avg_pool1d", ceil_mode=ceil_mode, count_include_pad=not count_include_pad)
    return pooled("avg_pool1d", x, (kernel_size, stride, padding, 1), 0.0, average)


def avg_pool2d(
    x: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Return the mean of each window along the last two axes: see `pooled`. Padding counts as zeros.

    `ceil_mode`, and `count_include_pad=False`, raise a NotImplementedError.
    """
    refuse_set("avg_pool2d", ceil_mode=ceil_mode, count_include_pad=not count_include_pad)
    return pooled("avg_pool2d", x, (kernel_size, stride, padding, 1), 0.0, average)


def max_pool1d(
    x: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """Return the largest number of each window along the last axis: see `pooled`. Padding does not count.

    `ceil_mode` and `return_indices` raise a NotImplementedError.
    """
    refuse_set("max_pool1d", ceil_mode=ceil_mode, return_indices=return_indices)
    return pooled("max_pool1d", x, (kernel_size, stride, padding, dilation), -math.inf, largest)


def max_pool2d(
    x: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """Return the largest number of each window along the last two axes: see `pooled`. Padding does not count.

    `ceil_mode` and `return_indices` raise a NotImplementedError.
    """
    refuse_set("max_pool2d", ceil_mode=ceil_mode, return_indices=return_indices)
    return pooled("max_pool2d", x, (kernel_size, stride, padding, dilation), -math.inf, largest)


def adaptive(name: str, x: Tensor, sizes: Any) -> Tensor:
    """Return the means or maxima of as many windows along each of the last axes as `sizes` says; None keeps an axis.

    The number of these axes is in `name` ("adaptive_avg_pool2d"). A single size is for all of them.

    Raises:
        RuntimeError: `x` has other axes than these after its channels, with or without a batch, or the sizes are too
            few.
        ValueError: there are as many sizes as axes of `x`.
    """
    n = int(name[-2])
    check_axes(name, x, n)
    largest = "max" in name
    wanted: list[Any] = [None] * n if sizes is None else each(sizes, n)
    given = n if sizes is None or isinstance(sizes, INTEGERS) else len(sizes)
    if given != n:
        if n == 2 and given >= x.ndim:
            raise ValueError(f"Input dimension should be at least {given + 1}")
        texts = {
            "adaptive_avg_pool2d": "adaptive_avg_pool2d: output_size must be 2",
            "adaptive_max_pool2d": "adaptive_max_pool2d(): internal error: output_size.size() must be 2",
        }
        one = f"{name}() argument 'output_size' should contain one int (got {given})"
        raise RuntimeError(texts.get(name, one))
    for i in range(n)[:: -1 if largest else 1]:  # then, of equal numbers, the first one by rows gets the gradient
        d = x.ndim - n + i
        m = x.shape[d]
        size = m if wanted[i] is None else wanted[i]
        ends = [(i * m // size, -(-(i + 1) * m // size)) for i in range(size)]
        if not ends:
            x = x.narrow(d, 0, 0)
            continue
        parts = [x.narrow(d, a, b - a) for a, b in ends]
        x = cat([part.max(d, True)[0] if largest else part.mean(d, True) for part in parts], d)
    return x


def adaptive_avg_pool1d(x: Tensor, output_size: Sizes) -> Tensor:
    return adaptive("adaptive_avg_pool1d", x, output_size)


def adaptive_avg_pool2d(x: Tensor, output_size: Sizes) -> Tensor:
    return adaptive("adaptive_avg_pool2d", x, output_size)


def adaptive_max_pool1d(x: Tensor, output_size: Sizes, return_indices: bool = False) -> Tensor:
    refuse_set("adaptive_max_pool1d", return_indices=return_indices)
    return adaptive("adaptive_max_pool1d", x, output_size)


def adaptive_max_pool2d(x: Tensor, output_size: Sizes, return_indices: bool = False) -> Tensor:
    refuse_set("adaptive_max_pool2d", return_indices=return_indices)
    return adaptive("adaptive_max_pool2d", x, output_size)
