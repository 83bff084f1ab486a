"""HeadSplitter: its routes into heads and back against torch's own reshapes, and what it says about them."""

import base64
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import Tensor
from traitlets import TraitError

from qkv.attention import attention, causal_mask, merge_heads, split_heads
from qkv.widgets import HeadSplitter

from .conftest import frame
from .node import JS, ROOT, node

B, N, D_MODEL = 2, 3, 12  # sizes that differ, and heads that leave a remainder of no size
HEADS = [1, 2, 3, 4, 6, 12]


def reshape_in(x: Tensor, n_heads: int) -> Tensor:
    return x.reshape(len(x), n_heads, x.shape[1], -1)


def reshape_out(heads: Tensor) -> Tensor:
    return heads.reshape(len(heads), heads.shape[2], -1)


def heads_first(x: Tensor, n_heads: int) -> Tensor:
    return x.reshape(n_heads, len(x), x.shape[1], -1).transpose(0, 1)


ROUTES: dict[str, tuple[Callable[..., Tensor], Callable[..., Tensor]]] = {
    "right": (split_heads, merge_heads),
    "reshape both ways": (reshape_in, reshape_out),
    "reshape in": (reshape_in, merge_heads),
    "reshape out": (split_heads, reshape_out),
    "heads first": (heads_first, merge_heads),
}


def shape(n_heads: int, **more: Any) -> dict[str, Any]:
    return {"batch": B, "tokens": N, "features": D_MODEL, "heads": n_heads, **more}


@pytest.mark.parametrize("n_heads", HEADS)
@pytest.mark.parametrize("route", ROUTES)
def test_entries_go_where_torch_puts_them(route: str, n_heads: int):
    split, merge = ROUTES[route]
    sheet = torch.arange(B * N * D_MODEL).reshape(B, N, D_MODEL)
    entries = node("({ route, s }) => maths.headEntries(route, s)", {"route": route, "s": shape(n_heads)})
    assert len(entries) == sheet.numel()

    heads = split(sheet, n_heads)
    places = merge(torch.arange(sheet.numel()).reshape(heads.shape))  # where each entry of the heads ends up
    for number, entry in enumerate(entries):
        at = (entry["b"], entry["h"], entry["row"], entry["column"])
        assert entry["from"] == heads[at], (route, at)
        assert places.flatten()[entry["to"]] == number, (route, at)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("route", ROUTES)
def test_multi_head_is_torch_s(route: str, causal: bool):
    split, merge = ROUTES[route]
    generator = torch.Generator().manual_seed(len(route))
    x, *projections = (
        torch.randn(*size, dtype=torch.float64, generator=generator)
        for size in [(B, N, D_MODEL), *[(D_MODEL, D_MODEL)] * 3]
    )
    q, k, v = (split(x @ w / D_MODEL**0.5, 3) for w in projections)
    expected = merge(attention(q, k, v, causal_mask(N) if causal else None)[0])
    actual = node(
        "({ x, w, route, s }) => maths.multiHead(x, w, route, s)",
        {
            **{"x": x.flatten(0, 1).tolist(), "w": [(w / D_MODEL**0.5).tolist() for w in projections]},
            **{"route": route, "s": shape(3, causal=causal)},
        },
    )
    torch.testing.assert_close(torch.tensor(actual, dtype=torch.float64), expected.flatten(), rtol=1e-9, atol=1e-12)


def heard(route: str, n_heads: int, nudged: int, causal: bool = False) -> list[bool]:
    """Which of the widget's eight outputs move: four of one example, then four of the other."""
    options = {"batch": 2, "tokens": 4, "features": 8, "heads": n_heads, "nudged": nudged, "causal": causal}
    rows = node("({ route, o }) => maths.nudgeExperiment(route, o)", {"route": route, "o": options})
    return [max(row) > 1e-9 for row in rows]


@pytest.mark.parametrize("n_heads", [1, 2, 4, 8])
@pytest.mark.parametrize("nudged", range(8))
def test_the_right_way_is_heard_by_its_example_alone(n_heads: int, nudged: int):
    example = nudged // 4
    assert heard("right", n_heads, nudged) == [row // 4 == example for row in range(8)]
    assert heard("right", n_heads, nudged, causal=True) == [row // 4 == example and row >= nudged for row in range(8)]


def test_the_reshape_trap():
    assert heard("reshape both ways", 2, 3) == [False, False, True, True] + [False] * 4
    assert heard("reshape both ways", 4, 3) == [False, False, False, True] + [False] * 4
    assert heard("reshape both ways", 1, 3) == heard("right", 1, 3), "one head cannot show it"


def test_half_a_trap_needs_the_causal_mask_to_be_seen():
    for route in ("reshape in", "reshape out"):
        everywhere = [heard(route, 2, nudged) for nudged in range(4)]
        assert everywhere == [heard("right", 2, nudged) for nudged in range(4)], route
        masked = [heard(route, 2, nudged, causal=True) for nudged in range(4)]
        assert masked != [heard("right", 2, nudged, causal=True) for nudged in range(4)], route


@pytest.mark.parametrize("wrong", [route for route in ROUTES if route != "right"])
def test_where_a_word_does_not_show_the_mistake_it_is_said_why(wrong: str):
    """Another word, the causal mask, or more heads than one then show it."""
    said = node(
        f"""async (wrong) => {{
          const {{ verdict }} = await import("{(JS / "head_splitter.js").as_uri()}");
          const each = (n_heads, causal) => [...Array(8).keys()].map(
            (nudged) => verdict({{ wrong, n_heads, causal, nudged }}, wrong).split(". ")[1] ?? "");
          return [1, 2, 8].map((n_heads) => [false, true].map((causal) => each(n_heads, causal)));
        }}""",
        wrong,
    )
    joined = "The heads hold the right entries, but are joined wrongly."
    assert (joined in said[2][1]) == (wrong == "reshape out")
    said = [[["" if why == joined else why for why in sheets] for sheets in each] for each in said]
    assert {why for sheets in said[0] for why in sheets} == {"One head does not show the mistake."}
    for free, causal in said[1:]:
        assert set(causal) <= {"", "This word does not show the mistake."}
        assert "" in causal
        if "Only causal shows the mistake." in free:
            assert set(free) == {"Only causal shows the mistake."}
        else:
            assert set(free) <= {"", "This word does not show the mistake."}
            assert "" in free


@pytest.mark.parametrize("wrong", [route for route in ROUTES if route != "right"])
def test_a_way_that_is_chosen_shows_its_mistake(wrong: str):
    """Word and causal stay if they show it, and the example stays in any case."""
    steps = node(
        f"""async (wrong) => {{
          const {{ chosen, verdict }} = await import("{(JS / "head_splitter.js").as_uri()}");
          const unseen = (state) => verdict(state, wrong).includes("mistake");
          const step = (n_heads, causal, nudged) => {{
            const before = {{ wrong: "other", n_heads, causal, nudged }};
            const after = {{ ...before, ...chosen(before, wrong) }};
            return {{ before, after, wasUnseen: unseen({{ ...before, wrong }}), isUnseen: unseen(after) }};
          }};
          return [1, 2, 4, 8].flatMap((n_heads) =>
            [false, true].flatMap((causal) => [...Array(8).keys()].map((nudged) => step(n_heads, causal, nudged))));
        }}""",
        wrong,
    )
    for step in steps:
        before, after = step["before"], step["after"]
        assert after["wrong"] == wrong
        assert after["nudged"] // 4 == before["nudged"] // 4
        assert after["causal"] >= before["causal"]
        if before["n_heads"] == 1:
            continue  # one head shows no mistake
        assert not step["isUnseen"], step
        if not step["wasUnseen"]:
            assert after == {**before, "wrong": wrong}


def test_a_way_chosen_with_one_head_shows_its_mistake_with_two():
    half = node(
        f"""async () => {{
          const {{ chosen, verdict }} = await import("{(JS / "head_splitter.js").as_uri()}");
          const state = {{ wrong: "reshape both ways", n_heads: 1, causal: false, nudged: 0 }};
          const after = {{ ...state, ...chosen(state, "reshape in"), n_heads: 2 }};
          return [after.causal, after.nudged, verdict(after, "reshape in")];
        }}"""
    )
    assert half == [True, 1, "有 reaches 2 of 3 outputs."]


def test_heads_before_examples_mix_examples():
    assert any(heard("heads first", 2, 3)[4:])


def test_traits():
    splitter = HeadSplitter()
    assert repr(splitter) == "HeadSplitter(n_heads=2, wrong='reshape both ways', nudged=3, causal=False)"
    for name, value in {"n_heads": 3, "wrong": "right", "nudged": 8, "causal": 1}.items():
        with pytest.raises(TraitError, match=name):
            setattr(splitter, name, value)


# ---- on a page


def opened(page: Page, state: dict[str, Any]) -> Page:
    """Show the built widget on an empty page."""
    code = (ROOT / "src" / "qkv" / "widgets" / "static" / "head_splitter.js").read_bytes()
    address = "data:text/javascript;base64," + base64.b64encode(code).decode()
    page.evaluate("async ([a, state]) => { window.it = show((await import(a)).default, state); }", [address, state])
    return page


STATE = {"n_heads": 2, "wrong": "reshape both ways", "nudged": 3, "causal": False}


def test_it_opens_on_the_trap(open_page: Callable[..., Page]):
    page = opened(open_page(), STATE)
    right, wrong = page.locator('[data-number="right"]'), page.locator('[data-number="wrong"]')
    expect(right).to_have_text("transpose 永和路 reaches 4 of 4 outputs.")
    expect(right).to_have_attribute("data-wrong", "false")
    expect(wrong).to_have_text("reshape both ways 永和路 reaches 2 of 4 outputs.")
    expect(wrong).to_have_attribute("data-wrong", "true")
    outputs = page.get_by_role("group", name="outputs, reshape both ways").locator("[data-changes]")
    assert outputs.all_inner_texts() == ["stays\n✗"] * 2 + ["changes\n✓"] * 2 + ["stays\n✓"] * 4
    page.get_by_role("slider").fill("0")
    frame(page)
    expect(wrong).to_have_text("reshape both ways 永和路 reaches 4 of 4 outputs. One head does not show the mistake.")
    expect(wrong).to_have_attribute("data-wrong", "true")


def test_a_head_s_rows_are_named_by_the_words_that_they_hold(open_page: Callable[..., Page]):
    page = opened(open_page(), STATE)
    first_heads = {}
    for lane in ("transpose", "reshape both ways"):
        names = (
            page.get_by_role("group", name=f"heads, {lane}")
            .locator(".qkv-entries > :not(.qkv-away) .qkv-held")
            .first.inner_text()
        )
        first_heads[lane] = [row.split("\t")[0] for row in names.split("\n")]
    assert first_heads == {
        "transpose": ["中和", "有", "一個", "永和路"],
        "reshape both ways": ["中和", "中和", "有", "有"],
    }


def test_heads_before_the_batch_mix_the_two_examples(open_page: Callable[..., Page]):
    page = opened(open_page(), STATE)
    page.get_by_role("radio", name="heads, then batch").check()
    frame(page)
    assert page.evaluate("it.model.get('wrong')") == "heads first"
    wrong = page.locator("[data-number=wrong]")
    expect(wrong).to_contain_text("reaches 0 of 4 outputs, and 4 that it must not reach")
    page.get_by_role("radio", name="I", exact=True).check()
    frame(page)
    assert page.evaluate("it.model.get('nudged')") == 4


def test_another_word_is_picked_where_the_one_before_hides_the_mistake(open_page: Callable[..., Page]):
    page = opened(open_page(), STATE)
    wrong = page.locator("[data-number=wrong]")
    page.get_by_role("radio", name="中和").check()
    page.get_by_role("radio", name="reshape in only").check()
    frame(page)
    assert page.evaluate("['causal', 'nudged'].map((name) => it.model.get(name))") == [True, 1]
    expect(page.get_by_role("switch")).to_be_checked()
    expect(wrong).not_to_contain_text("mistake")
    assert "✗" in "".join(page.get_by_role("group", name="outputs, reshape in only").all_inner_texts())
    page.get_by_role("radio", name="中和").check()
    expect(wrong).to_contain_text("This word does not show the mistake.")
    expect(page.get_by_role("status")).to_contain_text("reshape in only, causal: 中和 reaches")


@pytest.mark.parametrize("lane", ["transpose", "reshape both ways"])
def test_a_press_on_an_entry_nudges_the_token_that_it_comes_from(open_page: Callable[..., Page], lane: str):
    page = opened(open_page(width=390), STATE)
    sheets = page.get_by_role("group", name=f"heads, {lane}").locator(".qkv-entries > :not(.qkv-away) .qkv-sheet")
    for token, feature in [(1, 0), (2, 7), (6, 3)]:
        box = sheets.nth(token // 4).bounding_box()
        assert box
        head, column = divmod(feature, 4)
        row = token % 4
        if lane != "transpose":
            # Each head has four features of four rows: one half of the sheet's 32 numbers, read row by row.
            head, number = divmod(8 * row + feature, 16)
            row, column = divmod(number, 4)
        across = (4.15 * head + column + 0.5) / 9.05
        page.mouse.click(box["x"] + box["width"] * across, box["y"] + box["height"] * (row + 0.5) / 4)
        frame(page)
        assert page.evaluate("it.model.get('nudged')") == token
    assert page.locator(":not(.qkv-away) > .qkv-sheet .qkv-nudged:not([d=''])").count() == 2  # on either way


@pytest.mark.parametrize("has_touch", [False, True], ids=["mouse", "finger"])
def test_a_press_between_two_entries_nudges_one_of_them(open_page: Callable[..., Page], has_touch: bool):
    page = opened(open_page(width=390, has_touch=has_touch), STATE)
    box = page.locator(".qkv-entries").first.bounding_box()
    assert box
    x, y = box["x"] + box["width"] * 1.98 / 9.05, box["y"] + box["height"] * 0.4  # the line between two features
    press = page.touchscreen.tap if has_touch else page.mouse.click
    press(x, y)
    frame(page)
    assert page.evaluate("it.model.get('nudged')") == 1


def test_a_word_beside_the_outputs_is_pressed_as_the_one_above(open_page: Callable[..., Page]):
    page = opened(open_page(width=390), STATE)
    page.locator("span[data-token]").nth(5).click()
    frame(page)
    assert page.evaluate("it.model.get('nudged')") == 5
    expect(page.get_by_text("which outputs change with first saw?")).to_be_visible()


@pytest.mark.parametrize("width", [390, 800])
def test_the_split_is_seen_before_anything_is_read(open_page: Callable[..., Page], width: int):
    """Above it are the names of the two ways alone; what it shows and the controls are below."""
    page = opened(open_page(width=width), STATE)
    tops = page.evaluate(
        """(parts) => {
          const top = document.querySelector('.qkv-widget').getBoundingClientRect().top;
          return parts.map((part) => document.querySelector(part).getBoundingClientRect().top - top);
        }""",
        [".qkv-split-title", ".qkv-ruler", ".qkv-entries", ".qkv-outputs", ".qkv-verdict", ".qkv-split-controls"],
    )
    assert tops == sorted(tops)
    assert tops[1] < 50


def test_a_name_stands_where_its_head_begins(open_page: Callable[..., Page]):
    page = opened(open_page(width=390), STATE | {"n_heads": 4, "wrong": "heads first"})
    far = page.evaluate("""() => [...document.querySelectorAll('.qkv-entries')].flatMap((sheet) => {
      const { left, width } = sheet.getBoundingClientRect();
      const text = sheet.querySelector(':not(.qkv-away) > .qkv-held').firstChild.parentElement;
      const node = [...text.childNodes].find((part) => part.nodeType === 3 && part.data);
      const range = document.createRange();
      return [...node.data.matchAll(/[^\\t\\n]+/g)].map(({ index }, i) => {
        range.setStart(node, index);
        range.setEnd(node, index + 1);
        return Math.abs(range.getBoundingClientRect().left - 3 - left - (width * 2.15 * (i % 4)) / 9.05);
      });
    })""")
    assert len(far) == 64
    assert max(far) < 1


@pytest.mark.parametrize("n_heads", [4, 8])
def test_no_name_is_cut(open_page: Callable[..., Page], n_heads: int):
    page = opened(open_page(width=390), STATE | {"n_heads": n_heads, "wrong": "heads first"})
    names, beyond = page.evaluate(
        """(n) => {
          const found = [...document.querySelectorAll('.qkv-entries')].flatMap((sheet) => {
            const { left, width } = sheet.getBoundingClientRect();
            const text = sheet.querySelector(':not(.qkv-away) > .qkv-held');
            const node = [...text.childNodes].find((part) => part.nodeType === 3 && part.data);
            const range = document.createRange();
            return [...node.data.matchAll(/[^\\t\\n]+/g)].map(({ 0: name, index }, i) => {
              range.setStart(node, index);
              range.setEnd(node, index + name.length);
              const end = ((8 / n + 0.15) * (i % n) + 8 / n) / (8 + 7 * 0.15);
              return [name, range.getBoundingClientRect().right - left - width * end];
            });
          });
          return [[...new Set(found.map(([name]) => name))], Math.max(...found.map(([, past]) => past))];
        }""",
        n_heads,
    )
    whole = {4: {"中和", "有", "一個", "I", "saw", "a"}, 8: {"有", "I", "a"}}
    assert set(names) - whole[n_heads] == {4: {"永…"}, 8: {"中", "一", "永", "s"}}[n_heads]
    assert beyond <= 0.5


def test_of_two_words_that_are_spelt_alike_it_is_said_which(open_page: Callable[..., Page]):
    page = opened(open_page(), STATE | {"nudged": 7})
    expect(page.locator('[data-number="right"]')).to_have_text("transpose last saw reaches 4 of 4 outputs.")
    expect(page.get_by_text("which outputs change with last saw?")).to_be_visible()


@pytest.mark.parametrize("place", [".qkv-ruler", ".qkv-entries >> nth=0", ".qkv-entries >> nth=1"])
@pytest.mark.parametrize(
    ("before", "line", "to", "after"), [(2, 1, 2.0, 4), (2, 1, 8.0, 1), (8, 3, 6.2, 4), (4, 3, 3.2, 8)]
)
def test_a_line_between_heads_is_dragged(
    open_page: Callable[..., Page], before: int, line: int, to: float, after: int, place: str
):
    """A line is pressed, above the sheets or on one, and dragged to so many features from the left: the heads become as
    wide, and no other word is changed."""
    page = opened(open_page(width=390), STATE | {"n_heads": before})
    ruler = page.locator(".qkv-ruler").first
    head = ruler.locator(":not(.qkv-away) > span").nth(line - 1).bounding_box()
    box = ruler.bounding_box()
    assert head
    assert box
    area = page.locator(place).first.bounding_box()
    assert area
    y = area["y"] + area["height"] * 0.6
    page.mouse.move(head["x"] + head["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * to / 9.05, y, steps=4)
    page.mouse.up()
    frame(page)
    assert page.evaluate("['n_heads', 'nudged'].map((name) => it.model.get(name))") == [after, 3]


@pytest.mark.parametrize("n_heads", [1, 2, 4, 8])
@pytest.mark.parametrize("width", [360, 390, 800])
def test_a_line_has_a_grip_as_wide_as_its_neighbours_allow(open_page: Callable[..., Page], n_heads: int, width: int):
    page = opened(open_page(width=width), STATE | {"n_heads": n_heads})
    ruler = page.locator(".qkv-ruler > :not(.qkv-away)").first
    zones = ruler.locator("i").evaluate_all("es => es.map((e) => e.getBoundingClientRect())")
    pitch = (8 / n_heads + 0.15) / 9.05 * page.locator(".qkv-ruler").first.evaluate("e => e.clientWidth")
    assert [zone["width"] for zone in zones] == pytest.approx([min(24, pitch)] * n_heads, abs=0.1)
    assert all(zone["height"] > 200 for zone in zones)
    rings = ruler.locator(".qkv-grip").evaluate_all("es => es.map((e) => e.getBoundingClientRect())")
    names = ruler.locator("span").evaluate_all("""es => es.map((e) => {
      const range = document.createRange();
      range.selectNodeContents(e);
      return range.getBoundingClientRect();
    })""")
    assert len(rings) == n_heads
    assert min(ring["width"] for ring in rings) > 7
    for ring, name, after in zip(rings, names, [*names[1:], {"left": math.inf}], strict=True):
        assert name["right"] <= ring["left"] + 1
        assert ring["right"] <= after["left"] + 1


def test_an_entry_under_a_grip_is_pressed_and_a_drag_presses_none(open_page: Callable[..., Page]):
    page = opened(open_page(width=390, has_touch=True), STATE | {"n_heads": 8})
    sheet = page.locator(".qkv-entries").first.bounding_box()
    assert sheet
    beside, y = sheet["x"] + sheet["width"] * 4.4 / 9.05, sheet["y"] + sheet["height"] * 0.4  # the fourth head's end
    page.touchscreen.tap(beside, y)
    frame(page)
    assert page.evaluate("['n_heads', 'nudged'].map((name) => it.model.get(name))") == [8, 1]
    page.mouse.move(beside, y)
    page.mouse.down()
    page.mouse.move(beside + 5, y + sheet["height"] / 4, steps=3)
    page.mouse.up()
    frame(page)
    assert page.evaluate("it.model.get('nudged')") == 1


def test_nothing_jumps_whatever_is_chosen(open_page: Callable[..., Page]):
    page = opened(open_page(width=390), STATE)
    height = "() => document.querySelector('.qkv-widget').offsetHeight"
    before = page.evaluate(height)
    for wrong in ("reshape both ways", "reshape in", "reshape out", "heads first"):
        for heads, causal, nudged in [(1, False, 0), (2, True, 0), (4, False, 3), (8, True, 4), (8, False, 7)]:
            state = {"wrong": wrong, "n_heads": heads, "causal": causal, "nudged": nudged}
            page.evaluate("(state) => Object.entries(state).forEach(([key, value]) => it.model.set(key, value))", state)
            frame(page)
            assert page.evaluate(height) == before, state


def test_entries_are_large_enough_to_be_pressed(open_page: Callable[..., Page]):
    page = opened(open_page(width=390), STATE)
    boxes = page.locator(".qkv-sheet").evaluate_all("es => es.map((e) => [e.clientWidth / 9.05, e.clientHeight / 4])")
    assert round(min(width for width, _ in boxes)) >= 16
    assert min(height for _, height in boxes) >= 24


def test_the_page_keeps_its_width_on_a_phone(open_page: Callable[..., Page]):
    page = opened(open_page(width=390), STATE | {"wrong": "heads first", "n_heads": 8})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
