"""Compose each page: the files that it loads, and its metadata. After the build, remove files that no page needs."""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tools.translations.skin import is_english, t

from . import chinese, maths, navigation, prose, widgets
from .language import language_of
from .page_python import controls
from .published import site_of

# The files that a page may load, each with a text: a page that contains this text needs the file. All other files that
# extensions add are left out.
WEIGHTS = ("repeater", "tagger", "training-runs-labeller", "training-runs-repeater", "training-runs-tagger")
# The widgets whose script and style only their own pages load; tools/bundle.mjs makes these files.
RARE = json.loads(Path(__file__).with_name("rare_widgets.json").read_text(encoding="utf-8"))
OF_RARE = [f"qkv-widget-{stem}.{kind}" for stem in RARE for kind in ("css", "js")]
NEEDS = {
    "styles/furo.css": "",
    "tokens.css": "",
    "qkv.css": "",
    "page.js": "",
    "progress.js": "",
    "map.js": "qkv-formula",
    "predictions.js": "qkv-prediction-",
    "python-page.js": controls.SIGN,
    "python-page.css": controls.SIGN,
    "katex/katex.css": 'class="katex',
    "qkv-site.css": widgets.VIEW,
    **{f"qkv-weights-{name}.js": f"qkv-weights-{name}" for name in WEIGHTS},
    **{name: f"{Path(name).stem} " for name in OF_RARE},
    "qkv-site.js": widgets.VIEW,
}
# Files that readers need on their second page, and not on the first, which fetches them when it is ready. Of the rare
# widgets, those of the largest pages.
ON_LARGEST = [f"qkv-widget-{stem}.{kind}" for stem in ("everywhere", "real_model") for kind in ("css", "js")]
PREFETCHED = ("predictions.js", "python-page.js", "python-page.css", *ON_LARGEST)
# Files that a widget loads later, when a reader needs them.
LATER = {"qkv-weights-repeater-checkpoints.js", "qkv-weights-training.js", "real-model.js"}
SHARED = {*NEEDS, *LATER, "search.js", "favicon.svg", "card.png", "qkv-site-licenses.txt"}
FOLDERS = ("book", "chapters", "exercises", "solutions")
NOTEBOOKS = ("chapters/", "exercises/", "solutions/", "book/look")
OUTSIDE_LINK = re.compile(r'<a (?![^>]*\brel=)(?=[^>]*href="https?://)')
# Text of prose with Chinese in it. Inside a tag, a script, a figure or code, a span would do harm.
PROSE = re.compile(r"(<(?:p|li|td|dd|em|strong)[^>]*>)([^<]*[\u4e00-\u9fff][^<]*)")
CHINESE = re.compile(r"[\u4e00-\u9fff]+")
IN_TEMPLATES = {"search": "注意力"}  # Chinese that a page's template contains, but not its body
WORDMARK = '<span class="qkv-query">Q</span><span class="qkv-key">K</span><span class="qkv-value">V</span>'


def tagline() -> str:
    """Return what the course is, in a sentence."""
    return t(
        "A course on self-attention: live widgets on every page, the same text as notebooks, and checks that name the "
        "mistake."
    )


def local_name(asset: Any) -> str:
    """Return the path of a script or style below `_static`, without its checksum."""
    return str(getattr(asset, "filename", asset)).split("?")[0].removeprefix("_static/")


def needed(asset: Any, text: str) -> bool:
    """Check whether a page with this text needs a script or style."""
    name = local_name(asset)
    return name in NEEDS and NEEDS[name] in text


def prefetched(context: dict[str, Any]) -> list[str]:
    """Return the addresses, from the first page, of the files that it fetches for the next one."""
    tags = [context["js_tag"](script) for script in context["script_files"] if local_name(script) in PREFETCHED]
    tags += [context["css_tag"](style) for style in context["css_files"] if local_name(style) in PREFETCHED]
    return [re.findall(r'(?:src|href)="([^"]+)"', tag)[0] for tag in tags]


def states(context: dict[str, Any]) -> list[str]:
    """Return the saved states of the page's widgets, as JSON."""
    scripts = (getattr(script, "attributes", {}) for script in context["script_files"])
    return [attributes["body"] for attributes in scripts if attributes.get("type") == widgets.STATE]


def with_widgets(body: str, bundle: str) -> str:
    """Return the body of a page with each widget drawn in its place, and with their reduced state at the end."""
    state, traits = widgets.slim(bundle)
    return widgets.slots(body, traits) + f'<script type="{widgets.STATE}">{state}</script>'


def described(doctree: nodes.document) -> str:
    """Return the first paragraph of a page with more than 40 characters, for search engines and previews.

    It has at most 160 characters, and is shortened at the end of a word. It is "" if there is none.
    """
    paragraph = next((p for p in doctree.findall(nodes.paragraph) if len(p.astext()) > 40), None)
    text = " ".join(paragraph.astext().split()) if paragraph else ""
    return text if len(text) <= 160 else text[:160].rsplit(" ", 1)[0] + "…"


def accessible(body: str) -> str:
    """Return the body of a page with corrections for screen readers to what docutils writes.

    The role of a reference is deprecated, and its parent is a list. The button that shows hidden code already has a
    text. The empty corner of a table is not a header of anything. On the English site, Chinese text is marked as such.
    """
    body = body.replace('role="doc-biblioentry"', 'role="listitem"')
    body = body.replace(' aria-label="Toggle hidden content"', "")
    body = re.sub(r'<th class="head[^"]*"><p></p></th>', "<td></td>", body)
    if not is_english():
        return body
    return PROSE.sub(lambda found: found[1] + CHINESE.sub(r'<span lang="zh">\g<0></span>', found[2]), body)


def compose(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Change the context of a page's template, after all other extensions have changed it.

    Leave out files that the page does not need, draw its widgets, add its fonts, description and line under the title.
    """
    context.setdefault("body", "")
    bundles = states(context)
    titles = (str((context.get(side) or {}).get("title", "")) for side in ("prev", "next"))
    weights = (f"qkv-weights-{name} " for bundle in bundles for name in sorted(widgets.weights(bundle)))
    stems = (f"qkv-widget-{widgets.stem_of(name)} " for bundle in bundles for name in sorted(widgets.names(bundle)))
    text = "".join((context["body"], context["furo_navigation_tree"], *titles, *weights, *stems))
    context["qkv_prefetched"] = prefetched(context) if page == app.config.root_doc else []
    for kind in ("script_files", "css_files"):
        context[kind][:] = [asset for asset in context[kind] if needed(asset, text)]
    context["body"] = accessible(OUTSIDE_LINK.sub('<a rel="noopener" ', context["body"]))
    for side in ("prev", "next"):
        if other := context.get(side):
            context[side] = other | {"title": maths.typeset_title(other["title"])}
    for part in ("body", "toc"):
        context[part] = maths.typeset_titles(context.get(part, ""))
    for bundle in bundles:  # last: in a browser, a widget reuses its drawing only if nothing has changed it
        context["body"] = with_widgets(context["body"], bundle)
    context["qkv_chinese"] = chinese.style(context["body"] + IN_TEMPLATES.get(page, ""))
    context["qkv_wordmark"] = WORDMARK
    context["qkv_version"] = importlib.metadata.version("qkv")
    context["qkv_description"] = (described(doctree) if doctree is not None else "") or tagline()
    navigation.prepare_sidebar(context, page)
    context["furo_navigation_tree"] = maths.typeset_titles(context["furo_navigation_tree"])
    if doctree is not None and page.startswith(NOTEBOOKS):
        line = app.builder.templates.render("partials/ties.html", navigation.line_under_title(app, page, context))
        above = next(mark for mark in (prose.OPENING_END, "</h1>") if mark in context["body"])
        context["body"] = context["body"].replace(above, f"{above}\n{line}", 1)


def not_found_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the 404 page: its name, context and template."""
    suggested = (
        ("book/index", t("the first page")),
        ("book/map", t("the map of the course")),
        ("search", t("the search")),
    )
    places = [(name, text) for name, text in suggested if name in app.env.found_docs or name == "search"]
    yield "404", {"places": places}, "404.html"


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write index.html, which forwards to the first page, and remove all files that no page of the book uses.

    Nothing happens after an error.
    """
    if exception is not None:
        return
    site = Path(app.outdir)
    about = {
        "t": t,
        "first": app.config.root_doc,
        "about": tagline(),
        **language_of(app.config.root_doc),
        **site_of(app),
    }
    first = app.builder.templates.render("first.html", about)
    (site / "index.html").write_text(first, encoding="utf-8")
    for file in (site / "_static").rglob("*"):
        name = file.relative_to(site / "_static")
        shared = file.parent.name == "fonts" or name.as_posix() in SHARED or name.parts[0] == "python"
        if file.is_file() and not shared:
            file.unlink()
    for root in (site, site / "_sources"):
        for folder in FOLDERS:
            remove_others(root / folder, {root / page for page in app.env.found_docs})


def remove_others(folder: Path, pages: set[Path]) -> None:
    """Remove the files below a folder that belong to none of these pages, and the folders that become empty."""
    for file in sorted(folder.rglob("*"), reverse=True):  # the files in a folder come before the folder
        if file.is_dir():
            if not any(file.iterdir()):
                file.rmdir()
        elif file.with_suffix("") not in pages:
            file.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def setup(app: Sphinx) -> None:
    """Register the files and events. Every page is given all scripts and styles; `compose` removes unneeded ones."""
    app.add_css_file("qkv-site.css")
    for name in WEIGHTS:
        app.add_js_file(f"qkv-weights-{name}.js", loading_method="defer", priority=400)  # before the code that uses it
    for stem in RARE:
        app.add_css_file(f"qkv-widget-{stem}.css")
        app.add_js_file(f"qkv-widget-{stem}.js", loading_method="defer", priority=400)  # before the code that adds it
    app.add_js_file("qkv-site.js", loading_method="defer")
    app.add_js_file("page.js", loading_method="defer")
    app.add_js_file("progress.js", loading_method="defer")
    app.add_js_file("map.js", loading_method="defer")
    app.connect("html-collect-pages", not_found_page)
    app.connect("html-page-context", compose, priority=900)
    app.connect("build-finished", finish, priority=900)
