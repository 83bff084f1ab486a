"""No chapter prints the answer to one of its questions: no expression and no two lines, not with other names either."""

from __future__ import annotations

import ast
import copy
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))
FEWEST = 3  # operators, calls and indices of an expression that is compared: shorter ones are formulas
FEWEST_OF_TWO = 2  # the same for two lines
SAME = ((r"\.transpose\(-2, -1\)", ".mT"), (r"\.transpose\(-1, -2\)", ".mT"))
# What a mask does to scores is the subject of chapter 5. Its questions are about blind rows, and about faults.
TAUGHT = {"answer-masked_attention", "answer-diagnose"}
BLOCKS = (ast.Module, ast.FunctionDef, ast.For, ast.While, ast.If, ast.With)
NO_LINES = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
FORMULAS = {  # a part of the formula that question 3.2 or 7.3 asks for
    "03_scaling": r"\mathrm{Var}(q_i)",
    "07_kv_cache": r"layers $\cdot",
}
STEPS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Subscript, ast.BoolOp)


def code_of(path: Path) -> list[tuple[str, str]]:
    """Return the id and the source of each code cell that a reader sees."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    seen = (cell for cell in cells if cell["cell_type"] == "code")
    return [
        (cell["id"], "".join(cell["source"])) for cell in seen if "remove-cell" not in cell["metadata"].get("tags", [])
    ]


def expressions(source: str) -> dict[str, str]:
    """Return the expressions of a program with their variables numbered, each with its text."""
    for pattern, same in SAME:
        source = re.sub(pattern, same, source)
    found = {}
    for node in ast.walk(ast.parse(source)):
        is_code = isinstance(node, ast.expr) and not isinstance(node, ast.JoinedStr | ast.FormattedValue)
        if is_code and sum(isinstance(part, STEPS) for part in ast.walk(node)) >= FEWEST:
            found[numbered(node)] = ast.unparse(node)
    return found


def numbered(node: ast.AST) -> str:
    """Return a piece of code as text, with each variable replaced by the number of its first place."""
    node = copy.deepcopy(node)
    names: dict[str, str] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id not in ("torch", "math", "F", "nn"):
            part.id = names.setdefault(part.id, f"v{len(names)}")
    return ast.unparse(node)


def test_a_renamed_expression_is_recognised():
    ours, theirs = "(ids[:, None] == torch.arange(n)).float()", "(a[:, None] == torch.arange(b)).float()"
    assert expressions(ours).keys() == expressions(theirs).keys()
    assert not expressions(ours).keys() & expressions("(a[None] == torch.arange(b)).float()").keys()


def pairs_of_lines(source: str) -> dict[str, str]:
    """Return each statement together with the next one, as `expressions` does; imports, classes and functions not."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        body = node.body if isinstance(node, BLOCKS) else []
        for pair in pairwise(line for line in body if not isinstance(line, NO_LINES)):
            both = ast.Module(list(pair), [])
            if sum(isinstance(part, STEPS) for part in ast.walk(both)) >= FEWEST_OF_TWO:
                found[numbered(both)] = ast.unparse(both)
    return found


def test_two_renamed_lines_are_recognised():
    ours = "for i, j in edges:\n    mask[i, j] = mask[j, i] = True\nreturn mask"
    theirs = "for a, b in bonds:\n    seen[a, b] = seen[b, a] = True\nreturn seen"
    assert pairs_of_lines(ours).keys() & pairs_of_lines(theirs).keys()
    assert not pairs_of_lines(ours).keys() & pairs_of_lines(theirs.replace("seen[b, a] = ", "")).keys()


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_no_answer_is_printed(chapter: Path):
    printed = {}
    for name, source in code_of(chapter):
        printed |= dict.fromkeys((*expressions(source), *pairs_of_lines(source)), name)
    answers = [
        (name, source)
        for name, source in code_of(ROOT / "solutions" / chapter.name)
        if name.startswith("answer-") and name not in TAUGHT
    ]
    found = [
        (name, printed[form], text)
        for name, source in answers
        for form, text in (expressions(source) | pairs_of_lines(source)).items()
        if form in printed
    ]
    assert not found


@pytest.mark.parametrize("chapter", FORMULAS)
def test_no_formula_is_printed_that_a_question_asks_for(chapter: str):
    cells = json.loads((ROOT / "chapters" / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert FORMULAS[chapter] not in text
