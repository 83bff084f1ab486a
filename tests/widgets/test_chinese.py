"""A widget drawn in Chinese shows no English word but tokens, code and names."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from .conftest import frame
from .node import ROOT
from .test_access import LOOKS, draw, made, state

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]

# The translations of each widget, by its module's name.
WORDS = json.loads((ROOT / "src" / "qkv" / "widgets" / "dictionaries" / "zh_TW.json").read_text(encoding="utf-8"))
ENGLISH = re.compile(r"[A-Za-z]{2,}")
# Their texts are not translated yet: this list only shrinks.
STILL_ENGLISH = {
    "CacheStepper",
    "Everywhere",
    "HeadAtlas",
    "HeadMicroscope",
    "HeadSplitter",
    "MaskPainter",
    "PatternLab",
    "PositionExplorer",
    "QKVStepper",
    "RealModel",
    "SequenceExplorer",
    "TransformerFlow",
}
# English that a widget shows besides its traits: the words of its models and examples.
EXAMPLES: dict[str, str] = {
    "SentenceLab": (ROOT / "src" / "qkv" / "models" / "grammar.json").read_text(encoding="utf-8"),
    "TrainLab": (ROOT / "src" / "qkv" / "models" / "grammar.json").read_text(encoding="utf-8"),
}
# All that is read or heard: texts, also folded ones, and names and values for screen readers.
SEEN = """() => {
  const root = document.querySelector('.qkv-widget');
  const named = ['aria-label', 'aria-valuetext', 'title', 'alt', 'placeholder'].flatMap((name) =>
    [...root.querySelectorAll(`[${name}]`)].map((e) => e.getAttribute(name)));
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) named.push(walk.currentNode.data);
  return named;
}"""


def strings(value: Any) -> Iterator[str]:
    """All strings in a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from strings(list(value.values()))
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from strings(entry)


@pytest.mark.parametrize("look", [look for look in LOOKS if look[0] not in STILL_ENGLISH], ids=str)
def test_a_widget_in_chinese_shows_no_english_word(open_page: OpenPage, look: tuple[str, dict[str, Any]]):
    name, values = look
    widget = made(name, **values)
    words = WORDS[type(widget).__module__.rpartition(".")[2]]
    known = [*strings(state(widget)), *words.values(), EXAMPLES.get(name, "")]
    kept = {word for text in known for word in ENGLISH.findall(text)}
    page = open_page(f'<script type="application/json" id="qkv-words">{json.dumps(words)}</script>')
    draw(page, [look])
    frame(page)
    seen = page.evaluate(SEEN)
    assert re.search(r"[\u4e00-\u9fff]", "".join(seen)), "it is drawn in Chinese"
    left = {text: words for text in seen if (words := set(ENGLISH.findall(text)) - kept)}
    assert not left
