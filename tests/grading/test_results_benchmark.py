"""The measurement of writing and comparing the results of a class runs, with the grader's present functions."""

from __future__ import annotations

import sys

import pytest

from benchmarks import results


def test_it_writes_reads_and_compares_a_class(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "argv", ["results.py", "4"])
    results.main()
    assert "results that need no new grading: 3 of 4" in capsys.readouterr().out  # one of them was not graded
