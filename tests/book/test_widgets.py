"""Widgets on a page: their state without code, and a place for each."""

import json

from qkv_site.widgets import STATE, VIEW, limits, slim, slots

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
    html = slots(f"<p>before</p>{view}<p>between</p>{view}<p>after</p>", {"a": "ScalingLab"})
    assert f'<p>before</p><div class="qkv-slot" id="widget-1" data-for="ScalingLab">{view}<noscript>' in html
    assert f'<div class="qkv-slot" id="widget-2" data-for="ScalingLab">{view}<noscript>' in html
    assert html.count('</noscript></div><p class="qkv-share"><button type="button">Copy link</button>') == 2
    assert html.endswith("</p><p>after</p>")


def test_limits_of_what_a_link_may_set_are_the_traits_own():
    saved = json.loads(slim(BUNDLE)[0])
    assert saved["limits"]["ScalingLab"]["d_k"] == {"one": [2**i for i in range(11)]}
    assert saved["limits"]["ScalingLab"]["seed"] == {"whole": [0, 2**32 - 1]}
    assert limits("Predict").keys() == {"guess", "sure"}, "a link must not change what is asked"
    assert limits("Unknown") == {}


def test_nothing_happens_on_a_page_without_widgets():
    assert slots("<p>prose</p>", {}) == "<p>prose</p>"
    assert STATE != VIEW
