"""The version of all that decides a mark, besides the notebook and the seed.

It is the course's version and a hash of the package, the questions with their points, the limits, and torch. A result
with another version is not used again: marks that were given by different rules must not stand in one table.
"""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path

import torch

import qkv

PACKAGE = Path(qkv.__file__).parent
SUFFIXES = (".py", ".toml", ".json", ".safetensors")
OTHERS = ("widgets", "looking", "authoring", "dictionaries")  # folders of the package that decide no mark


def version_of_rules(*limits: float | str, package: Path = PACKAGE) -> str:
    """Return the course's version and a short hash, as "1.0.0+3f2a9c51d07e".

    Args:
        limits: the limits that a notebook is graded with, and the secret of its inputs, which the hash does not tell
        package: the folder of the package
    """
    text = f"{_hash_of(package)} {limits} torch {torch.__version__} Python {platform.python_version()}"
    return f"{qkv.__version__}+{hashlib.sha256(text.encode()).hexdigest()[:12]}"


@cache
def _hash_of(package: Path) -> str:
    """Return the hash of the names and the contents of the files that decide marks. A process computes it once."""
    total = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        inside = path.relative_to(package)
        if path.suffix in SUFFIXES and inside.parts[0] not in OTHERS:
            total.update(f"{inside.as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()
