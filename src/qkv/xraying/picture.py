"""Draw what `xray` found: the lines of the program, and beside each the tokens that reach its result."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qkv.words import t

if TYPE_CHECKING:
    from qkv.xraying.finding import Found
    from qkv.xraying.running import Operation

MOST_SLOTS = 24  # that one line shows
# A colour for each token, in the order of hues, light enough for black text. The cells also show the token's number.
HUES = ("#f4b6b6", "#f6cfa0", "#efe79a", "#c6e6a3", "#a5e3cf", "#a9d3f5", "#c0bdf4", "#e7b8ee")
# The slots of all lines stand below each other, so that a token is a column of one colour until it meets others.
STYLE = """
.qkv-xray { max-width: 50rem; margin: 0.75rem 0; font: 13px/1.5 ui-monospace, monospace; }
.qkv-xray > p { margin: 0 0 0.5rem; font: 14px/1.5 system-ui, sans-serif; }
.qkv-xray-line { display: grid; grid-template-columns: 2em 1fr auto; gap: 4px 8px; padding: 8px; }
.qkv-xray-line { border-top: 1px solid var(--qkv-line, #d5d9e0); }
.qkv-xray-line[data-fault] { border: 2px solid var(--qkv-bad, #b3261e); border-radius: 6px; font-weight: 700; }
.qkv-xray-line > code { padding: 0; background: none; font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (width < 30rem) { .qkv-xray-line > code, .qkv-xray-line > code + span { grid-column: 2 / -1; } }
.qkv-xray-slots { display: grid; grid-template-columns: repeat(var(--qkv-slots), minmax(22px, 1fr)); gap: 2px; }
.qkv-xray-slots { grid-column: 2 / -1; overflow-x: auto; font-weight: 400; forced-color-adjust: none; }
.qkv-xray-slots > span { padding: 2px 0; border-radius: 3px; text-align: center; color: #000; background: #e6e8ec; }
.qkv-xray-slots > [data-mixed] { outline: 2px solid #b3261e; outline-offset: -2px; font-weight: 700; }
"""


def html_of(found: Found) -> str:
    """Return the picture as HTML: a list of the lines, and below each a cell for each slot of its axis of tokens."""
    last = {operation.place: operation for operation in found.operations}  # of each line
    rows = "".join(_row(operation, found) for operation in last.values())
    message = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(found.message))
    return (
        f'<style>{STYLE}</style><p>{message}</p><div class="qkv-xray"><p>{t("which tokens reach each slot")}</p>'
        f'<div role="list" aria-label="{t("The lines of the program")}">{rows}</div></div>'
    )


def _row(operation: Operation, found: Found) -> str:
    """Return one result as an item of the list: its line, text and shape, and which tokens reach each slot."""
    place = operation.place
    fault = " data-fault" if (place.line, place.text) == (found.line, found.source) else ""
    axes = {first: operation.slots((first, end)) for first, end in operation.spans if end == first + 1}
    axis = min(axes, key=lambda a: max(map(len, axes[a])), default=None)  # where tokens mix least
    shape = ", ".join(f"<b>{n}</b>" if a == axis else str(n) for a, n in enumerate(operation.shape))
    slots = axes[axis] if axis is not None and operation.reach.any() else []
    cells = "".join(map(_cell, slots[:MOST_SLOTS])) + "<span>…</span>" * (len(slots) > MOST_SLOTS)
    drawn = f'<div class="qkv-xray-slots" style="--qkv-slots: {cells.count("<span")}">{cells}</div>' if cells else ""
    return (
        f'<div class="qkv-xray-line" role="listitem"{fault}><span>{place.line}</span>'
        f"<code>{html.escape(place.text)}</code><span>({shape})</span>{drawn}</div>"
    )


def _cell(slots: Sequence[int]) -> str:
    """Return one slot: the numbers of the tokens that reach it, in stripes of their colours."""
    if not slots:
        return "<span>·</span>"
    shares = 100 / len(slots)
    stripes = ", ".join(f"{HUES[t % len(HUES)]} {k * shares:.3g}% {(k + 1) * shares:.3g}%" for k, t in enumerate(slots))
    mixed = " data-mixed" if len(slots) > 1 else ""
    return f'<span{mixed} style="background: linear-gradient(90deg, {stripes})">{",".join(map(str, slots))}</span>'
