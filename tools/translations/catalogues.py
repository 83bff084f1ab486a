"""Catalogues: one PO file for each source file and language, the format that every translator's tool reads.

A message's id is the English text of a unit, its context the id of the cell. So a translation is up to date exactly as
long as the source has its text: there are no hashes and no dates. When a text changes, its translation is kept, marked
as fuzzy, with the old text beside it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po, write_po

from tools.translations.sources import Translate, Unit

WAS = "was: "  # begins the comment with a stale translation's English text (Babel does not read those after "#|")
ALIKE = 0.5  # from this ratio of difflib on, a new text of a cell counts as a changed form of an old one
Key = tuple[str, str]


def read(path: Path, language: str) -> Catalog:
    """Return the catalogue in a file; an empty one if there is no file."""
    if not path.exists():
        return Catalog(locale=language, fuzzy=False)
    with path.open("rb") as file:
        return read_po(file, locale=language)


def write(path: Path, catalog: Catalog) -> None:
    """Write a catalogue. Its header has the language and the encoding alone: a date would conflict in every merge.

    Flags other than "fuzzy" are removed, also from the catalogue.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for message in catalog:
        message.flags &= {"fuzzy"}  # Babel takes the % and { of formulas for a format
    with path.open("wb") as file:
        write_po(file, catalog, width=0, omit_header=True, ignore_obsolete=True)
    header = f'msgid ""\nmsgstr ""\n"Language: {catalog.locale}\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    path.write_text(header + path.read_text(encoding="utf-8"), encoding="utf-8")


def messages(catalog: Catalog) -> dict[Key, Message]:
    """Return the messages by the cell's id and the English text."""
    return {(message.context or "", str(message.id)): message for message in catalog if message.id}


def is_done(message: Message | None) -> bool:
    """Return whether a message has a translation that is up to date."""
    return message is not None and bool(message.string) and not message.fuzzy


def translator(catalog: Catalog) -> Translate:
    """Return a function from a unit to its translation, or to its own text if it has none that is up to date."""
    known = messages(catalog)

    def translate(unit: Unit) -> str:
        message = known.get((unit.where, unit.text))
        return str(message.string) if message is not None and is_done(message) else unit.text

    return translate


def updated(units: Iterable[Unit], old: Catalog, memory: dict[str, str]) -> Catalog:
    """Return a catalogue for these units.

    It keeps each translation whose text is still there, or stands elsewhere in the course (`memory`). If a text has
    changed, it keeps the translation too, but marks it as fuzzy.
    """
    new = Catalog(locale=old.locale, fuzzy=False)
    known = messages(old)
    wanted = {(unit.where, unit.text): unit for unit in units}
    left = {key: message for key, message in known.items() if key not in wanted and message.string}
    for key, unit in wanted.items():
        message = new.add(unit.text, context=unit.where or None, auto_comments=[unit.kind])
        if is_done(known.get(key)):
            message.string = known[key].string
        elif unit.text in memory:
            message.string = memory[unit.text]
        elif key in known and known[key].string:
            keep(message, known[key], known[key].user_comments)
        elif (before := closest(key, left)) is not None:
            keep(message, left.pop(before), [f"{WAS}{before[1]}"])
    return new


def keep(message: Message, old: Message, comments: Iterable[str]) -> None:
    """Give a changed text its old translation, marked as fuzzy, with the text that it is a translation of."""
    message.string, message.user_comments = old.string, list(comments)
    message.flags.add("fuzzy")


def closest(key: Key, left: dict[Key, Message]) -> Key | None:
    """Return the old message of the same cell whose text is most like a new one; None if none is like it."""
    where, text = key
    same_cell = [each for each in left if each[0] == where]
    found = difflib.get_close_matches(text, [each[1] for each in same_cell], n=1, cutoff=ALIKE)
    return (where, found[0]) if found else None


def memory(folder: Path, language: str) -> dict[str, str]:
    """Return the finished translations in a folder's catalogues, by their English texts; of several, the first."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*.po")):
        for message in messages(read(path, language)).values():
            if is_done(message):
                found.setdefault(str(message.id), str(message.string))
    return found


def unfinished(units: Iterable[Unit], catalog: Catalog) -> Iterator[str]:
    """Yield a line for what is missing or stale in a catalogue, and for what is not in the source any more."""
    known = messages(catalog)
    wanted = {(unit.where, unit.text): unit for unit in units}
    for key, unit in wanted.items():
        message, text = known.get(key), f"{unit.where or 'page'}, {unit.kind}, {unit.text[:50]!r}"
        if message is None or not message.string:
            yield f"{text}: has no translation"
        elif message.fuzzy:
            yield f"{text}: is stale, because its English text has changed"
    yield from (f"{key[0] or 'page'}, {key[1][:50]!r}: is not in the source any more" for key in known.keys() - wanted)


def derived(catalog: Catalog, language: str, convert: Callable[[str], str]) -> Catalog:
    """Return the catalogue of a language that is made from another one, message by message.

    A text that stays as it is in the other language stays here too. One whose translation is missing or stale there has
    none here.
    """
    new = Catalog(locale=language, fuzzy=False)
    for (where, text), old in messages(catalog).items():
        message = new.add(text, context=where or None, auto_comments=old.auto_comments)
        if is_done(old):
            message.string = convert(str(old.string)) if old.string != text else text
    return new
