"""The list of a class: who belongs to it, who handed in nothing, and what other systems call each learner.

Any CSV table with a header works: a learning system's own export of its gradebook or of its participants, or one
column `student`. Names are compared without regard to case, spaces and punctuation.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from qkv.grading.systems import Owner
from qkv.words import t

# Columns that name a learner, in lower case; the first that a table has is shown.
IDS = (
    "student", "username", "user name", "sis login id", "login", "email", "email address", "sid", "student id",
    "id number", "sis user id", "id",
)  # fmt: skip
NAMES = ("student", "name", "full name", "student name")
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # the first bytes of a file that Excel calls "Unicode text"
FIRST, LAST = ("first name", "firstname"), ("last name", "surname", "lastname")


@dataclass(frozen=True)
class Person:
    """A learner of the class: the row of the table, by the names of its columns in lower case."""

    row: Mapping[str, str]

    def get(self, *columns: str) -> str:
        """Return the first of these columns that is not empty, or ""."""
        return next((self.row[column] for column in columns if self.row.get(column)), "")

    @property
    def shown(self) -> str:
        return self.get(*IDS) or self.name

    @property
    def name(self) -> str:
        return self.get(*NAMES) or f"{self.get(*FIRST)} {self.get(*LAST)}".strip()

    @property
    def called(self) -> list[str]:
        """What the learner may be called: each id, and the name with either part first."""
        first, last = self.get(*FIRST), self.get(*LAST)
        before, comma, behind = self.name.partition(",")
        texts = [*(self.row.get(column, "") for column in (*IDS, *NAMES)), f"{first} {last}", f"{last} {first}"]
        return [text.strip() for text in (*texts, f"{behind} {before}" if comma else "") if _key(text)]

    @cached_property
    def keys(self) -> frozenset[str]:
        """The names of the learner, as they are compared."""
        return frozenset(map(_key, self.called))


@dataclass(frozen=True)
class Roster:
    """The learners of a class; without a list, there are none."""

    people: tuple[Person, ...] = ()

    @cached_property
    def by_key(self) -> Mapping[str, list[Person]]:
        """The learners that have a name, by the name in the form in which names are compared."""
        found: dict[str, list[Person]] = {}
        for person in self.people:
            for key in person.keys:
                found.setdefault(key, []).append(person)
        return found

    def person_of(self, student: str, owner: Owner | None) -> Person | None:
        """Return the learner that a submission is from, or None if nobody or more than one has that name."""
        found = self.fitting(student, owner)
        return found[0] if len(found) == 1 else None

    def fitting(self, student: str, owner: Owner | None) -> list[Person]:
        """Return the learners of the list that a submission can be from; none if no name fits.

        The first name that fits one learner alone decides. Else all that the first fitting name fits are returned. Of a
        submission from Moodle only the full name is compared.
        """
        names = [student, *((owner.id, owner.name) if owner else ())]
        if owner and owner.system == "Moodle":  # the number of a participant is in no list
            names = [owner.name]
        several: list[Person] = []
        for name in names:
            found = self.by_key.get(_key(name), [])
            if len(found) == 1:
                return found
            several = several or found
        return several

    def unclear(self, students: Mapping[str, Owner | None]) -> list[str]:
        """Return the students who fit several learners of the list, or one whom another student fits too, sorted."""
        fitting = {student: self.fitting(student, owner) for student, owner in students.items()}
        counts = Counter(id(person) for found in fitting.values() for person in found)
        return sorted(
            student for student, found in fitting.items() if any(counts[id(p)] > 1 for p in found) or found[1:]
        )

    def names_of(self, student: str, owner: Owner | None) -> tuple[str, ...]:
        """Return the names that only this learner has: the one shown first, then the folder's, and those of the list.

        A student who fits nobody in the list, or several, has only the folder's name.
        """
        person = self.person_of(student, owner)
        if person is None:
            return (student,)
        names = (person.shown, student, *person.called)
        return tuple(dict.fromkeys(name for name in names if self.by_key.get(_key(name), [person]) == [person]))

    @property
    def fingerprint(self) -> str:
        """A short text that changes with the names of the class."""
        return hashlib.sha256(repr([person.called for person in self.people]).encode()).hexdigest()[:12]

    def missing(self, students: Iterable[tuple[str, Owner | None]]) -> list[Person]:
        """Return the learners that none of these submissions is from.

        Of learners with the same name, all are returned if there are fewer submissions with that name.
        """
        there = list(students)
        known = {id(person) for student, owner in there if (person := self.person_of(student, owner))}
        named = Counter(_key(owner.name) for _, owner in there if owner and owner.name)
        same = Counter(_key(person.name) for person in self.people)
        return [
            person
            for person in self.people
            if id(person) not in known
            and not (same[_key(person.name)] > 1 and named[_key(person.name)] >= same[_key(person.name)])
        ]


NO_ROSTER = Roster()


def read_roster(path: Path) -> Roster:
    """Read the list of a class. A table without a known column is a list of names without a header.

    Rows without a name, and the row of a gradebook with the points possible, are left out.

    Raises:
        OSError: the file cannot be read.
        ValueError: it has no learner.
    """
    rows = read_table(path)
    head = [cell.strip().casefold() for cell in rows[0]] if rows else []
    if not {*IDS, *NAMES, *LAST} & set(head):
        head, rows = ["student"], [["student"], *rows]  # a list of names without a header
    people = [Person(dict(zip(head, map(str.strip, row), strict=False))) for row in rows[1:]]
    people = [person for person in people if person.keys and "points possible" not in person.shown.casefold()]
    if not people:
        raise ValueError(
            t("{path} has no learner. It has to be a table (CSV) with a column such as student.", path=path)
        )
    return Roster(tuple(people))


def read_table(path: Path) -> list[list[str]]:
    """Return the rows of a CSV file that are not empty. Commas, semicolons or tabs separate its cells.

    The file is UTF-8, or UTF-16 with its mark. In another encoding, names would be read wrong, so it is refused.

    Raises:
        OSError: the file cannot be read.
        ValueError: it has another encoding, or is no text, or a cell is too long for a table.
    """
    data = path.read_bytes()
    text = data.decode("utf-16" if data.startswith(UTF16) else "utf-8-sig", "replace")
    if "\ufffd" in text or "\0" in text:  # as in another encoding, or in a spreadsheet's own format
        raise ValueError(
            t("{path} is not a table (CSV) in UTF-8. Save it as “CSV UTF-8” in your spreadsheet.", path=path)
        )
    first = next(iter(text.splitlines()), "")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count))
    try:
        return [row for row in rows if any(map(str.strip, row))]
    except csv.Error as why:
        raise ValueError(t("{path} is not a table (CSV): {why}", path=path, why=why)) from None


def _key(text: str) -> str:
    """Return a name as it is compared: Canvas, too, keeps only the letters and digits of a name in a file's name."""
    return re.sub(r"[\W_]", "", text).casefold()


def names_of(people: Sequence[Person]) -> str:
    return ", ".join(person.shown for person in people)
