"""What only a published site has, since it needs an address: a map for search engines, and work without a network.

The service worker is never written for a site that is built and served here: it would show pages from before an edit.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sphinx.application import Sphinx

PYTHON = "_static/python"
WORKER = Path(__file__).with_name("sw.js")
UNLISTED = ("solutions/", "search", "404")
# What a browser is not sent, or must ask for anew each time.
UNKEPT = {"sw.js", "sitemap.xml", "objects.inv", ".buildinfo", ".inputs", ".nojekyll"}
RELATIVE = re.compile(
    r'(?P<name>\b(?:href|src|action|content)=")(?P<to>(?:\.\./)*[\w./-]+\.(?:html|css|js|svg|png)[^"]*")'
)


def site_of(app: Sphinx) -> dict[str, Any]:
    """What every template may know of the site's address: empty, or ending with a slash."""
    return {"qkv_address": app.config.qkv_address}


def tell(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Let each page know it."""
    context.update(site_of(app))


def sitemap(app: Sphinx) -> str:
    """The pages that search engines should know."""
    pages = sorted(page for page in app.env.found_docs if not page.startswith(UNLISTED))
    urls = "".join(f"<url><loc>{app.config.qkv_address}{page}.html</loc></url>\n" for page in pages)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
    )


def files_of(site: Path) -> list[Path]:
    """The files that a reader may be sent."""
    files = (file for file in site.rglob("*") if file.is_file() and file.name not in UNKEPT)
    return sorted(file for file in files if file.relative_to(site).parts[0] != "reports")


def version(files: list[Path]) -> str:
    """A name for the contents of files."""
    return hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()[:16]


def worker(site: Path) -> str:
    """The service worker, which knows every file of this build and nothing of another.

    It keeps all of the course at the first visit, and what runs Python on a page when a reader first runs something.
    """
    python = [file for file in files_of(site) if file.is_relative_to(site / PYTHON)]
    files = [file for file in files_of(site) if file not in python]
    names = [file.relative_to(site).as_posix() for file in files]
    known = {"VERSION": version(files), "PYTHON": version(python), "FILES": names}
    about = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in known.items())
    return about + WORKER.read_text(encoding="utf-8")


def anchored(page: str, address: str) -> str:
    """The page for addresses that are none, which a server shows at any depth: its links lead from the root."""
    root = urlsplit(address).path
    return RELATIVE.sub(lambda found: f"{found['name']}{root}{found['to'].removeprefix('../')}", page)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write what a published site has, and take it away from one that is not."""
    site, address = Path(app.outdir), app.config.qkv_address
    if exception is not None:
        return
    if not address:
        for name in ("sw.js", "sitemap.xml"):
            (site / name).unlink(missing_ok=True)
        return
    missed = site / "404.html"
    missed.write_text(anchored(missed.read_text(encoding="utf-8"), address), encoding="utf-8")
    (site / "sitemap.xml").write_text(sitemap(app), encoding="utf-8")
    (site / "sw.js").write_text(worker(site), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """The address comes from the command that builds; the worker is written when every other file is there."""
    app.add_config_value("qkv_address", os.environ.get("QKV_ADDRESS", ""), "html", [str])
    app.connect("html-page-context", tell)
    app.connect("build-finished", finish, priority=999)
