"""Predict keeps what it is given, prints in a stable way, and refuses letters that name no option."""

import pytest
from traitlets import TraitError

from qkv.widgets import Predict

OPTIONS = [("About 1.", "That is one product."), ("About 32.", "√1024 = 32.")]


def test_it_keeps_question_options_and_answer():
    predict = Predict("How large?", OPTIONS, answer="B")
    assert predict.question == "How large?"
    assert [option for option, _ in predict.options] == ["About 1.", "About 32."]
    assert (predict.answer, predict.guess) == ("B", "")


def test_it_prints_without_addresses():
    assert repr(Predict("How?", OPTIONS, answer="A")) == repr(Predict("How?", OPTIONS, answer="A"))


@pytest.mark.parametrize(("name", "value"), [("answer", "C"), ("answer", "b"), ("guess", "Z"), ("guess", 1)])
def test_a_letter_without_an_option_is_refused(name: str, value: object):
    with pytest.raises(TraitError, match=f"{name} must be .*got"):
        setattr(Predict("How?", OPTIONS, answer="A"), name, value)


def test_an_option_without_a_reason_is_refused():
    with pytest.raises(TraitError, match="options must be a list of entries, each a list of 2 entries"):
        Predict("How?", [("About 1.",)], answer="A")
