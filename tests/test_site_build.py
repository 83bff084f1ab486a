"""The site's three steps, on a small book of the real parts that is built and built again: nothing stale or silent.

The gate builds the whole site; this is for the long sweep.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_site_tool import notebook

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
TOC = """format: jb-book
root: book/index
chapters:
  - file: book/references
  - file: book/acknowledgements
  - file: book/glossary
  - file: book/notation
  - file: chapters/01_small
  - file: chapters/deeper/01_more
"""


class Book:
    """A copy of what builds the site, with one small chapter and a deeper page."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("book", "browser_python", "kernels", "real_model", "tools", "src"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, root / name, ignore=ignored)
        for name in ("_config.yml", "package.json", "package-lock.json"):
            shutil.copy(ROOT / name, root / name)
        (root / "node_modules").symlink_to(ROOT / "node_modules")
        (root / "_toc.yml").write_text(TOC, encoding="utf-8")
        (root / "book" / "index.ipynb").unlink()
        (root / "book" / "index.md").write_text("# Index\n\nProse alone, and no formula.\n", encoding="utf-8")
        (root / "chapters" / "deeper").mkdir(parents=True)
        self.chapter("# More of it\n\nBack to [chapter 1](../01_small.ipynb).", "1 + 1", name="deeper/01_more")

    def chapter(self, *cells: str, name: str = "01_small") -> None:
        (self.root / "chapters" / f"{name}.ipynb").write_text(notebook(*cells), encoding="utf-8")

    def build(self, *options: str) -> subprocess.CompletedProcess[str]:
        env = {name: value for name, value in os.environ.items() if name != "GITHUB_REPOSITORY"}
        command = [sys.executable, str(self.root / "tools" / "site.py"), "build", *options]
        return subprocess.run(command, capture_output=True, text=True, env=env, timeout=300, check=False)

    def page(self, name: str) -> str:
        return (self.root / "_build" / "html" / f"{name}.html").read_text(encoding="utf-8")

    def mentions(self, words: str) -> list[Path]:
        """The files of the site with these words."""
        files = [path for path in (self.root / "_build" / "html").rglob("*") if path.is_file()]
        return [path for path in files if words.encode() in path.read_bytes()]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    made = Book(tmp_path_factory.mktemp("course"))
    (made.root / "src" / "qkv" / "answer.py").write_text("ANSWER = 'forty-one'\n", encoding="utf-8")
    made.chapter(
        "# A small chapter\n\nIt has $Q K^\\top$, a [score](../book/glossary.md) and one outside "
        "[link](https://arxiv.org/abs/1706.03762), as [Vaswani et al., 2017](../book/references.md) have. See "
        "[more](deeper/01_more.ipynb).",
        "from qkv.answer import ANSWER\n\nprint('the answer is', ANSWER)",
        "import matplotlib.pyplot as plt\n\nfrom qkv.figures import show\n\nfig, ax = plt.subplots()\n"
        "ax.plot([1, 2])\nshow(fig, alt='A line that rises.')",
        "from qkv.widgets import ScalingLab\n\nScalingLab(d_k=64)",
    )
    return made


@pytest.fixture(scope="module")
def built(book: Book) -> Book:
    done = book.build()
    assert done.returncode == 0, done.stderr
    assert "[2/3] notebooks" in done.stdout
    assert "no Colab links" in done.stdout
    return book


# --- what a page is made of -----------------------------------------------------------------------------------------


def test_pages_load_what_they_need_and_no_more(built: Book):
    chapter, index = built.page("chapters/01_small"), built.page("book/index")
    for needed in ("qkv-site.js", "qkv-site.css", "katex/katex.css", "qkv.css", "tokens.css", "page.js"):
        assert f"_static/{needed}" in chapter
    for spared in ("qkv-site.js", "qkv-site.css", "katex"):
        assert spared not in index
    scripts = re.findall(r'<script[^>]*\bsrc="([^"?]+)', chapter)
    assert {Path(script).name for script in scripts} == {"page.js", "progress.js", "qkv-site.js", "python-page.js"}
    head = chapter.partition("</head>")[0]
    asked = re.findall(r'<script[^>]*\bsrc="[^"]+[^>]*>', head)
    assert len(asked) == len(scripts), "asked for at the start"
    assert all("defer" in script for script in asked), "and run when the page is there"
    assert 'type="module"' not in chapter, "a module cannot be loaded from a file"


def test_what_a_page_loads_is_there(built: Book):
    site_folder = built.root / "_build" / "html"
    for page in site_folder.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for asset in re.findall(r'(?:<script[^>]*\bsrc|<link rel="stylesheet"[^>]*\bhref)="([^"?#]+)', text):
            assert (page.parent / asset).exists(), f"{page.name} asks for {asset}"


def test_widget_state_carries_no_code(built: Book):
    chapter = built.page("chapters/01_small")
    state = re.search(r'<script type="application/vnd.jupyter.widget-state\+json">(.*?)</script>', chapter, re.DOTALL)
    assert state is not None
    assert '"_name":"ScalingLab"' in state[1]
    assert '"d_k":64' in state[1]
    assert "_esm" not in chapter
    assert "<" not in state[1]
    assert len(state[1]) < 2000
    assert 'class="qkv-slot" id="widget-1" data-for="ScalingLab"' in chapter


def test_figure_uses_the_palette_of_the_page(built: Book):
    chapter = built.page("chapters/01_small")
    assert 'aria-label="A line that rises."' in chapter
    assert "data-qkv-tokens" not in chapter


def test_links_lead_to_entries(built: Book):
    chapter = built.page("chapters/01_small")
    assert re.search(r'href="../book/references.html#vaswani2017attention"><span[^>]*>Vaswani et al., 2017<', chapter)
    assert 'id="vaswani2017attention"' in built.page("book/references")
    assert 'href="../book/glossary.html#term-score"' in chapter
    assert '<a rel="noopener" class="reference external" href="https://arxiv.org' in chapter


def test_page_says_what_it_is(built: Book):
    chapter = built.page("chapters/01_small")
    assert '<meta property="og:title" content="A small chapter">' in chapter
    assert "QKV 0." in chapter, "the version"
    assert '<meta name="description" content="It has' in chapter
    assert "Chapter 1" in chapter
    assert re.search(r"about \d+ minutes<", chapter)
    assert 'download="01_small.ipynb"' in chapter
    assert "colab" not in chapter.lower()


def test_a_deeper_page_has_its_own_time_and_leads_back(built: Book):
    deeper = built.page("chapters/deeper/01_more")
    assert "<span>Deeper: chapter 1</span>" in deeper
    assert re.search(r"about \d+ minutes<", deeper)
    assert '<a href="../01_small.html">Back to the chapter</a>' in deeper
    assert '<span class="qkv-number">1</span>More of it' in built.page("book/index")
    assert 'href="deeper/01_more.html"' in built.page("chapters/01_small")


def test_a_site_that_is_built_here_keeps_nothing_in_the_browser(built: Book):
    assert not (built.root / "_build" / "html" / "sw.js").exists()
    assert "serviceWorker" not in built.page("chapters/01_small")


# --- nothing stale --------------------------------------------------------------------------------------------------


def test_a_second_run_does_nothing(built: Book):
    assert built.build().stdout.startswith("nothing changed since the last build")


def test_an_edit_of_the_package_runs_notebooks_again(built: Book):
    assert "the answer is forty-one" in built.page("chapters/01_small")
    (built.root / "src" / "qkv" / "answer.py").write_text("ANSWER = 'forty-two'\n", encoding="utf-8")
    (built.root / "book" / "taken-out.md").write_text("# For a while\n\nUnheard-of words.\n", encoding="utf-8")
    (built.root / "_toc.yml").write_text(f"{TOC}  - file: book/taken-out\n", encoding="utf-8")
    done = built.build()
    assert done.returncode == 0, done.stderr
    assert "the answer is forty-two" in built.page("chapters/01_small")
    assert built.mentions("Unheard-of")


def test_an_edit_of_the_skin_alone_runs_no_notebook_and_an_address_publishes(built: Book):
    before = re.search(r"qkv\.css\?v=(\w+)", built.page("book/index"))
    with (built.root / "book" / "static" / "qkv.css").open("a", encoding="utf-8") as css:
        css.write("\n.qkv-new { color: inherit; }\n")
    (built.root / "book" / "taken-out.md").unlink()
    (built.root / "_toc.yml").write_text(TOC, encoding="utf-8")
    done = built.build("--address", "https://x.org/course")
    assert done.returncode == 0, done.stderr
    assert "(0 of 2 run)" in done.stdout
    assert built.mentions("Unheard-of") == [], "a page that was taken out is still there"
    after = re.search(r"qkv\.css\?v=(\w+)", built.page("book/index"))
    assert before is not None
    assert after is not None
    assert before[1] != after[1], "the page would show an old skin that the browser kept"
    assert 'register("../sw.js")' in built.page("chapters/01_small")
    assert '"chapters/01_small.html"' in (built.root / "_build" / "html" / "sw.js").read_text(encoding="utf-8")
    assert '<link rel="canonical" href="https://x.org/course/book/index.html">' in built.page("book/index")
    assert 'href="/course/_static/qkv.css' in built.page("404")


# --- nothing silent (these come last: they leave the book broken) ---------------------------------------------------


def test_a_failing_cell_stops_the_build_and_is_named(built: Book):
    built.chapter("# A small chapter", "before = 1", "raise RuntimeError('the cause')", "after = 2")
    done = built.build()
    assert done.returncode == 1
    for expected in ("chapters/01_small.ipynb failed in cell 3 (id cell-2)", "RuntimeError", "the cause"):
        assert expected in done.stderr
    assert "[3/3]" not in done.stdout


def test_what_a_reader_would_miss_fails_the_build_each_time(built: Book):
    built.chapter(
        "# A small chapter\n\n$\\nonsense$ as [Nobody et al., 1999](../book/references.md) wrote, see "
        "[unheard-of](../book/glossary.md).",
        "import matplotlib.pyplot as plt\n\n_ = plt.plot([1, 2])",
    )
    for _ in range(2):  # Sphinx warns while it reads a page: a second run must not be green because it reads no more
        done = built.build()
        assert done.returncode == 1
        for expected in (
            "without alt text",
            "no entry in book/references.bib for: Nobody et al., 1999",
            "no term in book/glossary.md for: unheard-of",
            "KaTeX cannot parse this formula",
        ):
            assert expected in done.stderr
