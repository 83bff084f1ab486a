"""Fold what not every reader needs: code in read mode, and on a phone the asides of a page and how to answer exercises.

Read mode is for readers who do not run code: each code cell is folded to one line. The line is written at build time,
so nothing moves when a page opens in read mode. On a phone, pages open in read mode at first. The style sheet shows the
line only in read mode. `page.js` has the switch, and unfolds a cell when its line is pressed. Without scripts, and on
paper, all code is visible.

An aside is a section that the rest of the page does not need. On a phone, what follows its first paragraph is folded;
in a wider window and on paper the style sheet shows all of it. The browser opens it if a link leads into it, or if the
reader finds a word in it. A page of exercises begins with how to answer them, which is the same on each: it is folded
in the same way.
"""

from __future__ import annotations

from html import escape
from itertools import takewhile

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from tools.translations.skin import t

SIGN = "qkv-unfold"
FOLDED = ("chapters/", "book/")
ASIDES = ("in-the-wild", "references")  # the anchors of their sections
ASIDE = "<!-- an aside -->"  # makes an aside of a section with another title


class Rest(nodes.General, nodes.Element):
    """What follows the first paragraph of an aside. It has the title of its section as the attribute `of`."""


def line_of(code: str) -> str:
    """Return the line that represents folded code: its first line that is a comment, else its first line; "" for none.

    A line that ends with an open bracket says little, so the lines after it are added until the bracket is closed.
    """
    lines = [line.strip() for line in code.strip().splitlines()]
    comment = next((line for line in lines if line.startswith("#")), "")
    if comment or not lines:
        return comment
    line, *following = lines
    if line.endswith(("(", "[", "{")):
        for more in following:
            line += more if more.startswith((")", "]", "}")) or line.endswith(("(", "[", "{")) else f" {more}"
            if line.count("(") + line.count("[") + line.count("{") <= sum(map(line.count, ")]}")):
                break
    return line


def unfold_button(code: str) -> str:
    """Return the line of a folded cell: a button that unfolds the code below it."""
    return (
        f'<button type="button" class="{SIGN}" aria-expanded="false"><span>{t("Code")}</span> '
        f"<code>{escape(line_of(code))}</code></button>"
    )


def fold(app: Sphinx, document: nodes.document) -> None:
    """Insert the button above the code of each cell with more than one line, on the pages that have a read mode.

    A cell that the page hides already gets none.
    """
    if not app.env.docname.startswith(FOLDED):
        return
    for cell in document.findall(nodes.container):
        if cell.get("nb_element") != "cell_code_source" or cell.parent.get("hide_mode"):
            continue
        code = cell.next_node(nodes.literal_block)
        if code is not None and "\n" in code.astext().strip():
            cell.insert(0, nodes.raw("", unfold_button(code.astext()), format="html"))


def is_aside(section: nodes.section) -> bool:
    """Check whether a section is an aside, by its anchor or by a comment in it."""
    marked = any(isinstance(part, nodes.raw) and ASIDE in part.astext() for part in section.children)
    return marked or any(anchor in ASIDES for anchor in section["ids"])


def fold_asides(app: Sphinx, document: nodes.document) -> None:
    """Move what follows the first paragraph of each aside into a `Rest`, on the pages that have a read mode."""
    if not app.env.docname.startswith(FOLDED):
        return
    for section in [part for part in document.findall(nodes.section) if is_aside(part)]:
        first = section.first_child_matching_class(nodes.paragraph)
        following = section.children[first + 1 :] if first is not None else []
        if following:
            del section[first + 1 :]
            section += Rest("", *following, of=section[0].astext())


def fold_instructions(app: Sphinx, document: nodes.document) -> None:
    """On a page of exercises, move the paragraphs after the first one, up to its first code, into a `Rest`.

    The page has at least one paragraph.
    """
    if not app.env.docname.startswith("exercises/"):
        return
    section = document[0]
    start = section.first_child_matching_class(nodes.paragraph) + 1
    following = [*takewhile(lambda part: isinstance(part, nodes.paragraph), section.children[start:])]
    if following:
        del section[start : start + len(following)]
        section.insert(start, Rest("", *following, of=t("how to answer")))


def open_rest(writer: HTML5Translator, rest: Rest) -> None:
    """Write the start of a folded part, with the line that opens it."""
    writer.body.append(
        f'<details class="qkv-rest"><summary>{escape(t("Read on: {title}", title=rest["of"]))}</summary>'
    )


def close_rest(writer: HTML5Translator, _: Rest) -> None:
    """Write the end of a folded part."""
    writer.body.append("</details>")


def setup(app: Sphinx) -> None:
    """Register the steps that fold, which Sphinx calls for each page that it has read, and the node `Rest`.

    Asides are folded last, because other steps look for sections and cells among the direct children of a section.
    """
    app.connect("doctree-read", fold)
    app.connect("doctree-read", fold_asides, priority=900)
    app.connect("doctree-read", fold_instructions, priority=900)
    app.add_node(Rest, html=(open_rest, close_rest))
