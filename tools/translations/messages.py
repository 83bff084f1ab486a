"""The texts of the course's Python: those of checks, questions and the grader. Each room of them is one catalogue.

A text is what stands in a call of `t` or `mark` (`qkv.words`), the name of a case, what a template of a page
translates, or a message, title or slug in the text file of a question.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from qkv.words import DICTIONARIES, in_words
from tools.course import ROOT
from tools.translations.sources import Unit

PACKAGE = ROOT / "src" / "qkv"
PAGE = ROOT / "browser_python"  # the page's Python
PLACE = {"t": 0, "mark": 0, "case": 0, "Case": 1}  # of the text among the arguments of these calls
SHOWN_KEYS = ("title", "about")  # of the text file of a question
SYMBOLS = re.compile(r"[\w.]+\d|\w+ = [\w.]+")  # names of cases that are no words: "float64", "n_k = 1"
SLUG = re.compile(r"[a-z]+(-[a-z]+)+")
IN_TEMPLATE = re.compile(r"\bt\(\"([^\"]+)\"")


def rooms() -> dict[str, list[Unit]]:
    """Return the texts of each room, each text once, by the name of its catalogue: "messages/chapter_05"."""
    patterns = {
        "messages/checking": ("words.py", "checking/*.py", "xraying/*.py"),
        "messages/engine": ("questions/__init__.py", "questions/engine/*.py"),
        "messages/shared": ("questions/shared/*.py", "questions/shared/*.toml"),
        **{f"messages/chapter_{n:02}": (f"questions/catalogue/q{n}_*.*",) for n in range(1, 13)},
        "messages/grading": ("cli.py", "grading/*.py", "grading/templates/*.html"),
        "messages/looking": ("looking/*.py", "figures.py", "models/*.py"),
    }
    found = {
        room: distinct(unit for glob in globs for unit in below(PACKAGE, glob)) for room, globs in patterns.items()
    }
    of_page = (unit for glob in ("runtime/*.py", "torch/*.py", "numpy/*.py") for unit in below(PAGE, glob))
    return found | {"messages/page": distinct(of_page)}


def below(folder: Path, pattern: str) -> Iterator[Unit]:
    """Yield the texts of the files in a folder that match a pattern, as units, in the order of the files' names.

    Files of other kinds than Python, TOML and HTML are left out.
    """
    for path in sorted(folder.glob(pattern)):
        if path.suffix in READ:
            text = path.read_text(encoding="utf-8")
            read = of_engine if path.parent.name == "engine" else READ[path.suffix]
            yield from (Unit("", f"{path.stem}: {kind}", found) for kind, found in read(text))


def of_python(source: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each text that a module translates.

    The kind is the call, such as "t" or "mark". Texts without words are left out.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            place = PLACE.get(name, len(node.args))
            argument = node.args[place] if place < len(node.args) else None
            text = argument.value if isinstance(argument, ast.Constant) else None
            if isinstance(text, str) and not SYMBOLS.fullmatch(text):
                yield name.lower(), text


def of_engine(source: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each text of a module of the engine, and the ideas' names that it infers."""
    yield from of_python(source)
    strings = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    yield from (
        ("name of an idea", in_words(slug)) for slug in strings if isinstance(slug, str) and SLUG.fullmatch(slug)
    )


def of_question(source: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of a question's title, of its messages, and of its ideas' names, which cards show.

    `source` is the content of its text file (TOML).
    """
    texts = tomllib.loads(source)
    yield from ((key, texts[key]) for key in SHOWN_KEYS if key in texts)
    for slug, said in texts["ideas"].items():
        yield "name of an idea", in_words(slug)
        yield slug, " ".join(said.split())


def of_template(source: str) -> Iterator[tuple[str, str]]:
    yield from (("page", found) for found in IN_TEMPLATE.findall(source))


READ = {".py": of_python, ".toml": of_question, ".html": of_template}


def distinct(units: Iterator[Unit]) -> list[Unit]:
    """Return one unit for each text: the first."""
    return list({unit.text: unit for unit in reversed(list(units))}.values())[::-1]


def dictionary(language: str) -> Path:
    """Return the path of the dictionary that is shipped: English texts with their translations, one a line."""
    return DICTIONARIES / f"{language}.json"


def written(words: dict[str, str]) -> str:
    """Return the text of a dictionary."""
    return json.dumps(words, ensure_ascii=False, indent=0, sort_keys=True) + "\n"
