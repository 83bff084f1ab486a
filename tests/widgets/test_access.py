"""All widgets on one page, for everyone: small screens, large text, screen readers, rest, weak colour sight."""

import base64
import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, Locator, Page, expect

import qkv.widgets
from qkv.widgets.base import Widget, _own_traits

from .conftest import drag, frame, open_phone
from .node import ROOT

pytestmark = pytest.mark.browser

Array = NDArray[np.float64]
OpenPage = Callable[..., Page]
OPTIONS = [("About 1.", "That is one product."), ("About 32.", "√1024 = 32.")]
PREDICTIONS: dict[str, dict[str, Any]] = {
    "Predict": {"options": OPTIONS, "answer": "B"},
    "PredictBars": {"labels": ["cat", "mat"], "answer": [0.9, 0.1], "near": 0.1, "why": "Why."},
    "PredictMask": {"rows": ["I", "saw"], "columns": ["I", "saw"], "answer": [[1, 0], [1, 1]], "why": "Why."},
    "PredictNumber": {"answer": 32, "near": 4, "ends": [0, 100], "why": "Why."},
}


NAMES = qkv.widgets.__all__
NUMBERED = [name for name in NAMES if name not in PREDICTIONS]
# Showing the other pictures of a widget that has several.
LOOKS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in NAMES),
    ("PositionExplorer", {"scheme": "alibi", "words": True}),
    ("PositionExplorer", {"scheme": "sinusoidal", "words": True}),
    ("QKVStepper", {"step": "weights"}),
    ("QKVStepper", {"step": "queries"}),
    ("QKVStepper", {"row": 2, "matrices": False}),
    ("HeadSplitter", {"wrong": "heads first", "n_heads": 8}),
    ("HeadSplitter", {"dealt": 0}),
    ("TwoHeads", {"heads": 2}),
    ("HeadAtlas", {"matrix": True, "order": "previous", "switches": True}),
    ("RealModel", {"matrix": True, "order": "first"}),
    ("MaskPainter", {"preset": "padding", "method": "after"}),
    ("Everywhere", {"kind": "sound", "token": 2}),
    ("Everywhere", {"kind": "graph", "token": 2, "near": True}),
    ("HeadMicroscope", {"symbols": "LPBMSJTLPBMSJTLPBMSJTLPBMSJTLPBM", "modes": ["mean", "on", "other text", "zeros"]}),
    ("TrainLab", {"stored": ["as it is", "without positions", "one layer"], "rule": ["hungry"]}),
    ("TrainLab", {"task": "repeater", "stored": ["as it is", "mask forgotten"]}),
    ("TrainLab", {"task": "labeller", "stored": ["alone", "attention, positions"]}),
    ("TransformerFlow", {"stage": "1 hidden", "residual": False}),
    ("TemperatureLab", {"handles": ["scores", "width", "draws"], "d_k": 64}),
    ("SequenceExplorer", {"kind": "image"}),
    ("SequenceExplorer", {"kind": "speech"}),
    ("SentenceLab", {"handles": ["temperature", "scale", "positions", "heads", "layers"], "matrix": True}),
    ("SentenceLab", {"sentence": "the old rabbit followed the old hammer because it was curious", "word": 3}),
    ("SentenceLab", {"sentence": "貓追老鼠因為它餓了", "matrix": True}),
]


def made(name: str, **values: Any) -> Widget:
    """A widget of this class."""
    given = {"question": "How large is it?", **PREDICTIONS[name]} if name in PREDICTIONS else {}
    return getattr(qkv.widgets, name)(**given, **values)


def state(widget: Widget) -> dict[str, Any]:
    """What its drawing is told. Bytes travel as base64."""
    values = {name: getattr(widget, name) for name in _own_traits(type(widget))}
    return {
        name: {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
        for name, value in values.items()
    }


def draw(page: Page, looks: list[tuple[str, dict[str, Any]]]) -> None:
    """Add widgets to the page from their built files, so that `shown` in the page is the list of them."""
    for name, values in looks:
        widget = made(name, **values)
        page.evaluate(
            """async ([source, state]) => {
              const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
              const { default: widget } = await import(address);
              const it = show(widget, state);
              document.querySelector("main").append(it.el);
              window.shown = [...(window.shown ?? []), it];
            }""",
            [str(widget._esm), state(widget)],
        )
    frame(page)
    expect(page.locator('.qkv-widget[data-state="ready"]')).to_have_count(len(looks))
    expect(page.locator(".qkv-unmarked")).to_have_count(0)  # the taggers' exams have ended


@pytest.mark.parametrize(
    ("theme", "looks"),
    [
        pytest.param("dark", LOOKS[: len(NAMES)], id="each in the dark"),
        pytest.param("dark", LOOKS[len(NAMES) :], id="other pictures in the dark", marks=pytest.mark.slow),
        pytest.param("light", LOOKS, id="all in the light", marks=pytest.mark.slow),
    ],
)
def test_axe_finds_nothing(open_page: OpenPage, theme: str, looks: list[tuple[str, dict[str, Any]]]):
    page = open_page("<h1>Widgets</h1>", theme=theme, width=390)
    if theme == "dark":
        page.add_style_tag(content="body { background: #14171c; color: #e8eaee; }")
    draw(page, looks)
    page.evaluate("() => document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    frame(page)
    page.add_script_tag(path=ROOT / "node_modules" / "axe-core" / "axe.min.js")
    violations = page.evaluate("""async () => (await axe.run({
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    })).violations""")
    assert not violations, json.dumps(violations, indent=1)[:3000]


# A phone; a small window with text at 200 %; and a window of 640 px zoomed to 200 %.
@pytest.mark.parametrize(("width", "text"), [(390, 100), (800, 200), (320, 100)])
def test_widgets_fit_and_their_controls_are_large_enough(open_page: OpenPage, width: int, text: int):
    page = open_page(width=width)
    page.add_style_tag(content=f"html {{ font-size: {text}%; }}")
    draw(page, LOOKS)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    small = page.evaluate("""() => [...document.querySelectorAll('input, select, button, summary')]
      .filter((control) => control.getClientRects().length) // those of a folded part are measured where it is open
      .map((control) => {
      const target = control.closest('.qkv-range') ? control : control.closest('label') ?? control;
      const { width, height } = target.getBoundingClientRect();
      return [control.closest('.qkv-widget').dataset.widget, target.innerText, width, height];
    }).filter(([, , width, height]) => Math.min(width, height) < 24)""")
    assert small == []
    cut = page.evaluate(
        "[...document.querySelectorAll('.qkv-value')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.outerHTML)"
    )
    assert cut == []
    # A page is not wider for what sticks out of a widget. What does has to be reached by scrolling.
    beyond = page.evaluate("""() => {
      const scrolls = (box) => !box.matches('.qkv-widget')
        && (getComputedStyle(box).overflowX === 'auto' || scrolls(box.parentElement));
      return [...document.querySelectorAll('.qkv-control, .qkv-control *')].filter((part) => {
        const [inner, outer] = [part, part.closest('.qkv-widget')].map((box) => box.getBoundingClientRect());
        return inner.width > 0 && (inner.right > outer.right || inner.left < outer.left) && !scrolls(part);
      }).map((part) => part.outerHTML);
    }""")
    assert beyond == []


# What the mouse drags, where it is released (as shares of the area), and the trait that an arrow key then changes.
DRAGS: list[tuple[str, dict[str, Any], str, tuple[float, float], str]] = [
    ("SequenceExplorer", {}, ".qkv-rows", (0.5, 0.4), "row"),
    ("SequenceExplorer", {"kind": "image"}, ".qkv-picture", (0.4, 0.4), "row"),
    ("QKVStepper", {"row": 2, "matrices": False}, ".qkv-query-faders > :nth-child(3)", (0.5, 0.3), "x"),
    ("ScalingLab", {}, ".qkv-plot svg.qkv-drag", (0.3, 0.5), "d_k"),
    ("TemperatureLab", {}, ".qkv-weight-bar >> nth=2", (0.6, 0.5), "scores"),
    ("TemperatureLab", {}, ".qkv-thermometer > div", (0.5, 0.4), "temperature"),
    ("HeadSplitter", {}, ".qkv-deal", (0.5, 0.6), "dealt"),
    ("PositionExplorer", {}, ".qkv-pos-text", (0.3, 0.5), "key"),
    ("CacheStepper", {"step": 3}, ".qkv-kv-grid", (0.7, 0.6), "step"),
    ("TransformerFlow", {}, ".qkv-flow", (0.7, 0.5), "word"),
    ("HeadMicroscope", {}, ".qkv-scope-tape", (0.4, 0.9), "position"),
    ("PatternLab", {}, ".qkv-cone-picture", (0.6, 0.2), "window"),
    ("Everywhere", {}, ".qkv-things", (0.3, 0.4), "token"),
    ("TwoHeads", {}, ".qkv-two-prices", (0.5, 0.3), "prices"),
]


@pytest.mark.parametrize(("name", "values", "area", "to", "trait"), DRAGS)
def test_arrow_keys_go_on_after_a_drag_with_the_mouse(
    open_page: OpenPage, name: str, values: dict[str, Any], area: str, to: tuple[float, float], trait: str
):
    page = open_page()
    draw(page, [(name, values)])
    drag(page, page.locator(area), *to)
    read = f"JSON.stringify(shown[0].model.get('{trait}'))"
    assert not page.evaluate("document.activeElement.matches(':focus-visible')"), "a mouse draws no ring"
    before, scrolled = page.evaluate(f"[{read}, scrollY]")
    page.keyboard.press("ArrowLeft")
    frame(page)
    assert page.evaluate(read) != before
    assert page.evaluate("scrollY") == scrolled


# On a phone the picture and the control in use are on one screen, and what is written can be read.
PHONE = [look for look in LOOKS if look[0] in NUMBERED]
PHONE += [("SentenceLab", {"handles": ["heads", "layers"]})]
PHONE += [("PositionExplorer", {"d": 16, "words": True, "query": 126, "key": 1})]
SMALL_PRINT = """() => [...document.querySelectorAll('.qkv-widget *')].filter((e) =>
  [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim())
  && !e.closest('.qkv-unseen, sub, .qkv-sub') && e.getClientRects().length
  && parseFloat(getComputedStyle(e).fontSize) * (e.getScreenCTM?.().a ?? 1) < 12).map((e) => e.outerHTML)"""


@pytest.mark.parametrize("look", PHONE, ids=str)
def test_a_widget_fits_on_a_phone_and_can_be_read_there(open_page: OpenPage, look: tuple[str, dict[str, Any]]):
    page = open_phone(open_page)
    draw(page, [look])
    assert page.locator(".qkv-widget").evaluate("e => e.offsetHeight") <= 844
    assert page.evaluate(SMALL_PRINT) == []


CUT_OFF = """() => [...document.querySelectorAll('.qkv-widget')].filter((widget) => {
  const inside = Math.max(...[...widget.children].map((part) => part.getBoundingClientRect().bottom));
  return Math.abs(widget.getBoundingClientRect().bottom - 1 - inside) > 1;
}).map((widget) => widget.dataset.widget)"""


def test_the_page_makes_room_for_a_widget_that_is_laid_out_by_itself(open_page: OpenPage):
    page = open_page(width=800)
    draw(page, LOOKS)
    containment = page.evaluate("[...document.querySelectorAll('.qkv-widget')].map((e) => getComputedStyle(e).contain)")
    assert {part for contain in containment for part in contain.split()} == {"size", "layout", "style"}
    assert page.evaluate(CUT_OFF) == []
    page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    frame(page)
    assert page.evaluate(CUT_OFF) == []
    page.set_viewport_size({"width": 390, "height": 800})
    frame(page)
    assert page.evaluate(CUT_OFF) == []
    page.emulate_media(media="print")  # where nobody would tell the page of a new height
    assert page.locator(".qkv-widget").first.evaluate("e => getComputedStyle(e).contain") == "none"


STEP = """slider => {
  slider.value = slider.value === slider.max ? slider.min : slider.max;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  return new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
}"""


@pytest.mark.parametrize(
    "name", [name if name == "ScalingLab" else pytest.param(name, marks=pytest.mark.slow) for name in NUMBERED]
)
def test_a_step_of_a_slider_lays_out_the_widget_and_not_the_page(open_page: OpenPage, browser: Browser, name: str):
    page = open_page(width=800)
    draw(page, [(name, {})])
    for slider in page.locator("input[type=range]").all():
        browser.start_tracing(page=page, categories=["devtools.timeline"])
        for _ in range(3):
            slider.evaluate(STEP)
        events = json.loads(browser.stop_tracing())["traceEvents"]
        # A layout that has begun when the recording stops has no end.
        layouts = [event["args"] for event in events if event["name"] == "Layout"]
        roots = [layout["endData"]["layoutRoots"] for layout in layouts if "endData" in layout]
        # The page is laid out as well where the widget has grown.
        apart = [all(root["depth"] > 1 for root in each) for each in roots]
        assert any(apart), f"{slider.evaluate('e => e.labels[0].innerText')}: the whole page is laid out every time"


@pytest.fixture
def quiet(open_page: OpenPage) -> Page:
    """A page of all widgets whose reader asks for no motion."""
    page = open_page(width=800, reduced_motion="reduce")
    draw(page, [(name, {}) for name in NAMES])
    return page


def test_nothing_moves_for_who_asks_for_rest(quiet: Page):
    splitter = quiet.locator('[data-widget="HeadSplitter"]')
    splitter.get_by_role("radio", name="4", exact=True).press("Space")
    frame(quiet)
    assert quiet.evaluate("document.getAnimations().length") == 0


def test_entries_glide_when_the_number_of_heads_changes(open_page: OpenPage):
    page = open_page(width=800)
    draw(page, [("HeadSplitter", {})])
    page.get_by_role("radio", name="4", exact=True).press("Space")
    frame(page)
    assert page.evaluate("document.getAnimations().length") > 0


def change(widget: Locator) -> None:
    """Make one change by keyboard."""
    controls = "input[type=range], input[type=number], input:not(:checked, [role=switch])"
    control = widget.locator(f":is({controls}) >> visible=true").first  # not in a fold
    kind = control.get_attribute("type")
    if kind == "number":
        control.fill("3")
    elif kind == "range":
        control.press("ArrowLeft" if control.evaluate("e => e.value === e.max") else "ArrowRight")
    else:
        control.press("Space")


def test_every_change_is_said_politely(quiet: Page):
    widgets = [quiet.locator(f'[data-widget="{name}"]') for name in NAMES]
    for widget in widgets:
        expect(widget.get_by_role("status")).to_have_attribute("aria-live", "polite")
        expect(widget.get_by_role("status")).to_have_text("")
        change(widget)
    for name in PREDICTIONS:
        quiet.locator(f'[data-widget="{name}"]').get_by_role("button", name="check").press("Enter")
    for widget in widgets:
        expect(widget.get_by_role("status")).not_to_have_text("")


def test_numbers_are_there_as_tables(quiet: Page):
    quiet.get_by_role("button", name="curves and settings").press("Enter")
    for name in NUMBERED:
        widget = quiet.locator(f'[data-widget="{name}"]')
        widget.get_by_text("Numbers", exact=True).press("Enter")
        expect(widget.locator(".qkv-scroll caption").first).to_be_visible()
        for columns, rows, cells in widget.locator(".qkv-scroll table").evaluate_all(
            """tables => tables.map((table) => ["thead th[scope=col]", "tbody th[scope=row]", "tbody td"].map(
                 (part) => table.querySelectorAll(part).length))"""
        ):
            assert columns > 1, name
            assert rows > 1, name
            assert cells == (columns - 1) * rows, name


def test_open_tables_follow_at_once_and_closed_ones_soon(open_page: OpenPage):
    page = open_page()
    page.evaluate("(state) => { window.it = show(toy, state); }", {"heads": 3, "kind": "causal", "temperature": 1})
    cell = page.locator("details td")
    assert cell.text_content() == "6"
    page.evaluate("() => it.model.set('heads', 4)")
    frame(page)
    assert cell.text_content() == "6", "a step of a slider does not wait for a table that nobody sees"
    expect(cell).to_have_text("8")
    page.locator("summary").press("Enter")
    page.evaluate("() => it.model.set('heads', 5)")
    frame(page)
    assert cell.text_content() == "10"


# ---- colours, as they are seen with each of the three common deficiencies

# Machado, Oliveira and Fernandes, 2009, severity 1: what linear red, green and blue become.
SIGHT = {
    "full": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
RGB_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colours: Array, sight: Array) -> Array:
    """CIE L*a*b* (D65) of sRGB colours (n, 3) in 0 to 255, as somebody with this sight sees them."""
    srgb = np.asarray(colours) / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(linear @ sight.T, 0, 1) @ RGB_TO_XYZ.T / RGB_TO_XYZ.sum(axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


def test_simulated_sight_is_right_for_known_colours():
    red_and_green = np.array([[255.0, 0, 0], [0, 160, 0]])
    apart = {name: np.linalg.norm(np.diff(lab(red_and_green, sight), axis=0)) for name, sight in SIGHT.items()}
    assert apart["deuteranopia"] < apart["full"] / 2, "who has deuteranopia confuses red and green"
    assert lab(np.array([[255.0, 255, 255]]), SIGHT["full"])[0] == pytest.approx([100, 0, 0], abs=0.1)


def pixels(page: Page, colours: str) -> Array:
    """The red, green and blue of CSS colours: `colours` is JavaScript for a list of them."""
    return np.array(
        page.evaluate(f"""() => {{
          const context = Object.assign(document.createElement("canvas"), {{ width: 1, height: 1 }}).getContext("2d");
          return ({colours}).map((colour) => {{
            context.fillStyle = colour;
            context.fillRect(0, 0, 1, 1);
            return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
          }});
        }}"""),
        dtype=float,
    )


STYLE_OF = "getComputedStyle(document.querySelector('{}')).{}"
MIXED = """[...Array(11).keys()].map((i) => `color-mix(in srgb, ${{{0}}} ${{10 * i}}%, ${{{1}}})`)"""
WEIGHTS = """[...Array(11).keys()].map((i) => {
  const cell = document.createElement("span");
  cell.className = "qkv-heat";
  cell.style.setProperty("--qkv-p", i / 10);
  document.querySelector(".qkv-widget").append(cell);
  return getComputedStyle(cell).backgroundColor;
})"""
MAP = ".qkv-pos-map canvas"
SCALES = {
    "weights": WEIGHTS,
    "positive": MIXED.format(STYLE_OF.format(MAP, "color"), STYLE_OF.format(MAP, "backgroundColor")),
    "negative": MIXED.format(STYLE_OF.format(MAP, "outlineColor"), STYLE_OF.format(MAP, "backgroundColor")),
    "matrix": MIXED.format(
        STYLE_OF.format(".qkv-matrix canvas", "color"), STYLE_OF.format(".qkv-matrix canvas", "backgroundColor")
    ),
}
SHADED = [("PositionExplorer", {}), ("SequenceExplorer", {})]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_heat_maps_can_be_read_with_any_colour_sight(open_page: OpenPage, theme: str):
    page = open_page(theme=theme)
    draw(page, SHADED)
    seen = {name: pixels(page, colours) for name, colours in SCALES.items()}
    for (name, colours), (sight, matrix) in itertools.product(seen.items(), SIGHT.items()):
        steps = lab(colours, matrix)
        apart = np.linalg.norm(np.diff(steps, axis=0), axis=1)
        assert apart.min() > 3, f"two neighbouring tenths of {name} look alike with {sight}: {apart.round(1)}"
        darker = np.diff(steps[:, 0])
        assert (np.sign(darker) == np.sign(darker[0])).all(), f"{name} does not go one way from light to dark: {sight}"
    for sight, matrix in SIGHT.items():
        minus, plus = lab(seen["negative"], matrix), lab(seen["positive"], matrix)
        apart = np.linalg.norm(minus - plus, axis=1)
        assert apart[3:].min() > 8, f"−x and +x look alike with {sight}: {apart.round(1)}"


# The controls of each widget that a screen reader names alike within one group.
NAMED_ALIKE = """() => [...document.querySelectorAll(".qkv-widget")].flatMap((widget) => {
  const seen = new Set();
  const groups = [...widget.querySelectorAll("fieldset, [role=group], [role=radiogroup]")];
  return [...widget.querySelectorAll("input, button, select, textarea")]
    .filter((control) => control.checkVisibility({ visibilityProperty: true }))
    .map((control) => [
      widget.dataset.widget,
      control.ariaLabel ?? control.labels?.[0]?.innerText.trim() ?? control.innerText.trim(),
      groups.findIndex((group) => group.contains(control)),
    ].join(" | ")).filter((name) => seen.size === seen.add(name).size);
})"""


def test_no_two_controls_of_a_widget_have_one_name(open_page: OpenPage):
    page = open_page(width=800)
    draw(page, LOOKS)
    assert page.evaluate(NAMED_ALIKE) == []
