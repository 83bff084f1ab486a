"""Widgets on a page: their state without their code, and a place of the right height that waits for them."""

from __future__ import annotations

import json
import re
from itertools import count
from typing import Any

import qkv.widgets
from qkv.widgets.base import limits_of

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
# The host finds a widget's code and style by its `_name`; a kernel or JupyterLab would need the rest.
NOISE = frozenset(
    {"_esm", "_css", "_anywidget_id", "_dom_classes", "_model_module", "_model_module_version", "_model_name"}
    | {"_view_count", "_view_module", "_view_module_version", "_view_name", "layout", "tabbable", "tooltip"}
)
VIEW_SCRIPT = re.compile(rf'<script type="{re.escape(VIEW)}">(.*?)</script>', re.DOTALL)


def slim(bundle: str) -> tuple[str, dict[str, str]]:
    """Widget state without code and layout, safe inside a script element; and each widget's class by its model's id.

    `<` is escaped, because `</script` would end the element and `<!--` would change how it is read.
    """
    models = {
        key: {**model, "state": {name: value for name, value in model["state"].items() if name not in NOISE}}
        for key, model in json.loads(bundle)["state"].items()
        if model["model_module"] == "anywidget"
    }
    classes = {key: model["state"].get("_name", "") for key, model in models.items()}
    saved = {"state": models, "limits": {name: limits(name) for name in sorted({*classes.values()} - {""})}}
    return json.dumps(saved, separators=(",", ":")).replace("<", "\\u003c"), classes


def limits(name: str) -> dict[str, Any]:
    """What a link may set of the widgets of a class; nothing where the class is not one of the course's."""
    try:
        return limits_of(getattr(qkv.widgets, name))
    except AttributeError:
        return {}


WITHOUT = "<noscript><p>This is a live widget. It needs JavaScript.</p></noscript>"
SHARE = '<p class="qkv-share"><button type="button">Copy link</button> <span role="status"></span></p>'


def slots(body: str, classes: dict[str, str]) -> str:
    """Put each widget's view in an element that reserves its height, so that nothing moves when it comes alive.

    Its number on the page is what links lead to, and below it is what copies such a link.
    """
    numbers = count(1)

    def slot(view: re.Match[str]) -> str:
        name = classes.get(json.loads(view[1])["model_id"], "")
        return f'<div class="qkv-slot" id="widget-{next(numbers)}" data-for="{name}">{view[0]}{WITHOUT}</div>{SHARE}'

    return VIEW_SCRIPT.sub(slot, body)
