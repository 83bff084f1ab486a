"""Programs print on the page what they print with torch, or an error that says what the page does not have."""

from __future__ import annotations

import pytest

from browser_python.in_node import interpreter
from tests.browser_python.programs import BAD, compared, program, run, run_on_page
from tests.seeds import SEED


@pytest.mark.parametrize(
    ("first", "count"),
    [pytest.param(0, 60, id="a few"), pytest.param(SEED % 10**8, 2000, id="many", marks=pytest.mark.slow)],
)
def test_programs_print_the_same(first: int, count: int):
    found: dict[str, list[int]] = {}
    with interpreter() as python:
        for seed in range(first, first + count):
            text = program(seed)
            found.setdefault(compared(run(text, {}), run_on_page(python, text)), []).append(seed)
    assert {verdict: found[verdict] for verdict in BAD if verdict in found} == {}
    assert len(found["same"]) > count / 2
