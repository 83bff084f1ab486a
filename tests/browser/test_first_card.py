"""A check that looks long for the wrong idea shows its verdict meanwhile, and the name when it is found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from .test_exercises import PATIENCE, SET, checked, python_page

pytestmark = pytest.mark.browser

# The first card is shown before any idea is tried; where wanted, there is always another pair of ideas to try.
HASTE = "import notebook\nnotebook.FIRST_VERDICT_AFTER = -1\n"
ENDLESS = """from itertools import combinations, cycle
from qkv.questions.engine import matching
notebook.PATIENCE, matching.combinations = 1000, lambda *given: cycle(combinations(*given))
"""
ANSWER = """import torch
def grouped_query_attention(q, k, v):
    times, n = q.shape[1] // k.shape[1], q.shape[2]
    scores = q @ k.{repeat}.mT / q.shape[-1] ** {power} + torch.full((n, n), -torch.inf).triu(1)
    return scores.softmax(-1) @ v.{repeat}
"""
UNKNOWN = ANSWER.format(repeat="repeat_interleave(times, dim=1)", power=0.8)
TWO_IDEAS = ANSWER.format(repeat="repeat(1, times, 1, 1)", power=1)
LOOKING = "Still comparing it with known mistakes …"
NOT_YET = "Question 7.5: not yet · 0 of 3 points"
# From now on: the label of each card that is put there, and at each change what is said and how high its row is.
WATCH = """place => {
  const seen = { cards: [], said: [], heights: [] };
  new MutationObserver((changes) => {
    for (const added of changes.flatMap((change) => [...change.addedNodes]))
      if (added.className === "qkv-card") seen.cards.push(added.getAttribute("aria-label"));
    const said = place.querySelector("[role=status]").textContent;
    if (said !== seen.said.at(-1)) seen.said.push(said);
    seen.heights.push(place.querySelector(".qkv-do").getBoundingClientRect().height);
  }).observe(place, { childList: true, subtree: true });
  window.seen = seen;
}"""


@pytest.fixture(scope="module")
def page(browser: Browser, site: str) -> Iterator[Page]:
    yield from python_page(browser, site, "exercises/07_kv_cache.html")


@pytest.fixture
def place(page: Page) -> Locator:
    return page.locator(".qkv-check[data-question='7.5']")


def kept(page: Page) -> dict[str, object]:
    """What this browser keeps of the answer, but for its text."""
    answer = page.evaluate("JSON.parse(localStorage.getItem('qkv-answers')).answers['7.5']")
    return {name: answer.get(name) for name in ("status", "points")}


@pytest.mark.parametrize(
    ("source", "cards"),
    [
        pytest.param(TWO_IDEAS, [NOT_YET, f"{NOT_YET} · kv heads tiled"], id="two ideas"),
        pytest.param(UNKNOWN, [NOT_YET], id="unknown"),
    ],
)
def test_the_verdict_comes_first_and_is_replaced_by_one_with_a_name(place: Locator, source: str, cards: list[str]):
    place.evaluate(WATCH)
    checked(place.page, "7.5", HASTE + source)
    seen = place.page.evaluate("window.seen")
    assert seen["cards"] == cards
    assert seen["said"].count(LOOKING) == 1
    assert seen["said"][-1] == ""
    assert len(set(seen["heights"])) == 1, "the card moves"
    assert kept(place.page) == {"status": "failed", "points": 0}


def test_the_first_verdict_stays_when_the_search_is_stopped_and_when_the_text_is_changed(page: Page, place: Locator):
    source = HASTE + ENDLESS + UNKNOWN
    page.evaluate(SET, ["7.5", source])
    button = place.get_by_role("button", name="Check")
    button.evaluate("button => button.scrollIntoView({ block: 'end', behavior: 'instant' })")
    button.click()
    expect(place.locator("[role=status]")).to_have_text(LOOKING, timeout=PATIENCE)
    expect(place.locator(".qkv-card")).to_be_in_viewport(ratio=1)
    page.evaluate(SET, ["7.5", source + "\n"])
    expect(place.locator(".qkv-verdict")).to_have_attribute("data-old", "")
    place.get_by_role("button", name="Stop").click()
    expect(button).to_be_enabled()
    expect(place.locator("[role=status]")).to_be_empty()
    expect(place.locator(".qkv-card")).to_have_attribute("aria-label", NOT_YET)
    assert kept(page) == {"status": None, "points": None}
    page.evaluate(SET, ["7.5", source])
    expect(place.locator(".qkv-verdict")).not_to_have_attribute("data-old", "")
    assert kept(page) == {"status": "failed", "points": 0}
