"""Where large loops go: JavaScript on typed arrays, which the page's worker sets here (`page/runtime/kernels.js`).

Without it, as under any other Python, every loop runs in Python.
"""

from __future__ import annotations

from typing import Any

JS: Any = None
