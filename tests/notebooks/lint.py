"""What the style guide says of chapters and a machine can count. Medians and maxima: nobody is asked to write more.

A rule takes a notebook and yields findings. Each has a counter-example in `test_lint.py` that turns it red.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from statistics import median
from typing import NamedTuple

from nbformat import NotebookNode

CELL_LINES_MAX, CELL_LINES_MEDIAN = 20, 8
SENTENCE_WORDS_MAX, SENTENCE_WORDS_MEDIAN = 30, 16
GAP_WORDS_MAX, GAP_WORDS_MEDIAN = 200, 100  # prose between two code cells that the reader sees
BANNED = re.compile(r"\b(simply|obviously|just|trivially|of course)\b", re.IGNORECASE)
TAGS = {"setup", "remove-cell", "hide-input", "remove-input"}
CELL_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
NAMES = {"Adam", "Adafactor", "Jacobian", "Python", "PyTorch", "Llama", "I"}  # capitalised inside a heading, too
ENDING = ["Summary", "Exercises", "References"]
PREDICT = "> **Predict.**"


class Finding(NamedTuple):
    """What is wrong, and in which cell."""

    cell: str
    what: str


Findings = Iterator[Finding]
Rule = Callable[[NotebookNode], Findings]
RULES: dict[str, Rule] = {}


def rule(check: Rule) -> Rule:
    """Enter a rule under its own name."""
    RULES[check.__name__] = check
    return check


# --- reading a notebook -----------------------------------------------------------------------------------------------


def of_type(notebook: NotebookNode, kind: str) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def tags(cell: NotebookNode) -> set[str]:
    return set(cell.metadata.get("tags", []))


def is_seen(cell: NotebookNode) -> bool:
    """Whether the site shows the cell's code or result."""
    return "remove-cell" not in tags(cell)


def is_code_seen(cell: NotebookNode) -> bool:
    """Whether the site shows the code itself, open or folded."""
    return is_seen(cell) and "remove-input" not in tags(cell)


def lines(cell: NotebookNode) -> int:
    return sum(bool(line.strip()) for line in cell.source.splitlines())


def calls(cell: NotebookNode) -> Iterator[ast.Call]:
    try:
        tree = ast.parse(cell.source)
    except SyntaxError:  # a magic: its own rule names it
        return
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def predict_calls(cell: NotebookNode) -> list[ast.Call]:
    """The predictions that a code cell asks by widget: Predict(question, [(option, reason), …], answer="B")."""
    if cell.cell_type != "code":
        return []
    return [call for call in calls(cell) if ast.unparse(call.func) == "Predict"]


def prose(cell: NotebookNode) -> str:
    """What a cell says to its reader: its Markdown, or the texts of a Predict widget."""
    if cell.cell_type == "markdown":
        return str(cell.source)
    texts = [node.value for call in predict_calls(cell) for node in ast.walk(call) if isinstance(node, ast.Constant)]
    return "\n\n".join(text for text in texts if isinstance(text, str) and len(text) > 1)


def headings(notebook: NotebookNode) -> Iterator[tuple[str, int, str]]:
    """Cell, depth and text of every heading."""
    for cell in of_type(notebook, "markdown"):
        for hashes, text in re.findall(r"^(#+)\s+(.+)$", cell.source, re.MULTILINE):
            yield cell.id, len(hashes), text.strip()


def plain(markdown: str) -> str:
    """Prose as it is read aloud: no headings, tables, code blocks or formulas on lines of their own, no markup."""
    text = re.sub(r"^(```|~~~).*?^\1", "\n", markdown, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\$\$.+?\$\$", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"^(#+ .*|\|.*\|)$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"</?\w[^>]*>", "\n\n", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\$[^$]+\$|`[^`]+`", "symbol", text)
    return re.sub(r"^[ >]*([-*] |\d+\. )?", lambda item: "\n" if item[1] else "", text, flags=re.MULTILINE)


def sentences(markdown: str) -> Iterator[str]:
    """Sentences of the prose; a paragraph or a list item ends one, too."""
    for paragraph in re.split(r"\n\s*\n", plain(markdown)):
        text = " ".join(re.sub(r"[*_]", "", paragraph).split())
        yield from (part for part in re.split(r"(?<=[.!?])[\"')]*\s+(?=[^a-z])", text) if re.search(r"\w", part))


def words(text: str) -> int:
    return len(re.findall(r"\w[\w'’.,/-]*", text))


def gaps(notebook: NotebookNode) -> Iterator[tuple[str, int]]:
    """How many words stand before each code cell that the reader sees. Folded answers are not counted."""
    count = 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            open_text = re.sub(r"<details>.*?</details>", "", cell.source, flags=re.DOTALL)
            count += sum(words(sentence) for sentence in sentences(open_text))
        elif is_seen(cell):
            yield cell.id, count
            count = 0


# --- code -------------------------------------------------------------------------------------------------------------


@rule
def cells_are_short(notebook: NotebookNode) -> Findings:
    counts = {cell.id: lines(cell) for cell in of_type(notebook, "code") if is_code_seen(cell)}
    for cell, count in counts.items():
        if count > CELL_LINES_MAX:
            yield Finding(cell, f"{count} lines of code; at most {CELL_LINES_MAX}")
    if counts and median(counts.values()) > CELL_LINES_MEDIAN:
        yield Finding("the chapter", f"half of its cells are longer than {CELL_LINES_MEDIAN} lines")


@rule
def setup_comes_first(notebook: NotebookNode) -> Findings:
    first = of_type(notebook, "code")[0]
    if tags(first) != {"setup", "remove-cell"} or "qkv" not in first.source:
        yield Finding(first.id, "the first code cell looks for qkv, and is tagged setup and remove-cell")


@rule
def imports_stand_together(notebook: NotebookNode) -> Findings:
    for cell in of_type(notebook, "code")[2:]:
        if re.search(r"^\s*(import|from)\s+\w", cell.source, re.MULTILINE):
            yield Finding(cell.id, "imports; they belong in the second code cell")


@rule
def seeds_stand_with_the_imports(notebook: NotebookNode) -> Findings:
    """A generator of one's own may be seeded anywhere; the global state may not."""
    second, *later = of_type(notebook, "code")[1:]
    seeding = re.compile(r"torch\.manual_seed\(|random\.seed\(|torch\.seed\(")
    if not seeding.search(second.source):
        yield Finding(second.id, "does not seed: call torch.manual_seed after the imports")
    for cell in later:
        if seeding.search(cell.source):
            yield Finding(cell.id, "seeds again")


@rule
def no_magic(notebook: NotebookNode) -> Findings:
    for cell in of_type(notebook, "code"):
        if re.search(r"^\s*[%!]|;\s*$", cell.source, re.MULTILINE):
            yield Finding(cell.id, "a magic, a shell command, or a semicolon at the end of a line")


@rule
def nothing_was_run(notebook: NotebookNode) -> Findings:
    for cell in of_type(notebook, "code"):
        if cell.outputs or cell.execution_count is not None:
            yield Finding(cell.id, "carries outputs or an execution count")


@rule
def figures_have_alt_text(notebook: NotebookNode) -> Findings:
    for cell in of_type(notebook, "code"):
        names = [ast.unparse(call.func) for call in calls(cell)]
        shown = [call for call in calls(cell) if ast.unparse(call.func) == "show"]
        if "plt.show" in names or (not shown and {"plt.subplots", "plt.figure"} & set(names)):
            yield Finding(cell.id, "draws a figure and does not hand it to qkv.figures.show")
        for call in shown:
            alt = next((keyword.value for keyword in call.keywords if keyword.arg == "alt"), None)
            if alt is None or (isinstance(alt, ast.Constant) and not str(alt.value).strip()):
                yield Finding(cell.id, "show(…) without alt text")


@rule
def hidden_cells_hold_numbers(notebook: NotebookNode) -> Findings:
    for cell in of_type(notebook, "code")[1:]:
        if not is_seen(cell) and "assert" not in cell.source:
            yield Finding(cell.id, "is hidden and asserts nothing")
        if "remove-input" in tags(cell) and not predict_calls(cell):
            yield Finding(cell.id, "hides its code, and is no Predict")


@rule
def a_widget_is_shown(notebook: NotebookNode) -> Findings:
    code = of_type(notebook, "code")
    imported = re.findall(r"from qkv\.widgets import (.+)", "\n".join(cell.source for cell in code))
    names = {name.strip() for group in imported for name in group.strip("()").split(",")}
    if not any(ast.unparse(call.func) in names for cell in code for call in calls(cell)):
        yield Finding("the chapter", "shows no widget")


# --- cells ------------------------------------------------------------------------------------------------------------


@rule
def ids_are_readable(notebook: NotebookNode) -> Findings:
    for cell in notebook.cells:
        if not CELL_ID.fullmatch(cell.id) or re.fullmatch(r"(?=.*\d)[0-9a-f]{6,}(-\d+)?", cell.id):
            yield Finding(cell.id, "the id says nothing: a few words joined by hyphens")


@rule
def tags_are_known(notebook: NotebookNode) -> Findings:
    for cell in notebook.cells:
        if unknown := tags(cell) - TAGS:
            yield Finding(cell.id, f"tagged {', '.join(sorted(unknown))}; known are {', '.join(sorted(TAGS))}")


# --- prose ------------------------------------------------------------------------------------------------------------


@rule
def sentences_are_short(notebook: NotebookNode) -> Findings:
    counts = []
    for cell in notebook.cells:
        for sentence in sentences(prose(cell)):
            counts.append(words(sentence))
            if counts[-1] > SENTENCE_WORDS_MAX:
                yield Finding(cell.id, f"{counts[-1]} words, at most {SENTENCE_WORDS_MAX}: {sentence}")
    if counts and median(counts) > SENTENCE_WORDS_MEDIAN:
        yield Finding("the chapter", f"half of its sentences are longer than {SENTENCE_WORDS_MEDIAN} words")


@rule
def prose_leaves_room_for_code(notebook: NotebookNode) -> Findings:
    counts = dict(gaps(notebook))
    for cell, count in counts.items():
        if count > GAP_WORDS_MAX:
            yield Finding(cell, f"{count} words of prose before it; at most {GAP_WORDS_MAX}")
    if counts and median(counts.values()) > GAP_WORDS_MEDIAN:
        yield Finding("the chapter", f"half of its code cells have more than {GAP_WORDS_MEDIAN} words before them")


@rule
def banned_words_are_absent(notebook: NotebookNode) -> Findings:
    for cell in notebook.cells:
        for word in BANNED.findall(plain(prose(cell))):
            yield Finding(cell.id, f"says “{word}”")


@rule
def markdown_reads_everywhere(notebook: NotebookNode) -> Findings:
    """JupyterLab and Colab show MyST's directives and roles as they are typed."""
    for cell in of_type(notebook, "markdown"):
        if re.search(r"^(```|:::+|~~~)\{|\{[\w:-]+\}`", cell.source, re.MULTILINE):
            yield Finding(cell.id, "a MyST directive or role, which Colab shows as typed")
        if "![" in cell.source or "<img" in cell.source:
            yield Finding(cell.id, "an image in Markdown; figures come from code")


@rule
def headings_are_in_order(notebook: NotebookNode) -> Findings:
    found = list(headings(notebook))
    if [depth for _, depth, _ in found].count(1) != 1 or found[0][1] != 1:
        yield Finding("the chapter", "one # heading is its title, and comes first")
    for cell, depth, text in found:
        if depth > 3:
            yield Finding(cell, f"a heading below ###: {text}")


@rule
def headings_are_in_sentence_case(notebook: NotebookNode) -> Findings:
    for cell, _, text in headings(notebook):
        if capitals := [w for w in re.findall(r"(?<=\s)[A-Z][a-z]+", text) if w not in NAMES]:
            yield Finding(cell, f"a heading with capitals inside ({', '.join(capitals)}): {text}")


# --- anatomy ----------------------------------------------------------------------------------------------------------


@rule
def predictions_are_asked_and_answered(notebook: NotebookNode) -> Findings:
    """`predict-x` offers two to four options, by widget or as a lettered quotation, and each gets its reason."""
    in_text = [cell for cell in of_type(notebook, "markdown") if PREDICT in cell.source]
    by_widget = [(cell, call) for cell in of_type(notebook, "code") for call in predict_calls(cell)]
    if not in_text and not by_widget:
        yield Finding("the chapter", "asks for no prediction")
    for cell in [*in_text, *(cell for cell, _ in by_widget)]:
        if not cell.id.startswith("predict-"):
            yield Finding(cell.id, "the cell of a prediction is called predict-…")
    for cell in in_text:
        yield from answer_in_text(notebook, cell)
    for cell, call in by_widget:
        yield from answer_by_widget(cell, call)


def answer_in_text(notebook: NotebookNode, question: NotebookNode) -> Findings:
    """After the code that decides, `answer-x` says of each letter what is right or wrong about it."""
    offered = re.findall(r"^> - \*\*([A-D])\.\*\*", question.source, re.MULTILINE)
    if offered not in (["A", "B"], ["A", "B", "C"], ["A", "B", "C", "D"]):
        yield Finding(question.id, "options are a list in the quotation, from **A.** to at most **D.**")
    place = {cell.id: number for number, cell in enumerate(notebook.cells)}
    name = question.id.replace("predict-", "answer-", 1)
    if name not in place or name == question.id:
        yield Finding(question.id, "is answered by no cell called answer-…")
        return
    between = notebook.cells[place[question.id] : place[name]]
    if not any(cell.cell_type == "code" and is_seen(cell) for cell in between):
        yield Finding(question.id, "no code between the question and its answer")
    if offered != re.findall(r"^- \*\*([A-D])\*\*", notebook.cells[place[name]].source, re.MULTILINE):
        yield Finding(name, "each option has a reason, in a list that begins with its letter: - **A** …")


def answer_by_widget(cell: NotebookNode, call: ast.Call) -> Findings:
    """Predict takes pairs of an option and its reason, and knows which is right."""
    options = call.args[1].elts if len(call.args) > 1 and isinstance(call.args[1], ast.List) else []
    if not 2 <= len(options) <= 4:
        yield Finding(cell.id, "Predict takes a list of two to four options")
    if any(not isinstance(option, ast.Tuple) or len(option.elts) != 2 for option in options):
        yield Finding(cell.id, "each option of Predict is a pair: what it says, and why it is right or wrong")


@rule
def the_parts_are_there(notebook: NotebookNode) -> Findings:
    sections = [text for _, depth, text in headings(notebook) if depth == 2]
    if sections[-3:] != ENDING:
        yield Finding("the chapter", f"ends with {', '.join(ENDING)}")
    for part in ("Break it", "In the wild"):
        if not any(section.startswith(part) for section in sections):
            yield Finding("the chapter", f"has no section “{part}”")


def lint(notebook: NotebookNode) -> dict[str, list[Finding]]:
    """All findings, by rule; rules that found nothing are left out."""
    found = {name: list(check(notebook)) for name, check in RULES.items()}
    return {name: findings for name, findings in found.items() if findings}
