"""Mark up code on a page. Only tokens that the style sheet styles get a span: three of four spans had no effect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TextIO

from pygments.formatters import HtmlFormatter
from pygments.token import Name, Operator, Punctuation, Text, Whitespace
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

# Tokens that look like plain text: the style sheet has no rule for them.
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
    """Pygments' HTML formatter without spans around plain tokens."""

    def format_unencoded(self, tokensource: Iterable[tuple[Any, str]], outfile: TextIO) -> None:
        """Write the code as HTML, with all plain tokens as text."""
        super().format_unencoded(((Text if kind in PLAIN else kind, text) for kind, text in tokensource), outfile)


def setup(app: Sphinx) -> None:
    """Make Sphinx use this formatter, which it takes from its bridge to Pygments."""
    PygmentsBridge.html_formatter = QuietFormatter
