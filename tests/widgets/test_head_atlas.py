"""HeadAtlas: all heads, one large, their order, heads that are off, and the page that it is saved as."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, Request, expect
from traitlets import TraitError

from qkv.looking.scores import SCORES
from qkv.widgets import HeadAtlas
from qkv.widgets.head_atlas import ORDERS

from .conftest import frame
from .node import JS, node
from .test_access import draw

OpenPage = Callable[..., Page]
WORDS = ["the", "cat", "chased", "the", "dog"]
N = len(WORDS)
MEASURED = {"loss": 2.0, "cosine": 1.0, "likeliest": [["dog", 0.5], ["cat", 0.25]]}


def weights() -> np.ndarray:
    """Two layers of three heads: head 2.3 looks at the token before, the others at random ones."""
    random = np.random.default_rng(0).random((2, 3, N, N)) ** 4
    random /= random.sum(-1, keepdims=True)
    random[1, 2] = np.eye(N, k=-1)
    random[1, 2, 0, 0] = 1
    return random


def traits(**others: Any) -> dict[str, Any]:
    scores = [[0.1] * 6 for _ in SCORES]
    scores[0] = [0.1, 0.2, 0.15, 0.05, 0.3, 1]
    packed = (weights() * 65535).round().astype("<u2").tobytes()
    return {"words": [WORDS], "shapes": [[2, 3, N, N]], "packed": packed, "scores": [scores], **others}


def show(page: Page, **others: Any) -> Locator:
    draw(page, [("HeadAtlas", traits(**others))])
    return page.locator('.qkv-widget[data-state="ready"]')


def test_scores_have_the_names_of_the_reference():
    source = (JS / "atlas.js").as_uri()
    names = node(f'async () => Object.keys((await import("{source}")).SCORES)')
    assert names == list(SCORES)
    assert ["layer", *SCORES] == ORDERS


@pytest.mark.parametrize(
    ("name", "value"),
    [("packed", "AAAA"), ("off", [[0, 1]]), ("order", "last"), ("effects", [1]), ("shapes", [[1, 2]])],
)
def test_wrong_values_are_refused(name: str, value: object):
    with pytest.raises(TraitError):
        setattr(HeadAtlas(), name, value)


def test_a_small_map_has_the_largest_weight_of_each_pixel():
    source = (JS / "atlas.js").as_uri()
    n = 70
    at = [[0, 69], [69, 0], [35, 36]]
    found = node(
        f"""async ({{ n, at }}) => {{
          const {{ smallMaps }} = await import("{source}");
          const weights = new Uint16Array(2 * n * n);
          for (const [i, j] of at) weights[n * n + i * n + j] = 65535;
          return smallMaps(weights, 1, 2, n, n).map((map) => [...map.entries()].filter(([, w]) => w).map(([i]) => i));
        }}""",
        {"n": n, "at": at},
    )
    pixels = sorted(i * 32 // n * 32 + j * 32 // n for i, j in at)
    assert found == [[], pixels]


# ---- in a browser


@pytest.mark.browser
def test_a_head_is_chosen_by_its_map_and_a_token_by_a_press(open_page: OpenPage):
    page = open_page(width=1000)
    widget = show(page)
    finding = widget.locator(".qkv-atlas-finding")
    widget.get_by_role("radio", name="head 2.3").check()
    expect(finding).to_have_text("In head 2.3, dog looks most at the (1.00).")
    widget.locator(".qkv-atlas-words span").nth(2).click()
    expect(finding).to_have_text("In head 2.3, chased looks most at cat (1.00).")
    widget.get_by_role("slider", name="token that looks").press("ArrowLeft")
    expect(finding).to_have_text("In head 2.3, cat looks most at the (1.00).")
    expect(widget.locator(".qkv-atlas-arcs path")).to_have_count(1)
    widget.get_by_role("radio", name="head 1.1").check()
    row = weights()[0, 0, 1]
    best = int(row.argmax())
    expect(finding).to_contain_text(f"cat looks most at {WORDS[best]} ({row[best]:.2f})")
    assert page.evaluate("shown[0].model.get('layer') + ' ' + shown[0].model.get('head')") == "0 0"


@pytest.mark.browser
def test_all_weights_of_a_head_are_a_matrix(open_page: OpenPage):
    page = open_page(width=1000)
    widget = show(page, layer=1, head=2, matrix=True)
    pixels = widget.locator(".qkv-atlas-cells canvas").evaluate(
        """(canvas) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return [...Array(canvas.width * canvas.height).keys()].map((i) => data[4 * i]);
        }"""
    )
    dark = np.array(pixels).reshape(N, N) < 128
    assert (dark == (weights()[1, 2] > 0.5)).all()
    box = widget.locator(".qkv-atlas-cells").bounding_box()
    assert box
    page.mouse.click(box["x"] + 5, box["y"] + box["height"] * 2.5 / N)
    expect(widget.locator(".qkv-atlas-finding")).to_contain_text("chased looks most at cat")


@pytest.mark.browser
def test_heads_are_ordered_by_a_score(open_page: OpenPage):
    widget = show(open_page(width=1000), layer=1, head=1)
    names = widget.locator(".qkv-atlas-one small")
    assert names.all_inner_texts() == ["1.1", "1.2", "1.3", "2.1", "2.2", "2.3"]
    widget.get_by_role("radio", name="previous 0.30").check()
    frame(widget.page)
    assert names.all_inner_texts() == ["2.3", "2.2", "1.2", "1.3", "1.1", "2.1"]
    expect(widget.get_by_role("radio", name="head 2.2, previous 0.30")).to_be_checked()
    widget.get_by_role("radio", name="layer", exact=True).check()
    frame(widget.page)
    assert names.all_inner_texts()[0] == "1.1"


@pytest.mark.browser
def test_a_head_is_switched_off_and_the_kernel_tells_what_that_does(open_page: OpenPage):
    page = open_page(width=1000)
    widget = show(page, layer=1, head=2, switches=True)
    widget.get_by_role("switch", name="switch head 2.3 off").check()
    expect(widget.locator(".qkv-atlas-effect")).to_contain_text("Only a running notebook can measure")
    assert page.evaluate("shown[0].model.get('off')") == [[0, 1, 2]]
    effect = {"off": [[0, 1, 2]], "intact": MEASURED, "changed": MEASURED | {"loss": 3.25}, "controls": [[0, 1, 0]]}
    page.evaluate("(it) => shown[0].model.set('effects', [it])", effect | {"control": MEASURED | {"loss": 2.125}})
    frame(page)
    rows = widget.locator(".qkv-atlas-measured tbody tr")
    expect(rows.nth(1)).to_contain_text("without 2.3")
    expect(rows.nth(1)).to_contain_text("3.250")
    expect(rows.nth(2)).to_contain_text("control: without 2.1")
    expect(rows.nth(2)).to_contain_text("2.125")
    expect(rows.nth(0)).to_contain_text("dog 0.50, cat 0.25")
    expect(widget.locator(".qkv-atlas-off")).to_have_count(1)
    widget.get_by_role("button", name="all on").click()
    expect(widget.locator(".qkv-atlas-off")).to_have_count(0)


@pytest.mark.browser
def test_a_row_that_sums_to_less_than_one_is_said(open_page: OpenPage):
    halved = (weights() * 65535 / 2).round().astype("<u2").tobytes()
    widget = show(open_page(), packed=halved, layer=1, head=2)
    expect(widget.locator(".qkv-atlas-finding")).to_have_text(
        "In head 2.3, dog looks most at the (0.50). Its weights sum to 0.50."
    )


@pytest.mark.browser
def test_a_decoder_looks_at_its_own_tokens_and_at_those_of_the_encoder(open_page: OpenPage):
    said = ["a", " b"]
    shapes = [[2, 3, N, N], [1, 1, 2, 2], [1, 1, 2, N]]
    others = np.array([1, 0, 0.25, 0.75, *np.eye(N)[1], *np.eye(N)[4]])
    packed = traits()["packed"] + (others * 65535).round().astype("<u2").tobytes()
    scores = [traits()["scores"][0], [[0.5]] * len(SCORES), []]
    parts = ["encoder", "decoder", "cross"]
    widget = show(open_page(), words=[WORDS, said], parts=parts, shapes=shapes, packed=packed, scores=scores, layer=1)
    finding = widget.locator(".qkv-atlas-finding")
    widget.get_by_role("radio", name="decoder", exact=True).check()
    expect(finding).to_have_text("In head 1.1, ␣b looks most at ␣b (0.75), a (0.25).")
    widget.get_by_role("radio", name="decoder on encoder").check()
    expect(finding).to_have_text("In head 1.1, ␣b looks most at dog (1.00).")
    expect(widget.get_by_role("radio", name="previous")).to_have_count(0)


@pytest.mark.browser
def test_it_is_saved_as_one_file_that_is_alive_without_a_network(browser: Browser, tmp_path: Path):
    file = tmp_path / "saved.html"
    off = [[0, 0, 0]]
    effect = {"off": off, "intact": MEASURED, "changed": MEASURED | {"loss": 3.25}, "control": None, "controls": []}
    words = ["the", "</script><script>document.title = 'broken'</script>", "chased", "$title", "dog"]
    HeadAtlas(**traits(words=[words], layer=1, head=2, switches=True, off=off, effects=[effect])).save(file)
    context = browser.new_context(offline=True)
    page = context.new_page()
    asked: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: _note(request, asked))
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(file.as_uri())
    widget = page.locator('.qkv-widget[data-state="ready"]')
    expect(widget.locator(".qkv-atlas-finding")).to_have_text("In head 2.3, dog looks most at $title (1.00).")
    widget.get_by_role("slider", name="token that looks").press("ArrowLeft")
    expect(widget.locator(".qkv-atlas-finding")).to_contain_text("$title looks most at chased (1.00)")
    expect(widget.locator(".qkv-atlas-measured")).to_contain_text("3.250")
    assert page.title() == "HeadAtlas"
    assert asked == [file.as_uri()]
    assert problems == []
    context.close()


def _note(request: Request, asked: list[str]) -> None:
    if not request.url.startswith("blob:"):
        asked.append(request.url)
