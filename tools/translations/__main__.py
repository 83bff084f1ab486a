"""Translate the course.

python -m tools.translations update             write new and changed texts into the catalogues; derive zh_CN
python -m tools.translations check              list what is missing, stale or breaks a rule; exit 1 if anything does
python -m tools.translations weave LANGUAGE DIR write the course in a language into a folder

`check` exits with 1 if it lists anything. What stands in translations/unfinished.txt may be missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tools.course import ROOT
from tools.course import TRANSLATED as LANGUAGES
from tools.translations import catalogues, code, messages, rules, scripts, simplified, sources, weaving
from tools.translations.sources import Unit
from tools.translations.weaving import CATALOGUES, UNFINISHED, catalogue, name_of, translated, unfinished, weave

WRITTEN, DERIVED = "zh_TW", "zh_CN"  # people translate into the first; the second is made from it


@cache
def texts() -> dict[str, list[Unit]]:
    """Return all texts by the names of their catalogues: those of pages, of rooms of messages, and of the site."""
    return {name_of(path): sources.units(path) for path in translated()} | messages.rooms() | scripts.catalogues()


def shipped(language: str) -> dict[Path, str]:
    """Return the texts of the files that the package has in a language, by their paths.

    They are the messages of its Python and the texts of its widgets.
    """
    words = catalogues.memory(CATALOGUES / language / "messages", language)
    return {
        messages.dictionary(language): messages.written(words),
        scripts.dictionary(language): scripts.written(weaving.words("widgets", language)),
    }


def update() -> int:
    """Write all texts that are being translated into the catalogues, derive the second language, write what ships.

    Print for each catalogue how many texts are left to translate. Return 0.
    """
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
        for path, text in shipped(language).items():
            path.write_text(text, encoding="utf-8")
    return 0


def check() -> int:
    """Print what is missing, stale or breaks a rule. Return the exit code: 1 if something does, else 0."""
    wrong = [line for name, units in texts().items() for each in LANGUAGES for line in findings(name, units, each)]
    wrong += [line for language in LANGUAGES for line in old_dictionaries(language)]
    written = (catalogues.read(catalogue(name, WRITTEN), WRITTEN) for name in texts())
    said = (str(message.string) for catalog in written for message in catalog if message.id)
    wrong += [f"{DERIVED}: {line}" for line in simplified.not_approved(said)]
    if wrong:
        print("\n".join(wrong), "\nNew and changed texts come into the catalogues with: make translations", sep="\n")
    return bool(wrong)


def findings(name: str, units: list[Unit], language: str) -> Iterator[str]:
    """Yield what is wrong with the translation of a page, room or catalogue.

    If it is listed as unfinished, texts may be missing, but then it must not be finished.
    """
    catalog = catalogues.read(catalogue(name, language), language)
    left = list(catalogues.unfinished(units, catalog))
    if name in unfinished() and not left:
        yield f"{name} is translated: take it off translations/{UNFINISHED.name}"
    elif name not in unfinished():
        yield from (f"{language}/{name}: {line}" for line in left)
    for (where, text), message in catalogues.messages(catalog).items():
        stays = str(message.string) == text and code.NAME in message.auto_comments
        broken = rules.broken(text, str(message.string), language) if catalogues.is_done(message) and not stays else ()
        yield from (f"{language}/{name}, {where or 'page'}, {text[:50]!r}: {line}" for line in broken)


def old_dictionaries(language: str) -> Iterator[str]:
    """Yield a line for each dictionary that ships, if it does not have exactly what the catalogues have."""
    for path, text in shipped(language).items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            yield f"{path.relative_to(ROOT)} is not what the catalogues say"


def main() -> int:
    """Run the command line. Return the exit code: that of `check`, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("update")
    commands.add_parser("check")
    weaves = commands.add_parser("weave")
    weaves.add_argument("language", choices=LANGUAGES)
    weaves.add_argument("folder", type=Path)
    asked = parser.parse_args()
    if asked.command == "weave":
        weave(asked.language, asked.folder, keep=True)
        print(f"The course in {asked.language}: {asked.folder}. Files that were there are as they were")
        return 0
    return update() if asked.command == "update" else check()


if __name__ == "__main__":
    sys.exit(main())
