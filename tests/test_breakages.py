"""Every entry of tests/breakages.toml quotes code that is still in the file that it names."""

import tomllib

from tools import breakages


def test_every_breakage_has_something_to_break():
    listed = tomllib.loads(breakages.LIST.read_text(encoding="utf-8"))["breakage"]
    assert listed
    assert [entry["name"] for entry in listed if breakages.is_outdated(entry)] == []
