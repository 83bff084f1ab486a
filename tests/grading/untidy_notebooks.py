"""Untidy notebooks of honest learners: each has right answers and deserves full marks, whatever else it contains.

Each notebook is a list of code cells. `CHECKED` has five right answers, each followed by its check. `FILES` has one
notebook in several file formats.
"""

from __future__ import annotations

import json

FIRST = "import math\n\nimport torch\n\nfrom qkv import check, progress"
SCORES = "def scaled_scores(q, k):\n    return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])"
VARIANCE = "def score_variance(d_k, var_q, var_k):\n    return d_k * var_q * var_k"
ATTENTION = "def attention(q, k, v):\n    weights = scaled_scores(q, k).softmax(-1)\n    return weights @ v, weights"
JACOBIAN = "def softmax_jacobian(p):\n    return torch.diag(p) - p[:, None] * p"
TEST = """
def catches_wrong_scale(attend):
    q, k, v = 2 * torch.randn(3, 7), torch.randn(5, 7), torch.randn(5, 6)
    return not torch.allclose(attend(q, k, v)[1], (q @ k.mT / math.sqrt(7)).softmax(-1), atol=1e-3)
"""
NAMES = {
    "3.1": "scaled_scores",
    "3.2": "score_variance",
    "3.3": "attention",
    "3.4": "softmax_jacobian",
    "3.5": "catches_wrong_scale",
}
CHECKS = {question: f'check("{question}", {name}).points' for question, name in NAMES.items()}
ANSWERS = (SCORES, VARIANCE, ATTENTION, JACOBIAN, TEST)
CHECKED = [cell for pair in zip(ANSWERS, CHECKS.values(), strict=True) for cell in pair]
POINTS = {"3.1": 3.0, "3.2": 2.0, "3.3": 4.0, "3.4": 3.0, "3.5": 3.0}


def with_scores(*cells: str, check: str = CHECKS["3.1"]) -> list[str]:
    """Return the notebook with another answer to 3.1."""
    return [FIRST, *cells, check, *CHECKED[2:]]


def with_other_scores(*cells: str) -> list[str]:
    """Return the notebook with an answer to 3.1 under another name, and its check; later answers use the usual name."""
    return [FIRST, *cells, SCORES, *CHECKED[2:]]


def before(*cells: str) -> list[str]:
    """Return the notebook with these cells at its start."""
    return [*cells, FIRST, *CHECKED]


def around(*cells: str) -> list[str]:
    """Return the notebook with these cells between its imports and its answers, and again at its end."""
    return [FIRST, *cells, *CHECKED, *cells]


def in_the_answer(line: str) -> list[str]:
    """Return the notebook with these lines after the answer to 3.1, in the same cell, and its check after them."""
    return with_scores(f"{SCORES}\n{line}\n{CHECKS['3.1']}", check="pass")


TRY = "q, k = torch.ones(2, 3), torch.ones(4, 3)"
NOTEBOOKS: dict[str, list[str]] = {
    "tidy": [FIRST, *CHECKED],
    "everything in one cell": ["\n".join([FIRST, *CHECKED])],
    # magics
    "timeit in a loop": in_the_answer(f"{TRY}\nfor n in (2, 3):\n    %timeit scaled_scores(q, k)"),
    "timeit with options": in_the_answer(f"{TRY}\n%timeit -n 100 -r 3 scaled_scores(q, k)"),
    "timeit that returns its result": in_the_answer(f"{TRY}\nt = %timeit -o -q scaled_scores(q, k)\nt.best"),
    "a cell that is timed again and again": around("%%timeit -n 1000 -r 3\nsum(range(9))"),
    "an answer in a timed cell": with_scores(f"%%time\n{SCORES}"),
    "time before a call": in_the_answer(f"{TRY}\n%time scaled_scores(q, k)"),
    "time with an assignment": with_scores(f"{SCORES}\n%time root = math.sqrt(4)\nassert root == 2"),
    "an answer in a captured cell": with_scores(f"%%capture out\nprint(1)\n{SCORES}", "out.stdout"),
    "matplotlib inline": before("%matplotlib inline\n%config InlineBackend.figure_format = 'retina'"),
    "autoreload": before("%load_ext autoreload\n%autoreload 2"),
    "an unknown magic of Colab": before("%tensorflow_version 2.x"),
    "a magic in a function": in_the_answer("def timed():\n    %time pass\ntimed()"),
    "a magic under if": in_the_answer("if True:\n    %time math.sqrt(2)"),
    "profiled": in_the_answer(f"{TRY}\n%prun -q scaled_scores(q, k)"),
    "magics that list names": around("%who\n%whos\n%lsmagic"),
    "cd to a missing folder": around("%cd /content/drive/MyDrive"),
    "pwd and ls": around("here = %pwd\n%ls"),
    "env": around("%env OMP_NUM_THREADS=1\nhome = %env HOME"),
    "html": around("%%html\n<b>hello</b>"),
    "bash": around("%%bash\necho hello"),
    "writefile then import": with_scores(
        "%%writefile my_scores_of_chapter_3.py\nimport math\n\n"
        "def scores(q, k):\n    return q @ k.mT / math.sqrt(q.shape[-1])",
        "import os, sys\nsys.path.insert(0, os.getcwd())\nfrom my_scores_of_chapter_3 import scores as scaled_scores\n"
        "os.remove('my_scores_of_chapter_3.py')",
    ),
    # the system's shell
    "pip": before("!pip install -q torch", "%pip install torch", "!python -m pip install torch"),
    "output of a command": around("lines = !echo one; echo two\nassert lines == ['one', 'two'], lines\nlines.n"),
    "a command with a variable": around("x = 7\nshown = !echo {x} $x\nassert shown[0] == '7 7'"),
    "a command that does not exist": around("!nosuchcommand --version"),
    "a command under if": around("if True:\n    !echo hello"),
    # IPython
    "questions": around("math.sqrt?", "?math", "math.sqrt??"),
    "get_ipython": around("get_ipython().run_line_magic('time', '1 + 1')\nget_ipython().system('echo hello')"),
    "get_ipython guarded": before("if 'google.colab' in str(get_ipython()):\n    import google.colab"),
    "display": around(
        "from IPython.display import display, HTML, clear_output\ndisplay(HTML('<b>x</b>'), 3)\nclear_output()"
    ),
    "display without an import": around("display(3)"),
    "the last value": around("6 * 7", "assert _ == 42\nassert Out"),
    "await": around("import asyncio\nawait asyncio.sleep(0)"),
    "a task over two cells": [
        FIRST,
        "import asyncio\nasync def two():\n    return 2\ntask = asyncio.create_task(two())",
        "assert await task == 2",
        *CHECKED,
    ],
    "exit": [FIRST, *CHECKED, "exit()"],
    "sys.exit": around("import sys\nif len(sys.argv) < 0:\n    sys.exit(1)"),
    "input": around("n = int(input('How many? '))"),
    # Colab
    "a form": before('#@title Imports { display-mode: "form" }\nn = 3 #@param {type:"slider", min:1, max:9}'),
    "a guarded import of Colab": before(
        "try:\n    from google.colab import drive\n    drive.mount('/content/drive')\nexcept ImportError:\n    pass"
    ),
    "an export of Colab": before(
        '# -*- coding: utf-8 -*-\n"""03_scaling.ipynb\n\nAutomatically generated by Colab.\n"""'
    ),
    # Visual Studio Code
    "cells of VS Code": before("# %%\nimport math", "# %% [markdown]\n# A heading"),
    # Python
    "from __future__ for later cells": with_scores(
        "from __future__ import annotations", SCORES.replace("(q, k)", "(q: NoSuch, k: NoSuch)", 1)
    ),
    "tabs": with_scores(SCORES.replace("    ", "\t")),
    "CRLF": with_scores(SCORES.replace("\n", "\r\n")),
    "empty lines and spaces": with_scores(f"\n\n  \n{SCORES}   \n\n\n"),
    "an indented cell": with_scores("\n".join(f"    {line}" for line in SCORES.splitlines())),
    "a decorator": with_scores(
        f"import functools\ndef noted(f):\n    @functools.wraps(f)\n"
        f"    def g(*a):\n        return f(*a)\n    return g\n@noted\n{SCORES}"
    ),
    "a helper in another cell": with_scores(
        "def root(x):\n    return math.sqrt(x.shape[-1])", SCORES.replace("math.sqrt(q.shape[-1])", "root(q)")
    ),
    "a dataclass and an alias": around(
        "from dataclasses import dataclass\nTensor = torch.Tensor\nVector = list[float]\n"
        "@dataclass\nclass Size:\n    d_k: int = 4\nSize()"
    ),
    "compiled": with_scores(f"@torch.compile\n{SCORES}"),
    "compiled with options": with_scores(f"@torch.compile(dynamic=True)\n{SCORES}", "again = torch.compile(math.sqrt)"),
    "a lambda": with_scores("scaled_scores = lambda q, k: q @ k.mT / math.sqrt(q.shape[-1])"),
    "under another name": with_other_scores(SCORES.replace("scaled_scores", "mine"), 'check("3.1", mine)'),
    "passed as a lambda": with_other_scores('check("3.1", lambda q, k: q @ k.mT / q.shape[-1] ** 0.5)'),
    "over several lines": with_scores(SCORES, check='check(\n    "3.1",\n    scaled_scores,\n)'),
    "a method": with_other_scores(
        "class Mine:\n    def scores(self, q, k):\n        return q @ k.mT / math.sqrt(q.shape[-1])",
        'check("3.1", Mine().scores)',
    ),
    "a name used for something else later": [
        FIRST,
        "scale = math.sqrt",
        SCORES.replace("math.sqrt", "scale"),
        CHECKS["3.1"],
        "scale = 3",
        *CHECKED[2:4],
        SCORES,
        *CHECKED[4:],
    ],
    "a table that has something else later": [
        FIRST,
        "scales = {'root': math.sqrt}",
        SCORES.replace("math.sqrt", "scales['root']"),
        CHECKS["3.1"],
        "scales.clear()",
        *CHECKED[2:4],
        SCORES,
        *CHECKED[4:],
    ],
    "an object that is changed later": with_other_scores(
        "class Scores:\n    scale = math.sqrt\n"
        "    def __call__(self, q, k):\n        return q @ k.mT / self.scale(q.shape[-1])",
        "mine = Scores()\ncheck('3.1', mine)",
        "mine.scale = abs",
    ),
    "checked in a loop": [
        FIRST,
        *ANSWERS,
        f"answers = dict(zip({list(NAMES)}, ({', '.join(NAMES.values())})))",
        'check("3.1", scaled_scores)',
        "for question, answer in answers.items():\n    for _ in range(3):\n        check(question, answer)",
    ],
    "checked again when it is right": with_scores(
        "def scaled_scores(q, k):\n    return q @ k.mT",
        CHECKS["3.1"],
        "%timeit check('3.1', scaled_scores)",
        SCORES,
    ),
    "a check of a question that does not exist": around("check('3.9', math.sqrt)"),
    "a cell that fails after the answer": with_scores(f"{SCORES}\nscaled_scores(1, 2)"),
    "a cell that fails before": around("1 / 0", "undefined_name", "def f(:"),
    "an assert on a check": [
        *with_scores(SCORES, check='assert check("3.1", scaled_scores).passed'),
        "assert progress(3).points == 15",
    ],
    "compared with the reference": [FIRST + "\nfrom qkv.attention import scaled_scores as reference", *CHECKED],
    "compared with the reference in the cell of an answer of another name": [
        FIRST,
        *CHECKED[:4],
        f"""from qkv.attention import attention as reference
{TRY}
out, weights = reference(q, k, k)
assert out.shape == reference(q, k, k)[0].shape
{ATTENTION.replace("def attention", "def mine")}
torch.testing.assert_close(mine(q, k, k), reference(q, k, k))
largest = (mine(q, k, k)[0] - out).abs().max()
print(f"{{largest:.1e}}", float(largest), 1 - largest)
assert largest < 1e-6 and largest.item() < 1e-6
check("3.3", mine)""",
        *CHECKED[6:],
    ],
    "points that are added up": [
        FIRST,
        VARIANCE,
        f"""points = check("3.2", score_variance).points
assert sum([points, points]) == 4 and points / 2 + 1 == 2, points
{SCORES.replace("def scaled_scores", "def mine")}
check("3.1", mine)""",
        ATTENTION.replace("scaled_scores", "mine"),
        *CHECKED[5:],
    ],
    "the package's version": around("import qkv\nprint(qkv.__version__)"),
    "seeds and defaults": before("import torch\ntorch.manual_seed(0)\ntorch.set_printoptions(precision=3)"),
    "warnings": before("import warnings\nwarnings.filterwarnings('error')"),
}


REPORT = f"report = {CHECKS['3.1'].removesuffix('.points')}"
# What checks and `progress` return, used as in the learner's kernel.
NOTEBOOKS |= {
    "a check without an answer": [FIRST, *CHECKED, 'check("3.1")', 'check("3.3")'],
    "a report of its class": with_scores(
        f"{SCORES}\nfrom qkv.checking import Report\nassert isinstance(check('3.1', scaled_scores), Report)"
    ),
    "a report as a dictionary": with_scores(
        f"{SCORES}\nimport dataclasses\n{REPORT}\nfields = dataclasses.asdict(report)\n"
        "assert {'question', 'passed', 'points', 'message'} <= set(fields), fields"
    ),
    "a report whose fields are replaced": with_scores(
        f"{SCORES}\nimport dataclasses\n{REPORT}\ndataclasses.replace(report, message='mine').message"
    ),
    "reports as keys": with_scores(f"{SCORES}\n{REPORT}\nseen = {{report: 1}}\nassert seen[report] == 1"),
    "reports in a set": with_scores(f"{SCORES}\n{REPORT}\nassert len({{report, report}}) == 1"),
    "a report that names its question": with_scores(f"{SCORES}\n{REPORT}\nassert report.question == '3.1'"),
    "a report in a text": with_scores(f"{SCORES}\n{REPORT}\nassert '3.1' in f'{{report.question:>5}} {{report}}'"),
    "points that are added": with_scores(
        f"{SCORES}\n{REPORT}\ntotal = sum([report.points, report.points])\nassert total <= 2 * report.max_points"
    ),
    "the fields of a report": with_scores(
        f"{SCORES}\nimport dataclasses\n{REPORT}\nassert [f.name for f in dataclasses.fields(report)][:3] == "
        "['question', 'passed', 'points']"
    ),
    "points of progress": around("done = progress(3)\nassert done.points <= done.max_points"),
    "progress of its class": around("from qkv.checking import Progress\nassert isinstance(progress(3), Progress)"),
    "the status of each question": [FIRST, *CHECKED, "assert progress(3).status['3.1'] == 'passed'"],
    "a loop over the status": [FIRST, *CHECKED, "for q, status in progress(3).status.items():\n    print(q, status)"],
    "progress as a dictionary": around("import dataclasses\ndataclasses.asdict(progress(3))['points']"),
    "a report that is kept for later": with_scores(
        f"{SCORES}\nkept = [check('3.1', scaled_scores)]", "assert all(report.passed for report in kept)"
    ),
    "a match on a report": with_scores(
        f"{SCORES}\n{REPORT}\nmatch report.status:\n    case 'passed':\n        good = 1\ngood"
    ),
}
# What stands for the reference and for figures.
COMPARE = "from qkv.attention import scaled_scores as theirs\nq, k = torch.ones(2, 3), torch.ones(4, 3)\n"
NOTEBOOKS |= {
    "the length of what the reference returns": around(COMPARE + "print(len(theirs(q, k)))"),
    "a loop over what the reference returns": around(COMPARE + "for row in theirs(q, k):\n    print(row.sum())"),
    "NumPy on what the reference returns": around(COMPARE + "import numpy as np\nnp.asarray(theirs(q, k)).sum()"),
    "NumPy compares with the reference": around(
        COMPARE + "import numpy as np\nassert np.allclose((q @ k.mT / math.sqrt(3)).numpy(), theirs(q, k))"
    ),
    "a list of what the reference returns": around(COMPARE + "list(theirs(q, k)), bool(theirs(q, k).sum()), max(1, 2)"),
    "a plot of what the reference returns": around(
        COMPARE + "try:\n    import matplotlib.pyplot as plt\n    plt.plot(theirs(q, k))\nexcept ImportError:\n    pass"
    ),
    "a whole number of the reference": around(COMPARE + "int(theirs(q, k).sum()), range(int(theirs(q, k).sum() > 99))"),
    "a cell that fails on the reference": [FIRST, COMPARE + "open(theirs(q, k))", *CHECKED],
    "a figure of the course": around("from qkv import figures\nfig = figures"),
    "a widget of the course": around("from qkv.widgets import ScalingLab\nlab = ScalingLab()\nlab"),
}
# Modules, names and the machine.
NOTEBOOKS |= {
    f"a module called {name}": with_scores(
        f"%%writefile {name}.py\nimport math\n\ndef scores(q, k):\n    return q @ k.mT / math.sqrt(q.shape[-1])",
        f"from {name} import scores as scaled_scores\nimport os\nos.remove('{name}.py')",
    )
    for name in ("answers", "hidden", "cells", "wire", "worker", "running", "recording", "my_answers_to_3")
}
NOTEBOOKS |= {
    "a package of one's own": with_scores(
        "import os\nos.makedirs('mine_of_3', exist_ok=True)\nopen('mine_of_3/__init__.py', 'w').close()",
        "%%writefile mine_of_3/scores.py\ndef scores(q, k):\n    return q @ k.mT / q.shape[-1] ** 0.5",
        "import mine_of_3.scores\nscaled_scores = mine_of_3.scores.scores\nimport shutil\nshutil.rmtree('mine_of_3')",
    ),
    "the name of the user": around("import getpass\nprint(getpass.getuser())"),
    "the memory of the machine": around(
        "import sys\nif sys.platform == 'linux':\n    print(open('/proc/meminfo').readline().split()[1])"
    ),
    "psutil": around("try:\n    import psutil\n    psutil.virtual_memory().total\nexcept ImportError:\n    pass"),
    "a hook after each cell": [
        FIRST,
        "seen = []\ndef note(result):\n    seen.append(result.success)\n"
        "get_ipython().events.register('post_run_cell', note)",
        "x = 1",
        "assert seen, 'no cell was noted'\nget_ipython().events.unregister('post_run_cell', note)",
        *CHECKED,
    ],
    "more checks than are made at once": [
        FIRST,
        *ANSWERS,
        "check('3.1', attention)\n"
        f"for i in range(101):\n    check('3.2', score_variance)\n"
        f"for question, answer in zip({list(NAMES)}, ({', '.join(NAMES.values())})):\n    check(question, answer)",
    ],
    "many checks": [FIRST, *CHECKED, *["for _ in range(30):\n    check('3.2', score_variance)"] * 2],
    "many cells": [FIRST, *[f"x{i} = {i}" for i in range(150)], *CHECKED],
    "a long cell": [FIRST, "table = [\n" + "    [1.0, 2.0, 3.0],\n" * 4_000 + "]", *CHECKED],
}


def as_json(cells: list[str], minor: int = 5, lines: bool = True) -> dict[str, object]:
    """Return a notebook's JSON in format 4, with each source as a list of lines or as one text."""
    made = []
    for i, cell in enumerate(cells):
        source = cell.splitlines(keepends=True) if lines else cell
        about = {"id": f"cell-{i}"} if minor >= 5 else {}
        made.append(
            {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": source, **about}
        )
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    return {"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": minor}


def _format_3(cells: list[str]) -> dict[str, object]:
    """Return a notebook's JSON in format 3."""
    made = [{"cell_type": "code", "input": cell, "language": "python", "outputs": []} for cell in cells]
    return {"worksheets": [{"cells": made}], "metadata": {}, "nbformat": 3, "nbformat_minor": 0}


_TIDY = NOTEBOOKS["tidy"]
FILES: dict[str, bytes] = {
    "format 4.5": json.dumps(as_json(_TIDY)).encode(),
    "format 4.0": json.dumps(as_json(_TIDY, minor=0)).encode(),
    "format 4, whole texts": json.dumps(as_json(_TIDY, lines=False)).encode(),
    "format 3": json.dumps(_format_3(_TIDY)).encode(),
    "a byte-order mark": json.dumps(as_json(_TIDY)).encode("utf-8-sig"),
    "UTF-16": json.dumps(as_json(_TIDY)).encode("utf-16"),
    "CRLF in the file": json.dumps(as_json(_TIDY), indent=1).replace("\n", "\r\n").encode(),
}
