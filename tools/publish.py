"""Publish the course: the notebooks for Colab, the wheel that they install, and the branch that they are pushed to.

    python tools/publish.py wheel --out DIR     build the package's wheel into DIR, the site's folder
    python tools/publish.py colab --out DIR     write the notebooks as Colab opens them
    python tools/publish.py push DIR BRANCH     make DIR all that BRANCH of this repository's origin holds

Where the course is published nobody here knows, so no address is made up: it comes from `--repository OWNER/NAME` or,
in a workflow of GitHub, from GITHUB_REPOSITORY. `--address` says where the site is, if not on that repository's Pages.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tools.notebooks import written  # noqa: E402
from tools.site import StoppedError, checked_address, pages_address  # noqa: E402

FOLDERS = ("chapters", "exercises")  # never the solutions
BADGE = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({})"
# A link of a notebook to another file of the course; a place on that page may follow.
LINK = re.compile(r"\]\((?P<path>\.\.?/[^)\s#]+|(?:[\w-]+/)*[\w-]+\.(?:ipynb|md))(?P<place>#[^)\s]*)?\)")
SETUP = """import importlib.util

if importlib.util.find_spec("qkv") is None:
    %pip install --quiet {wheel}"""


@dataclass(frozen=True)
class Place:
    """Where the course is published: the repository `owner/name`, and the address of the site, with a slash at last."""

    repository: str
    site: str

    def colab(self, page: str) -> str:
        """Where Colab opens a notebook of the branch `colab`, such as chapters/03_scaling."""
        return f"https://colab.research.google.com/github/{self.repository}/blob/colab/{page}.ipynb"

    @property
    def wheel(self) -> str:
        """The address of the package's wheel."""
        return f"{self.site}{wheel_name()}"


def place(repository: str, address: str) -> Place:
    """The place of publication.

    Raises:
        StoppedError: nobody said where it is, or what was said is no repository or no address.
    """
    if not repository:
        raise StoppedError(
            "nobody said where the course is published. Say it with: --repository OWNER/NAME\n"
            "(A workflow of GitHub knows it, as GITHUB_REPOSITORY.)"
        )
    if not re.fullmatch(r"[\w-]+/[\w.-]+", repository):
        raise StoppedError(f"--repository takes OWNER/NAME; got {repository!r}")
    return Place(repository, checked_address(address or pages_address(repository)))


def wheel_name() -> str:
    """What the build calls the package's wheel."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return f"{project['name']}-{project['version']}-py3-none-any.whl"


def build_wheel(folder: Path) -> Path:
    """Build the package's wheel into a folder."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheel = folder / wheel_name()
    if done.returncode or not wheel.exists():
        raise StoppedError(f"the wheel was not built:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return wheel


# --- notebooks ------------------------------------------------------------------------------------------------------


def for_colab(notebook: NotebookNode, page: str, where: Place) -> NotebookNode:
    """The notebook `page` as Colab opens it: it installs the package, and its links lead out of it.

    Raises:
        StoppedError: it has no setup cell, or leads to a file that is not published.
    """
    cells = []
    for cell in notebook.cells:
        copy = NotebookNode(cell)
        if "setup" in cell.metadata.get("tags", []):
            copy.source = SETUP.format(wheel=where.wheel)
        elif cell.cell_type == "markdown":
            copy.source = linked(cell.source, page, where)
        cells.append(copy)
    if sum("setup" in cell.metadata.get("tags", []) for cell in cells) != 1:
        raise StoppedError(f"{page}.ipynb has not one cell tagged `setup`, where the package is installed")
    title, rest = (*cells[0].source.split("\n", 1), "")[:2]
    cells[0].source = f"{title}\n\n{BADGE.format(where.colab(page))}\n{rest}"
    return NotebookNode({**notebook, "cells": cells})


def linked(source: str, page: str, where: Place) -> str:
    """Markdown whose links to files of the course lead to where these are published."""

    def lead(link: re.Match[str]) -> str:
        target = os.path.normpath(f"{os.path.dirname(page)}/{link['path']}").replace(os.sep, "/")
        stem, kind = os.path.splitext(target)
        folder = target.partition("/")[0]
        if not (ROOT / target).is_file() or folder not in (*FOLDERS, "book"):
            raise StoppedError(f"{page}.ipynb leads to {link['path']}, which is not published")
        if kind == ".ipynb" and folder in FOLDERS:
            return f"]({where.colab(stem)})"
        return f"]({where.site}{stem}.html{link['place'] or ''})"

    return LINK.sub(lead, source)


def pages() -> Iterator[str]:
    """The notebooks that are published, without their ending."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).glob("**/[0-9][0-9]_*.ipynb")):
            yield path.relative_to(ROOT).with_suffix("").as_posix()


def write_colab(where: Place, folder: Path) -> list[str]:
    """Write every notebook for Colab into an empty folder, and a README with a badge for each; return their names."""
    if folder.exists() and any(folder.iterdir()):
        raise StoppedError(f"{folder} is not empty, and everything in it would be published: choose another")
    rows = []
    for page in pages():
        notebook = for_colab(nbformat.read(ROOT / f"{page}.ipynb", as_version=4), page, where)
        target = folder / f"{page}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(written(notebook), encoding="utf-8", newline="\n")
        title = notebook.cells[0].source.split("\n")[0].lstrip("# ")
        rows.append(f"| [{title}]({page}.ipynb) | {BADGE.format(where.colab(page))} |")
    head = (
        "# The notebooks, for Colab\n\nWritten by a workflow: what is changed here is lost. "
        f"The course is at <{where.site}>.\n\n| notebook | |\n|---|---|\n"
    )
    (folder / "README.md").write_text(head + "\n".join(rows) + "\n", encoding="utf-8", newline="\n")
    return list(pages())


# --- the branch -----------------------------------------------------------------------------------------------------


def push(folder: Path, branch: str) -> None:
    """Make the files of a folder all that a branch of this repository's origin holds, in one commit without a past."""
    if not any(folder.glob("*")):
        raise StoppedError(f"{folder} is empty: nothing to push")

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
    """What git prints, run in a folder (this repository, when left out); it stops with what git said when it failed."""
    command, variables = ["git", *arguments], {**os.environ, **(environment or {})}
    done = subprocess.run(command, cwd=at or ROOT, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StoppedError(f"git {arguments[0]} failed:\n{done.stderr}")
    return done.stdout.strip()


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    wheel = commands.add_parser("wheel", help="build the wheel")
    wheel.add_argument("--out", type=Path, required=True, metavar="DIR")
    colab = commands.add_parser("colab", help="write the notebooks for Colab")
    colab.add_argument("--out", type=Path, required=True, metavar="DIR")
    colab.add_argument("--repository", default=os.environ.get("GITHUB_REPOSITORY", ""), metavar="OWNER/NAME")
    colab.add_argument("--address", default="", metavar="URL", help="of the site, with the wheel in its folder")
    pushed = commands.add_parser("push", help="push a folder to a branch of its own")
    pushed.add_argument("folder", type=Path)
    pushed.add_argument("branch", choices=["colab"])
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "wheel":
            print(f"built {build_wheel(chosen.out)}")
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
