"""Colab without Colab: its versions, the built wheel, an empty folder, every notebook."""

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]
PINS = Path(__file__).with_name("requirements.txt")
NOTEBOOKS = sorted([*ROOT.glob("chapters/*.ipynb"), *ROOT.glob("exercises/*.ipynb")])
RUN = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": "."}}).execute()
outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
sys.exit("".join(output["text"] for output in outputs if output.get("name") == "stderr") or 0)
"""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Output of a command that must succeed, in an environment that knows nothing of this repository."""
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def colab() -> Path:
    """The environment's Python; made once for each set of pins, and kept in _build."""
    key = hashlib.sha256(PINS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    home = ROOT / "_build" / f"colab-{key}"
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        run(python, "-m", "pip", "install", "--quiet", "-r", PINS)
        run(python, "-m", "ipykernel", "install", "--sys-prefix", "--name", "python3")
        (home / "ready").touch()
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "qkv")
    return python


def install(python: Path, dist: Path) -> None:
    """Install the wheel as a stranger would, by itself, with its dependencies; nothing else may change."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", dist, ROOT)
    before = run(python, "-m", "pip", "freeze", "--all")
    run(python, "-m", "pip", "install", "--quiet", *dist.glob("*.whl"))
    after = run(python, "-m", "pip", "freeze", "--all")
    changed = set(after.splitlines()) ^ set(before.splitlines())
    assert {line.split()[0].split("=")[0] for line in changed} == {"qkv"}, changed


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of the environment with the wheel in it; one for all the processes of a test run."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with FileLock(shared / "colab.lock"):
        done = shared / "colab"
        if not done.exists():
            python = colab()
            install(python, tmp_path_factory.mktemp("dist"))
            done.write_text(str(python))
        return Path(done.read_text())


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_notebook_runs_from_an_empty_folder(installed: Path, notebook: Path, tmp_path: Path):
    run(installed, "-c", RUN, notebook, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == [], "a notebook must leave nothing beside itself"


def test_wheel_carries_what_the_widgets_need(installed: Path, tmp_path: Path):
    show = "import qkv, pathlib; print(*(p.name for p in pathlib.Path(qkv.__file__).parent.rglob('*')))"
    assert {"scaling_lab.js", "scaling_lab.css", "tokens.css"} <= set(run(installed, "-c", show, cwd=tmp_path).split())
