"""Check the rules of style for chapters that a program can check. Limits are medians and maxima, never minima.

A rule is a function that takes a notebook and yields findings; a course rule takes all notebooks. `test_lint.py` has a
counter-example for each rule. `qkv_site.reading` counts words and lines, here and on the site.
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
FOLDED_LINES_MAX = 30  # for folded or hidden code, which the formatter may split into one name or option per line
SENTENCE_WORDS_MAX, SENTENCE_WORDS_MEDIAN = 30, 16
GAP_WORDS_MAX, GAP_WORDS_MEDIAN = 200, 100  # prose between two code cells that the reader sees
CORE_WORDS, CORE_LINES, CORE_MINUTES = 2200, 250, 45
BANNED = re.compile(r"\b(simply|obviously|just|trivially|of course)\b", re.IGNORECASE)
TIME = re.compile(r"\bset aside\b|\babout \d+ minutes\b|\bminutes of reading\b", re.IGNORECASE)
SKIPPED = "skip-execution"  # the build of the site leaves this cell out; readers and the sweeps run it
TAGS = {"setup", "remove-cell", "hide-input", "remove-input", "uncovered", SKIPPED}
CELL_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
NAMES = {"Adam", "Adafactor", "Jacobian", "Python", "PyTorch", "Llama", "I"}  # capitalised also inside a heading
ENDING = ["Summary", "Exercises", "References"]
LETTERS = "ABCD"
DEEPER = "chapters/deeper/"
OPENING = "opening"  # the id of the cell whose widget opens a chapter


class Finding(NamedTuple):
    """A violation of a rule, and its cell or page."""

    where: str
    what: str


Findings = Iterator[Finding]
Rule = Callable[[NotebookNode], Findings]
Pages = Mapping[str, NotebookNode]  # by name, such as chapters/03_scaling
RULES: dict[str, Rule] = {}
COURSE_RULES: dict[str, Callable[[Pages], Findings]] = {}
OF_CHAPTERS: set[str] = set()  # rules that do not apply to deeper pages


def rule(check: Rule) -> Rule:
    """Register a rule for every page, under its own name."""
    RULES[check.__name__] = check
    return check


def chapter_rule(check: Rule) -> Rule:
    """Register a rule for chapters only, not for deeper pages."""
    OF_CHAPTERS.add(check.__name__)
    return rule(check)


def course_rule(check: Callable[[Pages], Findings]) -> Callable[[Pages], Findings]:
    """Register a rule about all pages together, under its own name."""
    COURSE_RULES[check.__name__] = check
    return check


# --- reading a notebook -----------------------------------------------------------------------------------------------


def is_seen(cell: NotebookNode) -> bool:
    """Check whether the site shows a cell's code or result."""
    return "remove-cell" not in tags(cell)


def is_code_seen(cell: NotebookNode) -> bool:
    """Check whether the site shows a cell's code, open or folded."""
    return is_seen(cell) and "remove-input" not in tags(cell)


def setup_and_imports(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the code cells that prepare the notebook: setup and imports. A chapter's opening may lie between them."""
    return [cell for cell in of_type(notebook, "code") if cell.id != OPENING][:2]


def predict_calls(cell: NotebookNode) -> list[ast.Call]:
    """Return the predictions in a code cell: calls of widgets whose names begin with Predict."""
    if cell.cell_type != "code":
        return []
    return [call for call in calls(cell) if ast.unparse(call.func).startswith("Predict")]


def options(call: ast.Call) -> list[ast.expr]:
    """Return the options of a prediction: Predict(question, [(option, reason), …], answer="B"); [] if it has none."""
    if ast.unparse(call.func) != "Predict" or len(call.args) < 2 or not isinstance(call.args[1], ast.List):
        return []
    return call.args[1].elts


def is_choice(call: ast.Call) -> bool:
    """Check whether a prediction is a choice between options, and not a number, a curve or a drawing."""
    return bool(options(call))


def prose(cell: NotebookNode) -> str:
    """Return the text of a cell that a reader sees: its Markdown, or the texts of its predictions."""
    if cell.cell_type == "markdown":
        return str(cell.source)
    texts = [node.value for call in predict_calls(cell) for node in ast.walk(call) if isinstance(node, ast.Constant)]
    return "\n\n".join(text for text in texts if isinstance(text, str) and len(text) > 1)


def headings(notebook: NotebookNode) -> Iterator[tuple[str, int, str]]:
    """Yield the cell, depth and text of every heading."""
    for cell in of_type(notebook, "markdown"):
        for hashes, text in re.findall(r"^(#+)\s+(.+)$", cell.source, re.MULTILINE):
            yield cell.id, len(hashes), text.strip()


def gaps(notebook: NotebookNode) -> Iterator[tuple[str, int]]:
    """Yield each code cell that the reader sees, with the number of words before it, without folded answers."""
    count = 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            count += sum(words(sentence) for sentence in open_sentences(cell))
        elif is_seen(cell):
            yield cell.id, count
            count = 0


def all_words(notebook: NotebookNode) -> int:
    """Count all words on the page, also in headings, tables and references. A formula or inline code is one word."""
    count = 0
    for cell in of_type(notebook, "markdown"):
        text = re.sub(r"<!--.*?-->|</?\w[^>]*>", " ", re.sub(r"\$\$.+?\$\$", " f ", cell.source, flags=re.DOTALL))
        text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
        count += len(re.findall(r"\w[\w'’.,/-]*", re.sub(r"\$[^$]+\$|`[^`]+`", "symbol", text)))
    return count


def all_lines(notebook: NotebookNode) -> int:
    """Count all lines of code on the page, also folded and empty ones."""
    return sum(len(cell.source.splitlines()) for cell in of_type(notebook, "code") if is_code_seen(cell))


# --- code -------------------------------------------------------------------------------------------------------------


@rule
def cells_are_short(notebook: NotebookNode) -> Findings:
    """Code cells are short. Code that the reader does not see at first may be longer, also folded imports."""
    imports = [cell.id for cell in setup_and_imports(notebook)[1:] if "hide-input" in tags(cell)]
    code = of_type(notebook, "code")
    counts = {cell.id: lines(cell) for cell in code if is_code_seen(cell) and cell.id not in imports}
    for cell in code:
        most = CELL_LINES_MAX if cell.id in counts else FOLDED_LINES_MAX
        if (count := lines(cell)) > most:
            yield Finding(cell.id, f"{count} lines of code; at most {most} are allowed")
    if counts and median(counts.values()) > CELL_LINES_MEDIAN:
        yield Finding("the chapter", f"at least half of its cells are longer than {CELL_LINES_MEDIAN} lines")


@rule
def setup_comes_first(notebook: NotebookNode) -> Findings:
    first = of_type(notebook, "code")[0]
    if tags(first) != {"setup", "remove-cell"} or "qkv" not in first.source:
        yield Finding(first.id, "the first code cell must look for qkv, and have the tags setup and remove-cell")


@rule
def imports_stand_together(notebook: NotebookNode) -> Findings:
    """All imports are in one cell, after the setup. The opening imports its own widget, because it comes before."""
    known = [OPENING, *(cell.id for cell in setup_and_imports(notebook))]
    for cell in of_type(notebook, "code"):
        if cell.id not in known and re.search(r"^\s*(import|from)\s+\w", cell.source, re.MULTILINE):
            yield Finding(cell.id, "imports something; all imports belong in the cell after the setup")


@rule
def seeds_stand_with_the_imports(notebook: NotebookNode) -> Findings:
    """The global generators are seeded once, after the imports. A local generator may be seeded anywhere."""
    second, *later = [cell for cell in of_type(notebook, "code") if cell.id != OPENING][1:]
    seeding = re.compile(r"torch\.manual_seed\(|random\.seed\(|torch\.seed\(")
    if not seeding.search(second.source):
        yield Finding(second.id, "sets no seed: call torch.manual_seed after the imports")
    for cell in later:
        if seeding.search(cell.source):
            yield Finding(cell.id, "sets the seed again")


@rule
def no_magic(notebook: NotebookNode) -> Findings:
    for cell in of_type(notebook, "code"):
        if re.search(r"^\s*[%!]|;\s*$", cell.source, re.MULTILINE):
            yield Finding(cell.id, "has a magic, a shell command, or a semicolon at the end of a line")


@rule
def nothing_was_run(notebook: NotebookNode) -> Findings:
    for cell in of_type(notebook, "code"):
        if cell.outputs or cell.execution_count is not None:
            yield Finding(cell.id, "has outputs or an execution count; remove them with: make format")


@rule
def figures_have_alt_text(notebook: NotebookNode) -> Findings:
    """Each figure is shown by `figures.show` with alt text."""
    for cell in of_type(notebook, "code"):
        names = [ast.unparse(call.func) for call in calls(cell)]
        shown = [call for call in calls(cell) if ast.unparse(call.func) == "show"]
        if "plt.show" in names or (not shown and {"plt.subplots", "plt.figure"} & set(names)):
            yield Finding(cell.id, "draws a figure without qkv.figures.show")
        for call in shown:
            alt = next((keyword.value for keyword in call.keywords if keyword.arg == "alt"), None)
            if alt is None or (isinstance(alt, ast.Constant) and not str(alt.value).strip()):
                yield Finding(cell.id, "calls show(…) without alt text")


@rule
def hidden_cells_hold_numbers(notebook: NotebookNode) -> Findings:
    """A hidden cell has an assert; a cell whose code alone is hidden has a prediction."""
    for cell in of_type(notebook, "code")[1:]:
        if not is_seen(cell) and "assert" not in cell.source:
            yield Finding(cell.id, "is hidden, but has no assert")
        if "remove-input" in tags(cell) and cell.id != OPENING and not predict_calls(cell):
            yield Finding(cell.id, "hides its code, but has no prediction")


@rule
def skipped_cells_stand_alone(notebook: NotebookNode) -> Findings:
    """What the build of the site leaves out is hidden, gives no later cell a name, and moves no later random number."""
    cells = of_type(notebook, "code")
    for place, cell in enumerate(cells):
        if SKIPPED not in tags(cell):
            continue
        if is_seen(cell):
            yield Finding(cell.id, "is left out by the build, but is not hidden")
        if "torch.random.fork_rng()" not in cell.source:
            yield Finding(cell.id, "is left out by the build: draw its random numbers inside torch.random.fork_rng()")
        later = [other for other in cells[place + 1 :] if SKIPPED not in tags(other)]
        needed = names_read(later) & names_given([cell]) - names_given(cells[:place] + later)
        if needed:
            yield Finding(cell.id, f"is left out by the build, but later cells use its {', '.join(sorted(needed))}")


def nodes(cells: list[NotebookNode]) -> Iterator[ast.AST]:
    return (node for cell in cells for node in ast.walk(ast.parse(cell.source)))


def names_read(cells: list[NotebookNode]) -> set[str]:
    return {node.id for node in nodes(cells) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def names_given(cells: list[NotebookNode]) -> set[str]:
    """Return the names of what cells assign and define, also inside functions."""
    assigned = {node.id for node in nodes(cells) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return assigned | {node.name for node in nodes(cells) if isinstance(node, ast.FunctionDef | ast.ClassDef)}


@rule
def folded_code_draws_or_imports(notebook: NotebookNode) -> Findings:
    """Only code that draws a figure or imports may be folded. Code that teaches has to be open, because it counts."""
    imports = setup_and_imports(notebook)[1]
    for cell in of_type(notebook, "code"):
        draws = any(ast.unparse(call.func) == "show" for call in calls(cell))
        if "hide-input" in tags(cell) and not draws and cell.id != imports.id:
            yield Finding(cell.id, "is folded, but neither draws a figure nor imports")


@chapter_rule
def a_widget_opens_the_chapter(notebook: NotebookNode) -> Findings:
    """A chapter begins with its title and one sentence about the widget, the setup, and the widget itself."""
    title, *_ = of_type(notebook, "markdown")
    if (count := len(list(sentences(title.source)))) != 1:
        yield Finding(title.id, f"has {count} sentences under the title; the opening needs exactly one")
    beginning = [cell.id for cell in notebook.cells[:3]]
    if beginning != [title.id, of_type(notebook, "code")[0].id, OPENING]:
        yield Finding("the chapter", f"must begin with the title, the setup and a cell “{OPENING}”")
        return
    cell = notebook.cells[2]
    names = [name for found, name, _ in widget_calls(notebook) if found.id == cell.id]
    if len(names) != 1 or names[0].startswith("Predict") or tags(cell) != {"remove-input"}:
        yield Finding(cell.id, "must show one widget that is no prediction, and have the tag remove-input")


# --- cells ------------------------------------------------------------------------------------------------------------


@rule
def ids_are_readable(notebook: NotebookNode) -> Findings:
    for cell in notebook.cells:
        if not CELL_ID.fullmatch(cell.id) or re.fullmatch(r"(?=.*\d)[0-9a-f]{6,}(-\d+)?", cell.id):
            yield Finding(cell.id, "the id is not readable: use a few words joined by hyphens")


@rule
def tags_are_known(notebook: NotebookNode) -> Findings:
    """All tags of cells are known."""
    for cell in notebook.cells:
        if unknown := tags(cell) - TAGS:
            known = ", ".join(sorted(TAGS))
            yield Finding(cell.id, f"has unknown tags: {', '.join(sorted(unknown))}. Known tags: {known}")


# --- prose ------------------------------------------------------------------------------------------------------------


@rule
def sentences_are_short(notebook: NotebookNode) -> Findings:
    """No sentence is too long, and half of them are short."""
    counts = []
    for cell in notebook.cells:
        for sentence in sentences(prose(cell)):
            counts.append(words(sentence))
            if counts[-1] > SENTENCE_WORDS_MAX:
                yield Finding(cell.id, f"a sentence of {counts[-1]} words, at most {SENTENCE_WORDS_MAX}: {sentence}")
    if counts and median(counts) > SENTENCE_WORDS_MEDIAN:
        yield Finding("the chapter", f"at least half of its sentences are longer than {SENTENCE_WORDS_MEDIAN} words")


@rule
def prose_leaves_room_for_code(notebook: NotebookNode) -> Findings:
    """There are not too many words between two code cells."""
    counts = dict(gaps(notebook))
    for cell, count in counts.items():
        if count > GAP_WORDS_MAX:
            yield Finding(cell, f"has {count} words of prose before it; at most {GAP_WORDS_MAX} are allowed")
    if counts and median(counts.values()) > GAP_WORDS_MEDIAN:
        yield Finding("the chapter", f"at least half of its code cells have over {GAP_WORDS_MEDIAN} words before them")


@rule
def banned_words_are_absent(notebook: NotebookNode) -> Findings:
    for cell in notebook.cells:
        for word in BANNED.findall(plain(prose(cell))):
            yield Finding(cell.id, f"contains the banned word “{word}”")


@rule
def markdown_reads_everywhere(notebook: NotebookNode) -> Findings:
    """Markdown has no MyST directives and roles, which JupyterLab and Colab show as raw text, and no images."""
    for cell in of_type(notebook, "markdown"):
        if re.search(r"^(```|:::+|~~~)\{|\{[\w:-]+\}`", cell.source, re.MULTILINE):
            yield Finding(cell.id, "has a MyST directive or role, which Colab shows as raw text")
        if "![" in cell.source or "<img" in cell.source:
            yield Finding(cell.id, "has an image in Markdown; draw figures with code")


@rule
def headings_are_in_order(notebook: NotebookNode) -> Findings:
    """There is one title, at the top, and no heading below ###."""
    found = list(headings(notebook))
    if [depth for _, depth, _ in found].count(1) != 1 or found[0][1] != 1:
        yield Finding("the chapter", "needs exactly one # heading, its title, before all other headings")
    for cell, depth, text in found:
        if depth > 3:
            yield Finding(cell, f"has a heading below ###: {text}")


@rule
def headings_are_in_sentence_case(notebook: NotebookNode) -> Findings:
    for cell, _, text in headings(notebook):
        if capitals := [w for w in re.findall(r"(?<=\s)[A-Z][a-z]+", text) if w not in NAMES]:
            yield Finding(cell, f"has a heading with capitals inside ({', '.join(capitals)}): {text}")


# --- anatomy ----------------------------------------------------------------------------------------------------------


@chapter_rule
def a_prediction_is_asked_for(notebook: NotebookNode) -> Findings:
    if not reading(notebook).predictions:
        yield Finding("the chapter", "has no prediction")


@rule
def predictions_are_answered(notebook: NotebookNode) -> Findings:
    """A prediction's cell has an id that begins with `predict-`; its options, if any, are two to four, with reasons."""
    for cell, name, call in widget_calls(notebook):
        if not name.startswith("Predict"):
            continue
        if not cell.id.startswith("predict-"):
            yield Finding(cell.id, "has a prediction, so its id must begin with predict-")
        if is_choice(call) and not 2 <= len(options(call)) <= 4:
            yield Finding(cell.id, "Predict needs two to four options")
        if any(not isinstance(option, ast.Tuple) or len(option.elts) != 2 for option in options(call)):
            yield Finding(cell.id, "each option of Predict must be a pair: its text, and why it is right or wrong")


@chapter_rule
def the_parts_are_there(notebook: NotebookNode) -> Findings:
    """A chapter has the sections that every chapter has, and ends with them."""
    sections = [text for _, depth, text in headings(notebook) if depth == 2]
    if sections[-3:] != ENDING:
        yield Finding("the chapter", f"must end with the sections {', '.join(ENDING)}")
    for part in ("Break it", "In the wild"):
        if not any(section.startswith(part) for section in sections):
            yield Finding("the chapter", f"has no section “{part}”")


@chapter_rule
def the_core_is_short(notebook: NotebookNode) -> Findings:
    """A chapter has limited words, lines and minutes. Further material belongs on a page in chapters/deeper."""
    for count, most, of in (
        (all_words(notebook), CORE_WORDS, "words"),
        (all_lines(notebook), CORE_LINES, "lines of code"),
        (reading(notebook).minutes, CORE_MINUTES, "minutes"),
    ):
        if count > most:
            yield Finding("the chapter", f"has {count:,} {of}; at most {most:,} are allowed")


@rule
def the_site_says_the_time(notebook: NotebookNode) -> Findings:
    """Prose does not state the reading time: the site computes it and shows it, and a second number could differ."""
    for cell in of_type(notebook, "markdown"):
        if said := TIME.search(plain(cell.source)):
            yield Finding(cell.id, f"says “{said[0]}”; remove it, because the site computes and shows the time")


# --- the course -------------------------------------------------------------------------------------------------------


class Choice(NamedTuple):
    """A prediction with options: the length of each in characters, and the index of the right one."""

    lengths: list[int]
    right: int


def choices(pages: Pages) -> list[Choice]:
    """Return all predictions with options on these pages."""
    found = []
    for page in pages.values():
        for call in (call for cell in page.cells for call in predict_calls(cell) if is_choice(call)):
            answer = next(ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg == "answer")
            texts = [ast.literal_eval(option)[0] for option in options(call)]
            found.append(Choice([len(text) for text in texts], LETTERS.index(answer)))
    return found


def hit_rate(extreme: Callable[[list[int]], int], choice: Choice) -> float:
    """Return how likely a reader who always takes the longest (or shortest) option is right.

    `extreme` is max or min. Of several options with that length, each is taken with the same probability.
    """
    wanted = extreme(choice.lengths)
    return (choice.lengths[choice.right] == wanted) / choice.lengths.count(wanted)


@course_rule
def choices_cannot_be_guessed(pages: Pages) -> Findings:
    """The length and the letter of an option do not reveal the right one: each is right about as often as by chance."""
    found = choices(pages)
    by_chance = sum(1 / len(choice.lengths) for choice in found)
    ways = [
        ("the longest option", sum(hit_rate(max, choice) for choice in found), by_chance),
        ("the shortest option", sum(hit_rate(min, choice) for choice in found), by_chance),
    ]
    for place, letter in enumerate(LETTERS):
        expected = sum(1 / len(choice.lengths) for choice in found if place < len(choice.lengths))
        ways.append((f"option {letter}", sum(choice.right == place for choice in found), expected))
    for way, right, expected in ways:
        if abs(right - expected) > 1 + expected / 4:
            times = f"{right:.3g} times in {len(found)} predictions"
            yield Finding("the course", f"{way} is right {times}; by chance it would be {expected:.1f}")


@course_rule
def a_third_of_predictions_are_no_choices(pages: Pages) -> Findings:
    """A third of the course's predictions are numbers, curves or drawings."""
    every = sum(len(predict_calls(cell)) for page in pages.values() for cell in page.cells)
    others = every - len(choices(pages))
    if others < every // 3:
        yield Finding(
            "the course", f"only {others} of {every} predictions, under a third, are a number, a curve or a drawing"
        )


@course_rule
def deeper_pages_are_linked(pages: Pages) -> Findings:
    """The chapter with the number of a deeper page links to it, and the deeper page links back."""
    for name, page in pages.items():
        if not name.startswith(DEEPER):
            continue
        number = Path(name).name[:2]
        chapters = {other: text for other, text in pages.items() if re.fullmatch(rf"chapters/{number}_\w+", other)}
        if not any(f"](deeper/{Path(name).name}.ipynb" in cell.source for at in chapters.values() for cell in at.cells):
            link = f"[its title](deeper/{Path(name).name}.ipynb)"
            yield Finding(name, f"chapter {number} does not link to it. Add there: {link}")
        if not any(f"](../{Path(other).name}.ipynb" in cell.source for other in chapters for cell in page.cells):
            yield Finding(name, f"does not link back to chapter {number}. Add a link to ../{number}_….ipynb")


# --- all of them ------------------------------------------------------------------------------------------------------


def rules_for(name: str) -> set[str]:
    """Return the names of the rules for a page: fewer for a deeper page."""
    return set(RULES) - (OF_CHAPTERS if name.startswith(DEEPER) else set())


def lint(notebook: NotebookNode, name: str = "") -> dict[str, list[Finding]]:
    """Return all findings about a page, by rule, without rules that have none."""
    found = {rule: list(RULES[rule](notebook)) for rule in sorted(rules_for(name))}
    return {rule: findings for rule, findings in found.items() if findings}


def lint_course(pages: Pages) -> dict[str, list[Finding]]:
    """Return all findings about the pages together, by rule, without rules that have none."""
    found = {name: list(check(pages)) for name, check in COURSE_RULES.items()}
    return {name: findings for name, findings in found.items() if findings}
