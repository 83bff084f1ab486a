"""Write the service worker of a published site, which makes it work offline, once the pages of all languages are there.

Its code is `book/ext/qkv_site/sw.js`. Above that code come the names and hashes of the files of this build.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from tools.course import LANGUAGES, ROOT, TRANSLATED

CODE = ROOT / "book" / "ext" / "qkv_site" / "sw.js"
FILE = "sw.js"
PYTHON = "_static/python"
MODEL = "_static/real-model"  # the script that loads these files also keeps them
# Files that no browser loads, or that a browser has to load again each time.
UNCACHED = {FILE, "sitemap.xml", "objects.inv", ".buildinfo", ".inputs", ".nojekyll"}
REPORTS = "reports"


def files_of(site: Path) -> list[Path]:
    """Return the files that a browser may load and cache."""
    files = (file for file in site.rglob("*") if file.is_file() and file.name not in UNCACHED)
    return sorted(file for file in files if file.relative_to(site).parts[0] != REPORTS)


def version(files: list[Path]) -> str:
    """Return a name for this version of the files: a hash of their names and contents."""
    return hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()[:16]


def hashes(site: Path, files: list[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file, in base64, by its address from the site's root."""
    return {
        file.relative_to(site).as_posix(): base64.b64encode(hashlib.sha256(file.read_bytes()).digest()).decode()
        for file in files
    }


def worker(site: Path) -> str:
    """Return the code of the service worker, with the languages, and with all files of this build and their hashes.

    The files of Python have a version of their own, and those of the real model are left out.
    """
    python = [file for file in files_of(site) if file.is_relative_to(site / PYTHON)]
    files = [file for file in files_of(site) if file not in python and not file.is_relative_to(site / MODEL)]
    constants: dict[str, Any] = {"VERSION": version(files), "PYTHON": version(python)}
    constants |= {"LANGUAGES": [LANGUAGES[code].folder for code in TRANSLATED]}
    constants |= {"FILES": hashes(site, files), "PYTHON_FILES": hashes(site, python)}
    head = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in constants.items())
    return head + CODE.read_text(encoding="utf-8")


def write(site: Path, address: str) -> None:
    """Write the service worker of a site that has an address. Remove that of an earlier build from one without."""
    if address:
        (site / FILE).write_text(worker(site), encoding="utf-8")
    else:
        (site / FILE).unlink(missing_ok=True)
