"""What is loaded when a reader first runs something: light enough, and with everything that the checks read."""

from __future__ import annotations

import ast
import base64
import gzip
import zipfile
from pathlib import Path

import pytest

from browser_python.in_node import Interpreter
from browser_python.pack import PYODIDE, ROOT, pack
from qkv.questions import ids
from tools.course import TRANSLATED

MOST = 5.3e6  # bytes, compressed
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
BUNDLED = ("pyodide.mjs", "pyodide.asm.mjs")  # in the worker


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packed")
    pack(folder)
    return folder / "python"


def names(packed: Path, archive: str) -> list[str]:
    """The names of the files in an archive."""
    with gzip.open(packed / archive) as content:
        return zipfile.ZipFile(content).namelist()


def test_python_weighs_little(packed: Path):
    apart = {"models.bin", *(f"{language}.bin" for language in TRANSLATED)}
    files = [path for path in packed.iterdir() if path.is_file() and path.name not in apart]
    files += [PYODIDE / name for name in BUNDLED]
    assert 3e6 < sum(len(gzip.compress(path.read_bytes())) for path in files) < MOST


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_language_weighs_little_and_is_loaded_apart(packed: Path, language: str):
    assert (packed / f"{language}.bin").stat().st_size < 150e3
    assert names(packed, f"{language}.bin") == [f"qkv/dictionaries/{language}.json"]
    assert not [name for name in names(packed, "course.bin") if "dictionaries" in name]


def test_every_question_is_there_with_its_words(packed: Path):
    found = set(names(packed, "course.bin"))
    for number in ids():
        file = f"qkv/questions/catalogue/q{number.replace('.', '_')}"
        assert {f"{file}.py", f"{file}.toml"} <= found


def test_no_figure_and_no_grader_is_there(packed: Path):
    found = names(packed, "course.bin")
    assert not [name for name in found if name.startswith(("qkv/grading", "qkv/widgets", "qkv/figures", "qkv/cli"))]


def test_modules_of_the_course_are_packed_without_docstrings_and_with_their_lines(packed: Path):
    with gzip.open(packed / "course.bin") as content:
        archive = zipfile.ZipFile(content)
        sources = {name: archive.read(name).decode() for name in archive.namelist() if name.endswith(".py")}
    assert "qkv/questions/catalogue/q3_1.py" in sources
    for name, source in sources.items():
        documented = [node for node in ast.walk(ast.parse(source)) if isinstance(node, DOCUMENTED)]
        assert {ast.get_docstring(node) for node in documented} <= {None, ""}, name
        original = (ROOT / ("src" if name.startswith("qkv/") else "browser_python") / name).read_text(encoding="utf-8")
        pairs = zip(source.split("\n"), original.split("\n"), strict=True)
        assert all(line in (before, "") or '""' in line for line, before in pairs), name


def test_the_same_sources_give_the_same_files(packed: Path, tmp_path: Path):
    pack(tmp_path)
    for name in ("python_stdlib.bin", "course.bin"):
        assert (tmp_path / "python" / name).read_bytes() == (packed / name).read_bytes()


def test_all_that_is_packed_can_be_imported(packed: Path):
    """What is left out of the library is missed where it is imported, which may be late."""
    python = Interpreter(packed.parent)
    modules = [
        name.removesuffix(".pyc").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for archive in ("course.bin", "models.bin")
        for name in names(packed, archive)
        if name.endswith((".py", ".pyc"))
    ]
    assert {"qkv.models", "qkv.questions.catalogue.q3_1", "torch"} <= set(modules)
    cell = "from importlib import import_module\nfor name in NAMES: import_module(name)"
    assert python.ask([cell.replace("NAMES", str(modules))])["problem"] == ""
    python.close()


def test_a_copy_of_the_site_has_each_file_as_a_script(packed: Path):
    files = [path.relative_to(packed) for path in packed.rglob("*") if path.is_file() and "copy" not in path.parts]
    assert len(files) > 30
    for file in files:
        script = (packed / "copy" / f"{file.as_posix()}.js").read_text(encoding="utf-8")
        name, text = script.removeprefix("qkvFile(").removesuffix(");\n").replace('"', "").split(", ")
        assert name == file.as_posix()
        assert gzip.decompress(base64.b64decode(text)) == (packed / file).read_bytes()
