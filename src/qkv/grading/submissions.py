"""Find submissions and read them, even damaged ones.

Layouts: PATH/<student>/…/<any name>.ipynb, PATH/<student>_NN_slug.ipynb, or what a learning system hands out
(`systems`); zips count as folders. The path names the student; the content shows which exercise it is. Files are
untrusted: their size is limited, their encoding is guessed, and only the source of their code cells is used.

Nothing that was handed in is passed over: a student without a notebook is listed with the files that are there.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import qkv
from qkv.grading.files import (
    MAX_DEPTH,
    MAX_MEMBERS,
    Budget,
    File,
    UnreadableError,
    files_below,
    is_zip,
    members_of,
    read_bytes,
    size_of,
)
from qkv.grading.results import clean, clean_name
from qkv.grading.systems import BLACKBOARD, METADATA, Facts, Owner, gather_facts, is_export, owner_of
from qkv.questions import chapters, questions_of
from qkv.words import t

MAX_CELLS = 2_000  # code cells of a notebook that are run
MAX_SOURCE = 1_000_000  # characters of a cell that is run
MAX_LOOKED_AT = 2_000  # files of a learner that are read
MAX_BYTES = 300 * 2**20  # of them
MAX_NESTED = 400 * 2**20  # bytes of the zips in a learner's zip
NESTED_RATIO = 20  # so many bytes more for each byte on the disk: a zip hardly gets smaller in another zip
MAX_LISTED = 60_000  # files in a zip with a whole class
SHOWN_FILES = 5  # of a student without a notebook
MAX_NAMED = 8  # files that a message names
MAX_STEM = 255  # characters of a file's name that are looked at; no file system allows more
# Additions to a file's name by a learning platform, a browser or a file manager.
LATE = re.compile(r"(^|_)LATE_")
NOTEBOOK = re.compile(r"\.ipynb(\.txt|\.json)?$", re.IGNORECASE)  # some browsers and systems add a second ending
MAYBE_NOTEBOOK = re.compile(r"\.(txt|json)$", re.IGNORECASE)  # if the content is one
ADDITION = re.compile(r"([ _-]*\(\d+\)|-Copy\d*|-\d+|[ _-]+copy( \d+)?)$", re.IGNORECASE)
EXERCISE = re.compile(r"(?P<chapter>\d\d)_[a-z0-9_]+", re.IGNORECASE)
NAME = re.compile(rf"(?:(?P<student>.+?)[_\- ])?(?P<notebook>{EXERCISE.pattern})", re.IGNORECASE)
IGNORED = re.compile(r"\..*|__MACOSX|Thumbs\.db", re.IGNORECASE)  # copies and notes that programs make automatically
NOT_HANDED_IN = re.compile(r"(?!.*\.ipynb).*\.(csv|md|ya?ml|txt|json|log|db|xlsx?)", re.IGNORECASE)  # beside folders
CHECKS = re.compile(r"""check\(\s*["'](\d+\.\d+)["']""")
DEFINES = re.compile(r"^[ \t]*(?:def|class)[ \t]+(\w+)", re.MULTILINE)

Run = Callable[..., Any]  # calls a function with arguments, perhaps in another process


@dataclass(frozen=True)
class Submission:
    """A notebook that a student handed in.

    Attributes:
        student: the student's name, taken from the path
        notebook: the name of the exercise, "03_scaling", which also names the files of its results
        path: the file, or the zip that it is in
        members: the members of zips that lead to it
        others: other files of this student with the same exercise; then it is unknown which file counts
        owner: what a learning system says about the student
        problem: why the file is not a notebook, if its name shows that
    """

    student: str
    notebook: str
    path: Path
    members: tuple[str, ...] = ()
    others: tuple[Path, ...] = ()
    owner: Owner | None = field(default=None, compare=False)
    problem: str = ""

    @property
    def file(self) -> File:
        return File(self.path, self.members)


@dataclass(frozen=True)
class Work:
    """A submission that was read and can be graded: plain data that can be sent to another process or machine."""

    student: str
    notebook: str
    sha256: str
    chapter: int
    sources: tuple[str, ...]
    names: tuple[str, ...] = ()  # the learner's, if numbers of one's own have to be those of one of them


# ── whose is it, and which exercise ───────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Found:
    """A file, the folders and zips that lead to it, and what its path says about the student."""

    file: File
    parts: tuple[str, ...]  # below the folder with the students' folders; the last is the file's name
    root: Path
    owner: Owner | None = None

    @property
    def name(self) -> str:
        """The learner's own name of the file, without a learning system's additions."""
        return (self.owner and self.owner.file) or self.parts[-1]

    @property
    def is_notebook(self) -> bool:
        return self.file.is_folder or bool(NOTEBOOK.search(self.name))


def exercise_in(file: File, stem: str) -> str:
    """Return the name of the exercise that a file contains, or "" if neither its content nor `stem` shows it."""
    try:
        data = read_bytes(file)
    except UnreadableError:
        data = b""
    try:
        sources = code_cells(data)
    except UnreadableError:
        sources = [_text(data[:MAX_SOURCE])]  # a script, or a page
    return exercise_named(stem, sources)


def exercise_named(stem: str, sources: Iterable[str] = ()) -> str:
    """Return the name of the exercise of a file with this name and these code cells, or "" if nothing shows it.

    If the chapter has no solution, it is the name itself.
    """
    try:
        return solution_file(chapter_of(stem, sources)).stem
    except UnreadableError:
        return ""
    except FileNotFoundError:  # of the solution
        return stem


def is_notebook(file: File) -> bool:
    """Check whether a file's content is a notebook with a code cell, whatever its name says."""
    try:
        return bool(code_cells(read_bytes(file)))
    except UnreadableError:
        return False


def call_here(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def run_or(run: Run, default: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that reads a file, and return its result, or a default if the file cannot be read."""
    try:
        return run(function, *arguments)
    except UnreadableError:
        return default


def find(paths: Iterable[Path], run: Run = call_here) -> list[Submission]:
    """Find what was handed in, in files, folders and zips: one submission for each student and exercise.

    All files of a student that belong to no exercise are one submission too. So a student with any number of files
    has at most one more row than there are exercises.

    Args:
        paths: files and folders
        run: calls a function that reads a file; a batch does this in another process, because a file can be made so
            that reading it takes gigabytes

    Raises:
        FileNotFoundError: a path does not exist.
        OSError: one of the folders cannot be listed. A folder in it that cannot be listed counts as a submission.
    """
    placed = [(one, *_student_and_stem(one)) for one in _with_owners(_handed_in(list(paths), run), run)]
    reading = _Reading(run, [(one.file, student) for one, student, _ in placed if one.is_notebook])
    cells: dict[tuple[str, str], list[Submission]] = {}
    others: list[tuple[_Found, str]] = []
    for one, student, stem in placed:
        if one.is_notebook or (MAYBE_NOTEBOOK.search(one.name) and reading.is_notebook(one.file, student)):
            exercise = reading.exercise(one.file, student, stem)
            problem = _too_much() if reading.is_over(student) else ""
            submission = _submission(one, student, exercise or stem, problem)
            cells.setdefault((submission.student.casefold(), exercise.casefold()), []).append(submission)
        elif not (one.owner is None and _is_of_the_class(one)):
            others.append((one, student))
    submissions = [_last_attempt(several) for several in cells.values()]
    return submissions + _without_notebook(others, submissions, reading)


class _Reading:
    """Reads what the learners of a class handed in, each within a budget.

    The notebooks are counted first. A learner whose notebooks are over the budget, or one of whose files took too much
    memory or time, is over it: nothing more of theirs is read.
    """

    def __init__(self, run: Run, notebooks: Sequence[tuple[File, str]]) -> None:
        self.run = run
        self.budgets: defaultdict[str, Budget] = defaultdict(lambda: Budget(MAX_LOOKED_AT, MAX_BYTES))
        self.notebooks = {file: self.take(file, student) for file, student in notebooks}
        self.over = {student.casefold() for file, student in notebooks if not self.notebooks[file]}

    def take(self, file: File, student: str) -> bool:
        return self.budgets[student.casefold()].take(1, size_of(file))

    def is_over(self, student: str) -> bool:
        return student.casefold() in self.over

    def is_notebook(self, file: File, student: str) -> bool:
        """Check whether the content of a file with another name is a notebook with a code cell.

        It is subtracted from the learner's budget. If that is used up, the file counts as none.
        """
        return self.take(file, student) and bool(self.ask(student, False, is_notebook, file))

    def exercise(self, file: File, student: str, stem: str) -> str:
        """Return the exercise that a file contains, or if it is not read, the one that its name shows."""
        named = exercise_named(stem)
        if file not in self.notebooks and not self.take(file, student):
            return named
        return str(self.ask(student, named, exercise_in, file, stem))

    def ask(self, student: str, default: Any, function: Callable[..., Any], *about: Any) -> Any:
        """Return what a function that reads a file returns, or the default if the learner is over the budget.

        If it raises `UnreadableError`, the default is returned too, and the learner is then over the budget.
        """
        if self.is_over(student):
            return default
        try:
            return self.run(function, *about)
        except UnreadableError:
            self.over.add(student.casefold())
            return default


def _cell(submission: Submission) -> tuple[str, str]:
    """Return the row and the column of the table of grades, without regard to case."""
    return submission.student.casefold(), submission.notebook.casefold()


def _submission(one: _Found, student: str, exercise: str, problem: str = "") -> Submission:
    file = one.file
    name, owner = clean_name(student), one.owner
    return Submission(name, clean_name(exercise), file.path, file.members, owner=owner, problem=problem)


def _last_attempt(several: Sequence[Submission]) -> Submission:
    """Return the submission that counts: the first file of the last attempt, or of all files if no attempt is known.

    Other files of the same attempt are named in its `others`.
    """
    last = max((one.owner.attempt for one in several if one.owner), default="")
    first, *others = [one for one in several if not last or (one.owner and one.owner.attempt == last)]
    return replace(first, others=tuple(other.file.shown for other in others))


def _without_notebook(
    others: Sequence[tuple[_Found, str]], graded: Sequence[Submission], reading: _Reading
) -> list[Submission]:
    """Return a submission that cannot be graded for each student who handed in something else than a notebook.

    A student who has a notebook is not listed again for a picture or a module beside it, but for another exercise.
    """
    students = {one.student.casefold() for one in graded}
    known = {_cell(one) for one in graded}
    listed: dict[tuple[str, str], list[Submission]] = {}
    for one, student in others:
        stem = _student_and_stem(one)[1]
        exercise = reading.exercise(one.file, student, stem)
        submission = _submission(one, student, exercise or stem)
        if submission.student.casefold() not in students or (exercise and _cell(submission) not in known):
            listed.setdefault((submission.student, exercise), []).append(submission)
    return [
        replace(several[0], problem=_problem(several))
        for (student, row), several in listed.items()
        if row or not any(other == student and named for other, named in listed)
    ]


def _problem(several: Sequence[Submission]) -> str:
    """Return a sentence that says that the files of a student are no notebook, with their names."""
    names = [clean(one.file.name, 100) for one in several]
    shown = t(", ").join(names[:SHOWN_FILES])
    if names[SHOWN_FILES:]:
        shown = t("{names} and {n} more", names=shown, n=len(names) - SHOWN_FILES)
    if len(names) == 1:
        return t("it is not a notebook: {files}. Ask for the file that ends in .ipynb.", files=shown)
    return t("none of these files is a notebook: {files}. Ask for the file that ends in .ipynb.", files=shown)


def _handed_in(paths: list[Path], run: Run) -> list[_Found]:
    """Return each file once, with its place below the folder that contains the students' folders.

    Files in zips are listed too, within a budget. Files that systems add, such as `.DS_Store`, are left out.

    Raises:
        FileNotFoundError: a path does not exist.
        OSError: one of the folders cannot be listed.
    """
    met: set[File] = set()
    found: list[_Found] = []
    single = [path.absolute().parent for path in paths if path.is_file()]
    above = Path(os.path.commonpath(single)) if single else Path()
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(t("there is no file or folder {path}", path=path))
        root = path.absolute() if path.is_dir() else above
        whole_zip = path.is_file() and is_zip(path.name)
        inside = sorted(files_below(path), key=lambda file: str(file.path)) if path.is_dir() else [File(path)]
        sizes: Counter[str] = Counter()
        for file in inside:
            sizes[file.parts_below(root)[0]] += size_of(file)
        zips = {name: _Zips(run, Budget(MAX_LISTED, MAX_NESTED + NESTED_RATIO * size)) for name, size in sizes.items()}
        for file in inside:
            for member in zips[file.parts_below(root)[0]].opened(file):
                place = replace(member, path=member.path.absolute())
                parts = member.parts_below(root)
                if whole_zip and member.members:
                    parts = parts[len(path.absolute().relative_to(root).parts) :]
                if place not in met and not any(IGNORED.fullmatch(part) for part in parts):
                    met.add(place)
                    found.append(_Found(member, parts, path.with_suffix("") if whole_zip else root))
    return _without_exports(found)


@dataclass
class _Zips:
    """Opens what stands under one name in the folder that is graded: what a learner handed in, or the zip of a class.

    Attributes:
        run: calls a function that reads a file
        whole: how many files are still listed, and how many bytes of zips in zips still read
        shares: the same for each name in a zip, and in the zips in it: it may be one learner of the class
    """

    run: Run
    whole: Budget
    shares: defaultdict[str, Budget] = field(
        default_factory=lambda: defaultdict(lambda: Budget(MAX_MEMBERS, MAX_NESTED))
    )

    def opened(self, file: File) -> list[File]:
        """Return the files in a zip, and in its zips, or the file itself if it is no zip or cannot be opened.

        So too for a zip that is over the budget, empty, or too deep in other zips.
        """
        if not is_zip(file.name) or len(file.members) >= MAX_DEPTH:
            return [file]
        budgets = [self.whole]
        if file.members:
            first = file.members[0].replace("\\", "/").partition("/")[0]
            budgets = [self.shares[first], self.whole]  # what a share refuses takes nothing from the whole
            if not all(budget.take(0, size_of(file)) for budget in budgets):
                return [file]
        members = run_or(self.run, [], members_of, file)
        if not all(budget.take(len(members)) for budget in budgets):
            return [file]
        return [inside for member in members for inside in self.opened(member)] or [file]


def _without_exports(found: list[_Found]) -> list[_Found]:
    """Return the files without the first parts of their paths where these are the whole export of a learning system.

    Such an export is a folder or a zip. A learner can hand in one that looks like an export. So one is opened up only
    if it is all that was handed in: nothing stands beside it, apart from the class's own files, and the root itself has
    no system's layout.
    """
    for depth in (1, 2):
        tops: dict[Path, set[str]] = {}
        beside: dict[Path, set[tuple[str, ...]]] = {}
        inside: dict[Path, set[str]] = {}
        for one in found:
            tops.setdefault(one.root, set()).add(one.parts[0])
            if len(one.parts) > depth:
                inside.setdefault(one.root, set()).add(one.parts[depth])
            if not _is_of_the_class(one):
                beside.setdefault(one.root, set()).add(one.parts[:depth])
        opened = {
            root
            for root, names in inside.items()
            if is_export(names) and len(beside[root]) == 1 and not is_export(tops[root])
        }
        found = [
            replace(one, parts=one.parts[depth:]) if one.root in opened and len(one.parts) > depth else one
            for one in found
        ]
    return found


def _is_of_the_class(one: _Found) -> bool:
    """Check whether a file stands beside the submissions and was not handed in, such as a table of names."""
    return len(one.parts) == 1 and bool(NOT_HANDED_IN.fullmatch(one.name))


def _with_owners(found: list[_Found], run: Run) -> list[_Found]:
    """Return the files with the learners that the systems' layouts name, without the systems' own files.

    These are read by `run` for more names; one that cannot be read is ignored. A learner has one name in all files.
    """
    before = [match["before"] for one in found if (match := BLACKBOARD.fullmatch(one.parts[0]))]
    metadata = [one for one in found if one.parts[-1] == METADATA and len(one.parts) == 1]
    no_facts = Facts({}, {})
    abouts = {
        match["before"]: one.file
        for one in found
        if (match := BLACKBOARD.fullmatch(one.parts[0])) and match["about"] and len(one.parts) == 1
    }
    names: dict[tuple[str, str], str] = {}
    facts = no_facts
    if before or metadata:
        contents = {key: run_or(run, b"", read_bytes, file) for key, file in abouts.items()}
        texts = [run_or(run, b"", read_bytes, one.file) for one in metadata]
        facts = run_or(run, no_facts, gather_facts, texts, contents, before)
    owned = [replace(one, owner=owner_of(one.parts, facts)) for one in found if one not in metadata]
    return [_under_one_name(one, names) for one in owned if one.owner is None or not one.owner.about]


def _under_one_name(one: _Found, names: dict[tuple[str, str], str]) -> _Found:
    """Return a file under the name under which its learner was first met, and keep new names in `names`.

    A system's number is one learner, whatever name stands before it. So two files for one exercise are never two marks
    of one person.
    """
    if one.owner is None:
        return one
    student = names.setdefault((one.owner.system, one.owner.id.casefold()), one.owner.student)
    return replace(one, owner=replace(one.owner, student=student))


def _student_and_stem(one: _Found) -> tuple[str, str]:
    """Return the student that a path names, and the file's name without ending, additions and the student's name.

    The first folder or zip below the root names the student. The file's name can name the student only if there is
    none. A folder with the name of an exercise does not count, because nbgrader collects
    `bob/03_scaling/03_scaling.ipynb`.
    """
    name = NOTEBOOK.sub("", one.name) if one.is_notebook else os.path.splitext(one.name)[0]
    stem = LATE.sub(r"\1", without_additions(name[:MAX_STEM]))
    match = NAME.fullmatch(stem)
    if one.owner is not None:
        return one.owner.student, match["notebook"] if match else stem
    folders = [part[:-4] if is_zip(part) else part for part in one.parts[:-1]]
    folders = [part for part in folders if not EXERCISE.fullmatch(part)]
    if match is None:
        return folders[0] if folders else stem, stem
    return folders[0] if folders else match["student"] or one.root.name, match["notebook"]


def without_additions(stem: str) -> str:
    """Remove the additions at the end of a name: "03_scaling-Copy1 (2)" becomes "03_scaling"."""
    while (shorter := ADDITION.sub("", stem)) != stem:  # one at a time: an expression for all of them would try
        stem = shorter  # every way to divide a name into additions, which takes exponential time
    return stem


@cache
def solution_file(chapter: int) -> Path:
    """Return the path of a chapter's reference solution, in the installed package or else in the course's repository.

    Of several, it is the first by name. A process looks for it once.

    Raises:
        FileNotFoundError: there is no solution in either place.
    """
    package = Path(qkv.__file__).resolve().parent
    for folder in (package / "solutions", package.parents[1] / "solutions"):
        for path in sorted(folder.glob(f"{chapter:02}_*.ipynb")):
            return path
    raise FileNotFoundError(
        t("there is no solution of chapter {chapter} in {folder}", chapter=chapter, folder=package / "solutions")
    )


def chapter_of(name: str, sources: Iterable[str]) -> int:
    """Return the chapter of a notebook.

    It is that of most questions that the notebook checks, else that of most answers that it defines, else the one that
    its name shows.

    Raises:
        UnreadableError: none of these shows the chapter.
    """
    ids = {question: chapter for chapter in chapters() for question in questions_of(chapter)}
    names = {question.name: question.id for chapter in chapters() for question in questions_of(chapter).values()}
    texts = list(sources)
    checked = {question for text in texts for question in CHECKS.findall(text) if question in ids}
    defined = {names[name] for text in texts for name in DEFINES.findall(text) if name in names}
    votes = Counter(ids[question] for question in sorted(checked or defined))
    if votes:
        return votes.most_common(1)[0][0]
    match = NAME.fullmatch(name)
    if match and int(match["chapter"]) in chapters():
        return int(match["chapter"])
    raise UnreadableError(t("neither its content nor its name shows which chapter it belongs to."))


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def read(submission: Submission) -> Work:
    """Read a submission.

    Raises:
        UnreadableError: the file is not a notebook, is too large, is a symlink, is one of several files with the same
            exercise, or belongs to no chapter of this course.
    """
    if submission.problem:
        raise UnreadableError(submission.problem)
    if submission.others:
        places = (submission.file.shown, *submission.others[:MAX_NAMED])
        raise UnreadableError(_several(submission, t(" and ").join(clean(path, 200) for path in places)))
    data = read_bytes(submission.file)
    sources = code_cells(data)
    return Work(
        submission.student,
        submission.notebook,
        hashlib.sha256(data).hexdigest(),
        chapter_of(submission.notebook, sources),
        tuple(sources),
    )


def _several(submission: Submission, files: str) -> str:
    """Return a sentence that says that a student has several files for one exercise, or for none.

    Only one of them counts.
    """
    if exercise_named(submission.notebook):
        return t("one student has several files for the same exercise: {files}. Keep the one that counts.", files=files)
    return t(
        "one student has several files that belong to no exercise: {files}. Keep the one that counts.", files=files
    )


def code_cells(data: bytes) -> list[str]:
    """Return the sources of a notebook's code cells, in order.

    In the place of a cell that is too long, and of the cells after `MAX_CELLS`, stands one that raises an error which
    says so: then it is reported as any other error of a cell.

    Raises:
        UnreadableError: the data is not a notebook.
    """
    if not data.strip(b"\0 \r\n\t"):
        raise UnreadableError(t("it is empty."))
    try:
        tree = json.loads(_text(data))
    except (ValueError, RecursionError):
        raise UnreadableError(t("it is not a notebook: it is not JSON.")) from None
    cells = _cells(tree)
    if cells is None:
        raise UnreadableError(t("it is not a notebook: its JSON has no list of cells."))
    sources = [source for cell in cells if (source := _code_source(cell)) is not None]
    kept = [source if len(source) <= MAX_SOURCE else _not_run(_too_long()) for source in sources[:MAX_CELLS]]
    return [*kept, *([_not_run(_too_many(len(sources)))] if sources[MAX_CELLS:] else [])]


def _too_long() -> str:
    """Return why a cell of more than MAX_SOURCE characters is not run."""
    return t("this cell was not run: it has more than {most} characters", most=f"{MAX_SOURCE:,}")


def _too_many(n: int) -> str:
    """Return why the last of `n` cells are not run."""
    return t(
        "the cells from here on were not run: of this notebook's {n} code cells, {most} are run",
        n=f"{n:,}",
        most=f"{MAX_CELLS:,}",
    )


def _too_much() -> str:
    """Return why a learner's notebooks are not read."""
    return t(
        "this learner's notebooks take too much time or memory to read, have more than {size} MB when unpacked, or are "
        "more than {most}. Ask for the notebooks alone, without their outputs.",
        size=MAX_BYTES // 2**20,
        most=f"{MAX_LOOKED_AT:,}",
    )


def _not_run(why: str) -> str:
    """Return the source of a cell that stands for what is not run, and says why."""
    return f"raise RuntimeError({why!r})"


def _text(data: bytes) -> str:
    """Decode a file: by its byte order mark, by where its null bytes are (UTF-16, UTF-32), as UTF-8, or as Latin-1.

    It never fails: what does not fit becomes U+FFFD. Null bytes at the ends are dropped.
    """
    encoding = json.detect_encoding(data)
    if encoding not in ("utf-8", "utf-8-sig"):
        return data.decode(encoding, errors="replace").strip("\0")
    try:
        return data.strip(b"\0").decode(encoding)
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _cells(tree: Any) -> list[Any] | None:
    """Return the cells of a notebook in any version of the format, or None if it has no list of cells."""
    if not isinstance(tree, dict):
        return None
    if isinstance(tree.get("cells"), list):
        return list(tree["cells"])
    sheets = tree.get("worksheets")
    if isinstance(sheets, list):
        inside = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        return [cell for cells in inside if isinstance(cells, list) for cell in cells]
    return None


def _code_source(cell: Any) -> str | None:
    """Return the source of a code cell; None for another cell, or one that is malformed."""
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return None
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    return source if isinstance(source, str) else None
