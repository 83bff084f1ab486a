"""RealModel: stored sentences, and the model loaded into a page."""

import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect

from qkv.looking.scores import SCORES, head_scores
from tests.real_model.conftest import real_files  # noqa: F401 (a fixture)

from .conftest import frame
from .node import JS, ROOT, node
from .test_access import draw

OpenPage = Callable[..., Page]


def test_scores_are_those_of_the_reference():
    tokens = ["[CLS]", "a", "b", "a", "c", "b", "a", "[SEP]"]
    weights = torch.rand(2, 3, 8, 8, dtype=torch.float64)
    weights[0, 0, 2] = 0
    weights[0, 0, 2, 3] = 1
    weights /= weights.sum(-1, keepdim=True)
    ids = torch.tensor([tokens.index(token) for token in tokens])
    expected = head_scores(weights, ids, frozenset({7}))
    source = (JS / "head_scores.js").as_uri()
    found = node(
        f"""async ({{ weights, tokens }}) => {{
          const {{ headScores }} = await import("{source}");
          return headScores(weights, tokens, new Set(["[SEP]"]));
        }}""",
        {"weights": weights.flatten().tolist(), "tokens": tokens},
    )
    for name, scores in zip(SCORES, found, strict=True):
        assert scores == pytest.approx(expected[name].flatten().tolist(), abs=1e-9), name


# ---- in a browser


def show(page: Page, **traits: Any) -> Locator:
    draw(page, [("RealModel", traits)])
    return page.locator('.qkv-widget[data-state="ready"]')


@pytest.mark.browser
def test_stored_sentences_are_there_without_the_model(open_page: OpenPage):
    widget = show(open_page(width=1000))
    finding = widget.locator(".qkv-atlas-finding")
    expect(finding).to_contain_text("it looks most at animal: 0.6")
    widget.get_by_role("radio", name="… too wide.").check()
    expect(finding).to_contain_text("it looks most at animal: 0.3")
    expect(widget.locator(".qkv-atlas-one")).to_have_count(72)
    widget.get_by_role("radio", name="head 1.3").check()
    expect(finding).to_contain_text("it looks most at because: 1.00")
    expect(widget.get_by_role("textbox")).to_have_count(0)
    widget.page.evaluate("shown[0].model.set('sentence', 'the dog sleeps')")
    expect(widget.locator(".qkv-typed").first).to_contain_text("load the model")


@pytest.mark.browser
def test_a_head_with_a_name_is_chosen_by_it(open_page: OpenPage):
    widget = show(open_page(width=1000))
    finding = widget.locator(".qkv-atlas-finding")
    for name, word in (("before", "because: 1.00"), ("next", "was: 0."), ("nouns", "animal: 0.6")):
        widget.get_by_role("slider", name="token that looks").press("End")
        widget.get_by_role("radio", name=name).first.check()
        expect(finding).to_contain_text(f"it looks most at {word}")


@pytest.mark.browser
def test_elsewhere_than_on_the_site_it_says_where_the_model_runs(open_page: OpenPage):
    widget = show(open_page())
    widget.get_by_role("button", name="Load the model").click()
    expect(widget.locator(".qkv-error")).to_contain_text("qkv.look shows")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def page_with_model(browser: Browser, bundled: tuple[str, str], tmp_path: Path, real_files: Path) -> Iterator[Page]:  # noqa: F811
    """A page of a small site: the widget in its stored state, and the model's files."""
    script, style = bundled
    static = tmp_path / "_static"
    static.mkdir()
    (static / "real-model").symlink_to(real_files)
    (static / "qkv-site.js").write_text("", encoding="utf-8")
    engine = [ROOT / "node_modules" / ".bin" / "esbuild", "--bundle", "--format=iife", "--global-name=qkvRealModel"]
    subprocess.run([*engine, ROOT / "real_model" / "engine.js", f"--outfile={static / 'real-model.js'}"], check=True)
    (tmp_path / "index.html").write_text(
        f"<!doctype html><meta charset=utf-8><title>t</title><style>{style}</style><main></main>"
        f'<script src="_static/qkv-site.js"></script><script>{script}</script>',
        encoding="utf-8",
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    Thread(target=server.serve_forever, daemon=True).start()
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    page = context.new_page()
    page.goto(f"http://localhost:{server.server_address[1]}/")
    yield page
    context.close()
    server.shutdown()


@pytest.mark.browser
def test_the_model_is_loaded_when_asked_and_stays_without_a_network(page_with_model: Page):
    page = page_with_model
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("_static/")[2]))
    widget = show(page)
    finding = widget.locator(".qkv-atlas-finding")
    expect(finding).to_contain_text("it looks most at animal: 0.6")
    assert [url for url in asked if "real-model" in url] == []
    stored = " ".join(finding.inner_text().split())
    widget.get_by_role("button", name="Load the model").click()
    slider = widget.get_by_role("slider", name="T", exact=True)
    expect(slider).to_be_visible(timeout=60_000)
    assert " ".join(finding.inner_text().split()) == stored, "the model says what is stored"
    assert [url for url in asked if "rows/" in url] == [], "these words are common"
    widget.locator("summary", has_text="Order").click()
    similarity = widget.locator(".qkv-real-further dd")
    expect(similarity).not_to_have_text("–")
    widget.get_by_role("textbox", name="sentence", exact=True).fill("A kumquat is unbelievable")
    expect(widget.locator(".qkv-atlas-words").first).to_contain_text("##qua")
    assert any("rows/" in url for url in asked)
    field = widget.get_by_role("textbox", name="sentence", exact=True)
    for sentence, word in (("The dog ran because it was late", "it"), ("The dog ran.", "ran"), ("Is it late", "it")):
        field.fill(sentence)
        expect(finding).to_contain_text(f"{word} looks")
    field.fill("")
    field.press_sequentially("The dog bit the man because he was angry.")
    expect(finding).to_contain_text("he looks")
    widget.get_by_role("slider", name="token that looks").fill("3")
    expect(finding).to_contain_text("dog looks")
    field.fill("He saw the dog again")
    expect(finding).to_contain_text("dog looks")
    page.context.set_offline(True)
    widget.get_by_role("textbox", name="compare with").fill("The kumquat is here")
    expect(similarity).not_to_have_text("–")
    widget.get_by_role("textbox", name="sentence", exact=True).fill("The quixotic xylophonist")
    expect(widget.locator(".qkv-error")).to_contain_text("could not be loaded")


@pytest.mark.browser
def test_the_handles_change_the_softmax_and_switch_heads_off(page_with_model: Page):
    page = page_with_model
    widget = show(page)
    widget.get_by_role("button", name="Load the model").click()
    slider = widget.get_by_role("slider", name="T", exact=True)
    expect(slider).to_be_visible(timeout=60_000)
    finding, trained = widget.locator(".qkv-atlas-finding"), widget.locator("dd").first
    expect(trained).to_have_text("1.000")
    before = finding.inner_text()
    slider.press("End")
    expect(finding).not_to_have_text(before)
    expect(trained).not_to_have_text("1.000")
    slider.press("Home")
    page.evaluate("shown[0].model.set('temperature', 1)")
    frame(page)
    expect(trained).to_have_text("1.000")
    expect(widget.locator(".qkv-real-effect dd")).to_have_count(1)  # no control of nothing
    arc = widget.locator(".qkv-atlas-box path").nth(2)
    look = "e => [getComputedStyle(e).stroke, getComputedStyle(e).strokeDasharray]"
    drawn = arc.evaluate(look)
    switch = widget.get_by_role("switch", name="head 4.2", exact=True)
    expect(switch).to_be_checked()
    switch.uncheck()
    expect(trained).to_have_text("0.998")
    expect(finding).to_have_text("Head 4.2 is off: its output is 0.")
    colour, dashes = arc.evaluate(look)
    assert colour != drawn[0]
    assert dashes != drawn[1]
    widget.get_by_role("radio", name="head 4.3").check()
    expect(finding).to_contain_text("looks most at")
    widget.get_by_role("radio", name="head 4.2").check()
    expect(widget.locator("dt").nth(1)).to_contain_text("without 4.9 instead")
    expect(widget.locator("dd").nth(1)).not_to_have_text("–")
    widget.get_by_role("button", name="reset").click()
    expect(trained).to_have_text("1.000")
    widget.locator("summary", has_text="Order").click()
    widget.get_by_role("switch", name="divide by").uncheck()
    expect(trained).not_to_have_text("1.000")
