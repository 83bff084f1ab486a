"""`tqdm` without its bar: iterating over it gives the items. The bar goes to the error output, which a page has not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self


class tqdm:
    """An iterable with the methods of a progress bar, which show nothing."""

    def __init__(self, iterable: Iterable[Any] | None = None, *args: object, total: int | None = None, **more: object):
        self.iterable, self.total, self.n = iterable, total, 0

    def __iter__(self) -> Iterator[Any]:
        for item in self.iterable or ():
            yield item
            self.n += 1

    def __len__(self) -> int:
        return len(self.iterable) if hasattr(self.iterable, "__len__") else self.total or 0  # type: ignore[arg-type]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing: there is no bar to remove."""

    def update(self, n: int = 1) -> None:
        self.n += n

    def set_description(self, *args: object, **more: object) -> None:
        """Do nothing: there is no bar to describe."""

    set_description_str = set_postfix = set_postfix_str = refresh = close = reset = set_description

    @staticmethod
    def write(text: str, *args: object, **more: object) -> None:
        print(text)


def trange(*bounds: int, **more: Any) -> tqdm:
    return tqdm(range(*bounds), **more)
