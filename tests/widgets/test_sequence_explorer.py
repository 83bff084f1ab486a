"""SequenceExplorer cuts sound and images as the reference and torch do."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect
from traitlets import TraitError

from qkv.sequences import frame_signal
from qkv.widgets import SequenceExplorer

from .conftest import drag, frame
from .node import node
from .test_access import draw

DOUBLE = torch.float64


@pytest.mark.parametrize(("samples", "window", "hop"), [(2400, 200, 80), (203, 200, 80), (17, 5, 5), (9, 9, 1)])
def test_windows_are_those_of_the_reference(samples: int, window: int, hop: int):
    signal = torch.randn(samples, dtype=DOUBLE)
    body = "({ signal, window, hop }) => maths.frameSignal(signal, window, hop)"
    seen = node(body, {"signal": signal.tolist(), "window": window, "hop": hop})
    torch.testing.assert_close(torch.tensor(seen, dtype=DOUBLE), frame_signal(signal, window, hop))


def test_bands_are_those_of_a_fourier_transform():
    frame = torch.randn(200, dtype=DOUBLE)
    power = torch.fft.rfft(frame)[:100].abs() ** 2
    bands = power.reshape(20, 5).sum(dim=-1)
    seen = torch.tensor(node("(frame) => maths.bandEnergies(frame, 20)", frame.tolist()), dtype=DOUBLE)
    torch.testing.assert_close(seen, (bands / bands.max()).sqrt(), rtol=1e-9, atol=1e-12)


def test_silence_has_no_loud_band():
    assert node("(frame) => maths.bandEnergies(frame, 4)", [0.0] * 16) == [0] * 4


@pytest.mark.parametrize("side", [1, 2, 4, 8])
def test_patches_are_those_of_unfold(side: int):
    image = torch.rand(16, 16, 3, dtype=DOUBLE)
    seen = node("([image, side]) => maths.imagePatches(image, side)", [image.tolist(), side])
    patches = image.unfold(0, side, side).unfold(1, side, side).permute(0, 1, 3, 4, 2)
    torch.testing.assert_close(torch.tensor(seen, dtype=DOUBLE), patches.reshape(-1, side * side * 3))


def test_a_second_of_sound_is_about_a_hundred_windows():
    body = "() => maths.frameSignal(maths.climbingTone(1, 8000), 200, 80).length"
    assert node(body) == 98


@pytest.mark.parametrize("tenths", [1, 3, 5])
def test_the_drawn_wave_is_as_loud_as_the_sound(tenths: int):
    """A picture of one sample a column has beats: places where a loud tone is drawn near 0."""
    body = "(seconds) => [maths.climbingTone(seconds, 8000), maths.outline(maths.climbingTone(seconds, 8000), 400)]"
    signal, drawn = (torch.tensor(numbers, dtype=DOUBLE) for numbers in node(body, tenths / 10))
    extremes = torch.stack([torch.stack([c.min(), c.max()]) for c in signal.tensor_split(20)])
    samples = drawn[:, 1].reshape(20, -1)
    seen = torch.stack([samples.amin(dim=1), samples.amax(dim=1)], dim=1)
    torch.testing.assert_close(seen, extremes)
    assert drawn[:, 0].tolist() == [column for column in range(400) for _ in range(2)]


def test_a_column_is_drawn_in_the_order_of_its_samples():
    assert node("(signal) => maths.outline(signal, 2)", [0.0, 3.0, -1.0, -2.0, 5.0, 1.0]) == [
        [0, 3.0],
        [0, -1.0],
        [1, -2.0],
        [1, 5.0],
    ]


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("kind", "video", "kind must be one of 'text', 'speech', 'graph', 'image'; got 'video'"),
        ("patch", 3, "patch must be one of 1, 2, 4, 8; got 3"),
        ("row", -1, "row must be a whole number from 0 to 255; got -1"),
        ("embedded", 1, "embedded must be True or False; got 1"),
    ],
)
def test_wrong_values_are_answered_with_a_sentence(name: str, value: object, wanted: str):
    with pytest.raises(TraitError) as error:
        setattr(SequenceExplorer(), name, value)
    assert wanted in str(error.value)


# ---- what is grabbed


@pytest.fixture
def explorer(open_page: Callable[..., Page]) -> Callable[..., Page]:
    def explorer(**traits: Any) -> Page:
        page = open_page(width=390)
        draw(page, [("SequenceExplorer", traits)])
        return page

    return explorer


def unfold(page: Page) -> None:
    """Open the fold with the field and the switch."""
    page.locator(".qkv-settings summary").click()


def row_of(page: Page) -> int:
    frame(page)
    return page.evaluate("shown[0].model.get('row')")


@pytest.mark.browser
def test_a_word_and_an_atom_are_pressed(explorer: Callable[..., Page]):
    page = explorer()
    page.get_by_role("button", name="saw").nth(1).click()
    assert row_of(page) == 3
    expect(page.get_by_role("button", pressed=True)).to_have_text("saw")
    page = explorer(kind="graph", molecule="water")
    page.locator("[data-row='2']").click()
    assert row_of(page) == 2


@pytest.mark.browser
@pytest.mark.parametrize(
    ("traits", "area", "place", "row"),
    [
        ({"kind": "speech"}, ".qkv-object svg", (0.5, 0.5), 14),  # 150 of 300 ms: the window from 140 to 165 ms
        ({"kind": "speech"}, ".qkv-object svg", (1, 0.5), 27),
        ({"kind": "image", "patch": 4}, ".qkv-picture", (0.6, 0.4), 6),
        ({"kind": "image", "patch": 8}, ".qkv-picture", (0.1, 0.9), 2),
        ({"kind": "image", "patch": 4}, ".qkv-matrix", (0.1, 0.99), 15),
    ],
)
def test_a_stretch_of_the_wave_a_patch_and_a_row_are_dragged_to(
    explorer: Callable[..., Page], traits: dict[str, Any], area: str, place: tuple[float, float], row: int
):
    page = explorer(**traits)
    drag(page, page.locator(area), *place)
    assert abs(row_of(page) - row) <= (1 if traits["kind"] == "speech" else 0)


@pytest.mark.browser
def test_a_sentence_is_typed(explorer: Callable[..., Page]):
    page = explorer()
    unfold(page)
    field, says = page.get_by_role("textbox", name="your own sentence"), page.locator(".qkv-x-says")
    expect(field).to_have_value("")
    field.fill("a robot saw a 貓頭鷹")
    frame(page)
    tokens = ["a", "robot", "saw", "a", "貓", "頭", "鷹"]
    assert page.locator(".qkv-sentence button").all_inner_texts() == tokens
    assert page.locator(".qkv-marks span").all_inner_texts() == tokens
    expect(says).to_contain_text(f"X: {len(tokens)} × {15 + 4}, a column for each word.")
    page.get_by_role("button", name="a (word 1)", exact=True).click()
    expect(says).to_contain_text("marks an equal row, 4.")
    page.get_by_role("switch", name="features").check()
    expect(says).to_contain_text(re.compile(rf"a = \[0, 0, 0, 1\]\s+Row 1 of X: {len(tokens)} × 4\."))
    page.get_by_role("button", name="saw").click()
    expect(says).to_contain_text(re.compile(rf"saw = \[0, 0\.8, 0, 0\]\s+Row 3 of X: {len(tokens)} × 4\."))
    field.fill("")
    expect(field).to_have_value("")
    expect(says).to_contain_text("X: 4 × 4.")


@pytest.mark.browser
def test_it_is_said_that_a_long_sentence_is_cut_and_its_tokens_have_room(explorer: Callable[..., Page]):
    page = explorer()
    unfold(page)
    field, note = page.get_by_role("textbox"), page.locator(".qkv-x-says")
    field.fill("one two three four five six seven eight nine ten")
    expect(note).to_contain_text("X: 10 × 25,")
    for text in ("abcd " * 12, "extraordinary " * 5, "w" * 60, "a b c d e f g h i j k l m n o"):
        field.fill(text)
        frame(page)
        low = page.locator(".qkv-sentence").evaluate("e => e.getBoundingClientRect().bottom")
        ends = page.locator(".qkv-sentence button").evaluate_all(
            "all => all.map(e => e.getBoundingClientRect().bottom)"
        )
        assert max(ends) <= low, text
    expect(note).to_contain_text("the first 12 tokens.")


@pytest.mark.browser
def test_the_field_is_on_one_screen_with_the_picture_above_a_keyboard(explorer: Callable[..., Page]):
    page = explorer()
    unfold(page)
    top, bottom = (
        page.locator(part).evaluate(f"e => e.getBoundingClientRect().{side}")
        for part, side in ((".qkv-sentence", "top"), (".qkv-own-text", "bottom"))
    )
    assert 0 < bottom - top < 450


@pytest.mark.browser
def test_nothing_jumps_from_kind_to_kind(explorer: Callable[..., Page]):
    page = explorer()
    heights = set()
    for kind in ("text", "speech", "graph", "image"):
        page.get_by_role("radio", name=kind, exact=True).check()
        frame(page)
        heights.add(page.locator(".qkv-matrix").evaluate("e => e.getBoundingClientRect().top"))
        heights.add(page.locator(".qkv-settings").evaluate("e => e.getBoundingClientRect().top"))
        heights.add(page.locator(".qkv-widget").evaluate("e => e.offsetHeight"))
    assert len(heights) == 3
    assert max(heights) <= 560


@pytest.mark.browser
def test_columns_are_named_in_the_picture_and_in_the_numbers(explorer: Callable[..., Page]):
    page = explorer(kind="text", embedded=True)
    unfold(page)
    assert page.locator(".qkv-columns span").all_inner_texts() == ["alive", "action", "place", "connecting"]
    assert page.locator("details th[scope=col]").all_text_contents()[1:] == ["alive", "action", "place", "connecting"]
    page.get_by_role("switch", name="features").uncheck()
    expect(page.locator("details th[scope=col]").nth(2)).to_have_text("saw")


@pytest.mark.browser
def test_a_word_that_is_not_in_the_table_is_said_to_be_drawn_at_random(explorer: Callable[..., Page]):
    page = explorer(kind="text", embedded=True)
    unfold(page)
    walker = page.locator(".qkv-x-says")
    page.get_by_role("textbox").fill("the zebra chased the zebra")
    expect(walker).to_contain_text("marks an equal row, 5. zebra is new: its features are random.")
    page.get_by_role("slider", name="row").press("ArrowLeft")
    expect(walker).not_to_contain_text("random")
    page.get_by_role("switch", name="features").uncheck()
    expect(walker).not_to_contain_text("random")


@pytest.mark.browser
def test_all_rows_that_are_the_same_are_counted_and_marked(explorer: Callable[..., Page]):
    page = explorer(kind="graph", molecule="ethanol", row=4)
    expect(page.locator(".qkv-x-says")).to_contain_text("marks 5 equal rows.")
    assert (page.locator(".qkv-same path").get_attribute("d") or "").count("M") == 5
    page.get_by_role("slider", name="row").fill("3", force=True)
    expect(page.locator(".qkv-x-says")).not_to_contain_text("equal")


@pytest.mark.browser
def test_a_drag_over_a_drawing_selects_no_words(explorer: Callable[..., Page]):
    page = explorer(kind="graph")
    first, last = (page.locator(".qkv-letter").nth(i).bounding_box() for i in (0, 3))
    assert first
    assert last
    page.mouse.move(first["x"] + 1, first["y"] + first["height"] / 2)
    page.mouse.down()
    page.mouse.move(last["x"] + last["width"], last["y"] + last["height"] / 2, steps=4)
    page.mouse.up()
    assert page.evaluate("String(getSelection())") == ""


@pytest.mark.browser
@pytest.mark.parametrize("row", [0, 100, 255])
def test_the_frame_of_a_thin_row_can_be_seen(explorer: Callable[..., Page], row: int):
    """Its middle is the row's middle."""
    page = explorer(kind="image", patch=1, row=row)
    frame_, matrix = page.locator(".qkv-looked-at").bounding_box(), page.locator(".qkv-pixels").bounding_box()
    assert frame_
    assert matrix
    assert frame_["height"] >= 8
    middle = matrix["y"] + matrix["height"] * (row + 0.5) / 256
    assert frame_["y"] + frame_["height"] / 2 == pytest.approx(middle, abs=1.5)


@pytest.mark.browser
@pytest.mark.parametrize("patch", [1, 4])
def test_the_rows_of_a_picture_are_in_the_colours_of_its_patches(explorer: Callable[..., Page], patch: int):
    page = explorer(kind="image", patch=patch)
    fills = "(e) => [...e.querySelectorAll('rect[fill]')].map((r) => r.getAttribute('fill'))"
    picture, rows = (page.locator(part).evaluate(fills) for part in (".qkv-picture", ".qkv-pixels"))
    seen = torch.tensor([hash(each) for each in picture]).reshape(16, 16)
    patches = seen.unfold(0, patch, patch).unfold(1, patch, patch).flatten()
    assert [hash(each) for each in rows] == patches.tolist()


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 800])
@pytest.mark.parametrize(
    "traits",
    [
        {"sentence": 2, "row": 1},
        {"sentence": 2, "row": 7},
        {"kind": "speech", "row": 9},
        {"kind": "graph", "row": 0},
        {"kind": "graph", "row": 5},
        {"kind": "image"},
    ],
)
def test_a_line_goes_from_the_piece_to_its_row(open_page: Callable[..., Page], traits: dict[str, Any], width: int):
    """It passes no other word, atom or patch across. Also after the widget has become wider."""
    page = open_page(width=390)
    draw(page, [("SequenceExplorer", traits)])
    page.set_viewport_size({"width": width, "height": 800})
    frame(page)
    piece, row, matrix, thread = (
        page.locator(part).first.evaluate("e => e.getBoundingClientRect().toJSON()")
        for part in ("[data-piece]", ".qkv-looked-at", ".qkv-rows", ".qkv-thread")
    )
    way = page.locator(".qkv-thread path").first.get_attribute("d") or ""
    x, start, out, gutter, end, last = (float(number) for number in re.findall(r"-?[\d.]+", way))
    assert thread["x"] + x == pytest.approx(piece["x"] + piece["width"] / 2, abs=1)
    assert thread["y"] + start == pytest.approx(piece["top"] if out < start else piece["bottom"], abs=1)
    assert thread["x"] + gutter == pytest.approx(matrix["x"] - 9, abs=1)
    assert thread["x"] + last == pytest.approx(matrix["x"], abs=1)
    assert thread["y"] + end == pytest.approx(row["y"] + row["height"] / 2, abs=1)
    pieces = page.locator(".qkv-object :is(button, circle, .qkv-picture)").evaluate_all(
        "all => all.map((e) => e.getBoundingClientRect().toJSON())"
    )
    across = thread["y"] + out
    assert not [each for each in pieces if each["top"] < across < each["bottom"]]


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["graph", "image"])
def test_the_handle_hides_no_mark_of_an_equal_row(explorer: Callable[..., Page], kind: str):
    page = explorer(kind=kind)
    mark, handle, line = (
        page.locator(part).first.bounding_box()
        for part in (".qkv-same path", ".qkv-row-grip", ".qkv-thread path >> nth=1")
    )
    assert mark
    assert handle
    assert line
    assert mark["x"] + mark["width"] < handle["x"]
    assert mark["x"] > line["x"] + 2 or kind == "graph"


@pytest.mark.browser
def test_the_chosen_row_shows_its_numbers(explorer: Callable[..., Page]):
    page = explorer(sentence=2, embedded=True)
    numbers = page.locator(".qkv-cells i:not(:empty)")
    assert [float(text) for text in numbers.all_inner_texts()] == [1, 0.1, 0, 0]
    page.get_by_role("button", name="hungry").click()
    frame(page)
    assert [float(text) for text in numbers.all_inner_texts()] == [0.7, 0.2, 0, 0]


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 800])
def test_bars_show_the_chosen_row_and_change_with_it(open_page: Callable[..., Page], width: int):
    """On a phone they stand on the matrix's columns; on a desk they have names of their own."""
    page = open_page(width=width)
    draw(page, [("SequenceExplorer", {"sentence": 2, "embedded": True})])
    rects = "all => all.map((e) => ['height', 'x'].map((name) => Number(e.getAttribute(name))))"
    seen = [height for height, _ in page.locator(".qkv-row-bars rect").evaluate_all(rects)]
    assert seen == pytest.approx([1, 0.1, 0, 0])
    page.get_by_role("slider", name="row").press("ArrowRight")
    frame(page)
    seen = [height for height, _ in page.locator(".qkv-row-bars rect").evaluate_all(rects)]
    assert seen == pytest.approx([0.1, 1, 0.1, 0])
    middles = "all => all.map((e) => { const { left, width } = e.getBoundingClientRect(); return left + width / 2; })"
    names = page.locator(".qkv-row-bars span")
    assert names.first.is_visible() == (width > 700)
    below = names if width > 700 else page.locator(".qkv-cells i:nth-of-type(-n+4)")
    bars = page.locator(".qkv-row-bars rect").evaluate_all(middles)
    assert bars == pytest.approx(below.evaluate_all(middles), abs=3)


@pytest.mark.browser
def test_bars_of_a_patch_have_the_colours_of_its_pixels(explorer: Callable[..., Page]):
    page = explorer(kind="image", patch=8, row=3)
    bars, rows = (
        page.locator(f"{part} rect").evaluate_all("all => all.map((e) => e.getAttribute('fill'))")
        for part in (".qkv-row-bars", ".qkv-pixels")
    )
    assert bars[::3] == bars[2::3] == rows[3 * 64 :]


@pytest.mark.browser
def test_the_sentence_gives_the_numbers_of_the_chosen_row_in_two_lines(explorer: Callable[..., Page]):
    page = explorer(sentence=2, embedded=True)
    row, says = page.locator(".qkv-x-row"), page.locator(".qkv-x-says")
    expect(row).to_have_text("cat = [1, 0.1, 0, 0]")
    page.get_by_role("slider", name="row").press("ArrowRight")
    expect(row).to_have_text("chased = [0.1, 1, 0.1, 0]")
    expect(page.get_by_role("status")).to_contain_text("chased = [0.1, 1, 0.1, 0]. 9 rows of 4 numbers.")
    for kind, numbers in (
        ("speech", r"0–25 ms = \[[\d.]+, [\d.]+, …\]"),
        ("image", r"down 1, across 1 = \[0\.5, 0\.7, …\]"),
    ):
        page.get_by_role("radio", name=kind, exact=True).check()
        expect(row).to_have_text(re.compile(f"^{numbers}$"))
        assert says.evaluate("e => e.scrollWidth <= e.clientWidth && e.offsetHeight < 50"), kind
