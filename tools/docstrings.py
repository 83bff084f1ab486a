"""Print each function of five lines or more that has no docstring. The gate runs this.

A function inside a function needs none, nor do setters, nor `__init__` where the class has one. The tests are left out:
the name of a test says what it checks, and many of their functions are answers as learners write them.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("benchmarks", "book/ext", "browser_python", "real_model", "src", "tools")
LINES = 5
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(owner: ast.Module | ast.ClassDef) -> Iterator[tuple[ast.Module | ast.ClassDef, Function]]:
    """Yield the functions of a module, and those of its classes, each with its module or class.

    Functions inside functions are left out.
    """
    for node in owner.body:
        if isinstance(node, ast.ClassDef):
            yield from functions(node)
        elif isinstance(node, Function):
            yield owner, node


def needs_docstring(owner: ast.Module | ast.ClassDef, function: Function) -> bool:
    """Return whether a function has no docstring, and needs one."""
    if ast.get_docstring(function) or (function.end_lineno or 0) - function.lineno + 1 < LINES:
        return False
    is_setter = any(isinstance(each, ast.Attribute) and each.attr == "setter" for each in function.decorator_list)
    return not is_setter and not (function.name == "__init__" and ast.get_docstring(owner))


def main() -> int:
    """Print the functions that need a docstring and have none. Return the exit code: 1 if there are some, else 0."""
    found = [
        f"{path.relative_to(ROOT)}:{function.lineno}: {function.name} has no docstring"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for owner, function in functions(ast.parse(path.read_text(encoding="utf-8")))
        if needs_docstring(owner, function)
    ]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
