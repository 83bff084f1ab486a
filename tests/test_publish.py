"""What is published: notebooks that install the package, links that lead somewhere, and no address that is made up."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from tools import publish, site
from tools.site import StoppedError

ROOT = Path(__file__).resolve().parents[1]
SITE = "https://someone.github.io/qkv/"
COLAB = "https://colab.research.google.com/github/someone/qkv/blob/colab/"
LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("colab") / "new"
    assert publish.main(["colab", "--out", str(folder), "--repository", "someone/qkv"]) == 0
    return folder


def notebooks(folder: Path) -> dict[str, nbformat.NotebookNode]:
    """The notebooks of a folder by page."""
    return {page: nbformat.read(folder / f"{page}.ipynb", as_version=4) for page in pages(folder)}


def pages(folder: Path) -> list[str]:
    """The notebooks below a folder with chapters and exercises, and that of `qkv.look`, by page."""
    files = [*folder.glob("chapters/**/*.ipynb"), *folder.glob("exercises/**/*.ipynb"), folder / "book" / "look.ipynb"]
    return sorted(file.relative_to(folder).with_suffix("").as_posix() for file in files)


def test_chapters_and_exercises_are_published_and_no_solution(published: Path):
    assert pages(published) == pages(ROOT)
    assert {path.name for path in published.iterdir()} == {
        "book",
        "chapters",
        "exercises",
        "README.md",
        "zh-tw",
        "zh-cn",
    }


@pytest.mark.parametrize(("language", "folder"), [("zh_TW", "zh-tw"), ("zh_CN", "zh-cn")])
def test_each_language_has_its_notebooks_and_they_speak_it(published: Path, language: str, folder: str):
    assert pages(published / folder) == pages(published)
    for page, notebook in notebooks(published / folder).items():
        (setup,) = (cell for cell in notebook.cells if "setup" in cell.metadata.get("tags", []))
        assert setup.source.endswith(f'qkv.speak("{language}")')
        assert f"{COLAB}{folder}/{page}.ipynb" in notebook.cells[0].source


def test_each_badge_opens_its_own_notebook(published: Path):
    for page, notebook in notebooks(published).items():
        badges = re.findall(r"\[!\[Open in Colab\]\([^)]*\)\]\(([^)]*)\)", notebook.cells[0].source)
        assert badges == [f"{COLAB}{page}.ipynb"]
    readme = (published / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[[^\]]*\]\(([^)]*)\) \| \[!\[[^\]]*\]\([^)]*\)\]\(([^)]*)\) \|$", readme, re.MULTILINE)
    assert [badge for _, badge in rows] == [f"{COLAB}{file}" for file, _ in rows]
    assert {file.removesuffix(".ipynb") for file, _ in rows} == set(notebooks(published))


def test_every_link_leads_to_what_is_published(published: Path):
    found = set()
    for notebook in notebooks(published).values():
        for link in (
            link for cell in notebook.cells if cell.cell_type == "markdown" for link in LINK.findall(cell.source)
        ):
            assert link.startswith(("https://", "#")), link
            assert "solutions" not in link
            if link.startswith(COLAB):
                assert (published / link.removeprefix(COLAB)).is_file(), link
            found.add(link.partition("#")[0])
    assert f"{SITE}book/glossary.html" in found
    assert f"{COLAB}exercises/03_scaling.ipynb" in found


def test_the_first_code_cell_installs_the_wheel_where_it_is_missing(published: Path):
    for page, notebook in notebooks(published).items():
        first = next(cell for cell in notebook.cells if cell.cell_type == "code")
        assert f"%pip install --quiet {SITE}{publish.wheel_name()}" in first.source, page
        assert 'find_spec("qkv") is None' in first.source
        original = nbformat.read(ROOT / f"{page}.ipynb", as_version=4)
        others = [(a.source, b.source) for a, b in zip(original.cells, notebook.cells, strict=True)
                  if a.cell_type == "code" and "setup" not in a.metadata.get("tags", [])]  # fmt: skip
        assert all(one == other for one, other in others)


def test_places_on_a_page_are_kept():
    where = publish.place("someone/qkv", "")
    text = "[a](../book/notation.md#shapes) and [b](02_qkv_projection.ipynb#x) and [c](https://arxiv.org)"
    assert publish.with_published_links(text, "chapters/03_scaling", where) == (
        f"[a]({SITE}book/notation.html#shapes) and [b]({COLAB}chapters/02_qkv_projection.ipynb) and [c](https://arxiv.org)"
    )


@pytest.mark.parametrize("link", ["../solutions/03_scaling.ipynb", "../book/gone.md", "../src/qkv/cli.py"])
def test_a_link_to_what_is_not_published_stops(link: str):
    with pytest.raises(StoppedError, match="is not published"):
        publish.with_published_links(f"[see]({link})", "exercises/03_scaling", publish.place("someone/qkv", ""))


def test_a_notebook_without_a_setup_cell_stops():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Title")])
    with pytest.raises(StoppedError, match="tagged `setup`"):
        publish.for_colab(notebook, "chapters/99_new", publish.place("someone/qkv", ""))


def test_no_address_is_made_up(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    assert publish.main(["colab", "--out", str(tmp_path)]) == 1
    assert "the repository is missing" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("repository", "address", "site"),
    [
        ("Someone/qkv", "", "https://someone.github.io/qkv/"),
        ("someone/someone.github.io", "", "https://someone.github.io/"),
        ("someone/qkv", "https://qkv.example", "https://qkv.example/"),
    ],
)
def test_the_site_s_address(repository: str, address: str, site: str):
    assert publish.place(repository, address).site == site


@pytest.mark.parametrize(
    ("repository", "address"), [("qkv", ""), ("a/b/c", ""), ("a/b", "qkv.example"), ("a/$(x)", "")]
)
def test_what_is_no_repository_or_address_stops(repository: str, address: str):
    with pytest.raises(StoppedError, match="takes"):
        publish.place(repository, address)


def test_a_folder_with_something_in_it_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    (tmp_path / "answers.txt").write_text("42")
    assert publish.main(["colab", "--out", str(tmp_path), "--repository", "someone/qkv"]) == 1
    assert "is not empty" in capsys.readouterr().err


def git(*arguments: str, at: Path) -> str:
    return subprocess.run(["git", *arguments], cwd=at, check=True, capture_output=True, text=True).stdout.strip()


def test_a_branch_holds_the_folder_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    origin, clone, folder = tmp_path / "origin", tmp_path / "clone", tmp_path / "new"
    git("init", "--quiet", "--bare", str(origin), at=tmp_path)
    git("clone", "--quiet", str(origin), str(clone), at=tmp_path)
    (clone / "source.txt").write_text("source")
    git("add", ".", at=clone)
    git("-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "--quiet", "-m", "Begin", at=clone)
    monkeypatch.setattr(publish, "ROOT", clone)
    for round_ in ("first", "second"):
        (folder / "chapters").mkdir(parents=True, exist_ok=True)
        (folder / "chapters" / f"{round_}.ipynb").write_text(round_)
        assert publish.main(["push", str(folder), "colab"]) == 0
    assert git("ls-tree", "-r", "--name-only", "colab", at=origin).split() == [
        "chapters/first.ipynb", "chapters/second.ipynb",
    ]  # fmt: skip
    assert git("rev-list", "--count", "colab", at=origin) == "1"
    assert git("status", "--porcelain", at=clone) == "", "the checkout stays as it was"


def test_an_empty_folder_is_not_pushed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert publish.main(["push", str(tmp_path), "colab"]) == 1
    assert "nothing to push" in capsys.readouterr().err


def test_solutions_can_be_left_out_of_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What the build writes is made up here; the build itself takes too long."""
    record = f"{publish.wheel_name().rpartition('-py3')[0]}.dist-info/RECORD"

    def build(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        with zipfile.ZipFile(tmp_path / publish.wheel_name(), "w") as wheel:
            for name in ("qkv/cli.py", "qkv/solutions/03_scaling.ipynb", "qkv/solutions_of_others.py"):
                wheel.writestr(name, name)
            wheel.writestr(
                record, "qkv/cli.py,x,1\nqkv/solutions/03_scaling.ipynb,x,1\nqkv/solutions_of_others.py,x,1\n"
            )
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", build)
    for options, there in ((["--without-solutions"], False), ([], True)):
        assert publish.main(["wheel", "--out", str(tmp_path), *options]) == 0
        with zipfile.ZipFile(tmp_path / publish.wheel_name()) as wheel:
            assert ("qkv/solutions/03_scaling.ipynb" in wheel.namelist()) == there
            assert ("qkv/solutions/" in wheel.read(record).decode()) == there
            assert wheel.read("qkv/cli.py") == b"qkv/cli.py"
            assert "qkv/solutions_of_others.py" in wheel.namelist()
        assert sorted(path.name for path in tmp_path.iterdir()) == [publish.wheel_name()]


def test_make_publish_takes_the_repository_and_what_to_leave_out():
    def commands(*given: str) -> str:
        old = ["--old-file=.venv/ready", "--old-file=node_modules/ready"]
        without = {name: value for name, value in os.environ.items() if name != "GITHUB_REPOSITORY"}
        done = subprocess.run(
            ["make", "--dry-run", *old, "publish", *given],
            cwd=ROOT,
            env=without,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    asked = commands("REPOSITORY=someone/qkv", "WITHOUT=solutions page-python")
    assert 'test -n "someone/qkv"' in asked
    assert "site.py build --without-solutions --without-page-python" in asked
    assert re.search(r"publish\.py wheel --out _build/html --without-solutions\n", asked)
    assert 'test -n ""' in commands()
    assert "--without" not in commands()


def test_outside_the_environment_a_tool_says_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def missing(_: object) -> None:
        raise ModuleNotFoundError("No module named 'nbformat'", name="nbformat")

    monkeypatch.setattr(site, "build", missing)
    assert site.main(["build"]) == 1
    assert "does not have the package nbformat" in capsys.readouterr().err
    blocked = "import sys, runpy; sys.modules['nbformat'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"
    command = [sys.executable, "-c", blocked, str(ROOT / "tools" / "publish.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "does not have the package nbformat" in done.stderr
