"""Widgets in Chinese: what they show and say has no English word, except tokens, code and names."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from .conftest import frame
from .node import ROOT
from .test_access import LOOKS, draw, made

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]

WORDS = json.loads((ROOT / "src" / "qkv" / "widgets" / "dictionaries" / "zh_TW.json").read_text(encoding="utf-8"))
TEXT = "the cat chased the mouse because it was hungry"
# The widgets that are whole in Chinese, and the English that they show there: tokens, code, names and units.
SENTENCE = "the cat chased the mouse because it was hungry"
DONE: dict[str, str] = {
    "CacheStepper": f"{TEXT} a dog saw bird while she felt tired qkv GPT small Llama Falcon KiB MiB GiB TiB",
    "Everywhere": "ms",
    "ScalingLab": "dk softmax",
    "TemperatureLab": f"{SENTENCE} dk softmax",
}
OTHER_LOOKS: list[tuple[str, dict[str, Any]]] = [
    ("CacheStepper", {"step": 5, "model": "GPT-2 small"}),
    *(
        ("CacheStepper", {"step": 8, "changed": changed, "model": model})
        for changed in (0, 1, 5)
        for model in ("one layer", "Llama 3 8B")
    ),
]
SHOWN = """() => {
  const root = document.querySelector(".qkv-widget");
  root.querySelectorAll("details").forEach((each) => { each.open = true; });
  const said = ["aria-label", "aria-valuetext", "title", "placeholder"];
  const ofParts = [...root.querySelectorAll("*")].flatMap((each) => said.map((name) => each.getAttribute(name) ?? ""));
  return [root.textContent, ...ofParts].join("\\n");
}"""


def english(page: Page, allowed: str) -> set[str]:
    """The English words that the first widget of a page shows or says, but for those that are allowed."""
    frame(page)
    page.wait_for_timeout(200)  # tables follow after a pause
    return {word.lower() for word in re.findall(r"[A-Za-z]{2,}", page.evaluate(SHOWN))} - set(allowed.lower().split())


def words_of(name: str) -> dict[str, str]:
    """The Chinese texts of a widget."""
    return WORDS[type(made(name)).__module__.rpartition(".")[2]]


@pytest.mark.parametrize("look", [*(look for look in LOOKS if look[0] in DONE), *OTHER_LOOKS], ids=str)
def test_a_widget_in_chinese_shows_no_english_word(open_page: OpenPage, look: tuple[str, dict[str, Any]]):
    name, values = look
    page = open_page(width=390, reduced_motion="reduce")
    draw(page, [(name, values)])
    assert english(page, DONE[name]) != set(), "the widget shows English words before it has the Chinese ones"
    page.evaluate("(words) => shown[0].model.set('_words', words)", words_of(name))
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert english(page, DONE[name]) == set()
