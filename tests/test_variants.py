"""The table of chapter 10, on short sequences: exact variants are exact, and each input shows what it is there for."""

from __future__ import annotations

import pytest

from benchmarks import variants


@pytest.fixture(scope="module", name="table")
def short_table():
    return {(row.variant, row.n): row for row in variants.rows([128, 512], "cpu", seconds=0)}


@pytest.mark.parametrize("n", [128, 512])
def test_exact_variants_are_exact(table, n):
    for name in ("full", f"blockwise, blocks of {variants.BLOCK}"):
        row = table[name, n]
        assert max(row.random, row.local, row.needle) < 1e-6
    inexact = [row for (name, size), row in table.items() if size == n and row.random > 0.1]
    assert len(inexact) == len(variants.variants(n, "cpu")) - 3


def test_a_window_is_enough_for_local_inputs_and_loses_the_needle(table):
    row = table[f"window of {variants.WINDOW}", 512]
    assert row.local < 0.01
    assert row.needle > 0.5


def test_hashing_finds_the_needle(table):
    assert table[f"hashing, buckets of {variants.BUCKET}", 512].needle < 0.01


def test_every_case_has_its_costs_and_a_time(table):
    assert len(table) == 2 * len(variants.variants(128, "cpu"))
    for row in table.values():
        assert row.multiply_adds > 0
        assert row.largest >= row.n * variants.D
        assert row.milliseconds > 0


def test_what_does_not_fit_into_memory_is_left_out(table, monkeypatch):
    monkeypatch.setattr(variants, "free_bytes", lambda device: 2 * variants.LIVE * 4 * 128 * 128 - 1)
    left_out = {row.variant for row in variants.rows([128], "cpu", seconds=0) if row.milliseconds is None}
    assert "full" in left_out
    assert f"window of {variants.WINDOW}" not in left_out
    assert next(row for row in variants.rows([128], "cpu", seconds=0)).largest == 128 * 128
