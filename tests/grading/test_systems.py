"""A class of each learning system, in its own layout: every submission finds its learner, in and back out.

The names of the files, and the rules by which the systems find a learner in a table, are written here after their
own code and pages:

- Canvas: `lib/content_zipper.rb` (`get_filename`, `add_upload_submission`, `sanitize_user_name`) and
  `lib/gradebook_importer.rb` (`row_has_student_headers?`, `update_column_count`, `process_student`) of
  instructure/canvas-lms
- Moodle: `mod/assign/classes/downloader.php` (`get_student_prefix`, `load_submissionplugin_filelist`) and
  `mod/assign/feedback/offline/importgradeslib.php` (`init`, `next`) of moodle/moodle; the grade import stops as a
  whole at a user that it does not know
- Gradescope: the export's `submission_metadata.yml`, as published programs read it (`:submitters`, `:name`, `:sid`,
  `:email`)
- Blackboard: the instructors' page "Uploading or Downloading Grade Center Items for Working Offline"
  (library.blackboard.com): a learner is found by user name; names of downloaded files as published programs read them
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from qkv.grading.results import Result
from qkv.grading.roster import Person, Roster, read_roster
from qkv.grading.runner import class_of
from qkv.grading.sheets import Class, blackboard, canvas, grades, missing, moodle, moodle_worksheets
from qkv.grading.submissions import Submission, UnreadableError, find, read
from qkv.grading.systems import Owner
from qkv.grading.writing import Writer
from tests.grading.made import made, made_ungraded

SOURCE = "def scaled_scores(q, k):\n    return q\n\ncheck('3.1', scaled_scores)\n# {}"

# Fourteen learners: two with one name; `eve` hands in a script, `fay` a zip, `gus` a notebook with a second ending.
LEARNERS = {
    "alovelace": "Ada Lovelace", "alovelace2": "Ada Lovelace", "bliss": "Bela Liss", "c_moe": "Cy Moe",
    "deer": "Dee Er", "eve": "Eve Adams", "fay": "Fay Wray", "gus": "Gus Fring", "hal": "Hal Nine",
    "iris": "Iris Murdoch", "jo": "Jo March", "kim": "Kim Possible", "leo": "Léo Ferré", "mia": "Mia Wallace",
}  # fmt: skip
SCRIPT, ZIP, SUFFIX, NOTHING, LATE = "eve", "fay", "gus", "mia", "bliss"


def notebook(who: str) -> bytes:
    cells = [{"cell_type": "code", "source": SOURCE.format(who), "metadata": {}, "outputs": []}]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def zipped(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


def work_of(who: str) -> tuple[str, bytes]:
    """Return the name and the content of the file that a learner hands in."""
    if who == SCRIPT:
        return "03_scaling.py", SOURCE.format(who).encode()
    if who == ZIP:
        return "homework.zip", zipped(
            {"03_scaling/03_scaling.ipynb": notebook(who), "__MACOSX/._03_scaling.ipynb": b"x"}
        )
    return f"03_scaling{'.ipynb.txt' if who == SUFFIX else '.ipynb'}", notebook(who)


def export_of_canvas() -> dict[str, bytes]:
    files = {}
    for number, (who, name) in enumerate(LEARNERS.items()):
        if who == NOTHING:
            continue
        first, last = name.split()
        sortable = re.sub(r"\W", "", f"{last}, {first}".lower())
        late = "_LATE" if who == LATE else ""
        own, data = work_of(who)
        own = own.replace(".ipynb", "-1.ipynb") if who == LATE else own
        files[f"{sortable}{late}_{11200 + number}_{56700 + number}_{own}"] = data
    files["murdochiris_11209_text.html"] = b"<p>A note beside the notebook.</p>"
    return files


def export_of_moodle() -> dict[str, bytes]:
    files = {}
    for number, (who, name) in enumerate(LEARNERS.items()):
        if who == NOTHING:
            continue
        own, data = work_of(who)
        files[f"{'Participant' if who == 'hal' else name}_{900 + number}_assignsubmission_file/{own}"] = data
    files["Dee Er_904_assignsubmission_onlinetext/onlinetext.html"] = b"<p>See the file.</p>"
    return files


def export_of_gradescope() -> dict[str, bytes]:
    files, metadata = {}, []
    for number, (who, name) in enumerate(LEARNERS.items()):
        if who == NOTHING:
            continue
        own, data = work_of(who)
        files[f"assignment_77_export/submission_{4700 + number}/{own}"] = data
        metadata += [
            f"submission_{4700 + number}:", "  :submitters:", f"  - :name: {name}", f"    :sid: '{number:04}'",
            f"    :email: {who}@example.edu", "  :created_at: 2026-01-15 10:30:00.5 Z", "  :score: 0.0",
        ]  # fmt: skip
    files["assignment_77_export/submission_metadata.yml"] = "\n".join(["---", *metadata]).encode()
    return files


def export_of_blackboard() -> dict[str, bytes]:
    files = {}
    for who, name in LEARNERS.items():
        if who == NOTHING:
            continue
        times = ["2026-01-15-10-30-00", "2026-01-16-09-00-00"] if who == LATE else ["2026-01-15-10-30-00"]
        for when in times:
            own, data = work_of(who)
            data = notebook(f"{who}, {when}") if who == LATE else data
            files[f"03_scaling_{who}_attempt_{when}_{own}"] = data
            files[f"03_scaling_{who}_attempt_{when}.txt"] = f"Name: {name} ({who})\nAssignment: 03_scaling\n".encode()
    return files


EXPORTS = {
    "Canvas": export_of_canvas,
    "Moodle": export_of_moodle,
    "Gradescope": export_of_gradescope,
    "Blackboard": export_of_blackboard,
}


@pytest.fixture(params=["a folder", "a zip", "a zip in a folder"])
def put(request: pytest.FixtureRequest, tmp_path: Path):
    """Return a function that stores an export in one of three ways, and returns the path to grade."""

    def store(files: dict[str, bytes]) -> Path:
        if request.param == "a zip":
            (tmp_path / "submissions.zip").write_bytes(zipped(files))
            return tmp_path / "submissions.zip"
        folder = tmp_path / "submitted"
        folder.mkdir()
        if request.param == "a zip in a folder":
            (folder / "submissions.zip").write_bytes(zipped(files))
        else:
            for name, data in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(data)
        return folder

    return store


@pytest.mark.parametrize("system", EXPORTS)
def test_every_submission_of_a_system_has_its_learner(put, system):
    found = find([put(EXPORTS[system]())])
    assert {one.notebook for one in found} == {"03_scaling"}
    assert len(found) == len({one.student for one in found}) == len(LEARNERS) - 1
    assert all(one.owner and one.owner.system == system for one in found)
    assert all(not one.others for one in found)
    unread = [one for one in found if one.problem]
    assert len(unread) == 1
    assert "03_scaling.py" in unread[0].problem
    for one in set(found) - set(unread):
        assert read(one).chapter == 3
    late = [one for one in found if one.owner and one.owner.late]
    assert len(late) == (system == "Canvas")
    if system == "Blackboard":
        (again,) = (one for one in found if one.student == LATE)
        assert "2026-01-16" in read(again).sources[0], "the last attempt counts"
        assert {one.student for one in found} == set(LEARNERS) - {NOTHING}


FORGED = {
    "a file of Blackboard": "Ex3_amy_attempt_2027-01-01-00-00-00_03_scaling.ipynb",
    "a folder of Gradescope": "submission_metadata.yml",
    "a folder of Moodle": "Amy A_1_assignsubmission_file/03_scaling.ipynb",
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
@pytest.mark.parametrize("whose", ["mal.zip", "mal/work.zip", "Ex3_mal_attempt_2026-01-15-10-30-00_work.zip"])
def test_a_learners_zip_that_looks_like_an_export_is_the_learners(tmp_path, whose, forged):
    system = "_attempt_" in whose
    beside = {
        (f"Ex3_{who}_attempt_2026-01-15-10-30-00_03_scaling.ipynb" if system else f"{who}/03_scaling.ipynb"): notebook(
            who
        )
        for who in ("amy", "bob")
    }
    hidden = {forged: notebook("mal"), "amy/03_scaling.ipynb": notebook("mal"), "bob_1_2_x.ipynb": notebook("mal")}
    for name, data in {**beside, whose: zipped(hidden)}.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(data)
    found = {(one.student, one.notebook): one for one in find([tmp_path / "in"])}
    for who in ("amy", "bob"):
        one = found[who, "03_scaling"]
        assert (one.members, one.others) == ((), ()), "it is their own file, and no other counts"


def test_zips_of_learners_that_all_look_like_exports_are_the_learners(tmp_path):
    """One zip alone is a class. Beside another one it is a learner's, whatever the other one looks like."""
    theirs = {"Amy A_1_assignsubmission_file/03_scaling.ipynb": notebook("mal"), "bob_111_222_x.ipynb": notebook("mal")}
    for name in ("mal.zip", "eve.zip"):
        (tmp_path / name).write_bytes(zipped(theirs))
    (tmp_path / "names.csv").write_text("Student\nAmy A\n")
    assert {one.student for one in find([tmp_path])} == {"mal", "eve"}
    (tmp_path / "eve.zip").unlink()
    assert {one.student for one in find([tmp_path])} == {"Amy A_1", "bob_111"}


def test_two_exports_are_two_paths(tmp_path):
    for number in (1, 2):
        (tmp_path / f"{number}.zip").write_bytes(
            zipped({f"{who}_{i}_222_0{number + 2}_x.ipynb": notebook(who) for who, i in (("amy", 111), ("bob", 112))})
        )
    found = find([tmp_path / "1.zip", tmp_path / "2.zip"])
    assert {one.student for one in found} == {"amy_111", "bob_112"}


@pytest.mark.parametrize(
    "names",
    [
        ("Ada A_12_assignsubmission_file", "Participant_12_assignsubmission_file"),
        ("Ada A_12_assignsubmission_file", "ada a_12_assignsubmission_onlinetext"),
        ("ada_111_222", "lovelace_111_223"),
    ],
)
def test_two_names_with_one_number_are_one_learner_whose_mark_stays_empty(tmp_path, names):
    first, second = (f"{name}{'/' if 'assign' in name else '_'}03_scaling.ipynb" for name in names)
    for name in (first, second):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(notebook(name))
    (one,) = find([tmp_path])
    with pytest.raises(UnreadableError, match="several files for the same exercise") as raised:
        read(one)
    assert all(Path(name).parts[0] in str(raised.value) for name in (first, second)), "the instructor decides"
    group = known([one])
    result = made_ungraded(one.student, reason=str(raised.value))
    for sheet in moodle_worksheets([result], group).values():
        assert [(row["Identifier"], row["Grade"]) for row in rows(sheet)] == [("Participant 12", "")]


def test_two_files_of_one_person_of_the_list_are_one_row_whose_mark_stays_empty():
    roster = Roster((Person({"username": "ada", "student": "Ada Lovelace", "id": "12345"}),))
    three, two = made("ada"), made("Ada Lovelace", score=2.0)
    other = made("Ada Lovelace", notebook="04_softmax", score=1.0)
    for table, column in ((moodle, "username"), (canvas, "ID")):
        both = rows(table([three, two], Class(roster)))[-1:]
        assert [row["03_scaling"] for row in both] == [""]
        apart = [row for row in rows(table([three, other], Class(roster))) if row[column]]
        assert [(row["03_scaling"], row["04_softmax"]) for row in apart] == [("3", "1")]


def test_a_learner_with_two_names_has_one_row_for_all_exercises(tmp_path):
    for name, exercise in (("Ada A", "03_scaling"), ("Participant", "04_softmax")):
        folder = tmp_path / f"{name}_12_assignsubmission_file"
        folder.mkdir()
        (folder / f"{exercise}.ipynb").write_bytes(notebook("ada").replace(b"3.1", f"{exercise[1]}.1".encode()))
    found = find([tmp_path])
    assert (len(found), {one.student for one in found}) == (2, {"Ada A_12"})


def test_a_file_name_cannot_name_another_participant(tmp_path):
    (tmp_path / "Mal M_1003_assignsubmission_file_Bob B_1001_assignsubmission_file_03_scaling.ipynb").write_bytes(
        notebook("mal")
    )
    (one,) = find([tmp_path])
    assert one.owner
    assert (one.owner.id, one.owner.name) == ("1003", "Mal M")


def results_of(found: Iterable[Submission]) -> list[Result]:
    return [made_ungraded(one.student) if one.problem else made(one.student) for one in found]


def rows(table: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table)))


def found_by_canvas(table: str, people: dict[int, dict[str, str]]) -> list[int | None]:
    """Return the learner that Canvas' importer finds for each row, or None where it would make a new one."""
    head, *lines = csv.reader(io.StringIO(table))
    assert "Student" in head[0]
    assert "ID" in head[1]
    assert re.search(r"SIS\s+User\s+ID", head[2])
    assert re.search(r"SIS\s+Login\s+ID", head[3])
    assert "Section" in head[4]
    matched: list[int | None] = []
    for row in lines:
        if "Points Possible" in row[0]:
            continue
        number = int(row[1]) if row[1].isdigit() else 0
        by_login = [key for key, person in people.items() if person["login"] == row[3]]
        by_name = [key for key, person in people.items() if row[0] in (person["name"], person["sortable"])]
        matched.append(number if number in people else next(iter([*by_login, *by_name]), None))
    return matched


CANVAS_PEOPLE = {
    11200 + number: {"login": who, "name": name, "sortable": ", ".join(name.split()[::-1])}
    for number, (who, name) in enumerate(LEARNERS.items())
}


def known(found: list[Submission], roster: Roster | None = None) -> Class:
    return class_of(found, roster or Roster())


def test_canvas_finds_the_learner_of_every_row(put):
    found = find([put(export_of_canvas())])
    table = canvas(results_of(found), known(found))
    assert sorted(found_by_canvas(table, CANVAS_PEOPLE)) == sorted(CANVAS_PEOPLE)[:-1]
    late = [row for row in rows(grades(results_of(found), known(found))) if row["late"] == "LATE"]
    assert [row["student"] for row in late] == ["lissbela_11202"]


def test_canvas_files_without_names_stay_apart_and_make_no_new_learners(tmp_path):
    names = ["anon_x5Yz1_56700_03_scaling.ipynb", "LATE_anon_12345_56701_03_scaling.ipynb", "anon_Ab9_56702_x.ipynb"]
    for name in names:
        (tmp_path / name).write_bytes(notebook(name))
    found = find([tmp_path])
    assert [one.student for one in found] == ["anon_12345", "anon_Ab9", "anon_x5Yz1"]
    assert found_by_canvas(canvas(results_of(found), known(found)), CANVAS_PEOPLE) == []


def found_by_moodles_worksheet(table: str, participants: set[int]) -> list[int]:
    """Return the participants whose grade Moodle's offline grading would set; it passes over every other row."""
    lines = rows(table)
    assert {"Identifier", "Grade", "Last modified (grade)"} <= set(lines[0])
    numbers = [row["Identifier"][len("Participant ") :] for row in lines]
    return [int(number) for number in numbers if number.isdigit() and int(number) in participants]


def test_moodles_worksheet_finds_the_learner_of_every_row(put):
    found = find([put(export_of_moodle())])
    (sheet,) = moodle_worksheets(results_of(found), known(found)).values()
    participants = {900 + number for number in range(len(LEARNERS))}
    assert sorted(found_by_moodles_worksheet(sheet, participants)) == sorted(participants)[:-1]
    assert Counter(row["Grade"] for row in rows(sheet)) == {"3": len(LEARNERS) - 2, "": 1}


PARTICIPANTS = "First name,Last name,Username,Email address\n" + "\n".join(
    f"{name.split()[0]},{name.split()[1]},{who},{who}@example.edu" for who, name in LEARNERS.items()
)


@pytest.mark.parametrize("column", ["Username", "Email address"])
def test_moodles_grade_import_knows_every_user_of_the_table(tmp_path, put, column):
    found = find([put(export_of_moodle())])
    assert rows(moodle(results_of(found), known(found))) == [], "a name is no user name: it would stop the import"
    table = list(csv.DictReader(io.StringIO(PARTICIPANTS)))
    other = {"Username": "Email address", "Email address": "Username"}[column]
    with (tmp_path / "list.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [name for name in table[0] if name != other], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(table)
    group = known(found, read_roster(tmp_path / "list.csv"))
    sent = {row.get("username") or row.get("email address") for row in rows(moodle(results_of(found), group))}
    users = {row[column] for row in table}
    assert sent <= users
    # Two have one name, and one has none: they are in the worksheet.
    without = {"alovelace", "alovelace2", "hal", NOTHING}
    assert {name.partition("@")[0] for name in sent} == set(LEARNERS) - without


def test_blackboard_finds_the_learner_of_every_row(put):
    found = find([put(export_of_blackboard())])
    table = rows(blackboard(results_of(found), known(found)))
    assert {row["Username"] for row in table} == set(LEARNERS) - {NOTHING}


def test_without_blackboards_text_files_the_common_beginning_is_the_assignment(tmp_path):
    for name, data in export_of_blackboard().items():
        if not name.endswith(".txt") or name.endswith(".ipynb.txt"):
            (tmp_path / name).write_bytes(data)
    assert {one.student for one in find([tmp_path])} == set(LEARNERS) - {NOTHING}


def test_gradescopes_learners_are_their_addresses_and_a_group_is_one(tmp_path):
    files = export_of_gradescope()
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    found = find([tmp_path])
    assert {one.student for one in found} == {f"{who}@example.edu" for who in LEARNERS if who != NOTHING}
    metadata = tmp_path / "assignment_77_export" / "submission_metadata.yml"
    text = metadata.read_text().replace(
        "    :email: jo@example.edu", "    :email: jo@example.edu\n  - :name: Al\n    :email: al@x"
    )
    metadata.write_text(text)
    assert "jo@example.edu and al@x" in {one.student for one in find([tmp_path])}
    metadata.write_text("- [broken")
    assert len({one.student for one in find([tmp_path])}) == len(LEARNERS) - 1, "then the folders are the names"


@pytest.mark.parametrize("system", EXPORTS)
def test_the_list_of_the_class_shows_who_handed_in_nothing(tmp_path, put, system):
    lines = {
        "Canvas": "Student,ID,SIS User ID,SIS Login ID,Section\n    Points Possible,,,,\n"
        + "\n".join(f'"{p["sortable"]}",{number},S{number},{p["login"]},A' for number, p in CANVAS_PEOPLE.items()),
        "Moodle": PARTICIPANTS,
        "Gradescope": "First Name;Last Name;SID;Email\n"
        + "\n".join(f"{name.replace(' ', ';')};{who};{who}@example.edu" for who, name in LEARNERS.items()),
        "Blackboard": "\n".join(LEARNERS),
    }
    (tmp_path / "roster.csv").write_text(lines[system], encoding="utf-8-sig")
    found = find([put(EXPORTS[system]())])
    roster = read_roster(tmp_path / "roster.csv")
    assert len(roster.people) == len(LEARNERS)
    group = known(found, roster)
    (people,) = missing(results_of(found), group).values()
    hidden = {"hal"} if system == "Moodle" else set()  # a participant without a name could be anybody
    ids = {"mia", "Wallace, Mia", "mia@example.edu", *hidden}
    assert {person.shown for person in people} <= ids
    assert len(people) == 1 + len(hidden)
    table = rows(grades(results_of(found), group))
    assert sum(row["status"] == "missing" for row in table) == len(people)
    if system == "Canvas":
        sent = canvas(results_of(found), group)
        assert "Lovelace, Ada" in sent
        assert ",S11202,bliss,A," in sent


# ── nothing is passed over ────────────────────────────────────────────────────────────────────────


def test_each_student_has_a_row_whatever_was_handed_in(tmp_path):
    files = {
        "ada/03_scaling.ipynb": notebook("ada"),
        "ada/utils.py": b"x = 1",
        "ada/plot.png": b"x",
        "bob/03_scaling.ipynb.txt": notebook("bob"),
        "cy/03_scaling.ipynb.json": notebook("cy"),
        "dee/answer.json": notebook("dee"),
        "eve/03_scaling.py": SOURCE.encode(),
        "fay/03_scaling.html": b"<h1>03 scaling</h1>",
        "gus/essay.pdf": b"%PDF",
        "gus/more.docx": b"PK",
        "hal/work.zip": zipped({"work/03_scaling.ipynb": notebook("hal")}),
        "ida.zip": zipped({"03_scaling.ipynb": notebook("ida")}),
        "jo/work.zip": zipped({"inner.zip": zipped({"03_scaling.ipynb": notebook("jo")})}),
        "kim/broken.zip": b"PK\x03\x04",
        "leo/empty.zip": zipped({}),
        "mia/a.zip": zipped({"notes.txt": b"see later"}),
        "mia_03_scaling.py": b"x",
        "ned/03_scaling.ipynb": notebook("ned"),
        "ned/04_softmax_temperature.py": b"check('4.1', f)",
        "README.md": b"# mine",
        "roster.csv": b"student\nada",
    }
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    found = find([tmp_path])
    graded = {one.student for one in found if not one.problem}
    assert graded == {"ada", "bob", "cy", "dee", "hal", "ida", "jo", "ned"}
    for one in found:
        assert one.problem or read(one).chapter == 3
    problems = {(one.student, one.notebook): one.problem for one in found if one.problem}
    assert {student for student, _ in problems} == {"eve", "fay", "gus", "kim", "leo", "mia", "ned"}
    assert ("ned", "04_softmax_temperature") in problems
    assert "essay.pdf, more.docx" in next(text for (who, _), text in problems.items() if who == "gus")
    with pytest.raises(UnreadableError, match=r"Ask for the file that ends in \.ipynb"):
        read(next(one for one in found if one.student == "eve"))


def test_a_zip_is_read_in_place_and_within_bounds(tmp_path, monkeypatch):
    outside = zipped({"../../bob/03_scaling.ipynb": notebook("x"), "/etc/03_scaling.ipynb": notebook("y")})
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "a.zip").write_bytes(outside)
    (found,) = find([tmp_path])
    assert (found.student, len(found.others)) == ("ada", 1), "both are ada's, so a person decides"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.zip", "ada"], "nothing is unpacked"
    monkeypatch.setattr("qkv.grading.files.MAX_FILE", 10_000)
    (tmp_path / "ada" / "a.zip").write_bytes(zipped({"03_scaling.ipynb": notebook("x" * 20_000)}))
    (found,) = find([tmp_path])
    with pytest.raises(UnreadableError, match="at most"):
        read(found)
    monkeypatch.setattr("qkv.grading.files.MAX_MEMBERS", 3)
    (tmp_path / "ada" / "a.zip").write_bytes(zipped({f"{i}.ipynb": b"" for i in range(9)}))
    (found,) = find([tmp_path])
    assert "a.zip" in found.problem


def test_an_encrypted_member_is_no_silence(tmp_path):
    data = bytearray(zipped({"03_scaling.ipynb": notebook("ada")}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    (tmp_path / "ada.zip").write_bytes(bytes(data))
    (found,) = find([tmp_path])
    with pytest.raises(UnreadableError, match="cannot be read from its zip"):
        read(found)


SAME_NAME = "username,first name,last name\nada1,Ada,Lee\nada2,Ada,Lee\nbob,Bob,Ray\n"


@pytest.mark.parametrize(
    ("students", "unclear"),
    [
        ({"ada1": "", "ada2": "", "bob": ""}, []),
        ({"Ada Lee": "", "bob": ""}, ["Ada Lee"]),
        ({"Ada Lee_11": "11", "Ada Lee_12": "12", "bob": ""}, ["Ada Lee_11", "Ada Lee_12"]),
        ({"bob": "", "Bob Ray": "", "ada1": ""}, ["Bob Ray", "bob"]),
        ({"zoe": "", "bob": ""}, []),
    ],
)
def test_the_report_names_those_whom_the_list_does_not_tell_apart(tmp_path, students, unclear):
    """Their marks were left out of the tables for other systems, and nothing said so."""
    (tmp_path / "roster.csv").write_text(SAME_NAME)
    owners = {
        name: Owner(name, "Moodle", number, name.partition("_")[0]) for name, number in students.items() if number
    }
    results = [made(name) for name in students]
    Writer(tmp_path / "out").finish(results, Class(read_roster(tmp_path / "roster.csv"), owners), Path("nowhere"))
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert ("Not told apart" in report) == bool(unclear)
    assert ", ".join(unclear) in report


@pytest.mark.parametrize(
    "data",
    [
        "student\tname\nada\tAda L\nbob\tBob M\n".encode("utf-16"),  # "Unicode text" of Excel
        b"student;name\rada;Ada L\rbob;Bob M\r",  # as it was saved on an old Macintosh
        b"\xef\xbb\xbfstudent,name\r\nada,Ada L\r\nbob,Bob M\r\n",
        b'student,name\nada,"Ada\rL"\nbob,"Bob\nM"\n',
    ],
)
def test_a_list_of_the_class_is_read_however_it_was_saved(tmp_path, data):
    file = tmp_path / "list.csv"
    file.write_bytes(data)
    roster = read_roster(file)
    assert [person.shown for person in roster.people] == ["ada", "bob"]
    assert roster.person_of("bob m", None) == roster.people[1]


def test_a_file_that_is_no_table_is_said_to_be_none(tmp_path):
    file = tmp_path / "list.csv"
    file.write_text(f"student\n{'x' * 200_000}\n")
    with pytest.raises(ValueError, match="is not a table"):
        read_roster(file)


@pytest.mark.parametrize(
    "data", ["student\nMüller".encode("cp1252"), "student\n王小明".encode("cp950"), b"PK\x03\x04\0\0"]
)
def test_a_class_list_in_another_encoding_or_a_spreadsheet_is_refused(data: bytes, tmp_path: Path):
    """Read as UTF-8, its names would match no learner."""
    (tmp_path / "names.xlsx").write_bytes(data)
    with pytest.raises(ValueError, match="Save it as “CSV UTF-8”"):
        read_roster(tmp_path / "names.xlsx")


def test_twice_the_class_is_twice_the_work(monkeypatch):
    """A class of 1,000 with a list took minutes: each name was compared with every other."""
    compared = Counter()

    def counted(text):
        compared[text] += 1
        return text.casefold()

    monkeypatch.setattr("qkv.grading.roster._key", counted)
    names = [f"u{i}" for i in range(300)]
    roster = Roster(tuple(Person({"student": name, "email": f"{name}@x.org"}) for name in names))
    students = dict.fromkeys(names)
    assert roster.unclear(students) == []
    assert roster.missing(students.items()) == []
    assert [roster.names_of(name, None)[0] for name in names] == names
    assert compared.total() < 100 * len(names)
