"""Files that pages need and Sphinx does not bring so: the style of KaTeX and of the theme, the palette, the bundle."""

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

from .fonts import cut, inlined

ROOT = Path(__file__).resolve().parents[3]
KATEX = ROOT / "node_modules" / "katex" / "dist"
# The fonts that the formulas of the course use. They arrive with the style, and page.html has them read at once: one
# that came later would move its line.
USED = re.compile(r"url\(fonts/(KaTeX_(?:Main-Regular|Math-Italic|Size\d-Regular)\.woff2)\)")
OTHER_FORMATS = re.compile(r',url\(fonts/[\w-]+\.(?:woff|ttf)\) format\("\w+"\)')
# A rule of the theme's style sheet for elements that have any class or none. With such a rule, a browser styles all
# that is in an element again when the element's class changes, whatever it is: most of a widget's step.
ANY_CLASS = re.compile(r"(?P<selectors>[^{}]*\[class\][^{}]*)(?P<rule>\{[^{}]*\})")
SELECTOR = re.compile(r"[^,()]+(?:\([^()]*\)[^,()]*)*")
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789()=+,. ")


def katex(target: Path, characters: frozenset[str] = LETTERS) -> None:
    """Copy KaTeX's style with the fonts that are used inside it, cut down to these characters.

    The other fonts stay beside it, as woff2, which every browser reads.
    """
    if not KATEX.exists():
        raise ExtensionError("KaTeX's fonts are missing; get them with: npm install --no-save")
    (target / "fonts").mkdir(parents=True, exist_ok=True)
    style = OTHER_FORMATS.sub("", (KATEX / "katex.min.css").read_text(encoding="utf-8"))
    style = USED.sub(lambda found: f"url({inlined(cut(KATEX / 'fonts' / found[1], characters))})", style)
    (target / "katex.css").write_text(style, encoding="utf-8")
    for font in KATEX.glob("fonts/*.woff2"):
        if f"url(fonts/{font.name})" in style:
            shutil.copyfile(font, target / "fonts" / font.name)


def theme(target: Path) -> None:
    """Copy the theme's style without its rules for any class: they are for lists of fields, which no page has."""
    style = Path(furo.__file__).parent / "theme" / "furo" / "static" / "styles" / "furo.css"
    target.mkdir(parents=True, exist_ok=True)
    (target / "furo.css").write_text(without_any_class(style.read_text(encoding="utf-8")), encoding="utf-8")


def without_any_class(style: str) -> str:
    """A style sheet without selectors that ask whether there is a class at all."""

    def rest(found: re.Match[str]) -> str:
        kept = [selector for selector in SELECTOR.findall(found["selectors"]) if "[class]" not in selector]
        return ",".join(kept) + found["rule"] if kept else ""

    return ANY_CLASS.sub(rest, style)


def digest(files: Iterable[Path]) -> str:
    """One hash of the names and contents of files."""
    total = hashlib.sha256()
    for file in sorted(files):
        total.update(file.name.encode() + b"\0" + file.read_bytes())
    return total.hexdigest()


def bring(app: Sphinx, config: Config) -> None:
    """Put the assets where Sphinx copies them from, and tell Sphinx what its pages were made with."""
    assets = Path(app.outdir).parent / "assets"
    katex(assets / "katex")
    theme(assets / "styles")
    shutil.copyfile(ROOT / "src" / "qkv" / "tokens.css", assets / "tokens.css")
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


def with_formulas(app: Sphinx, env: BuildEnvironment) -> None:
    """Once all pages were read, and before one is written: the characters of their formulas join KaTeX's style."""
    shown = (about.get("qkv_formula_characters", "") for about in env.metadata.values())
    katex(Path(app.outdir).parent / "assets" / "katex", LETTERS.union(*shown))


def setup(app: Sphinx) -> None:
    """A new skin writes every page again; outputs of another package read every page again."""
    app.add_config_value("qkv_skin", "", "html", [str])
    app.add_config_value("qkv_execution", "", "env", [str])
    app.add_config_value("comments_config", {}, "html", [dict])  # Jupyter Book sets it for an extension left out here
    app.connect("config-inited", bring)
    app.connect("env-updated", with_formulas)
