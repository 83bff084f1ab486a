"""Build the site into _build/html, or build and serve it: `python tools/site.py build`, `… serve [--port N]`.

A published site has an address. It comes from `--address` or, in a GitHub workflow, from the repository's name. Only a
site with an address has a service worker, a sitemap and link previews; `serve` builds a site without them.

A build has three steps: bundle the JavaScript; run the notebooks whose code or package changed (one process per core,
cached in _build/.jupyter_cache); let Jupyter Book write the pages. If nothing changed since the last build, none runs.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import http.server
import importlib.metadata
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

# nbformat and Jupyter Book import jsonschema. If this package is installed, jsonschema compiles 38 URI grammars at each
# import, which takes two seconds per process, and nothing here needs them. `None` makes the package look missing.
BLOCKED_PACKAGE = "rfc3987_syntax"
sys.modules[BLOCKED_PACKAGE] = None  # type: ignore[assignment]

# Runs Jupyter Book's command in parallel: it has no option for the number of pages that are read and written at a time.
CALL = """
import functools, sys
sys.modules[{blocked!r}] = None
from jupyter_book import sphinx
from jupyter_book.cli.main import main
sphinx.build_sphinx = functools.partial(sphinx.build_sphinx, jobs={at_a_time})
main()
"""

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # this file is a program, and `tools` is not installed
from tools import service_worker  # noqa: E402
from tools.course import LANGUAGES, ROOT, TRANSLATED, files_below, listed_pages  # noqa: E402

BUILD = ROOT / "_build"
HTML = BUILD / "html"
ASSETS = BUILD / "assets"
CACHE = BUILD / ".jupyter_cache"
# Suffixes of the package's files that can change a notebook's outputs, and files and folders that can change a page.
PACKAGE = (".py", ".css", ".mplstyle", ".js")
SOURCES = (
    "_config.yml",
    "_toc.yml",
    "package-lock.json",
    "book",
    "chapters",
    "exercises",
    "browser_python",
    "kernels",
    "real_model",
    "solutions",
    "src",
    "tools",
    "translations",
)


class StoppedError(Exception):
    """The build cannot continue. The message says why, and which command helps."""


def digest(files: Iterable[Path], *more: str) -> str:
    """Return a hash of the names and contents of files of the repository, in any order, and of further texts."""
    total = hashlib.sha256("\0".join(more).encode())
    for file in sorted(files):
        total.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return total.hexdigest()


def installed_packages() -> str:
    """Return all installed packages with their versions: any of them may change a page."""
    return " ".join(sorted(f"{d.name}=={d.version}" for d in importlib.metadata.distributions()))


@dataclass(frozen=True)
class Options:
    """The options of a build.

    Attributes:
        address: where the site is published; empty: it is not
        solutions: whether it has the pages with solutions
        page_python: whether code runs on its pages
        languages: in which languages it is built, besides English
    """

    address: str = ""
    solutions: bool = True
    page_python: bool = True
    languages: tuple[str, ...] = ()


def pages_address(repository: str) -> str:
    """Return the GitHub Pages address of a repository `owner/name`, with a slash; "" if there is no repository."""
    owner, _, name = repository.partition("/")
    own = name.lower() == f"{owner}.github.io".lower()
    return f"https://{owner.lower()}.github.io/{'' if own else f'{name}/'}" if name else ""


def checked_address(text: str) -> str:
    """Return an address with a slash at its end.

    Raises:
        StoppedError: the text is not the address of a folder on the web.
    """
    if not re.fullmatch(r"https?://[\w.-]+(:\d+)?(/[\w./~-]*)?", text):
        raise StoppedError(f"--address takes the address of the site's folder, such as https://…/; got {text!r}")
    return text.rstrip("/") + "/"


def fingerprint(options: Options) -> str:
    """Return a hash of everything that can change the site."""
    sources = [file for name in SOURCES for file in files_below(ROOT / name)]
    repository = os.environ.get("GITHUB_REPOSITORY", "")
    return digest(sources, installed_packages(), platform.python_version(), repository, repr(options))


def package_fingerprint() -> str:
    """Return a hash of everything that can change a notebook's outputs, except the notebook's own code."""
    versions = [
        f"{name}=={importlib.metadata.version(name)}" for name in ("torch", "numpy", "matplotlib", "ipywidgets")
    ]
    package = ROOT / "src" / "qkv"
    relevant = [file for file in files_below(package) if file.suffix in PACKAGE]
    # A widget's JavaScript and style change no output: the site takes only a widget's state from an output.
    sources = [file for file in relevant if file.suffix == ".py" or package / "widgets" not in file.parents]
    return digest(sources, platform.python_version(), *versions)


def require(present: bool, what: str, command: str) -> None:
    """Raise StoppedError, with the command that installs the missing thing, unless it is present."""
    if not present:
        raise StoppedError(f"{what} is missing. Get it with: {command}")


def bundle() -> str:
    """Run step 1: bundle the widgets' JavaScript and style for the site, into _build/assets. Return an empty report.

    Raises:
        StoppedError: node or a package is missing, or the bundler failed.
    """
    require(shutil.which("node") is not None, "Node.js", "sudo apt-get install nodejs npm   (or https://nodejs.org)")
    require((ROOT / "node_modules" / "katex").exists(), "node_modules", "npm ci")
    ASSETS.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["node", "tools/bundle.mjs", "--site", str(ASSETS)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise StoppedError(f"the bundler failed:\n{done.stderr or done.stdout}")
    return ""


def notebooks() -> list[Path]:
    """Return the listed notebooks that have to run: all except the solutions, which contain their outputs."""
    found = [path for name in listed_pages() if (path := ROOT / f"{name}.ipynb").exists()]
    return [path for path in found if path.parent.name != "solutions"]


def table_of_contents(options: Options) -> Path:
    """Return the table of contents for a build: `_toc.yml`, or a copy without the pages that the options leave out.

    The copy is written into `_build`.
    """
    import yaml

    toc = ROOT / "_toc.yml"
    left_out = [*(() if options.solutions else ("solutions/",)), *(() if options.page_python else ("book/try",))]
    if not left_out:
        return toc
    table = yaml.safe_load(toc.read_text(encoding="utf-8"))
    for part in table.get("parts", []):
        part["chapters"] = [page for page in part["chapters"] if not page["file"].startswith(tuple(left_out))]
    table["parts"] = [part for part in table.get("parts", []) if part["chapters"]]
    BUILD.mkdir(exist_ok=True)
    short = BUILD / "toc-shorter.yml"
    short.write_text(yaml.safe_dump(table, sort_keys=False), encoding="utf-8")
    return short


def refresh_cache() -> None:
    """Delete all cached outputs if the package or a library that they depend on has changed since they were made.

    The cache's folder is there afterwards, with a stamp of what the outputs depend on.
    """
    stamp, current = CACHE / "stamp", package_fingerprint()
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != current:
        shutil.rmtree(CACHE, ignore_errors=True)
        CACHE.mkdir(parents=True)
        stamp.write_text(current, encoding="utf-8")


def kernel_environment() -> dict[str, str]:
    """Return the environment variables of a kernel: the path of this package, one thread, and inline figures.

    The other cores run other notebooks. With one thread, the numbers are the same on every machine.
    """
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    figures = "module://matplotlib_inline.backend_inline"
    return {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths)), "MPLBACKEND": figures}


def run_notebook(path: str) -> tuple[str, Any, float, str]:
    """Run one notebook in its folder, in a new kernel.

    Return its path, the notebook with outputs, the seconds, and the text of the error or "".
    """
    import nbformat
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook = nbformat.read(path, as_version=4)
    kernelspec = notebook.metadata.get("kernelspec")
    start, error, begun = time.perf_counter(), "", [0]
    # The kernel's own stderr is needed only if the kernel dies.
    with tempfile.TemporaryDirectory(prefix="qkv-") as private, tempfile.TemporaryFile("w+") as stderr:
        try:
            runs = notebook_client(notebook, Path(path).parent, private)
            runs.on_cell_start = lambda cell, cell_index: begun.append(cell_index)
            runs.execute(stderr=stderr, cleanup_kc=True)
        except CellExecutionError as failed:
            error = failure_text(notebook, begun[-1], failed.traceback)
        except (CellTimeoutError, DeadKernelError, RuntimeError) as failed:
            stderr.seek(0)
            error = failure_text(notebook, begun[-1], f"{failed}\n{stderr.read()[-2000:]}")
    # The cache finds a notebook by its code and its kernelspec, so the kernelspec has to be as it is in the file.
    notebook.metadata.pop("kernelspec", None)
    if kernelspec is not None:
        notebook.metadata["kernelspec"] = kernelspec
    return path, notebook, time.perf_counter() - start, error


def notebook_client(notebook: Any, folder: Path, private: str) -> Any:
    """Return a client that runs a notebook in a folder, each cell for at most 600 seconds.

    The kernel's connection file is in the folder `private`.
    """
    from nbclient import NotebookClient

    from tools.kernels import kernel_manager

    # No timing: it would be written into the cells' metadata, and the cache would not find the notebook again.
    resources = {"metadata": {"path": str(folder)}}
    options = {"timeout": 600, "resources": resources, "record_timing": False, "shutdown_kernel": "immediate"}
    return NotebookClient(notebook, km=kernel_manager(f"{private}/kernel.json"), **options)


def failure_text(notebook: Any, place: int, why: str) -> str:
    """Return a report of the cell at which a notebook stopped, the one with the index `place`, and of the reason."""
    cell = notebook.cells[place]
    return f"cell {place + 1} (id {cell.id}):\n\n{cell.source}\n\n{why}"


def execute() -> str:
    """Run step 2: run the notebooks that are not in the cache, in parallel. Return how many ran.

    Raises:
        StoppedError: a notebook failed.
    """
    import nbformat
    from jupyter_cache import get_cache

    refresh_cache()
    cache = get_cache(str(CACHE))
    known = {record.hashkey for record in cache.list_cache_records()}
    files = [(path, nbformat.read(path, as_version=4)) for path in notebooks()]
    changed = [str(path) for path, notebook in files if cache.create_hashed_notebook(notebook)[1] not in known]
    run_into(cache, changed)
    return f"{len(changed)} of {len(files)} run"


def run_into(cache: Any, paths: list[str]) -> None:
    """Run notebooks, put them with their outputs into a cache, and print their seconds.

    Raises:
        StoppedError: a notebook failed. Those that had run before are in the cache.
    """
    from jupyter_cache.base import CacheBundleIn

    for path, notebook, seconds, error in run_all(paths):
        name = Path(path).relative_to(ROOT)
        if error:
            raise StoppedError(f"{name} failed in {error}")
        executed = CacheBundleIn(notebook, path, data={"execution_seconds": seconds})
        cache.cache_notebook_bundle(executed, check_validity=False, overwrite=True)
        print(f"\n      {name} {seconds:.1f} s", end="", flush=True)


def run_all(paths: list[str]) -> Iterator[tuple[str, Any, float, str]]:
    """Run notebooks in one process per core, and yield each result of `run_notebook` as soon as it is there.

    If the caller stops early, the notebooks that have not started are cancelled.
    """
    cores = max(1, min(os.cpu_count() or 1, len(paths)))
    with ProcessPoolExecutor(cores, initializer=os.environ.update, initargs=(kernel_environment(),)) as pool:
        try:
            for done in as_completed([pool.submit(run_notebook, path) for path in paths]):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def write_english(options: Options) -> str:
    """Run step 3: write the English pages. Return a remark or "". A StoppedError is raised as in `write_pages`."""
    write_pages(options, ROOT, table_of_contents(options))
    return "" if os.environ.get("GITHUB_REPOSITORY") else "no Colab links: they need GITHUB_REPOSITORY=OWNER/NAME"


def write_language(options: Options, language: str) -> str:
    """Run a further step: write the pages in a language into their folder of the site. Return an empty report.

    Its pages of an earlier build are deleted first.

    Raises:
        StoppedError: a notebook failed, or Jupyter Book found a problem.
    """
    from jupyter_cache import get_cache

    from tools import languages

    folder, target = BUILD / "languages" / language, HTML / LANGUAGES[language].folder
    to_run = languages.prepare(language, folder, table_of_contents(options), CACHE)
    run_into(get_cache(str(folder / "_build" / ".jupyter_cache")), to_run)
    # Every page is written again: the extension changes them where they are, and removes what English has as well.
    html = folder / "_build" / "html"
    for old in (html, target):
        shutil.rmtree(old, ignore_errors=True)
    write_pages(options, folder, folder / "_toc.yml")
    shutil.copytree(html, target)
    return ""


def write_pages(options: Options, source: Path, toc: Path) -> None:
    """Let Jupyter Book write the pages of a folder, with every warning as an error.

    Raises:
        StoppedError: there was an error or a warning. The pages that Sphinx has read are then deleted from its cache.
    """
    call = CALL.format(blocked=BLOCKED_PACKAGE, at_a_time=(os.cpu_count() or 1) + 1)
    command = [sys.executable, "-c", call, "build", str(source), "-W", "-n", "--keep-going", "-q"]
    command += ["--toc", str(toc)]
    environment = {
        **os.environ,
        "QKV_ADDRESS": options.address,
        "QKV_LANGUAGES": " ".join(options.languages),
        "QKV_PAGE_PYTHON": "on" if options.page_python else "off",
    }
    # stderr goes to a file. With a pipe, `run` would wait until every process that Sphinx started has closed it.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as stderr:
        done = subprocess.run(
            command, cwd=source, env=environment, stdout=subprocess.DEVNULL, stderr=stderr, check=False
        )
        stderr.seek(0)
        problems = re.sub(r"\x1b\[[\d;]*m", "", stderr.read())
    if done.returncode:
        # With the cached pages, the next build would not repeat the warnings.
        shutil.rmtree(source / "_build" / ".doctrees", ignore_errors=True)
        raise StoppedError(f"jupyter-book build found problems:\n{problems}")


def run_step(number: str, name: str, step: Callable[[], str]) -> None:
    """Run a step, and print its number, its name, its seconds and the report that it returns."""
    print(f"[{number}] {name} …", end="", flush=True)
    start = time.perf_counter()
    report = step()
    print(f" {time.perf_counter() - start:.1f} s{f'  ({report})' if report else ''}", flush=True)


def build(options: Options) -> None:
    """Run all steps and print their times, unless nothing has changed since the last build.

    Pages of languages that are not asked for, and a service worker without an address, are deleted.

    Raises:
        StoppedError: a step failed.
    """
    stamp, start = HTML / ".inputs", time.perf_counter()
    if stamp.exists() and stamp.read_text(encoding="utf-8") == fingerprint(options):
        print(f"nothing changed since the last build ({time.perf_counter() - start:.1f} s)")
        return
    stamp.unlink(missing_ok=True)
    total = 3 + len(options.languages)
    run_step(f"1/{total}", "widgets", bundle)
    current = fingerprint(options)  # before the pages are made: a file that changes meanwhile belongs to the next build
    run_step(f"2/{total}", "notebooks", execute)
    run_step(f"3/{total}", "pages", functools.partial(write_english, options))
    for number, language in enumerate(options.languages, 4):
        name = f"pages in {language}"
        run_step(f"{number}/{total}", name, functools.partial(write_language, options, language))
    for language in set(TRANSLATED) - set(options.languages):
        shutil.rmtree(HTML / LANGUAGES[language].folder, ignore_errors=True)
    service_worker.write(HTML, options.address)
    stamp.write_text(current, encoding="utf-8")
    print(f"built in {time.perf_counter() - start:.1f} s: {HTML.relative_to(ROOT)}/index.html")


class Handler(http.server.SimpleHTTPRequestHandler):
    """A handler that serves the site with the content types that browsers require, and forbids caching."""

    extensions_map = {  # noqa: RUF012
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".css": "text/css; charset=utf-8",
        ".html": "text/html; charset=utf-8",
        ".ipynb": "application/x-ipynb+json",
        ".js": "text/javascript; charset=utf-8",
        ".json": "application/json",
        ".svg": "image/svg+xml",
        ".woff2": "font/woff2",
    }

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send the site's 404 page, with links that start at the root; for another error, send the standard page."""
        page = Path(self.directory) / "404.html"
        if code != http.HTTPStatus.NOT_FOUND or not page.exists():
            return super().send_error(code, message, explain)
        body = page.read_bytes().replace(b"<head>", b'<head><base href="/">', 1)
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing, so that the address stays visible in the terminal."""


def free_port(first: int) -> int:
    """Return the first free port of `first` and the 99 ports after it.

    Raises:
        StoppedError: all of them are taken.
    """
    for port in range(first, first + 100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise StoppedError(f"ports {first} to {first + 99} are all taken; choose one with --port")


def serve(port: int | None, options: Options) -> None:
    """Build the site, then serve it on localhost until Ctrl-C.

    Without a port, it is the first free one from 8000.

    Raises:
        StoppedError: the build failed, or no port is free.
        OSError: the given port is taken.
    """
    build(options)
    chosen = port or free_port(8000)
    handler = functools.partial(Handler, directory=str(HTML))
    with http.server.ThreadingHTTPServer(("127.0.0.1", chosen), handler) as server:
        print(f"\nThe course is at http://localhost:{chosen}/   (Ctrl-C stops it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nStopped.")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Return the exit code: 1 if it stopped with a problem, which is printed, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for_build = commands.add_parser("build", help="build the site, if something changed")
    for_build.add_argument("--address", metavar="URL", help="address at which the site will be published")
    for_serve = commands.add_parser("serve", help="build the site, then serve it")
    for_serve.add_argument("--port", type=int, help="default: the first free port from 8000")
    for command in (for_build, for_serve):
        command.add_argument("--without-solutions", action="store_true", help="leave out the pages with solutions")
        command.add_argument("--languages", nargs="*", choices=TRANSLATED, default=[], help="also in these languages")
        command.add_argument(
            "--without-page-python", action="store_true", help="leave out running and checking code on the pages"
        )
    chosen = parser.parse_args(arguments)
    options = Options(
        solutions=not chosen.without_solutions,
        page_python=not chosen.without_page_python,
        languages=tuple(chosen.languages),
    )
    try:
        if chosen.command == "serve":
            serve(chosen.port, options)
        else:
            given = chosen.address or pages_address(os.environ.get("GITHUB_REPOSITORY", ""))
            address = checked_address(given) if given else ""
            build(replace(options, address=address))
    except (StoppedError, OSError) as problem:
        print(f"\n\nStopped: {problem}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as missing:
        print(f"\n\nStopped: {missing_package(missing)}", file=sys.stderr)
        return 1
    return 0


def missing_package(missing: ModuleNotFoundError) -> str:
    """Return a sentence about a missing package: this Python is probably not the one that `make` has prepared."""
    how = "Run `make book` instead, or put .venv/bin/python in front; `make site` installs it."
    return f"this Python ({sys.executable}) does not have the package {missing.name}. {how}"


if __name__ == "__main__":
    sys.exit(main())
