"""Train again what chapters only print: `python -m tools.stored [PATH…]` writes src/qkv/models/chapters.json.

It runs the notebooks that call `qkv.models.stored.stored`; each call then trains. With paths, only these notebooks run,
and the results of the others stay.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from qkv.models.stored import AGAIN

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "src" / "qkv" / "models" / "chapters.json"
IMPORT = "from qkv.models.stored import stored"


def notebooks() -> list[Path]:
    """Return the chapters and deeper pages with stored results."""
    return [path for path in sorted((ROOT / "chapters").rglob("*.ipynb")) if IMPORT in path.read_text(encoding="utf-8")]


def measured_again(path: Path, folder: Path) -> dict[str, Any]:
    """Run one notebook with its trainings in a folder, and return what it would store, by name.

    Cells with the tag skip-execution are left out. A cell that fails raises nbclient's CellExecutionError.
    """
    file = folder / "results.json"
    kernel_sees = {**os.environ, AGAIN: str(file), "OMP_NUM_THREADS": "1"}
    client = NotebookClient(
        nbformat.read(path, as_version=4),
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        skip_cells_with_tag="skip-execution",
    )
    client.execute(env=kernel_sees)
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def main(paths: list[Path]) -> None:
    """Measure the results of these notebooks again, and store them beside the others.

    Without paths, measure those of all notebooks that have some, and store only these.
    """
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if paths else {}
    for path in paths or notebooks():
        with tempfile.TemporaryDirectory() as folder:
            results |= measured_again(path.resolve(), Path(folder))
    RESULTS.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
