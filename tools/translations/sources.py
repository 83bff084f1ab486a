"""The units of a notebook or a page, and a copy of it with translations in their places."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.translations import code, markdown

HIDDEN = "remove-cell"
Notebook = dict[str, Any]


@dataclass(frozen=True)
class Unit:
    """A text to translate: the id of its cell (empty on a page), what it is (paragraph, label …), and the text."""

    where: str
    kind: str
    text: str


Translate = Callable[[Unit], str]


def units(path: Path) -> list[Unit]:
    """Return the units of a notebook or a page in the order in which readers meet them."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return list(markdown_units("", text))
    return [unit for cell in json.loads(text)["cells"] for unit in cell_units(cell)]


def cell_units(cell: dict[str, Any]) -> Iterator[Unit]:
    """Yield the units of a cell: of its Markdown, or of its code; none if readers never see it."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield from markdown_units(cell["id"], source)
    elif not is_hidden(cell):
        yield from (Unit(cell["id"], place.kind, place.text) for place in code.places(source))


def markdown_units(where: str, text: str) -> Iterator[Unit]:
    yield from (Unit(where, part.kind, part.text) for part in markdown.parts(text) if part.kind)


def is_hidden(cell: dict[str, Any]) -> bool:
    """Return whether readers never see a cell: its code is for the site alone."""
    return HIDDEN in cell["metadata"].get("tags", [])


def woven_file(path: Path, translate: Translate) -> str:
    """Return the text of a notebook or a page with its translations."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return woven_markdown("", text, translate)
    return json.dumps(woven(json.loads(text), translate), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def woven(notebook: Notebook, translate: Translate) -> Notebook:
    """Return a notebook in another language: the same cells, ids, tags, metadata and code, with other words."""
    result, names = copy.deepcopy(notebook), new_names(notebook, translate)
    for cell in result["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            source = woven_markdown(cell["id"], source, translate)
        else:
            source = woven_code(cell["id"], source, translate, names, hidden=is_hidden(cell))
        cell["source"] = source.splitlines(keepends=True)
    return result


def new_names(notebook: Notebook, translate: Translate) -> dict[str, str]:
    """Return the translations of a notebook's names by the names that it has now, the longest first.

    Names that stay the same are left out.
    """
    cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    found = [unit for cell in cells for unit in cell_units(cell) if unit.kind == code.NAME]
    names = {unit.text: new for unit in reversed(found) if (new := translate(unit)) != unit.text}
    return {name: names[name] for name in sorted(names, key=len, reverse=True)}


def woven_markdown(where: str, text: str, translate: Translate) -> str:
    parts = markdown.parts(text)
    return "".join(translate(Unit(where, part.kind, part.text)) if part.kind else part.text for part in parts)


def woven_code(where: str, source: str, translate: Translate, names: dict[str, str], hidden: bool = False) -> str:
    """Return the source of a code cell with its translations, and with each of these names as its value in `names`.

    In a hidden cell, only the names are replaced. Errors are those of `code.uses`.
    """
    new = {place.start: (place, names[place.text]) for place in code.uses(source, names, hidden)} if names else {}
    for place in code.places(source) if not hidden else ():
        new[place.start] = place, translate(Unit(where, place.kind, place.text))
    for place, text in sorted(new.values(), key=lambda each: each[0].start, reverse=True):
        if text != place.text:
            source = source[: place.start] + place.written(text) + source[place.end :]
    return source
