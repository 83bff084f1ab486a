"""Add a Content Security Policy to each page: it may load files of its site, and run its own scripts and WebAssembly.

Browsers enforce the policy. So neither a page nor code that a reader runs on it can send a request to another host, and
no cell text and no imported answer can add a script to the page.
Source: W3C, Content Security Policy Level 3.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from sphinx.application import Sphinx

OWN_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)  # a script with a type does not run: widgets' state
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>\n?')
RULES = {
    "default-src": "'self'",
    "script-src": "'self' 'wasm-unsafe-eval'",  # and the page's inline scripts, each by its hash
    "style-src": "'self' 'unsafe-inline'",  # formulas and widgets' drawings have inline styles
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "worker-src": "'self' blob:",  # a page that is opened from a file starts Python from a blob
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
}


def digest(script: str) -> str:
    """Return the hash of a script as a policy contains it: `'sha256-…'`, in base64."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def with_policy(page: str) -> str:
    """Return a page with its policy at the start of its head. The page's inline scripts are allowed by their hashes."""
    page = POLICY.sub("", page)
    own = " ".join(dict.fromkeys(digest(script) for script in OWN_SCRIPT.findall(page)))
    rules = RULES | {"script-src": f"{RULES['script-src']} {own}".rstrip()}
    policy = "; ".join(f"{name} {sources}" for name, sources in rules.items())
    return page.replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{policy}">', 1)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Add the policy to every page that was written."""
    if exception is not None:
        return
    for file in Path(app.outdir).rglob("*.html"):
        file.write_text(with_policy(file.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register `finish`, which Sphinx calls once all pages are written, before the service worker lists the files."""
    app.connect("build-finished", finish, priority=960)
