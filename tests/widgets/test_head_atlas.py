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

from .conftest import drag, frame
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


def arcs(widget: Locator) -> dict[int, float]:
    """The lines of the list that have an arc, with its weight."""
    weights = widget.locator(".qkv-atlas-box > svg path").evaluate_all(
        "(all) => all.map((each) => Number(each.style.getPropertyValue('--qkv-p')))"
    )
    return {line: weight for line, weight in enumerate(weights) if weight}


@pytest.mark.browser
def test_a_head_is_chosen_by_its_map_and_a_token_by_a_press(open_page: OpenPage):
    page = open_page(width=1000)
    widget = show(page)
    finding = widget.locator(".qkv-atlas-finding")
    widget.get_by_role("radio", name="head 2.3").check()
    expect(finding).to_have_text("In head 2.3, dog looks most at the (token 4, 1.00).")
    widget.locator(".qkv-atlas-words div").nth(2).click()
    expect(finding).to_have_text("In head 2.3, chased looks most at cat (1.00).")
    widget.get_by_role("slider", name="token that looks").press("ArrowLeft")
    expect(finding).to_have_text("In head 2.3, cat looks most at the (token 1, 1.00).")
    assert arcs(widget) == {0: 1}
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


# What can be read of a matrix's labels: their texts, and the share of their height (or width) that is free of the next.
LABELS = """(side) => {
  const down = side.matches(".qkv-atlas-down");
  const boxes = [...side.children].map((label) => label.getBoundingClientRect());
  const starts = boxes.map((box) => (down ? box.top + box.height / 2 : box.left + box.width / 2));
  const { top, left } = side.getBoundingClientRect();
  return {
    texts: [...side.children].map((label) => label.innerText),
    apart: Math.min(...starts.slice(1).map((start, i) => start - starts[i])),
    places: [starts[0], starts.at(-1)].map((at) => at - (down ? top : left)),
    size: parseFloat(getComputedStyle(side.firstElementChild).fontSize),
    length: down ? side.offsetHeight : side.offsetWidth,
  };
}"""


def of_words(n: int, **others: Any) -> dict[str, Any]:
    """A head on n different words, each of which looks at the three before it."""
    weights = sum(np.eye(n, k=-k) * (0.5**k) for k in (1, 2, 3))
    packed = (weights * 65535).round().astype("<u2").tobytes()
    scores = [[[0.0]] * len(SCORES)]
    return {
        "words": [[f"word{i}" for i in range(n)]],
        "shapes": [[1, 1, n, n]],
        "packed": packed,
        "scores": scores,
    } | others


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("n", [5, 16, 17, 200])
def test_tokens_are_at_both_sides_of_a_matrix(open_page: OpenPage, n: int, width: int):
    page = open_page(width=width)
    widget = show(page, **of_words(n, matrix=True))
    every = -(-n // 16)
    expected = [f"word{i}" if every == 1 else f"{i + 1} word{i}" for i in range(0, n - every + 1, every)]
    for side in ("down", "across"):
        found = widget.locator(f".qkv-atlas-{side}").evaluate(LABELS)
        assert found["texts"] == expected
        assert found["size"] >= 12
        assert found["apart"] >= found["size"], "labels lie on one another"
        cell = found["length"] / n
        for at, i in zip(found["places"], (0, (len(expected) - 1) * every), strict=True):
            assert 0 <= at / cell - i <= every, f"the label of token {i + 1} is beside another"


# The parts of a widget that scroll within the page, or that hide what is too large for them.
INNER = """(root) => [...root.querySelectorAll(":scope > div *")].filter((e) =>
  !e.closest(".qkv-unseen, .qkv-tables") && e.checkVisibility() && /auto|scroll/.test(getComputedStyle(e).overflowY)
).map((e) => e.className)"""


@pytest.mark.browser
@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_scrolls_within_the_page(open_page: OpenPage, width: int, matrix: bool):
    widget = show(open_page(width=width), **of_words(200, matrix=matrix, token=150))
    assert widget.evaluate(INNER) == []


@pytest.mark.browser
def test_of_a_long_text_the_list_has_what_is_looked_at_most(open_page: OpenPage):
    widget = show(open_page(width=390), **of_words(60, token=40))
    lines = widget.locator(".qkv-atlas-words div")  # the others are the nearest ones
    expect(lines).to_have_count(8)
    texts = [" ".join(text.split()) for text in lines.all_inner_texts()]
    assert {"38 word37 0.13", "39 word38 0.25", "40 word39 0.50"} < set(texts)
    expect(widget.locator(".qkv-atlas-rail")).to_have_text("41 word40")
    expect(widget.locator(".qkv-atlas-gap")).to_have_count(0)


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1440])
def test_the_map_of_a_long_text_is_square_and_its_list_as_high(open_page: OpenPage, width: int):
    widget = show(open_page(width=width), **of_words(60, token=59))
    area, rail, words = (
        widget.locator(part).bounding_box() for part in (".qkv-atlas-cells", ".qkv-atlas-rail", ".qkv-atlas-words")
    )
    assert area
    assert rail
    assert words
    assert area["width"] == pytest.approx(area["height"], abs=1)
    assert {rail["height"], words["height"]} == {area["height"]}


@pytest.mark.browser
def test_in_a_long_text_the_token_that_looks_is_dragged_along_the_map(open_page: OpenPage):
    page = open_page(width=390)
    widget = show(page, **of_words(60))
    rail, finding = widget.locator(".qkv-atlas-rail"), widget.locator(".qkv-atlas-finding")
    drag(page, rail, 0.5, 37.5 / 60)
    expect(rail).to_have_text("38 word37")
    expect(finding).to_contain_text("word37 looks most at word36 (0.50)")
    knob, row = (widget.locator(each).bounding_box() for each in (".qkv-atlas-rail > span", ".qkv-looked-at"))
    assert knob
    assert row
    assert abs(knob["y"] + knob["height"] / 2 - row["y"] - row["height"] / 2) < 1
    assert knob["height"] >= 32
    drag(page, widget.locator(".qkv-atlas-cells"), 0.5, 9.5 / 60)
    expect(rail).to_have_text("10 word9")


@pytest.mark.browser
def test_a_line_marks_where_tokens_are_left_out_of_the_list(open_page: OpenPage):
    n = 40
    weights = np.eye(n)
    weights[-1, [0, 10, -1]] = 0.25, 0.5, 0.25
    packed = (weights * 65535).round().astype("<u2").tobytes()
    widget = show(open_page(width=390), **of_words(n, packed=packed))
    lines = [" ".join(text.split()) for text in widget.locator(".qkv-atlas-gap").all_inner_texts()]
    assert [line.split()[1] for line in lines] == ["word10", "word34"]


@pytest.mark.browser
def test_on_a_phone_a_layer_is_chosen_and_then_one_of_its_heads(open_page: OpenPage):
    layers, heads = 3, 6
    packed = np.tile((np.eye(N, k=-1) * 65535).astype("<u2"), (layers * heads, 1)).tobytes()
    scores = [[[i / 18 for i in range(18)] for _ in SCORES]]
    page = open_page(width=390)
    widget = show(page, shapes=[[layers, heads, N, N]], packed=packed, scores=scores)
    shown = widget.locator(".qkv-atlas-one:visible small")
    assert shown.all_inner_texts() == [f"1.{i + 1}" for i in range(6)]
    widget.get_by_role("radio", name="layer 3").check()
    expect(shown).to_have_text([f"3.{i + 1}" for i in range(6)])
    widget.get_by_role("radio", name="head 3.4").check()
    assert page.evaluate("['layer', 'head'].map((name) => shown[0].model.get(name))") == [2, 3]
    page.evaluate("shown[0].model.set('order', 'first')")
    expect(shown).to_have_count(12)
    assert shown.all_inner_texts()[:2] == ["3.6", "3.5"]
    page.set_viewport_size({"width": 1000, "height": 800})
    expect(shown).to_have_count(18)


@pytest.mark.browser
def test_contrast_changes_colours_and_no_number(open_page: OpenPage):
    flat = np.full((1, 2, N, N), 0.25 / N)
    flat[0, 1, :, 1] = 0.5 / N
    flat[0, 1, -1] *= 4  # the rows have different largest weights
    packed = (flat * 65535).round().astype("<u2").tobytes()
    page = open_page(width=1000)
    widget = show(page, shapes=[[1, 2, N, N]], packed=packed, scores=[[[0.0] * 2] * len(SCORES)], matrix=True, head=1)
    shades = """(canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return [...Array(canvas.width * canvas.height).keys()].map((i) => data[4 * i]);
    }"""
    canvases = [widget.locator(".qkv-atlas-cells canvas"), widget.locator(".qkv-atlas-map canvas").nth(1)]
    pale = [np.array(canvas.evaluate(shades)).reshape(N, N) for canvas in canvases]
    widget.get_by_text("Order, scores and contrast").click()
    finding, numbers = (widget.locator(each) for each in (".qkv-atlas-finding", "table"))
    before = [finding.inner_text(), *numbers.all_inner_texts()]
    widget.get_by_role("switch", name="more contrast: colours show each row divided by its largest weight").check()
    frame(page)
    for light, canvas in zip(pale, canvases, strict=True):
        strong = np.array(canvas.evaluate(shades)).reshape(N, N)
        assert light[:-1].min() > 200
        assert (strong[:, 1] < 100).all()
        assert (strong[:, 0] > 100).all()
        assert (strong[:, 0] == strong[0, 0]).all()
    assert [finding.inner_text(), *numbers.all_inner_texts()] == before
    widget.get_by_role("switch", name="a large map with names on both sides").uncheck()
    frame(page)
    assert arcs(widget) == {0: 0.5, 1: 1, 2: 0.5, 3: 0.5}


@pytest.mark.browser
def test_a_token_that_comes_twice_has_its_place(open_page: OpenPage):
    widget = show(open_page(width=1000), layer=1, head=2, token=3)
    finding = widget.locator(".qkv-atlas-finding")
    expect(finding).to_have_text("In head 2.3, the (token 4) looks most at chased (1.00).")
    words = widget.locator(".qkv-atlas-words span")
    assert [" ".join(text.split()) for text in words.all_inner_texts()] == ["1 the", "cat", "chased", "4 the", "dog"]
    words.nth(1).click()
    expect(finding).to_have_text("In head 2.3, cat looks most at the (token 1, 1.00).")


@pytest.mark.browser
def test_a_row_of_many_small_weights_is_not_said_to_be_empty(open_page: OpenPage):
    n = 300
    packed = np.full((1, 2, n, n), 65535 // n, dtype="<u2")
    packed[:, 1] = 0
    page = open_page()
    traits = {"words": [["a"] * n], "shapes": [[1, 2, n, n]], "packed": packed.tobytes(), "scores": [[]]}
    widget = show(page, **traits)
    finding = widget.locator(".qkv-atlas-finding")
    expect(finding).to_have_text("In head 1.1, a (token 300) gives no token more than 0.005.")
    widget.get_by_role("radio", name="head 1.2").check()
    expect(finding).to_contain_text("a (token 300) looks at no token.")


@pytest.mark.browser
def test_maps_are_painted_when_the_page_gets_the_widget_later(open_page: OpenPage):
    """JupyterLab draws a widget into an element that it puts into the page afterwards."""
    page = open_page(width=1000)
    widget = show(page)
    page.evaluate(
        """async (source) => {
          const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
          const { default: widget } = await import(address);
          const [{ el, model, close }] = shown;
          close();
          el.remove();
          const fresh = document.createElement("div");
          widget.render({ model, el: fresh });
          await new Promise((done) => setTimeout(done, 100));
          document.querySelector("main").append(fresh);
        }""",
        str(HeadAtlas._esm),
    )
    frame(page)
    reds = widget.locator(".qkv-atlas-map canvas").evaluate_all(
        """(all) => all.map((canvas) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return data[3] === 255 ? Math.min(...data.filter((_, i) => i % 4 === 0)) : "not painted";
        })"""
    )
    assert all(red < 200 for red in reds), reds


@pytest.mark.browser
def test_heads_are_ordered_by_a_score(open_page: OpenPage):
    widget = show(open_page(width=1000), layer=1, head=1)
    names = widget.locator(".qkv-atlas-one small")
    assert names.all_inner_texts() == ["1.1", "1.2", "1.3", "2.1", "2.2", "2.3"]
    widget.get_by_text("Order, scores and contrast").click()
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
    page.evaluate("() => { window.hasKernel = true; }")
    widget = show(page, layer=1, head=2, switches=True)
    widget.get_by_role("switch", name="switch head 2.3 off").check()
    expect(widget.locator(".qkv-atlas-effect")).to_contain_text("measures the model without 2.3.")
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
        "In head 2.3, dog looks most at the (token 4, 0.50). Its weights sum to 0.50."
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
    expect(finding).to_have_text("In head 1.1, ␣b looks most at ␣b (0.75).")
    widget.get_by_role("radio", name="decoder on encoder").check()
    expect(finding).to_have_text("In head 1.1, ␣b looks most at dog (1.00).")
    expect(widget.get_by_role("radio", name="previous")).to_have_count(0)


@pytest.mark.browser
def test_it_is_saved_as_one_file_that_is_alive_without_a_network(browser: Browser, tmp_path: Path):
    file = tmp_path / "saved.html"
    off = [[0, 0, 0]]
    effect = {"off": off, "intact": MEASURED, "changed": MEASURED | {"loss": 3.25}, "control": None, "controls": []}
    other = effect | {"off": [[0, 1, 0], [0, 0, 2]], "changed": MEASURED | {"loss": 4.5}}
    words = ["the", "</script><script>document.title = 'broken'</script>", "chased", "$title", "dog"]
    title = "Attention weights of </title> & co"
    given = traits(title=title, words=[words], layer=1, head=2, switches=True, off=off, effects=[effect, other])
    HeadAtlas(**given).save(file)
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
    assert widget.get_by_role("switch", name="switch head").count() == 0, "no Python is here that could measure"
    widget.get_by_role("radio", name="2.1, 1.3").check()
    expect(widget.locator(".qkv-atlas-measured")).to_contain_text("4.500")
    expect(widget.locator(".qkv-atlas-off small")).to_have_text(["1.3", "2.1"])
    widget.get_by_role("radio", name="none").check()
    expect(widget.locator(".qkv-atlas-off")).to_have_count(0)
    assert page.title() == title
    assert page.get_by_role("heading", level=1).inner_text() == title
    assert asked == [file.as_uri()]
    assert problems == []
    context.close()


@pytest.mark.browser
def test_without_a_kernel_nothing_waits_to_be_measured(open_page: OpenPage):
    page = open_page(width=1000)
    widget = show(page, switches=True)
    expect(widget).to_contain_text("switched off in a notebook")
    widget = show_again(page, switches=True, off=[[0, 0, 1]], effects=[{"off": [[0, 1, 1]], "intact": MEASURED}])
    expect(widget.locator(".qkv-atlas-effect")).to_contain_text("not measured without 1.2.")
    assert "measures" not in widget.inner_text()


def show_again(page: Page, **others: Any) -> Locator:
    page.evaluate("document.querySelector('main').replaceChildren()")
    draw(page, [("HeadAtlas", traits(**others))])
    return page.locator('.qkv-widget[data-state="ready"]')


def _note(request: Request, asked: list[str]) -> None:
    if not request.url.startswith("blob:"):
        asked.append(request.url)


@pytest.mark.browser
def test_a_small_weight_is_seen_on_dark_paper_as_on_light(open_page: OpenPage):
    """On the way from the paper to the full colour, at a weight of 0.1, the green part changes as much."""
    packed = np.full((1, 1, 10, 10), 6554, "<u2").tobytes()
    changes = {}
    for theme in ("light", "dark"):
        page = open_page(theme=theme)
        words = [str(i) for i in range(10)]
        one_head = traits(words=[words], shapes=[[1, 1, 10, 10]], packed=packed, scores=[[[0.1]] * len(SCORES)])
        draw(page, [("HeadAtlas", one_head)])
        frame(page)
        changes[theme] = page.locator(".qkv-atlas-one canvas").evaluate("""canvas => {
          const green = canvas.getContext("2d").getImageData(5, 5, 1, 1).data[1];
          return Math.abs(green - getComputedStyle(canvas).backgroundColor.match(/\\d+/g)[1]);
        }""")
    assert changes["dark"] >= changes["light"] > 10
