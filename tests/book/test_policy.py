"""What a page says it may load."""

import re
from pathlib import Path
from types import SimpleNamespace

from qkv_site.policy import FRAME, FRAME_SCRIPTS, digest, finish, with_policy

PAGE = '<html><head>\n<title>x</title></head><body><script>go();</script><script src="a.js"></script></body></html>'


def said(page: str) -> dict[str, list[str]]:
    """The rules of a page's policy."""
    [policy] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    return {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}


def test_a_script_is_named_by_its_contents():
    # The example of the specification's section on hashes.
    assert digest("alert('Hello, world.');") == "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"


def test_only_scripts_that_stand_in_a_page_may_run():
    sources = said(with_policy(PAGE))["script-src"]
    assert sources == ["'self'", "'wasm-unsafe-eval'", digest("go();"), *map(digest, FRAME_SCRIPTS)]
    assert digest("gone();") in said(with_policy(PAGE.replace("go();", "gone();")))["script-src"]


def test_no_rule_names_another_host_or_lets_text_become_code():
    for sources in said(with_policy(PAGE)).values():
        assert all(source in ("data:", "blob:") or source.startswith("'") for source in sources), sources
        assert "'unsafe-eval'" not in sources
    assert "'unsafe-inline'" not in said(with_policy(PAGE))["script-src"]


def test_the_frame_of_python_has_one_script_and_may_load_nothing():
    assert len(FRAME_SCRIPTS) == 1
    rules = said(FRAME.read_text(encoding="utf-8"))
    assert rules["default-src"] == ["'none'"]
    assert set(rules) == {"default-src", "script-src", "worker-src"}
    assert "'self'" not in rules["script-src"]
    assert rules["worker-src"] == ["blob:"]


def test_it_stands_before_all_that_loads_and_only_once(tmp_path: Path):
    file = tmp_path / "chapters" / "page.html"
    file.parent.mkdir()
    file.write_text(PAGE, encoding="utf-8")
    for _ in range(2):  # a page that has not changed is not written anew by Sphinx
        finish(SimpleNamespace(outdir=tmp_path), None)
    assert file.read_text(encoding="utf-8").startswith('<html><head>\n<meta http-equiv="Content-Security-Policy"')
    assert file.read_text(encoding="utf-8") == with_policy(PAGE)
