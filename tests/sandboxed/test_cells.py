"""A cell is translated as IPython does it, and its `print` shows all that someone can read."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

import torch

from qkv.sandboxed.cells import printing_unseen
from tests.grading.untidy_notebooks import NOTEBOOKS

ROOT = Path(__file__).resolve().parents[2]
OTHERS = (
    "ls",
    "x = 1\nls",
    "\n\nx = 1\ny = 2",
    "  # a comment\nif True:\n  y = 1",
    "x = 1\n%time y = 2",
    "%%time\nx = 1\ny = 2",
    "%%writefile a.py\nx = 1\n",
    "files = !ls\nx = 1",
    "a = 1\nfiles = %timeit -o a\n",
    "x = 1\nx?",
    "x = 1\n!pip install torch",
    "x = (1\n%c)",
    "x = '''\n%time\n!ls\n?\n'''",
    "In [1]: x = 1\nIn [2]: y",
    "In [0]: int\nx = 1",
    "x = 1\n...\n",
    ">>> x = 1\n... y",
    '"""\n>>> x\n"""\nx = 1',
    "def f(x):\n    return x[..., None]\n\n\n",
    "x = 1\r\ny = 2\r\n",
    "x = 1\n\x0cy = 2",
    "await one()\nx = 1",
    "for i in range(3):\n    i\n    %time i",
    "x = 1;\ny = 2;",
    "x =\ny",
    "x = '\\d'\ny = 1",
    "x = 1\n/f 3",
    ",f a b\nx = 1",
)
COMPARE = """
import json, sys, warnings
from IPython.core.interactiveshell import InteractiveShell
from qkv.sandboxed.cells import is_plain_python, make_shell

warnings.simplefilter("ignore")
shell = make_shell()


def translated(translate, source):
    try:
        return translate(source)
    except Exception as error:
        return type(error).__name__


sources = json.load(sys.stdin)
usual = [translated(lambda source: InteractiveShell.transform_cell(shell, source), source) for source in sources]
ours = [translated(shell.transform_cell, source) for source in sources]
shell.input_transformers_post.append(lambda lines: ["x = 2\\n"])
print(json.dumps({
    "different": [source for source, one, other in zip(sources, usual, ours) if one != other],
    "as they are": sum(map(is_plain_python, sources)),
    "with a transform": shell.transform_cell("a = 1\\nb = 2"),
}))
"""


def course_cells() -> list[str]:
    """The code cells of all notebooks of the course."""
    paths = [path for folder in ("chapters", "exercises", "solutions") for path in (ROOT / folder).glob("**/*.ipynb")]
    cells = [cell for path in paths for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_a_cell_is_translated_as_ipython_does_it():
    sources = [*OTHERS, *(source for cells in NOTEBOOKS.values() for source in cells), *course_cells()]
    done = subprocess.run(
        [sys.executable, "-c", COMPARE], input=json.dumps(sources), capture_output=True, text=True, check=True, cwd=ROOT
    )
    found = json.loads(done.stdout)
    assert found["different"] == []
    assert found["as they are"] > len(sources) / 2
    assert found["with a transform"] == "x = 2\n"


def test_a_print_formats_no_tensor_where_nobody_reads_it():
    nowhere, file, shown = io.StringIO(), io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(nowhere):
        show = printing_unseen(nowhere)
        show(torch.ones(2), [torch.ones(2)], 1, sep=";")
        show(torch.ones(2), file=file)
        with contextlib.redirect_stdout(shown):
            show(torch.ones(2), 1, end="")
    assert nowhere.getvalue() == ";[tensor([1., 1.])];1\n"
    assert (file.getvalue(), shown.getvalue()) == ("tensor([1., 1.])\n", "tensor([1., 1.]) 1")
