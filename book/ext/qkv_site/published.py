"""Write what needs the site's address: a sitemap, and the page for missing addresses.

A site that is built to be served on this machine has no address, and no service worker (`tools.service_worker`), which
would show old pages after an edit.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sphinx.application import Sphinx

from tools.course import LANGUAGES
from tools.translations.skin import is_english, language

from .language import is_finished

UNLISTED = ("solutions/", "search", "404")
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
    """Return the sitemap as XML: the pages that search engines should know, in the site's language.

    Solutions and unfinished translations are left out.
    """
    pages = sorted(page for page in app.env.found_docs if not page.startswith(UNLISTED))
    root = app.config.qkv_address if is_english() else f"{app.config.qkv_address}{LANGUAGES[language()].folder}/"
    listed = (page for page in pages if is_english() or is_finished(page))
    urls = "".join(f"<url><loc>{root}{page}.html</loc></url>\n" for page in listed)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
    )


def with_absolute_links(page: str, address: str) -> str:
    """Return the 404 page with links from the site's root: a server shows the page at addresses of any depth."""
    root = urlsplit(address).path
    return RELATIVE.sub(lambda found: f"{found['name']}{root}{found['to'].removeprefix('../')}", page)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write the sitemap of a published site, and make the links of its 404 page absolute.

    If the site has no address, remove the sitemap of an earlier build. Nothing happens after an error.
    """
    site, address = Path(app.outdir), app.config.qkv_address
    if exception is not None:
        return
    if not address:
        (site / "sitemap.xml").unlink(missing_ok=True)
        return
    not_found = site / "404.html"
    root = address if is_english() else f"{address}{LANGUAGES[language()].folder}/"
    not_found.write_text(with_absolute_links(not_found.read_text(encoding="utf-8"), root), encoding="utf-8")
    (site / "sitemap.xml").write_text(sitemap(app), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register the site's address, which comes from QKV_ADDRESS, and the steps of this module."""
    app.add_config_value("qkv_address", os.environ.get("QKV_ADDRESS", ""), "html", [str])
    app.connect("html-page-context", add_address)
    app.connect("build-finished", finish, priority=999)
