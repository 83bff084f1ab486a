"""Widgets in Chinese: what they show and say has no English word, except tokens, code and names."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from qkv.models import load_tagger
from qkv.widgets.transformer_flow import STAGES

from .conftest import frame
from .node import ROOT
from .test_access import LOOKS, NAMES, draw, made, state

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]

WORDS = json.loads((ROOT / "src" / "qkv" / "widgets" / "dictionaries" / "zh_TW.json").read_text(encoding="utf-8"))
# The English that each widget shows in Chinese: tokens, code, names and units.
SENTENCE = "the cat chased the mouse because it was hungry"
QUESTION = "How large is it About That is one product"
ANIMAL = "the animal did not cross the street because it was too tired wide I saw a saw"
EVENING = (
    "one evening the cat chased the mouse through the house over the table under the bed round the chair "
    "and past the old clock on the kitchen wall because it was hungry"
)
GRAMMAR = json.loads((ROOT / "src" / "qkv" / "models" / "grammar.json").read_text(encoding="utf-8"))["english"]
NOUNS = " ".join(load_tagger().nouns)
STAYS: dict[str, str] = {
    "CacheStepper": f"{SENTENCE} a dog saw bird while she felt tired qkv GPT small Llama Falcon KiB MiB GiB TiB",
    "Everywhere": "ms",
    "HeadAtlas": "the cat saw it notebook",
    "HeadMicroscope": "AB LPBMSJ LPBMSJLPBM LPBMSJLPBMSJLPBM LPBMSJTLPBMSJTLPBMSJTLPBMSJTLPBM MQCNTK MQCNTKUM",
    "PatternLab": f"{EVENING} cat",
    "HeadSplitter": "the cat was hungry saw he at as ungry aw",
    "MaskPainter": "cat chased mouse comma because it hungry cha sed mou se bec ause hun gry KV NaN softmax",
    "Predict": QUESTION,
    "PredictBars": f"{QUESTION} cat mat Why",
    "PredictMask": f"{QUESTION} saw Why",
    "PredictNumber": f"{QUESTION} Why",
    "QKVStepper": f"{SENTENCE} WQ WK WV softmax",
    "RealModel": f"{ANIMAL} CLS SEP MB",
    "PositionExplorer": "it cat RoPE ALiBi",
    "ScalingLab": "dk softmax",
    "SentenceLab": f"{ANIMAL} {SENTENCE} {' '.join(re.findall('[a-z]+', str(GRAMMAR)))}",
    "SequenceExplorer": f"{SENTENCE} saw ms",
    "TrainLab": f"{' '.join(re.findall('[a-z]+', str(GRAMMAR)))} dk softmax",
    "TemperatureLab": f"{SENTENCE} dk softmax",
    "TransformerFlow": f"{SENTENCE} tasty saw {NOUNS}",
    "TwoHeads": "",
}
OTHER_LOOKS: list[tuple[str, dict[str, Any]]] = [
    *(("TransformerFlow", {"stage": stage, "norm": False}) for stage in STAGES),
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
  const texts = [];
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) texts.push(walk.currentNode.data);
  return [...texts, ...ofParts].join("\\n");
}"""


def english(page: Page, allowed: str) -> set[str]:
    """The English words that the first widget of a page shows or says, but for those that are allowed."""
    frame(page)
    page.wait_for_timeout(200)  # tables follow after a pause
    return {word.lower() for word in re.findall(r"[A-Za-z]{2,}", page.evaluate(SHOWN))} - set(allowed.lower().split())


def draw_in_chinese(page: Page, name: str, values: dict[str, Any]) -> None:
    """Draw a widget in Chinese in place of the one that the page has."""
    widget = made(name, **values)
    stem = type(widget).__module__.rpartition(".")[2]
    page.evaluate(
        """async ([source, state]) => {
          shown[0].close();
          shown[0].el.remove();
          const code = new Blob([source], { type: "text/javascript" });
          const { default: widget } = await import(URL.createObjectURL(code));
          document.querySelector("main").append(show(widget, state).el);
        }""",
        [str(widget._esm), {**state(widget), "_words": WORDS[stem]}],
    )


IN_THE_GATE = [(name, {}) for name in NAMES]
SWEEP = [pytest.param(look, marks=pytest.mark.slow) for look in [*LOOKS, *OTHER_LOOKS] if look not in IN_THE_GATE]


@pytest.mark.parametrize("look", [*IN_THE_GATE, *SWEEP], ids=str)
def test_a_widget_in_chinese_shows_no_english_word(open_page: OpenPage, look: tuple[str, dict[str, Any]]):
    name, values = look
    page = open_page(width=390, reduced_motion="reduce")
    draw(page, [look])
    assert english(page, STAYS[name]) != set(), "the English widget has English words"
    draw_in_chinese(page, name, values)
    assert english(page, STAYS[name]) == set()
