"""QKVStepper shows the worked example's numbers, and those of any other that is typed in."""

import pytest
import torch
from traitlets import TraitError

from qkv.attention import attention, attention_scores, project_qkv
from qkv.softmax import softmax
from qkv.widgets import QKVStepper

from .node import node

TABLES = ("x", "w_q", "w_k", "w_v")


def seen(x: list, w_q: list, w_k: list, w_v: list, scaled: bool) -> dict[str, torch.Tensor]:
    """Every table that the widget shows."""
    state = {"x": x, "wQ": w_q, "wK": w_k, "wV": w_v, "scaled": scaled}
    return {name: torch.tensor(rows, dtype=torch.float64) for name, rows in node("maths.singleHead", state).items()}


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("size", [0.5, 1000])
def test_tables_are_those_of_the_reference(scaled: bool, size: float):
    x, *ws = (torch.randn(3, 4, dtype=torch.float64) * size, *torch.randn(3, 4, 3, dtype=torch.float64))
    q, k, v = project_qkv(x, *ws)
    shown = seen(x.tolist(), *[w.tolist() for w in ws], scaled=scaled)
    scores = attention_scores(q, k) / (3**0.5 if scaled else 1)
    weights = softmax(scores)
    for name, expected in {"q": q, "k": k, "v": v, "scores": scores, "weights": weights, "out": weights @ v}.items():
        torch.testing.assert_close(shown[name], expected, rtol=1e-9, atol=1e-12)
    if scaled:
        torch.testing.assert_close(shown["out"], attention(q, k, v)[0], rtol=1e-9, atol=1e-12)


def test_it_opens_on_the_worked_example():
    stepper = QKVStepper()
    shown = seen(*[[list(row) for row in getattr(stepper, name)] for name in TABLES], scaled=False)
    assert shown["scores"].tolist() == [[2, 4, 4], [4, 16, 12], [4, 12, 10]]
    expected = torch.tensor([[1.9366, 6.6831, 1.5951], [2.0000, 7.9640, 0.0540], [1.9997, 7.7599, 0.3584]])
    torch.testing.assert_close(shown["out"], expected.double(), atol=5e-5, rtol=0)


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("step", "softmax", "step is one of 'queries'"),
        ("row", 3, "row is a whole number from 0 to 2; got 3"),
        ("x", [[1, 2], [3, 4]], "x is a list of 3 entries, each a list of 4 entries"),
        ("w_q", [[1, 2, "3"]] * 4, "w_q is a list of 4 entries"),
    ],
)
def test_wrong_values_are_answered_with_a_sentence(name: str, value: object, wanted: str):
    with pytest.raises(TraitError) as error:
        setattr(QKVStepper(), name, value)
    assert wanted in str(error.value)
