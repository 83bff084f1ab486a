"""A page with one widget, as one HTML file that needs no kernel and asks no other host for anything."""

import base64
import html
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any

_FOLDER = Path(__file__).parent
_PAGE = Template((_FOLDER / "saved.html").read_text(encoding="utf-8"))


def saved_page(widget: Any, traits: Sequence[str]) -> str:
    """Return the HTML of a page that needs no other file: it holds the widget's files and these traits' values."""
    values = {name: getattr(widget, name) for name in (*traits, "_name", "_words")}
    plain = {name: value for name, value in values.items() if not isinstance(value, bytes)}
    binary = {name: _compressed(value) for name, value in values.items() if isinstance(value, bytes)}
    return _PAGE.substitute(
        title=html.escape(getattr(widget, "title", widget._name)),
        style=widget._css,
        widget=_quoted(widget._esm),
        state=_quoted({"plain": plain, "binary": binary}),
        script=(_FOLDER / "static" / "saved_page.js").read_text(encoding="utf-8"),
    )


def _compressed(value: bytes) -> str:
    return base64.b64encode(zlib.compress(value, 6)).decode()


def _quoted(value: Any) -> str:
    """Return a value as JSON for a script element, which no `<` can end."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
