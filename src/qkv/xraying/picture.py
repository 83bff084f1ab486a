"""Draw what `xray` found: the lines of the program, and beside each the tokens that reach its result.

The picture has no script. A token is followed with a radio button, of which each cell of that token is a label. The
style empties what the chosen token does not reach.
"""

from __future__ import annotations

import html
import itertools
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from qkv.words import t

if TYPE_CHECKING:
    from qkv.xraying.finding import Found
    from qkv.xraying.running import Operation, Place

# Of each line: the axis along which tokens mix least, and which tokens reach each slot along it.
Slots = Mapping["Place", tuple[int | None, list[tuple[int, ...]]]]
MOST_SLOTS = 24  # that one line shows
NUMBERS = itertools.count()  # of the pictures, for the names of their radio buttons
# A colour for each token, in the order of hues, light enough for black text. The cells also show the token's number.
HUES = ("#f4b6b6", "#f6cfa0", "#efe79a", "#c6e6a3", "#a5e3cf", "#a9d3f5", "#c0bdf4", "#e7b8ee")
# The slots of all lines stand below each other, so that a token is a column of one colour until it meets others.
STYLE = """
.qkv-xray { max-width: 50rem; margin: 0.75rem 0; font: 13px/1.4 ui-monospace, monospace; }
.qkv-xray { position: relative; }
.qkv-xray > fieldset { margin: 0; padding: 0; border: 0; font: 14px/1.4 system-ui, sans-serif; }
.qkv-xray :is(legend, input) { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; opacity: 0; }
.qkv-xray label { cursor: pointer; }
.qkv-xray > fieldset > label { position: absolute; right: 0; top: -5px; padding: 0 14px; line-height: 30px; }
.qkv-xray > fieldset > label { border: 1px solid currentcolor; border-radius: 16px; }
.qkv-xray > fieldset > label:has(:checked:not(:focus-visible)) { visibility: hidden; }
.qkv-xray > fieldset > label:has(:focus-visible) { outline: 3px solid var(--qkv-ink, #1b1f27); outline-offset: 2px; }
.qkv-xray > p > span + span { display: none; }
.qkv-xray > p { min-height: 32px; margin: 0 64px 0 0; font: 14px/1.4 system-ui, sans-serif; }
.qkv-xray-line { display: grid; grid-template-columns: 2em 1fr; gap: 3px 6px; padding: 5px 8px; }
.qkv-xray-line { border-top: 1px solid var(--qkv-line, #d5d9e0); }
.qkv-xray-line[data-fault] { border: 2px solid var(--qkv-bad, #b3261e); border-radius: 6px; font-weight: 700; }
.qkv-xray-text code { padding: 0; background: none; font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; }
.qkv-xray-text > span { color: var(--qkv-muted, #565d69); white-space: nowrap; font-weight: 400; }
@media (width >= 46rem) { .qkv-xray-text { display: flex; justify-content: space-between; gap: 8px; } }
.qkv-xray-slots { display: grid; grid-template-columns: repeat(var(--qkv-slots), minmax(22px, 1fr)); gap: 2px; }
.qkv-xray-slots { grid-column: 2 / -1; overflow-x: auto; font-weight: 400; forced-color-adjust: none; }
.qkv-xray-slots > * { padding: 3px 0; border-radius: 3px; text-align: center; color: #000; background: #e6e8ec; }
.qkv-xray-slots > label { padding-bottom: 1px; border: 1px solid #6b7280; border-bottom-width: 3px; }
.qkv-xray-slots > label:hover { border-color: #000; box-shadow: inset 0 0 0 1px #000; }
.qkv-xray-slots > [data-mixed] { outline: 2px solid #b3261e; outline-offset: -2px; font-weight: 700; }
"""


def html_of(found: Found) -> str:
    """Return the picture as HTML: a list of the lines, and below each a cell for each slot of its axis of tokens."""
    last = {operation.place: operation for operation in found.operations}  # of each line
    slots = {place: _slots(operation) for place, operation in last.items()}
    tokens = sorted({token for _, each in slots.values() for slot in each[:MOST_SLOTS] for token in slot})
    name = f"qkv-xray-{next(NUMBERS)}-{zlib.crc32(f'{found.line} {found.source}'.encode()):x}"
    rows = "".join(_row(operation, *slots[place], found, name) for place, operation in last.items())
    message = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(found.message))
    return (
        f"<style>{STYLE}{''.join(_rules(name, token) for token in tokens)}</style><p>{message}</p>"
        f'<div class="qkv-xray" id="{name}">{_choice(name, tokens, _mixed(found, slots))}{_told(found, slots, tokens)}'
        f'<div role="list" aria-label="{t("The lines of the program")}">{rows}</div></div>'
    )


def _rules(name: str, token: int) -> str:
    """Return a token's colour, and the style while it is followed: the others are grey, cells without it empty."""
    hue = HUES[token % len(HUES)]
    chosen, focused = (f"#{name}:has([value='{token}']:{state})" for state in ("checked", "focus-visible"))
    return (
        f"#{name} {{ --t{token}: var(--others, {hue}); }}\n"
        f"{chosen} {{ --others: #e6e8ec; --t{token}: {hue}; }}\n"
        f"{chosen} .qkv-xray-slots > :not([data-t~='{token}']) {{ background: none !important; color: inherit; }}\n"
        f"{focused} .qkv-xray-slots > [data-t~='{token}'] {{ outline: 3px solid; outline-offset: -2px; }}\n"
        f"{chosen} > p > [data-t='{token}'] {{ display: inline; }}\n"
        f"{chosen} > p:has([data-t='{token}']) > :first-child {{ display: none; }}\n"
    )


def _at_fault(found: Found, slots: Slots) -> list[tuple[int, ...]]:
    """Return which tokens reach each slot of the line at fault, or nothing."""
    return next((of_line for place, (_, of_line) in slots.items() if _is_fault(place, found)), [])


def _mixed(found: Found, slots: Slots) -> int | None:
    """Return the token that is followed at first: one that the line at fault mixes with others; None without one."""
    return next((slot[-1] for slot in _at_fault(found, slots)[:MOST_SLOTS] if len(slot) > 1), None)


def _told(found: Found, slots: Slots, tokens: Sequence[int]) -> str:
    """Return a paragraph that says what the cells are, and for each token into which slots the line at fault puts it.

    The style shows the sentence of the token that is followed.
    """
    each = _at_fault(found, slots)
    told = ""
    for token in tokens:
        places = ", ".join(str(at) for at, slot in enumerate(each) if token in slot)
        text = t("Line {n} puts token {token} into slots {slots}.", n=found.line, token=token, slots=places)
        told += f'<span data-t="{token}">{text}</span>' if places else ""
    return f"<p><span>{t('Which tokens reach each slot? Press one.')}</span>{told}</p>"


def _is_fault(place: Place, found: Found) -> bool:
    return (place.line, place.text) == (found.line, found.source)


def _choice(name: str, tokens: Sequence[int], first: int | None) -> str:
    """Return the radio buttons: all tokens, or one that is followed; `first` is chosen at first, or all with None.

    It is empty for fewer than two tokens.
    """
    one = "".join(
        f'<input type="radio" name="{name}" id="{name}-{token}" value="{token}" aria-label="{t("token {n}", n=token)}"'
        f"{' checked' * (token == first)}>"
        for token in tokens
    )
    every = f'<label><input type="radio" name="{name}" value=""{" checked" * (first is None)}>{t("all")}</label>'
    return f"<fieldset><legend>{t('Follow:')}</legend>{every}{one}</fieldset>" if len(tokens) > 1 else ""


def _slots(operation: Operation) -> tuple[int | None, list[tuple[int, ...]]]:
    """Return the axis along which tokens mix least, and which tokens reach each slot along it.

    The axis is None if the result has none that counts tokens. If no token reaches the result, there are no slots.
    """
    axes = {first: operation.slots((first, end)) for first, end in operation.spans if end == first + 1}
    axis = min(axes, key=lambda a: max(map(len, axes[a])), default=None)
    return axis, axes[axis] if axis is not None and operation.reach.any() else []


def _row(operation: Operation, axis: int | None, slots: Sequence[Sequence[int]], found: Found, name: str) -> str:
    """Return one result as an item of the list: its line, text and shape, and which tokens reach each slot.

    Only the first MOST_SLOTS slots are drawn.
    """
    place = operation.place
    fault = " data-fault" if _is_fault(place, found) else ""
    shape = ", ".join(f"<b>{n}</b>" if a == axis else str(n) for a, n in enumerate(operation.shape))
    cells = [_cell(slot, name) for slot in slots[:MOST_SLOTS]] + ["<span>…</span>"] * (len(slots) > MOST_SLOTS)
    drawn = f'<div class="qkv-xray-slots" style="--qkv-slots: {len(cells)}">{"".join(cells)}</div>' if cells else ""
    return (
        f'<div class="qkv-xray-line" role="listitem"{fault}><span>{place.line}</span><div class="qkv-xray-text">'
        f"<code>{html.escape(place.text)}</code> <span>({shape})</span></div>{drawn}</div>"
    )


def _cell(slot: Sequence[int], name: str) -> str:
    """Return one slot: the numbers of the tokens that reach it, in stripes of their colours, or a dot if none does.

    A press follows the first of them.
    """
    if not slot:
        return "<span>·</span>"
    share = 100 / len(slot)
    stripes = ", ".join(f"var(--t{token}) {k * share:.3g}% {(k + 1) * share:.3g}%" for k, token in enumerate(slot))
    mixed = " data-mixed" if len(slot) > 1 else ""
    return (
        f'<label for="{name}-{slot[0]}" data-t="{" ".join(map(str, slot))}"{mixed} '
        f'style="background: linear-gradient(90deg, {stripes})">{",".join(map(str, slot))}</label>'
    )
