"""JavaScript kernels for large loops, on typed arrays. The page's worker sets them (`browser_python/runtime/kernels.js`).

Without kernels, as in any other Python, every loop runs in Python.
"""

from __future__ import annotations

from array import array
from typing import Any

JS: Any = None  # the JavaScript object whose methods are the kernels
NAMES: frozenset[str] = frozenset()  # operations that have a kernel


def address_of(numbers: array[Any]) -> int:
    """Return the memory address of an array's numbers. Keep the array alive, at this length, while a kernel runs."""
    return numbers.buffer_info()[0]
