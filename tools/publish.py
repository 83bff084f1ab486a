"""Publish the course: the notebooks for Colab, the wheel that they install, and the branch that they are pushed to.

    python tools/publish.py wheel --out DIR     build the package's wheel into DIR, the site's folder;
                                                --without-solutions leaves out the notebooks with solutions
    python tools/publish.py colab --out DIR     write the notebooks for Colab into DIR
    python tools/publish.py push DIR BRANCH     replace everything on BRANCH of this repository's origin by DIR

The code does not know where the course is published. The repository comes from `--repository OWNER/NAME` or, in a
GitHub workflow, from GITHUB_REPOSITORY. `--address` names the site, if it is not on that repository's Pages.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tools.course import LANGUAGES, TRANSLATED  # noqa: E402
from tools.site import StoppedError, checked_address, missing_package, pages_address  # noqa: E402

try:
    import nbformat
    from nbformat import NotebookNode

    from tools.notebooks import as_json
    from tools.translations import weaving
except ModuleNotFoundError as missing:
    sys.exit(f"Stopped: {missing_package(missing)}")

FOLDERS = ("chapters", "exercises")  # never the solutions
LOOK = "book/look"  # the one notebook of the site's own pages that is for a reader's own models
BADGE = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({})"
# A link from a notebook to another file of the course, with an optional anchor (`place`).
LINK = re.compile(r"\]\((?P<path>\.\.?/[^)\s#]+|(?:[\w-]+/)*[\w-]+\.(?:ipynb|md))(?P<place>#[^)\s]*)?\)")
SETUP = """import importlib.util

if importlib.util.find_spec("qkv") is None:
    %pip install --quiet {wheel}"""
SPEAK = '\n\nimport qkv\n\nqkv.speak("{}")'


@dataclass(frozen=True)
class Place:
    """The place of publication.

    Attributes:
        repository: `owner/name`
        site: the address of the site, which ends with a slash
        language: the code of the language that is published there; "" is English
    """

    repository: str
    site: str
    language: str = ""

    @property
    def folder(self) -> str:
        """The folder of the language, with a slash at its end; "" for English."""
        return f"{LANGUAGES[self.language].folder}/" if self.language else ""

    def colab(self, page: str) -> str:
        """Return the address at which Colab opens a page (such as chapters/03_scaling) of the branch `colab`."""
        return f"https://colab.research.google.com/github/{self.repository}/blob/colab/{self.folder}{page}.ipynb"

    @property
    def wheel(self) -> str:
        """The address of the package's wheel."""
        return f"{self.site}{wheel_name()}"


def place(repository: str, address: str) -> Place:
    """Return the place of publication. Without an address, the site is on the repository's GitHub Pages.

    Raises:
        StoppedError: the repository is missing, or one of the two is invalid.
    """
    if not repository:
        raise StoppedError(
            "the repository is missing. Name it with: --repository OWNER/NAME\n"
            "(In a GitHub workflow, it comes from GITHUB_REPOSITORY.)"
        )
    if not re.fullmatch(r"[\w-]+/[\w.-]+", repository):
        raise StoppedError(f"--repository takes OWNER/NAME; got {repository!r}")
    return Place(repository, checked_address(address or pages_address(repository)))


def wheel_name() -> str:
    """Return the file name that the build gives to the package's wheel."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return f"{project['name']}-{project['version']}-py3-none-any.whl"


def build_wheel(folder: Path, solutions: bool = True) -> Path:
    """Build the package's wheel into a folder, and return its path.

    Args:
        folder: where the wheel is written
        solutions: whether the notebooks with solutions are in it. Only `qkv grade` for a class needs them

    Raises:
        StoppedError: the build failed.
    """
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheel = folder / wheel_name()
    if done.returncode or not wheel.exists():
        raise StoppedError(f"the wheel was not built:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    if not solutions:
        remove_from_wheel(wheel, "qkv/solutions/")
    return wheel


def remove_from_wheel(wheel: Path, folder: str) -> None:
    """Change a wheel: without a folder, and without the lines about it in the wheel's list of files."""
    part = wheel.with_suffix(".part")
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as after:
        for info in before.infolist():
            content = before.read(info)
            if info.filename.endswith(".dist-info/RECORD"):
                lines = content.decode().splitlines(keepends=True)
                content = "".join(line for line in lines if not line.startswith(folder)).encode()
            if not info.filename.startswith(folder):
                after.writestr(info, content)
    part.replace(wheel)


# --- notebooks ------------------------------------------------------------------------------------------------------


def for_colab(notebook: NotebookNode, page: str, where: Place) -> NotebookNode:
    """Return a copy of a page's notebook for Colab: it installs the package, has a badge, and its links are absolute.

    The badge is below the first line of the first cell. In another language than English, the notebook chooses it, too.

    Raises:
        StoppedError: the notebook does not have exactly one setup cell, or links to a file that is not published.
    """
    cells = []
    for cell in notebook.cells:
        copy = NotebookNode(cell)
        if "setup" in cell.metadata.get("tags", []):
            copy.source = SETUP.format(wheel=where.wheel) + (SPEAK.format(where.language) if where.language else "")
        elif cell.cell_type == "markdown":
            copy.source = with_published_links(cell.source, page, where)
        cells.append(copy)
    if sum("setup" in cell.metadata.get("tags", []) for cell in cells) != 1:
        raise StoppedError(f"{page}.ipynb needs exactly one cell tagged `setup`, which installs the package")
    title, rest = (*cells[0].source.split("\n", 1), "")[:2]
    cells[0].source = f"{title}\n\n{BADGE.format(where.colab(page))}\n{rest}"
    return NotebookNode({**notebook, "cells": cells})


def with_published_links(source: str, page: str, where: Place) -> str:
    """Return a page's Markdown, with each link to a file of the course replaced by the file's published address.

    Raises:
        StoppedError: a link leads to a file that is not published.
    """

    def published_link(link: re.Match[str]) -> str:
        target = os.path.normpath(f"{os.path.dirname(page)}/{link['path']}").replace(os.sep, "/")
        stem, kind = os.path.splitext(target)
        folder = target.partition("/")[0]
        if not (ROOT / target).is_file() or folder not in (*FOLDERS, "book"):
            raise StoppedError(f"{page}.ipynb links to {link['path']}, which is not published")
        if kind == ".ipynb" and (folder in FOLDERS or stem == LOOK):
            return f"]({where.colab(stem)})"
        return f"]({where.site}{where.folder}{stem}.html{link['place'] or ''})"

    return LINK.sub(published_link, source)


def pages() -> Iterator[str]:
    """Yield the names of the notebooks that are published, without the suffix: chapters/03_scaling.

    The last one is the page about `look`.
    """
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).glob("**/[0-9][0-9]_*.ipynb")):
            yield path.relative_to(ROOT).with_suffix("").as_posix()
    yield LOOK


def write_colab(where: Place, folder: Path) -> list[str]:
    """Write all notebooks for Colab into an empty folder, in every language, with a README that has a badge for each.

    Return the names of the English ones. Those of other languages are in folders of their own.

    Raises:
        StoppedError: the folder is not empty, or a notebook cannot be published, as in `for_colab`.
    """
    if folder.exists() and any(folder.iterdir()):
        raise StoppedError(f"{folder} is not empty. Everything in it would be published, so choose another folder")
    names = write_language(where, folder, ROOT)
    for language in TRANSLATED:
        there = replace(where, language=language)
        with tempfile.TemporaryDirectory() as woven:
            weaving.weave(language, Path(woven))
            write_language(there, folder / there.folder, Path(woven))
    return names


def write_language(where: Place, folder: Path, source: Path) -> list[str]:
    """Write the notebooks of one language, which are below `source`, with their README. Return their names.

    Raises:
        StoppedError: as in `for_colab`.
    """
    rows = []
    for page in pages():
        notebook = for_colab(nbformat.read(source / f"{page}.ipynb", as_version=4), page, where)
        target = folder / f"{page}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(as_json(notebook), encoding="utf-8", newline="\n")
        title = notebook.cells[0].source.split("\n")[0].lstrip("# ")
        rows.append(f"| [{title}]({page}.ipynb) | {BADGE.format(where.colab(page))} |")
    head = (
        "# The notebooks, for Colab\n\nA workflow writes these files and overwrites all changes to them. "
        f"The course is at <{where.site}{where.folder}>.\n\n| notebook | |\n|---|---|\n"
    )
    (folder / "README.md").write_text(head + "\n".join(rows) + "\n", encoding="utf-8", newline="\n")
    return list(pages())


# --- the branch -----------------------------------------------------------------------------------------------------


def push(folder: Path, branch: str) -> None:
    """Replace a branch of this repository's origin by one commit without a parent, with the files of a folder.

    It is pushed by force, and changes nothing in this working tree.

    Raises:
        StoppedError: the folder is empty, or git failed.
    """
    if not any(folder.glob("*")):
        raise StoppedError(f"{folder} is empty, so there is nothing to push")

    source, store = git("rev-parse", "--short", "HEAD"), git("rev-parse", "--absolute-git-dir")
    with tempfile.TemporaryDirectory() as private:
        apart = {"GIT_DIR": store, "GIT_INDEX_FILE": f"{private}/index", "GIT_WORK_TREE": str(folder.resolve())}
        git("add", "--all", "--force", ".", at=folder, environment=apart)
        tree = git("write-tree", at=folder, environment=apart)
    commit = git("commit-tree", tree, "-m", f"Publish {source}", environment=SIGNATURE)
    git("push", "--quiet", "--force", "origin", f"{commit}:refs/heads/{branch}")


SIGNATURE = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "publish"), ("EMAIL", "publish@localhost"))
}


def git(*arguments: str, at: Path | None = None, environment: dict[str, str] | None = None) -> str:
    """Run git in a folder (default: this repository), and return what it prints, without blanks at its ends.

    `environment` has variables in addition to those of this process.

    Raises:
        StoppedError: git failed. The message contains git's own.
    """
    command, variables = ["git", *arguments], {**os.environ, **(environment or {})}
    done = subprocess.run(command, cwd=at or ROOT, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StoppedError(f"git {arguments[0]} failed:\n{done.stderr}")
    return done.stdout.strip()


def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Return the exit code: 1 if it stopped with a problem, which is printed, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    wheel = commands.add_parser("wheel", help="build the wheel")
    wheel.add_argument("--out", type=Path, required=True, metavar="DIR")
    wheel.add_argument("--without-solutions", action="store_true", help="leave out the notebooks with solutions")
    colab = commands.add_parser("colab", help="write the notebooks for Colab")
    colab.add_argument("--out", type=Path, required=True, metavar="DIR")
    colab.add_argument("--repository", default=os.environ.get("GITHUB_REPOSITORY", ""), metavar="OWNER/NAME")
    colab.add_argument("--address", default="", metavar="URL", help="the site, whose folder has the wheel")
    pushed = commands.add_parser("push", help="push a folder to a branch that holds nothing else")
    pushed.add_argument("folder", type=Path)
    pushed.add_argument("branch", choices=["colab"])
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "wheel":
            print(f"built {build_wheel(chosen.out, not chosen.without_solutions)}")
        elif chosen.command == "colab":
            names = write_colab(place(chosen.repository, chosen.address), chosen.out)
            print(f"wrote {len(names)} notebooks to {chosen.out}")
        else:
            push(chosen.folder, chosen.branch)
            print(f"pushed {chosen.folder} to {chosen.branch}")
    except (StoppedError, OSError) as problem:
        print(f"Stopped: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
