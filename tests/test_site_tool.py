"""Parts of what builds and serves the site."""

import http.client
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import nbformat
import pytest

from tools import site

ROOT = Path(__file__).resolve().parents[1]


def notebook(*cells: str) -> str:
    """The text of a notebook; cells that begin with `#` are prose."""
    made = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    for number, source in enumerate(cells):
        new = nbformat.v4.new_markdown_cell if source.startswith("#") else nbformat.v4.new_code_cell
        made.cells.append(new(source, id=f"cell-{number}"))
    return nbformat.writes(made)


def test_missing_things_are_named_with_the_command_that_gets_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(site.shutil, "which", lambda name: None)
    with pytest.raises(site.StoppedError, match=r"Node\.js is missing\. Get it with: .*nodejs"):
        site.bundle()


@pytest.mark.slow  # a kernel starts; in the gate, all of the site's
def test_a_kernel_that_dies_is_told(tmp_path: Path):
    (tmp_path / "made.ipynb").write_text(notebook("# Prose", "first = 1", "import os; os._exit(3)"), encoding="utf-8")
    *_, error = site.run_notebook(str(tmp_path / "made.ipynb"))
    assert error.startswith("cell 3 (id cell-2):")
    assert error.endswith("Kernel died\n"), "and nothing that a kernel says of itself"


def test_missing_modules_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(site, "ROOT", tmp_path)
    with pytest.raises(site.StoppedError, match=r"node_modules is missing\. Get it with: npm ci"):
        site.bundle()


def test_toc_is_read_as_jupyter_book_reads_it():
    from sphinx_external_toc.parsing import parse_toc_yaml

    documents = [ROOT / f"{name}.ipynb" for name in parse_toc_yaml(ROOT / "_toc.yml") if "solutions/" not in name]
    assert sorted(site.notebooks()) == sorted(path for path in documents if path.exists())


def test_a_course_can_be_built_without_its_solutions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    from sphinx_external_toc.parsing import parse_toc_yaml

    monkeypatch.setattr(site, "BUILD", tmp_path)
    every = list(parse_toc_yaml(site.table_of_contents(site.Options())))
    short = list(parse_toc_yaml(site.table_of_contents(site.Options(solutions=False))))
    assert any(name.startswith("solutions/") for name in every)
    assert short == [name for name in every if not name.startswith("solutions/")]
    quiet = list(parse_toc_yaml(site.table_of_contents(site.Options(page_python=False))))
    assert quiet == [name for name in every if name != "book/try"]


def test_no_page_links_to_what_an_option_leaves_out():
    """Such a link is a warning, and a warning stops the build."""
    left_out = re.compile(r"\]\([^)\s]*(?:solutions/[^)\s]*|\btry)\.(?:md|ipynb|html)")
    pages = [path for folder in ("book", "chapters", "exercises") for path in (ROOT / folder).glob("**/*")]
    texts = {path: path.read_text(encoding="utf-8") for path in pages if path.suffix in (".md", ".ipynb")}
    assert [path.name for path, text in texts.items() if left_out.search(text)] == []


@pytest.mark.parametrize(
    ("repository", "address"),
    [
        ("", ""),
        ("who/what", "https://who.github.io/what/"),
        ("Who/What", "https://who.github.io/What/"),
        ("who/who.github.io", "https://who.github.io/"),
    ],
)
def test_a_repository_s_pages_have_their_address(repository: str, address: str):
    assert site.pages_address(repository) == address


def test_an_address_is_a_folder_on_the_web():
    assert site.checked_address("https://x.org/course") == "https://x.org/course/"
    for wrong in ("x.org", "https://", "https://x.org/?q=1", 'https://x.org/"'):
        with pytest.raises(site.StoppedError, match="--address takes"):
            site.checked_address(wrong)


def test_package_fingerprint_sees_code_and_look_but_not_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    package = tmp_path / "src" / "qkv"
    (package / "__pycache__").mkdir(parents=True)
    (package / "widgets").mkdir()
    (package / "a.py").write_text("x = 1", encoding="utf-8")
    monkeypatch.setattr(site, "ROOT", tmp_path)
    seen = [site.package_fingerprint()]
    for name, changes in (
        ("a.py", True),
        ("b.css", True),
        ("book.mplstyle", True),
        ("w.js", True),
        ("widgets/lab.py", True),
        ("widgets/lab.js", False),
        ("note.txt", False),
    ):
        (package / name).write_text("x = 2", encoding="utf-8")
        seen.append(site.package_fingerprint())
        assert (seen[-1] != seen[-2]) == changes, name
    (package / "__pycache__" / "a.py").write_text("x", encoding="utf-8")
    assert site.package_fingerprint() == seen[-1]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    folder = tmp_path_factory.mktemp("served")
    for name in ("a.js", "a.css", "a.svg", "a.woff2", "a.html", "a.ipynb"):
        (folder / name).write_text("x", encoding="utf-8")
    (folder / "404.html").write_text("<head></head>not here", encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(site.Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield "127.0.0.1", server.server_port
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.js", "text/javascript; charset=utf-8"),
        ("a.css", "text/css; charset=utf-8"),
        ("a.svg", "image/svg+xml"),
        ("a.woff2", "font/woff2"),
        ("a.html", "text/html; charset=utf-8"),
        ("a.ipynb", "application/x-ipynb+json"),
    ],
)
def test_server_sends_types_and_keeps_nothing(served: tuple[str, int], name: str, kind: str):
    connection = http.client.HTTPConnection(*served)
    connection.request("GET", f"/{name}")
    answer = connection.getresponse()
    assert answer.getheader("Content-Type") == kind
    assert answer.getheader("Cache-Control") == "no-store"
    connection.close()


def test_an_address_that_is_none_shows_the_site_s_own_page(served: tuple[str, int]):
    connection = http.client.HTTPConnection(*served)
    connection.request("GET", "/no/such/page.html")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (404, b'<head><base href="/"></head>not here')
    connection.close()


def test_a_taken_port_is_passed_over(served: tuple[str, int]):
    assert site.free_port(served[1]) > served[1]
