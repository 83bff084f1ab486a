"""What the style guide says of chapters and a machine can count. Medians and maxima: nobody is asked to write more.

A rule takes a notebook and yields findings; a rule of the course takes all of its notebooks. Each has a counter-example
in `test_lint.py` that turns it red. `qkv_site.reading` counts, here and on the site.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

from nbformat import NotebookNode
from qkv_site.reading import (
    calls,
    lines,
    of_type,
    open_sentences,
    plain,
    reading,
    sentences,
    tags,
    widget_calls,
    words,
)

CELL_LINES_MAX, CELL_LINES_MEDIAN = 20, 8
FOLDED_LINES_MAX = 30  # of what is folded or hidden, where the formatter gives a name or an option a line of its own
SENTENCE_WORDS_MAX, SENTENCE_WORDS_MEDIAN = 30, 16
GAP_WORDS_MAX, GAP_WORDS_MEDIAN = 200, 100  # prose between two code cells that the reader sees
CORE_WORDS, CORE_LINES, CORE_MINUTES = 2200, 250, 45
BANNED = re.compile(r"\b(simply|obviously|just|trivially|of course)\b", re.IGNORECASE)
TIME = re.compile(r"\bset aside\b|\babout \d+ minutes\b|\bminutes of reading\b", re.IGNORECASE)
TAGS = {"setup", "remove-cell", "hide-input", "remove-input"}
CELL_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
NAMES = {"Adam", "Adafactor", "Jacobian", "Python", "PyTorch", "Llama", "I"}  # capitalised inside a heading, too
ENDING = ["Summary", "Exercises", "References"]
LETTERS = "ABCD"
DEEPER = "chapters/deeper/"


class Finding(NamedTuple):
    """What is wrong, and in which cell or page."""

    where: str
    what: str


Findings = Iterator[Finding]
Rule = Callable[[NotebookNode], Findings]
Pages = Mapping[str, NotebookNode]  # by name, such as chapters/03_scaling
RULES: dict[str, Rule] = {}
COURSE_RULES: dict[str, Callable[[Pages], Findings]] = {}
OF_CHAPTERS: set[str] = set()  # rules that a deeper page need not keep


def rule(check: Rule) -> Rule:
    """Enter a rule for every page, under its own name."""
    RULES[check.__name__] = check
    return check


def chapter_rule(check: Rule) -> Rule:
    """Enter a rule for chapters alone: a deeper page need not keep it."""
    OF_CHAPTERS.add(check.__name__)
    return rule(check)


def course_rule(check: Callable[[Pages], Findings]) -> Callable[[Pages], Findings]:
    """Enter a rule about all pages together, under its own name."""
    COURSE_RULES[check.__name__] = check
    return check


# --- reading a notebook -----------------------------------------------------------------------------------------------


def is_seen(cell: NotebookNode) -> bool:
    """Whether the site shows the cell's code or result."""
    return "remove-cell" not in tags(cell)


def is_code_seen(cell: NotebookNode) -> bool:
    """Whether the site shows the code itself, open or folded."""
    return is_seen(cell) and "remove-input" not in tags(cell)


def predict_calls(cell: NotebookNode) -> list[ast.Call]:
    """The predictions that a code cell asks for: calls of widgets whose names begin with Predict."""
    if cell.cell_type != "code":
        return []
    return [call for call in calls(cell) if ast.unparse(call.func).startswith("Predict")]


def options(call: ast.Call) -> list[ast.expr]:
    """What a prediction offers to choose from: Predict(question, [(option, reason), …], answer="B")."""
    if ast.unparse(call.func) != "Predict" or len(call.args) < 2 or not isinstance(call.args[1], ast.List):
        return []
    return call.args[1].elts


def is_choice(call: ast.Call) -> bool:
    """Whether a prediction is one option of several, and not a number, a curve or a drawing."""
    return bool(options(call))


def prose(cell: NotebookNode) -> str:
    """What a cell says to its reader: its Markdown, or the texts of a prediction."""
    if cell.cell_type == "markdown":
        return str(cell.source)
    texts = [node.value for call in predict_calls(cell) for node in ast.walk(call) if isinstance(node, ast.Constant)]
    return "\n\n".join(text for text in texts if isinstance(text, str) and len(text) > 1)


def headings(notebook: NotebookNode) -> Iterator[tuple[str, int, str]]:
    """Cell, depth and text of every heading."""
    for cell in of_type(notebook, "markdown"):
        for hashes, text in re.findall(r"^(#+)\s+(.+)$", cell.source, re.MULTILINE):
            yield cell.id, len(hashes), text.strip()


def gaps(notebook: NotebookNode) -> Iterator[tuple[str, int]]:
    """How many words stand before each code cell that the reader sees. Folded answers are not counted."""
    count = 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            count += sum(words(sentence) for sentence in open_sentences(cell))
        elif is_seen(cell):
            yield cell.id, count
            count = 0


def all_words(notebook: NotebookNode) -> int:
    """Every word on the page, in headings, tables and references too; a formula or a piece of code is one word."""
    count = 0
    for cell in of_type(notebook, "markdown"):
        text = re.sub(r"</?\w[^>]*>", " ", re.sub(r"\$\$.+?\$\$", " f ", cell.source, flags=re.DOTALL))
        text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
        count += len(re.findall(r"\w[\w'’.,/-]*", re.sub(r"\$[^$]+\$|`[^`]+`", "symbol", text)))
    return count


def all_lines(notebook: NotebookNode) -> int:
    """Every line of code on the page, folded and empty ones too."""
    return sum(len(cell.source.splitlines()) for cell in of_type(notebook, "code") if is_code_seen(cell))


# --- code -------------------------------------------------------------------------------------------------------------


@rule
def cells_are_short(notebook: NotebookNode) -> Findings:
    """What the reader does not see at first may be longer, folded imports among it."""
    imports = [cell.id for cell in of_type(notebook, "code")[1:2] if "hide-input" in tags(cell)]
    code = of_type(notebook, "code")
    counts = {cell.id: lines(cell) for cell in code if is_code_seen(cell) and cell.id not in imports}
    for cell in code:
        most = CELL_LINES_MAX if cell.id in counts else FOLDED_LINES_MAX
        if (count := lines(cell)) > most:
            yield Finding(cell.id, f"{count} lines of code; at most {most}")
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
            yield Finding(cell.id, "hides its code, and asks for no prediction")


@rule
def folded_code_draws_or_imports(notebook: NotebookNode) -> Findings:
    """Code that is folded is not counted, so what teaches stands open."""
    imports = of_type(notebook, "code")[1]
    for cell in of_type(notebook, "code"):
        draws = any(ast.unparse(call.func) == "show" for call in calls(cell))
        if "hide-input" in tags(cell) and not draws and cell.id != imports.id:
            yield Finding(cell.id, "is folded, and neither draws a figure nor imports")


@chapter_rule
def a_widget_is_shown(notebook: NotebookNode) -> Findings:
    if not reading(notebook).widgets:
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


@chapter_rule
def a_prediction_is_asked_for(notebook: NotebookNode) -> Findings:
    if not reading(notebook).predictions:
        yield Finding("the chapter", "asks for no prediction")


@rule
def predictions_are_answered(notebook: NotebookNode) -> Findings:
    """`predict-x` asks by widget; where it offers options, there are two to four, and each gets its reason."""
    for cell, name, call in widget_calls(notebook):
        if not name.startswith("Predict"):
            continue
        if not cell.id.startswith("predict-"):
            yield Finding(cell.id, "the cell of a prediction is called predict-…")
        if is_choice(call) and not 2 <= len(options(call)) <= 4:
            yield Finding(cell.id, "Predict takes a list of two to four options")
        if any(not isinstance(option, ast.Tuple) or len(option.elts) != 2 for option in options(call)):
            yield Finding(cell.id, "each option of Predict is a pair: what it says, and why it is right or wrong")


@chapter_rule
def the_parts_are_there(notebook: NotebookNode) -> Findings:
    sections = [text for _, depth, text in headings(notebook) if depth == 2]
    if sections[-3:] != ENDING:
        yield Finding("the chapter", f"ends with {', '.join(ENDING)}")
    for part in ("Break it", "In the wild"):
        if not any(section.startswith(part) for section in sections):
            yield Finding("the chapter", f"has no section “{part}”")


@chapter_rule
def the_core_is_short(notebook: NotebookNode) -> Findings:
    """What goes beyond stands on a page of its own, in chapters/deeper."""
    for count, most, of in (
        (all_words(notebook), CORE_WORDS, "words"),
        (all_lines(notebook), CORE_LINES, "lines of code"),
        (reading(notebook).minutes, CORE_MINUTES, "minutes"),
    ):
        if count > most:
            yield Finding("the chapter", f"{count:,} {of}; at most {most:,}")


@rule
def the_site_says_the_time(notebook: NotebookNode) -> Findings:
    """The time is computed, and stands under the title: a second number would differ from it."""
    for cell in of_type(notebook, "markdown"):
        if said := TIME.search(plain(cell.source)):
            yield Finding(cell.id, f"says “{said[0]}”; the site computes the time and shows it")


# --- the course -------------------------------------------------------------------------------------------------------


class Choice(NamedTuple):
    """A prediction with options: how long each is in characters, and which is right, counted from 0."""

    lengths: list[int]
    right: int


def choices(pages: Pages) -> list[Choice]:
    """The predictions of these pages that offer options."""
    found = []
    for page in pages.values():
        for call in (call for cell in page.cells for call in predict_calls(cell) if is_choice(call)):
            answer = next(ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg == "answer")
            texts = [ast.literal_eval(option)[0] for option in options(call)]
            found.append(Choice([len(text) for text in texts], LETTERS.index(answer)))
    return found


def hits(of: Callable[[list[int]], int], choice: Choice) -> float:
    """How often one who takes the longest option, or the shortest, is right; of equal ones each is taken as often."""
    wanted = of(choice.lengths)
    return (choice.lengths[choice.right] == wanted) / choice.lengths.count(wanted)


@course_rule
def choices_cannot_be_guessed(pages: Pages) -> Findings:
    """The right option is as often long as short, and as often A as D: nearly as often as by chance."""
    found = choices(pages)
    by_chance = sum(1 / len(choice.lengths) for choice in found)
    ways = [
        ("the longest option", sum(hits(max, choice) for choice in found), by_chance),
        ("the shortest option", sum(hits(min, choice) for choice in found), by_chance),
    ]
    for place, letter in enumerate(LETTERS):
        expected = sum(1 / len(choice.lengths) for choice in found if place < len(choice.lengths))
        ways.append((f"option {letter}", sum(choice.right == place for choice in found), expected))
    for way, right, expected in ways:
        if abs(right - expected) > 1 + expected / 4:
            yield Finding("the course", f"{way} is right {right:.3g} times in {len(found)}; by chance {expected:.1f}")


@course_rule
def a_third_of_predictions_are_no_choices(pages: Pages) -> Findings:
    every = sum(len(predict_calls(cell)) for page in pages.values() for cell in page.cells)
    others = every - len(choices(pages))
    if others < every // 3:
        yield Finding(
            "the course", f"{others} of {every} predictions are a number, a curve or a drawing: under a third"
        )


@course_rule
def deeper_pages_are_linked(pages: Pages) -> Findings:
    """From the chapter with their number, at the place; and they lead back to it."""
    for name, page in pages.items():
        if not name.startswith(DEEPER):
            continue
        number = Path(name).name[:2]
        chapters = {other: text for other, text in pages.items() if re.fullmatch(rf"chapters/{number}_\w+", other)}
        if not any(f"](deeper/{Path(name).name}.ipynb" in cell.source for at in chapters.values() for cell in at.cells):
            yield Finding(name, f"is linked from no chapter {number}: [its title](deeper/{Path(name).name}.ipynb)")
        if not any(f"](../{Path(other).name}.ipynb" in cell.source for other in chapters for cell in page.cells):
            yield Finding(name, f"does not lead back to chapter {number}: (../{number}_….ipynb)")


# --- all of them ------------------------------------------------------------------------------------------------------


def rules_for(name: str) -> set[str]:
    """The rules that a page keeps: a deeper one is spared some."""
    return set(RULES) - (OF_CHAPTERS if name.startswith(DEEPER) else set())


def lint(notebook: NotebookNode, name: str = "") -> dict[str, list[Finding]]:
    """All findings about a page, by rule; rules that found nothing are left out."""
    found = {rule: list(RULES[rule](notebook)) for rule in sorted(rules_for(name))}
    return {rule: findings for rule, findings in found.items() if findings}


def lint_course(pages: Pages) -> dict[str, list[Finding]]:
    """All findings about the pages together, by rule."""
    found = {name: list(check(pages)) for name, check in COURSE_RULES.items()}
    return {name: findings for name, findings in found.items() if findings}
