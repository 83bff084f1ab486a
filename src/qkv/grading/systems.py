"""Whose file is it? The layouts in which learning systems hand out what a class handed in.

Canvas       lovelaceada_LATE_11234_567_03_scaling-1.ipynb
             name, LATE, user id, attachment id, the learner's file (its ContentZipper)
Moodle       Ada Lovelace_12345_assignsubmission_file/03_scaling.ipynb
             name, or Participant if marking is blind; number of the participant (its mod_assign downloader)
Gradescope   assignment_77_export/submission_4711/03_scaling.ipynb
             the names are in submission_metadata.yml beside the folders
Blackboard   03_scaling_alovelace_attempt_2026-01-15-10-30-00_work.ipynb
             assignment, user name, time of the attempt, the learner's file; a text file of the same name tells more
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CANVAS = re.compile(
    r"(?:(?!LATE_|anon_)(?P<name>[^_]+)_)?(?P<late>LATE_)?(?P<id>\d{3,}|anon_[0-9A-Za-z]+)_(?:\d{3,}_(?P<rest>.+)|(?P<typed>text|link)\.html)"
)
MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+(?:_(?P<rest>.+))?")
GRADESCOPE = re.compile(r"submission_(?P<id>\d+)")
BLACKBOARD = re.compile(r"(?P<before>.+?)_attempt_(?P<when>\d{4}(?:-\d\d){5})(?:_(?P<rest>.+)|(?P<about>\.txt))")
METADATA = "submission_metadata.yml"  # of Gradescope
ABOUT = re.compile(r"^Name:(?P<name>[^()\n]*)\((?P<user>[^()\n]+)\)", re.MULTILINE)  # in Blackboard's text files
MAX_METADATA = 20_000_000  # bytes


@dataclass(frozen=True)
class Owner:
    """The learner that a system names in a path.

    Attributes:
        student: a name that no other learner of the class has
        system: "Canvas", "Moodle", "Gradescope" or "Blackboard"
        id: the system's own name for the learner: user id, participant's number, e-mail address, user name
        name: the full name, as far as the layout has it
        file: the name of the learner's own file, or "" if the system keeps it as it was
        late: whether the system says that it was late
        attempt: when it was handed in; of several, the last counts
        about: whether the file is the system's own, and was not handed in
    """

    student: str
    system: str = ""
    id: str = ""
    name: str = ""
    file: str = ""
    late: bool = False
    attempt: str = ""
    about: bool = False


@dataclass(frozen=True)
class Facts:
    """What files of a system say about the learners of a class, beyond the names of their files.

    Attributes:
        submitters: Gradescope's learners, by the name of the submission's folder
        names: Blackboard's user names and full names, by the part of a file's name before the attempt
        assignment: what is before the user name in Blackboard's file names
    """

    submitters: Mapping[str, tuple[Mapping[str, Any], ...]]
    names: Mapping[str, tuple[str, str]]
    assignment: str = ""


def is_export(names: Collection[str]) -> bool:
    """Check whether a folder or zip with these files and folders is a whole class, as a system hands it out.

    It has Gradescope's metadata, or else at least two names, all in the form of Canvas, Moodle or Blackboard.
    """
    forms = (CANVAS, MOODLE, BLACKBOARD)
    return METADATA in names or (len(names) > 1 and all(any(form.fullmatch(name) for form in forms) for name in names))


def owner_of(parts: Sequence[str], facts: Facts) -> Owner | None:
    """Return the learner that a path names, or None if it has none of the layouts.

    Args:
        parts: the names of the folders that lead to the file, and its own
        facts: what the systems' own files say
    """
    first, is_file = parts[0], len(parts) == 1
    if found := MOODLE.fullmatch(first):
        name, number = found["name"], found["id"]
        return Owner(f"{name}_{number}", "Moodle", number, "" if name == "Participant" else name, _own(found, is_file))
    if (found := GRADESCOPE.fullmatch(first)) and not is_file:
        return _gradescope(first, facts)
    if found := BLACKBOARD.fullmatch(first):
        user, name = facts.names.get(found["before"]) or (found["before"].removeprefix(facts.assignment), "")
        about = bool(found["about"]) and is_file
        return Owner(user, "Blackboard", user, name, _own(found, is_file), attempt=found["when"], about=about)
    if (found := CANVAS.fullmatch(first)) and (found["name"] or found["id"].startswith("anon_")):
        student = "_".join(filter(None, (found["name"], found["id"])))
        late = bool(found["late"])
        return Owner(student, "Canvas", found["id"], found["name"] or "", _own(found, is_file), late=late)
    return None


def _own(found: re.Match[str], is_file: bool) -> str:
    """Return the learner's own name of a file, or "" for a file in a folder or zip, which has that name anyhow."""
    return (found["rest"] or "") if is_file else ""


def _gradescope(folder: str, facts: Facts) -> Owner:
    """Return the learner of one of Gradescope's folders; of a group, all its members together.

    If the metadata does not name them, the folder's name stands for the student.
    """
    people = facts.submitters.get(folder, ())
    ids = [str(person.get(":email") or person.get(":sid") or person.get(":name") or "") for person in people]
    names = ", ".join(str(person.get(":name", "")) for person in people)
    student = " and ".join(filter(None, ids)) or folder
    return Owner(student, "Gradescope", student, names)


def gather_facts(metadata: Sequence[bytes], abouts: Mapping[str, bytes], befores: Sequence[str]) -> Facts:
    """Return what the systems' own files say; a file that cannot be read says nothing.

    Args:
        metadata: the contents of Gradescope's metadata files
        abouts: the contents of Blackboard's text files, by the part of their names before the attempt
        befores: that part of the names of all of Blackboard's files
    """
    import yaml

    submitters: dict[str, tuple[Mapping[str, Any], ...]] = {}
    for data in metadata:
        try:
            content = yaml.load(data[:MAX_METADATA], Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except (yaml.YAMLError, RecursionError, ValueError):
            continue
        for folder, about in content.items() if isinstance(content, dict) else ():
            people = about.get(":submitters") if isinstance(about, dict) else None
            if isinstance(people, list):
                submitters[str(folder)] = tuple(person for person in people if isinstance(person, dict))
    names = {}
    for before, data in abouts.items():
        if found := ABOUT.search(data[:10_000].decode("utf-8", "replace")):
            names[before] = (found["user"].strip(), found["name"].strip())
    different = sorted(set(befores))
    common = os.path.commonprefix(different) if len(different) > 1 else "".join(different)  # noqa: RUF071
    return Facts(submitters, names, common[: common.rfind("_") + 1])
