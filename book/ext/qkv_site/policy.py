"""What a page may load and run, said on each page: its own site's files, its own scripts, and WebAssembly.

A browser holds every page to it. So no page can ask another host for anything, and nothing that a reader runs can:
neither a cell's text nor an answer that was imported brings a script into the page.
Source: W3C, Content Security Policy Level 3.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from sphinx.application import Sphinx

OWN_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)  # one without a type runs; widgets' state has one
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>\n?')
RULES = {
    "default-src": "'self'",
    "script-src": "'self' 'wasm-unsafe-eval'",  # and the page's own scripts, each by its contents
    "style-src": "'self' 'unsafe-inline'",  # formulas and widgets' drawings have places of their own
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "worker-src": "'self' blob:",  # a copy that is opened from a disk starts Python from a blob
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
}


def digest(script: str) -> str:
    """What stands for a script in a policy: `'sha256-…'`, in base64."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def with_policy(page: str) -> str:
    """A page that says what it may load, before it loads anything; the scripts that stand in it are allowed by name."""
    page = POLICY.sub("", page)
    own = " ".join(dict.fromkeys(digest(script) for script in OWN_SCRIPT.findall(page)))
    rules = RULES | {"script-src": f"{RULES['script-src']} {own}".rstrip()}
    said = "; ".join(f"{name} {what}" for name, what in rules.items())
    return page.replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{said}">', 1)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Say it on every page that was written."""
    if exception is not None:
        return
    for file in Path(app.outdir).rglob("*.html"):
        file.write_text(with_policy(file.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Run when every page is there, before the service worker lists the files."""
    app.connect("build-finished", finish, priority=960)
