"""The course's own Sphinx extension. Its modules, by what they work on:

- Formulas: `maths` renders them at build time and colours Q, K and V.
- Widgets: `widgets` draws them and makes their saved state smaller; `predictions` hides the answer to a prediction.
- Code: `highlighting` marks it up, `folding` folds it in read mode, and `page_python` adds the controls that run it.
- Text: `prose` finds the parts of a chapter that have a style of their own, `links` links to references and terms, and
  `terms` lists what the terms mean.
- Between pages: `navigation`, `search` (the index), and `course_map` with its `pictures`.
- Whole pages: `pages` chooses the files that a page loads, `chinese` adds fonts, and `policy` restricts what may load.
- Language: `language` has the site's own texts in each language, and keeps anchors and links.
- Site: `published` adds what needs the site's address. `assets` adds KaTeX's style and fonts and rebuilds stale pages.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

sys.path.append(str(Path(__file__).resolve().parents[3]))  # `tools` and `browser_python`, which are not installed

from . import (
    assets,
    chinese,
    course_map,
    folding,
    highlighting,
    language,
    links,
    maths,
    navigation,
    page_python,
    pages,
    policy,
    predictions,
    pretrained,
    prose,
    published,
    search,
    terms,
    widgets,
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Set up all modules in their order, and return the extension's version. Sphinx calls this function."""
    # This extension works after all pages have been read, but does not declare that pages may be read in parallel.
    app.extensions["sphinx_multitoc_numbering"].parallel_read_safe = True
    for part in (
        language,
        assets,
        chinese,
        maths,
        widgets,
        predictions,
        prose,
        links,
        course_map,
        page_python,
        pretrained,
        folding,
        highlighting,
        search,
        terms,
        navigation,
        pages,
        policy,
        published,
    ):
        part.setup(app)
    # Increase `env_version` when pages are read in a different way: Sphinx caches the pages that it has read.
    return {"version": "1", "env_version": 4, "parallel_read_safe": True, "parallel_write_safe": True}
