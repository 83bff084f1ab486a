"""Find what a reader sees of a cell's code: comments, docstrings, and strings that are printed, drawn or asked.

A string can also be data and a label at once, such as a key of a dictionary that is printed: a name. A name is
translated wherever the notebook has it, so that code finds it again. A name that is data alone stays as it is.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from tools.translations.markdown import has_words

# The arguments of these calls are shown to readers. Everything else in code stays as it is.
DRAWS = re.compile(
    r".*\.(set|annotate|text|set_title|set_xlabel|set_ylabel|legend|plot|bar|axhline|axvline|suptitle|scatter|step)"
)
DRAWN = ("xlabel", "ylabel", "title", "label", "s", "text", "labels")
SAID = ("alt", "caption")  # of a figure
NAME, DOCSTRING = "name", "docstring"
STAYS = re.compile(r"#+ (BEGIN|END) |# (noqa|type:|fmt:)")  # comments for tools
NO_WORDS = re.compile(r"\W*\w?\W*|[A-Z]")
String = ast.Constant | ast.JoinedStr
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
    """Yield the places of the strings that readers may see; those that are shown for certain come last."""
    found = [(NAME, node) for node in names(tree)]
    found += [(kind, node) for each in ast.walk(tree) for kind, part in shown(each) for node in outermost(part)]
    for kind, node in found:
        if place := string_place(code, kind, node):
            yield place


def names(node: ast.AST) -> Iterator[String]:
    """Yield the strings that may be labels.

    They are f-strings with a space in their fixed text, and all strings of a group (`groups_of_names`) of which one has
    several words. What a class is given is data: the settings of a widget, for example.
    """
    if isinstance(node, ast.JoinedStr):
        yield from [node] if " " in "".join(str(part.value) for part in node.values if is_string(part)) else []
    elif not is_of_class(node):
        for group in groups_of_names(node):
            found = [each for each in group if is_string(each)]
            yield from found if any(map(has_several_words, found)) else []
        for child in ast.iter_child_nodes(node):
            yield from names(child)


def groups_of_names(node: ast.AST) -> Iterator[Sequence[ast.expr | None]]:
    """Yield what is alike: keys or values of a dictionary, elements or columns of a list, and a key that is added.

    Each group is a sequence of expressions.
    """
    if isinstance(node, ast.Dict):
        yield from (node.keys, node.values)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        yield [node.slice]
    else:
        yield elements(node)
        yield from zip(*map(elements, elements(node)), strict=False)


def uses(source: str, wanted: Collection[str], hidden: bool = False) -> Iterator[Place]:
    """Yield the strings of a cell that are one of these names, except inside an f-string and in a widget's settings.

    A single word, such as "right", can be something else, for example a side of a figure. So in a cell that is not
    hidden, it is the name only as a key, in a list, and in a comparison. A cell that has one of the names and is not
    Python raises a SyntaxError.
    """
    if not any(name in source for name in wanted):
        return
    code, left = Code(source), list[ast.AST]([ast.parse(source)])
    while left:
        node = left.pop()
        for child in ast.iter_child_nodes(node):
            is_key = hidden or child in elements(node) or isinstance(node, ast.Subscript | ast.Compare)
            if is_string(child) and str(child.value) in wanted and (is_key or has_several_words(child)):
                yield from filter(None, [string_place(code, NAME, child)])
            if not isinstance(child, ast.JoinedStr) and not (is_of_class(node) and is_setting(child)):
                left.append(child)


def is_of_class(node: ast.AST) -> bool:
    """Return whether a node is a call of a class, whose name begins with a capital."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2][:1].isupper()


def is_setting(node: ast.AST) -> bool:
    """Return whether a node is an argument with a name, such as a setting of a widget, and no comparison."""
    return isinstance(node, ast.keyword) and not isinstance(node.value, ast.Compare)


def has_several_words(node: ast.AST) -> bool:
    return is_string(node) and " " in str(node.value).strip()


def shown(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the parts of a docstring, a call or an assignment that readers see, each with its kind; else nothing."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
        yield from ((DOCSTRING, first.value) for first in node.body[:1] if isinstance(first, ast.Expr))
    elif isinstance(node, ast.Assign):
        yield from (
            (target.id, node.value) for target in node.targets if isinstance(target, ast.Name) and target.id in SAID
        )
    elif isinstance(node, ast.Call):
        yield from arguments(node)


def arguments(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Yield the arguments of a call that readers see, each with its kind."""
    name = ast.unparse(call.func)
    if name.startswith("Predict"):
        yield from (("prediction", node) for node in [*call.args, *(k.value for k in call.keywords)])
    elif name == "show":
        yield from ((k.arg, k.value) for k in call.keywords if k.arg in SAID)
    elif name == "print":
        yield from (("print", node) for node in call.args)
    elif DRAWS.fullmatch(name):
        yield from (("label", node) for node in call.args)
        yield from (("label", k.value) for k in call.keywords if k.arg in DRAWN)


def outermost(node: ast.expr) -> Iterator[String]:
    """Yield the strings and f-strings of an expression: itself, or those in a list, or in both branches of an `if`."""
    if isinstance(node, ast.JoinedStr) or is_string(node):
        yield node
    for child in (node.body, node.orelse) if isinstance(node, ast.IfExp) else elements(node):
        yield from outermost(child)


def is_string(node: ast.AST | None) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def elements(node: ast.AST) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else []


def string_place(code: Code, kind: str, node: String) -> Place | None:
    """Return the place of a string or f-string, with its text and how a new one is written.

    None if it has no words and is no docstring.
    """
    start, end = code.at(node.lineno, node.col_offset), code.at(node.end_lineno or 0, node.end_col_offset or 0)
    written = code.source[start:end]
    if isinstance(node, ast.Constant):
        text = str(node.value)
        if kind == DOCSTRING:
            return Place(start, end, kind, " ".join(text.split()), lambda new: f'"""{new}"""')
        indent = start - (code.source.rfind("\n", 0, start) + 1)
        write = wrapped_literal(indent) if "\n" in written else quoted
        return None if not has_words(text) or NO_WORDS.fullmatch(text) else Place(start, end, kind, text, write)
    text = "".join(f_string_bodies(written))
    quote = written[1]
    return Place(start, end, kind, text, lambda new: f"f{quote}{new}{quote}") if has_words(text) else None


def f_string_bodies(written: str) -> Iterator[str]:
    """Yield the bodies of the parts that an f-string is written in, in the spelling of an f-string."""
    for token in tokenize.generate_tokens(io.StringIO(f"({written})").readline):
        if token.type == tokenize.STRING and (found := STRING.fullmatch(token.string)):
            prefix, _, body = found.groups()
            yield body if "f" in prefix else body.replace("{", "{{").replace("}", "}}")


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def wrapped_literal(indent: int, width: int = 38) -> Callable[[str], str]:
    """Return a function that writes a text as several string literals, one a line, broken after Chinese punctuation.

    Each has at most `width` characters, and begins after `indent` spaces.
    """

    def write(text: str) -> str:
        chunks = re.findall(rf".{{1,{width}}}(?:[，。；：？！、]|$)|.{{1,{width}}}", text, re.DOTALL)
        return ("\n" + " " * indent).join(map(quoted, chunks))

    return write


# ── comments ──────────────────────────────────────────────────────────────────────────────────────


def comments(code: Code) -> Iterator[Place]:
    """Yield the places of comments. Lines of one indent below each other are one text, which is wrapped anew.

    Comments without words are left out.
    """
    for group in groups(code):
        text = " ".join(token.string.lstrip("#").strip() for token in group)
        if has_words(text):
            indent = group[0].start[1]
            start = code.starts[group[0].start[0] - 1] + indent
            end = code.starts[group[-1].start[0] - 1] + group[-1].end[1]
            width = max(len(token.string) for token in group) if len(group) > 1 else None
            yield Place(start, end, "comment", text, comment(width, indent))


def groups(code: Code) -> list[list[tokenize.TokenInfo]]:
    """Return the comments as lists of tokens, with the lines of one comment together; some comments always stay."""
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
    """Return a function that writes a text as a comment, with lines of at most `width` columns; None means one line.

    A Chinese character has two columns. `indent` spaces stand before each further line.
    """

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
