"""The course's own Sphinx extension: what a page carries, how formulas and widgets arrive on it.

`maths` renders formulas while the site is built and colours Q, K and V in them; `widgets` draws the widgets and slims
their state; `predictions` covers what answers a prediction; `page_python` draws what exercises are answered with on
their page; `highlighting` marks code, and `folding` folds it in read mode; `prose` marks the parts of a chapter that
have a look of their own; `links` leads citations and terms to their entries; `course_map` draws the maps of the course,
with `pictures`; `search` writes what can be found; `navigation` says where else a page leads; `pages` decides which
files a page loads, and brings it its `chinese`; `policy` says what a page may load; `published` adds what needs the
site's address; `assets` brings KaTeX's style and fonts, and rebuilds what an edit elsewhere made stale.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from . import (
    assets,
    chinese,
    course_map,
    folding,
    highlighting,
    links,
    maths,
    navigation,
    page_python,
    pages,
    policy,
    predictions,
    prose,
    published,
    search,
    widgets,
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the parts; Sphinx calls this."""
    # It numbers sections when all pages are read, and does not say that pages may be read side by side.
    app.extensions["sphinx_multitoc_numbering"].parallel_read_safe = True
    for part in (
        assets,
        chinese,
        maths,
        widgets,
        predictions,
        prose,
        links,
        course_map,
        page_python,
        folding,
        highlighting,
        search,
        navigation,
        pages,
        policy,
        published,
    ):
        part.setup(app)
    # Raise `env_version` when pages are read differently: builds keep what they have read.
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
