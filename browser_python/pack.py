"""Pack the files that Python in the page loads: `python -m browser_python.pack FOLDER`.

They are Pyodide's core, the standard library without unused modules, the page's torch, the checking code, and the
notebooks. Modules that every start imports are compiled. `runtime/python.js` loads the files for the worker.
`tools/bundle.mjs` bundles the page's script, style, editor and worker.

The folder `copy/` holds each file again as a script, because a page opened from disk (`file:`) may load only scripts.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from browser_python.runnable_cells import left_out, name_of
from tools.course import TRANSLATED

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent
PYODIDE = ROOT / "node_modules" / "pyodide"
COMPILED = ROOT / "_build" / "python"  # cache of compiled archives; each folder is named by a digest of its sources
PROGRAM = "worker.js"  # bundled before; absent where Python runs in Node.js
HEAVY = ("pyodide.asm.wasm", "python_stdlib.bin", "course.bin")  # the page shows the progress of these downloads
MODELS_ARCHIVE = "models.bin"
# Modules that checks and answers never import: networks, archives, mail, documentation, tests, processes, other
# systems, encodings of single alphabets, and modules that are frozen into the interpreter.
UNUSED_MODULES = re.compile(
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
COURSE = ("*.py", "*.css", "checking/*", "sandboxed/*.py", "xraying/*.py", "questions/**/*.py", "questions/**/*.toml")
MODELS = ("models/*.py", "models/*.json", "models/weights/*")  # loaded only for a cell that uses a trained model
NOT_ON_PAGE = {"figures.py", "cli.py", "cells.py", "wire.py", "worker.py"}


def write_archive(target: Path, files: dict[str, bytes]) -> None:
    """Write files, given as {name: content}, as a zip archive that is compressed by gzip.

    The archive as a whole is compressed, and not each file in it, which is smaller. Its bytes depend only on these
    files.
    """
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name])
    target.write_bytes(compressed(written.getvalue()))


def compressed(content: bytes) -> bytes:
    """Compress bytes for a browser, which can decompress gzip alone."""
    return gzip.compress(content, 9, mtime=0)


def library_files() -> dict[str, bytes]:
    """Return the files of Python's standard library, without UNUSED_MODULES."""
    with zipfile.ZipFile(PYODIDE / "python_stdlib.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist() if not UNUSED_MODULES.match(name)}


def course_files() -> dict[str, bytes]:
    """Return {name: content} of course.bin: the page's torch, numpy, tqdm and runtime, and the checking code."""
    files = package_files("torch", "numpy", "tqdm") | {path.name: path for path in (HERE / "runtime").glob("*.py")}
    return {name: path.read_bytes() for name, path in (files | qkv_files(COURSE)).items()}


def model_files() -> dict[str, bytes]:
    """Return the files of models.bin: the trained models, and the package that reads their weights."""
    return {name: path.read_bytes() for name, path in (package_files("safetensors") | qkv_files(MODELS)).items()}


def word_files(language: str) -> dict[str, bytes]:
    """Return the files of the archive of a language: the texts of cards, which only its pages load."""
    return {name: path.read_bytes() for name, path in qkv_files((f"dictionaries/{language}.json",)).items()}


def package_files(*names: str) -> dict[str, Path]:
    """Return the paths of the files of the page's own versions of packages, by their names in the archive."""
    return {path.relative_to(HERE).as_posix(): path for name in names for path in (HERE / name).rglob("*.py")}


def qkv_files(patterns: tuple[str, ...]) -> dict[str, Path]:
    """Return the paths of the files of the package `qkv` that match a pattern, by their names in the archive.

    Files in NOT_ON_PAGE are left out.
    """
    package = ROOT / "src" / "qkv"
    found = (path for pattern in patterns for path in package.glob(pattern) if path.is_file())
    own = {path for path in found if path.name not in NOT_ON_PAGE}
    return {f"qkv/{path.relative_to(package).as_posix()}": path for path in own}


def pack(folder: Path) -> None:
    """Write the files that Python in the page loads to the subfolder `python` of a folder.

    Files of an earlier call are replaced, and its notebooks and `copy/` are removed first. It needs the npm package of
    Pyodide, and Node.js to compile. A worker that is already bundled there gets its size and hash into `sizes.json`.

    Raises:
        FileNotFoundError: Pyodide or Node.js is missing.
        CalledProcessError: the archives could not be compiled.
    """
    target = folder / "python"
    target.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target / "notebooks", ignore_errors=True)
    shutil.copyfile(PYODIDE / "pyodide.asm.wasm", target / "pyodide.asm.wasm")
    write_archive(target / "python_stdlib.bin", library_files())
    write_archive(target / "course.bin", course_files())
    write_archive(target / MODELS_ARCHIVE, model_files())
    for language in TRANSLATED:
        write_archive(target / f"{language}.bin", word_files(language))
    compile_archives(target)
    for notebook in (path for folder in ("exercises", "chapters") for path in (ROOT / folder).rglob("*.ipynb")):
        copy = target / "notebooks" / notebook.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        content = json.loads(notebook.read_text(encoding="utf-8"))
        if "chapters" in notebook.parts:
            content["metadata"]["left_out"] = left_out(name_of(notebook), content["cells"])
        copy.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    about = json.loads((PYODIDE / "package.json").read_text(encoding="utf-8"))
    (target / "about.txt").write_text(ABOUT.format_map(about), encoding="utf-8")
    lock = json.loads((PYODIDE / "pyodide-lock.json").read_text(encoding="utf-8"))["info"]
    checked = (PROGRAM, *HEAVY, MODELS_ARCHIVE, *(f"{language}.bin" for language in TRANSLATED))
    built = {name: about_file(target / name) for name in checked if (target / name).exists()}
    made = digest([target / name for name in HEAVY])
    (target / "sizes.json").write_text(json.dumps({"built": built, "lock": lock, "made": made}), encoding="utf-8")
    write_scripts(target)


def about_file(path: Path) -> dict[str, Any]:
    """Return a file's size in bytes and its SHA-256 in base64, by which the page checks the file."""
    content = path.read_bytes()
    return {"size": len(content), "sha256": base64.b64encode(hashlib.sha256(content).digest()).decode()}


def digest(files: list[Path]) -> str:
    """Return a short hash of the contents of these files."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def compile_archives(target: Path) -> None:
    """Replace two archives in a folder by ones in which the modules that every start imports are compiled.

    They are `python_stdlib.bin` and `course.bin`. If the cache COMPILED has them for these files, they are copied from
    there, else compiled and added to it.

    Raises:
        CalledProcessError: Node.js could not compile them.
    """
    archives = ("python_stdlib.bin", "course.bin")
    made = digest([target / name for name in HEAVY] + [HERE / name for name in ("compile.mjs", "compile_archives.py")])
    known = COMPILED / made
    if not known.exists():
        subprocess.run(["node", HERE / "compile.mjs", target], cwd=ROOT, check=True)
        fresh = COMPILED / f"{made}.{os.getpid()}"  # renamed when complete: another process never sees half a folder
        fresh.mkdir(parents=True)
        for name in archives:
            (fresh / name).write_bytes(compressed((target / name).read_bytes()))
        with suppress(OSError):  # another process may have written the same folder first
            fresh.rename(known)
        shutil.rmtree(fresh, ignore_errors=True)
    for name in archives:
        shutil.copyfile(known / name, target / name)


def write_scripts(target: Path) -> None:
    """Write each file of a folder as a script in its `copy/`, which calls `qkvFile` with the file's name and content.

    The content is compressed by gzip, in base64. An earlier `copy/` is removed first; `editor.js` gets no copy.
    """
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
        sys.exit("usage: python -m browser_python.pack FOLDER")
    if not PYODIDE.exists():
        sys.exit("Pyodide is missing. Install it with: npm install --no-save")
    pack(Path(sys.argv[1]))
