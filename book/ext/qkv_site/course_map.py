"""Draw the maps of the course: the chapters with their questions, as pictures, and with the reader's progress.

Only the reader's browser stores the progress. `progress.js` shows it in the elements that are made here.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools.translations.skin import t

from .maths import render, typeset_title
from .navigation import DEEPER, deeper_of
from .pictures import FORMULA, letters, part, picture


class CourseMap(SphinxDirective):
    """`{course-map}` lists the chapters that exist. Each of its lines is a chapter's name, a colon, and a question."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return an empty container with the questions by the chapters' names.

        `draw` fills it later, when the titles of all pages are known.

        Raises:
            ValueError: a line has no colon.
        """
        place = nodes.container(classes=["qkv-map"])
        place["questions"] = dict(re.split(r":\s*", line, maxsplit=1) for line in self.content if line.strip())
        return [place]


class ProgressMap(SphinxDirective):
    """`{progress-map}` lists every chapter with its sections and exercises, and shows what the reader has read."""

    def run(self) -> list[nodes.Node]:
        """Return an empty container, which `draw` fills."""
        return [nodes.container(classes=["qkv-map", "qkv-progress-map"])]


class PictureMap(SphinxDirective):
    """`{picture-map}` shows the formula and each chapter as a picture. `map.js` lights the letters of a chapter."""

    def run(self) -> list[nodes.Node]:
        """Return an empty container, which `draw` fills."""
        return [nodes.container(classes=["qkv-map", "qkv-picture-map"])]


def draw(app: Sphinx, document: nodes.document, page: str) -> None:
    """Fill each map of a page: the list with questions, the pictures, or the progress.

    Chapters that do not exist are left out.
    """
    for place in document.findall(nodes.container):
        if "qkv-progress-map" in place["classes"]:
            place.children = [nodes.raw("", progress_list(progress_rows(app, page)), format="html")]
        elif "qkv-picture-map" in place["classes"]:
            place.children = [nodes.raw("", flow(app, page), format="html")]
        elif "questions" in place:
            asked: dict[str, str] = place.attributes.pop("questions")
            rows = [
                question_row(app, page, name, text) for name, text in asked.items() if exists(app, "chapters", name)
            ]
            place.children = [nodes.raw("", ordered_list(rows), format="html")]


def ordered_list(rows: list[str]) -> str:
    """Return the rows as an HTML list."""
    return f"<ol>{''.join(rows)}</ol>"


def exists(app: Sphinx, folder: str, name: str) -> bool:
    """Check whether the book has a page."""
    return f"{folder}/{name}" in app.env.found_docs


def link(app: Sphinx, page: str, target: str, text: str, anchor: str = "") -> str:
    """Return a link from `page` to `target`."""
    return f'<a href="{app.builder.get_relative_uri(page, target)}{anchor}">{escape(text)}</a>'


def question_row(app: Sphinx, page: str, name: str, question: str) -> str:
    """Return a chapter's list item: its number, title, question and time, and a link to its exercises if it has any.

    `page` is the page with the map.
    """
    chapter, exercise = f"chapters/{name}", f"exercises/{name}"
    about: dict[str, Any] = app.env.metadata[chapter]
    more = f"<span>{t('about {n} minutes', n=about['qkv_minutes'])}</span>"
    if exists(app, "exercises", name):
        more += " " + link(app, page, exercise, t("Exercises"))
    title = link(app, page, chapter, app.env.titles[chapter].astext())
    return f'<li value="{int(name[:2])}">{title}<p>{escape(question)}</p><p>{more}</p></li>'


def chapters_of(app: Sphinx) -> list[str]:
    """Return the names of the chapters that exist, without their folder, in order. Deeper pages are no chapters."""
    found = (page for page in app.env.found_docs if page.startswith("chapters/") and not page.startswith(DEEPER))
    return sorted(page.removeprefix("chapters/") for page in found)


def flow(app: Sphinx, page: str) -> str:
    """Return the formula, and the chapters as a list of pictures, as HTML for this page.

    Exercises that follow no single chapter come last.
    """
    pages = [f"chapters/{name}" for name in chapters_of(app)] + [f"exercises/{name}" for name in other_sets(app)]
    tiles = "".join(tile(app, page, target) for target in pages)
    formula = f'<div class="qkv-formula">{render(FORMULA, display=True)}</div>'
    return f'{formula}<ol class="qkv-tiles" aria-label="{t("The chapters in pictures")}">{tiles}</ol>'


def tile(app: Sphinx, page: str, target: str) -> str:
    """Return a list item for the page `target`: picture, title, part of the formula, ring of the reader's progress.

    `page` is the page with the map.
    """
    name = target.partition("/")[2]
    number = int(name[:2])
    title = escape(app.env.titles[target].astext())
    exercise = f"exercises/{name}"
    asked = f' data-exercise="{exercise}"' if exists(app, "exercises", name) else ""
    return (
        f'<li data-tile="{target}"{asked} data-letters="{letters(number)}">'
        f'<a href="{app.builder.get_relative_uri(page, target)}">{picture(number)}{RING}'
        f"<span><b>{number}</b> {title}</span> <code>{typeset_title(escape(part(number)))}</code></a></li>"
    )


# The ring fills by its dashes, of which `progress.js` sets the length; the whole ring is 1 long.
RING = (
    '<svg class="qkv-ring" viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="9"/>'
    '<circle cx="12" cy="12" r="9" pathLength="1"/><path d="M7.5 12.5l3 3 6-7"/></svg>'
)


def progress_rows(app: Sphinx, page: str) -> list[str]:
    """Return a list item for each chapter, with its sections and checkboxes for the chapter and its exercises.

    Exercises that follow no single chapter come last. `page` is the page with the map.
    """
    rows = [progress_row(app, page, name) for name in chapters_of(app)]
    return rows + [exercise_row(app, page, name) for name in other_sets(app)]


def other_sets(app: Sphinx) -> list[str]:
    """Return the names of the sets of exercises that follow no single chapter, in order."""
    sets = (found.removeprefix("exercises/") for found in app.env.found_docs if found.startswith("exercises/"))
    return sorted(set(sets) - set(chapters_of(app)))


def exercise_row(app: Sphinx, page: str, name: str) -> str:
    """Return the list item of exercises that follow no single chapter: their title and checkbox.

    `page` is the page with the map.
    """
    title = link(app, page, f"exercises/{name}", app.env.titles[f"exercises/{name}"].astext())
    return f'<li value="{int(name[:2])}">{title}<p>{exercise_box(app, page, name)}</p></li>'


def exercise_box(app: Sphinx, page: str, name: str) -> str:
    """Return the checkbox of a set of exercises as HTML, with the number of its questions.

    `page` is the page with the map.
    """
    exercise = f"exercises/{name}"
    questions = f' data-questions="{len(questions_of(app, exercise))}"'
    return box(exercise, t("done"), link(app, page, exercise, t("exercises")), questions)


def progress_row(app: Sphinx, page: str, name: str) -> str:
    """Return a chapter's list item as HTML: its title, sections, deeper pages and checkboxes.

    `page` is the page with the map.
    """
    chapter = f"chapters/{name}"
    title = link(app, page, chapter, app.env.titles[chapter].astext())
    boxes = box(chapter, t("read"), t("about {n} minutes", n=app.env.metadata[chapter]["qkv_minutes"]))
    if exists(app, "exercises", name):
        boxes += exercise_box(app, page, name)
    sections = "".join(f"<li>{link(app, page, chapter, *section)}</li>" for section in sections_of(app, chapter))
    others = deeper_of(chapter, app.env.found_docs)
    more = "".join(f"<li>{t('Deeper:')} {deeper_row(app, page, other)}</li>" for other in others)
    inner = f'<details><summary>{t("What is in it")}</summary><ul class="qkv-sections">{sections}{more}</ul></details>'
    return f'<li value="{int(name[:2])}">{title}<p>{boxes}</p>{inner}</li>'


def deeper_row(app: Sphinx, page: str, deeper: str) -> str:
    """Return a link from `page` to a deeper page, with its time. Deeper pages have no checkbox."""
    title = link(app, page, deeper, app.env.titles[deeper].astext())
    return t("{title} (about {n} minutes)", title=title, n=app.env.metadata[deeper]["qkv_minutes"])


def box(page: str, word: str, about: str, more: str = "") -> str:
    """Return a checkbox as HTML, for a page that was read or an exercise that was done.

    Args:
        page: the page, under whose name the progress is kept
        word: the text of the checkbox
        about: HTML before it
        more: further attributes of the checkbox
    """
    return (
        f'<span class="qkv-mark">{about}<span data-visited="{page}"></span> '
        f'<label><input type="checkbox" data-progress="{page}"{more}> {word}</label></span>'
    )


def questions_of(app: Sphinx, exercise: str) -> list[str]:
    """Return the ids of the cells that check an answer on an exercise page."""
    notebook = nbformat.read(app.env.doc2path(exercise), as_version=4)
    return [cell.id for cell in notebook.cells if cell.id.startswith("check-")]


def sections_of(app: Sphinx, page: str) -> list[tuple[str, str]]:
    """Return the title and anchor of each section of a page, except its summary, exercises and references."""
    inner = app.env.tocs[page].next_node(nodes.bullet_list)
    items = [item.next_node(nodes.reference) for item in inner.children] if inner is not None else []
    found = [(item.astext(), item["anchorname"]) for item in items if item is not None]
    return [(title, anchor) for title, anchor in found if anchor not in {"#summary", "#exercises", "#references"}]


def progress_list(rows: list[str]) -> str:
    """Return the progress of a new reader, its buttons and the list of chapters, as HTML.

    `progress.js` later changes only the numbers, so nothing on the page moves.
    """
    chapters, exercises = ("".join(rows).count(f'data-progress="{kind}/') for kind in ("chapters", "exercises"))
    both = t("You have read {0} of {1} chapters and done {2} of {3} sets of exercises.")
    progress = both if exercises else t("You have read {0} of {1} chapters.")
    words = (t("Export"), t("Import"), t("Clear"), t("A file with progress"))
    return CONTROLS.format(progress.format(0, chapters, 0, exercises), *words) + ordered_list(rows)


CONTROLS = """<div class="qkv-progress">
<p role="status">{}</p>
<p class="qkv-prediction-record"></p>
<p><button type="button" data-do="export">{}</button>
<button type="button" data-do="import">{}</button>
<button type="button" data-do="clear">{}</button>
<input type="file" accept=".json,application/json" aria-label="{}" hidden></p>
</div>"""


def setup(app: Sphinx) -> None:
    """Register the directives, and draw the maps when links are resolved."""
    app.add_directive("course-map", CourseMap)
    app.add_directive("progress-map", ProgressMap)
    app.add_directive("picture-map", PictureMap)
    app.connect("doctree-resolved", draw, priority=900)
