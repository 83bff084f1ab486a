"""Draw the widgets of a page in their saved state, and reduce that state: the page does not need its code.

The page contains the drawing before any script runs. So nothing moves when the widgets start, and readers without
JavaScript see the drawings too.
"""

from __future__ import annotations

import json
import re
from itertools import count
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import qkv.widgets
from qkv.widgets.base import limits_of
from tools.translations import scripts
from tools.translations.skin import t, words_of

from .node import Node

Traits = dict[str, Any]
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
# Fields that only a kernel or JupyterLab needs: the site's host finds a widget's code and style by its `_name`.
NOISE = frozenset(
    {"_esm", "_css", "_anywidget_id", "_dom_classes", "_words", "_model_module", "_model_module_version", "_model_name"}
    | {"_view_count", "_view_module", "_view_module_version", "_view_name", "layout", "tabbable", "tooltip"}
)
BUFFERS = "buffers"  # the binary traits, which a notebook saves apart from the others
VIEW_SCRIPT = re.compile(rf'<script type="{re.escape(VIEW)}">(.*?)</script>', re.DOTALL)


def slim(bundle: str) -> tuple[str, dict[str, Traits]]:
    """Return the widgets' state without code and layout, as JSON for a script element, and the traits by model id.

    `bundle` is the saved state, as JSON.

    The JSON also has the limits of the values that a link may set. `<` is escaped, because `</script` would end the
    element and `<!--` would change how a browser parses it.
    """
    models = {
        key: {**model, "state": {name: value for name, value in model["state"].items() if name not in NOISE}}
        for key, model in json.loads(bundle)["state"].items()
        if model["model_module"] == "anywidget"
    }
    traits = {
        key: model["state"] | {name: model[name] for name in (BUFFERS,) if name in model}
        for key, model in models.items()
    }
    names = {state["_name"] for state in traits.values() if "_name" in state}
    saved = {"state": models, "limits": {name: limits(name) for name in sorted(names)}}
    return json.dumps(saved, separators=(",", ":")).replace("<", "\\u003c"), traits


def limits(name: str) -> dict[str, Any]:
    """Return the traits that a link may set in a widget, with their limits; {} if the course has no such widget."""
    try:
        return limits_of(getattr(qkv.widgets, name))
    except AttributeError:
        return {}


def names(bundle: str) -> set[str]:
    """Return the names of the widgets in a saved state; "" is among them if it has something that is no widget."""
    return {model["state"].get("_name", "") for model in json.loads(bundle)["state"].values()}


def stem_of(name: str) -> str:
    """Return the name of a widget's files, such as scaling_lab for ScalingLab; "" if the course has no such widget."""
    return str(getattr(getattr(qkv.widgets, name, None), "__module__", "")).rpartition(".")[2]


def weights(bundle: str) -> set[str]:
    """Return the names of the trained weights that the widgets in a saved state use."""
    states = [model["state"] for model in json.loads(bundle)["state"].values()]
    classes = [(getattr(qkv.widgets, state.get("_name", ""), None), state) for state in states]
    return {stem.format(**state) for cls, state in classes for stem in getattr(cls, "weights", ())}


WITHOUT = "<noscript><p>{}</p></noscript>"
COPY = '<button type="button" aria-label="{}" title="{}"></button>'


def slots(body: str, models: dict[str, Traits]) -> str:
    """Return the body of a page with each widget drawn beside its view script, in an element with a numbered id.

    So links can lead to it. In the corner is a button that copies such a link, except for predictions: nobody needs a
    link to a guess. `models` has the traits of the page's widgets by model id.
    """
    numbers = count(1)
    without = WITHOUT.format(t("With JavaScript, this widget responds to its controls."))
    button = COPY.format(t("Copy a link"), t("A link to this widget as you left it"))

    def slot(view: re.Match[str]) -> str:
        traits = models.get(json.loads(view[1])["model_id"], {})
        name, place = traits.get("_name", ""), f"widget-{next(numbers)}"
        drawing = drawn(traits, place)
        copy = "" if name.startswith("Predict") else button
        share = f'<p class="qkv-share">{copy}<span role="status"></span></p>'
        return f'<div class="qkv-slot" id="{place}" data-for="{name}">{view[0]}{drawing}{without}{share}</div>'

    return VIEW_SCRIPT.sub(slot, body)


drawer = Node("draw.mjs")


def drawn(traits: Traits, place: str) -> str:
    """Return the HTML of a widget, as its view draws it in a browser; "" if its class is not one of the course's.

    `place` is the id of its element.

    Raises:
        ExtensionError: the view failed to draw this state.
    """
    cls = getattr(qkv.widgets, traits.get("_name", ""), None)
    if cls is None:
        return ""
    stem = stem_of(cls.__name__)
    words = words_of(scripts.texts_of([scripts.WIDGETS / f"{stem}.js"]))
    try:
        buffers = traits.get(BUFFERS, [])
        state = {name: value for name, value in traits.items() if name != BUFFERS}
        html = drawer.ask({"stem": stem, "saved": {"state": state, "buffers": buffers}, "id": place, "words": words})
    except ValueError as reason:
        raise ExtensionError(f"{cls.__name__} cannot be drawn: {reason}") from None
    return f'<div class="qkv-widget" data-widget="{cls.__name__}" data-state="waiting"><div>{html}</div></div>'


def setup(app: Sphinx) -> None:
    """Register the end of the process that draws the widgets: it ends with the build."""
    app.connect("build-finished", lambda app, exception: drawer.close())
