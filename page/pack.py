"""Pack what Python in the page is made of: `python -m page.pack FOLDER`.

Pyodide's core, the standard library without what no answer uses, the page's torch and the checking code, as files
that `page/runtime/worker.js` loads from beside itself; and the notebooks. The page's own script, its style and its
editor are bundled by `tools/bundle.mjs`.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "page"
PYODIDE = ROOT / "node_modules" / "pyodide"
CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm")
HEAVY = ("pyodide.asm.wasm", "python_stdlib.zip", "course.zip")
# What the checks and answers never import: networks, archives, mail, documentation, tests, processes, other systems,
# encodings of single alphabets, and what is frozen into the interpreter.
LEFT_OUT = re.compile(
    r"(test|unittest|idlelib|tkinter|turtledemo|lib2to3|ensurepip|venv|email|xml|xmlrpc|wsgiref|http|dbm|sqlite3|curses|"
    r"multiprocessing|distutils|pydoc_data|msilib|zoneinfo|_pyrepl|concurrent/interpreters|ctypes/macholib|pyodide/http)/|"
    r"(pdb|doctest|pydoc|mailbox|ipaddress|pickletools|tarfile|_pydatetime|_pydecimal|_pyio|smtplib|ftplib|imaplib|poplib|"
    r"turtle|cProfile|profile|pstats|optparse|webbrowser|socketserver|telnetlib|nntplib|antigravity|this|trace|py_compile|"
    r"compileall|zipapp|cgi|cgitb|plistlib|netrc|mimetypes|aifc|sunau|wave|chunk|colorsys|timeit|getopt|fileinput|cmd|bdb"
    r"|sched|argparse|configparser|difflib|filecmp|getpass|hmac|modulefinder|pty|pyclbr|quopri|rlcompleter|shelve|shlex|"
    r"stringprep|symtable|tabnanny|tracemalloc|uuid|code|runpy|zipimport|_markupbase|html/parser|json/tool|"
    r"logging/(handlers|config)|urllib/(request|robotparser)|ctypes/(util|_aix|wintypes)|pyodide/console|"
    r"concurrent/futures/process|asyncio/(windows_\w+|proactor_events|tools|__main__)|importlib/(_bootstrap|_bootstrap_external)"
    r"|encodings/(cp(?!437)|iso|mac_|koi8|big5|euc|gb|hz|johab|shift|palmos|hp_roman8|ptcp154|kz1048|tis_620|uu_codec|"
    r"bz2_codec|zlib_codec|quopri_codec|base64_codec|rot_13|oem|mbcs)\w*)\.py$"
)
ABOUT = "CPython for the browser: {name} {version}, {license}, {homepage}, without parts of its standard library.\n"
COURSE = ("*.py", "*.css", "questions/**/*.py", "questions/**/*.toml")
NOT_PRACTICE = {"figures.py", "release.py", "cli.py", "examples.py", "book.mplstyle"}


def zipped(target: Path, files: dict[str, bytes]) -> None:
    """An archive whose bytes depend on these files alone."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, 9)


def library() -> dict[str, bytes]:
    """Python's standard library, without what nothing here imports."""
    with zipfile.ZipFile(PYODIDE / "python_stdlib.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist() if not LEFT_OUT.match(name)}


def course() -> dict[str, bytes]:
    """The page's torch and numpy, what answers the page, and the course's own checking code."""
    package = ROOT / "src" / "qkv"
    own = {path for pattern in COURSE for path in package.glob(pattern) if path.name not in NOT_PRACTICE}
    files = {f"qkv/{path.relative_to(package).as_posix()}": path for path in own}
    for folder in ("torch", "numpy"):
        files |= {path.relative_to(PAGE).as_posix(): path for path in (PAGE / folder).rglob("*.py")}
    files |= {path.name: path for path in (PAGE / "runtime").glob("*.py")}
    return {name: path.read_bytes() for name, path in files.items()}


def pack(folder: Path) -> None:
    """Write what Python needs into `python/` below a folder."""
    target = folder / "python"
    target.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target / "notebooks", ignore_errors=True)
    for name in CORE:
        shutil.copyfile(PYODIDE / name, target / name)
    for name in ("worker.js", "kernels.js"):
        shutil.copyfile(PAGE / "runtime" / name, target / name)
    zipped(target / "python_stdlib.zip", library())
    zipped(target / "course.zip", course())
    for notebook in (path for folder in ("exercises", "chapters") for path in (ROOT / folder).rglob("*.ipynb")):
        copy = target / "notebooks" / notebook.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(notebook, copy)
    about = json.loads((PYODIDE / "package.json").read_text(encoding="utf-8"))
    (target / "about.txt").write_text(ABOUT.format_map(about), encoding="utf-8")
    lock = json.loads((PYODIDE / "pyodide-lock.json").read_text(encoding="utf-8"))["info"]
    sizes = {name: (target / name).stat().st_size for name in HEAVY}
    (target / "sizes.json").write_text(json.dumps(sizes | {"lock": lock}), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m page.pack FOLDER")
    if not PYODIDE.exists():
        sys.exit("Pyodide is missing. Get it with: npm install --no-save")
    pack(Path(sys.argv[1]))
