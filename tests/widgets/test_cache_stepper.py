"""CacheStepper: what it counts, against the reference; what it says of a second prompt, against a real decoder."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect

from qkv.cache import kv_cache_bytes, reusable_prefix
from qkv.decoder import Decoder, DecoderShape, multiply_adds
from qkv.widgets import CacheStepper

from .conftest import as_on_a_phone, frame
from .node import JS, node
from .test_access import draw

WIDGET = (JS / "cache_stepper.js").as_uri()
TEXT = ["the", "cat", "chased", "the", "mouse", "because", "it", "was", "hungry"]
STEPS = range(1, 9)


def widget(expression: str, data: Any = None) -> Any:
    """A JavaScript expression of `data` over what the widget's module exports, `w`."""
    return node(f'async (data) => {{ const w = await import("{WIDGET}"); return {expression}; }}', data)


MODELS = widget("w.MODELS")


def as_decoder(model: dict[str, int]) -> DecoderShape:
    """The decoder whose matrices of attention have the sizes of a preset, with no other matrices."""
    assert model["heads"] * model["dHead"] == model["dModel"]
    return DecoderShape(0, model["dModel"], model["layers"], model["heads"], model["kvHeads"], d_hidden=0)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("n_new", "n_held"), [(1, 0), (3, 0), (1, 8), (2, 7), (1, 8191), (131_072, 0)])
def test_multiply_adds_are_the_reference_s(name: str, n_new: int, n_held: int):
    counted = node(
        "({ m, fresh, held }) => maths.attentionMultiplyAdds(m, fresh, held)",
        {"m": MODELS[name], "fresh": n_new, "held": n_held},
    )
    assert counted == pytest.approx(tuple(multiply_adds(as_decoder(MODELS[name]), n_new, n_held)), rel=1e-12)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("tokens", [1, 9, 8192, 131_072])
def test_bytes_are_the_reference_s(name: str, tokens: int):
    model = MODELS[name]
    expected = kv_cache_bytes(
        model["layers"], model["kvHeads"], model["dHead"], tokens, bytes_per_value=model["bytesPerValue"]
    )
    assert node("({ m, n }) => maths.kvCacheBytes(m, n)", {"m": model, "n": tokens}) == expected


@pytest.mark.parametrize(
    ("cached", "prompt"),
    [
        ([], []),
        ([], [1]),
        ([1], []),
        ([1, 2, 3], [1, 2, 3]),
        ([1, 2, 3], [1, 2]),
        ([1, 2], [1, 2, 3]),
        ([1, 2, 3], [1, 9, 3]),
    ],
)
def test_reusable_prefix_is_the_reference_s(cached: list[int], prompt: list[int]):
    assert node("({ a, b }) => maths.reusablePrefix(a, b)", {"a": cached, "b": prompt}) == reusable_prefix(
        cached, prompt
    )


def test_published_sizes():
    """All parameters, from the published configurations: vocabulary, layers, norms and biases."""
    llama = lambda vocab, d, layers, kv, hidden: (  # noqa: E731
        2 * vocab * d + layers * (2 * d * d + 2 * d * kv * 128 + 3 * d * hidden + 2 * d) + d
    )
    expected = {
        "GPT-2 small": (50_257 + 1024) * 768 + 12 * (12 * 768**2 + 13 * 768) + 2 * 768,
        "Llama 2 7B": llama(32_000, 4096, 32, 32, 11_008),
        "Llama 3 8B": llama(128_256, 4096, 32, 8, 14_336),
        "Llama 3 70B": llama(128_256, 8192, 80, 8, 28_672),
        "Falcon 7B": 65_024 * 4544 + 32 * (4544 * (4544 + 128) + 4544**2 + 8 * 4544**2 + 2 * 4544) + 2 * 4544,
    }
    assert {name: MODELS[name]["parameters"] for name in expected} == expected


def test_without_a_cache_token_n_costs_n_times_as_much():
    for step in range(2, 8):
        state = {"model": "Llama 3 8B", "changed": 9, "step": step}
        with_cache, without = widget("[true, false].map((cached) => w.spent(data, w.run(data, cached)))", state)
        assert without == (step + 2) * with_cache


@pytest.mark.parametrize("changed", range(10))
def test_a_second_prompt_leaves_as_many_keys_right_as_in_a_real_decoder(changed: int):
    torch.manual_seed(0)
    decoder = Decoder(DecoderShape(20, 16, 2, 2, 2, 8)).double()
    ids = torch.arange(len(TEXT))[None]
    other = ids.clone()
    if changed:
        other[0, changed - 1] = 19
    with torch.no_grad():
        keys = [[cache.read()[0] for cache in _read(decoder, text)] for text in (ids, other)]
    right = [torch.isclose(a, b).all(dim=-1).all(dim=1).sum().item() for a, b in zip(*keys, strict=True)]
    assert widget("w.keysStillRight(data)", {"changed": changed}) == right


def _read(decoder: Decoder, ids: torch.Tensor) -> list[Any]:
    caches = decoder.new_caches()
    decoder(ids, caches)
    return caches


def cells(state: dict[str, Any], cached: bool, part: str) -> list[list[str]]:
    """The states of a sheet's cells: nine rows of one (q, k, v) or nine (scores)."""
    columns = 9 if part == "score" else 1
    expression = (
        "Array.from({ length: 9 }, (_, i) => Array.from({ length: data.columns },"
        " (_, j) => w.cellState(w.run(data.state, data.cached), data.part, i, j)))"
    )
    return widget(expression, {"state": state, "cached": cached, "part": part, "columns": columns})


@pytest.mark.parametrize("step", range(2, 8))
def test_with_a_cache_one_row_is_computed_and_the_rest_read(step: int):
    n = step + 2
    state = {"model": "one layer", "changed": 9, "step": step}
    assert [row[0] for row in cells(state, True, "k")] == ["kept"] * (n - 1) + ["new"] + ["none"] * (9 - n)
    assert [row[0] for row in cells(state, True, "q")] == ["none"] * (n - 1) + ["new"] + ["none"] * (9 - n)
    scores = cells(state, True, "score")
    assert scores[n - 1] == ["new"] * n + ["none"] * (9 - n)
    assert {cell for i, row in enumerate(scores) if i != n - 1 for cell in row} <= {"none"}


@pytest.mark.parametrize("step", range(2, 8))
def test_without_a_cache_every_row_is_computed_once_more(step: int):
    n = step + 2
    state = {"model": "one layer", "changed": 9, "step": step}
    for part in "qkv":
        assert [row[0] for row in cells(state, False, part)] == ["again"] * (n - 1) + ["new"] + ["none"] * (9 - n)
    scores = cells(state, False, "score")
    computed = [[cell != "none" for cell in row] for row in scores]
    assert computed == [[i < n and j < n for j in range(9)] for i in range(9)]
    assert all((scores[i][j] == "masked") == (j > i) for i in range(n) for j in range(n))


@pytest.mark.parametrize("changed", range(10))
def test_a_second_prompt_computes_what_follows_the_first_difference(changed: int):
    state = {"model": "one layer", "changed": changed, "step": 8}
    kept = changed - 1 if changed else 8  # the last word is run in any case
    assert [row[0] for row in cells(state, True, "k")] == ["kept"] * kept + (
        ["new"] * (9 - kept) if changed else ["again"]
    )


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("cached", [True, False])
def test_what_is_counted_is_what_is_drawn(step: int, cached: bool):
    state = {"model": "one layer", "changed": 4, "step": step}
    drawn = sum(cell in ("new", "again", "masked") for row in cells(state, cached, "score") for cell in row)
    projected = sum(row[0] in ("new", "again") for row in cells(state, cached, "q"))
    d = MODELS["one layer"]["dModel"]
    total = widget("w.spent(data.state, w.run(data.state, data.cached))", {"state": state, "cached": cached})
    assert total == projected * 4 * d * d + drawn * 2 * d


def test_it_opens_on_the_prompt():
    stepper = CacheStepper()
    assert (stepper.step, stepper.changed, stepper.model, stepper.token) == (1, 9, "one layer", 8192)
    assert repr(CacheStepper(step=8, changed=1)).startswith("CacheStepper(step=8, changed=1")


def test_python_knows_every_model():
    for name in MODELS:
        assert CacheStepper(model=name).model == name


# ---- on a page


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    page = open_page(width=390, reduced_motion="reduce")
    draw(page, [("CacheStepper", {})])
    return page


PLACES = """() => {
  const controls = [...document.querySelectorAll("button, input")].filter((e) => !e.closest("details"));
  return controls.map((e) => e.getBoundingClientRect()).map(({ x, y, width }) => [x, y, width]);
}"""


@pytest.mark.browser
def test_controls_stay_where_they_are_through_every_step_and_while_it_plays(page: Page):
    before = page.evaluate(PLACES)
    for row in range(2, 9):
        page.locator(".qkv-kv-word").nth(row).click()
        frame(page)
        assert page.evaluate(PLACES) == before
    assert page.evaluate("shown[0].model.get('step')") == 7
    page.get_by_role("button", name="play").click()
    expect(page.get_by_role("button", name="pause")).to_be_visible()
    assert page.evaluate(PLACES) == before


@pytest.mark.browser
def test_no_number_moves_from_step_to_step(page: Page):
    page.evaluate("""() => {
      window.moved = [];
      new PerformanceObserver((list) => {
        for (const { sources } of list.getEntries()) moved.push(sources.map(({ node }) => node?.textContent));
      }).observe({ type: "layout-shift" });
    }""")
    for step in range(2, 8):
        page.evaluate("(step) => shown[0].model.set('step', step)", step)
        frame(page)
    page.wait_for_timeout(100)
    assert page.evaluate("moved") == []


def looks(page: Page) -> list[str]:
    """What each row is drawn as."""
    frame(page)
    return page.locator(".qkv-kv-row").evaluate_all("rows => rows.map((row) => row.dataset.is)")


def put(page: Page, **values: Any) -> None:
    page.evaluate("(values) => Object.entries(values).forEach((each) => shown[0].model.set(...each))", values)
    frame(page)


def choose(page: Page, *, cached: bool) -> None:
    page.get_by_role("radio", name="with a cache" if cached else "without a cache").check(force=True)
    frame(page)


@pytest.mark.browser
@pytest.mark.parametrize(("step", "kept", "new"), [(1, 0, 3), (3, 4, 1), (7, 8, 1)])
def test_the_rows_of_either_way_are_drawn(page: Page, step: int, kept: int, new: int):
    put(page, step=step)
    unread = ["none"] * (9 - kept - new)
    assert looks(page) == ["kept"] * kept + ["new"] * new + unread
    choose(page, cached=False)
    assert looks(page) == ["again"] * kept + ["new"] * new + unread


@pytest.mark.browser
def test_every_row_has_a_cell_for_q_k_v_and_for_each_score_that_the_mask_lets_through(page: Page):
    parts = page.locator(".qkv-kv-row").evaluate_all(
        "rows => rows.map((row) => [...row.querySelectorAll('i')].map((cell) => cell.dataset.part))"
    )
    assert parts == [["q", "k", "v", *["score"] * (i + 1)] for i in range(9)]


@pytest.mark.browser
@pytest.mark.parametrize("step", range(1, 8))
def test_the_work_is_the_sum_of_the_rows_so_far(page: Page, step: int):
    put(page, step=step)
    done = [int(page.locator(f"[data-number=rows-{way}]").inner_text()) for way in ("with", "without")]
    assert done == [3 + (step - 1), sum(range(3, 3 + step))]
    terms = [[*range(3, 3 + step)], [3, *[1] * (step - 1)]]  # the prompt's three words at once, then one word each
    for row, each in zip(page.locator(".qkv-kv-sum").all(), terms, strict=True):
        written = f" = {' + '.join(map(str, each))}" if step > 1 else ""
        assert row.locator("span").nth(1).inner_text() == f"{sum(each)}{written}"
        shares = row.locator("i").evaluate_all(
            "bars => bars.map((bar) => Number(bar.style.getPropertyValue('--share')))"
        )
        assert shares == pytest.approx([rows / sum(range(3, 10)) for rows in each])


@pytest.mark.browser
@pytest.mark.parametrize(
    ("values", "with_cache", "without"),
    [
        ({"step": 1}, "3 rows computed", "3 rows computed"),
        ({"step": 6}, "1 row computed, 7 kept", "8 rows computed"),
        ({"step": 8, "changed": 4}, "6 rows computed, 3 kept", "9 rows computed"),
        ({"step": 8, "changed": 1}, "9 rows computed", "9 rows computed"),
        ({"step": 8, "changed": 0}, "1 row computed, 8 kept", "9 rows computed"),
    ],
)
def test_the_headline_counts_the_rows_that_are_drawn(page: Page, values: dict[str, int], with_cache: str, without: str):
    put(page, **values)
    for cached, said in ((True, with_cache), (False, without)):
        choose(page, cached=cached)
        expect(page.locator("[data-number=headline]")).to_have_text(said)
        drawn = looks(page)
        computed, kept = (sum(drawn.count(look) for look in kinds) for kinds in (("new", "again"), ("kept",)))
        assert said.startswith(f"{computed} row")
        assert said.endswith(f"{kept} kept" if kept else "computed")


@pytest.mark.browser
def test_the_ways_are_large_buttons_that_keys_reach_and_python_sets(page: Page):
    for way in page.locator(".qkv-kv-ways label").all():
        box = way.bounding_box()
        assert box
        assert box["height"] >= 44
    page.get_by_role("radio", name="with a cache").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("radio", name="without a cache")).to_be_checked()
    assert page.evaluate("shown[0].model.get('cached')") is False
    put(page, cached=True)
    expect(page.get_by_role("radio", name="with a cache")).to_be_checked()


@pytest.mark.browser
def test_the_cache_s_size_after_each_step_is_in_the_table(page: Page):
    page.get_by_text("Numbers", exact=True).click()
    sizes = page.locator(".qkv-scroll tbody td:last-child").all_inner_texts()
    assert sizes == [f"{4 * n} KiB" for n in (3, 4, 5, 6, 7, 8, 9, 9)]


@pytest.mark.browser
def test_a_word_is_pressed_and_the_arrow_keys_go_on_from_it(page: Page):
    page.locator(".qkv-kv-word").get_by_text("because").click()
    expect(page.get_by_role("radio", name="because")).to_be_checked()
    expect(page.locator("[data-number=notice]")).to_have_text("k and v of 5 words come from the cache.")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="it", exact=True)).to_be_checked()
    assert page.evaluate("shown[0].model.get('step')") == 5


@pytest.mark.browser
def test_a_drag_along_the_words_reads_up_to_each(page: Page):
    boxes = [page.locator(".qkv-kv-word").nth(i).bounding_box() for i in (0, 3, 4)]
    at = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes if box]
    page.mouse.move(*at[0])
    page.mouse.down()
    for place, step in zip(at, (1, 2, 3), strict=True):
        page.mouse.move(*place)
        frame(page)
        assert page.evaluate("shown[0].model.get('step')") == step
    page.mouse.up()
    frame(page)
    assert page.evaluate("shown[0].model.get('step')") == 3


@pytest.mark.browser
def test_rows_have_their_colours_at_once_in_a_drag_and_as_a_wave_after_a_switch(open_page: Callable[..., Page]):
    page = open_page(width=390, reduced_motion="no-preference")
    draw(page, [("CacheStepper", {"step": 2})])
    fading = "() => document.getAnimations().filter(({ effect }) => effect.target.closest('.qkv-kv-row')).length"
    page.locator(".qkv-kv-word").nth(6).click()
    frame(page)
    assert page.evaluate("shown[0].model.get('step')") > 2
    assert page.evaluate(fading) == 0
    choose(page, cached=False)
    assert page.evaluate(fading) > 0


@pytest.mark.browser
def test_a_word_of_the_second_prompt_is_changed_by_a_press_and_no_word_moves(page: Page):
    put(page, step=8)
    expect(page.get_by_role("button", name="play")).to_have_count(0)
    before = page.evaluate(PLACES)
    for number, instead in ((1, "a"), (6, "while"), (7, "she")):
        page.locator(".qkv-kv-word").nth(number - 1).click()
        frame(page)
        assert page.evaluate("shown[0].model.get('changed')") == number
        assert page.locator(".qkv-kv-word:has(:checked)").inner_text().strip() == instead
        assert looks(page) == ["kept"] * (number - 1) + ["new"] * (10 - number)
        assert page.evaluate(PLACES) == before
    page.get_by_role("button", name="no change").click()
    assert page.evaluate("shown[0].model.get('changed')") == 0


@pytest.mark.browser
def test_every_look_of_a_cell_has_a_form_of_its_own(page: Page):
    """Without colours: full, outlined in bold, hatched, and outlined."""
    form = """cell => {
      const [itself, after] = [getComputedStyle(cell), getComputedStyle(cell, "::after")];
      return [itself.borderTopWidth, itself.backgroundColor === itself.borderTopColor, after.opacity].join(" ");
    }"""
    put(page, step=3)
    cell = page.locator(".qkv-kv-row [data-part=k]")
    forms = [cell.nth(i).evaluate(form) for i in (0, 4, 8)]
    choose(page, cached=False)
    forms.append(cell.nth(0).evaluate(form))
    assert len(set(forms)) == 4


@pytest.mark.browser
@pytest.mark.parametrize("is_second", [False, True])
def test_it_fits_on_a_phone_and_keeps_its_height_through_a_text(page: Page, is_second: bool):
    as_on_a_phone(page)
    heights = set()
    for step in [8] if is_second else [each for each in STEPS if each != 8]:
        for changed in range(10) if is_second else [9]:
            for model in MODELS:
                values = {"step": step, "changed": changed, "model": model}
                page.evaluate(
                    "(v) => Object.entries(v).forEach(([key, value]) => shown[0].model.set(key, value))", values
                )
                frame(page)
                heights.add(page.locator(".qkv-widget").evaluate("e => e.offsetHeight"))
    assert len(heights) == 1
    assert heights.pop() <= (575 if is_second else 560)


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 390])
def test_without_a_cache_the_sentence_is_in_one_line_and_the_table_stays(open_page: Callable[..., Page], width: int):
    page = open_page(width=width, reduced_motion="reduce")
    page.add_style_tag(content=f"main {{ width: {width - 36}px }}")
    draw(page, [("CacheStepper", {})])
    choose(page, cached=False)
    tops = set()
    for step in range(1, 8):
        put(page, step=step)
        tops.add(page.locator(".qkv-kv-grid").evaluate("e => e.getBoundingClientRect().top"))
    assert len(tops) == 1


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 800])
def test_the_dark_box_of_the_last_word_is_apart_from_the_line_below(open_page: Callable[..., Page], width: int):
    page = open_page(width=width, reduced_motion="reduce")
    draw(page, [("CacheStepper", {"step": 7})])
    box, title = (
        page.locator(part).first.bounding_box() for part in (".qkv-kv-word[data-chosen=true]", ".qkv-kv-title > span")
    )
    assert box
    assert title
    assert title["y"] - box["y"] - box["height"] >= 8


@pytest.mark.browser
@pytest.mark.parametrize("step", [1, 4])
def test_the_arrow_of_the_handle_stands_between_its_word_and_the_cells(page: Page, step: int):
    as_on_a_phone(page)
    put(page, step=step)
    word, arrow, end, cell = page.locator(".qkv-kv-row:has(:checked)").evaluate("""row => {
      const boxOf = (part) => row.querySelector(part).getBoundingClientRect();
      const [word, arrow, cell] = ["label span", "label .qkv-knob", "i"].map(boxOf);
      return [word.right, arrow.left, arrow.right, cell.left];
    }""")
    assert word < arrow < end <= cell


@pytest.mark.browser
def test_a_late_token_s_cost_is_folded_away_with_the_real_models(page: Page):
    far = page.locator("[data-number=far-ratio]")
    expect(far).to_be_hidden()
    page.get_by_text("Real models").click()
    expect(far).to_have_text("8,192 ×")
    page.get_by_role("radio", name="Llama 3 8B").check()
    expect(page.locator("[data-number=far-kept-with]")).to_have_text("1 GiB")
    expect(page.locator(".qkv-kv-counters caption")).to_have_text("multiply-adds of attention, Llama 3 8B")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("model", "changed", "said"),
    [
        ("one layer", 9, "Of 9 cached keys, 8 are still right, and reused."),
        ("one layer", 1, "Of 9 cached keys, 8 are still right. But only those before word 1 are reused: 0."),
        ("GPT-2 small", 4, "Of 9 cached keys, 8 are still right in layer 1 and 3 in later layers: 3 rows are reused."),
        ("GPT-2 small", 0, "All 9 cached keys are still right. The last word is run again, for its output."),
    ],
)
def test_it_says_how_many_rows_are_reused_of_the_keys_that_are_right(page: Page, model: str, changed: int, said: str):
    put(page, step=8, model=model, changed=changed)
    expect(page.locator("[data-number=notice]")).to_have_text(said)
    computed = int(page.locator("[data-number=rows-with]").text_content() or "")
    assert computed == 9 - (changed - 1 if changed else 8)


@pytest.mark.browser
def test_no_number_runs_into_the_next(page: Page):
    page.add_style_tag(content="main { width: 356px }")
    page.get_by_text("Multiply-adds, real models and long texts").click()
    for model in MODELS:
        page.evaluate("(m) => [['model', m], ['step', 7]].forEach((it) => shown[0].model.set(...it))", model)
        frame(page)
        gaps = page.locator(".qkv-kv-counters td[data-number]").evaluate_all("""(cells) => cells.map((cell) => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          return cell.getBoundingClientRect().right - range.getBoundingClientRect().right;
        })""")
        assert min(gaps) >= 0, (model, gaps)


@pytest.mark.browser
def test_a_wide_table_s_name_is_in_sight(page: Page):
    page.get_by_text("Numbers", exact=True).click()
    frame(page)
    caption, box = (page.locator(f".qkv-scroll{part}").bounding_box() for part in (" caption", ""))
    assert caption
    assert box
    assert page.locator(".qkv-scroll").evaluate("e => e.scrollWidth - e.clientWidth") > 0
    assert caption["x"] + caption["width"] <= box["x"] + box["width"] + 1


# ---- it plays once by itself, in this view alone


@pytest.fixture
def playing(open_page: Callable[..., Page]) -> Page:
    """A stepper that somebody scrolls to, on a page whose time passes only where it is told to."""
    page = open_page("<p style='height: 3000px'>above</p>", width=390, own=True)
    page.clock.install(time=0)
    draw(page, [("CacheStepper", {})])
    page.clock.pause_at(60_000)
    return page


def see(page: Page) -> None:
    """Scroll to the picture, and go on frame by frame until it plays."""
    page.locator(".qkv-kv-grid").scroll_into_view_if_needed()
    button = page.locator(".qkv-kv-play")
    for _ in range(200):
        if button.inner_text() == "pause":
            return
        page.clock.run_for(16)
    pytest.fail("it does not play")


def steps(page: Page) -> tuple[str, int]:
    """The step that is shown, and the saved one."""
    page.clock.run_for(20)
    radios = page.locator(".qkv-kv-grid input")
    shown = radios.evaluate_all("(all) => all.findIndex((each) => each.checked) + 1")
    return f"{shown} of {radios.count()}", page.evaluate("shown[0].model.get('step')")


@pytest.mark.browser
def test_it_plays_the_text_once_seen_and_the_saved_step_stays(playing: Page):
    playing.clock.run_for(5000)
    assert steps(playing) == ("1 of 7", 1), "nobody has seen it yet"
    see(playing)
    places = playing.evaluate(PLACES)
    playing.clock.run_for(2900)
    assert steps(playing) == ("1 of 7", 1), "there is time to look at the first step"
    for step in (2, 3, 4):
        playing.clock.run_for(100 if step == 2 else 1780)
        assert steps(playing) == (f"{step} of 7", 1)
        assert playing.evaluate(PLACES) == places
    playing.clock.run_for(9000)
    assert steps(playing) == ("7 of 7", 1), "the second prompt is the reader's"
    playing.evaluate("scrollTo(0, 0)")
    playing.clock.run_for(2000)
    playing.locator(".qkv-kv-grid").scroll_into_view_if_needed()
    playing.clock.run_for(9000)
    assert steps(playing) == ("7 of 7", 1), "it plays once"


@pytest.mark.browser
def test_once_it_has_played_a_press_plays_it_from_the_start(playing: Page):
    see(playing)
    playing.clock.run_for(15_000)
    for saved in (1, 7):
        assert steps(playing) == ("7 of 7", saved)
        playing.get_by_role("button", name="play").click()
        assert steps(playing) == ("1 of 7", 1)
        playing.clock.run_for(9000)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("touch", "step"),
    [
        (".qkv-kv-lead", 3),
        (".qkv-kv-play button", 3),
        (".qkv-kv-word >> nth=3", 2),
    ],
)
def test_any_touch_pauses_it_at_the_step_that_is_shown(playing: Page, touch: str, step: int):
    see(playing)
    playing.clock.run_for(4850)
    playing.locator(touch).click()
    playing.clock.run_for(5000)
    assert steps(playing) == (f"{step} of 7", step)


@pytest.mark.browser
def test_what_python_sets_ends_what_plays_by_itself(playing: Page):
    see(playing)
    playing.clock.run_for(4850)
    playing.evaluate("shown[0].model.set('step', 6)")
    playing.clock.run_for(5000)
    assert steps(playing) == ("6 of 7", 6)


@pytest.mark.browser
@pytest.mark.parametrize(("options", "step"), [({"reduced_motion": "reduce"}, 1), ({}, 5)])
def test_it_does_not_play_for_who_asks_for_rest_or_from_a_step_that_was_chosen(
    open_page: Callable[..., Page], options: dict[str, str], step: int
):
    page = open_page(width=390, own=True, **options)
    page.clock.install(time=0)
    draw(page, [("CacheStepper", {"step": step})])
    page.wait_for_timeout(300)
    page.clock.run_for(5000)
    assert steps(page) == (f"{step} of 7", step)
