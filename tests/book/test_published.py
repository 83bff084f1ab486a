"""What a published site has besides its pages."""

import base64
import hashlib
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from qkv_site.published import finish, sitemap, with_absolute_links

from tools.service_worker import worker, write

ADDRESS = "https://who.github.io/what/"


def app(site: Path, address: str) -> SimpleNamespace:
    pages = {"book/index", "chapters/01_x", "solutions/01_x"}
    return SimpleNamespace(
        outdir=site, config=SimpleNamespace(qkv_address=address), env=SimpleNamespace(found_docs=pages)
    )


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for name in ("404.html", "index.html", "chapters/01_x.html", "_static/page.js", "objects.inv", "reports/x.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{name}", encoding="utf-8")
    return tmp_path


def test_search_engines_are_told_of_every_page_but_solutions(site: Path):
    listed = re.findall("<loc>(.*?)</loc>", sitemap(app(site, ADDRESS)))
    assert listed == [f"{ADDRESS}book/index.html", f"{ADDRESS}chapters/01_x.html"]


def test_the_worker_knows_every_file_of_one_build(site: Path):
    files = json.loads(re.search(r"const FILES = (.*);", worker(site))[1])
    assert list(files) == ["404.html", "_static/page.js", "chapters/01_x.html", "index.html"]
    content = (site / "index.html").read_bytes()
    assert base64.b64decode(files["index.html"]) == hashlib.sha256(content).digest(), "what it serves is checked"
    before = worker(site).splitlines()[0]
    (site / "_static" / "page.js").write_text("changed", encoding="utf-8")
    assert worker(site).splitlines()[0] != before, "browsers would keep the old build for ever"


def test_the_worker_knows_the_pages_of_every_language(site: Path):
    (site / "zh-tw").mkdir()
    (site / "zh-tw" / "index.html").write_text("頁", encoding="utf-8")
    assert "zh-tw/index.html" in json.loads(re.search(r"const FILES = (.*);", worker(site))[1])
    assert "zh-tw" in json.loads(re.search(r"const LANGUAGES = (.*);", worker(site))[1])


def test_python_is_kept_when_it_is_first_used_and_until_it_changes(site: Path):
    def constants() -> list[str]:
        return [line for line in worker(site).splitlines()[:5] if not line.startswith("const LANGUAGES")][:3]

    plain = constants()
    (site / "_static" / "python").mkdir()
    (site / "_static" / "python" / "course.bin").write_text("large", encoding="utf-8")
    version, python, files = constants()
    assert (version, files) == (plain[0], plain[2]), "fetched at the first visit"
    assert python != plain[1]


def test_only_a_site_with_an_address_has_a_worker_and_a_sitemap(site: Path):
    finish(app(site, ADDRESS), None)
    write(site, ADDRESS)
    assert (site / "sw.js").exists()
    assert (site / "sitemap.xml").exists()
    finish(app(site, ""), None)
    write(site, "")
    assert not (site / "sw.js").exists()
    assert not (site / "sitemap.xml").exists()


def test_the_page_for_missing_addresses_works_at_any_depth():
    page = '<link href="_static/qkv.css?v=1"><a href="book/index.html">x</a><a href="#top">y</a><a href="https://x.org/a.html">'
    assert with_absolute_links(page, ADDRESS) == (
        '<link href="/what/_static/qkv.css?v=1"><a href="/what/book/index.html">x</a><a href="#top">y</a>'
        '<a href="https://x.org/a.html">'
    )
