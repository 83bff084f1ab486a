"""Hide the answer to each prediction on a page until the reader has committed to a guess, or asks to see the answer.

A cell's code stays visible. A small box with a button stands in place of its result and of the text after it. When
`predictions.js` shows them, they open downwards from there. Without scripts and on paper nothing is hidden.

A cover ends with a script that opens it at once if the reader has made this prediction, or if the address points into
it. The script runs before the browser draws what follows the cover, so nothing moves when a page loads.
"""

from __future__ import annotations

from itertools import dropwhile, takewhile

from docutils import nodes
from sphinx.application import Sphinx

from tools.translations.skin import t

END = (
    '<p class="qkv-uncover"><button type="button">{}</button></p>'
    "<script>openKnown(document.currentScript.parentElement)</script>"  # page.html has this function
)


def cover_answers(app: Sphinx, document: nodes.document) -> None:
    """Move the answer to each prediction into a container of its own, which a script hides."""
    for cell in [part for part in document.findall(nodes.container) if is_prediction(part)]:
        answer = answer_to(cell)
        if answer:
            cover = nodes.container("", classes=["qkv-prediction-answer"])
            cell.parent.insert(cell.parent.index(answer[0]), cover)
            for part in answer:
                part.parent.remove(part)
                cover += part
            cover += nodes.raw("", END.format(t("Hidden until you guess. Show it anyway")), format="html")


def is_code_cell(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def is_prediction(node: nodes.Node) -> bool:
    """Check whether a cell's result is one of the widgets whose names begin with Predict."""
    return is_code_cell(node) and any(
        part.astext().startswith("Predict")
        for part in node.findall(nodes.container)
        if part.get("mime_type") == "text/plain"
    )


def answer_to(cell: nodes.container) -> list[nodes.Node]:
    """Return the answer to a prediction: the next group of adjacent code cells in the section, and the text after it.

    It ends before the next prediction. Text before the group reveals nothing. It is the whole group, because its first
    cell may only define what the second prints or draws. A widget in which the reader looks for the answer has the tag
    "uncovered": only the text after it is the answer.
    """
    section = cell.parent.children[cell.parent.index(cell) + 1 :]
    following = [*takewhile(lambda part: not isinstance(part, nodes.section) and not is_prediction(part), section)]
    shown = [place for place, part in enumerate(following) if "tag_uncovered" in part.get("classes", [])]
    after = following[shown[0] + 1 :] if shown else [*dropwhile(lambda part: not is_code_cell(part), following)]
    cells = [*takewhile(is_code_cell, after)]
    return [*cells, *takewhile(lambda part: not is_code_cell(part), after[len(cells) :])]


def setup(app: Sphinx) -> None:
    """Register `cover_answers`, which Sphinx calls for each page that it has read, and its script."""
    app.connect("doctree-read", cover_answers)
    app.add_js_file("predictions.js", loading_method="defer")
