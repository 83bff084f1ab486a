"""Draw code as HTML. Only tokens that the style sheet styles get a span: three of four spans had no effect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TextIO

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from pygments.token import Name, Operator, Punctuation, Text, Whitespace

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


def highlighted(source: str) -> str:
    """Return Python code as the HTML that the editor draws: a span for each line.

    Its `--qkv-indent` is the number of characters by which the line is indented.
    """
    coloured = highlight(source, PythonLexer(stripnl=False, ensurenl=False), QuietFormatter(nowrap=True))
    lines = zip(source.split("\n"), coloured.split("\n"), strict=False)
    return "".join(
        f'<span style="--qkv-indent: {len(line) - len(line.lstrip())}">{html}\n</span>' for line, html in lines
    )
