"""The pages: what they say, and that nothing of a learner's gets out of its place."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from qkv.grading.report import bars, class_page, feedback_page, idea_losses, question_losses, solution_code
from qkv.grading.results import Result
from qkv.grading.similar import MIN_TOKENS, PUBLIC, compare, own_code, shares_of_public
from qkv.grading.submissions import code_cells
from qkv.questions import find
from tests.grading.made import question, result, ungraded

EXERCISES = Path(__file__).resolve().parents[2] / "exercises"
NASTY = """<script>alert(1)</script><img src=x onerror=alert(1)>" onload="x' {{ 7*7 }} </p></section></style>"""


def of(*results) -> list[Result]:
    return [Result.from_dict(one) for one in results]


class Elements(HTMLParser):
    """Gathers a page's elements, attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


ALL_NASTY = result(
    NASTY, NASTY, version=NASTY, sha256=NASTY, questions=[question(NASTY, 0, 3, message=NASTY, misconception=NASTY)]
)


@pytest.mark.parametrize(
    "page",
    [
        feedback_page(*of(ALL_NASTY)),
        feedback_page(*of(ungraded(NASTY, NASTY))),
        class_page(of(ALL_NASTY | {"source": NASTY * 50}, ungraded(NASTY, NASTY)), Path("nowhere")),
    ],
    ids=["feedback", "ungraded", "class"],
)
def test_nothing_of_a_learners_is_markup(page):
    seen = Elements(page)
    assert not {"script", "img", "link", "iframe", "object", "base", "form"} & set(seen.tags)
    assert not [name for name, _ in seen.attributes if name.startswith("on") or name in ("src", "href")]
    assert seen.open == []
    assert "49" not in seen.text
    assert "<script>alert(1)" in "".join(seen.words)


@pytest.mark.parametrize("page", [feedback_page(*of(result())), class_page(of(result()), Path("nowhere"))])
def test_a_page_asks_no_host_and_reads_in_order(page):
    seen = Elements(page)
    assert ("lang", "en") in seen.attributes
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in seen.attributes
    assert not re.search(r"url\(|@import|https?:", page)
    assert "color-scheme: light dark" in page
    headings = [int(tag[1]) for tag in seen.tags if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(headings))
    assert seen.tags.count("table") == seen.tags.count("caption")


def test_feedback_says_what_came_of_each_question():
    message = "Your scores are q · k, without a scale. See `scaled_scores`.\nWhat brings the spread back?"
    wrong = question("3.1", 0, 3, misconception="no-scale", message=message)
    page = feedback_page(*of(result(questions=[wrong, question("3.2", 2, 2)])))
    text = Elements(page).text
    assert "2 of 5 points" in text
    assert f"3.1 {find('3.1').title}" in text
    assert "✗ not yet · 0 of 3 points · no scale" in text
    assert "<code>scaled_scores</code>.<br>What" in page
    assert "ab" * 32 in text


def test_a_fault_of_ours_is_said_to_be_no_zero():
    text = Elements(feedback_page(*of(ungraded("ada", "the worker was lost")))).text
    assert "not a zero" in text
    assert "the worker was lost" in text


# ── the class ─────────────────────────────────────────────────────────────────────────────────────


def test_scores_are_counted_and_the_full_mark_is_in_the_last_bar():
    counted = [(bar.label, bar.count) for bar in bars([0, 0.5, 11, 12, 12], 12)]
    assert counted == [("0 to under 2", 2), *((f"{i} to under {i + 2}", 0) for i in (2, 4, 6, 8)), ("10 to 12", 3)]
    assert [bar.label for bar in bars([1, 3], 3)] == ["0 to under 1", "1 to under 2", "2 to 3"]
    assert bars([], 12) == bars([0.0], 0) == []


def test_what_cost_most_comes_first():
    class_of_three = of(
        result(questions=[question("3.1", 0, 3, misconception="no-scale"), question("3.2", 0, 2)]),
        result(questions=[question("3.1", 3, 3), question("3.2", 0, 2, misconception="variance-added")]),
        result(questions=[question("3.1", 3, 3), question("3.2", 0, 2, misconception="variance-added")]),
    )
    assert [(loss.question, loss.lost) for loss in question_losses(class_of_three)] == [("3.2", 6.0), ("3.1", 3.0)]
    ideas = [(loss.idea, loss.count, loss.lost) for loss in idea_losses(class_of_three)]
    assert ideas == [("variance-added", 2, 4.0), ("no-scale", 1, 3.0)]


def test_ungraded_ones_are_named_with_their_reasons_and_cost_nothing():
    page = Elements(class_page(of(result("ada"), ungraded("bob", "no memory left")), Path("nowhere"))).text
    assert "bob 03_scaling no memory left" in page
    assert "1 graded, 1 not. Mean 3.0, median 3, of 5 points." in page


def test_copies_of_an_exercise_are_summed_up_together():
    copies = of(*(result("ada", name) for name in ("03_scaling", "03_scaling (1).ipynb", "mine")))
    seen = Elements(class_page(copies, Path("nowhere")))
    assert "3 submissions of 2 notebooks" in seen.text
    assert "03_scaling 2 graded" in seen.text


# ── nearly the same ───────────────────────────────────────────────────────────────────────────────

ONE = "\n".join(f"    part_{i} = left_{i} @ right.reshape({i}, -1) + helper({i} * offset)" for i in range(8))
TWO = "\n".join(f"    for row in range({i}):\n        total[row] -= [{i}, row][row % 2] ** 2" for i in range(8))


def members(*sources: str, released: str = "") -> list[tuple[int, ...]]:
    return [group.members for group in compare(sources, released).groups]


def test_renamed_and_commented_copies_are_found():
    renamed = re.sub(r"part_|left_", "mine", ONE).replace("\n", "  # my own idea\n")
    assert members(ONE, TWO, renamed) == [(0, 2)]


def test_different_work_is_not():
    assert members(ONE, TWO, TWO.replace("-=", "=").replace("** 2", "").replace("range", "list")) == []


def test_the_released_lines_are_nobodys_own():
    assert members(ONE, ONE, released=ONE) == []
    assert members(f"{ONE}\n{TWO}", ONE, released=ONE) == []


def test_in_a_large_class_what_half_of_it_wrote_is_nobodys_own():
    assert members(*[ONE] * 19) == [tuple(range(19))]
    assert members(*[ONE] * 20) == []
    assert members(*[f"{ONE}\nx = {i}" for i in range(18)], TWO, TWO) == [(18, 19)]


def test_too_little_code_is_not_compared():
    comparison = compare(["x = 1", "x = 1"])
    assert (comparison.groups, comparison.compared, comparison.too_short) == ((), 0, 2)
    assert len(own_code(ONE, frozenset(), frozenset())) >= MIN_TOKENS


def test_the_report_names_those_who_are_nearly_the_same(tmp_path):
    released = {"cells": [{"cell_type": "code", "source": ["def given():\n", "    pass"]}]}
    (tmp_path / "03_scaling.ipynb").write_text(json.dumps(released))
    sources = {"ada": f"def given():\n    pass\n{ONE}", "bob": TWO, "eve": f"{ONE}\n# mine"}
    page = class_page(of(*(result(name, source=source) for name, source in sources.items())), tmp_path)
    assert "Up to 100 % the same: ada, eve." in Elements(page).text


SOLUTION = solution_code("03_scaling")
OTHERS = [f"{TWO}\nx{i} = [{i}] * {i}\n" + "\n".join(f"y = f{i}(z) + {j}" for j in range(i)) for i in range(120)]


@pytest.mark.parametrize("copies", [1, 3, 70, 120])
def test_copies_of_the_public_solution_are_recognised_however_many_there_are(copies):
    renamed = SOLUTION.replace("root", "r")
    sources = [renamed if i % 2 else SOLUTION for i in range(copies)] + OTHERS[copies:]
    page = Elements(class_page(of(*(result(f"s{i}", source=code) for i, code in enumerate(sources))), EXERCISES)).text
    said = re.search(r"up to \d+ % of it: ([^.]*)\.", page)
    assert said
    assert said[1].split(" and ")[0].split(", ")[: min(copies, 30)] == [f"s{i}" for i in range(min(copies, 30))]
    assert said[1].count(",") + 1 + sum(map(int, re.findall(r"and (\d+) more", said[1]))) == copies
    assert ("most of this class" in page) == (copies >= 60)


def test_who_has_solved_it_alone_has_not_the_public_solution():
    assert SOLUTION
    alone = solution_code("04_softmax_temperature")
    released = "\n".join(code_cells((EXERCISES / "03_scaling.ipynb").read_bytes()))
    assert max(shares_of_public([ONE, TWO, alone, released, f"{released}\n{TWO}"], SOLUTION, released)) < PUBLIC / 2


@pytest.mark.parametrize(
    "source", ['\\"' * 50_000, "'''" + "x" * 100_000, "(" * 100_000, '"' * 99_999, "\\\n" * 90_000]
)
def test_hostile_code_takes_no_longer(source):
    compare([source, source + "x", source + "y"])


def test_modules_that_are_missing_here_are_listed_with_their_notebooks():
    who = {"ada": ("seaborn", "cupy"), "bob": ("seaborn",), "eve": ()}
    results = of(*(result(student, missing_modules=modules) for student, modules in who.items()))
    page = class_page(results, Path("none"))
    rows = re.findall(r"<code>(\w+)</code></th><td>(\d+)<", page)
    assert rows == [("seaborn", "2"), ("cupy", "1")]
    assert "missing here" not in class_page(of(result("eve")), Path("none"))
