"""Where large loops go: JavaScript on typed arrays, which the page's worker sets here (`page/runtime/kernels.js`).

Without it, as under any other Python, every loop runs in Python.
"""

from __future__ import annotations

from array import array
from typing import Any

JS: Any = None
NAMES: frozenset[str] = frozenset()  # of the loops that there are


def address_of(numbers: array[Any]) -> int:
    """Where an array's numbers lie in memory. The array has to live, and keep its length, while a loop runs."""
    return numbers.buffer_info()[0]
