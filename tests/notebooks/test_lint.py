"""Every chapter keeps the style guide, and every rule of the lint has a chapter that it turns red."""

import copy
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.notebooks.lint import RULES, lint, plain, sentences, words

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted(ROOT.glob("chapters/*.ipynb"))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_chapter_keeps_the_style_guide(path):
    found = lint(nbformat.read(path, as_version=4))
    report = [f"{f.cell}: {f.what}  [{name}]" for name, findings in found.items() for f in findings]
    assert not report, "\n" + "\n".join(report)


# --- counter-examples: a small chapter that is as it should be, and one change for each way to break a rule ----------

SETUP = 'if find_spec("qkv") is None:\n    raise ModuleNotFoundError("Install qkv.")'
IMPORTS = "import torch\n\nfrom qkv.figures import show\nfrom qkv.widgets import ScalingLab\n\n_ = torch.manual_seed(0)"
QUESTION = "> **Predict.** Which one?\n>\n> - **A.** This.\n> - **B.** That."
PREDICT = 'Predict("Which?", [("This.", "It is wrong."), ("That.", "It is right.")], answer="B")'
ANSWER = "It was **B**.\n\n<details>\n<summary>Why</summary>\n\n- **A** is wrong.\n- **B** is right.\n\n</details>"


def good_chapter():
    cells = [
        new_markdown_cell("# Why one thing", id="title"),
        new_code_cell(SETUP, id="setup", metadata={"tags": ["setup", "remove-cell"]}),
        new_code_cell(IMPORTS, id="imports"),
        new_markdown_cell(QUESTION, id="predict-it"),
        new_code_cell("x = 1\nprint(x)", id="measured"),
        new_code_cell("assert x == 1", id="measured-held", metadata={"tags": ["remove-cell"]}),
        new_markdown_cell(ANSWER, id="answer-it"),
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
BROKEN = {
    "cells_are_short": [
        put("measured", "x = 1\n" * 21),
        lambda cells: [put(name, "x = 1\n" * 9)(cells) for name in ("measured", "figure", "lab")],
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
    "a_widget_is_shown": [put("lab", "lab = 1")],
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
    "predictions_are_asked_and_answered": [
        put("predict-it", "No question."),
        put("predict-it", QUESTION.replace("**B.**", "**C.**")),
        put("answer-it", "- **A** is wrong."),
        rename("answer-it", "reply"),
        tag("measured", "remove-cell"),
        also("lab", 'Predict("Which?", [("This.", "No.")], answer="A")'),
        also("lab", 'Predict("Which?", [("This.", "No."), ("That.",)], answer="A")'),
        also("measured", PREDICT),
    ],
    "the_parts_are_there": [
        put("references", "## Literature"),
        put("break-it", "## Another thing"),
        put("in-the-wild", ""),
    ],
}
CASES = [(name, number) for name, changes in BROKEN.items() for number in range(len(changes))]


def test_a_good_chapter_is_clean():
    assert not lint(good_chapter())


def test_a_prediction_by_widget_is_clean():
    chapter = good_chapter()
    cells = {cell.id: cell for cell in chapter.cells}
    cells["answer-it"].source = "So it is."
    cells["predict-it"].update(new_code_cell(PREDICT, id="predict-it", metadata={"tags": ["remove-input"]}))
    assert not lint(chapter)


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
