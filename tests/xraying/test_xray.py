"""Programs that mix tokens or examples are found at their line; programs that do not are never accused."""

from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import Browser, expect
from torch import nn

from qkv import xray
from qkv.questions import find
from qkv.sandboxed.running import prepared
from tests.xraying import styles
from tests.xraying.more_threads import MORE_RIGHT, MORE_THREADS
from tests.xraying.odd import ALIKE, ODD
from tests.xraying.programs import MISTAKES, RIGHT, B, D, H, N, heads_split_by_view
from tests.xraying.threads import THREADS


@pytest.fixture
def x():
    return torch.randn(B, N, D)


@pytest.mark.parametrize(("fn", "more"), MISTAKES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_mistake_is_found_at_its_line(fn, more, x):
    found = xray(fn, x, *more)
    assert found.source is not None, found.message
    assert found.source.endswith("# here"), found.message
    assert f"Line {found.line}" in found.message
    assert re.search(r"holds numbers of (tokens|examples|rows) \d+, \d+", found.message)


LAYERS = [
    (nn.MultiheadAttention(D, H, batch_first=True), "twice"),
    (nn.TransformerEncoderLayer(D, H, 20, batch_first=True), ()),
    (nn.TransformerEncoderLayer(D, H, 20, batch_first=True, norm_first=True), ()),
]


@pytest.mark.parametrize(
    ("fn", "more"), [*RIGHT, *LAYERS], ids=lambda value: getattr(value, "__name__", type(value).__name__)
)
def test_a_right_program_is_not_accused(fn, more, x):
    found = xray(fn, x, *((x, x) if more == "twice" else more))
    assert (found.line, found.source) == (None, None), found.message
    assert found.operations


def test_torchs_own_module_with_the_other_layout_mixes_examples(x):
    found = xray(nn.MultiheadAttention(D, H), x, x, x)
    assert "numbers of examples 0, 1" in found.message


# ── the questions' own mistakes ───────────────────────────────────────────────────────────────────

SPLITS = {"heads-split-by-reshape": "reshape(", "examples-mixed": "reshape("}
MERGES = {"heads-merged-by-reshape": "reshape(", "examples-mixed": "reshape("}
# The twins that mix tokens or examples and keep all shapes, with what stands in the line that mixes.
MIXED = {
    "5.1": SPLITS,
    "5.2": MERGES,
    "5.4": {},
    "5.5": SPLITS
    | MERGES
    | {"heads-split-and-merged-by-reshape": "reshape(", "softmax-over-first-axis": "softmax(dim)"},
    "7.5": {"softmax-over-first-axis": "softmax(dim)"},
    "8.1": dict.fromkeys(("norm-over-tokens", "norm-over-a-whole-text", "norm-over-the-first-axis"), "x - x.mean("),
}
WAYS = [(name, way) for name in MIXED for idea in find(name).misconceptions for way in idea.ways()]


def found_in(name, answer):
    """Run xray on an answer to a question, and return what it finds; None if the answer raises."""
    subject, inputs = prepared(answer, find(name).fresh_cases(1)[0])
    try:
        return xray(subject, *inputs)
    except (RuntimeError, IndexError, TypeError, ValueError, AttributeError):
        return None


@pytest.mark.parametrize("name", MIXED)
def test_the_right_answer_is_not_accused(name):
    assert found_in(name, find(name).reference).line is None


@pytest.mark.parametrize(
    ("name", "way"), [pytest.param(*pair, id=pair[1].slug) for pair in WAYS if pair[1].slug in MIXED[pair[0]]]
)
def test_every_twin_that_mixes_is_found_at_its_line(name, way):
    assert MIXED[name][way.slug] in str(found_in(name, find(name).twin(way)).source)


@pytest.mark.slow
@pytest.mark.parametrize("name", MIXED)
def test_no_other_twin_is_accused(name):
    others = [way for asked, way in WAYS if asked == name and way.slug not in MIXED[name]]
    found = {way.slug: found_in(name, find(name).twin(way)) for way in others if way.slug != "no-super-init"}
    assert {slug: each.message for slug, each in found.items() if each is not None and each.line is not None} == {}


# ── bugs of public threads ────────────────────────────────────────────────────────────────────────


def known(programs):
    """Return programs as parameters: `xray` is known to be wrong about those with a limit."""
    limits = {True: [pytest.mark.xfail(strict=True)], False: []}
    return [pytest.param(each, marks=limits[bool(each.limit)], id=each.name) for each in programs]


@pytest.mark.parametrize("thread", known([*THREADS, *MORE_THREADS]))
def test_a_bug_of_a_public_thread_is_found_at_its_line(thread):
    found = xray(thread.made(fixed=False), torch.randn(thread.shape), *thread.more, tokens=thread.tokens)
    assert str(found.source).endswith("# here"), found.message


@pytest.mark.parametrize("thread", [*THREADS, *MORE_THREADS], ids=lambda thread: thread.name)
def test_its_repair_is_not_accused(thread):
    found = xray(thread.made(fixed=True), torch.randn(thread.shape), *thread.more, tokens=thread.tokens)
    assert found.line is None, found.message


@pytest.mark.parametrize("thread", MORE_RIGHT, ids=lambda thread: thread.name)
def test_a_right_program_that_looks_suspicious_is_not_accused(thread):
    found = xray(thread.program, torch.randn(thread.shape), *thread.more, tokens=thread.tokens)
    assert found.line is None, found.message


# ── programs in many styles ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("program", known([*styles.WRONG, *ALIKE]))
def test_a_mistake_is_found_in_any_style(program):
    found = xray(program.fn, torch.randn(program.shape), *program.more, tokens=program.tokens)
    assert str(found.source).endswith("# here"), found.message


@pytest.mark.parametrize("program", [*styles.RIGHT, *ODD], ids=lambda program: program.name)
def test_no_style_is_accused(program):
    found = xray(program.fn, torch.randn(program.shape), *program.more, tokens=program.tokens)
    assert found.line is None, found.message


# ── what it leaves alone ──────────────────────────────────────────────────────────────────────────


def test_nothing_is_changed(x):
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0
            self.norm = nn.BatchNorm1d(D)
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            self.seen += 1
            return F.dropout(self.norm(x.mT).mT, 0.5, self.training)

    module = Counts().train()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    state, given = torch.get_rng_state(), x.clone()
    xray(module, x)
    assert torch.equal(x, given)
    assert torch.equal(torch.get_rng_state(), state)
    assert module.training
    assert module.calls == 0
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert torch.is_grad_enabled()


def test_axes_of_one_size_are_told_apart_when_the_input_grows():
    square = torch.randn(4, 4, 4)  # as many examples as tokens as features
    assert xray(lambda x: x.mT.contiguous().view(x.shape), square).line is not None
    assert xray(lambda x: (x @ x.mT).softmax(-1) @ x, square).line is None


def test_a_softmax_that_is_spelled_out_may_sum_over_keys():
    def spelled_out(q, k, v):
        scores = q @ k.mT
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        return powers / powers.sum(-1, keepdim=True) @ v

    rows = {name: torch.randn(B, n, D) for name, n in {"query": 4, "key": N, "other key": 4}.items()}
    for key in ("key", "other key"):
        found = xray(spelled_out, rows["query"], rows[key], rows[key])
        assert found.line is None, found.message


def test_what_cannot_be_told_apart_is_not_accused():
    square = torch.randn(4, 4, 4)
    found = xray(lambda x: x.mT.contiguous().view(4, 4, 4), square)
    assert found.line is None
    assert "takes no longer input" in found.message


def test_ids_are_followed_too():
    table = nn.Embedding(10, 6)
    assert xray(lambda ids: table(ids), torch.tensor([[3, 1, 2]]), tokens=-1).line is None
    assert xray(lambda ids: table(ids) + table(ids.flip(-1)), torch.tensor([[3, 1, 2]]), tokens=-1).line is not None


@pytest.mark.parametrize("inputs", [(), ("text",), (torch.ones(3),)])
def test_an_input_without_tokens_is_refused(inputs):
    with pytest.raises(TypeError, match="the first input needs an axis -2"):
        xray(lambda *_: None, *inputs)


def test_the_picture_marks_the_line_and_escapes_the_program(x):
    html = xray(heads_split_by_view, x)._repr_html_()
    assert html.count("data-fault") == 2, "the rule of the style, and one row"
    assert "<b>5</b>" in html
    assert "overflow-x: auto" in html, "on a phone, the table scrolls and the page does not"
    assert "<script" not in xray(lambda x: x.reshape(len("<script>") // 4, 3, 5, 4), x)._repr_html_()


def test_each_picture_has_a_radio_button_for_each_token_and_its_own_names(x):
    names = []
    for _ in range(2):
        picture = xray(heads_split_by_view, x)._repr_html_()
        buttons = re.findall(r'<input type="radio" name="([^"]+)"[^>]* value="(\d*)"', picture)
        assert [value for _, value in buttons] == ["", *map(str, range(x.shape[1]))]
        names.append({name for name, _ in buttons})
        assert all(f'id="{each}"' in picture for each in re.findall(r'<label for="([^"]+)"', picture))
    assert len(names[0] | names[1]) == 2


@pytest.mark.browser
def test_a_press_on_a_token_empties_what_it_does_not_reach(browser: Browser, x):
    page = browser.new_page()
    page.set_content(xray(heads_split_by_view, x)._repr_html_())
    cells = page.locator(".qkv-xray-slots > label")

    def empty() -> list[bool]:
        return cells.evaluate_all("(all) => all.map((e) => getComputedStyle(e).backgroundImage === 'none')")

    page.emulate_media(reduced_motion="reduce")
    assert any(empty()), "it opens on a token that the line at fault mixes"
    expect(page.locator(".qkv-xray > p")).to_contain_text("puts token ")
    page.get_by_role("radio", name="all").check()
    assert not any(empty())
    cells.first.click()
    reached = cells.evaluate_all("(all) => all.map((e) => e.dataset.t.split(' ').includes('0'))")
    assert empty() == [not reach for reach in reached]
    assert 0 < sum(reached) < len(reached)
    mixed = page.locator("[data-mixed]").filter(has_text="0").first.evaluate("e => getComputedStyle(e).backgroundImage")
    assert "rgb(244, 182, 182)" in mixed, "the token that is followed keeps its colour"
    assert "rgb(230, 232, 236)" in mixed, "the others have none"
    expect(page.locator(".qkv-xray > p")).to_contain_text("puts token 0 into slots 0")
    page.get_by_role("radio", name="token 0").press("ArrowRight")
    expect(page.get_by_role("radio", name="token 1")).to_be_checked()
    page.get_by_role("radio", name="all").check()
    assert not any(empty())
    page.close()
