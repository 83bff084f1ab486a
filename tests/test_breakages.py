"""The list of breakages follows the code: what it would break is there."""

import tomllib

from tools import breakages


def test_every_breakage_has_something_to_break():
    listed = tomllib.loads(breakages.LIST.read_text(encoding="utf-8"))["breakage"]
    assert listed
    assert [entry["name"] for entry in listed if breakages.outdated(entry)] == []
