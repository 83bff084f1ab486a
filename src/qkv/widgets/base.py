"""What every widget shares in Python: where its built code lies, how it prints, and traits that say what they take.

A widget is a family of files, found by name alone: `<name>.py`, `js/<name>.js` and `<name>.css`. `tools/bundle.mjs`
builds the last two into `static/`, and `from qkv.widgets import ClassName` finds the first.
"""

import math
import operator
import reprlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

_STATIC = Path(__file__).parent / "static"
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 40


class Widget(anywidget.AnyWidget):
    """Base of every widget: a subclass adds traits, and nothing else is needed in Python."""

    _esm: ClassVar[Any]
    _css: ClassVar[Any]
    # The trained weights that its code computes with, by name: the site loads them on the pages that show it.
    weights: ClassVar[tuple[str, ...]] = ()
    # The site keeps only the state of a widget, and finds its code by this name.
    _name = traitlets.Unicode().tag(sync=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if Widget in cls.__bases__:  # not the nameless subclass that anywidget makes for each instance
            stem = cls.__module__.rpartition(".")[2]
            cls._esm = _STATIC / f"{stem}.js"
            cls._css = _STATIC / f"{stem}.css"
        super().__init_subclass__(**kwargs)

    def __init__(self, **values: Any) -> None:
        names = _own_traits(type(self))
        for name in values:
            if name not in names and not self.has_trait(name):
                raise TypeError(f"{type(self).__name__} takes {', '.join(names)}; got {name}")
        super().__init__(**values)

    @traitlets.default("_name")
    def _class_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={_short.repr(getattr(self, name))}" for name in _own_traits(type(self)))
        return f"{type(self).__name__}({values})"


def _own_traits(cls: type) -> list[str]:
    """The names that a widget's author declared, in the order of the declaration."""
    return [
        name
        for base in reversed(cls.__mro__)
        if issubclass(base, Widget)
        for name, trait in vars(base).items()
        if isinstance(trait, Trait)
    ]


class Trait(traitlets.TraitType):
    """A synced trait whose error is a sentence: what it takes, and what it got.

    `limits` says the same as `takes`, as JSON: the site holds what a link asks of a widget against it.
    """

    def __init__(self, default: Any, takes: str, parse: Callable[[Any], Any], limits: dict[str, Any]) -> None:
        super().__init__(parse(default))
        self.tag(sync=True)
        self.takes = takes
        self.parse = parse
        self.limits = limits

    def validate(self, obj: Any, value: Any) -> Any:
        """Return the value as it is kept: plain Python, with tuples for lists, so that it cannot be changed unseen."""
        try:
            return self.parse(_plain(value))
        except (TypeError, ValueError, OverflowError):
            raise traitlets.TraitError(f"{self.name} is {self.takes}; got {_short.repr(value)}") from None


def choice(default: Any, values: Sequence[Any]) -> Trait:
    """One of a few values."""
    words = [repr(value) for value in values]
    if len(words) > 6:
        words = [*words[:3], "…", words[-1]]
    takes = " or ".join(words) if len(words) == 2 else f"one of {', '.join(words)}"

    def parse(value: Any) -> Any:
        for known in values:
            if value == known and isinstance(value, bool) == isinstance(known, bool):
                return known
        raise ValueError

    return Trait(default, takes, parse, {"one": list(values)})


def whole(default: int, low: int, high: int) -> Trait:
    """A whole number from `low` to `high`, both included."""

    def parse(value: Any) -> int:
        return _within(operator.index(_number(value)), low, high)

    return Trait(default, f"a whole number from {low} to {high}", parse, {"whole": [low, high]})


def real(default: float, low: float = -math.inf, high: float = math.inf) -> Trait:
    """A finite number from `low` to `high`, both included."""
    bounds = "" if math.isinf(low) and math.isinf(high) else f" from {low} to {high}"
    limits = {"real": [None if math.isinf(bound) else bound for bound in (low, high)]}
    return Trait(default, f"a number{bounds}", lambda value: _within(float(_number(value)), low, high), limits)


def flag(default: bool) -> Trait:
    """True or False; 0 and 1 are neither."""
    return choice(default, [True, False])


def text(default: str) -> Trait:
    """A string."""

    def parse(value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError
        return value

    return Trait(default, "a string", parse, {"text": True})


def listed(default: Sequence[Any], each: Trait, lengths: Sequence[int] = ()) -> Trait:
    """A list in which every entry is what the trait `each` takes; `lengths` are those allowed (any, when empty).

    Lists of lists are `listed(…, listed(…, real(0)))`; the default of what is inside counts for nothing. A tuple is
    kept, so that an entry can only be changed by setting the whole: that is what the drawing is told about.
    """

    def parse(value: Any) -> tuple[Any, ...]:
        if isinstance(value, (str, bytes, dict)) or (lengths and len(value) not in lengths):
            raise TypeError
        return tuple(each.parse(_plain(entry)) for entry in value)

    size = f"{' or '.join(map(str, lengths))} entries" if lengths else "entries"
    limits = {"each": each.limits, "lengths": list(lengths)}
    return Trait(default, f"a list of {size}, each {each.takes}", parse, limits)


def limits_of(cls: type[Widget]) -> dict[str, dict[str, Any]]:
    """What each trait that a reader may set takes, as JSON; one tagged `author` belongs to who wrote the page."""
    return {name: trait.limits for name, trait in cls.class_traits(author=None).items() if isinstance(trait, Trait)}


def _number(value: Any) -> Any:
    """Refuse what Python would count as a number by courtesy: True, and strings that float() reads."""
    if isinstance(value, (bool, str)):
        raise TypeError
    return value


def _within(value: Any, low: float, high: float) -> Any:
    if not (low <= value <= high and math.isfinite(value)):
        raise ValueError
    return value


def _plain(value: Any) -> Any:
    """Turn numbers and arrays of NumPy and torch into plain Python numbers and lists."""
    return value.tolist() if hasattr(value, "tolist") else value
