"""Mark up code on a page, with fewer spans than Sphinx does."""

from __future__ import annotations

from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

from browser_python.highlighting import QuietFormatter


def setup(app: Sphinx) -> None:
    """Make Sphinx use this formatter, which it takes from its bridge to Pygments."""
    PygmentsBridge.html_formatter = QuietFormatter
