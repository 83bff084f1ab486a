"""HeadSplitter: its routes into heads and back against torch's own reshapes, and what it says about them."""

import base64
import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Tensor
from traitlets import TraitError

from qkv.attention import attention, causal_mask, merge_heads, split_heads
from qkv.widgets import HeadSplitter

from .conftest import drag, frame
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


VERDICTS = f"""async (wrong) => {{
  const {{ verdict }} = await import("{(JS / "head_splitter.js").as_uri()}");
  const each = (shown) => [...Array(8).keys()].map((nudged) => verdict({{ ...shown, nudged }}, wrong));
  return [1, 2, 8].map((n_heads) => [false, true].map((causal) => each({{ wrong, n_heads, causal }})));
}}"""


@pytest.mark.parametrize("wrong", [route for route in ROUTES if route != "right"])
def test_where_a_word_does_not_show_the_mistake_it_is_said_why(wrong: str):
    """Another word, the causal mask, or more heads than one then show it."""
    one_head, *more = node(VERDICTS, wrong)
    assert all("With one head, both ways are the same." in text for texts in one_head for text in texts)
    other_word, only_causal = "This word does not show the mistake.", "Only a causal mask shows the mistake."
    for free, causal in more:
        assert any("only" in text or "wrong one" in text for text in causal)
        assert all(("only" in text or "wrong one" in text) != (other_word in text) for text in causal)
        if wrong in ("reshape in", "reshape out"):
            assert all(only_causal in text for text in free)
        else:
            assert all(("only" in text or "wrong one" in text) != (other_word in text) for text in free)


def test_pieces_are_counted_where_torch_puts_them():
    for route, (split, _) in ROUTES.items():
        texts = node(VERDICTS, route)
        for n_heads, each in zip([1, 2, 8], texts, strict=True):
            tokens = torch.arange(8).repeat_interleave(8).view(2, 4, 8)
            pieces = split(tokens, n_heads)[..., 0]  # the token of each piece: (examples, heads, rows)
            shown = pieces if route == "heads first" else pieces[:1]
            away = int((shown != torch.arange(8).view(2, 1, 4)[: len(shown)]).sum())
            for text in [sheets[0] for sheets in each]:
                found = f"{away} of {shown.numel()} pieces are in another word’s column." in text
                assert found == (away > 0), (route, n_heads, text)


def test_heads_before_examples_mix_examples():
    assert any(heard("heads first", 2, 3)[4:])


def test_traits():
    splitter = HeadSplitter()
    assert repr(splitter) == "HeadSplitter(n_heads=2, wrong='reshape both ways', nudged=3, causal=False, dealt=1.0)"
    for name, value in {"n_heads": 3, "wrong": "right", "nudged": 8, "causal": 1, "dealt": 1.1}.items():
        with pytest.raises(TraitError, match=name):
            setattr(splitter, name, value)


# ---- on a page


def opened(page: Page, state: dict[str, Any]) -> Page:
    """Show the built widget on an empty page."""
    code = (ROOT / "src" / "qkv" / "widgets" / "static" / "head_splitter.js").read_bytes()
    address = "data:text/javascript;base64," + base64.b64encode(code).decode()
    page.evaluate("async ([a, state]) => { window.it = show((await import(a)).default, state); }", [address, state])
    return page


STATE = {"n_heads": 2, "wrong": "reshape both ways", "nudged": 3, "causal": False, "dealt": 1}


def way(page: Page, name: str) -> Locator:
    """A way's drawing, which is asked for if it is not shown, when its pieces have come."""
    page.get_by_role("radio", name=name).check()
    frame(page)
    page.evaluate("Promise.all(document.getAnimations().map(({ finished }) => finished))")
    return page.get_by_role("group", name=name, exact=True)


def opened_wrong(page: Page, state: dict[str, Any]) -> Page:
    """Show the built widget with its wrong way."""
    page = opened(page, state)
    page.locator(".qkv-routes input").last.check()
    frame(page)
    return page


def put_back(page: Page) -> Page:
    """Choose the right way, and put the tape back into memory."""
    for route in reversed(page.locator(".qkv-routes input").all()):
        route.check()
    page.evaluate("it.model.set('dealt', 0)")
    frame(page)
    page.evaluate("Promise.all(document.getAnimations().map(({ finished }) => finished))")
    return page


def pieces(page: Page, name: str) -> list[list[str]]:
    """The names on a way's pieces, head by head, as they are seen."""
    spans = way(page, name).locator(".qkv-pieces > span")
    placed = spans.evaluate_all(
        "es => es.map((e) => [e.getBoundingClientRect().top, e.getBoundingClientRect().left, e.innerText])"
    )
    rows = [list(row) for _, row in itertools.groupby(sorted(placed), key=lambda piece: piece[0])]
    return [[text for *_, text in row] for row in rows]


def press(page: Page) -> None:
    """Press the word that is changed already: then its outputs are shown, and spoken of."""
    page.locator(".qkv-tape label:has(:checked)").click()
    frame(page)


ALL_CHANGE = "If “hungry” changes, 4 of 4 outputs change, as they should."
VERDICT = "[data-number=wrong]"


def changing(page: Page, name: str) -> list[str]:
    return way(page, name).locator("[data-changes]").evaluate_all("es => es.map((e) => e.lastChild.data)")


def test_it_is_said_what_the_wrong_way_does(open_page: Callable[..., Page]):
    page = opened(open_page(), STATE)
    says = page.locator(VERDICT)
    expect(says).to_have_text(ALL_CHANGE)
    assert changing(page, "split, then transpose") == ["changes"] * 4
    assert changing(page, "reshape alone") == ["stays"] * 2 + ["changes"] * 2
    expect(says).to_have_text("If “hungry” changes, only 2 of 4 outputs change.")
    expect(page.get_by_role("status")).to_contain_text("“the”, “cat” stay.")
    seen = page.locator(".qkv-way-outputs > .qkv-amiss [aria-hidden]")
    assert seen.all_inner_texts() == ["the", "cat"], "the words are in the red frames"
    page.get_by_role("radio", name="1", exact=True).check()
    frame(page)
    expect(says).to_have_text(ALL_CHANGE)
    expect(page.locator(".qkv-way span.qkv-amiss")).to_have_count(0)


def test_the_words_that_do_not_change_have_one_colour(open_page: Callable[..., Page]):
    page = opened(open_page(), STATE)
    for name in ("split, then transpose", "reshape alone"):
        others = way(page, name).locator(".qkv-pieces > span:not(.qkv-nudged)")
        assert len(set(others.evaluate_all("es => es.map((e) => getComputedStyle(e).backgroundColor)"))) == 1, name


def places(page: Page, name: str) -> list[tuple[float, float]]:
    """The middles of a way's pieces on the screen, in the order in which they lie in memory."""
    found = (
        way(page, name)
        .locator(".qkv-pieces > span")
        .evaluate_all(
            """es => es.map((e) => { const { left, right, top, bottom } = e.getBoundingClientRect();
          const [word, cell] = ["--word", "--cell"].map((name) => Number(e.style.getPropertyValue(name)));
          return [8 * word + cell, (left + right) / 2, (top + bottom) / 2]; })"""
        )
    )
    assert found == sorted(found), "each keeps its element"
    return [(x, y) for _, x, y in found]


@pytest.mark.parametrize("width", [390, 1000])
def test_the_tape_is_dealt_where_torch_puts_its_numbers(open_page: Callable[..., Page], width: int):
    page = opened(open_page(width=width, reduced_motion="reduce"), STATE)
    numbers = torch.arange(4 * 8).reshape(1, 4, 8)
    for name, route in (("split, then transpose", "right"), ("reshape alone", "reshape both ways")):
        firsts = ROUTES[route][0](numbers, 2)[..., 0].flatten() // 4  # as seen: head by head, row by row
        dealt = places(page, name)
        seen = sorted(range(8), key=lambda piece: (round(dealt[piece][1]), dealt[piece][0]))
        assert seen == firsts.tolist(), name
    page.evaluate("it.model.set('dealt', 0)")
    frame(page)
    spans = page.locator(".qkv-pieces > span").evaluate_all(
        "es => es.map((e) => e.getBoundingClientRect()).map(({ left, right, top }) => [Math.round(top), left, right])"
    )
    assert len({top for top, *_ in spans}) == 1, "one line"
    for (_, _, end), (_, begin, _) in itertools.pairwise(spans):
        assert 0 <= begin - end + 0.1 <= 6, "in the order of memory, side by side"
    last = page.locator(".qkv-tape > label").last.bounding_box()
    assert last
    assert spans[-1][2] <= last["x"] + last["width"] + 0.1, "each word's pieces are below its name"


def test_before_a_press_no_way_is_marked_and_no_output_shown(open_page: Callable[..., Page]):
    page = opened(open_page(width=390), STATE | {"dealt": 0})
    marks, outputs, ring = (page.locator(each) for each in (".qkv-routes b", ".qkv-way-outputs", ".qkv-deal-ring"))
    expect(page.locator(VERDICT)).to_have_text("In memory, 4 words are one tape of 32 numbers. Press a way into heads.")
    expect(page.locator(".qkv-routes :checked")).to_have_count(0)
    for hidden in (*marks.all(), ring):
        expect(hidden).to_be_hidden()
    expect(outputs).to_be_empty()
    expect(page.get_by_text("Numbers", exact=True)).to_be_hidden()
    drag(page, page.locator(".qkv-deal"), 0.5, 0.9)
    assert page.evaluate("it.model.get('dealt')") == 0, "the presses are the one handle"
    page.get_by_role("radio", name="reshape alone").check(force=True)
    frame(page)
    assert page.evaluate("it.model.get('dealt')") == 1
    for shown in (marks.last, outputs, ring):
        expect(shown).to_be_visible()
    expect(page.get_by_role("radio", name="Wrong: reshape alone")).to_be_checked()
    expect(marks.first).to_be_hidden()
    expect(page.locator(".qkv-deal-rail")).to_have_text("memory → heads")


def test_a_way_that_is_chosen_deals_the_tape(open_page: Callable[..., Page]):
    page = opened_wrong(open_page(width=390), STATE | {"dealt": 0})
    assert page.evaluate("it.model.get('dealt')") == 1
    expect(page.locator(VERDICT)).to_have_text("If “hungry” changes, only 2 of 4 outputs change.")


@pytest.mark.parametrize("has_touch", [False, True], ids=["mouse", "finger"])
def test_the_tape_is_dragged(open_page: Callable[..., Page], has_touch: bool):
    page = put_back(opened(open_page(width=390, has_touch=has_touch), STATE))
    expect(page.locator(VERDICT)).to_contain_text("one tape of 32 numbers.")
    ring, picture = page.locator(".qkv-deal-ring"), page.locator(".qkv-deal")
    for share in (0.5, 1):
        area, box = picture.bounding_box(), ring.bounding_box()
        assert area
        assert box
        drag(page, ring, 0.5, (area["y"] + share * area["height"] - box["y"]) / box["height"])
        dealt, box = page.evaluate("it.model.get('dealt')"), ring.bounding_box()
        assert box
        middle = box["y"] + box["height"] / 2
        bottom = area["y"] + area["height"]
        if share == 1:
            assert dealt == 1
            assert middle == pytest.approx(bottom - 20, abs=2)
        else:
            assert 0.3 < dealt < 0.6
            assert middle == pytest.approx(area["y"] + share * area["height"], abs=8), "it stays at the finger"
            expect(page.locator(VERDICT)).to_contain_text("The tape is 32 numbers in memory.")
    assert page.evaluate("it.model.get('nudged')") == 3, "a drag changes no word"


def test_a_tape_that_is_pulled_back_keeps_its_way_and_its_ring(open_page: Callable[..., Page]):
    page = opened(open_page(width=390), STATE)
    drag(page, page.locator(".qkv-deal-ring"), 0.5, -20)
    assert page.evaluate("it.model.get('dealt')") == 0
    expect(page.get_by_role("radio", name="Right: split, then transpose")).to_be_checked()
    expect(page.locator(".qkv-deal-ring")).to_be_visible()


def test_the_ring_snaps_to_its_end(open_page: Callable[..., Page]):
    page = put_back(opened(open_page(width=390), STATE))
    ring, picture = page.locator(".qkv-deal-ring"), page.locator(".qkv-deal")
    for share, dealt in ((0.82, pytest.approx(0.86, abs=0.02)), (0.88, 1)):
        area, box = picture.bounding_box(), ring.bounding_box()
        assert area
        assert box
        drag(page, ring, 0.5, (area["y"] + share * area["height"] - box["y"]) / box["height"])
        assert page.evaluate("it.model.get('dealt')") == dealt


def test_a_piece_bears_the_name_of_its_word(open_page: Callable[..., Page]):
    page = opened(open_page(), STATE)
    assert pieces(page, "split, then transpose") == [["the", "cat", "was", "hungry"]] * 2
    assert pieces(page, "reshape alone") == [["the", "the", "cat", "cat"], ["was", "was", "hungry", "hungry"]]
    amiss = way(page, "reshape alone").locator(".qkv-pieces .qkv-amiss")
    assert sorted(amiss.all_inner_texts()) == sorted(["was", "the", "was", "cat", "hungry", "cat"])


def test_both_examples_are_shown_where_a_way_mixes_them(open_page: Callable[..., Page]):
    page = opened_wrong(open_page(), STATE | {"wrong": "heads first"})
    press(page)
    expect(page.locator(VERDICT)).to_have_text("If “hungry” changes, only 0 of 4 outputs change. 4 wrong ones do.")
    assert pieces(page, "split, then transpose")[-1] != pieces(page, "heads before sentences")[-1]
    page.get_by_role("radio", name="change “I”").press("Space")
    frame(page)
    assert page.evaluate("it.model.get('nudged')") == 4


def test_a_word_is_chosen_by_its_name_or_by_a_piece(open_page: Callable[..., Page]):
    page = opened_wrong(open_page(width=390), STATE)
    page.get_by_role("radio", name="change “cat”").press("Space")
    frame(page)
    assert page.evaluate("it.model.get('nudged')") == 1
    expect(page.get_by_role("status")).to_contain_text("reshape alone: 6 of 8 pieces")
    way(page, "reshape alone").locator(".qkv-pieces > span").nth(4).click()
    frame(page)
    assert page.evaluate("it.model.get('nudged')") == 2


@pytest.mark.parametrize("has_touch", [False, True], ids=["mouse", "finger"])
@pytest.mark.parametrize(("name", "at", "token"), [
    ("split, then transpose", (0.5, 1.5), 0),
    ("split, then transpose", (2.5, 0.5), 2),
    ("reshape alone", (0.5, 0.5), 0),
    ("reshape alone", (1.5, 1.5), 2),
    ("reshape alone", (3.5, 0.5), 1),
])  # fmt: skip
def test_a_press_on_a_piece_changes_its_word(
    open_page: Callable[..., Page], name: str, at: tuple[float, float], token: int, has_touch: bool
):
    page = opened(open_page(width=390, has_touch=has_touch), STATE)
    box, heads = (way(page, name).locator(part).bounding_box() for part in (".qkv-pieces", ".qkv-way-head"))
    assert box
    assert heads
    press = page.touchscreen.tap if has_touch else page.mouse.click
    press(box["x"] + box["width"] * at[0] / 4, heads["y"] + heads["height"] * at[1] / 2)
    frame(page)
    assert page.evaluate("['n_heads', 'nudged', 'dealt'].map((name) => it.model.get(name))") == [2, token, 1]


@pytest.mark.parametrize("n_heads", [1, 2, 4, 8])
@pytest.mark.parametrize("wrong", ["reshape both ways", "heads first"])
def test_no_name_is_wider_than_its_place(open_page: Callable[..., Page], n_heads: int, wrong: str):
    page = opened_wrong(open_page(width=390), STATE | {"n_heads": n_heads, "wrong": wrong})
    words = page.locator(".qkv-pieces > span, .qkv-tape > *, .qkv-way-outputs > span")
    assert max(words.evaluate_all("es => es.map((e) => e.scrollWidth - e.clientWidth)")) <= 0


def test_of_two_words_that_are_spelt_alike_it_is_said_which(open_page: Callable[..., Page]):
    page = opened_wrong(open_page(), STATE | {"nudged": 7})
    press(page)
    expect(page.locator(VERDICT)).to_contain_text("If the last “saw” changes, only 2 of 4 outputs change.")


def test_with_the_causal_mask_only_rows_below_are_counted(open_page: Callable[..., Page]):
    page = opened_wrong(open_page(), STATE | {"causal": True, "nudged": 1, "n_heads": 1})
    press(page)
    expect(page.locator(VERDICT)).to_contain_text("3 of 3 outputs")


def test_nothing_jumps_whatever_is_chosen(open_page: Callable[..., Page]):
    page = opened(open_page(width=390), STATE)
    height = "() => document.querySelector('.qkv-widget').offsetHeight"
    before = page.evaluate(height)
    for shown, route in enumerate(page.locator(".qkv-routes input").all()):
        route.check()
        for heads in (1, 2, 4, 8):
            for nudged in range(4):
                page.evaluate("([n, i]) => (it.model.set('n_heads', n), it.model.set('nudged', i))", [heads, nudged])
                frame(page)
                assert page.evaluate(height) == before, (shown, heads, nudged)


def test_in_forced_colours_the_changed_word_and_what_is_wrong_can_be_seen(open_page: Callable[..., Page]):
    page = opened(open_page(width=390, forced_colors="active"), STATE)
    colour = "e => getComputedStyle(e).backgroundColor"
    entries = way(page, "reshape alone").locator(".qkv-pieces > span")
    kinds = [entries.and_(page.locator(kind)).first for kind in (".qkv-nudged", ":not(.qkv-nudged)")]
    changed, other = (entry.evaluate(colour) for entry in kinds)
    assert changed != other
    outlines = (
        way(page, "reshape alone")
        .locator(".qkv-pieces > span")
        .evaluate_all("es => es.map((e) => [e.matches('.qkv-nudged.qkv-amiss'), getComputedStyle(e).outlineStyle])")
    )
    assert {tuple(each) for each in outlines} == {(True, "double"), (False, "none")}


def test_only_the_changed_word_has_the_full_colour(open_page: Callable[..., Page]):
    page = opened_wrong(open_page(width=390), STATE)
    spans = page.locator(".qkv-pieces > span")
    seen = spans.evaluate_all("es => es.map((e) => [e.innerText, getComputedStyle(e).outlineStyle])")
    assert {word for word, outline in seen if outline != "none"} == {"hungry"}, "a frame, where it is misplaced"
    colours = spans.evaluate_all("es => es.map((e) => [e.matches('.qkv-nudged'), getComputedStyle(e).backgroundColor])")
    changed, others = ({colour for is_changed, colour in colours if is_changed == which} for which in (True, False))
    assert len(changed) == 1
    assert not changed & others


def test_red_marks_only_wrong_outputs_and_their_count(open_page: Callable[..., Page]):
    page = opened_wrong(open_page(width=390), STATE)
    red = """(es) => {
      const sample = document.createElement("i");
      sample.style.color = "var(--qkv-bad)";
      es[0].closest(".qkv-widget").append(sample);
      const bad = getComputedStyle(sample).color;
      sample.remove();
      const isRed = ({ color, outlineColor, outlineStyle }) =>
        color === bad || (outlineStyle !== "none" && outlineColor === bad);
      return es.filter((e) => isRed(getComputedStyle(e))).map((e) => e.lastChild.textContent);
    }"""
    assert page.locator(".qkv-pieces span, .qkv-way-outputs > span").evaluate_all(red) == ["stays", "stays"]
    assert page.locator(".qkv-deal-says b").evaluate_all(red) == ["2"]


def test_the_pieces_glide_to_the_other_way_and_nothing_is_blank_meanwhile(open_page: Callable[..., Page]):
    page = opened(open_page(width=390, reduced_motion="no-preference"), STATE)
    assert page.evaluate("document.getAnimations().length") == 0, "nothing moves at first"
    at = """ms => {
      for (const each of document.getAnimations()) { each.pause(); each.currentTime = ms; }
      const shown = [...document.querySelectorAll(".qkv-deal-says, .qkv-way-outputs, .qkv-pieces, .qkv-pieces > span")];
      return [
        shown.map((e) => getComputedStyle(e)).every(({ opacity, color }) => opacity === "1" && !color.endsWith(" 0)")),
        [...document.querySelectorAll(".qkv-pieces > span")].map((e) => e.getBoundingClientRect().top),
      ];
    }"""
    _, before = page.evaluate(at, 0)
    for name, says in (("reshape alone", "only 2 of 4"), ("split, then transpose", "4 of 4")):
        page.get_by_role("radio", name=name).check(force=True)
        frame(page)
        (start, first), (halfway, middle), (end, last) = (page.evaluate(at, ms) for ms in (0, 200, 450))
        assert all((start, halfway, end)), "the names are seen all the time"
        expect(page.locator(VERDICT)).to_contain_text(says, timeout=1)
        assert first == pytest.approx(before, abs=1)
        low, high = map(list, zip(*(sorted(pair) for pair in zip(first, last, strict=True)), strict=True))
        assert first != last
        assert all(a <= b <= c for a, b, c in zip(low, middle, high, strict=True)), "on the way"
        before = last
        page.evaluate("for (const each of document.getAnimations()) each.finish()")


def test_outputs_are_seen_while_the_ring_is_pulled(open_page: Callable[..., Page]):
    page = opened(open_page(width=390), STATE | {"dealt": 0.4})
    expect(page.locator(VERDICT)).not_to_be_empty()
    assert changing(page, "split, then transpose") == ["changes"] * 4
    assert page.locator(".qkv-way-outputs").evaluate("e => getComputedStyle(e).opacity") == "1"


def test_with_reduced_motion_no_number_flies(open_page: Callable[..., Page]):
    page = opened_wrong(open_page(width=390, reduced_motion="reduce"), STATE)
    assert page.evaluate("document.getAnimations().length") == 0


@pytest.mark.parametrize("width", [360, 390])
def test_the_page_keeps_its_width_on_a_phone(open_page: Callable[..., Page], width: int):
    page = opened(open_page(width=width), STATE | {"wrong": "heads first", "n_heads": 8})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
