"""What pages have so that code runs there, as HTML: editors, buttons, places for what is printed, cards and points.

It is written when the site is built, so that nothing moves when `page/runtime/page.js` takes it over. Without scripts
and on paper it is hidden, and the page is the exercise as it is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any, NamedTuple

SIGN = "qkv-cell-"  # the class of a cell that the page knows, before what it is
KEPT = "qkv-answers"  # the entry of localStorage
# Before the first paint: what was written here at an earlier visit stands in the place of the stub.
RESTORE = f"""<script>
function qkvRestore() {{
  const area = document.currentScript.previousElementSibling;
  try {{
    const kept = JSON.parse(localStorage.getItem("{KEPT}")).answers[area.dataset.key];
    if (typeof kept.source === "string") area.value = kept.source;
  }} catch {{ /* nothing is kept, or storage is blocked: the stub stands */ }}
  area.rows = Math.max(2, area.value.split("\\n").length);
}}
</script>"""
OFFER = (
    "You can answer on this page. <strong>Check</strong> loads Python (about 5 MB, once) into this browser and runs "
    "the course’s own check there. What you write stays in this browser. Each <strong>Run</strong> begins anew, with "
    "the imports and your answers: it does not know a name from an earlier Run."
)


LAST = '<span class="qkv-said qkv-last"></span>'
PRINTED = '<pre class="qkv-printed" tabindex="0" aria-label="What it printed" hidden></pre>'
PAD = """import torch
from qkv.attention import attention

q, k, v = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 2)
out, weights = attention(q, k, v)
print(weights.sum(dim=-1))
out
"""


OFFER_TO_TRY = (
    "<strong>Run</strong> loads Python (about 5 MB, once) into this browser. What you write stays in this browser. "
    "Each Run begins anew: it does not know a name from an earlier Run."
)


class Cell(NamedTuple):
    """A code cell of an exercise that the page knows: its place, what it is, its question, and its text."""

    place: int
    kind: str
    question: str
    source: str
    points: float


# ── which cell is what ────────────────────────────────────────────────────────────────────────────
def known(cells: list[dict[str, Any]]) -> Iterator[Cell]:
    """The code cells that the page knows."""
    question = ""
    for place, cell in enumerate(cells):
        name = str(cell.get("id", ""))
        if found := re.fullmatch(r"(?:question|try|check)-(\d+)-(\d+)", name):
            question = f"{found[1]}.{found[2]}"
        kind = kind_of(name, cell)
        if kind:
            about = cell["metadata"].get("nbgrader", {})
            yield Cell(place, kind, question, "".join(cell["source"]), float(about.get("points", 0)))


def kind_of(name: str, cell: dict[str, Any]) -> str:
    """The kind of a cell that the page changes, such as "answer"; an empty text for any other cell."""
    if cell["cell_type"] != "code":
        return ""
    if name in ("imports", "progress"):
        return name
    if cell["metadata"].get("nbgrader", {}).get("solution"):
        return "answer"
    return name.partition("-")[0] if name.startswith(("try-", "check-")) else ""


# ── what is drawn after it ────────────────────────────────────────────────────────────────────────
def drawn(cell: Cell) -> str:
    """What stands on the page beside a cell's code, or in its place."""
    return {"imports": offer, "answer": answer, "try": attempt, "check": check, "progress": points}[cell.kind](cell)


def offer(_: Cell) -> str:
    """What can be done on the page; where it cannot, `page.js` says so in this place."""
    return f'{RESTORE}<p class="qkv-live qkv-offer" role="status">{OFFER}</p>'


def answer(cell: Cell) -> str:
    """The editor of an answer; its text here is the stub."""
    named = re.search(r"^(?:def|class) (\w+)", cell.source, re.MULTILINE)
    name = f' data-name="{named[1]}"' if named else ""
    area = editor(cell.question, f"Your answer to question {cell.question}", cell.source, name)
    return f'<div class="qkv-live qkv-answer" data-question="{cell.question}">{area}</div>'


def attempt(cell: Cell) -> str:
    """The editor of a cell to try an answer in, and what it prints."""
    area = editor(f"try {cell.question}", f"Code to try question {cell.question}", cell.source)
    return f'<div class="qkv-live">{area}{buttons("Run")}{PRINTED}</div>'


def editor(key: str, label: str, source: str, more: str = "") -> str:
    """A text that can be written; page.js makes a better editor of it when the reader comes to it."""
    rows = max(2, source.count("\n") + 1)
    return (
        f'<textarea class="qkv-editor" rows="{rows}" data-key="{key}"{more} aria-label="{escape(label)}" '
        'spellcheck="false" autocapitalize="off" autocomplete="off">\n'
        f"{escape(source)}</textarea><script>qkvRestore()</script>"
    )


def buttons(word: str, more: str = "") -> str:
    """What runs a cell, what stops it, and where is said what Python does meanwhile."""
    run = f'<button type="button" class="qkv-run" data-do="{word.lower()}">{word}</button>'
    stop = '<button type="button" class="qkv-run" data-do="stop" disabled>Stop</button>'
    return f'<p class="qkv-do">{run} {stop} <span class="qkv-said" role="status"></span>{more}</p>'


def runnable(name: str) -> str:
    """What stands below a chapter's code: buttons to run and to edit it here, and the place of what it then prints."""
    run = '<button type="button" class="qkv-run" data-do="runCell">Run</button>'
    edit = '<button type="button" class="qkv-run" data-do="edit">Edit</button>'
    stop = '<button type="button" class="qkv-run" data-do="stop" disabled hidden>Stop</button>'
    reset = '<button type="button" class="qkv-run" data-do="reset" hidden>Reset</button>'
    said = '<span class="qkv-said" role="status"></span>'
    return (
        f'<div class="qkv-live qkv-own" data-cell="{name}"><p class="qkv-do">{run} {edit} {stop} {reset} {said}</p>'
        f"{PRINTED}</div>"
    )


def not_here(why: str) -> str:
    """What stands below a chapter's code that prints, and does not run on the page."""
    return f'<p class="qkv-live qkv-own qkv-said">In the notebook only: it {escape(why)}.</p>'


def scratch() -> str:
    """A cell to try anything in."""
    offer = f'{RESTORE}<p class="qkv-live qkv-offer" role="status">{OFFER_TO_TRY}</p>'
    return f'{offer}<div class="qkv-live {SIGN}pad">{editor("pad", "Your code", PAD)}{buttons("Run")}{PRINTED}</div>'


def check(cell: Cell) -> str:
    """The button that checks an answer, and the place of its card."""
    about = f'data-question="{cell.question}" data-points="{cell.points:g}"'
    card = '<div class="qkv-verdict" aria-live="polite"></div>'
    return f'<div class="qkv-live qkv-check" {about}>{buttons("Check", LAST)}{card}</div>'


def points(_: Cell) -> str:
    """The HTML of the points so far, and of the buttons that download and clear the answers."""
    words = {"download": "Download my notebook", "clear": "Clear my answers"}
    tools = " ".join(
        f'<button type="button" class="qkv-run" data-do="{do}">{word}</button>' for do, word in words.items()
    )
    return f'<div class="qkv-live qkv-points"><p role="status"></p><p class="qkv-do">{tools}</p></div>'
