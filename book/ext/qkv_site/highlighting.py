"""Code on a page: only what has a look of its own is marked, for three of four marks would change nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TextIO

from pygments.formatters import HtmlFormatter
from pygments.token import Name, Operator, Punctuation, Text, Whitespace
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

# What looks as text does: the style has no rule for it.
PLAIN = {
    Name,
    Name.Builtin,
    Name.Builtin.Pseudo,
    Name.Decorator,
    Name.Exception,
    Name.Namespace,
    Name.Variable.Magic,
    Operator,
    Punctuation,
    Whitespace,
}


class QuietFormatter(HtmlFormatter):
    """Pygments' own, with what is plain left in one piece with its neighbours."""

    def format_unencoded(self, tokensource: Iterable[tuple[Any, str]], outfile: TextIO) -> None:
        """Write the code."""
        super().format_unencoded(((Text if kind in PLAIN else kind, text) for kind, text in tokensource), outfile)


def setup(app: Sphinx) -> None:
    """Sphinx takes the formatter from its bridge."""
    PygmentsBridge.html_formatter = QuietFormatter
