"""Where a test has to be written, the question shows a test of another mistake: it runs, finds it, and is no answer."""

import re
from pathlib import Path

import nbformat
import pytest
import torch
import torch.nn.functional as F

from qkv import check
from qkv.questions.catalogue.q7_6 import parse_ids

ROOT = Path(__file__).resolve().parents[2]


def worked(question):
    """The function that stands in the text of a question."""
    (path,) = (ROOT / "solutions").glob(f"0{question[0]}_*.ipynb")
    cells = {cell.id: cell.source for cell in nbformat.read(path, as_version=4).cells}
    (code,) = re.findall(r"```python\n(.+?)```", cells[f"question-{question.replace('.', '-')}"], re.DOTALL)
    defined = {"torch": torch}
    exec(code, defined)
    return next(value for name, value in defined.items() if name.startswith("catches_"))


def attend(q, k, v, over):
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=over)
    return weights @ v, weights


class Adds:
    """Logits are counts: of the ids so far, or of all ids, the later ones too."""

    def __init__(self, ahead):
        self.ahead = ahead

    def full(self, ids):
        counts = torch.eye(5)[ids]
        return counts.sum(dim=0).expand(len(ids), 5) if self.ahead else counts.cumsum(dim=0)


CASES = {
    "3.5": (lambda q, k, v: attend(q, k, v, -1), lambda q, k, v: attend(q, k, v, -2)),
    "5.6": (lambda x: (x, None), lambda x: (F.dropout(x, 0.5), None)),
    "7.6": (lambda: Adds(ahead=False), lambda: Adds(ahead=True)),
}


@pytest.mark.parametrize("question", CASES)
def test_a_worked_test_finds_its_mistake(question):
    right, wrong = CASES[question]
    catches = worked(question)
    assert catches(right) is False
    assert catches(wrong) is True


@pytest.mark.parametrize("question", CASES)
def test_a_worked_test_is_no_answer(question):
    assert check(question, worked(question)).points == 0


def test_ids_of_another_shape_are_refused_by_their_shape():
    with pytest.raises(ValueError, match=r"a tensor \(n,\) or a list"):
        parse_ids(torch.tensor([[0, 1, 2]]))
