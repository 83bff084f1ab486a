"""`tools/docstrings.py` finds functions without a docstring, and only those that need one."""

import ast

import pytest

from tools.docstrings import functions, needs_docstring

BODY = "    a = x\n    b = a\n    c = b\n    return c\n"


def found(code: str) -> list[str]:
    return [each.name for owner, each in functions(ast.parse(code)) if needs_docstring(owner, each)]


def in_class(code: str, head: str = "class C:\n") -> str:
    return head + "".join(f"    {line}\n" for line in code.splitlines())


def test_functions_and_methods_of_five_lines_need_one():
    assert found(f"def f(x):\n{BODY}") == ["f"]
    assert found(in_class(f"def f(self, x):\n{BODY}")) == ["f"]
    assert found(in_class(f"def __init__(self, x):\n{BODY}")) == ["__init__"]


@pytest.mark.parametrize(
    "code",
    [
        f'def f(x):\n    """Say it."""\n{BODY}',
        "def f(x):\n    return x\n",
        'def f():\n    """Say it."""\n' + in_class(BODY, "    def g(x):\n"),
        in_class(f"@f.setter\ndef f(self, x):\n{BODY}"),
        in_class(f"def __init__(self, x):\n{BODY}", 'class C:\n    """Say it."""\n\n'),
    ],
)
def test_others_need_none(code: str):
    assert found(code) == []
