"""Compile the imported modules of the standard library and the course, in Pyodide: /NAME to /compiled-NAME.

Docstrings and positions within a function are left out, because they would double the size of the archives. So a
traceback through these modules shows the first line of each function. Functions also lose their annotations, except
those of torch's parameters that `torch/arguments.py` checks. The course's other modules stay text, without docstrings.
"""

from __future__ import annotations

import ast
import marshal
import sys
import zipfile
from importlib.util import MAGIC_NUMBER, source_hash
from types import CodeType

NEVER_CHECKED = (1).to_bytes(4, "little")  # flags of a hash-based .pyc file that is not compared with its source
COURSE = "course.bin"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
LINE_ONLY = 0x80 | 13 << 3  # an entry of CPython's location table: a line without columns, for up to 8 code units


def without_positions(code: CodeType) -> CodeType:
    """Return the code, and the code objects in it, with the first line of each function as the only line number."""
    units = len(code.co_code) // 2
    lines = b"".join(bytes([LINE_ONLY | min(8, units - at) - 1, 0]) for at in range(0, units, 8))
    inner = (without_positions(part) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_linetable=lines, co_consts=tuple(inner))


def checked_kinds() -> set[str]:
    """Return the kinds of arguments that the page's torch checks, by their names in annotations."""
    arguments = sys.modules.get("torch.arguments")
    return set(arguments.KINDS) if arguments else set()


def drop_annotations(tree: ast.Module, kinds: set[str]) -> None:
    """Change the tree: without the annotations of functions, except those of a parameter of these kinds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation:
            parts = set(ast.unparse(node.annotation).split(" | "))
            node.annotation = node.annotation if parts <= kinds else None
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None


def pyc_content(file: str, source: bytes) -> bytes:
    """Return the content of a module's .pyc file (PEP 552), which Python loads without checking the source.

    It has no docstrings, and of each function only the first line number. Only torch's modules keep some annotations.
    """
    tree = ast.parse(source)
    drop_annotations(tree, checked_kinds() if "/torch/" in file else set())
    code = compile(tree, file, "exec", dont_inherit=True, optimize=2)
    return MAGIC_NUMBER + NEVER_CHECKED + source_hash(source) + marshal.dumps(without_positions(code))


def without_docstrings(source: bytes) -> bytes:
    """Return a module's source with an empty string in place of each docstring; other lines keep their numbers."""
    lines = source.split(b"\n")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            text = node.body[0]
            first, last = text.lineno - 1, (text.end_lineno or 0) - 1
            before, after = lines[first][: text.col_offset], lines[last][text.end_col_offset :]
            lines[first : last + 1] = [before + b'""' + after] + [b""] * (last - first)
    return b"\n".join(lines)


def compile_archive(name: str, place: str) -> None:
    """Compile the modules of the archive /NAME that were imported from the folder `place`, and write /compiled-NAME.

    The course's other modules lose their docstrings. All other files are copied unchanged.
    """
    imported = {getattr(module, "__file__", None) for module in sys.modules.values()}
    files = {}
    with zipfile.ZipFile(f"/{name}") as archive:
        for file in archive.namelist():
            content = archive.read(file)
            if place + file in imported:
                file, content = f"{file}c", pyc_content(place + file, content)
            elif name == COURSE and file.endswith(".py"):
                content = without_docstrings(content)
            files[file] = content
    with zipfile.ZipFile(f"/compiled-{name}", "w") as target:
        for file in sorted(files, key=lambda file: (file.rpartition(".")[2], file)):  # alike beside alike
            target.writestr(zipfile.ZipInfo(file), files[file])


compile_archive("python_stdlib.bin", "/lib/python314.zip/")
compile_archive(COURSE, "/lib/course/")
