"""What is loaded when a reader first runs something: light enough, and with everything that the checks read."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest

from page.pack import pack
from qkv.questions import ids

MOST = 5.3e6 - 0.125e6  # bytes, sent gzipped; the editor is bundled elsewhere


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packed")
    pack(folder)
    return folder / "python"


def test_python_weighs_little(packed: Path):
    files = [path for path in packed.iterdir() if path.is_file()]
    assert 3e6 < sum(len(gzip.compress(path.read_bytes())) for path in files) < MOST


def test_every_question_is_there_with_its_words(packed: Path):
    names = set(zipfile.ZipFile(packed / "course.zip").namelist())
    for number in ids():
        file = f"qkv/questions/catalogue/q{number.replace('.', '_')}"
        assert {f"{file}.py", f"{file}.toml"} <= names


def test_no_figure_and_no_grader_is_there(packed: Path):
    names = zipfile.ZipFile(packed / "course.zip").namelist()
    assert not [name for name in names if name.startswith(("qkv/grading", "qkv/widgets", "qkv/figures", "qkv/cli"))]


def test_the_same_sources_give_the_same_files(packed: Path, tmp_path: Path):
    pack(tmp_path)
    for name in ("python_stdlib.zip", "course.zip"):
        assert (tmp_path / "python" / name).read_bytes() == (packed / name).read_bytes()
