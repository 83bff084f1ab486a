"""The base class of all widgets, and synced traits that check their values.

A widget consists of three files, found by their names: `<name>.py`, `js/<name>.js` and `<name>.css`. `tools/bundle.mjs`
builds the last two into `static/`. `__init__.py` imports the class from the first.
"""

import json
import math
import operator
import reprlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from qkv import words
from qkv.widgets.saved import saved_page

_STATIC = Path(__file__).parent / "static"
_DICTIONARIES = Path(__file__).parent / "dictionaries"
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 40


class Widget(anywidget.AnyWidget):
    """Base class of all widgets: a subclass only has to declare its traits."""

    _esm: ClassVar[Any]
    _css: ClassVar[Any]
    # The names of the trained weights that the widget's code uses: the site loads them on pages with this widget.
    # A name may contain the value of a trait: "training-runs-{task}".
    weights: ClassVar[tuple[str, ...]] = ()
    # The site stores only the state of a widget, and finds its code by this class name.
    _name = traitlets.Unicode().tag(sync=True)
    # The texts of the widget in the language of the session, by the English ones; nothing in English.
    _words = traitlets.Dict().tag(sync=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Set the paths of a widget's bundled script and style (`_esm`, `_css`), by the name of its module."""
        if Widget in cls.__bases__:  # not for the subclass without a module that anywidget makes for each instance
            stem = cls.__module__.rpartition(".")[2]
            cls._esm = _STATIC / f"{stem}.js"
            cls._css = _STATIC / f"{stem}.css"
        super().__init_subclass__(**kwargs)

    def __init__(self, **values: Any) -> None:
        """Set the traits. Raise a TypeError for a name that is no trait, a TraitError for a wrong value."""
        names = _own_traits(type(self))
        for name in values:
            if name not in names and not self.has_trait(name):
                raise TypeError(f"{type(self).__name__} takes {', '.join(names)}; got {name}")
        super().__init__(**values)

    @traitlets.default("_name")
    def _class_name(self) -> str:
        return type(self).__name__

    @traitlets.default("_words")
    def _texts(self) -> dict[str, str]:
        file = _DICTIONARIES / f"{words.language()}.json"
        stem = next(cls for cls in type(self).__mro__ if Widget in cls.__bases__).__module__.rpartition(".")[2]
        return json.loads(file.read_text(encoding="utf-8")).get(stem, {}) if file.exists() else {}

    def save(self, path: str | Path) -> None:
        """Write one HTML file that shows the widget as it is now, without a kernel and without a network."""
        Path(path).write_text(saved_page(self, _own_traits(type(self))), encoding="utf-8")

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={_short.repr(getattr(self, name))}" for name in _own_traits(type(self)))
        return f"{type(self).__name__}({values})"


def _own_traits(cls: type) -> list[str]:
    """Return the names of the traits that the widget's class declares, in the order of their declaration."""
    return [
        name
        for base in reversed(cls.__mro__)
        if issubclass(base, Widget)
        for name, trait in vars(base).items()
        if isinstance(trait, Trait)
    ]


class Trait(traitlets.TraitType):
    """A synced trait whose error message says which values it accepts, and which value it got.

    Attributes:
        takes: the accepted values in words, such as "a whole number from 1 to 8"
        parse: returns an accepted value as plain Python, and raises TypeError, ValueError or OverflowError for others
        limits: the accepted values as JSON; the site checks the values in a link to a widget against them
    """

    def __init__(self, default: Any, takes: str, parse: Callable[[Any], Any], limits: dict[str, Any]) -> None:
        super().__init__(parse(default))
        self.tag(sync=True)
        self.takes = takes
        self.parse = parse
        self.limits = limits

    def validate(self, obj: Any, value: Any) -> Any:
        """Return the value as plain Python, with tuples instead of lists: a changed list would not be synced.

        Raises:
            TraitError: the trait does not accept the value.
        """
        try:
            return self.parse(_plain(value))
        except (TypeError, ValueError, OverflowError):
            raise traitlets.TraitError(f"{self.name} must be {self.takes}; got {_short.repr(value)}") from None


def choice(default: Any, values: Sequence[Any]) -> Trait:
    """Make a trait that accepts the values in a list, and stores the one in the list.

    True and 1 count as different.
    """
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
    """Make a trait that accepts whole numbers from `low` to `high`, both included."""

    def parse(value: Any) -> int:
        return _within(operator.index(_number(value)), low, high)

    return Trait(default, f"a whole number from {low} to {high}", parse, {"whole": [low, high]})


def real(default: float, low: float = -math.inf, high: float = math.inf) -> Trait:
    """Make a trait that accepts finite numbers from `low` to `high`, both included."""
    bounds = "" if math.isinf(low) and math.isinf(high) else f" from {low} to {high}"
    limits = {"real": [None if math.isinf(bound) else bound for bound in (low, high)]}
    return Trait(default, f"a number{bounds}", lambda value: _within(float(_number(value)), low, high), limits)


def flag(default: bool) -> Trait:
    """Make a trait that accepts True and False, but not 0 and 1."""
    return choice(default, [True, False])


def text(default: str) -> Trait:
    """Make a trait that accepts strings."""

    def parse(value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError
        return value

    return Trait(default, "a string", parse, {"text": True})


def listed(default: Sequence[Any], each: Trait, lengths: Sequence[int] = ()) -> Trait:
    """Make a trait that accepts lists whose entries the trait `each` accepts, of any length or of one of `lengths`.

    A list of lists is `listed(…, listed(…, real(0)))`; the default of the inner trait is not used. The value is stored
    as a tuple, so an entry can be changed only by setting the whole trait, which redraws the widget.
    """

    def parse(value: Any) -> tuple[Any, ...]:
        if isinstance(value, (str, bytes, dict)) or (lengths and len(value) not in lengths):
            raise TypeError
        return tuple(each.parse(_plain(entry)) for entry in value)

    size = f"{' or '.join(map(str, lengths))} entries" if lengths else "entries"
    limits = {"each": each.limits, "lengths": list(lengths)}
    return Trait(default, f"a list of {size}, each {each.takes}", parse, limits)


def binary(default: bytes) -> Trait:
    """Make a trait that accepts bytes, also as a bytearray or a memoryview.

    A notebook sends them as they are; on the site they are base64.
    """

    def parse(value: Any) -> bytes:
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise TypeError
        return bytes(value)

    return Trait(default, "bytes", parse, {"binary": True})


def records(default: Sequence[dict[str, Any]]) -> Trait:
    """Make a trait that accepts lists of dictionaries, whose entries it does not check, and stores them as a tuple."""

    def parse(value: Any) -> tuple[dict[str, Any], ...]:
        if isinstance(value, (str, bytes, dict)) or not all(isinstance(entry, dict) for entry in value):
            raise TypeError
        return tuple(value)

    return Trait(default, "a list of dictionaries", parse, {"records": True})


def limits_of(cls: type[Widget]) -> dict[str, dict[str, Any]]:
    """Return the accepted values, as JSON, of each trait that a link may set: all except those tagged `author`."""
    return {name: trait.limits for name, trait in cls.class_traits(author=None).items() if isinstance(trait, Trait)}


def _number(value: Any) -> Any:
    """Return the value, but raise TypeError for booleans and strings, which Python would convert to numbers."""
    if isinstance(value, (bool, str)):
        raise TypeError
    return value


def _within(value: Any, low: float, high: float) -> Any:
    if not (low <= value <= high and math.isfinite(value)):
        raise ValueError
    return value


def _plain(value: Any) -> Any:
    """Convert numbers and arrays of NumPy and torch to plain Python numbers and lists."""
    return value.tolist() if hasattr(value, "tolist") else value
