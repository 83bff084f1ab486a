"""What the site of a language is built from: the woven course, with the outputs of the English notebooks.

`prepare` writes into a folder all that Jupyter Book reads: notebooks and pages, a cache with their outputs, the
configuration, the table of contents, and links to what all languages share. Hardly any notebook runs again.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import nbformat
import yaml
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn

from tools.course import ROOT
from tools.translations import outputs, weaving
from tools.translations.skin import speak, t

SHARED = ("src", "browser_python", "tools", "node_modules", "book/ext", "book/static", "book/templates")
EXERCISES = "exercises"
RUN_AGAIN = ("book/xray.ipynb",)  # their outputs are sentences of the package, so they run in each language


def prepare(language: str, folder: Path, toc: Path, english: Path) -> list[str]:
    """Write what the site of a language is built from into a folder. Return the notebooks that have to run there.

    The texts of `skin` are in this language afterwards. What all languages share is linked there, in place of older
    links.

    Args:
        language: its code, such as zh_TW
        folder: where all of it is written
        toc: the table of contents of the English site
        english: the cache with the English notebooks that have run
    """
    speak(language)
    woven = weaving.weave(language, folder)
    for name in SHARED:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)  # an older one may lead into a checkout that was here before
        place.symlink_to(ROOT / name)
    write(
        folder / "_config.yml",
        (ROOT / "_config.yml").read_text(encoding="utf-8").replace("language: en", f"language: {language}"),
    )
    write(folder / "_toc.yml", table_of_contents(toc))
    return fill_cache(language, folder, [path for path in woven if path.suffix == ".ipynb"], english)


def write(path: Path, text: str) -> None:
    """Write a file, unless it has this text already: Sphinx reads pages again when their files are newer."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def table_of_contents(toc: Path) -> str:
    """Return a table of contents as YAML, with translated captions.

    It has no solutions, which are in English alone.
    """
    table = yaml.safe_load(toc.read_text(encoding="utf-8"))
    parts = table.get("parts", [])
    for part in parts:
        part["caption"] = t(part["caption"])
        part["chapters"] = [page for page in part["chapters"] if not page["file"].startswith("solutions/")]
    table["parts"] = [part for part in parts if part["chapters"]]
    return yaml.safe_dump(table, sort_keys=False, allow_unicode=True)


def fill_cache(language: str, folder: Path, notebooks: list[Path], english: Path) -> list[str]:
    """Write a cache with the woven notebooks and their outputs, which Jupyter Book takes from there.

    The outputs are those of the English notebooks in the cache `english`, with translated texts; an exercise gets none,
    and a notebook that is not in that cache is left out. The new cache is folder/_build/.jupyter_cache, where an
    earlier one is deleted. Return the paths of the notebooks in RUN_AGAIN, which are not in it and have to run in this
    language.
    """
    to_run = []
    place = folder / "_build" / ".jupyter_cache"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    source, cache = get_cache(str(english)), get_cache(str(place))
    for path in notebooks:
        name = path.relative_to(folder)
        before = nbformat.read(ROOT / name, as_version=4)
        after = json.loads(path.read_text(encoding="utf-8"))
        if name.parts[0] != EXERCISES:  # an exercise prints only that nothing has been attempted
            try:
                run = with_outputs(json.loads(nbformat.writes(before)), cached(source, before))
            except KeyError:
                continue  # a notebook that is not a page of the site
            if name.as_posix() in RUN_AGAIN:
                to_run.append(str(path))
                continue
            after = outputs.transplanted(run, after, weaving.translate_page(ROOT / name, language))
        # Read, not from_dict: the cache's hash would differ, because in a file a source is a list of lines.
        bundle = CacheBundleIn(nbformat.reads(json.dumps(after), as_version=4), str(path))
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    return to_run


def cached(cache: Any, notebook: Any) -> dict[str, Any]:
    """Return the cached run of a notebook, as JSON. A KeyError is raised if it is not in the cache."""
    found = cache.get_cache_bundle(cache.match_cache_notebook(notebook).pk).nb
    return dict(json.loads(nbformat.writes(found)))


def with_outputs(notebook: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """Put the outputs of a run into a notebook, and return it.

    The run comes from a cache, which has only the code cells.
    """
    cells = iter([cell for cell in run["cells"] if cell["cell_type"] == "code"])
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            done = next(cells)
            cell |= {"outputs": done["outputs"], "execution_count": done["execution_count"]}
    notebook["metadata"]["widgets"] = run["metadata"].get("widgets", {})
    return notebook
