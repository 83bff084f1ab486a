"""Draw what `xray` found: the lines of the program, and beside each the tokens that reach its result."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qkv.words import t

if TYPE_CHECKING:
    from qkv.xraying.finding import Found
    from qkv.xraying.running import Operation

MOST_SLOTS = 24  # that one line shows
# A colour for each token, in the order of hues, light enough for black text. The cells also show the token's number.
HUES = ("#f4b6b6", "#f6cfa0", "#efe79a", "#c6e6a3", "#a5e3cf", "#a9d3f5", "#c0bdf4", "#e7b8ee")
STYLE = """
.qkv-xray { overflow-x: auto; }
.qkv-xray table { border-collapse: collapse; font: 13px/1.4 ui-monospace, monospace; }
.qkv-xray td, .qkv-xray th { text-align: left; padding: 3px 8px; vertical-align: middle; white-space: pre; }
.qkv-xray tr[data-fault] { outline: 2px solid #b3261e; outline-offset: -1px; }
.qkv-xray span { display: inline-block; min-width: 20px; padding: 0 3px; margin: 1px; text-align: center; color: #000; }
.qkv-xray span[data-mixed] { outline: 2px solid #b3261e; }
"""


def html_of(found: Found) -> str:
    """Return the picture as HTML: a table with a row for each line, and a cell for each slot of the axis of tokens."""
    last = {operation.place: operation for operation in found.operations}  # of each line
    rows = "".join(_row(operation, found) for operation in last.values())
    heads = t("line"), t("program"), t("shape"), t("which tokens reach each slot")
    head = f"<tr>{''.join(f'<th>{name}</th>' for name in heads)}</tr>"
    label = t("The lines of the program")
    return (
        f"<style>{STYLE}</style><p>{html.escape(found.message)}</p>"
        f'<div class="qkv-xray" role="group" aria-label="{label}" tabindex="0">'
        f"<table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"
    )


def _row(operation: Operation, found: Found) -> str:
    """Return one result as a row of the table: its line, text and shape, and which tokens reach each slot."""
    place = operation.place
    fault = " data-fault" if (place.line, place.text) == (found.line, found.source) else ""
    axes = {first: operation.slots((first, end)) for first, end in operation.spans if end == first + 1}
    axis = min(axes, key=lambda a: max(map(len, axes[a])), default=None)  # where tokens mix least
    shape = ", ".join(f"<b>{n}</b>" if a == axis else str(n) for a, n in enumerate(operation.shape))
    slots = axes[axis] if axis is not None and operation.reach.any() else []
    cells = "".join(map(_cell, slots[:MOST_SLOTS])) + "…" * (len(slots) > MOST_SLOTS)
    text = html.escape(place.text)
    return f"<tr{fault}><td>{place.line}</td><td>{text}</td><td>({shape})</td><td>{cells}</td></tr>"


def _cell(slots: Sequence[int]) -> str:
    """Return one slot: the numbers of the tokens that reach it, in stripes of their colours."""
    if not slots:
        return "<span>·</span>"
    shares = 100 / len(slots)
    stripes = ", ".join(f"{HUES[t % len(HUES)]} {k * shares:.3g}% {(k + 1) * shares:.3g}%" for k, t in enumerate(slots))
    mixed = " data-mixed" if len(slots) > 1 else ""
    return f'<span{mixed} style="background: linear-gradient(90deg, {stripes})">{",".join(map(str, slots))}</span>'
