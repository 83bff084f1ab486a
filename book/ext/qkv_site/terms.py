"""Write the glossary's terms into one small script, from which a page shows what a term means beside a link to it.

The script, `terms.js` in the root of the site, is loaded when a reader first points at such a link. It is a script,
because a page that is opened from a file may load a script but must not fetch data.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString, Tag
from sphinx.application import Sphinx

from tools.translations.skin import is_english

from .language import names_of_terms
from .links import GLOSSARY

FILE = "terms.js"
END = re.compile(r"[.?!](?=\s|$)|[。？！]")


def first_sentence(paragraph: Tag) -> str:
    """Return the HTML of a paragraph's first sentence. Formulas are MathML alone, which needs no style sheet.

    The paragraph is changed.
    """
    for formula in paragraph.select("span.math"):
        if mathml := formula.select_one("math"):
            formula.replace_with(mathml)
    parts: list[str] = []
    for part in paragraph.contents:
        if not isinstance(part, NavigableString):
            parts.append(str(part))
        elif end := END.search(part):
            parts.append(escape(part[: end.end()], quote=False))
            break
        else:
            parts.append(escape(part, quote=False))
    return " ".join("".join(parts).split())


def named(term: str) -> str:
    """Return the name of a term as its note shows it: on a Chinese site with the Chinese name first."""
    name = {term: own for own, term in names_of_terms().items()}.get(term) if not is_english() else None
    return f"{name}（{term}）" if name else term


def terms(glossary: str) -> dict[str, tuple[str, str]]:
    """Return the name and the first sentence, as HTML, of each term of the glossary's page, by its anchor."""
    found = {}
    for term in BeautifulSoup(glossary, "html.parser").select("dl.glossary dt[id]"):
        definition = term.find_next_sibling("dd")
        if isinstance(definition, Tag) and isinstance(paragraph := definition.p, Tag):
            name = "".join(text for text in term.find_all(string=True, recursive=False))
            found[str(term["id"])] = (named(name.strip()), first_sentence(paragraph))
    return found


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the terms into the root of the site, if the book has a glossary and the build did not fail."""
    page = Path(app.outdir) / f"{GLOSSARY}.html"
    if exception is None and page.exists():
        text = json.dumps(terms(page.read_text(encoding="utf-8")), ensure_ascii=False, separators=(",", ":"))
        (Path(app.outdir) / FILE).write_text(f"window.qkvTerms={text};\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Write the terms once all pages are written."""
    app.connect("build-finished", write, priority=800)
