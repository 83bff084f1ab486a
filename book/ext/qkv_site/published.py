"""Write the files that need the site's address: a sitemap, and a service worker, which makes the site work offline.

A site that is built to be served on this machine gets no service worker: it would show old pages after an edit.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sphinx.application import Sphinx

from tools.course import LANGUAGES, TRANSLATED
from tools.translations.skin import is_english, language

from .language import is_finished

PYTHON = "_static/python"
MODEL = "_static/real-model"  # the script that loads these files also keeps them
WORKER = Path(__file__).with_name("sw.js")
UNLISTED = ("solutions/", "search", "404")
# Files that no browser loads, or that a browser has to load again each time.
UNCACHED = {"sw.js", "sitemap.xml", "objects.inv", ".buildinfo", ".inputs", ".nojekyll"}
APART = {"reports", *(LANGUAGES[code].folder for code in TRANSLATED)}
RELATIVE = re.compile(
    r'(?P<name>\b(?:href|src|action|content)=")(?P<to>(?:\.\./)*[\w./-]+\.(?:html|css|js|svg|png)[^"]*")'
)


def site_of(app: Sphinx) -> dict[str, Any]:
    """Return the template variable with the site's address: empty, or with a slash at its end."""
    return {"qkv_address": app.config.qkv_address}


def add_address(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Add the site's address to the context of a page's template."""
    context.update(site_of(app))


def sitemap(app: Sphinx) -> str:
    """Return the sitemap: the pages that search engines should know."""
    pages = sorted(page for page in app.env.found_docs if not page.startswith(UNLISTED))
    root = app.config.qkv_address if is_english() else f"{app.config.qkv_address}{LANGUAGES[language()].folder}/"
    listed = (page for page in pages if is_english() or is_finished(page))
    urls = "".join(f"<url><loc>{root}{page}.html</loc></url>\n" for page in listed)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
    )


def files_of(site: Path) -> list[Path]:
    """Return the files that a browser may load and cache: those of the English site, and what all languages share."""
    files = (file for file in site.rglob("*") if file.is_file() and file.name not in UNCACHED)
    return sorted(file for file in files if file.relative_to(site).parts[0] not in APART)


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
    """Return the code of the service worker, with all files of this build and their hashes.

    It caches the whole course at the first visit, and the page's Python when a reader first runs something.
    """
    python = [file for file in files_of(site) if file.is_relative_to(site / PYTHON)]
    files = [file for file in files_of(site) if file not in python and not file.is_relative_to(site / MODEL)]
    constants: dict[str, Any] = {"VERSION": version(files), "PYTHON": version(python)}
    constants |= {"FILES": hashes(site, files), "PYTHON_FILES": hashes(site, python)}
    head = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in constants.items())
    return head + WORKER.read_text(encoding="utf-8")


def with_absolute_links(page: str, address: str) -> str:
    """Return the 404 page with links from the site's root: a server shows the page at addresses of any depth."""
    root = urlsplit(address).path
    return RELATIVE.sub(lambda found: f"{found['name']}{root}{found['to'].removeprefix('../')}", page)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write the files of a published site. If the site has no address, remove those of an earlier build."""
    site, address = Path(app.outdir), app.config.qkv_address
    if exception is not None:
        return
    if not address:
        for name in ("sw.js", "sitemap.xml"):
            (site / name).unlink(missing_ok=True)
        return
    not_found = site / "404.html"
    root = address if is_english() else f"{address}{LANGUAGES[language()].folder}/"
    not_found.write_text(with_absolute_links(not_found.read_text(encoding="utf-8"), root), encoding="utf-8")
    (site / "sitemap.xml").write_text(sitemap(app), encoding="utf-8")
    if is_english():  # the pages of all languages have one service worker
        (site / "sw.js").write_text(worker(site), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Take the address from the command that builds. Write the service worker after all other files."""
    app.add_config_value("qkv_address", os.environ.get("QKV_ADDRESS", ""), "html", [str])
    app.connect("html-page-context", add_address)
    app.connect("build-finished", finish, priority=999)
