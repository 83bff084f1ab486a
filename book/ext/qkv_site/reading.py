"""Count what there is to read in a notebook, and compute the reading time. The site and the tests both use this.

One minute is 200 words, ten lines of visible code, one widget, or one prediction.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from nbformat import NotebookNode

WORDS_A_MINUTE = 200
LINES_A_MINUTE = 10
# Tags of code that the page leaves out or folds: a reader does not read it at first.
UNSHOWN = {"remove-cell", "remove-input", "hide-input", "hide-cell"}
FOLDED_ANSWER = re.compile(r"<details>.*?</details>", re.DOTALL)


@dataclass(frozen=True)
class Reading:
    """The numbers of words, lines of code, widgets and predictions on a page."""

    words: int
    lines: int
    widgets: int
    predictions: int

    @property
    def minutes(self) -> int:
        """The reading time in whole minutes, at least one."""
        exact = self.words / WORDS_A_MINUTE + self.lines / LINES_A_MINUTE + self.widgets + self.predictions
        return max(1, round(exact))


def reading(notebook: NotebookNode) -> Reading:
    """Count the words, lines, widgets and predictions that a notebook's page shows."""
    code = of_type(notebook, "code")
    return Reading(
        words=sum(words(sentence) for cell in of_type(notebook, "markdown") for sentence in open_sentences(cell)),
        lines=sum(lines(cell) for cell in code if not tags(cell) & UNSHOWN),
        widgets=sum(name not in predictions_of(notebook) for _, name, _ in widget_calls(notebook)),
        predictions=sum(name in predictions_of(notebook) for _, name, _ in widget_calls(notebook)),
    )


# --- cells ------------------------------------------------------------------------------------------------------------


def of_type(notebook: NotebookNode, kind: str) -> list[NotebookNode]:
    """Return a notebook's cells of a kind: code or markdown."""
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def tags(cell: NotebookNode) -> set[str]:
    """Return the tags of a cell, which decide how the site shows it."""
    return set(cell.metadata.get("tags", []))


def lines(cell: NotebookNode) -> int:
    """Count the lines of a cell that are not empty."""
    return sum(bool(line.strip()) for line in cell.source.splitlines())


def calls(cell: NotebookNode) -> Iterator[ast.Call]:
    """Yield the calls in a code cell; none if Python cannot parse the cell, for example because of a magic."""
    try:
        tree = ast.parse(cell.source)
    except SyntaxError:
        return
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


# --- widgets and predictions ------------------------------------------------------------------------------------------


def imported_widgets(notebook: NotebookNode) -> set[str]:
    """Return the names that a notebook imports from qkv.widgets."""
    source = "\n".join(cell.source for cell in of_type(notebook, "code"))
    groups = re.findall(r"from qkv\.widgets import (\([^)]*\)|.+)", source)
    return {name for group in groups for name in re.findall(r"\w+", group)}


def predictions_of(notebook: NotebookNode) -> set[str]:
    """Return the imported widgets that ask for a prediction: their names begin with Predict."""
    return {name for name in imported_widgets(notebook) if name.startswith("Predict")}


def widget_calls(notebook: NotebookNode) -> Iterator[tuple[NotebookNode, str, ast.Call]]:
    """Yield each cell that creates a widget, with the widget's name and the call."""
    names = imported_widgets(notebook)
    for cell in of_type(notebook, "code"):
        for call in calls(cell):
            if (name := ast.unparse(call.func)) in names:
                yield cell, name, call


# --- prose ------------------------------------------------------------------------------------------------------------


def plain(markdown: str) -> str:
    """Return the prose of Markdown: without headings, tables, code blocks, display formulas and markup.

    An inline formula or piece of code becomes the word "symbol".
    """
    text = re.sub(r"^(```|~~~).*?^\1", "\n", markdown, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\$\$.+?\$\$", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"^(#+ .*|\|.*\|)$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"<!--.*?-->|</?\w[^>]*>", "\n\n", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\$[^$]+\$|`[^`]+`", "symbol", text)
    return re.sub(r"^[ >]*([-*] |\d+\. )?", lambda item: "\n" if item[1] else "", text, flags=re.MULTILINE)


def sentences(markdown: str) -> Iterator[str]:
    """Yield the sentences of Markdown. A sentence also ends at the end of a paragraph or list item."""
    for paragraph in re.split(r"\n\s*\n", plain(markdown)):
        text = " ".join(re.sub(r"[*_]", "", paragraph).split())
        yield from (part for part in re.split(r"(?<=[.!?])[\"')]*\s+(?=[^a-z])", text) if re.search(r"\w", part))


def open_sentences(cell: NotebookNode) -> Iterator[str]:
    """Yield the sentences of a Markdown cell that a reader sees at first, without folded answers."""
    yield from sentences(FOLDED_ANSWER.sub("", cell.source))


def words(text: str) -> int:
    """Count the words of a text."""
    return len(re.findall(r"\w[\w'’.,/-]*", text))
