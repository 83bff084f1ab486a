"""A site without the page's Python has none of its files, also where an earlier build has left them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from qkv_site import page_python


def test_a_build_without_it_removes_what_an_earlier_one_has_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    left = tmp_path / "_static" / "python" / "course.bin"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"the reference answers")
    finished: list[Callable[[Any, None], None]] = []
    app: Any = SimpleNamespace(
        outdir=tmp_path, connect=lambda event, function, **_: finished.append(function) if "finished" in event else None
    )
    monkeypatch.setenv("QKV_PAGE_PYTHON", "off")
    page_python.setup(app)
    for function in finished:
        function(app, None)
    assert not left.parent.exists()
