"""Find what a reader sees of a cell's code: comments, and strings that are printed, drawn or asked."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tools.translations.markdown import has_words

# The arguments of these calls are shown to readers. Everything else in code stays as it is.
DRAWS = re.compile(
    r".*\.(set|annotate|text|set_title|set_xlabel|set_ylabel|legend|plot|bar|axhline|axvline|suptitle|scatter|step)"
)
DRAWN = ("xlabel", "ylabel", "title", "label", "s", "text", "labels")
STAYS = re.compile(r"#+ (BEGIN|END) |# (noqa|type:|fmt:)")  # comments for tools
NO_WORDS = re.compile(r"\W*\w?\W*|[A-Z]")
STRING = re.compile(r"(\w*)('''|\"\"\"|'|\")(.*)\2", re.DOTALL)


@dataclass(frozen=True)
class Place:
    """A text in code: the characters that hold it, what it is, and how a translation is written there."""

    start: int
    end: int
    kind: str
    text: str
    written: Callable[[str], str]


class Code:
    """The source of a cell, with the position of each line."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def at(self, row: int, byte: int) -> int:
        """Return the position of a byte of a line: `ast` counts lines from 1, and bytes."""
        return self.starts[row - 1] + len(self.lines[row - 1].encode()[:byte].decode())


def places(source: str) -> list[Place]:
    """Return the texts of a cell in their order; none if it is not Python (`%pip install …`)."""
    try:
        tree = ast.parse(source)
        code = Code(source)
        found = {place.start: place for place in strings(code, tree)}
        return sorted([*found.values(), *comments(code)], key=lambda place: place.start)
    except (SyntaxError, tokenize.TokenError):
        return []


# ── strings ───────────────────────────────────────────────────────────────────────────────────────


def strings(code: Code, tree: ast.AST) -> Iterator[Place]:
    """Yield the strings of a cell that readers see."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        for kind, argument in shown(call):
            for node in outermost(argument):
                end = code.at(node.end_lineno or 0, node.end_col_offset or 0)
                if place := string_place(code, code.at(node.lineno, node.col_offset), end, kind, node):
                    yield place


def shown(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Yield the arguments of a call that readers see, each with its kind."""
    name = ast.unparse(call.func)
    if name.startswith("Predict"):
        yield from (("prediction", node) for node in [*call.args, *(k.value for k in call.keywords)])
    elif name == "show":
        yield from ((k.arg, k.value) for k in call.keywords if k.arg in ("alt", "caption"))
    elif name == "print":
        yield from (("print", node) for node in call.args)
    elif DRAWS.fullmatch(name):
        yield from (("label", node) for node in call.args)
        yield from (("label", k.value) for k in call.keywords if k.arg in DRAWN)


def outermost(node: ast.expr) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Yield the strings and f-strings of an argument, those in lists and in both branches of an `if` too."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        yield node
    inner = node.elts if isinstance(node, ast.List | ast.Tuple) else ()
    for child in (node.body, node.orelse) if isinstance(node, ast.IfExp) else inner:
        yield from outermost(child)


def string_place(code: Code, start: int, end: int, kind: str, node: ast.Constant | ast.JoinedStr) -> Place | None:
    """Return the place of a string or f-string, or None if it has no words."""
    written = code.source[start:end]
    if isinstance(node, ast.Constant):
        text = str(node.value)
        indent = start - (code.source.rfind("\n", 0, start) + 1)
        write = wrapped_literal(indent) if "\n" in written else quoted
        return None if not has_words(text) or NO_WORDS.fullmatch(text) else Place(start, end, kind, text, write)
    text = "".join(f_string_bodies(written))
    quote = written[1]
    return Place(start, end, kind, text, lambda new: f"f{quote}{new}{quote}") if has_words(text) else None


def f_string_bodies(written: str) -> Iterator[str]:
    """Yield the bodies of an f-string's parts, in the spelling of an f-string."""
    for token in tokenize.generate_tokens(io.StringIO(f"({written})").readline):
        if token.type == tokenize.STRING and (found := STRING.fullmatch(token.string)):
            prefix, _, body = found.groups()
            yield body if "f" in prefix else body.replace("{", "{{").replace("}", "}}")


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def wrapped_literal(indent: int, width: int = 38) -> Callable[[str], str]:
    """Return how a string that stands in several lines is written: broken after punctuation."""

    def write(text: str) -> str:
        chunks = re.findall(rf".{{1,{width}}}(?:[，。；：？！、]|$)|.{{1,{width}}}", text, re.DOTALL)
        return ("\n" + " " * indent).join(map(quoted, chunks))

    return write


# ── comments ──────────────────────────────────────────────────────────────────────────────────────


def comments(code: Code) -> Iterator[Place]:
    """Yield the comments. Lines of one indent below each other are one text, which is wrapped anew."""
    for group in groups(code):
        text = " ".join(token.string.lstrip("#").strip() for token in group)
        if has_words(text):
            indent = group[0].start[1]
            start = code.starts[group[0].start[0] - 1] + indent
            end = code.starts[group[-1].start[0] - 1] + group[-1].end[1]
            width = max(len(token.string) for token in group) if len(group) > 1 else None
            yield Place(start, end, "comment", text, comment(width, indent))


def groups(code: Code) -> list[list[tokenize.TokenInfo]]:
    """Return the comments, with the lines of one comment together."""
    found: list[list[tokenize.TokenInfo]] = []
    for token in tokenize.generate_tokens(io.StringIO(code.source).readline):
        if token.type != tokenize.COMMENT or STAYS.match(token.string):
            continue
        last = found[-1][-1] if found else None
        below = last and last.start == (token.start[0] - 1, token.start[1])
        if last and below and stands_alone(token) and stands_alone(last):
            found[-1].append(token)
        else:
            found.append([token])
    return found


def stands_alone(token: tokenize.TokenInfo) -> bool:
    return not token.line[: token.start[1]].strip()


def comment(width: int | None, indent: int) -> Callable[[str], str]:
    """Return how a comment is written: in lines of at most this many columns (a Chinese character has two)."""

    def write(text: str) -> str:
        lines: list[str] = []
        line, used = "", 2
        for word in re.findall(r"[\x21-\x7e]+ ?|.", text):
            columns = sum(2 if ord(sign) > 0x2E7F else 1 for sign in word)
            if width and line and used + columns > width and word not in "，。；：？！、）」":
                lines, line, used = [*lines, line.rstrip()], "", 2
            line, used = line + word, used + columns
        return ("\n" + " " * indent).join(f"# {each.strip()}" for each in [*lines, line])

    return write
