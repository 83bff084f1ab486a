"""Point links at the entry of a work in the references, or of a term in the glossary.

Notebooks link to whole pages, `[Vaswani et al., 2017](../book/references.md)` or `[softmax](../book/glossary.md)`, so
that the links work in JupyterLab too. On the site, a link leads to the entry that its text names. If a work is not in
`references.bib`, or a term is not in the glossary, there is a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from docutils import nodes
from pybtex.database import Entry, Person
from pybtex.plugin import register_plugin
from pybtex.style.formatting.plain import Style as PlainStyle
from pybtex.style.labels import BaseLabelStyle
from pybtex.style.sorting import BaseSortingStyle
from pybtex.style.template import Node, field, href, optional, sentence
from sphinx.application import Sphinx
from sphinx.util import logging

from tools.translations.skin import is_english, t

from .language import names_of_terms

LOGGER = logging.getLogger(__name__)
REFERENCES, GLOSSARY = "book/references", "book/glossary"
CITATION = re.compile(r"(?P<label>\S.* \d{4})(?:, .*)?")


# --- references -----------------------------------------------------------------------------------------------------


def family(person: Person) -> str:
    """Return a family name with its particle (van der Maaten), or the whole name of a team."""
    return re.sub(r"[{}]", "", " ".join([*person.prelast_names, *person.last_names]))


def label(entry: Entry) -> str:
    """Return a work's label: Vaswani et al., 2017; Shazeer and Stern, 2018; Ottosson, 2020."""
    names = [family(person) for person in entry.persons["author"]]
    who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
    return f"{who}, {entry.fields['year']}"


def address(entry: Entry) -> str:
    """Return the address of a work: its url, or the one of its arXiv number or its DOI; "" if it has none of them."""
    fields = entry.fields
    if "url" in fields:
        return str(fields["url"])
    if "eprint" in fields:
        return f"https://arxiv.org/abs/{fields['eprint']}"
    return f"https://doi.org/{fields['doi']}" if "doi" in fields else ""


class AuthorYearLabels(BaseLabelStyle):
    """Labels with authors and year, in the form in which chapters cite."""

    def format_labels(self, sorted_entries: list[Entry]) -> Iterator[str]:
        """Yield the label of each entry."""
        return (label(entry) for entry in sorted_entries)


class ByLabel(BaseSortingStyle):
    """A sorting style: works in the order of their labels."""

    def sorting_key(self, entry: Entry) -> str:
        """Return the key by which an entry is sorted."""
        return label(entry).lower()


class BookStyle(PlainStyle):
    """pybtex's plain style with these labels, and with the title as the link."""

    default_label_style = AuthorYearLabels
    default_sorting_style = ByLabel

    def format_title(self, e: Entry, which_field: str, as_sentence: bool = True) -> Node:
        """Return the title, with its capitals unchanged, as a link to the work's address, if it has one.

        `which_field` is the field of the entry with the title. With `as_sentence`, a full stop follows it.
        """
        title, where = field(which_field), address(e)
        linked = href[where, title] if where else title
        return sentence[linked] if as_sentence else linked

    def format_web_refs(self, e: Entry) -> Node:
        """Return an empty node, because the title is already the link."""
        return sentence[optional[field("nothing")]]


register_plugin("pybtex.style.formatting", "qkv", BookStyle)


def works(app: Sphinx) -> dict[str, str]:
    """Return the anchor of each work, by its label."""
    citations = app.env.get_domain("cite").citations  # type: ignore[attr-defined]
    return {citation.formatted_entry.label: citation.citation_id for citation in citations}


# --- glossary -------------------------------------------------------------------------------------------------------


def terms(app: Sphinx) -> dict[str, str]:
    """Return the anchor of each term of the glossary, by the term in lower case.

    On a translated site, its name there leads to the anchor too.
    """
    found = app.env.get_domain("std").get_objects()
    anchors = {
        name.lower(): anchor for name, _, kind, document, anchor, _ in found if kind == "term" and document == GLOSSARY
    }
    names = {} if is_english() else names_of_terms()
    return anchors | {name: anchors[term.lower()] for name, term in names.items()}


def forms(words: str) -> Iterator[str]:
    """Yield the terms that a link's text may mean: the whole text, its first term of several, and their singulars.

    All are in lower case.
    """
    for text in (words.lower(), re.split(r",? and |, |[和與与、]", words.lower())[0]):
        yield text
        for plural, single in (("ies", "y"), ("es", ""), ("s", "")):
            if text.endswith(plural):
                yield text.removesuffix(plural) + single


# --- links ----------------------------------------------------------------------------------------------------------


def link_to_entries(app: Sphinx, document: nodes.document, page: str) -> None:
    """Add to each link to the references or the glossary the anchor of the entry that its text names.

    If there is no such entry, log a warning. A link with the text "glossary" leads to the whole page.
    """
    by_label, by_term = works(app), terms(app)
    uris = {app.builder.get_relative_uri(page, target): target for target in (REFERENCES, GLOSSARY)}
    for link in document.findall(nodes.reference):
        target, text = uris.get(link.get("refuri", "")), link.astext()
        if target == REFERENCES and (cited := CITATION.fullmatch(text)):
            add_anchor(link, by_label.get(cited["label"]), f"no entry in book/references.bib for: {text}")
        elif target == GLOSSARY and text.lower() not in ("glossary", t("glossary")):
            anchor = next((by_term[form] for form in forms(text) if form in by_term), None)
            add_anchor(link, anchor, f"no term in book/glossary.md for: {text}")


def add_anchor(link: nodes.reference, anchor: str | None, missing: str) -> None:
    """Add an anchor to a link's address, or log the warning `missing` if there is none."""
    if anchor is None:
        LOGGER.warning(missing, location=link)
    else:
        link["refuri"] += f"#{anchor}"


def setup(app: Sphinx) -> None:
    """Register `link_to_entries`, which Sphinx calls for each page once all pages are read, before it is written."""
    app.connect("doctree-resolved", link_to_entries, priority=900)
