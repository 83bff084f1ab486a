"""Colab without Colab: its versions, the notebooks as they are published, their setup cell, an empty folder."""

import hashlib
import importlib.metadata
import os
import subprocess
import sys
import threading
import venv
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import nbformat
import pytest
from filelock import FileLock
from nbclient import NotebookClient

from tools import publish

ROOT = Path(__file__).resolve().parents[2]
PINS = Path(__file__).with_name("requirements.txt")
PAGES = list(publish.pages())
KERNEL = "colab"


def clean() -> dict[str, str]:
    """The variables of an environment that knows nothing of this repository."""
    return {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}


def run(*command: str | Path) -> str:
    """Output of a command that must succeed."""
    done = subprocess.run([*map(str, command)], cwd=ROOT, env=clean(), capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def execute(notebook: nbformat.NotebookNode, python: Path, folder: Path) -> None:
    """Run a notebook in a kernel of that Python; no cell may raise, or write what a reader would see in red."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(python.parents[1] / "share" / "jupyter"))
        client = NotebookClient(
            notebook, timeout=120, kernel_name=KERNEL, resources={"metadata": {"path": str(folder)}}
        )
        client.execute(env=clean())
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert [output["text"] for output in outputs if output.get("name") == "stderr"] == []


def lend_torch(python: Path) -> None:
    """Link torch from this environment where Colab has the same release: unpacking it would take most of the time."""
    torch = importlib.metadata.distribution("torch")
    if f"torch=={torch.version.partition('+')[0]}" not in PINS.read_text().splitlines():
        return
    folder = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    for name in {file.parts[0] for file in torch.files or ()} - {".."}:
        (folder / name).symlink_to(Path(str(torch.locate_file(name))).resolve())


def colab() -> Path:
    """The environment's Python; made once for each set of pins, and kept in _build, hidden from who looks for pages."""
    key = hashlib.sha256(PINS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    home = ROOT / "_build" / f".colab-{key}"
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        lend_torch(python)
        run(python, "-m", "pip", "install", "--quiet", "--no-compile", "-r", PINS)
        run(python, "-m", "ipykernel", "install", "--sys-prefix", "--name", KERNEL)
        (home / "ready").touch()
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "qkv")
    return python


def install(python: Path, home: Path) -> None:
    """Install the wheel as a stranger would, with the setup cell of a published notebook; nothing else may change."""
    publish.build_wheel(home / "site")
    handler = partial(SimpleHTTPRequestHandler, directory=str(home / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        where = publish.place("someone/qkv", f"http://127.0.0.1:{server.server_port}/")
        publish.write_colab(where, home / "notebooks")
        before = run(python, "-m", "pip", "freeze", "--all")
        notebook = nbformat.read(home / "notebooks" / f"{PAGES[0]}.ipynb", as_version=4)
        notebook.cells = [cell for cell in notebook.cells if "setup" in cell.metadata.get("tags", [])]
        execute(notebook, python, home)
        server.shutdown()
    after = run(python, "-m", "pip", "freeze", "--all")
    changed = set(after.splitlines()) ^ set(before.splitlines())
    assert {line.split()[0].split("=")[0] for line in changed} == {"qkv"}, changed


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Python of the environment with the wheel in it, and the published notebooks; for all processes of a test run."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with FileLock(shared / "colab.lock"):
        done = shared / "colab"
        if not done.exists():
            python = colab()
            home = tmp_path_factory.mktemp("published")
            install(python, home)
            done.write_text(f"{python}\n{home / 'notebooks'}")
        python, notebooks = done.read_text().splitlines()
        return Path(python), Path(notebooks)


@pytest.mark.slow  # the site's own build runs every page; what Colab adds is its versions
@pytest.mark.parametrize("page", PAGES)
def test_notebook_runs_from_an_empty_folder(installed: tuple[Path, Path], page: str, tmp_path: Path):
    python, notebooks = installed
    execute(nbformat.read(notebooks / f"{page}.ipynb", as_version=4), python, tmp_path)
    assert list(tmp_path.iterdir()) == [], "a notebook must leave nothing beside itself"
