"""Label an answer of the corpus: its question, its source, and whether it is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


@dataclass(frozen=True, eq=False)
class Labelled:
    """An answer with its label.

    Attributes:
        question: the id of the question
        source: the public code or kind of learner that writes so
        answer: the function, class or module
        ideas: None if the answer is right; otherwise the names that fit its mistake, none if no name has to fit
    """

    question: str
    source: str
    answer: Any
    ideas: tuple[str, ...] | None

    @property
    def name(self) -> str:
        return f"{self.question}-{self.answer.__name__}"

    @property
    def right(self) -> bool:
        return self.ideas is None

    def is_named_by(self, slug: str | None) -> bool:
        """Check whether the name of a mistake fits the label; an answer whose label has no name should get none."""
        if not self.ideas:
            return slug is None
        return slug is not None and any(fnmatch(slug, idea) for idea in self.ideas)


EVERY: list[Labelled] = []


def right(question: str, source: str) -> Callable[[Any], Any]:
    """Return a decorator that adds a right answer to the corpus."""
    return _adder(question, source, None)


def wrong(question: str, source: str, *ideas: str) -> Callable[[Any], Any]:
    """Return a decorator that adds a wrong answer to the corpus; each of the ideas is a name that fits its mistake."""
    return _adder(question, source, ideas)


def _adder(question: str, source: str, ideas: tuple[str, ...] | None) -> Callable[[Any], Any]:
    def add(answer: Any) -> Any:
        EVERY.append(Labelled(question, source, answer, ideas))
        return answer

    return add


def whole_corpus() -> list[Labelled]:
    """Import all modules of answers, and return every answer."""
    room = __name__.rpartition(".")[0]
    for module in iter_modules(import_module(room).__path__):
        import_module(f"{room}.{module.name}")
    return EVERY
