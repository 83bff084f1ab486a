"""What cells do in a browser, whose stack is another one than that of Node.js, where most programs run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser_python.cell_programs import NOTEBOOKS, printed_in_a_notebook
from tests.browser_python.test_session import DEEP, IMPORTS

from .conftest import ROOT
from .drivers import chromium_with
from .test_exercises import PATIENCE, RIGHT, SAMPLE, SET, checked, python_page
from .test_offline import REGISTER, published

pytestmark = pytest.mark.browser
LONG_SUM = "w = torch.ones(3, requires_grad=True)\nloss = 0\nfor _ in range(1200):\n    loss = loss + (w * 2).sum()\n"
MOST = 330e6  # bytes of the tab


@pytest.fixture(scope="module")
def page(browser: Browser, site: str) -> Iterator[Page]:
    yield from python_page(browser, site, f"exercises/{SAMPLE}.html")


def printed(page: Page, source: str, wanted: str) -> None:
    """Run a text in a cell to try in, and wait until it has printed this."""
    page.evaluate(SET, ["try 3.1", source])
    cell = page.locator(".qkv-cell-try").first
    cell.get_by_role("button", name="Run").click()
    expect(cell.locator(".qkv-printed")).to_contain_text(wanted, timeout=PATIENCE)


@pytest.mark.parametrize("name", DEEP)
def test_endless_recursion_is_an_error_and_python_goes_on(page: Page, name: str):
    printed(page, f"kept = 7\n{IMPORTS}\n{DEEP[name]}", "RecursionError")
    printed(page, "print(kept * 6)", "42")


def test_a_sum_over_many_steps_is_differentiated(page: Page):
    printed(page, f"{IMPORTS}\n{LONG_SUM}loss.backward()\nprint(w.grad[0].item(), 'whole')", "2400.0 whole")


def test_what_cells_change_does_not_enter_a_check(page: Page):
    printed(page, "import math, torch\nmath.pi = 3\ntorch.Tensor.mT = None\nprint(math.pi, 'changed')", "3 changed")
    assert checked(page, "3.1", RIGHT)["status"] == "passed"
    printed(page, "print(math.pi, torch.Tensor.mT)", "3 None")
    page.locator(".qkv-cell-try").first.get_by_role("button", name="Restart").click()


def test_an_answer_that_the_page_cannot_run_is_not_judged_and_is_kept(page: Page):
    answer = "def scaled_scores(q, k):\n    return q.svd()\n"
    found = checked(page, "3.1", answer)
    assert (found["status"], found["points"]) == ("not attempted", 0)
    card = page.locator(".qkv-check[data-question='3.1'] .qkv-card")
    expect(card).to_contain_text("not judged here")
    expect(card).not_to_contain_text("of 3 points")
    assert page.evaluate("JSON.parse(localStorage['qkv-answers']).answers['3.1'].source") == answer


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%matplotlib inline", "is a command for a notebook"),
        ("await other()", "runs `await` only inside"),
        ("input('Your name? ')", "cannot ask for `input()`"),
    ],
)
def test_what_runs_only_in_a_notebook_is_said_in_words(page: Page, cell: str, words: str):
    printed(page, cell, words)


KEPT = """async () => {
  const names = (await caches.keys()).filter((name) => name.startsWith("qkv-python-"));
  const kept = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
  return kept.flat().some(({ url }) => url.includes("/memory-"));
}"""
ALL_CHECKED = """async () => {
  const found = [];
  for (const [question, source] of ANSWERS) {
    window.qkv.answer(question, source);
    found.push((await window.qkv.check(question)).status);
  }
  return found;
}"""


@pytest.mark.parametrize("name", ["an optimizer's step", "a view is written", "the value of a last line"])
def test_cells_of_a_page_print_what_they_print_in_a_notebook(page: Page, name: str):
    cells = NOTEBOOKS[name]
    for i, source in enumerate(cells):
        page.evaluate(SET, [f"try 3.{i + 1}", f"{IMPORTS}\n{source}"])
        page.locator(".qkv-cell-try").nth(i).get_by_role("button", name="Run").click()
    last = page.locator(".qkv-cell-try").nth(len(cells) - 1).locator(".qkv-printed")
    expect(last).to_contain_text(printed_in_a_notebook(cells)[-1].strip(), timeout=PATIENCE)


@pytest.mark.slow
def test_the_tab_stays_small_while_all_answers_of_a_page_are_checked(tmp_path: Path):
    cells = json.loads((ROOT / "solutions" / f"{SAMPLE}.ipynb").read_text(encoding="utf-8"))["cells"]
    places = [cell["id"].partition("-") for cell in cells]
    questions = [rest.replace("-", ".") for kind, _, rest in places if kind == "question"]
    answers = ["".join(cell["source"]) for cell in cells if cell["id"].startswith("answer-")]
    asked = json.dumps(list(zip(questions, answers, strict=True)))
    with published(tmp_path) as address:
        for is_kept in (False, True):
            with chromium_with(tmp_path / "profile") as browser:
                browser.open(f"{address}/exercises/{SAMPLE}.html")
                browser.evaluate(REGISTER)
                assert browser.evaluate(KEPT) == is_kept
                found = browser.evaluate(ALL_CHECKED.replace("ANSWERS", asked))
                assert set(found) == {"passed"}
                while not browser.evaluate(KEPT):
                    time.sleep(0.2)
                assert 100e6 < browser.memory() < MOST
