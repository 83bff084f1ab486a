"""The course in a language: its pages, their catalogues, and the copy that is woven from both."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from tools.course import ROOT, TRANSLATED, files_below, listed_pages
from tools.translations import catalogues, sources, terms
from tools.translations.sources import Translate

CATALOGUES = ROOT / "translations"
UNFINISHED = CATALOGUES / "unfinished.txt"
COURSE = ("book", "chapters", "exercises")  # the folders of notebooks and pages
PAGES = (".ipynb", ".md", ".bib")


def translated() -> list[Path]:
    """Return the notebooks and pages with texts of their own. Those of the solutions are the exercises'."""
    found = [ROOT / f"{page}{suffix}" for page in listed_pages() for suffix in (".ipynb", ".md")]
    return [path for path in found if path.exists() and path.parent.name != "solutions"]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix()


def catalogue(name: str, language: str) -> Path:
    """Return the catalogue of a page, or of texts of the code."""
    return CATALOGUES / language / f"{name}.po"


def unfinished() -> list[str]:
    """Return the pages that are still to be translated; readers see what is left of them in English."""
    return UNFINISHED.read_text(encoding="utf-8").split()


def translate_page(path: Path, language: str) -> Translate:
    """Return what translates the units of a page: into themselves if it has no catalogue."""
    return catalogues.translator(catalogues.read(catalogue(name_of(path), language), language))


def words(name: str, language: str) -> dict[str, str]:
    """Return the translations of a catalogue of code, by their English texts."""
    known = catalogues.messages(catalogues.read(catalogue(name, language), language))
    return {text: str(message.string) for (_, text), message in known.items() if catalogues.is_done(message)}


def speaking(notebook: str, language: str) -> str:
    """Return a notebook, as text, whose setup cell chooses a language, so that its widgets and checks have it, too."""
    read = json.loads(notebook)
    for cell in read["cells"]:
        if "setup" in cell["metadata"].get("tags", []):
            cell["source"] = [*cell["source"], *f'\n\nimport qkv\n\nqkv.speak("{language}")'.splitlines(keepends=True)]
    return json.dumps(read, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def pages() -> Iterator[Path]:
    """Yield the files of the course that readers open, and what these need."""
    yield from (file for folder in COURSE for file in files_below(ROOT / folder) if file.suffix in PAGES)


def weave(language: str, target: Path, keep: bool = False) -> list[Path]:
    """Write the course in a language into a folder, and return its files.

    A file that would stay the same is not written again, so that a build that compares dates repeats nothing. With
    `keep`, no file that is there is written: it may have a reader's answers.
    """
    woven: list[Path] = []
    texts = set(translated())
    for path in pages():
        place = target / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        woven.append(place)
        if keep and place.exists():
            continue
        if path not in texts:
            shutil.copy2(path, place)
            continue
        text = sources.woven_file(path, translate_page(path, language))
        if path.suffix == ".ipynb":
            text = speaking(text, language)
        if path == terms.GLOSSARY:
            text = terms.with_own_names(text, TRANSLATED.index(language))
        if not place.exists() or place.read_text(encoding="utf-8") != text:
            place.write_text(text, encoding="utf-8")
    return woven
