"""Translate the course.

python -m tools.translations update             write new and changed texts into the catalogues; derive the rest
python -m tools.translations check              list what is missing, stale or breaks a rule; exit 1 if anything does
python -m tools.translations weave LANGUAGE     write the course in a language into _build/LANGUAGE

`check` exits with 1 if it lists anything. What stands in translations/unfinished.txt may be missing.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.site import ROOT, files_below, listed_pages
from tools.translations import catalogues, messages, rules, simplified, sources
from tools.translations.sources import Unit

CATALOGUES = ROOT / "translations"
UNFINISHED = CATALOGUES / "unfinished.txt"
WRITTEN, DERIVED = "zh_TW", "zh_CN"  # people translate into the first; the second is made from it
LANGUAGES = (WRITTEN, DERIVED)
COURSE = ("book", "chapters", "exercises")  # the folders of notebooks and pages


def translated() -> list[Path]:
    """Return the notebooks and pages with texts of their own. Those of the solutions are the exercises'."""
    found = [ROOT / f"{page}{suffix}" for page in listed_pages() for suffix in (".ipynb", ".md")]
    return [path for path in found if path.exists() and path.parent.name != "solutions"]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix()


def catalogue(name: str, language: str) -> Path:
    """Return the catalogue of a page, or of a room of messages."""
    return CATALOGUES / language / f"{name}.po"


def texts() -> dict[str, list[Unit]]:
    """Return all texts by the names of their catalogues: those of pages, then those of rooms of messages."""
    return {name_of(path): sources.units(path) for path in translated()} | messages.rooms()


def words(language: str) -> dict[str, str]:
    """Return the messages that are translated, by their English texts."""
    return catalogues.memory(CATALOGUES / language / "messages", language)


def unfinished() -> list[str]:
    """Return the pages that are still to be translated; readers see them in English."""
    return UNFINISHED.read_text(encoding="utf-8").split()


def update() -> int:
    """Write all texts that are being translated into the catalogues, derive the second language, ship the messages."""
    known = catalogues.memory(CATALOGUES / WRITTEN, WRITTEN)
    for name, units in texts().items():
        place = catalogue(name, WRITTEN)
        if not place.exists() and name in unfinished():
            continue
        new = catalogues.updated(units, catalogues.read(place, WRITTEN), known)
        catalogues.write(place, new)
        catalogues.write(catalogue(name, DERIVED), catalogues.derived(new, DERIVED, simplified.simplified))
        left = list(catalogues.unfinished(units, new))
        print(f"{name}: {len(units)} texts, {len(left)} to translate")
    for language in LANGUAGES:
        messages.dictionary(language).write_text(messages.written(words(language)), encoding="utf-8")
    return 0


def check() -> int:
    """Print what is wrong. Return the exit code."""
    wrong = [line for name, units in texts().items() for each in LANGUAGES for line in findings(name, units, each)]
    wrong += [line for language in LANGUAGES for line in old_dictionary(language)]
    if wrong:
        print("\n".join(wrong), "\nNew and changed texts come into the catalogues with: make translations", sep="\n")
    return bool(wrong)


def findings(name: str, units: list[Unit], language: str) -> Iterator[str]:
    """Yield what is wrong with the translation of a page or room, or with calling it unfinished."""
    catalog = catalogues.read(catalogue(name, language), language)
    left = list(catalogues.unfinished(units, catalog))
    if name in unfinished() and not left:
        yield f"{name} is translated: take it off translations/{UNFINISHED.name}"
    elif name not in unfinished():
        yield from (f"{language}/{name}: {line}" for line in left)
    for (where, text), message in catalogues.messages(catalog).items():
        broken = rules.broken(text, str(message.string), language) if catalogues.is_done(message) else ()
        yield from (f"{language}/{name}, {where or 'page'}, {text[:50]!r}: {line}" for line in broken)


def old_dictionary(language: str) -> Iterator[str]:
    """Yield the dictionary that is shipped, if it does not have exactly what the catalogues have."""
    path = messages.dictionary(language)
    if not path.exists() or path.read_text(encoding="utf-8") != messages.written(words(language)):
        yield f"{path.name} is not what the catalogues say"


def weave(language: str) -> int:
    """Write the course in a language: each notebook and page that is translated, and the others as they are."""
    target = ROOT / "_build" / language
    shutil.rmtree(target, ignore_errors=True)
    texts = set(translated())
    for path in (file for folder in COURSE for file in files_below(ROOT / folder)):
        place = target / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path in texts and catalogue(name_of(path), language).exists():
            translate = catalogues.translator(catalogues.read(catalogue(name_of(path), language), language))
            place.write_text(sources.woven_file(path, translate), encoding="utf-8")
        else:
            shutil.copy(path, place)
    print(f"The course in {language}: {target.relative_to(ROOT)}")
    return 0


def main() -> int:
    """Run the command line. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("update")
    commands.add_parser("check")
    commands.add_parser("weave").add_argument("language", choices=LANGUAGES)
    asked = parser.parse_args()
    if asked.command == "weave":
        return weave(asked.language)
    return update() if asked.command == "update" else check()


if __name__ == "__main__":
    sys.exit(main())
