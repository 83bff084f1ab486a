"""The text of the value of a cell's last line, as IPython shows it in a notebook: not always what `repr` gives.

Lists and dictionaries that are wider than a line have a line for each item, and a class has the name of its module.
Where lines break is decided as in IPython's `lib/pretty.py`, after Oppen (1980), also where that is odd.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from inspect import signature
from itertools import islice
from types import BuiltinFunctionType, FunctionType
from typing import Any

WIDTH = 79  # characters of a line
MOST = 1000  # items of a list that are shown
BRACKETS: dict[Any, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
}


def shown(value: object) -> str:
    """Return the text of a value.

    Raises:
        RecursionError: the value contains itself.
    """
    lines = Lines()
    show(value, lines)
    lines.flush()
    return "".join(lines.out)


class Group:
    """A pair of brackets: the places inside, not yet written, where lines may break, and whether they do."""

    def __init__(self, depth: int) -> None:
        self.depth, self.places, self.breaks = depth, 0, False


class Lines:
    """A text that is broken into lines where a group of items is wider than a line: the outermost groups first.

    Attributes:
        out, column: what is written, and the width of its last line
        waiting, width: texts that are not written yet, and places (group, indent) where lines may break; their width
        open: the groups that have begun and not ended
        unbroken: by depth, the groups whose lines may still break
    """

    def __init__(self) -> None:
        self.out: list[str] = []
        self.waiting: deque[str | tuple[Group, int]] = deque()
        self.column = self.width = self.indent = 0
        self.open = [Group(0)]
        self.unbroken = [[*self.open]]

    def text(self, text: str) -> None:
        """Write a text, after those that wait for a line break to be decided.

        If some wait, it waits too, and outer groups that no longer fit the line are broken.
        """
        if not self.waiting:
            self.out.append(text)
            self.column += len(text)
            return
        last = self.waiting[-1]
        if isinstance(last, str):
            self.waiting[-1] = last + text
        else:
            self.waiting.append(text)
        self.width += len(text)
        self.break_outer_groups()

    def space(self) -> None:
        """Write a space, or a new line if the items of this group have a line each.

        If that is not decided yet, the place waits.
        """
        group = self.open[-1]
        if group.breaks:
            self.flush()
            self.new_line(self.indent)
        else:
            self.waiting.append((group, self.indent))
            group.places += 1
            self.width += 1
            self.break_outer_groups()

    def line_of_item(self) -> None:
        """Begin a new line inside an item, which breaks the outermost group that does not break yet."""
        if group := self.next_group():
            self.break_group(group)
        self.flush()
        self.new_line(self.indent)

    def new_line(self, indent: int) -> None:
        self.out.append("\n" + " " * indent)
        self.column, self.width = indent, 0

    @contextmanager
    def group(self, begin: str, end: str, step: int) -> Iterator[None]:
        """Write the items of a group between brackets; its lines are indented by `step` more."""
        if begin:
            self.text(begin)
        group = Group(self.open[-1].depth + 1)
        self.open.append(group)
        while len(self.unbroken) <= group.depth:
            self.unbroken.append([])
        self.unbroken[group.depth].append(group)
        self.indent += step
        yield
        self.indent -= step
        self.open.pop()
        if not group.places:
            self.forget(group)
        if end:
            self.text(end)

    def forget(self, group: Group) -> None:
        if group in self.unbroken[group.depth]:
            self.unbroken[group.depth].remove(group)

    def next_group(self) -> Group | None:
        """Mark the outermost group that has a place where its lines may break as broken, and return it, or None.

        The groups outside of it count as broken too.
        """
        for groups in self.unbroken:
            for i, group in enumerate(reversed(groups)):
                if group.places:
                    del groups[i]  # as IPython does, which counts from the other end
                    group.breaks = True
                    return group
            for group in groups:
                group.breaks = True
            groups.clear()
        return None

    def break_outer_groups(self) -> None:
        while self.column + self.width > WIDTH and (group := self.next_group()):
            self.break_group(group)

    def break_group(self, group: Group) -> None:
        """Write what waits, up to the last place of a group and the text behind it."""
        while group.places:
            self.write_first()
        while self.waiting and isinstance(self.waiting[0], str):
            self.write_first()

    def write_first(self) -> None:
        first = self.waiting.popleft()
        self.width -= len(first) if isinstance(first, str) else 1
        self.write(first)

    def write(self, part: str | tuple[Group, int]) -> None:
        """Write a text; or, for a place (group, indent), a new line or a space.

        It is a new line if the group has one for each item.
        """
        if isinstance(part, str):
            self.out.append(part)
            self.column += len(part)
            return
        group, indent = part
        group.places -= 1
        if group.breaks:
            self.out.append("\n" + " " * indent)
            self.column = indent
            return
        if not group.places:
            self.forget(group)
        self.out.append(" ")
        self.column += 1

    def flush(self) -> None:
        """Write all that waits, without breaking more groups."""
        for part in self.waiting:
            before = self.column
            self.write(part)
            self.column += before  # as IPython counts
        self.waiting.clear()
        self.width = 0


def show(value: Any, lines: Lines) -> None:
    """Write the text of a value to these lines, with its items in groups."""
    kind = type(value)
    if kind is OrderedDict and value:
        with lines.group("OrderedDict(", ")", len("OrderedDict(")):
            show(list(value.items()), lines)
    elif kind is Counter and value:
        with lines.group("Counter(", ")", len("Counter(")):
            show(dict(value.most_common()), lines)
    elif kind is defaultdict:
        with lines.group("defaultdict(", ")", len("defaultdict(")):
            show(value.default_factory, lines)
            lines.text(",")
            lines.space()
            show(dict(value), lines)
    elif kind is deque:
        with lines.group("deque(", ")", len("deque(")):
            show(list(value), lines)
            if value.maxlen is not None:
                lines.text(",")
                lines.space()
                lines.text(f"maxlen={value.maxlen}")
    elif kind in BRACKETS and value:
        begin, end = BRACKETS[kind]
        with lines.group(begin, end, len(begin)):
            show_items(value, lines)
    else:
        with lines.group("", "", 0):
            first, *more = text_of(value).splitlines() or [""]
            lines.text(first)
            for line in more:
                lines.line_of_item()
                lines.text(line)


def show_items(value: Any, lines: Lines) -> None:
    """Write the items of a list, tuple, set or dictionary, after the first MOST items only "...".

    Commas are between them, and after the only item of a tuple.
    """
    items: Iterable[Any] = ordered(value) if isinstance(value, (set, frozenset)) and len(value) < MOST else value
    for i, item in enumerate(islice(items, MOST)):
        if i:
            lines.text(",")
            lines.space()
        show(item, lines)
        if isinstance(value, dict):
            lines.text(": ")
            show(value[item], lines)
    if len(value) > MOST:
        lines.text(",")
        lines.space()
        lines.text("...")
    if len(value) == 1 and isinstance(value, tuple):
        lines.text(",")


def ordered(items: Iterable[Any]) -> list[Any]:
    """Return the items of a set, in the order of their texts if they have no other."""
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=str)


def text_of(value: Any) -> str:
    """Return the text of a value that has no items, or shows them itself.

    It is that of `repr`, except for classes, functions and objects without a `__repr__` of their own, which have the
    names of their modules.
    """
    kind = type(value)
    if kind is type:
        return name_of(value)
    if kind in (FunctionType, BuiltinFunctionType):
        try:
            return f"<function {name_of(value)}{signature(value)}>"
        except ValueError:  # it has none
            return f"<function {name_of(value)}>"
    return f"<{name_of(kind)} at {id(value):#x}>" if kind.__repr__ is object.__repr__ else repr(value)


def name_of(value: Any) -> str:
    """Return the name of a class or function, with that of its module."""
    module = getattr(value, "__module__", None)
    return value.__qualname__ if module in (None, "builtins") else f"{module}.{value.__qualname__}"
