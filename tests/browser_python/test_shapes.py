"""Tensors of any shape and strides are broadcast, indexed, joined and reduced as torch does it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.browser_python.both import BOTH, as_data, near
from tests.seeds import SEED

sizes = st.lists(st.integers(0, 3), max_size=4)
axes = st.integers(-5, 4)
orders = st.randoms(use_true_random=False)


def made(library: Any, shape: list[int], order: list[int]) -> Any:
    """A tensor of that shape whose axes lie in the storage in another order."""
    n = 1
    for size in shape:
        n *= size
    strided = library.arange(float(n)).reshape([shape[i] for i in order])
    return (strided * 0.37 - 1).permute([order.index(i) for i in range(len(order))])


def both(act: Any, *shapes: list[int], shuffle: Any) -> None:
    """Do the same with both, on tensors of these shapes, and compare what came of it."""
    orders = [list(range(len(shape))) for shape in shapes]
    for order in orders:
        shuffle.shuffle(order)
    found = []
    for library in BOTH:
        tensors = [made(library, shape, order) for shape, order in zip(shapes, orders, strict=True)]
        try:
            found.append([as_data(act(library, *tensors)), [as_data(t) for t in tensors]])
        except Exception as error:
            found.append(type(error).__name__)
    assert near(*found), found


def many(times: int) -> Any:
    """Set how many examples Hypothesis draws, by the run's seed."""
    return lambda test: seed(SEED)(settings(max_examples=times, deadline=None, derandomize=False)(test))


def by_effort(test: Any) -> Any:
    """A sample in the gate, and a long run in the sweep."""
    return pytest.mark.parametrize("times", [60, pytest.param(3000, marks=pytest.mark.slow)])(test)


@by_effort
def test_broadcasting(times: int):
    @many(times)
    @given(sizes, sizes, orders, st.sampled_from(["add", "mul", "div", "maximum", "lt", "pow"]))
    def holds(a, b, shuffle, name):
        both(lambda t, x, y: getattr(t, name)(x, y), a, b, shuffle=shuffle)

    holds()


@by_effort
def test_views(times: int):
    @many(times)
    @given(sizes, sizes, orders)
    def holds(a, b, shuffle):
        both(lambda t, x: x.view(b), a, shuffle=shuffle)
        both(lambda t, x: x.reshape(b), a, shuffle=shuffle)
        both(lambda t, x: x.expand(b), a, shuffle=shuffle)
        both(lambda t, x: [x.stride(), x.is_contiguous()] if x.numel() else [], a, shuffle=shuffle)

    holds()


keys = st.one_of(
    st.integers(-4, 3),
    st.none(),
    st.just(Ellipsis),
    st.booleans(),
    st.slices(3).filter(lambda s: s.step is None or s.step > 0),
    st.lists(st.integers(-2, 1), min_size=1, max_size=3),
    st.lists(st.booleans(), min_size=1, max_size=3).map(lambda mask: ("mask", mask)),
)


def as_keys(library: Any, chosen: list[Any]) -> Any:
    return tuple(library.tensor(k[1]) if isinstance(k, tuple) else k for k in chosen)


def has_one_ellipsis(chosen: list[Any]) -> bool:
    return sum(k is Ellipsis for k in chosen) < 2


@by_effort
def test_indexing(times: int):
    @many(times)
    @given(sizes, st.lists(keys, max_size=4).filter(has_one_ellipsis), orders)
    def holds(a, chosen, shuffle):
        both(lambda t, x: x[as_keys(t, chosen)], a, shuffle=shuffle)

    holds()


@by_effort
def test_writing(times: int):
    @many(times)
    @given(sizes, st.lists(keys, max_size=3).filter(has_one_ellipsis), sizes, orders)
    def holds(a, chosen, value, shuffle):
        def write(library: Any, x: Any, v: Any) -> Any:
            x = x.clone()
            x[as_keys(library, chosen)] = v if v.numel() == 1 else 7.0
            return x

        both(write, a, value, shuffle=shuffle)

    holds()


@by_effort
def test_reductions(times: int):
    names = st.sampled_from(["sum", "mean", "amax", "softmax", "logsumexp", "cumsum", "argmax", "all", "var", "sort"])

    @many(times)
    @given(sizes, axes, orders, names)
    def holds(a, axis, shuffle, name):
        both(lambda t, x: getattr(x, name)(axis), a, shuffle=shuffle)

    holds()


@by_effort
def test_products(times: int):
    @many(times)
    @given(sizes, sizes, orders)
    def holds(a, b, shuffle):
        both(lambda t, x, y: x @ y, a, b, shuffle=shuffle)

    holds()


@by_effort
def test_joining(times: int):
    @many(times)
    @given(sizes, sizes, axes, orders)
    def holds(a, b, axis, shuffle):
        both(lambda t, x, y: t.cat([x, y], axis), a, b, shuffle=shuffle)
        both(lambda t, x: t.stack([x, x], axis), a, shuffle=shuffle)
        both(lambda t, x: [x.flip(axis), x.unsqueeze(axis)], a, shuffle=shuffle)

    holds()


@by_effort
def test_gradients(times: int):
    """Of a sum that indexes, broadcasts and multiplies, written in two ways."""

    @many(times)
    @given(sizes.filter(lambda s: len(s) > 1), st.lists(keys, max_size=3).filter(has_one_ellipsis), orders)
    def holds(a, chosen, shuffle):
        def gradient(library: Any, x: Any) -> Any:
            x = x.detach().requires_grad_()
            y = (x * x.sum(0, keepdim=True)).transpose(0, -1)
            y[as_keys(library, chosen)].exp().sum().backward()
            return x.grad

        both(gradient, a, shuffle=shuffle)

    holds()
