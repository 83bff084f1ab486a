"""The HTML of the parts of a page that run code: editors, buttons, and elements for output, cards and points.

It is part of the built page, so that nothing moves when `browser_python/runtime/page.js` starts. Without scripts and
in print it is hidden, and the page shows the plain exercise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any, NamedTuple

from browser_python.highlighting import highlighted
from qkv.questions import find
from tools.translations.skin import t

SIGN = "qkv-cell-"  # prefix of the CSS class that names a cell's kind
STORAGE_KEY = "qkv-answers"  # in localStorage
# Before the first paint, this script puts the text of an earlier visit into the editor instead of the stub.
RESTORE = f"""<script>
function qkvRestore() {{
  const area = document.currentScript.previousElementSibling;
  try {{
    const kept = JSON.parse(localStorage.getItem("{STORAGE_KEY}")).answers[area.dataset.key];
    if (typeof kept.source === "string") area.value = kept.source;
  }} catch {{ /* no saved answer, or storage is blocked: the stub remains */ }}
  if (area.value !== area.defaultValue) area.previousElementSibling.remove();
  area.rows = Math.max(2, area.value.split("\\n").length);
}}
</script>"""
# In a cell of parts, each part begins with a line such as "# 5.1: …": the question whose answer it is.
BROUGHT = re.compile(r"^# (\d+\.\d+): ", re.MULTILINE)
BRING = (
    '<p class="qkv-do"><button type="button" class="qkv-run" data-do="bring">{}</button> '
    '<span class="qkv-said" role="status"></span></p>'
)
LAST_VERDICT = '<span class="qkv-said qkv-last">{}</span>'
PAD = """import torch
from qkv.attention import attention

q, k, v = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 2)
out, weights = attention(q, k, v)
print(weights.sum(dim=-1))
out
"""


class Cell(NamedTuple):
    """A code cell of an exercise to which the page adds something, such as an editor."""

    place: int  # index in the notebook
    kind: str  # "imports", "answer", "try", "check" or "progress"
    question: str
    source: str
    points: float


# ── kinds of cells ────────────────────────────────────────────────────────────────────────────────
def page_cells(cells: list[dict[str, Any]]) -> list[Cell]:
    """Return the code cells of an exercise to which the page adds something. An answer has the points of its check.

    Without a check, it has 0.
    """
    found = list(cells_with_kinds(cells))
    points = {cell.question: cell.points for cell in found if cell.kind == "check"}
    return [cell._replace(points=points.get(cell.question, 0)) if cell.kind == "answer" else cell for cell in found]


def cells_with_kinds(cells: list[dict[str, Any]]) -> Iterator[Cell]:
    """Yield the code cells of an exercise that have a kind. Only a check has points.

    A cell's question is the last one that its own id or that of a cell above names, as "5.1"; before the first one, "".
    """
    question = ""
    for place, cell in enumerate(cells):
        name = str(cell.get("id", ""))
        if found := re.fullmatch(r"(?:question|parts|try|check)-(\d+)-(\d+)", name):
            question = f"{found[1]}.{found[2]}"
        kind = kind_of(name, cell)
        if kind:
            about = cell["metadata"].get("nbgrader", {})
            yield Cell(place, kind, question, "".join(cell["source"]), float(about.get("points", 0)))


def kind_of(name: str, cell: dict[str, Any]) -> str:
    """Return the kind of a cell to which the page adds something, such as "answer"; an empty string for other cells."""
    if cell["cell_type"] != "code":
        return ""
    if name in ("imports", "progress"):
        return name
    if cell["metadata"].get("nbgrader", {}).get("solution"):
        return "answer"
    return name.partition("-")[0] if name.startswith(("try-", "check-")) else ""


# ── HTML of each kind ─────────────────────────────────────────────────────────────────────────────
def html_of(cell: Cell) -> str:
    """Return the HTML that the page shows beside a cell's code, or instead of it.

    It is empty for a check, whose HTML is that of its answer.
    """
    drawn = {"imports": offer, "answer": answer, "try": attempt, "progress": points}
    return drawn[cell.kind](cell) if cell.kind in drawn else ""


def offer(_: Cell) -> str:
    """Return a paragraph that says what the reader can do here, and the script that every editor of the page calls.

    If Python cannot run, `page.js` replaces the paragraph's text.
    """
    words = t(
        "You can answer on this page. <strong>Check</strong> loads Python (about 5 MB, once) into this browser and "
        "runs the course’s own check there. What you write stays in this browser. <strong>Run</strong> works as in a "
        "notebook: names stay until you press <strong>Restart</strong>, and the imports and answers above run first."
    )
    return f'{RESTORE}<p class="qkv-live qkv-offer" role="status">{words}</p>'


def restart() -> str:
    """Return the button that starts Python again, hidden until something has run."""
    return f'<button type="button" class="qkv-run" data-do="restart" hidden>{t("Restart")}</button>'


def printed() -> str:
    """Return the element for what a cell prints."""
    return f'<pre class="qkv-printed" tabindex="0" aria-label="{t("What it printed")}" hidden></pre>'


def answer(cell: Cell) -> str:
    """Return the editor of an answer, which holds the stub, and the button and card of its check.

    Without points there is no check. A cell with parts of earlier answers has a button that brings them.
    """
    brought = BROUGHT.findall(cell.source)
    named = re.search(r"^(?:def|class) (\w+)", cell.source, re.MULTILINE) if not brought else None
    name = f' data-name="{named[1]}"' if named else ""
    parts = ", ".join(brought)
    label = t("Your parts {parts}", parts=parts) if brought else t("Your answer to question {n}", n=cell.question)
    area = editor(cell.question, label, cell.source, name)
    bring = BRING.format(t("Bring my answers")) if brought else ""
    checked = check(cell) if cell.points else ""
    return f'<div class="qkv-live qkv-answer" data-question="{cell.question}">{area}{bring}</div>{checked}'


def attempt(cell: Cell) -> str:
    """Return the editor, buttons and output element of a cell in which the reader tries an answer."""
    area = editor(f"try {cell.question}", t("Code to try question {n}", n=cell.question), cell.source)
    return f'<div class="qkv-live">{area}{buttons("run")}{printed()}</div>'


def editor(key: str, label: str, source: str, more: str = "") -> str:
    """Return a text area for code as HTML. When the reader focuses it, `page.js` replaces it by a code editor.

    Until then, and until its text is another one, it is drawn with the colours and the indentation of that editor. A
    script behind it restores the text of an earlier visit. `key` is its name, `label` its text for screen readers,
    `more` further attributes; `key` and `more` are not escaped.
    """
    rows = max(2, source.count("\n") + 1)
    return (
        '<div class="qkv-code"><pre class="qkv-code-drawn highlight" aria-hidden="true">'
        f"<code>{highlighted(source)}</code></pre>"
        f'<textarea class="qkv-editor" rows="{rows}" data-key="{key}"{more} aria-label="{escape(label)}" '
        'spellcheck="false" autocapitalize="off" autocomplete="off">\n'
        f"{escape(source)}</textarea><script>qkvRestore()</script></div>"
    )


KEYS = 'title="Shift+Enter" aria-keyshortcuts="Shift+Enter Control+Enter"'  # in the editor (runtime/page.js)


def buttons(do: str, more: str = "") -> str:
    """Return the button that runs or checks a cell, the Stop button, and an element for status messages.

    `do` is "run" or "check"; "run" also has the Restart button. `more` is HTML behind them.
    """
    word = t("Run") if do == "run" else t("Check")
    run = f'<button type="button" class="qkv-run" data-do="{do}" {KEYS}>{word}</button>'
    stop = f'<button type="button" class="qkv-run" data-do="stop" disabled>{t("Stop")}</button>'
    again = f" {restart()}" if do == "run" else ""
    return f'<p class="qkv-do">{run} {stop}{again} <span class="qkv-said" role="status"></span>{more}</p>'


def runnable(name: str) -> str:
    """Return the elements below a chapter's cell: buttons to run and edit it here, a status, and its output.

    `name` is the cell's id.
    """
    run = f'<button type="button" class="qkv-run" data-do="runCell" {KEYS}>{t("Run")}</button>'
    edit = f'<button type="button" class="qkv-run" data-do="edit">{t("Edit")}</button>'
    stop = f'<button type="button" class="qkv-run" data-do="stop" disabled hidden>{t("Stop")}</button>'
    reset = f'<button type="button" class="qkv-run" data-do="reset" hidden>{t("Reset")}</button>'
    said = '<span class="qkv-said" role="status"></span>'
    parts = f'<p class="qkv-do">{run} {edit} {stop} {reset} {restart()} {said}</p>{printed()}'
    return f'<div class="qkv-live qkv-own" data-cell="{name}">{parts}</div>'


def not_here(why: str) -> str:
    """Return the note below a chapter's cell that prints, but cannot run on the page.

    `why` follows the word "it", in English: "uses NAME", or another reason, which is translated.
    """
    _, uses, name = why.partition("uses ")
    reason = t("uses {name}", name=name) if uses else t(why)
    words = t("In the notebook only: it {why}.", why=reason)
    return f'<p class="qkv-live qkv-own qkv-said">{escape(words)}</p>'


def scratch() -> str:
    """Return a cell for code of the reader's own, with its offer."""
    words = t(
        "<strong>Run</strong> loads Python (about 5 MB, once) into this browser. What you write stays in this browser. "
        "Names stay from one Run to the next, until you press <strong>Restart</strong>."
    )
    offer = f'{RESTORE}<p class="qkv-live qkv-offer" role="status">{words}</p>'
    return (
        f'{offer}<div class="qkv-live {SIGN}pad">{editor("pad", t("Your code"), PAD)}{buttons("run")}{printed()}</div>'
    )


def check(cell: Cell) -> str:
    """Return the button that checks an answer, its points, and the element for its card.

    Raises:
        KeyError: there is no question with the cell's number.
    """
    about = f'data-question="{cell.question}" data-points="{cell.points:g}"'
    about += " data-models" if find(cell.question).in_model else ""  # the check runs a trained model, too
    last = LAST_VERDICT.format(t("{n} points", n=f"{cell.points:g}"))
    card = '<div class="qkv-verdict" aria-live="polite"></div>'
    return f'<div class="qkv-live qkv-check" {about}>{buttons("check", last)}{card}</div>'


def points(_: Cell) -> str:
    """Return the element for the points so far, and the buttons that download and clear the answers."""
    words = {"download": t("Download my notebook"), "clear": t("Clear my answers")}
    tools = " ".join(
        f'<button type="button" class="qkv-run" data-do="{do}">{word}</button>' for do, word in words.items()
    )
    return f'<div class="qkv-live qkv-points"><p role="status"></p><p class="qkv-do">{tools}</p></div>'
