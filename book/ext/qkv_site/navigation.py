"""Links between pages: the list of all pages, a chapter and its exercises, the notebook and Colab."""

from __future__ import annotations

import os
import re
from os.path import normpath
from pathlib import PurePosixPath
from typing import Any

from sphinx.application import Sphinx

from tools.course import LANGUAGES
from tools.translations.skin import is_english, language, t

NAVIGATION_LINK = re.compile(r'(?P<tag><a class="[^"]*" href="(?P<href>[^"]*)">)(?P<title>[^<]*)')
SOLUTIONS_PART = re.compile(
    r'(?:<p class="caption"[^>]*>(?:(?!</p>).)*</p>\s*)?<ul[^>]*>(?:(?!</ul>).)*/solutions/.*?</ul>\s*', re.DOTALL
)
NUMBERED = re.compile(r"(?:chapters(?:/deeper)?|exercises|solutions)/(\d\d)_")
DEEPER = "chapters/deeper/"
COLAB = "https://colab.research.google.com/github/{repository}/blob/colab/{page}.ipynb"


def folder_of_language() -> str:
    """Return the folder of the site's language, with a slash; "" for English."""
    return "" if is_english() else f"{LANGUAGES[language()].folder}/"


def counterpart(page: str, pages: set[str]) -> str | None:
    """Return the exercises of a chapter, or the chapter of exercises or of a deeper page.

    None if it does not exist, and for other pages, such as solutions.
    """
    if page.startswith(DEEPER):
        return next((other for other in sorted(pages) if other.startswith(f"chapters/{number_of(page):02}_")), None)
    folder, _, name = page.partition("/")
    other = {"chapters": f"exercises/{name}", "exercises": f"chapters/{name}"}.get(folder)
    return other if other in pages else None


def number_of(page: str) -> int:
    """Return the number of a notebook's chapter, with which its name begins."""
    return int(PurePosixPath(page).name.partition("_")[0])


def deeper_of(page: str, pages: set[str]) -> list[str]:
    """Return the deeper pages that belong to a page's chapter."""
    return sorted(other for other in pages if other.startswith(DEEPER) and number_of(other) == number_of(page))


def kind(page: str) -> str:
    """Return the kind of a notebook's page, as the line under its title shows it: "Chapter 3".

    Raises:
        KeyError: the page is in another folder than book, chapters, exercises and solutions.
    """
    if page.startswith(DEEPER):
        return t("Deeper: chapter {n}", n=number_of(page))
    folder = page.partition("/")[0]
    if folder == "book":
        return t("A notebook")
    kinds = {"chapters": t("Chapter {n}"), "exercises": t("Exercises {n}"), "solutions": t("Solution {n}")}
    return kinds[folder].format(n=number_of(page))


def line_under_title(app: Sphinx, page: str, context: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of the line under a page's title: minutes, a link to its counterpart, the notebook, Colab.

    What a page does not have is None.
    """
    folder = page.partition("/")[0]
    other = counterpart(page, app.env.found_docs)
    repository = app.config.qkv_repository
    published = f"{folder_of_language()}{page}"
    return {
        "t": t,
        "kind": kind(page),
        "minutes": app.env.metadata[page]["qkv_minutes"] if folder == "chapters" else None,
        "other": other
        and {
            "link": context["pathto"](other),
            "text": t("Exercises") if other.startswith("exercises/") else t("Back to the chapter"),
        },
        "notebook": context["pathto"](f"_sources/{page}.ipynb", 1),
        "file": f"{PurePosixPath(page).name}.ipynb",
        "colab": COLAB.format(repository=repository, page=published) if repository and folder != "solutions" else None,
    }


def number_pages(navigation: str, page: str) -> str:
    """Return the HTML list of all pages, as `page` shows it, with the number of each notebook, which its name contains.

    "Exercises for chapter 3: why divide?" is listed below "Exercises", so it becomes "3 Why divide?". Two attributes
    are corrected for screen readers.
    """

    openings = (t("Exercises for chapter {n}: "), t("Solutions to chapter {n}: "))
    opening = re.compile("|".join(rf"^{re.escape(text)}".replace(r"\{n\}", r"\d+") for text in openings))

    def number(link: re.Match[str]) -> str:
        target = page if link["href"] == "#" else normpath(PurePosixPath(page).parent / link["href"])
        found = NUMBERED.match(target)
        if found is None:
            return link[0]
        subject = opening.sub("", link["title"])
        title = subject if subject == link["title"] else subject[:1].upper() + subject[1:]
        return f'{link["tag"]}<span class="qkv-number">{int(found[1])}</span>{title}'

    # A caption of the list is not a heading of the page, but furo gives it that role, without a level. A screen reader
    # finds the current page by the attribute aria-current, not by a class.
    shown = NAVIGATION_LINK.sub(number, navigation).replace(' role="heading"', "")
    return re.sub(r'(<a class="current reference internal" href="#")', r'\1 aria-current="page"', shown)


def remove_solutions(context: dict[str, Any]) -> None:
    """Change the context of a page of exercises: without links to solutions, so that nobody finds one by accident."""
    context["furo_navigation_tree"] = SOLUTIONS_PART.sub("", context["furo_navigation_tree"])
    for side in ("prev", "next"):
        if "solutions/" in (context.get(side) or {}).get("link", ""):
            context[side] = None


def prepare_sidebar(context: dict[str, Any], page: str) -> None:
    """Change the context: number the pages in the sidebar; for exercises, remove links to solutions."""
    if page.startswith("exercises/"):
        remove_solutions(context)
    context["furo_navigation_tree"] = number_pages(context["furo_navigation_tree"], page)


def setup(app: Sphinx) -> None:
    """Register the repository of the published notebooks, which only the publishing workflow knows."""
    app.add_config_value("qkv_repository", os.environ.get("GITHUB_REPOSITORY", ""), "html", [str])
