"""Find the texts of the site's own code: t`…` in scripts, {{ t("…") }} in templates, and t("…") in its Python."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tools.course import ROOT
from tools.translations.sources import Unit

WIDGETS = ROOT / "src" / "qkv" / "widgets" / "js"
RUNTIME = ROOT / "browser_python" / "runtime"
STATIC = ROOT / "book" / "static"
TAGGED = re.compile(r"(?<![\w$.])t`")
COMMENT = re.compile(r"/\*.*?\*/|^\s*//[^\n]*", re.DOTALL | re.MULTILINE)
IMPORTED = re.compile(r'(?:from|import|require)\s*\(?\s*"(\.{1,2}/[^"]+\.js)"')
IN_TEMPLATE = re.compile(r'\bt\("([^"]+)"')


@cache
def script_texts(path: Path) -> tuple[str, ...]:
    """Return the templates with the tag `t` in a script: t`scores ${way}` is "scores {0}"."""
    code = COMMENT.sub(lambda found: " " * len(found[0]), path.read_text(encoding="utf-8"))
    return tuple(template(code, found.end())[0] for found in TAGGED.finditer(code))


def template(code: str, at: int) -> tuple[str, int]:
    """Return the text of a template literal, with {0}, {1} … for its values, and the index of its closing backquote.

    `at` is the index behind its opening backquote.

    Raises:
        IndexError: it is not closed.
    """
    text, values = "", 0
    while code[at] != "`":
        if code.startswith("${", at):
            text += f"{{{values}}}"
            values, at = values + 1, value_end(code, at + 2)
        else:
            at += code[at] == "\\"
            text, at = text + code[at], at + 1
    return text, at


def value_end(code: str, at: int) -> int:
    """Return the index behind the brace that closes a value in a template; the value may contain templates.

    `at` is the index behind the value's opening brace.

    Raises:
        IndexError: it is not closed.
    """
    depth = 1
    while depth:
        if code[at] == "`":
            at = template(code, at + 1)[1]
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        at += 1
    return at


@cache
def imported(path: Path) -> frozenset[Path]:
    """Return a script and all scripts of the course that it imports, directly or not."""
    found, left = set[Path](), [path]
    while left:
        script = left.pop()
        found.add(script)
        names = IMPORTED.findall(script.read_text(encoding="utf-8"))
        left += {script.parent.joinpath(name).resolve() for name in names} - found
    return frozenset(found)


def texts_of(scripts: Iterable[Path]) -> list[str]:
    """Return the texts of these scripts and of what they import, each once, in a fixed order."""
    paths = sorted({each for script in scripts for each in imported(script)})
    return list(dict.fromkeys(text for path in paths for text in script_texts(path)))


def shown() -> list[Path]:
    """Return the scripts whose texts readers see: those of the widgets, of the page's Python and of the site."""
    return sorted(path for folder in (WIDGETS, RUNTIME, STATIC) for path in folder.rglob("*.js"))


def template_texts(path: Path) -> list[str]:
    return IN_TEMPLATE.findall(path.read_text(encoding="utf-8"))


def python_texts(path: Path) -> list[str]:
    """Return the strings that a module passes to `t`."""
    calls = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
    first = (call.args[0] for call in calls if ast.unparse(call.func) == "t" and call.args)
    return [node.value for node in first if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def catalogues() -> dict[str, list[Unit]]:
    """Return the texts by the name of their catalogue: those of the widgets, and those of the rest of the site."""
    book, python = ROOT / "book", ROOT / "browser_python"
    captions = re.findall(r"^  - caption: (.+)$", (ROOT / "_toc.yml").read_text(encoding="utf-8"), re.MULTILINE)
    site = {path: template_texts(path) for path in (book / "templates").rglob("*.html")}
    site |= {path: python_texts(path) for path in [*(book / "ext").rglob("*.py"), *python.glob("*.py")]}
    site |= {path: list(script_texts(path)) for path in shown() if not path.is_relative_to(WIDGETS)}
    site[ROOT / "_toc.yml"] = captions
    reasons = tomllib.loads((python / "not_on_page.toml").read_text(encoding="utf-8"))
    site[python / "not_on_page.toml"] = [
        why for page in reasons.values() for why in page.values() if not why.startswith("uses ")
    ]
    widgets = {path: list(script_texts(path)) for path in shown() if path.is_relative_to(WIDGETS)}
    return {"site": units(site), "widgets": units(widgets)}


DICTIONARIES = WIDGETS.parent / "dictionaries"


def dictionary(language: str) -> Path:
    """Return the file with the texts of the widgets in a language, which the package ships for notebooks."""
    return DICTIONARIES / f"{language}.json"


def written(words: dict[str, str]) -> str:
    """Return the text of the widgets' dictionary (JSON): for each widget its texts and their translations."""
    names = sorted(path.stem for path in WIDGETS.parent.glob("*.css") if path.stem != "base")
    texts = {name: texts_of([WIDGETS / f"{name}.js"]) for name in names}
    known = {name: {text: words[text] for text in texts[name] if text in words} for name in names}
    return json.dumps(known, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def units(found: dict[Path, list[str]]) -> list[Unit]:
    """Return one unit for each text, in the order of the alphabet; its kind names the files that have it."""
    files: dict[str, list[str]] = {}
    for path in sorted(found):
        for text in found[path]:
            files.setdefault(text, []).append(path.name)
    return [Unit("", ", ".join(dict.fromkeys(names)), text) for text, names in sorted(files.items())]
