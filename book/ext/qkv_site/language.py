"""The language of a site. A translated site is built from woven notebooks and pages; this module adds what is left.

- `t` translates the site's own texts, in templates and in this extension (`tools.translations.skin`).
- Sections keep the anchors of the English page, so that a link fits a page in every language, and the style of a
  section does not depend on its title. The English build writes them down (`ANCHORS`); the others read them.
- Each page links to itself in the other languages. A page that is not finished says so.
- The translations of what scripts show are in one script of the language (`WORDS`), which a browser loads once.
- What all languages share, such as scripts and Python, is in the English site's folder alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms import SphinxTransform

from tools.course import ENGLISH, LANGUAGES, ROOT, TRANSLATED
from tools.translations import scripts, terms, weaving
from tools.translations.skin import is_english, language, speak, t, words_of

ANCHORS = ROOT / "_build" / "anchors.json"
WORDS = "words.js"
STATIC_LINK = re.compile(r'(?<=["(])((?:\.\./)*)(?=_static/)')
_anchors: dict[str, Any] = {}


def names_of_terms() -> dict[str, str]:
    """Return the English name of each term of the glossary, by its name in the site's language.

    Raises:
        ValueError: the site is in English.
    """
    place = TRANSLATED.index(language())
    return {names[place]: term for term, names in terms.glossary().items()}


def load(app: Sphinx, config: Config) -> None:
    """Set the language of the site's texts; for a translated site, read the anchors of the English pages.

    The words of its buttons for code are set in `config`.
    """
    speak(config.language)
    if not is_english():
        _anchors.update(json.loads(ANCHORS.read_text(encoding="utf-8")))
        config.nb_code_prompt_show, config.nb_code_prompt_hide = t("Show the code"), t("Hide the code")


# ── anchors ───────────────────────────────────────────────────────────────────────────────────────


class KeepAnchors(SphinxTransform):
    """Note the anchors of the sections of an English page; give them to those of a translated one.

    It comes before the transform of MyST (879) that looks for the anchors of a page's links to itself.
    """

    default_priority = 870

    def apply(self, **_: Any) -> None:
        """Store the anchors of an English page that is read; replace those of a translated one by the English ones.

        Raises:
            ValueError: a translated page does not have as many sections as the English one.
        """
        document, page = self.document, self.env.docname
        sections = list(document.findall(nodes.section))
        slugs: dict[str, tuple[int, str, str]] = getattr(document, "myst_slugs", {})
        if is_english():
            found = {
                "ids": [section["ids"] for section in sections],
                "slugs": {slug: at[1] for slug, at in slugs.items()},
            }
            self.env.metadata[page]["qkv_anchors"] = found
            return
        english = _anchors[page]
        for section, anchors in zip(sections, english["ids"], strict=True):
            for old in section["ids"]:
                document.ids.pop(old, None)
            section["ids"] = list(anchors)
            document.ids |= dict.fromkeys(anchors, section)
        titles = {section["ids"][0]: section[0].astext() for section in sections}
        document.myst_slugs = {slug: (0, anchor, titles[anchor]) for slug, anchor in english["slugs"].items()}
        self.env.metadata[page]["myst_slugs"] = document.myst_slugs


def write_anchors(app: Sphinx, exception: Exception | None) -> None:
    """Write down the anchors of the English pages, from which the other languages take theirs.

    Nothing is written after an error, or for another language.
    """
    if exception is None and is_english():
        found = {page: about["qkv_anchors"] for page, about in app.env.metadata.items() if "qkv_anchors" in about}
        ANCHORS.write_text(json.dumps(found), encoding="utf-8")


# ── what scripts show ─────────────────────────────────────────────────────────────────────────────


@cache
def words() -> str:
    """Return the script with the translations of all texts that the site's scripts and widgets show."""
    text = json.dumps(words_of(scripts.texts_of(scripts.shown())), ensure_ascii=False, separators=(",", ":"))
    return f"window.qkvWords={text};\n"


def write_words(app: Sphinx, exception: Exception | None) -> None:
    """Write this script into the root of a translated site."""
    if exception is None and not is_english():
        (Path(app.outdir) / WORDS).write_text(words(), encoding="utf-8")


# ── pages ─────────────────────────────────────────────────────────────────────────────────────────


def is_finished(page: str) -> bool:
    """Return whether all texts of a page are translated; the search and the page "not found" have only the site's."""
    return page not in weaving.unfinished()


def languages_asked_for() -> list[str]:
    """Return the codes of the languages that the site is built in, besides English."""
    return os.environ.get("QKV_LANGUAGES", "").split()


def switch(page: str) -> list[dict[str, Any]]:
    """Return the links from a page to itself in each language of the site.

    There are none on a site of one language, and for solutions, which are in English alone.
    """
    up = "../" * (page.count("/") + (0 if is_english() else 1))
    built = [ENGLISH, *languages_asked_for()]
    if len(built) == 1 or page.startswith("solutions/"):
        return []
    return [
        {
            "code": code,
            "tag": other.tag,
            "name": other.name,
            "path": f"{other.folder}/{page}.html".lstrip("/"),
            "isHere": code == language(),
            "link": f"{up}{other.folder}/{page}.html".replace(f"{up}/", up),
        }
        for code, other in LANGUAGES.items()
        if code in built
    ]


def language_of(page: str) -> dict[str, Any]:
    """Return the variables of a template that depend on the language, for a page."""
    here = LANGUAGES[language()]
    return {
        "t": t,
        "language": here.tag,
        "qkv_code": "" if is_english() else language(),
        "qkv_words": "" if is_english() else f"{WORDS}?v={hashlib.sha256(words().encode()).hexdigest()[:8]}",
        "qkv_folder": f"{here.folder}/".lstrip("/"),
        "qkv_languages": switch(page),
        "qkv_alternates": switch(page) if is_finished(page) else [],
        "qkv_unfinished": "" if is_english() or is_finished(page) else link_to_english(page),
    }


def link_to_english(page: str) -> str:
    return f"../{'../' * page.count('/')}{page}.html"


def add(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Add the language to the context of a page's template."""
    context.update(language_of(page))


def share_static(app: Sphinx, exception: Exception | None) -> None:
    """Point the links of a translated site's pages to the English site's scripts and styles, and remove its own.

    Nothing happens after an error, or on the English site.
    """
    site = Path(app.outdir)
    if exception is not None or is_english():
        return
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(STATIC_LINK.sub(r"\1../", text), encoding="utf-8")
    shutil.rmtree(site / "_static")


def setup(app: Sphinx) -> None:
    """Register the steps of this module. The words are read before everything else."""
    app.connect("config-inited", load, priority=10)
    app.add_config_value("qkv_languages", languages_asked_for(), "html", [list])  # others: each page is written again
    app.add_transform(KeepAnchors)
    app.connect("build-finished", write_anchors)
    app.connect("html-page-context", add, priority=10)
    app.connect("build-finished", write_words)
    app.connect("build-finished", share_static, priority=955)
