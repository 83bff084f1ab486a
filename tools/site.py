"""Build the site into _build/html, or build and serve it: `python tools/site.py build`, `… serve [--port N]`.

A site that is published has an address, from `--address` or, where a workflow of GitHub builds it, from the repository.
Only such a site has a service worker, a map for search engines and previews; one that is served here has none of them.

Three steps: bundle the JavaScript, run the notebooks whose code or package changed (one process per core, into
_build/.jupyter_cache), and let Jupyter Book write the pages. When nothing changed since the last build, none of them.
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

# With this package installed, jsonschema (nbformat and Jupyter Book use it) compiles 38 grammars of internet addresses
# whenever it is imported: two seconds in each process, for checks that nobody asks for. Without it, it leaves them out.
SPARED = "rfc3987_syntax"
sys.modules[SPARED] = None  # type: ignore[assignment]

# Jupyter Book's command, which has no option for how many pages are read and written at a time.
CALL = """
import functools, sys
sys.modules[{spared!r}] = None
from jupyter_book import sphinx
from jupyter_book.cli.main import main
sphinx.build_sphinx = functools.partial(sphinx.build_sphinx, jobs={at_a_time})
main()
"""

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # it runs as a program, too, and `tools` is no package that is installed
BUILD = ROOT / "_build"
HTML = BUILD / "html"
ASSETS = BUILD / "assets"
CACHE = BUILD / ".jupyter_cache"
# What an output of a notebook can depend on besides the notebook, and what a page can depend on besides its source.
PACKAGE = (".py", ".css", ".mplstyle", ".js")
SOURCES = (
    "_config.yml",
    "_toc.yml",
    "package-lock.json",
    "book",
    "chapters",
    "exercises",
    "page",
    "solutions",
    "src",
    "tools",
)
SKIPPED = {"__pycache__", ".ipynb_checkpoints"}


class StoppedError(Exception):
    """The build cannot go on; the message says why, and what to type."""


def digest(files: Iterable[Path], *more: str) -> str:
    """One hash of the names and contents of files, and of some words."""
    total = hashlib.sha256("\0".join(more).encode())
    for file in sorted(files):
        total.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return total.hexdigest()


def files_below(folder: Path) -> Iterator[Path]:
    """The files of a folder, without what Python and Jupyter leave there."""
    if folder.is_file():
        yield folder
    for directory, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in SKIPPED]
        yield from (Path(directory, name) for name in names)


def installed() -> str:
    """Every installed package with its version: any of them may change a page."""
    return " ".join(sorted(f"{d.name}=={d.version}" for d in importlib.metadata.distributions()))


@dataclass(frozen=True)
class Options:
    """What can be chosen about a build: where it will be published (empty: nowhere), and what is in it."""

    address: str = ""
    solutions: bool = True
    page_python: bool = True


def pages_address(repository: str) -> str:
    """Where GitHub shows the pages of a repository `owner/name`; empty without one."""
    owner, _, name = repository.partition("/")
    own = name.lower() == f"{owner}.github.io".lower()
    return f"https://{owner.lower()}.github.io/{'' if own else f'{name}/'}" if name else ""


def checked_address(text: str) -> str:
    """An address with a slash at its end.

    Raises:
        StoppedError: it is not one under which a site can be published.
    """
    if not re.fullmatch(r"https?://[\w.-]+(:\d+)?(/[\w./~-]*)?", text):
        raise StoppedError(f"--address takes the address of the site's folder, https://…/; got {text!r}")
    return text.rstrip("/") + "/"


def fingerprint(options: Options) -> str:
    """A hash of everything that the site is made of."""
    sources = [file for name in SOURCES for file in files_below(ROOT / name)]
    repository = os.environ.get("GITHUB_REPOSITORY", "")
    return digest(sources, installed(), platform.python_version(), repository, repr(options))


def package_fingerprint() -> str:
    """A hash of what a notebook's outputs depend on besides its own code."""
    versions = [
        f"{name}=={importlib.metadata.version(name)}" for name in ("torch", "numpy", "matplotlib", "ipywidgets")
    ]
    package = ROOT / "src" / "qkv"
    kept = [file for file in files_below(package) if file.suffix in PACKAGE]
    # The site takes a widget's state from an output, and not its code.
    sources = [file for file in kept if file.suffix == ".py" or package / "widgets" not in file.parents]
    return digest(sources, platform.python_version(), *versions)


def need(present: bool, what: str, command: str) -> None:
    """Stop with the command that gets what is missing."""
    if not present:
        raise StoppedError(f"{what} is missing. Get it with: {command}")


def bundle() -> str:
    """Step 1: the widgets' JavaScript and style, as the site loads them."""
    need(shutil.which("node") is not None, "Node.js", "sudo apt-get install nodejs npm   (or https://nodejs.org)")
    need((ROOT / "node_modules" / "katex").exists(), "node_modules", "npm ci")
    ASSETS.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["node", "tools/bundle.mjs", "--site", str(ASSETS)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise StoppedError(f"the bundler failed:\n{done.stderr or done.stdout}")
    return ""


def listed() -> list[str]:
    """The pages that the table of contents names, in its order."""
    table = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    return re.findall(r"^[ -]*(?:file|root): *(\S+) *$", table, re.MULTILINE)


def notebooks() -> list[Path]:
    """The notebooks to run of those that are listed: solutions carry what they printed."""
    found = [path for name in listed() if (path := ROOT / f"{name}.ipynb").exists()]
    return [path for path in found if path.parent.name != "solutions"]


def contents(options: Options) -> Path:
    """The table of contents to build from: `_toc.yml`, or a copy of it without what is left out."""
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
    """Drop all outputs when the package or a library that made them changed: nothing stale is ever shown."""
    stamp, current = CACHE / "stamp", package_fingerprint()
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != current:
        shutil.rmtree(CACHE, ignore_errors=True)
        CACHE.mkdir(parents=True)
        stamp.write_text(current, encoding="utf-8")


def kernel_environment() -> dict[str, str]:
    """What a kernel starts with: this package, one thread, and figures that are shown where they are drawn.

    The other cores are busy with other notebooks, and with one thread the numbers are the same on every machine.
    """
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    figures = "module://matplotlib_inline.backend_inline"
    return {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths)), "MPLBACKEND": figures}


def run_notebook(path: str) -> tuple[str, Any, float, str]:
    """Run one notebook in its folder; return its path, the notebook with outputs, the seconds, and the error if any."""
    import nbformat
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook = nbformat.read(path, as_version=4)
    kernelspec = notebook.metadata.get("kernelspec")
    start, error, begun = time.perf_counter(), "", [0]
    # What the kernel itself says is noise, unless it dies.
    with tempfile.TemporaryDirectory(prefix="qkv-") as private, tempfile.TemporaryFile("w+") as said:
        try:
            runs = client(notebook, Path(path).parent, private)
            runs.on_cell_start = lambda cell, cell_index: begun.append(cell_index)
            runs.execute(stderr=said, cleanup_kc=True)
        except CellExecutionError as failed:
            error = failure(notebook, begun[-1], failed.traceback)
        except (CellTimeoutError, DeadKernelError, RuntimeError) as failed:
            said.seek(0)
            error = failure(notebook, begun[-1], f"{failed}\n{said.read()[-2000:]}")
    # The cache looks a notebook up by its code and this entry, as they are in the file.
    notebook.metadata.pop("kernelspec", None)
    if kernelspec is not None:
        notebook.metadata["kernelspec"] = kernelspec
    return path, notebook, time.perf_counter() - start, error


def client(notebook: Any, folder: Path, private: str) -> Any:
    """What runs a notebook in a folder, and speaks with its kernel in a private one."""
    from nbclient import NotebookClient

    from tools.kernels import manager

    # Times would be written into the cells' metadata, by which the cache finds a notebook.
    resources = {"metadata": {"path": str(folder)}}
    options = {"timeout": 180, "resources": resources, "record_timing": False, "shutdown_kernel": "immediate"}
    return NotebookClient(notebook, km=manager(f"{private}/kernel.json"), **options)


def failure(notebook: Any, place: int, why: str) -> str:
    """The cell at which a notebook stopped, and why."""
    cell = notebook.cells[place]
    return f"cell {place + 1} (id {cell.id}):\n\n{cell.source}\n\n{why}"


def execute() -> str:
    """Step 2: run the notebooks that are not in the cache, in parallel."""
    import nbformat
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn

    refresh_cache()
    cache = get_cache(str(CACHE))
    known = {record.hashkey for record in cache.list_cache_records()}
    files = [(path, nbformat.read(path, as_version=4)) for path in notebooks()]
    changed = [str(path) for path, notebook in files if cache.create_hashed_notebook(notebook)[1] not in known]
    for path, notebook, seconds, error in run_all(changed):
        name = Path(path).relative_to(ROOT)
        if error:
            raise StoppedError(f"{name} failed in {error}")
        executed = CacheBundleIn(notebook, path, data={"execution_seconds": seconds})
        cache.cache_notebook_bundle(executed, check_validity=False, overwrite=True)
        print(f"\n      {name} {seconds:.1f} s", end="", flush=True)
    return f"{len(changed)} of {len(files)} run"


def run_all(paths: list[str]) -> Iterator[tuple[str, Any, float, str]]:
    """Run notebooks, a process for each core; yield each as it ends. The first error cancels those not yet begun."""
    cores = max(1, min(os.cpu_count() or 1, len(paths)))
    with ProcessPoolExecutor(cores, initializer=os.environ.update, initargs=(kernel_environment(),)) as pool:
        try:
            for done in as_completed([pool.submit(run_notebook, path) for path in paths]):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def write_pages(options: Options) -> str:
    """Step 3: Jupyter Book, where every warning is an error."""
    call = CALL.format(spared=SPARED, at_a_time=(os.cpu_count() or 1) + 1)
    command = [sys.executable, "-c", call, "build", str(ROOT), "-W", "-n", "--keep-going", "-q"]
    command += ["--toc", str(contents(options))]
    environment = {
        **os.environ,
        "QKV_ADDRESS": options.address,
        "QKV_PAGE_PYTHON": "on" if options.page_python else "off",
    }
    # A file and not a pipe: a pipe would be waited for as long as any process that Sphinx started keeps it open.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=said, check=False)
        said.seek(0)
        problems = re.sub(r"\x1b\[[\d;]*m", "", said.read())
    if done.returncode:
        shutil.rmtree(BUILD / ".doctrees", ignore_errors=True)  # or the next build would not warn of the same again
        raise StoppedError(f"jupyter-book build found problems:\n{problems}")
    return "" if os.environ.get("GITHUB_REPOSITORY") else "no Colab links: built without an address (GITHUB_REPOSITORY)"


def timed(number: int, name: str, step: Callable[[], str]) -> None:
    """Do a step, and print what it did and the time that it took."""
    print(f"[{number}/3] {name} …", end="", flush=True)
    start = time.perf_counter()
    said = step()
    print(f" {time.perf_counter() - start:.1f} s{f'  ({said})' if said else ''}", flush=True)


def build(options: Options) -> None:
    """Build what changed."""
    stamp, start = HTML / ".inputs", time.perf_counter()
    if stamp.exists() and stamp.read_text(encoding="utf-8") == fingerprint(options):
        print(f"nothing changed since the last build ({time.perf_counter() - start:.1f} s)")
        return
    stamp.unlink(missing_ok=True)
    timed(1, "widgets", bundle)
    current = fingerprint(options)  # before the pages are made: what is edited meanwhile belongs to the next build
    timed(2, "notebooks", execute)
    timed(3, "pages", functools.partial(write_pages, options))
    stamp.write_text(current, encoding="utf-8")
    print(f"built in {time.perf_counter() - start:.1f} s: {HTML.relative_to(ROOT)}/index.html")


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site with the types that browsers insist on, and nothing kept from an earlier build."""

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
        """Show the site's own page for an address that is none, with its links leading from the root."""
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
        """Say nothing: the terminal shows the address."""


def free_port(first: int) -> int:
    """The first port from `first` on that nobody listens on."""
    for port in range(first, first + 100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise StoppedError(f"ports {first} to {first + 99} are all taken; choose one with --port")


def serve(port: int | None, options: Options) -> None:
    """Build, then serve until Ctrl-C."""
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
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for_build = commands.add_parser("build", help="build what changed")
    for_build.add_argument("--address", metavar="URL", help="where the site will be published")
    for_serve = commands.add_parser("serve", help="build, then serve")
    for_serve.add_argument("--port", type=int)
    for command in (for_build, for_serve):
        command.add_argument("--without-solutions", action="store_true", help="leave out the pages with solutions")
        command.add_argument(
            "--without-page-python", action="store_true", help="no code is run or checked on the pages"
        )
    chosen = parser.parse_args(arguments)
    options = Options(solutions=not chosen.without_solutions, page_python=not chosen.without_page_python)
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
