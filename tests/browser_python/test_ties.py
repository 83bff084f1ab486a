"""The page's torch leaves equal numbers in torch's own order, where `sort`, `argsort` and `topk` promise none."""

from __future__ import annotations

import math

import pytest
import torch

from browser_python import torch as page_torch
from browser_python.torch import ties

from .both import as_data

Row = list[float]
SIZES = (1, 3, 16, 17, 100, 400)


def rows(size: int) -> list[Row]:
    """Rows with many, few and no equal numbers: in any order, in both orders, rising and falling, and with nans."""
    found: list[Row] = []
    generator = torch.Generator().manual_seed(size)
    for different in {1, 2, 5, size}:
        drawn = torch.randint(0, different, (size,), generator=generator).double()
        gaps = drawn.where(torch.rand(size, generator=generator) > 0.1, math.nan)
        found += [
            drawn.tolist(),
            gaps.tolist(),
            drawn.sort().values.tolist(),
            drawn.sort(descending=True).values.tolist(),
        ]
    return [*found, [*map(float, range(size // 2)), *map(float, reversed(range(size - size // 2)))]]


def killer(size: int) -> Row:
    """A row on which quicksort goes too deep, so that heapsort has to end it (McIlroy, 1999)."""
    high = math.inf
    values, fixed, candidate = [high] * size, 0, 0

    def less(i: int, j: int) -> bool:
        nonlocal fixed, candidate
        if values[i] == values[j] == high:
            values[i if i == candidate else j] = fixed
            fixed += 1
        if values[i] == high:
            candidate = i
        elif values[j] == high:
            candidate = j
        return values[i] < values[j]

    ties.introsort(list(range(size)), 0, size, less)
    return [float(min(value, fixed) // 2) for value in values]


def places(library: object, name: str, row: Row, dtype: str, *given: object, **named: object) -> object:
    """What a function of one of the libraries returns for a row."""
    x = library.tensor(row, dtype=getattr(library, dtype))  # type: ignore[attr-defined]
    return str(as_data(getattr(x, name)(*given, **named)))


def assert_same(name: str, row: Row, dtype: str, *given: object, **named: object) -> None:
    ours = places(page_torch, name, row, dtype, *given, **named)
    assert ours == places(torch, name, row, dtype, *given, **named), (name, row, dtype, given, named)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("descending", [False, True])
def test_sort_and_argsort_order_equal_numbers_as_torch_does(size: int, descending: bool):
    for row in rows(size):
        for name in ("sort", "argsort"):
            assert_same(name, row, "float32", descending=descending)
        assert_same("sort", row, "float64", stable=True, descending=descending)
        if not any(map(math.isnan, row)):
            assert_same("argsort", row, "int64", descending=descending)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("largest", [False, True])
def test_topk_orders_equal_numbers_as_torch_does(size: int, largest: bool):
    for row in rows(size):
        for k in {1, size // 64 or 1, size // 2 or 1, size}:
            for is_sorted in (True, False):
                assert_same("topk", row, "float32", k, largest=largest, sorted=is_sorted)


@pytest.mark.parametrize("name", ["sort", "topk"])
def test_rows_on_which_quicksort_goes_too_deep_are_in_torchs_order_too(name: str):
    row = killer(400)
    assert_same(name, row, "float32", *([300] if name == "topk" else []))


def test_the_killer_row_reaches_heapsort(monkeypatch: pytest.MonkeyPatch):
    reached = []
    true = ties.partial_sort
    monkeypatch.setattr(ties, "partial_sort", lambda *given: reached.append(given) or true(*given))
    ties.sort(killer(400), descending=False)
    assert reached


def test_rows_of_several_axes_and_no_numbers_are_sorted_alike():
    for program in (
        "x = L.tensor([[1, 1, 0], [2, 0, 2]]).repeat(20, 1)",
        "x = L.zeros(0)",
        "x = L.tensor(3.)",
        "x = L.ones(2, 0)",
    ):
        found = []
        for library in (torch, page_torch):
            names = {"L": library}
            exec(program, names)
            x = names["x"]
            found.append(str([as_data(x.sort(dim=0)), as_data(x.topk(min(1, x.numel()), dim=0))]))
        assert found[0] == found[1], program
