"""Every chapter and deeper page keeps the style guide, and every rule of the lint has a page that it turns red."""

import copy
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from qkv_site.reading import Reading, plain, reading, sentences, words

from tests.notebooks.lint import (
    COURSE_RULES,
    OF_CHAPTERS,
    RULES,
    lint,
    lint_course,
    rules_for,
)

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.relative_to(ROOT).with_suffix("").as_posix() for path in ROOT.glob("chapters/**/[0-9]*.ipynb"))


def page(name):
    return nbformat.read(ROOT / f"{name}.ipynb", as_version=4)


def report(found):
    return "\n".join(["", *(f"{at}: {what}  [{rule}]" for rule, findings in found.items() for at, what in findings)])


@pytest.mark.parametrize("name", PAGES)
def test_page_keeps_the_style_guide(name):
    found = lint(page(name), name)
    assert not found, report(found)


def test_course_keeps_the_style_guide():
    found = lint_course({name: page(name) for name in PAGES})
    assert not found, report(found)


# --- counter-examples: a small chapter that is as it should be, and one change for each way to break a rule ----------

SETUP = 'if find_spec("qkv") is None:\n    raise ModuleNotFoundError("Install qkv.")'
IMPORTS = """import torch

from qkv.figures import show
from qkv.widgets import Predict, ScalingLab

_ = torch.manual_seed(0)"""
OPEN = "from qkv.widgets import TemperatureLab\n\nTemperatureLab()"
PREDICT = 'Predict("Which?", [("This.", "It is wrong."), ("That.", "It is right.")], answer="B")'


def good_chapter():
    cells = [
        new_markdown_cell("# Why one thing\n\nDrag the width.", id="title"),
        new_code_cell(SETUP, id="setup", metadata={"tags": ["setup", "remove-cell"]}),
        new_code_cell(OPEN, id="opening", metadata={"tags": ["remove-input"]}),
        new_code_cell(IMPORTS, id="imports"),
        new_code_cell(PREDICT, id="predict-it", metadata={"tags": ["remove-input"]}),
        new_code_cell("x = 1\nprint(x)", id="measured"),
        new_code_cell("assert x == 1", id="measured-held", metadata={"tags": ["remove-cell"]}),
        new_markdown_cell("So it is.", id="answer-it"),
        new_code_cell(
            "fig, ax = plt.subplots()\nshow(fig, alt='A line.')", id="figure", metadata={"tags": ["hide-input"]}
        ),
        new_code_cell("ScalingLab(d_k=4)", id="lab"),
        *(new_markdown_cell(f"## {part}", id=part.lower().replace(" ", "-")) for part in ("Break it", "In the wild")),
        *(new_markdown_cell(f"## {part}", id=part.lower()) for part in ("Summary", "Exercises", "References")),
    ]
    return new_notebook(cells=cells)


def put(cell_id, source):
    return lambda cells: cells[cell_id].update(source=source)


def also(cell_id, source):
    return lambda cells: cells[cell_id].update(source=cells[cell_id].source + "\n\n" + source)


def tag(cell_id, *names):
    return lambda cells: cells[cell_id].metadata.update(tags=list(names))


def rename(cell_id, new):
    return lambda cells: cells[cell_id].update(id=new)


LONG = " ".join(["word"] * 31) + "."
MIDDLING = " ".join(["word"] * 17) + "."
APART = "with torch.random.fork_rng():\n    again = 1\nassert again"
BROKEN = {
    "cells_are_short": [
        put("measured", "x = 1\n" * 21),
        lambda cells: [tag("measured", "remove-cell")(cells), put("measured", "x = 1\n" * 31)(cells)],
        lambda cells: [put(name, "x = 1\n" * 9)(cells) for name in ("measured", "figure", "lab")],
    ],
    "skipped_cells_stand_alone": [
        tag("measured-held", "remove-cell", "skip-execution"),
        lambda cells: [tag("measured-held", "skip-execution")(cells), put("measured-held", APART)(cells)],
        lambda cells: [
            tag("measured-held", "remove-cell", "skip-execution")(cells),
            put("measured-held", APART)(cells),
            also("lab", "print(again)")(cells),
        ],
    ],
    "setup_comes_first": [tag("setup", "remove-cell"), put("setup", "pass")],
    "imports_stand_together": [also("measured", "import math"), also("measured", "from math import pi")],
    "seeds_stand_with_the_imports": [
        put("imports", "from qkv.widgets import ScalingLab"),
        also("lab", "torch.manual_seed(1)"),
    ],
    "no_magic": [put("measured", "%matplotlib inline"), put("measured", "!ls"), put("measured", "x = 1;")],
    "nothing_was_run": [
        lambda cells: cells["measured"].update(execution_count=1),
        lambda cells: cells["measured"].update(outputs=[nbformat.v4.new_output("stream", text="1")]),
    ],
    "figures_have_alt_text": [
        put("figure", "show(fig)"),
        put("figure", "show(fig, alt=' ')"),
        put("figure", "plt.show()"),
        put("figure", "fig, ax = plt.subplots()"),
    ],
    "hidden_cells_hold_numbers": [put("measured-held", "y = 2"), tag("lab", "remove-input")],
    "folded_code_draws_or_imports": [tag("lab", "hide-input"), tag("measured", "hide-input")],
    "a_widget_opens_the_chapter": [
        put("title", "# Why one thing"),
        also("title", "Then read on."),
        rename("opening", "first-lab"),
        tag("opening"),
        put("opening", "print(1)"),
        put("opening", OPEN.replace("TemperatureLab", "PredictNumber")),
        also("opening", "TemperatureLab()"),
    ],
    "a_prediction_is_asked_for": [put("predict-it", "ScalingLab(d_k=8)")],
    "ids_are_readable": [rename("lab", "3f2a90bc"), rename("lab", "Widget_1")],
    "tags_are_known": [tag("lab", "full-width")],
    "sentences_are_short": [also("break-it", LONG), also("break-it", " ".join([MIDDLING] * 20))],
    "prose_leaves_room_for_code": [
        also("answer-it", "A short sentence is good. " * 45),
        also("answer-it", "Fine words. " * 101),
    ],
    "banned_words_are_absent": [also("summary", "It is simply so."), also("title", "Of course it is.")],
    "markdown_reads_everywhere": [
        also("summary", ":::{note}\nText\n:::"),
        also("summary", "See {ref}`there`."),
        also("summary", "![a](b.png)"),
    ],
    "headings_are_in_order": [
        put("title", "## Why one thing"),
        also("summary", "#### Deep"),
        also("summary", "# Again"),
    ],
    "headings_are_in_sentence_case": [put("title", "# Why One Thing")],
    "predictions_are_answered": [
        put("predict-it", 'Predict("Which?", [("This.", "No.")], answer="A")'),
        put("predict-it", 'Predict("Which?", [("This.", "No."), ("That.",)], answer="A")'),
        also("measured", PREDICT),
    ],
    "the_parts_are_there": [
        put("references", "## Literature"),
        put("break-it", "## Another thing"),
        put("in-the-wild", ""),
    ],
    "the_core_is_short": [
        also("summary", "A short sentence is good. " * 441),
        also("references", "| word " * 2200),
        also("imports", "\n\nx = 1" * 125),
        lambda cells: [also(name, "x = 1\n" * 90)(cells) for name in ("measured", "imports", "lab")],
        also("lab", "ScalingLab()\n" * 42),
    ],
    "the_site_says_the_time": [also("title", "Set aside half an hour."), also("title", "It takes about 30 minutes.")],
}
CASES = [(name, number) for name, changes in BROKEN.items() for number in range(len(changes))]


def test_a_good_chapter_is_clean():
    assert not lint(good_chapter())


def test_what_takes_time_is_counted_once():
    chapter = good_chapter()
    assert reading(chapter) == Reading(words=6, lines=7, widgets=2, predictions=1)
    chapter.cells[0].source += "\n\n" + "Word " * 594 + "\n\n<details>\n" + "Unread " * 1000 + "\n</details>"
    assert reading(chapter).minutes == 7  # 3 for 600 words, 1 for 7 lines of code, 1 for each widget and prediction


def test_a_deeper_page_is_spared_some_rules():
    assert set(RULES) - rules_for("chapters/deeper/03_more") == OF_CHAPTERS
    assert rules_for("chapters/99_new") == set(RULES)


def test_what_a_widget_says_is_prose():
    chapter = good_chapter()
    long = " ".join(["word"] * 31)
    chapter.cells.insert(3, new_code_cell(PREDICT.replace("This.", f"It is simply {long}."), id="predict-more"))
    assert {"banned_words_are_absent", "sentences_are_short"} <= set(lint(chapter))


def test_every_rule_has_a_counter_example():
    assert set(BROKEN) == set(RULES)


@pytest.mark.parametrize(("name", "number"), CASES, ids=lambda value: str(value))
def test_rule_turns_red(name, number):
    chapter = copy.deepcopy(good_chapter())
    BROKEN[name][number]({cell.id: cell for cell in chapter.cells})
    assert name in lint(chapter)


# --- the course -------------------------------------------------------------------------------------------------------


def asks(options, answer):
    """A page with one choice, its options by their lengths, and one prediction of each of two other kinds."""
    texts = [("x" * length, "why") for length in options]
    cells = [f'Predict("Which?", {texts}, answer="{answer}")', 'PredictNumber("How many?", 3)']
    return new_notebook(cells=[new_code_cell(source, id=f"predict-{i}") for i, source in enumerate(cells)])


EVEN = [([1, 2, 3], "A"), ([2, 3, 1], "B"), ([1, 2, 3], "C"), ([5, 5], "A"), ([5, 5], "B"), ([4, 9, 7, 6], "D")]
LEAD = "See [more](deeper/03_more.ipynb)."
BACK = "Back to [chapter 3](../03_scaling.ipynb)."


def course(options=EVEN, lead=LEAD, back=BACK):
    pages = {f"chapters/{number:02}_x": asks(*each) for number, each in enumerate(options, 10)}
    scaling, more = new_markdown_cell(lead), new_markdown_cell(back)
    return pages | {
        "chapters/03_scaling": new_notebook(cells=[scaling]),
        "chapters/deeper/03_more": new_notebook(cells=[more]),
    }


def without_numbers():
    pages = course()
    for number, each in enumerate(pages.values()):
        each.cells = each.cells[: 1 if number else 2]
    return pages


UNEVEN = {
    "choices_cannot_be_guessed": [
        course([([1, 2, 3], "B")] * 6),
        course([([1, 2, 3], "A"), ([2, 1, 3], "B"), ([2, 3, 1], "C")] * 3),
        course([([3, 2, 1], "A"), ([2, 3, 1], "B"), ([2, 1, 3], "C")] * 3),
        course([([2, 1, 3], "A"), ([1, 2, 3], "B"), ([1, 3, 2], "C")] * 3),
    ],
    "a_third_of_predictions_are_no_choices": [without_numbers()],
    "deeper_pages_are_linked": [course(lead="See more."), course(back="Back."), course(lead="[more](03_more.ipynb)")],
}


def test_an_even_course_is_clean():
    assert not lint_course(course())


def test_every_rule_of_the_course_has_a_counter_example():
    assert set(UNEVEN) == set(COURSE_RULES)


@pytest.mark.parametrize(("name", "number"), [(name, i) for name, cases in UNEVEN.items() for i in range(len(cases))])
def test_rule_of_the_course_turns_red(name, number):
    assert set(lint_course(UNEVEN[name][number])) == {name}


# --- what counts as a sentence ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("One. Two? Three!", ["One.", "Two?", "Three!"]),
        ("About 1.5 of them, e.g. two.", ["About 1.5 of them, e.g. two."]),
        ("# Heading\n\nText [here](there.md) and $a + b$.", ["Text here and symbol."]),
        ("> **Q.** Which?\n>\n> - **A.** This\n> - **B.** That", ["Q.", "Which?", "A.", "This", "B.", "That"]),
        ("| a | b |\n|---|---|\n| c | d |", []),
        ("So\n\n$$\nx = 1\n$$\n\nand on.", ["So", "and on."]),
        ("<details>\n<summary>Why</summary>\n\nYes.\n\n</details>", ["Why", "Yes."]),
    ],
)
def test_sentences(markdown, expected):
    assert list(sentences(markdown)) == expected


def test_words_are_what_one_reads():
    assert words("the well-kept row's 1,024 entries (all)") == 6


def test_code_is_not_prose():
    assert "just" not in plain("Text.\n\n```python\njust = 1\n```\n\n`just`")
