"""Be told of every tensor that is formed: as much of torch's dispatch mode as counting their sizes needs."""

from __future__ import annotations

from typing import Any

from ..dtypes import State


class TorchDispatchMode:
    """While it is entered, `__torch_dispatch__` is called once for each tensor, with an operation that gives it."""

    def __enter__(self) -> Any:
        State.dispatch_modes.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        State.dispatch_modes.remove(self)

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return operation(*args, **(kwargs or {}))
