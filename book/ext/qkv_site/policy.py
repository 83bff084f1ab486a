"""Add a Content Security Policy to each page: it may load files of its site, and run its own scripts and WebAssembly.

Browsers enforce the policy. So a page sends no request to another host, and no text can become a script of the page. A
policy is about requests: it does not keep a reader from following a link to another host.

The Python that a reader runs is in a worker inside a frame without an origin. The frame's own policy, which the worker
inherits together with the page's, allows no request at all (`browser_python/runtime/frame.html`). Without an origin,
the worker reaches nothing that the site keeps in this browser: no storage, no cache, no other page, no service worker.

Source: W3C, Content Security Policy Level 3; WHATWG, HTML, sections "The iframe element" (sandbox) and "Workers".
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from sphinx.application import Sphinx

OWN_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)  # a script with a type does not run: widgets' state
FRAME = Path(__file__).resolve().parents[3] / "browser_python" / "runtime" / "frame.html"
FRAME_SCRIPTS = OWN_SCRIPT.findall(FRAME.read_text(encoding="utf-8"))
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>\n?')
RULES = {
    "default-src": "'self'",
    "script-src": "'self' 'wasm-unsafe-eval'",  # and the page's inline scripts, each by its hash
    "style-src": "'self' 'unsafe-inline'",  # formulas and widgets' drawings have inline styles
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "worker-src": "'self' blob:",  # the service worker is the site's own; Python's worker starts from a blob
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
}


def digest(script: str) -> str:
    """Return the hash of a script as a policy contains it: `'sha256-…'`, in base64."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def with_policy(page: str) -> str:
    """Return a page with its policy at the start of its head, in place of an earlier one.

    Inline scripts are allowed by their hashes. They are those of the page, and that of the frame with Python's worker,
    to which the page's policy applies as well.
    """
    page = POLICY.sub("", page)
    own = " ".join(dict.fromkeys(map(digest, [*OWN_SCRIPT.findall(page), *FRAME_SCRIPTS])))
    rules = RULES | {"script-src": f"{RULES['script-src']} {own}".rstrip()}
    policy = "; ".join(f"{name} {sources}" for name, sources in rules.items())
    return page.replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{policy}">', 1)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Add the policy to the file of every page that was written, unless the build failed."""
    if exception is not None:
        return
    for file in Path(app.outdir).rglob("*.html"):
        file.write_text(with_policy(file.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register `finish`, which Sphinx calls once all pages are written, before the service worker lists the files."""
    app.connect("build-finished", finish, priority=960)
