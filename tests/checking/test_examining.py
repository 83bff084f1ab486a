"""`check` and `progress` as a learner meets them: the report, what is shown, and what is kept."""

from __future__ import annotations

import json
import math
import os
import random
import re
import signal
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

import qkv.attention
from qkv import check, progress
from qkv.checking import Report, examining, saved
from qkv.checking import card as cards
from qkv.checking.card import Bar, Card, Row, Table


@pytest.fixture(autouse=True)
def nothing_checked_yet(monkeypatch, tmp_path):
    restart(monkeypatch)
    monkeypatch.setenv("QKV_STATE_DIR", str(tmp_path))


def scaled_scores(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


def unscaled(q, k):
    return q @ k.mT


def stub(*inputs):
    raise NotImplementedError


# ── the report ────────────────────────────────────────────────────────────────────────────────────


def test_a_right_answer_gets_all_points(capsys):
    report = check("3.1", scaled_scores)
    assert (report.passed, report.points, report.max_points) == (True, 3, 3)
    assert (report.status, report.misconception) == ("passed", None)
    assert "✓ right · 3 of 3 points" in capsys.readouterr().out


def test_a_wrong_idea_is_named_and_gets_none(capsys):
    report = check("3.1", unscaled)
    assert (report.passed, report.points, report.max_points) == (False, 0, 3)
    assert (report.status, report.misconception) == ("failed", "no-scale")
    assert report.message in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.parametrize("answer", [stub, lambda q, k: None, None, ...])
def test_what_is_not_attempted_is_told_apart(answer, capsys):
    report = check("3.1", answer)
    assert (report.status, report.points, report.misconception) == ("not attempted", 0, None)


def test_an_answer_that_calls_one_still_to_be_written_is_told_which(capsys):
    def calls(q, k):
        return stub(q, k) / 2

    assert "`return stub(q, k) / 2`" in check("3.1", calls).message
    assert "see the line" not in check("3.1", stub).message


def test_an_error_is_told_apart(capsys):
    assert check("3.1", lambda q, k: q @ k @ k).status == "error"


@pytest.mark.parametrize("wrong", [5, "scaled_scores", torch.zeros(2, 3), np.zeros(3)])
def test_what_is_not_an_answer_is_described(wrong, capsys):
    report = check("3.1", wrong)
    assert report.status == "failed"
    assert "wants the function itself" in report.message
    assert "without brackets" in report.message


@pytest.mark.parametrize("name", ["9.9", "3", "3.9", "", "three", "3.1 ", None, 3.1])
def test_an_unknown_question_raises_and_names_those_there_are(name):
    with pytest.raises(KeyError, match=r"3\.1, 3\.2, 3\.3, 3\.4"):
        check(name, scaled_scores)


def test_a_keyboard_interrupt_passes(capsys):
    def answer(q, k):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check("3.1", answer)


def test_inputs_are_drawn_anew_each_time(capsys):
    met = []

    def answer(q, k):
        met.append(q.sum().item())
        return scaled_scores(q, k)

    assert check("3.1", answer).passed
    first = set(met)
    assert check("3.1", answer).passed
    assert not first & set(met[len(met) // 2 :])


# ── nothing else happens ──────────────────────────────────────────────────────────────────────────


def answer_that_prints(q, k):
    print("q is", q)
    print("careful", file=sys.stderr)
    os.write(2, b"past Python")
    return unscaled(q, k)


def test_nothing_reaches_the_error_stream_and_prints_are_shown_bounded(capfd):
    check("3.1", answer_that_prints)
    shown = capfd.readouterr()
    assert shown.err == ""
    assert "Your answer printed:\n  q is tensor" in shown.out
    assert len(shown.out) < 2000


def test_random_states_grad_mode_dtype_and_threads_stay(capsys):
    def look():
        states = torch.get_rng_state().tolist(), np.random.get_state()[1].tolist(), random.getstate()
        return states, torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads()

    before = look()
    check("3.3", lambda q, k, v: (torch.randn(2), torch.set_default_dtype(torch.float64)))
    check("3.1", scaled_scores)
    progress(3)
    assert look() == before


def test_a_check_under_no_grad_is_the_same(capsys):
    with torch.no_grad():
        assert check("3.1", scaled_scores).passed


# ── answers that use the course's own ─────────────────────────────────────────────────────────────


DEVICE = "cpu"


def helper(q, k):
    return qkv.attention.scaled_scores(q, k)


def imports_inside(q, k):
    from qkv.attention import scaled_scores as theirs

    return theirs(q, k)


@pytest.mark.parametrize(
    "answer", [qkv.attention.scaled_scores, helper, imports_inside, lambda q, k: helper(q, k)], ids=range(4)
)
def test_the_packages_own_is_not_an_answer(answer, capsys):
    report = check("3.1", answer)
    assert report.status == "failed"
    assert "holds the solution" in report.message


def test_a_class_that_inherits_the_packages_own_is_not_an_answer(capsys):
    class Inherits(qkv.attention.MultiHeadAttention):
        pass

    class Grandchild(Inherits):
        pass

    for answer in (Inherits, Grandchild):
        report = check("5.5", answer)
        assert not report.passed
        assert "holds the solution" in report.message


def test_a_helper_of_ones_own_and_an_attribute_of_that_name_are_fine(capsys):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = scaled_scores

        def forward(self, q, k):
            return self.qkv(q, k)

    unit = "of one token"
    assert check("3.1", lambda q, k: scaled_scores(q, k) if unit and DEVICE else None).passed
    assert check("3.1", Layer()).passed
    assert check("3.1", lambda q, k: scaled_scores(q, k)).passed


# ── what is shown ─────────────────────────────────────────────────────────────────────────────────

HOSTILE = "<script>alert(1)</script> `<img src=x>` & </section>"


class Outline(HTMLParser):
    """What a browser would find: the tags, and whether they close in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def card(**changes):
    fields = {"question": "3.1", "title": "T", "status": "failed", "points": 0.0, "max_points": 3.0, "message": "M."}
    return Card(**fields | changes)


def test_what_an_answer_controls_is_escaped():
    shown = Outline(card(message=HOSTILE, tried=HOSTILE, printed=HOSTILE, idea=HOSTILE).html())
    assert not {"script", "img"} & set(shown.tags)
    assert shown.open == []
    assert "code" in shown.tags


def test_what_an_answer_controls_is_bounded():
    assert len(card(message="x" * 10**6).html()) < 10_000
    assert len(card(message="x " * 10**6).text()) < 3_000


def test_a_card_is_a_named_group_with_a_heading_and_its_status_in_words():
    html = card(status="error").html()
    assert 'role="group" aria-label="Question 3.1: could not be checked · 0 of 3 points"' in html
    assert 'role="heading" aria-level="3"' in html
    assert 'class="qkv-card"' in html
    assert "color-scheme" in html, "the palette comes with the card"


def test_weights_are_shown_beside_their_sums():
    html = card(table=Table("weights", torch.tensor([[0.5, 0.5], [0.5, 0.2]]), 1.0)).html()
    assert "<td>1.00</td>" in html
    assert "0.70 ≠ 1" in html
    assert "<caption>Your weights</caption>" in html
    assert Outline(html).tags.count("td") == 1 + 2 * 3 + 3


@pytest.mark.parametrize("shape", [(3, 4), (3, 10), (11, 13)])
def test_the_sums_are_those_of_what_is_shown(shape: tuple[int, int]):
    values = torch.rand(*shape, generator=torch.Generator().manual_seed(1))
    html = card(table=Table("weights", values, 1.0)).html()
    rows = [re.findall(r">([\d.]+)(?: ≠ 1)?</td>", row) for row in re.findall(r"<tr>.*?</tr>", html)]
    numbers = torch.tensor([[float(number) for number in row] for row in rows[1:-1]])
    assert numbers.shape == (min(8, shape[0]), min(10, shape[1]) + 1)
    assert (numbers[:, :-1].sum(1) - numbers[:, -1]).abs().max() < 0.4, "ten numbers of one or two decimals"
    feet = torch.tensor([float(number) for number in rows[-1]])
    assert (numbers[:, :-1].sum(0) - feet).abs().max() < 0.11, "eight numbers, and a sum of one decimal"
    assert ("7–10" in html) == (shape[0] == 11)


@pytest.mark.parametrize("values", [torch.randn(2, 3, 20, 30), torch.full((2, 2), math.nan), torch.eye(3).bool()])
def test_any_matrix_can_be_shown(values):
    assert Outline(card(table=Table("weights", values, 1.0)).html()).open == []


def test_a_wrong_axis_is_shown_with_the_weights(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(examining, "show", shown.append)
    check("3.3", lambda q, k, v: ((w := scaled_scores(q, k).softmax(-2)) @ v, w))
    assert shown[0].table.name == "weights"
    said = " ".join(shown[0].text().split())  # where a line ends depends on the sizes that were drawn
    assert "The rows of your weights sum to" in said
    assert "Each should sum to 1." in said


def test_no_sum_is_asked_of_rows_that_see_nothing(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(examining, "show", shown.append)
    check("5.4", lambda q, k, v, m: ((w := scaled_scores(q, k).masked_fill(~m, -math.inf).softmax(-1)) @ v, w))
    assert shown[0].idea == "nan-on-a-blind-row"
    assert "should sum to" not in " ".join(shown[0].text().split())


def test_sums_that_are_right_are_not_spoken_of(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(examining, "show", shown.append)
    check("3.3", lambda q, k, v: ((w := (q @ k.mT).softmax(-1)) @ v, w))
    assert shown[0].table.name == "weights"
    assert "sum to" not in " ".join(shown[0].text().split())


def test_what_stands_in_the_weights_place_is_not_shown_as_weights(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr("qkv.checking.examining.show", shown.append)
    check("3.3", lambda q, k, v: qkv_attention(q, k, v)[::-1])
    assert shown[0].table is None


def qkv_attention(q, k, v):
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return weights @ v, weights


def test_the_report_is_not_shown_twice():
    assert Report("3.1", True, 3, 3, "passed", None, "", card())._ipython_display_() is None


# ── points so far ─────────────────────────────────────────────────────────────────────────────────


def test_progress_counts_points_and_tells_not_attempted_from_wrong(capsys):
    check("3.1", scaled_scores)
    check("3.2", stub)
    check("3.3", lambda q, k, v: v)
    capsys.readouterr()
    so_far = progress(3)
    assert (so_far.points, so_far.max_points) == (3, 15)
    not_attempted = dict.fromkeys(("3.2", "3.4", "3.5"), "not attempted")
    assert so_far.status == {"3.1": "passed", "3.3": "failed"} | not_attempted
    shown = capsys.readouterr().out
    assert "Chapter 3: 3 of 15 points\n████░░░░░░░░░░░░░░░░\n" in shown
    assert "✗ 3.3 Attention: not yet, 0 of 4" in shown
    assert "– 3.4" in shown


def test_progress_of_an_unknown_chapter_names_those_there_are():
    with pytest.raises(KeyError, match="no chapter 99"):
        progress(99)


def test_the_bar_says_its_points_to_a_screen_reader():
    html = Bar("Chapter 3", [Row("3.1", "<b>", "passed", 3, 3), Row("3.2", "T", "not attempted", 0, 2)]).html()
    assert '<progress max="5" value="3" aria-label="points so far">3 of 5 points</progress>' in html
    assert "&lt;b&gt;" in html
    assert Outline(html).open == []


# ── kept when the kernel restarts ─────────────────────────────────────────────────────────────────


@pytest.fixture
def notebook(monkeypatch):
    """As in a notebook, but for the display."""
    monkeypatch.setattr(examining, "_in_notebook", lambda: True)


def restart(monkeypatch):
    monkeypatch.setattr(examining, "_reports", {})
    monkeypatch.setattr(examining, "_ideas_met", {})


def test_points_are_kept_when_the_kernel_restarts(notebook, monkeypatch, capsys):
    check("3.1", unscaled)
    check("3.1", scaled_scores)
    restart(monkeypatch)
    assert progress(3).points == 3
    shown = capsys.readouterr().out
    assert "3.1 Scale the scores: right, 3 of 3, earlier" in shown
    assert "so far: no scale." in shown


def test_outside_a_notebook_too_all_wrong_ideas_are_named(capsys):
    check("3.1", unscaled)
    check("3.1", lambda q, k: q @ k.mT / q.shape[-1])
    check("3.1", scaled_scores)
    capsys.readouterr()
    progress(3)
    assert "so far: no scale, scaled by d_k." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("slug", "words"),
    [
        ("softmax-over-queries", "softmax over queries"),
        ("scaled-by-d-k-squared", "scaled by d_k squared"),
        ("n-heads-taken-for-d-head", "n_heads taken for d_head"),
        ("key-made-by-w-q", "key made by w_q"),
    ],
)
def test_names_of_ideas_are_read_as_words_and_symbols(slug, words):
    assert cards.in_words(slug) == words


def test_points_are_those_of_the_last_check(notebook, monkeypatch, capsys):
    check("3.1", scaled_scores)
    check("3.1", unscaled)
    restart(monkeypatch)
    assert progress(3).points == 0


def test_points_belong_to_the_folder_of_the_notebook(notebook, monkeypatch, capsys, tmp_path):
    check("3.1", scaled_scores)
    restart(monkeypatch)
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    assert progress(3).points == 0


@pytest.mark.parametrize(
    "content", ["", "no json", "[]", '{"x": 1}', json.dumps({"KEY": []}), json.dumps({"KEY": {"3.1": {"status": 7}}})]
)
def test_a_broken_file_is_as_good_as_none(notebook, monkeypatch, capsys, content):
    saved.path().write_text(content.replace("KEY", saved._key(3)))
    assert progress(3).points == 0
    assert check("3.1", scaled_scores).passed
    restart(monkeypatch)
    assert progress(3).points == 3


def test_a_place_that_cannot_be_written_never_fails_a_check(notebook, monkeypatch, capsys, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("QKV_STATE_DIR", str(tmp_path / "file"))
    assert check("3.1", scaled_scores).passed
    assert progress(3).points == 3


def test_a_file_that_cannot_be_replaced_leaves_no_other_file(notebook, monkeypatch, capsys):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(saved.os, "replace", refuse)
    assert check("3.1", scaled_scores).passed
    assert list(saved.path().parent.iterdir()) == []


def test_outside_a_notebook_nothing_is_kept(capsys):
    check("3.1", scaled_scores)
    assert not saved.path().exists()


# ── in IPython ────────────────────────────────────────────────────────────────────────────────────

SESSION = """
import sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
shell = InteractiveShell.instance()
with capture_output() as caught:
    shell.run_cell('''
import math
from IPython.display import display
from qkv import check
def scaled_scores(q, k):
    display("shown by the answer")
    return q @ k.mT / math.sqrt(q.shape[-1])
check("3.1", scaled_scores)''')
print(len(caught.outputs), sorted(caught.outputs[0].data), caught.stdout, caught.stderr)
"""


def test_in_ipython_one_card_is_displayed_as_html_and_text():
    done = subprocess.run([sys.executable, "-c", SESSION], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1 ['text/html', 'text/plain']"), done.stdout
    assert "passed=True" not in done.stdout, "the report must not be shown after the card"


def test_the_style_holds_no_comment_and_no_address():
    assert not re.search(r"/\*|https?:|\n|@import", cards._style())


# ── answers that fight back ───────────────────────────────────────────────────────────────────────


class Lies:
    """Says that it is a tensor, and equal to everything."""

    __class__ = torch.Tensor

    def __eq__(self, other):
        return True

    def __del__(self):
        print("gone", file=sys.stderr)


async def awaited(q, k):
    return q


def closes_the_streams(q, k):
    sys.stdout = sys.stderr = None
    os.close(2)
    return q


def swaps_storage(q, k):
    q.set_(torch.zeros(9))
    return q


class Bomb(BaseException):
    def __str__(self):
        sys.exit()


def throws(q, k):
    raise Bomb


@pytest.mark.parametrize(
    "answer",
    [lambda q, k: Lies(), awaited, closes_the_streams, swaps_storage, throws, lambda q, k: (x for x in q), Lies, type],
    ids=range(8),
)
def test_an_answer_that_fights_back_is_wrong_and_nothing_more(answer, capfd):
    for question in ("3.1", "3.3"):
        assert check(question, answer).status in ("failed", "error")
    shown = capfd.readouterr()
    assert shown.err == ""
    assert "0 of 3 points" in shown.out


def test_an_answer_that_does_not_end_is_stopped(monkeypatch, capsys):
    def endless(q, k):
        while True:
            pass

    monkeypatch.setattr(examining, "SECONDS", 0.3)
    before = signal.getsignal(signal.SIGALRM)
    report = check("3.1", endless)
    assert (report.status, report.points) == ("error", 0)
    # Of processor time; on a busy machine, four times as long by the clock.
    assert re.search(r"more than (0\.3|1\.2) seconds and was stopped", report.message)
    assert "takes too long" in report.message
    assert (signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)[0]) == (before, 0)


def test_an_id_that_is_no_text_is_told_to_use_quotes():
    with pytest.raises(KeyError, match=r'use quotes: check\("3.1", …\)'):
        check(3.1, abs)


# ── the line that mixes tokens ────────────────────────────────────────────────────────────────────


def test_the_card_of_an_answer_that_mixes_tokens_has_the_line_behind_one_press():
    def split_heads(x, n_heads):
        b, n, d = x.shape
        return x.view(b, n_heads, n, d // n_heads)

    wrong = examining.examine("5.1", split_heads)
    assert wrong.misconception == "heads-split-by-reshape"
    assert "`return x.view(b, n_heads, n, d // n_heads)`" in wrong.card.mixing
    assert "<details><summary>" in wrong.card.html()
    assert "Followed line by line" in wrong.card.text()


def test_the_line_is_named_too_if_the_answer_raises_for_other_inputs():
    """Of one token alone, this answer has no axis -2."""

    def layer_norm(x, gain, bias, eps=1e-5):
        centred = x - x.mean(-2, keepdim=True)
        return centred / (centred.square().mean(-2, keepdim=True) + eps).sqrt() * gain + bias

    wrong = examining.examine("8.1", layer_norm, in_model=False)
    assert wrong.status == "error"
    assert "`centred = x - x.mean(-2, keepdim=True)`" in wrong.card.mixing


@pytest.mark.parametrize(
    "answer",
    [
        lambda x, n_heads: x.view(len(x), x.shape[1], n_heads, -1).transpose(1, 2),
        lambda x, n_heads: x.view(len(x), x.shape[1], -1, n_heads).permute(0, 3, 1, 2),
        lambda x, n_heads: 1 / 0,
    ],
    ids=["right", "features dealt out", "raises"],
)
def test_no_other_card_has_one(answer):
    assert examining.examine("5.1", answer).card.mixing == ""


def test_no_line_of_a_chinese_message_begins_with_a_space_or_punctuation(monkeypatch):
    monkeypatch.setattr(cards, "language", lambda: "zh_TW")
    for n in range(38, 46):
        lines = cards.wrapped("字" * n + " 0。用 `reshape` 或 `view`，再看一次。")
        assert [line[0] for line in lines if line[0] in " ，。"] == []
