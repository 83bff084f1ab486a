"""Pack what Python in the page is made of: `python -m page.pack FOLDER`.

Pyodide's core, the standard library without what no answer uses, the page's torch and the checking code, compiled where
a start needs them, as files that `page/runtime/worker.js` loads from beside itself; and the notebooks. The page's own
script, its style, its editor and its worker are bundled by `tools/bundle.mjs`. In `copy/`, each file is a script too: a
page that was opened from a file may load no others.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "page"
PYODIDE = ROOT / "node_modules" / "pyodide"
COMPILED = ROOT / "_build" / "python"  # what was compiled once, by what it was made of
HEAVY = ("pyodide.asm.wasm", "python_stdlib.zip", "course.zip")
# What the checks and answers never import: networks, archives, mail, documentation, tests, processes, other systems,
# encodings of single alphabets, and what is frozen into the interpreter.
LEFT_OUT = re.compile(
    r"(test|unittest|idlelib|tkinter|turtledemo|lib2to3|ensurepip|venv|email|xml|xmlrpc|wsgiref|http|dbm|sqlite3|curses|"
    r"multiprocessing|distutils|pydoc_data|msilib|zoneinfo|_pyrepl|concurrent/interpreters|ctypes|sysconfig|pyodide/http|"
    r"importlib/metadata)/|"
    r"(pdb|doctest|pydoc|mailbox|ipaddress|pickletools|tarfile|_pydatetime|_pydecimal|_pyio|smtplib|ftplib|imaplib|poplib|"
    r"turtle|cProfile|profile|pstats|optparse|webbrowser|socketserver|telnetlib|nntplib|antigravity|this|trace|py_compile|"
    r"compileall|zipapp|cgi|cgitb|plistlib|netrc|mimetypes|aifc|sunau|wave|chunk|colorsys|timeit|getopt|fileinput|cmd|bdb"
    r"|sched|argparse|configparser|filecmp|getpass|hmac|modulefinder|pty|pyclbr|quopri|rlcompleter|shelve|shlex|"
    r"stringprep|platform|gettext|_sysconfigdata[\w-]+|symtable|tabnanny|tracemalloc|uuid|code|runpy|zipimport|_markupbase|html/parser|json/tool|"
    r"_?(compat_)?pickle|csv|gzip|graphlib|secrets|calendar|_strptime|nturl2path|tty|"
    r"logging/(handlers|config)|urllib/\w+|pyodide/(console|_nodesock_transport)|"
    r"concurrent/futures/(process|thread|interpreter)|asyncio/(windows_\w+|proactor_events|tools|__main__)|importlib/(_bootstrap|_bootstrap_external)"
    r"|encodings/(cp(?!437)|iso|mac_|koi8|big5|euc|gb|hz|johab|shift|palmos|hp_roman8|ptcp154|kz1048|tis_620|uu_codec|"
    r"bz2_codec|zlib_codec|quopri_codec|base64_codec|rot_13|oem|mbcs|punycode|undefined|charmap)\w*)\.py$"
)
ABOUT = "CPython for the browser: {name} {version}, {license}, {homepage}, without parts of its standard library.\n"
COURSE = ("*.py", "*.css", "questions/**/*.py", "questions/**/*.toml")
MODELS = ("models/*.py", "models/*.json", "models/weights/*")  # fetched where a cell names them
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
    files = packages("torch", "numpy") | {path.name: path for path in (PAGE / "runtime").glob("*.py")}
    return {name: path.read_bytes() for name, path in (files | of_package(COURSE)).items()}


def models() -> dict[str, bytes]:
    """The trained models, and what reads their weights."""
    return {name: path.read_bytes() for name, path in (packages("safetensors") | of_package(MODELS)).items()}


def packages(*names: str) -> dict[str, Path]:
    """The files of packages that the page has instead of others."""
    return {path.relative_to(PAGE).as_posix(): path for name in names for path in (PAGE / name).rglob("*.py")}


def of_package(patterns: tuple[str, ...]) -> dict[str, Path]:
    """Files of the course's own package."""
    package = ROOT / "src" / "qkv"
    own = {path for pattern in patterns for path in package.glob(pattern) if path.name not in NOT_PRACTICE}
    return {f"qkv/{path.relative_to(package).as_posix()}": path for path in own}


def pack(folder: Path) -> None:
    """Write what Python needs into `python/` below a folder."""
    target = folder / "python"
    target.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target / "notebooks", ignore_errors=True)
    shutil.copyfile(PYODIDE / "pyodide.asm.wasm", target / "pyodide.asm.wasm")
    zipped(target / "python_stdlib.zip", library())
    zipped(target / "course.zip", course())
    zipped(target / "models.zip", models())
    compile_archives(target)
    for notebook in (path for folder in ("exercises", "chapters") for path in (ROOT / folder).rglob("*.ipynb")):
        copy = target / "notebooks" / notebook.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(notebook, copy)
    about = json.loads((PYODIDE / "package.json").read_text(encoding="utf-8"))
    (target / "about.txt").write_text(ABOUT.format_map(about), encoding="utf-8")
    lock = json.loads((PYODIDE / "pyodide-lock.json").read_text(encoding="utf-8"))["info"]
    sizes = {name: (target / name).stat().st_size for name in HEAVY}
    made = digest([target / name for name in HEAVY])
    (target / "sizes.json").write_text(json.dumps(sizes | {"lock": lock, "made": made}), encoding="utf-8")
    write_scripts(target)


def digest(files: list[Path]) -> str:
    """A name for the contents of these files."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def compile_archives(target: Path) -> None:
    """Compile what each start imports of the archives that were packed here, or take what this gave before."""
    archives = ("python_stdlib.zip", "course.zip")
    made = digest([target / name for name in HEAVY] + [PAGE / name for name in ("compile.mjs", "compiled.py")])
    known = COMPILED / made
    if not known.exists():
        subprocess.run(["node", PAGE / "compile.mjs", target], cwd=ROOT, check=True)
        fresh = COMPILED / f"{made}.{os.getpid()}"  # whole, or not there for whoever packs meanwhile
        fresh.mkdir(parents=True)
        for name in archives:
            shutil.copyfile(target / name, fresh / name)
        with suppress(OSError):  # somebody else was quicker, with the same
            fresh.rename(known)
        shutil.rmtree(fresh, ignore_errors=True)
    for name in archives:
        shutil.copyfile(known / name, target / name)


def write_scripts(target: Path) -> None:
    """Write each file as a script that hands it over."""
    scripts = target / "copy"
    shutil.rmtree(scripts, ignore_errors=True)
    for file in [file for file in target.rglob("*") if file.is_file() and file.name != "editor.js"]:
        name = file.relative_to(target).as_posix()
        text = base64.b64encode(gzip.compress(file.read_bytes(), mtime=0)).decode()
        script = scripts / f"{name}.js"
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(f'qkvFile("{name}", "{text}");\n', encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m page.pack FOLDER")
    if not PYODIDE.exists():
        sys.exit("Pyodide is missing. Get it with: npm install --no-save")
    pack(Path(sys.argv[1]))
