"""Compile what is imported by now, in Pyodide, of the library and the course: /NAME.zip to /compiled-NAME.zip.

Texts for `help` and the places within a function are left out, which would make the archives twice as large: an error
that passes through these modules names the line where its function begins.
"""

from __future__ import annotations

import marshal
import sys
import zipfile
from importlib.util import MAGIC_NUMBER, source_hash
from types import CodeType

NEVER_CHECKED = (1).to_bytes(4, "little")
LINE_OF_THE_FUNCTION = 0x80 | 13 << 3  # an entry of CPython's table of locations: up to eight units, by their line only


def without_places(code: CodeType) -> CodeType:
    """The code, and all code in it, with one line for each function: the line where it begins."""
    units = len(code.co_code) // 2
    lines = b"".join(bytes([LINE_OF_THE_FUNCTION | min(8, units - at) - 1, 0]) for at in range(0, units, 8))
    inner = (without_places(part) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_linetable=lines, co_consts=tuple(inner))


def compiled(file: str, source: bytes) -> bytes:
    """What Python would write for this module (PEP 552), to be read without a look at the source."""
    code = compile(source, file, "exec", dont_inherit=True, optimize=2)
    return MAGIC_NUMBER + NEVER_CHECKED + source_hash(source) + marshal.dumps(without_places(code))


def compile_archive(name: str, place: str) -> None:
    """Compile the modules that were imported from this place, where the archive is; keep the rest as it is."""
    imported = {getattr(module, "__file__", None) for module in sys.modules.values()}
    with zipfile.ZipFile(f"/{name}") as archive, zipfile.ZipFile(f"/compiled-{name}", "w") as target:
        for file in archive.namelist():
            content = archive.read(file)
            if place + file in imported:
                file, content = f"{file}c", compiled(place + file, content)
            target.writestr(zipfile.ZipInfo(file), content, zipfile.ZIP_DEFLATED, 9)


compile_archive("python_stdlib.zip", "/lib/python314.zip/")
compile_archive("course.zip", "/lib/course/")
