"""Widgets on a page: their state without code, and a place for each."""

import json

from qkv_site.widgets import STATE, VIEW, slim, slots

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
    text, classes = slim(BUNDLE)
    state = json.loads(text)["state"]
    assert classes == {"a": "ScalingLab"}
    assert list(state) == ["a"]
    assert state["a"]["state"] == {"_name": "ScalingLab", "d_k": 64, "label": "</script><!--<script>"}


def test_slim_state_cannot_end_its_script_element():
    assert "<" not in slim(BUNDLE)[0]


def test_each_view_has_a_place_that_knows_its_widget():
    view = f'<script type="{VIEW}">{{"model_id": "a", "version_major": 2}}</script>'
    html = slots(f"<p>before</p>{view}<p>after</p>", {"a": "ScalingLab"})
    assert f'<div class="qkv-slot" data-for="ScalingLab">{view}<noscript>' in html
    assert html.startswith("<p>before</p>")
    assert html.endswith("</div><p>after</p>")


def test_nothing_happens_on_a_page_without_widgets():
    assert slots("<p>prose</p>", {}) == "<p>prose</p>"
    assert STATE != VIEW
