"""One page: the files it loads, what it says about itself, and its ties to other pages."""

from __future__ import annotations

import os
import re
from os.path import normpath
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from . import widgets

# What a page may load, and the sign in its text that it needs it. All else that extensions add is left out.
NEEDS = {
    "styles/furo.css": "",
    "tokens.css": "",
    "qkv.css": "",
    "page.js": "",
    "katex/katex.css": 'class="katex',
    "qkv-site.css": widgets.VIEW,
    "qkv-site.js": widgets.VIEW,
}
SEARCH = {"documentation_options.js", "doctools.js", "sphinx_highlight.js"}
SHARED = {*NEEDS, *SEARCH, "searchtools.js", "language_data.js", "favicon.svg", "qkv-site-licenses.txt"}
FOLDERS = ("book", "chapters", "exercises", "solutions")
NOTEBOOKS = ("chapters/", "exercises/", "solutions/")
OUTSIDE_LINK = re.compile(r'<a (?![^>]*\brel=)(?=[^>]*href="https?://)')
NAVIGATION_LINK = re.compile(r'(?P<tag><a class="[^"]*" href="(?P<href>[^"]*)">)(?P<title>[^<]*)')
SOLUTIONS_PART = re.compile(
    r'(?:<p class="caption"[^>]*>(?:(?!</p>).)*</p>\s*)?<ul[^>]*>(?:(?!</ul>).)*/solutions/.*?</ul>\s*', re.DOTALL
)
NUMBERED = re.compile(r"(?:chapters|exercises|solutions)/(\d\d)_")
EXERCISES_FOR = re.compile(r"^(?:Exercises|Solutions) (?:for|to) chapter \d+: ")
COLAB = "https://colab.research.google.com/github/{repository}/blob/colab/{page}.ipynb"
WORDMARK = '<span class="qkv-query">Q</span><span class="qkv-key">K</span><span class="qkv-value">V</span>'


def local_name(asset: Any) -> str:
    """The path of a script or style below `_static`, without its checksum."""
    return str(getattr(asset, "filename", asset)).split("?")[0].removeprefix("_static/")


def needed(asset: Any, text: str, page: str) -> bool:
    """Whether a page with this text needs a script or style."""
    name = local_name(asset)
    return (name in SEARCH and page == "search") or (name in NEEDS and NEEDS[name] in text)


def take_state(context: dict[str, Any]) -> None:
    """Slim the widgets' state, move it into the text of the page, and make room for the widgets."""
    for script in context["script_files"]:
        attributes = getattr(script, "attributes", {})
        if attributes.get("type") == widgets.STATE:
            state, classes = widgets.slim(attributes["body"])
            context["body"] = (
                widgets.slots(context["body"], classes) + f'<script type="{widgets.STATE}">{state}</script>'
            )


def described(doctree: nodes.document) -> str:
    """The first paragraph of a page, cut at a word, for search engines and previews."""
    paragraph = next((p for p in doctree.findall(nodes.paragraph) if len(p.astext()) > 40), None)
    text = " ".join(paragraph.astext().split()) if paragraph else ""
    return text if len(text) <= 160 else text[:160].rsplit(" ", 1)[0] + "…"


def counterpart(page: str, pages: set[str]) -> str | None:
    """A chapter's exercises, an exercise's chapter. Solutions have none: nothing may lead to them."""
    folder, _, name = page.partition("/")
    other = {"chapters": f"exercises/{name}", "exercises": f"chapters/{name}"}.get(folder)
    return other if other in pages else None


def ties(app: Sphinx, page: str, context: dict[str, Any]) -> dict[str, Any]:
    """What the line under a notebook's title says: time, the other half of the chapter, the notebook itself."""
    folder = page.partition("/")[0]
    other = counterpart(page, app.env.found_docs)
    repository = app.config.qkv_repository
    return {
        "kind": {"chapters": "Chapter", "exercises": "Exercises", "solutions": "Solution"}[folder],
        "number": int(PurePosixPath(page).name.partition("_")[0]),
        "minutes": app.env.metadata[page]["qkv_minutes"] if folder == "chapters" else None,
        "other": other
        and {"link": context["pathto"](other), "text": "Exercises" if folder == "chapters" else "Back to the chapter"},
        "notebook": context["pathto"](f"_sources/{page}.ipynb", 1),
        "file": f"{PurePosixPath(page).name}.ipynb",
        "colab": COLAB.format(repository=repository, page=page) if repository and folder != "solutions" else None,
    }


def numbered(navigation: str, page: str) -> str:
    """The list of pages with the number of each notebook, which is in its file's name.

    "Exercises for chapter 3: why divide?" stands below "Exercises" there, so its number and its subject say enough.
    """

    def number(link: re.Match[str]) -> str:
        target = page if link["href"] == "#" else normpath(PurePosixPath(page).parent / link["href"])
        found = NUMBERED.match(target)
        if found is None:
            return link[0]
        subject = EXERCISES_FOR.sub("", link["title"])
        title = subject if subject == link["title"] else subject[:1].upper() + subject[1:]
        return f'{link["tag"]}<span class="qkv-number">{int(found[1])}</span>{title}'

    # A caption of the list is no heading of the page: furo gives it the role without a level.
    return NAVIGATION_LINK.sub(number, navigation).replace(' role="heading"', "")


def without_solutions(context: dict[str, Any]) -> None:
    """Take every way to a solution off an exercise's page: a reader who is stuck should not stumble over the answer."""
    context["furo_navigation_tree"] = SOLUTIONS_PART.sub("", context["furo_navigation_tree"])
    for side in ("prev", "next"):
        if "solutions/" in (context.get(side) or {}).get("link", ""):
            context[side] = None


def accessible(body: str) -> str:
    """The text of a page with what docutils writes mended for screen readers.

    The role of a reference is deprecated, and its parent is a list. What opens hidden code has a name of its own. The
    corner of a table that names rows and columns is empty, and so no header of anything.
    """
    body = body.replace('role="doc-biblioentry"', 'role="listitem"')
    body = body.replace(' aria-label="Toggle hidden content"', "")
    return re.sub(r'<th class="head[^"]*"><p></p></th>', "<td></td>", body)


def compose(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Change what a page is made of, after every extension had its say."""
    context.setdefault("body", "")
    take_state(context)
    titles = (str((context.get(side) or {}).get("title", "")) for side in ("prev", "next"))
    text = "".join((context["body"], context["furo_navigation_tree"], *titles))
    for kind in ("script_files", "css_files"):
        context[kind][:] = [asset for asset in context[kind] if needed(asset, text, page)]
    context["body"] = accessible(OUTSIDE_LINK.sub('<a rel="noopener" ', context["body"]))
    context["qkv_wordmark"] = WORDMARK
    if page.startswith("exercises/"):
        without_solutions(context)
    context["furo_navigation_tree"] = numbered(context["furo_navigation_tree"], page)
    if doctree is not None:
        context["qkv_description"] = described(doctree)
        if page.startswith(NOTEBOOKS):
            line = app.builder.templates.render("partials/ties.html", ties(app, page, context))
            context["body"] = context["body"].replace("</h1>", f"</h1>\n{line}", 1)


FIRST_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>QKV: self-attention you can touch</title>
<meta http-equiv="refresh" content="0; url={first}"><link rel="canonical" href="{first}"></head>
<body><p><a href="{first}">QKV: self-attention you can touch</a></p></body></html>
"""


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Lead from the folder to the first page, and leave nothing behind that no page of the book has or loads."""
    if exception is not None:
        return
    site = Path(app.outdir)
    (site / "index.html").write_text(FIRST_PAGE.format(first=f"{app.config.root_doc}.html"), encoding="utf-8")
    for file in (site / "_static").rglob("*"):
        if (
            file.is_file()
            and file.relative_to(site / "_static").as_posix() not in SHARED
            and file.parent.name != "fonts"
        ):
            file.unlink()
    for folder in (site, site / "_sources"):
        for file in (file for part in FOLDERS for file in (folder / part).glob("*")):
            if file.relative_to(folder).with_suffix("").as_posix() not in app.env.found_docs:
                file.unlink()


def setup(app: Sphinx) -> None:
    """Run last; the widgets' script is offered to every page and kept by those that need it."""
    app.add_config_value("qkv_repository", os.environ.get("GITHUB_REPOSITORY", ""), "html", [str])
    app.add_css_file("qkv-site.css")
    app.add_js_file("qkv-site.js", loading_method="defer")
    app.add_js_file("page.js", loading_method="defer")
    app.connect("html-page-context", compose, priority=900)
    app.connect("build-finished", finish, priority=900)
