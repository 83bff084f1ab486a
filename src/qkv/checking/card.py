"""The card of a check and the bar of points: HTML in a notebook, plain text elsewhere.

Text that comes from an answer is escaped and limited in length.
"""

from __future__ import annotations

import html
import re
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from torch import Tensor, cat

from qkv import words
from qkv.words import language, mark, t, translated

MAX_MESSAGE = 1500  # characters of a text on a card
MAX_ROWS = 8  # rows of a table; the sums of the others are one more row
MAX_COLUMNS = 10
DASH = "–"  # in the name of several rows or columns
MANY = 6  # a table with more columns has shorter numbers, so that a phone shows all of them
WIDTH = 88  # characters in a line of plain text
WIDE = 0x2E7F  # characters after this one are two columns wide
# The sign and the words of each status, for cards, pages and tables.
STATUSES = {
    "passed": ("✓", mark("right")),
    "failed": ("✗", mark("not yet")),
    "error": ("✗", mark("could not be checked")),
    "not attempted": ("–", mark("not attempted")),
}
DOT = " · "
SIGNS = {status: sign for status, (sign, _) in STATUSES.items()}
WORDS = {status: words for status, (_, words) in STATUSES.items()}


@dataclass(frozen=True)
class Table:
    """A matrix from the answer, shown with the sums of its rows; `row_sum` is the right sum."""

    name: str
    values: Tensor
    row_sum: float


@dataclass(frozen=True)
class Card:
    """The card of one check: the verdict, the message, and the inputs that the message is about."""

    question: str
    title: str
    status: str
    points: float
    max_points: float
    message: str
    idea: str = ""
    tried: str = ""
    table: Table | None = None
    printed: str = ""
    mixing: str = ""  # which line of the answer mixes tokens
    in_model: str = ""  # what a trained model does with the answer

    @property
    def headline(self) -> str:
        return DOT.join(self.headline_parts)

    @property
    def headline_parts(self) -> list[str]:
        """The status, the points, and the wrong idea if one was recognised."""
        idea = [in_words(self.idea)] if self.idea else []
        return [translated(WORDS[self.status]), of_points(self.points, self.max_points), *idea]

    def text(self) -> str:
        """Return the card as plain text: title, verdict, message, and below them each part that is not empty."""
        lines = [f"{self.question} · {self.title}", f"{SIGNS[self.status]} {self.headline}", *wrapped(self.message)]
        if self.table:
            lines += wrapped(_wrong_sums(self.table))
        if self.tried:
            lines += wrapped(t("Tried with {inputs}.", inputs=self.tried))
        if self.mixing:
            lines += wrapped(t("Followed line by line: {found}", found=self.mixing))
        lines += wrapped(self.in_model)
        if self.printed:
            lines += [t("Your answer printed:"), *(f"  {line}" for line in self.printed.splitlines())]
        return "\n".join(lines)

    def html(self) -> str:
        """Return the card as HTML: title, verdict, message, and below them each part that is not empty."""
        first, *more = self.headline_parts
        parts = [
            _heading(f"{self.question} · {self.title}"),
            f'<p class="qkv-card-status"><span aria-hidden="true">{SIGNS[self.status]}</span> '
            f'<span class="qkv-card-word">{_escaped(first)}</span>{"".join(map(_more, more))}</p>',
            f"<p>{_prose(self.message)}</p>",
            f'<p class="qkv-card-model">{_prose(self.in_model)}</p>' if self.in_model else "",
            _table(self.table) if self.table else "",
            f'<p class="qkv-card-tried">{t("Tried with {inputs}.", inputs=_escaped(self.tried))}</p>'
            if self.tried
            else "",
            f"<details><summary>{t('Which line mixes the tokens?')}</summary><p>{_prose(self.mixing)}</p></details>"
            if self.mixing
            else "",
            f"<details><summary>{t('What your answer printed')}</summary><pre>{_escaped(self.printed)}</pre></details>"
            if self.printed
            else "",
        ]
        label = t("Question {id}: {headline}", id=self.question, headline=self.headline)
        return _section(label, self.status, "".join(parts))


def _more(part: str) -> str:
    """Return a part of the headline after the status. The dot before it is for readers of the text alone."""
    return f'<span class="qkv-card-more"><span class="qkv-card-dot">{DOT}</span>{_escaped(part)}</span>'


def _wrong_sums(table: Table) -> str:
    """Return a sentence with the sums of the first rows, if a row of the first matrix has a wrong sum; else ""."""
    sums = first_matrix(table).sum(-1).tolist()
    if all(abs(value - table.row_sum) < 1e-3 for value in sums):
        return ""
    more = ["…"] if len(sums) > MAX_ROWS else []
    return t(
        "The rows of your {name} sum to {seen}. Each should sum to {right}.",
        name=table.name,
        seen=t(", ").join([*map(_rounded, sums[:MAX_ROWS]), *more]),
        right=f"{table.row_sum:g}",
    )


@dataclass(frozen=True)
class Row:
    """One question in the bar of points: a line with its status and points."""

    question: str
    title: str
    status: str
    points: float
    max_points: float
    note: str = ""


@dataclass(frozen=True)
class Bar:
    """The bar of points of a chapter, with one row for each question."""

    title: str
    rows: Sequence[Row]
    ideas: Sequence[str] = ()

    @property
    def headline(self) -> str:
        have, most = (sum(getattr(row, name) for row in self.rows) for name in ("points", "max_points"))
        return of_points(have, most)

    @property
    def ideas_text(self) -> str:
        """A sentence that lists the wrong ideas met so far; empty if there are none."""
        ideas = t(", ").join(map(in_words, self.ideas))
        return t("Wrong ideas met so far: {ideas}.", ideas=ideas) if ideas else ""

    def text(self) -> str:
        """Return the points of a chapter as plain text: title, bar, one line for each question, and the ideas met."""
        have, most = sum(row.points for row in self.rows), sum(row.max_points for row in self.rows)
        full = round(20 * have / most) if most else 0
        bar = "█" * full + "░" * (20 - full)
        rows = [f"{SIGNS[row.status]} {titled(f'{row.question} {row.title}', _standing(row))}" for row in self.rows]
        return "\n".join([titled(self.title, self.headline), bar, *rows, *wrapped(self.ideas_text)])

    def html(self) -> str:
        """Return the points of a chapter as HTML: title, bar, one line for each question, and the ideas met."""
        have, most = sum(row.points for row in self.rows), sum(row.max_points for row in self.rows)
        items = "".join(map(_item, self.rows))
        parts = [
            _heading(titled(self.title, self.headline)),
            f'<progress max="{most:g}" value="{have:g}" aria-label="{t("points so far")}">{self.headline}</progress>',
            f"<ul>{items}</ul>",
            f'<p class="qkv-card-tried">{_escaped(self.ideas_text)}</p>' if self.ideas_text else "",
        ]
        status = "passed" if have == most else "not attempted"
        return _section(titled(self.title, self.headline), status, "".join(parts))


def _standing(row: Row) -> str:
    """Return the status of a question in the bar, its points, and whether they are of an earlier session."""
    share = t("{n} of {most}", n=points(row.points), most=points(row.max_points))
    status = translated(WORDS[row.status])
    if row.note:
        return t("{status}, {share}, {note}", status=status, share=share, note=translated(row.note))
    return t("{status}, {share}", status=status, share=share)


def _item(row: Row) -> str:
    """Return one question's line of the progress, as HTML."""
    sign = f'<span aria-hidden="true">{SIGNS[row.status]}</span>'
    return (
        f"<li>{sign}<span>{_escaped(f'{row.question} {row.title}')}</span><span>{_escaped(_standing(row))}</span></li>"
    )


def show(card: Card | Bar) -> None:
    """Display a card or bar in a notebook or IPython, and print it as plain text elsewhere."""
    if shell() is None:
        print(card.text())
        return
    from IPython.display import display

    display({"text/plain": card.text(), "text/html": card.html()}, raw=True)


def shell() -> object | None:
    """Return the running IPython shell, or None; IPython is not imported for it."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def points(value: float) -> str:
    """Write a number of points: "3", "2.5"."""
    return f"{value:g}"


def titled(title: str, said: str) -> str:
    """Write a title with what is said of it: "Chapter 3: 4 of 15 points"."""
    return t("{title}: {said}", title=title, said=said)


def of_points(have: float, most: float) -> str:
    """Write the points that somebody has of those that there are: "3 of 4 points"."""
    return t("{n} of {most} points", n=points(have), most=points(most))


def in_words(slug: str) -> str:
    """Write a slug in words of the reader's language: "scaled by d_k" for "scaled-by-d-k"."""
    return translated(words.in_words(slug))


def wrapped(text: str) -> list[str]:
    """Return the lines of a text for plain output, about WIDTH columns wide; an empty text has none.

    The text is cut after MAX_MESSAGE characters.
    """
    if language().startswith("zh"):
        return _wrapped_chinese(text[:MAX_MESSAGE])
    return textwrap.wrap(text[:MAX_MESSAGE], WIDTH, break_on_hyphens=False)


def _wrapped_chinese(text: str) -> list[str]:
    """Return the lines of a Chinese text. A Chinese character is two columns wide.

    No line begins with a space or a punctuation mark that belongs to the line before, so one may be longer than WIDTH.
    """
    lines, used = [""], 0
    for word in re.findall(r"[\x21-\x7e]+ ?|.", text):
        columns = sum(2 if ord(sign) > WIDE else 1 for sign in word)
        if used + columns > WIDTH and word not in " ，。；：？！、）」":
            lines, used = [*lines, ""], 0
        lines[-1], used = lines[-1] + word, used + columns
    return [line.rstrip() for line in lines if line]


def _escaped(text: str) -> str:
    return html.escape(text[:MAX_MESSAGE])


def _prose(text: str) -> str:
    """Write a message as HTML, with code for text in `backticks`."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", _escaped(text))


def _heading(text: str) -> str:
    """Return a heading for screen readers, one level below that of the question; tables of contents do not list it."""
    return f'<p class="qkv-card-title" role="heading" aria-level="3">{_escaped(text)}</p>'


def _section(label: str, status: str, inner: str) -> str:
    """Return a card's HTML around its inner parts, with its style."""
    return (
        f'<section class="qkv-card" role="group" aria-label="{_escaped(label)}" data-status="{status}">'
        f"<style>{_style()}</style>{inner}</section>"
    )


@cache
def _style() -> str:
    """Return the CSS of the palette and of the cards, without comments and line breaks."""
    folder = Path(__file__).parent
    css = "".join(file.read_text(encoding="utf-8") for file in (folder.parent / "tokens.css", folder / "card.css"))
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)).strip()


def first_matrix(table: Table) -> Tensor:
    """Return the matrix that is shown: the first one of a batch."""
    return (table.values.flatten(0, -3)[0] if table.values.ndim > 2 else table.values).double()


def _rounded(value: float) -> str:
    """Write a number with three significant digits. A number closer to 0 than 1e-6 is a rounding error: write 0."""
    return f"{0.0 if abs(value) < 1e-6 else value:.3g}"


def _table(table: Table) -> str:
    """Return the first matrix as an HTML table with shaded cells and the sums of rows and columns.

    The rows and columns that do not fit are added up in one last row and one last column. So the sums of the table are
    those of the whole matrix.
    """
    matrix = first_matrix(table)
    rows, row_names = _with_rest(matrix, MAX_ROWS)
    columns, column_names = _with_rest(rows.mT, MAX_COLUMNS)
    shown, sums, is_long = columns.mT, matrix.sum(0), len(columns) > MANY
    total = t("sum")
    head = "".join(f'<th scope="col">{name}</th>' for name in column_names)
    head += _sum_head(matrix, table.row_sum, total, is_long)
    body = "".join(
        f'<tr><th scope="row">{name}</th>{"".join(_cell(value, is_long) for value in row)}'
        f"{f'<td>{sum(row):.2f}</td>' if DASH in name else _sum(sum(row), table.row_sum, is_long)}</tr>"
        for name, row in zip(row_names, shown.tolist(), strict=True)
    )
    feet = "".join(f"<td>{_number(value, is_long)}</td>" for value in _with_rest(sums, MAX_COLUMNS)[0].tolist())
    name = _escaped(table.name)
    kind = ' class="qkv-card-many"' if is_long else ""
    is_cut = len(row_names) < matrix.shape[0] or len(column_names) < matrix.shape[1]
    return (
        f'<div class="qkv-card-scroll" role="group" aria-label="{t("Your {name}", name=name)}" tabindex="0">'
        f"<table{kind}>"
        f"<caption>{_caption(name, table.values.ndim > 2, is_cut)}</caption>"
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody>"
        f'<tfoot><tr><th scope="row">{total}</th>{feet}<td></td></tr></tfoot></table></div>'
    )


def _with_rest(matrix: Tensor, most: int) -> tuple[Tensor, list[str]]:
    """Return at most `most` rows of a matrix, and their names.

    If it has more rows, the last one is the sum of all that do not fit, with a name such as "7–20".
    """
    count = len(matrix)
    if count <= most:
        return matrix, [str(i) for i in range(count)]
    first = most - 1
    return cat([matrix[:first], matrix[first:].sum(0, keepdim=True)]), [
        *map(str, range(first)),
        f"{first}{DASH}{count - 1}",
    ]


def _sum_head(matrix: Tensor, expected: float, total: str, is_long: bool) -> str:
    """Return the header cell of the column of sums.

    If a sum is wrong in a long table, it says "≠ 1", because the narrow cells cannot say so.
    """
    if is_long and any(_is_off(value, expected) for value in matrix.sum(1).tolist()):
        return f'<th scope="col" class="qkv-card-off">{total} ≠\u00a0{expected:g}</th>'
    return f'<th scope="col">{total}</th>'


def _caption(name: str, is_first: bool, is_cut: bool) -> str:
    """Return the caption of a table.

    Args:
        is_first: whether the table is the first one of a batch
        is_cut: whether rows or columns that do not fit are added up
    """
    if is_first and is_cut:
        return t("Your {name}, the first of the batch (what has no room is in sums)", name=name)
    if is_first:
        return t("Your {name}, the first of the batch", name=name)
    return t("Your {name} (what has no room is in sums)", name=name) if is_cut else t("Your {name}", name=name)


def _number(value: float, is_long: bool) -> str:
    """Write a number with two decimals (0.25, 1.00). In a long table, write it shorter: .25, 1.0."""
    if is_long and abs(value) < 0.995:
        return f"{value:.2f}".replace("0.", ".", 1)
    return f"{value:.1f}" if is_long else f"{value:.2f}"


def _cell(value: float, is_long: bool) -> str:
    share = round(40 * min(1.0, abs(value))) if value == value else 0
    return f'<td style="--qkv-share:{share}">{_number(value, is_long)}</td>'


def _is_off(value: float, expected: float) -> bool:
    return not abs(value - expected) < 1e-3


def _sum(value: float, expected: float, is_long: bool) -> str:
    if not _is_off(value, expected):
        return f"<td>{value:.2f}</td>"
    return f'<td class="qkv-card-off">{value:.2f}{"" if is_long else f" ≠ {expected:g}"}</td>'
