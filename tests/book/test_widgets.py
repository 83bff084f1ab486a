"""Widgets on a page: their state without code, and a place for each."""

import base64
import io
import json
import re

import matplotlib.image
import numpy as np
import pytest
from qkv_site.widgets import STATE, VIEW, drawn, limits, slim, slots
from sphinx.errors import ExtensionError

from qkv import positions
from qkv.widgets import PositionExplorer

LAB = {
    "model_name": "AnyModel",
    "model_module": "anywidget",
    "model_module_version": "~0.9.*",
    "state": {
        "_esm": "export default {}",
        "_css": ".x {}",
        "_anywidget_id": "qkv.widgets.scaling_lab.ScalingLab",
        "_model_name": "AnyModel",
        "_name": "ScalingLab",
        "d_k": 64,
        "label": "</script><!--<script>",
        "layout": "IPY_MODEL_l",
    },
}
BUNDLE = json.dumps(
    {"state": {"a": LAB, "l": {"model_name": "LayoutModel", "model_module": "@jupyter-widgets/base", "state": {}}}}
)


def test_slim_state_keeps_values_and_the_name():
    text, traits = slim(BUNDLE)
    state = json.loads(text)["state"]
    assert traits == {"a": state["a"]["state"]}
    assert list(state) == ["a"]
    assert state["a"]["state"] == {"_name": "ScalingLab", "d_k": 64, "label": "</script><!--<script>"}


def test_slim_state_cannot_end_its_script_element():
    assert "<" not in slim(BUNDLE)[0]


QUESTION = {"_name": "Predict", "question": "a < b?", "options": [["yes", "so"], ["no", "not"]], "answer": "A"}
OPEN = {**QUESTION, "guess": ""}


def whole(explorer: PositionExplorer) -> dict[str, object]:
    """The state that a notebook saves of a widget."""
    return {name: getattr(explorer, name) for name in limits("PositionExplorer")} | {"_name": "PositionExplorer"}


def test_each_view_is_drawn_in_a_place_of_its_own():
    view = f'<script type="{VIEW}">{{"model_id": "a", "version_major": 2}}</script>'
    html = slots(f"<p>before</p>{view}<p>between</p>{view}<p>after</p>", {"a": OPEN})
    widget = '<div class="qkv-widget" data-widget="Predict" data-state="waiting"><div>'
    assert f'<p>before</p><div class="qkv-slot" id="widget-1" data-for="Predict">{view}{widget}' in html
    assert f'<div class="qkv-slot" id="widget-2" data-for="Predict">{view}{widget}' in html
    for place in ("widget-1", "widget-2"):
        assert html.count(f'name="{place}-guess"') == 2, "radio buttons of one question belong together"
    assert html.count('</noscript><p class="qkv-share"><span role="status"></span></p></div>') == 2
    assert html.endswith("</div><p>after</p>")


def test_a_widget_has_the_button_of_its_link_in_its_corner_and_a_question_has_none():
    view = f'<script type="{VIEW}">{{"model_id": "a"}}</script>'
    html = slots(view, {"a": whole(PositionExplorer())})
    assert html.count('<p class="qkv-share"><button type="button" aria-label="Copy a link"') == 1
    assert "<button" not in slots(view, {"a": OPEN}).partition('class="qkv-share"')[2]


def test_a_drawing_shows_the_state_and_no_markup_of_its_own():
    html = drawn(OPEN, "widget-1")
    assert "a &lt; b?" in html
    assert html.count("checked") == 1, "nothing is chosen yet but that the reader is guessing"
    assert html.count('class="qkv-option"') == 2
    assert html.count('qkv-option" data-mark="false"') == 0
    assert drawn({**QUESTION, "guess": "B"}, "widget-1").count('qkv-option" data-mark="false"') == 1


def test_what_cannot_be_drawn_stops_the_build_and_says_why():
    with pytest.raises(ExtensionError, match=r"Predict cannot be drawn: .*split"):
        drawn({**OPEN, "question": None}, "widget-1")
    assert drawn({"_name": "Unknown"}, "widget-1") == ""
    assert drawn(OPEN, "widget-1") != "", "the process that draws goes on"


def test_a_heatmap_is_a_picture_before_there_are_scripts():
    explorer = PositionExplorer()
    html = drawn(whole(explorer), "widget-1")
    pictures = [base64.b64decode(data) for data in re.findall(r"url\(data:image/png;base64,([\w+/=]+)\)", html)]
    above, below = (matplotlib.image.imread(io.BytesIO(data)) for data in pictures)
    code = positions.sinusoidal_encoding(128, explorer.d).numpy().T  # positions are across
    assert above.shape == (*code.shape, 4)
    np.testing.assert_allclose(above[..., 3] - below[..., 3], code, atol=0.5 / 15 + 1e-6)


def test_limits_of_what_a_link_may_set_are_the_traits_own():
    saved = json.loads(slim(BUNDLE)[0])
    assert saved["limits"]["ScalingLab"]["d_k"] == {"one": [2**i for i in range(11)]}
    assert saved["limits"]["ScalingLab"]["seed"] == {"whole": [0, 2**32 - 1]}
    assert limits("Predict").keys() == {"guess", "sure"}, "a link must not change what is asked"
    assert limits("Unknown") == {}


def test_nothing_happens_on_a_page_without_widgets():
    assert slots("<p>prose</p>", {}) == "<p>prose</p>"
    assert STATE != VIEW
