"""The built files of the widgets: fresh, the same everywhere, and plain ASCII."""

import base64
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .node import ROOT

WIDGETS = Path("src/qkv/widgets")
BUILT = sorted((ROOT / WIDGETS / "static").iterdir())


def bundle(*arguments: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = ["node", "tools/bundle.mjs", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of what the bundler reads."""
    rare = "book/ext/qkv_site/rare_widgets.json"
    models = [f"src/qkv/models/{name}.json" for name in ("grammar", "two-heads")]
    for part in ("tools/bundle.mjs", rare, "book/static/host.js", "src/qkv/tokens.css", *models):
        (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / part, tmp_path / part)
    for folder in (WIDGETS, Path("src/qkv/models/weights"), Path("kernels")):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    os.symlink(ROOT / "node_modules", tmp_path / "node_modules")
    return tmp_path


@pytest.mark.parametrize("source", ["js/base.js", "../tokens.css"])
def test_a_changed_source_makes_them_stale(copy: Path, source: str):
    path = copy / WIDGETS / source
    mark = "\n.qkv-new { color: red; }" if path.suffix == ".css" else "\nglobalThis.changed = 1;"
    path.write_text(path.read_text(encoding="utf-8") + mark, encoding="utf-8")
    check = bundle("--check", root=copy)
    assert check.returncode == 1
    assert f"stale: src/qkv/widgets/static/scaling_lab{path.suffix}" in check.stderr
    assert "make build" in check.stderr
    assert bundle(root=copy).returncode == 0
    assert bundle("--check", root=copy).returncode == 0


def test_what_nothing_builds_is_found_and_removed(copy: Path):
    stray = copy / WIDGETS / "static" / "gone.js"
    stray.write_text("")
    check = bundle("--check", root=copy)
    assert check.returncode == 1
    assert "no widget of this name: src/qkv/widgets/static/gone.js" in check.stderr
    assert bundle(root=copy).returncode == 0
    assert not stray.exists()


def test_a_broken_widget_fails_and_leaves_the_others(copy: Path):
    assert bundle(root=copy).returncode == 0
    before = sorted((copy / WIDGETS / "static").iterdir())
    (copy / WIDGETS / "js" / "scaling_lab.js").write_text("export default (")
    built = bundle(root=copy)
    assert built.returncode == 1
    assert "scaling_lab.js" in built.stderr
    assert sorted((copy / WIDGETS / "static").iterdir()) == before


def test_built_files_are_fresh_and_every_family_is_whole():
    check = bundle("--check")
    assert check.returncode == 0, check.stderr
    assert "left out" not in check.stderr


@pytest.mark.parametrize("file", BUILT, ids=lambda file: file.name)
def test_built_files_carry_no_surprise(file: Path):
    content = file.read_text(encoding="utf-8")
    if file.suffix in {".js", ".css"}:
        assert content.isascii()
        assert "sourceMappingURL" not in content
        assert "//cdn" not in content


def test_the_licences_of_what_is_built_in_are_there():
    licences = (ROOT / WIDGETS / "static" / "LICENSES.txt").read_text(encoding="utf-8")
    assert "lit-html" in licences.splitlines()


@pytest.fixture(scope="module")
def for_the_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    assert bundle("--site", str(folder)).returncode == 0
    return folder


@pytest.mark.parametrize(
    ("stem", "name", "class_name"),
    [("site", "TrainLab", ".qkv-train"), ("widget-scaling_lab", "ScalingLab", ".qkv-scaling")],
)
def test_a_widget_is_in_one_script_and_one_style_of_the_site(for_the_site: Path, stem: str, name: str, class_name: str):
    scripts = {file.stem: file.read_text(encoding="utf-8") for file in for_the_site.glob("qkv-*.js")}
    styles = {file.stem: file.read_text(encoding="utf-8") for file in for_the_site.glob("qkv-*.css")}
    assert scripts[f"qkv-{stem}"].isascii()
    assert not scripts[f"qkv-{stem}"].lstrip().startswith(("import", "export"))
    assert [file for file, text in scripts.items() if f'"{name}"' in text] == [f"qkv-{stem}"]
    assert [file for file, text in styles.items() if class_name in text] == [f"qkv-{stem}"]


def test_bad_usage_is_told():
    assert bundle("--sight").returncode == 2
    assert "usage" in bundle("--site").stderr


def test_on_the_site_weights_are_in_a_script_of_their_own(for_the_site: Path):
    site, weights = (for_the_site / name for name in ("qkv-site.js", "qkv-weights-tagger.js"))
    file = ROOT / "src/qkv/models/weights/tagger.safetensors"
    start = base64.b64encode(file.read_bytes()[:300])[:-4].decode()
    assert start not in site.read_text()
    assert start in weights.read_text()
    assert "globalThis.qkvWeights" in site.read_text()
