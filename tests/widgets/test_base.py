"""The widgets' Python: what a trait takes, what it says when it gets something else, and how a widget prints."""

import inspect
import math
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from traitlets import TraitError

import qkv.widgets
from qkv.widgets import ScalingLab
from qkv.widgets.base import Widget, choice, flag, listed, real, text, whole


class Lab(Widget):
    """A widget with every kind of trait; it borrows ScalingLab's module for its built files."""

    __module__ = "qkv.widgets.scaling_lab"

    kind = choice("causal", ["causal", "window"])
    n = whole(3, 1, 8)
    share = real(0.5, 0, 1)
    on = flag(False)
    title = text("a lab")
    row = listed([1, 2, 3], real(0))
    sheet = listed([[1, 2], [3, 4]], listed([0, 0], whole(0, 0, 9), [2]))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "casual"}, "kind must be 'causal' or 'window'; got 'casual'"),
        ({"n": 9}, "n must be a whole number from 1 to 8; got 9"),
        ({"n": 2.5}, "n must be a whole number from 1 to 8; got 2.5"),
        ({"n": True}, "n must be a whole number from 1 to 8; got True"),
        ({"n": "3"}, "n must be a whole number from 1 to 8; got '3'"),
        ({"n": None}, "n must be a whole number from 1 to 8; got None"),
        ({"share": 1.01}, "share must be a number from 0 to 1; got 1.01"),
        ({"share": math.nan}, "share must be a number from 0 to 1; got nan"),
        ({"share": 1 + 0j}, "share must be a number from 0 to 1; got (1+0j)"),
        ({"on": 1}, "on must be True or False; got 1"),
        ({"title": 3}, "title must be a string; got 3"),
        ({"row": 3}, "row must be a list of entries, each a number; got 3"),
        ({"row": "123"}, "row must be a list of entries, each a number; got '123'"),
        ({"row": [1, math.inf]}, "row must be a list of entries, each a number; got [1, inf]"),
        ({"sheet": [[1, 2, 3]]}, "2 entries, each a whole number from 0 to 9; got [[1, 2, 3]]"),
        ({"n": 10**400}, "n must be a whole number from 1 to 8; got 1000000"),
    ],
)
def test_a_wrong_value_is_told_in_a_sentence(values: dict[str, Any], message: str):
    with pytest.raises(TraitError) as error:
        Lab(**values)
    assert message in str(error.value)
    lab = Lab()
    (name,) = values
    before = getattr(lab, name)
    with pytest.raises(TraitError):
        setattr(lab, name, values[name])
    assert getattr(lab, name) == before


@pytest.mark.parametrize("d_k", [3, 0, 2048, 64.5, "64", True, None])
def test_scaling_lab_says_which_d_k_there_are(d_k: Any):
    with pytest.raises(TraitError) as error:
        ScalingLab(d_k=d_k)
    assert str(error.value) == f"d_k must be one of 1, 2, 4, …, 1024; got {d_k!r}"


def test_an_unknown_name_is_told_with_the_known_ones():
    with pytest.raises(TypeError, match=r"^ScalingLab takes d_k, scaled, seed; got dk$"):
        ScalingLab(dk=64)


@pytest.mark.parametrize("array", [np.array, torch.tensor])
def test_arrays_and_their_numbers_are_taken_as_plain_python(array: Any):
    lab = Lab(n=array(4), share=array(0.25), on=array(True), row=array([1.0, 2.5]), sheet=array([[1, 2]]))
    assert (lab.n, lab.share, lab.on, lab.row, lab.sheet) == (4, 0.25, True, (1.0, 2.5), ((1, 2),))
    assert [type(value) for value in (lab.n, lab.share, lab.on, lab.row[0])] == [int, float, bool, float]


def test_a_list_is_kept_apart_from_the_one_that_was_given():
    row = [1, 2]
    lab = Lab(row=row)
    row.append(3)
    assert lab.row == (1, 2)


def test_a_change_is_told():
    lab, seen = Lab(), []
    lab.observe(lambda change: seen.append(change.new), "n")
    lab.n = 4
    lab.n = 4
    assert seen == [4]


def test_a_widget_prints_its_values_and_no_address():
    assert repr(ScalingLab()) == "ScalingLab(d_k=256, scaled=False, seed=76)"
    assert repr(ScalingLab(d_k=64, scaled=True)) == "ScalingLab(d_k=64, scaled=True, seed=76)"
    assert len(repr(Lab(title="a very long title " * 20, row=range(100)))) < 300


def test_its_plain_text_is_what_it_prints():
    lab = ScalingLab()
    data, _ = lab._repr_mimebundle_()
    assert data["text/plain"] == repr(lab)
    assert "application/vnd.jupyter.widget-view+json" in data


def test_its_state_names_it_and_holds_its_code():
    state = ScalingLab(d_k=8).get_state()
    assert (state["_name"], state["d_k"], state["scaled"]) == ("ScalingLab", 8, False)
    assert "ScalingLab" in state["_esm"]
    assert ".qkv-widget" in state["_css"]


def widget_names() -> list[str]:
    """The class of every family of files, as its module spells it."""
    stems = [path.stem for path in Path(qkv.widgets.__file__).parent.glob("*.css") if path.stem != "base"]
    modules = [import_module(f"qkv.widgets.{stem}") for stem in sorted(stems)]
    return [
        name
        for module in modules
        for name, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, Widget) and value.__module__ == module.__name__ and name != "Lab"
    ]


@pytest.mark.parametrize("name", widget_names())
def test_every_widget_is_found_by_its_name_and_draws_under_it(name: str):
    widget = getattr(qkv.widgets, name)
    assert widget.__name__ == name
    assert f'"{name}"' in str(widget._esm), "its JavaScript calls widget() with this name"
