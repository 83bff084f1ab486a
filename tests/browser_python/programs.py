"""Draw small programs as learners write them, run them with torch and with the page's torch, and compare their output.

`python -m tests.browser_python.programs SEED COUNT` prints the programs that differ, and how many are alike; with `-r`,
also the programs that the page refuses.
"""

from __future__ import annotations

import contextlib
import io
import math
import random
import re
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from browser_python.in_node import Interpreter, interpreter

HEAD = "import math\nimport numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
MOST = 9  # statements of a program
LARGE = 4000  # numbers of a tensor
WITH_ERROR = 0.05  # the share of statements that raise an error and are kept: each is the last of its program


def templates() -> dict[str, list[str]]:
    """Return the templates of statements, by section; those of blocks have several lines."""
    sections = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split("\n== ")[1:]
    found = {name: text.strip() for name, text in (section.split("\n", 1) for section in sections)}
    return {name: text.split("\n\n") if name == "blocks" else text.splitlines() for name, text in found.items()}


TEMPLATES = templates()
HOW_OFTEN = {"creation": 3, "expressions": 8, "statements": 2, "prints": 4, "numpy": 2, "blocks": 1}
CHOICES = {name: text.split(" | ") for name, text in (line.split(": ", 1) for line in TEMPLATES["choices"])}


class Outcome(NamedTuple):
    """What a program printed, and the error that ended it: its kind and text, or empty."""

    printed: str
    problem: str


# ── drawing ───────────────────────────────────────────────────────────────────────────────────────
FITS = {
    "x": lambda v: torch.is_tensor(v) and v.is_floating_point() and v.ndim > 0,
    "m": lambda v: torch.is_tensor(v) and v.is_floating_point() and v.ndim > 1,
    "i": lambda v: torch.is_tensor(v) and v.dtype in (torch.int64, torch.int32),
    "b": lambda v: torch.is_tensor(v) and v.dtype == torch.bool,
    "t": torch.is_tensor,
    "p": lambda v: isinstance(v, np.ndarray),
}


class Draw:
    """Draws the statements of one program, and runs them, so that they name what is there."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names: dict[str, Any] = {}
        self.own = 0  # the number of names that the program has made

    def slot(self, name: str) -> str:
        """Return what stands for a slot; raise a LookupError if there is nothing that fits."""
        kind = name.rstrip("0123456789")
        if kind == "new":
            return f"v{self.own + 1}"
        if kind in FITS:
            found = [n for n, v in self.names.items() if n[0] in "vwxabpq" and FITS[kind](v)]
            if not found:
                raise LookupError(kind)
            return self.random.choice(found[-4:])
        if kind == "d":
            return str(self.random.choice([0, 1, -1, -1, -1, 2, -2]))
        if kind == "n":
            return str(self.random.randint(0, 4))
        return self.random.choice(CHOICES[name if name in CHOICES else kind])

    def filled(self, template: str) -> str:
        """Return a statement with its slots filled. A slot that stands twice has one filling."""
        slots = sorted(set(re.findall(r"(?<!{){(\w+)}(?!})", template)) | set(re.findall(r"{{{(\w+)}", template)))
        return template.format(**{slot: self.slot(slot) for slot in slots})

    def statement(self) -> str:
        """Return the next statement, which may raise an error."""
        [kind] = self.random.choices(list(HOW_OFTEN), list(HOW_OFTEN.values()))
        template = self.random.choice(TEMPLATES[kind])
        text = self.filled(f"{{new}} = {template}" if kind == "expressions" else template)
        name = f"v{self.own + 1}"
        return f"{text}\nprint({name})" if text.startswith(name) and self.random.random() < 0.6 else text


def is_large(value: Any) -> bool:
    """Check whether a value has more numbers than a learner would print."""
    return isinstance(value, (torch.Tensor, np.ndarray)) and math.prod(value.shape) > LARGE


def program(seed: int) -> str:
    """Return a program of a few statements, which prints something."""
    draw = Draw(seed)
    lines = [HEAD.strip(), f"torch.manual_seed({seed % 1000})"]
    run("\n".join(lines), draw.names)
    count = draw.random.randint(3, MOST)
    while len(lines) < count + 2:
        try:
            text = draw.statement()
        except LookupError:
            continue
        found = run(text, draw.names)
        if is_large(draw.names.get(f"v{draw.own + 1}")):
            del draw.names[f"v{draw.own + 1}"]
            continue
        if found.problem and draw.random.random() > WITH_ERROR:
            continue
        lines.append(text)
        draw.own += f"v{draw.own + 1}" in draw.names
        if found.problem:
            break
    return "\n".join(lines)


# ── running ───────────────────────────────────────────────────────────────────────────────────────
def run(text: str, names: dict[str, Any]) -> Outcome:
    """Run a program with torch."""
    printed = io.StringIO()
    problem = ""
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(text, "<program>", "exec"), names)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
    return Outcome(ADDRESS.sub("", printed.getvalue()), problem)


def run_on_page(python: Interpreter, text: str) -> Outcome:
    """Run a program with the page's Python. As with torch above, warnings are not printed."""
    python.ask(["import notebook, warnings; warnings.simplefilter('ignore')"])
    python.ask(["import notebook; notebook.session.names = {'__name__': '__main__'}"])
    found = python.ask([f"{text}\nNone"])  # so that the value of the last line is not shown
    lines = found["problem"].strip().splitlines()
    start = next((i for i, line in enumerate(lines) if re.match(r"[A-Za-z_.]+(Error|Exception)\b", line)), -1)
    return Outcome(ADDRESS.sub("", found["printed"]), "\n".join(lines[start:]) if lines else "")


# ── comparing ─────────────────────────────────────────────────────────────────────────────────────
CUT = "\n… Cut here"
ADDRESS = re.compile(r" object at 0x[0-9a-f]+")
BAD = ("different", "unclear")
ROUNDING = {"bfloat16": 1e-2, "float16": 1e-3}  # of sums of these dtypes; of others, 5e-6
NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?|-?\d+(?:e[+-]?\d+)?")
REFUSED = re.compile(r"is not in the page's|is not on this page|not in the page|open this notebook in|No module named")


def near(a: str, b: str) -> bool:
    """Check whether two texts are equal, with a decimal number's last printed digit larger or smaller by one or two."""
    if re.sub(r"\s", "", NUMBER.sub("#", a)) != re.sub(r"\s", "", NUMBER.sub("#", b)):
        return False
    largest = max([1.0, *(abs(float(n)) for n in NUMBER.findall(a) if "." in n)])
    rounding = next((error for kind, error in ROUNDING.items() if kind in a), 5e-6) * largest
    return all(near_number(x, y, rounding) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b), strict=True))


def near_number(a: str, b: str, rounding: float) -> bool:
    """Check whether two printed numbers differ in the last digit, or by what was rounded."""
    if a == b:
        return True
    if "." not in a or "." not in b:
        return False
    digits = len(a.partition("e")[0].partition(".")[2])
    power = int(a.partition("e")[2] or 0)
    return abs(float(a) - float(b)) <= max(2.01 * 10.0 ** (power - digits), rounding)


def compared(torch_says: Outcome, page_says: Outcome) -> str:
    """Return "same", "last digit", "refused", "unclear" (an error that torch does not raise) or "different"."""
    if REFUSED.search(page_says.problem):
        begun = torch_says.printed.splitlines()[: len(page_says.printed.splitlines())]
        return "refused" if near("\n".join(begun), page_says.printed) else "different"
    if CUT in page_says.printed:
        shown = page_says.printed[: page_says.printed.index(CUT)]
        torch_says, page_says = (says._replace(printed=says.printed[: len(shown)]) for says in (torch_says, page_says))
    if torch_says.printed == page_says.printed and same_problem(torch_says.problem, page_says.problem):
        return "same"
    if page_says.problem and not torch_says.problem:
        return "unclear"
    alike = near(torch_says.printed, page_says.printed) and same_problem(torch_says.problem, page_says.problem)
    return "last digit" if alike else "different"


def same_problem(a: str, b: str) -> bool:
    """Check whether two errors are of the same kind. Their texts are compared elsewhere, in `test_torch.py`."""
    return a.partition(":")[0] == b.partition(":")[0]


def main(seed: int, count: int) -> None:
    """Print the programs that differ, and how many are of which kind."""
    counts: Counter[str] = Counter()
    with interpreter() as python:
        for number in range(count):
            text = program(seed + number)
            ours, theirs = run_on_page(python, text), run(text, {})
            verdict = compared(theirs, ours)
            counts[verdict] += 1
            if verdict in BAD or (verdict == "refused" and "-r" in sys.argv):
                print(f"=== {seed + number} {verdict}\n{text.removeprefix(HEAD)}")
                print(f"--- torch\n{theirs.printed}{theirs.problem[:300]}")
                print(f"--- page\n{ours.printed}{ours.problem[-400:]}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
