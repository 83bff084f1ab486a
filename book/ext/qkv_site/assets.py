"""Files that pages need in a form that Sphinx does not supply: the styles of KaTeX and the theme."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import furo
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

from tools.translations.skin import is_english

from .fonts import data_uri, subset_woff2

ROOT = Path(__file__).resolve().parents[3]
KATEX = ROOT / "node_modules" / "katex" / "dist"
# The fonts that the course's formulas use. The style sheet contains them, and page.html loads them before it shows the
# text: a font that arrives later would move the text.
USED = re.compile(r"url\(fonts/(KaTeX_(?:Main-Regular|Math-Italic|Size\d-Regular)\.woff2)\)")
OTHER_FORMATS = re.compile(r',url\(fonts/[\w-]+\.(?:woff|ttf)\) format\("\w+"\)')
# A rule of the theme's style sheet with the attribute selector `[class]`. With such a rule, a browser recomputes all
# styles inside an element whenever any class of the element changes. This takes most of the time of a widget's step.
ANY_CLASS = re.compile(r"(?P<selectors>[^{}]*\[class\][^{}]*)(?P<rule>\{[^{}]*\})")
SELECTOR = re.compile(r"[^,()]+(?:\([^()]*\)[^,()]*)*")
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789()=+,. ")


def write_katex(target: Path, characters: frozenset[str] = LETTERS) -> None:
    """Write KaTeX's style sheet, katex.css, into a folder, with the course's fonts in it, reduced to these characters.

    The other fonts are copied into `fonts` beside it, as woff2, which every browser reads. Folders are made if need be.

    Raises:
        ExtensionError: KaTeX is not installed.
    """
    if not KATEX.exists():
        raise ExtensionError("KaTeX's fonts are missing. Install them with: npm install --no-save")
    (target / "fonts").mkdir(parents=True, exist_ok=True)
    style = OTHER_FORMATS.sub("", (KATEX / "katex.min.css").read_text(encoding="utf-8"))
    style = USED.sub(lambda found: f"url({data_uri(subset_woff2(KATEX / 'fonts' / found[1], characters))})", style)
    (target / "katex.css").write_text(style, encoding="utf-8")
    for font in KATEX.glob("fonts/*.woff2"):
        if f"url(fonts/{font.name})" in style:
            shutil.copyfile(font, target / "fonts" / font.name)


def write_theme(target: Path) -> None:
    """Write the theme's style sheet as `furo.css` into a folder, which is made if need be; it replaces the theme's own.

    Selectors with `[class]` are left out, and rules that then have none: they style field lists, and no page has one.
    """
    style = Path(furo.__file__).parent / "theme" / "furo" / "static" / "styles" / "furo.css"
    target.mkdir(parents=True, exist_ok=True)
    (target / "furo.css").write_text(without_any_class(style.read_text(encoding="utf-8")), encoding="utf-8")


def without_any_class(style: str) -> str:
    """Return a style sheet without the selectors that contain `[class]`, and without rules that then have none."""

    def rest(found: re.Match[str]) -> str:
        kept = [selector for selector in SELECTOR.findall(found["selectors"]) if "[class]" not in selector]
        return ",".join(kept) + found["rule"] if kept else ""

    return ANY_CLASS.sub(rest, style)


def digest(files: Iterable[Path]) -> str:
    """Return a hash of the names, without folders, and the contents of files."""
    total = hashlib.sha256()
    for file in sorted(files):
        total.update(file.name.encode() + b"\0" + file.read_bytes())
    return total.hexdigest()


def add_assets(app: Sphinx, config: Config) -> None:
    """Write the assets into a folder that Sphinx copies, and set the configuration values that make pages stale.

    For another language, they are not written: it has those of the English site.

    Raises:
        ExtensionError: KaTeX is not installed.
    """
    assets = ROOT / "_build" / "assets"
    if is_english():
        write_katex(assets / "katex")
        write_theme(assets / "styles")
    config.html_static_path.append(str(assets))
    skin = [
        file
        for folder in (ROOT / "book", assets)
        for file in folder.rglob("*")
        if file.suffix in {".py", ".html", ".css", ".js", ".mjs", ".svg"}
    ]
    config.qkv_skin = digest(skin)
    stamp = Path(config.nb_execution_cache_path or "") / "stamp"
    config.qkv_execution = stamp.read_text(encoding="utf-8") if stamp.exists() else ""


def add_formula_characters(app: Sphinx, env: BuildEnvironment) -> None:
    """Write KaTeX's style sheet again, with all characters of the formulas of all pages in its fonts.

    Only the English build does this. Errors are those of `write_katex`.
    """
    if not is_english():
        return
    shown = (about.get("qkv_formula_characters", "") for about in env.metadata.values())
    write_katex(ROOT / "_build" / "assets" / "katex", LETTERS.union(*shown))


def setup(app: Sphinx) -> None:
    """Register configuration values and events.

    When `qkv_skin` changes, Sphinx writes every page again. When `qkv_execution` changes, it reads every page again.
    """
    app.add_config_value("qkv_skin", "", "html", [str])
    app.add_config_value("qkv_execution", "", "env", [str])
    app.add_config_value("comments_config", {}, "html", [dict])  # set by Jupyter Book for an extension not used here
    app.connect("config-inited", add_assets)
    app.connect("env-updated", add_formula_characters)
