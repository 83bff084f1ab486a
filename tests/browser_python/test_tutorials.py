"""Programs after tutorials and documentation print on the page what they print with torch and NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.lib.pretty import pretty

from browser_python.in_node import Interpreter, interpreter
from tests.browser_python.programs import compared, run, run_on_page

PROGRAMS = Path(__file__).with_name("tutorials.txt").read_text(encoding="utf-8").split("\n###\n")[1:]
ABSENT = {  # programs that use what the page does not have, and the note that says so
    "import argparse": "argparse is not on this page; open this notebook in JupyterLab or Colab",
    "from torch.nn.utils.rnn import pack_padded_sequence": "rnn.pack_padded_sequence` is not in the page's torch",
    "from torch.nn.attention import SDPBackend\nprint(SDPBackend.MATH)": "torch.nn.attention.SDPBackend.MATH is not on",
    "from torch.nn.attention import SDPBackend as B\nif B.MATH: pass": "SDPBackend.MATH is not on",
    "import torch\nhasattr(torch.Tensor, 'svd')": "`Tensor.svd` is not in the page's torch",
    "import torch\ntorch.ones(1).unique(foo=1)": "'foo' of `unique` is not on this page",
    "import torch\ntorch.tensor([1 + 2j])": "a complex number is not in the page's torch",
    "import torch\ntorch.nn.utils.weight_norm": "`torch.nn.utils.weight_norm` is not in the page's torch",
    "import torch\ntorch.ones(1, requires_grad=True).exp().grad_fn.metadata": "ExpBackward0.metadata is not on",
    "import numpy as np\nnp.arange(3)[::-1][0] = 1": "a slice with a negative step made is not in the page",
    "import numpy as np\nnp.add.outer([1], [2])": "`numpy.add.outer` is not in the page's numpy",
    "import numpy as np\nnp.array(['a'])": "an array of `str` is not in the page's numpy",
    "import numpy as np\nnp.zeros(2, dtype=complex)": "the dtype `complex` is not in the page's numpy",
}


@pytest.fixture(scope="module")
def python() -> Iterator[Interpreter]:
    with interpreter() as started:
        yield started


def test_programs_print_the_same(python: Interpreter):
    found = {text: compared(run(text, {"__name__": "__main__"}), run_on_page(python, text)) for text in PROGRAMS}
    assert {text: verdict for text, verdict in found.items() if verdict not in ("same", "last digit")} == {}


def test_what_is_absent_is_said(python: Interpreter):
    problems = {text: python.ask([text])["problem"] for text in ABSENT}
    assert {text: problems[text] for text, note in ABSENT.items() if note not in problems[text]} == {}


def test_documentation_is_said_to_be_absent(python: Interpreter):
    places = ("torch.softmax", "torch.nn.Linear", "torch.Tensor.view", "torch.nn.functional.relu", "torch.optim.Adam")
    for place in (*places, "numpy.exp", "numpy.zeros"):
        printed = python.ask([f"import numpy, torch\nprint({place}.__doc__)"])["printed"]
        assert printed.startswith("This documentation is not in the page's"), place


COLLECTIONS = (
    "Counter('aab')",
    "defaultdict(list, a=[1])",
    "deque([1], maxlen=2)",
    "Counter('the cat sat on a mat by it')",
)


def test_collections_are_shown_as_in_a_notebook(python: Interpreter):
    head = "from collections import Counter, defaultdict, deque\n"
    names: dict[str, object] = {}
    exec(head, names)
    shown = [python.ask([head + text])["printed"] for text in COLLECTIONS]
    assert shown == [f"{pretty(eval(text, names))}\n" for text in COLLECTIONS]
