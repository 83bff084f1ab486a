"""Labels of works, forms of terms, and a bibliography that can be checked."""

import re
from pathlib import Path

import pytest
from pybtex.database import Entry, Person, parse_file
from qkv_site.links import CITATION, address, forms, label

ROOT = Path(__file__).resolve().parents[2]
WORKS = parse_file(str(ROOT / "book" / "references.bib"))


def work(*authors: str, year: str = "2017") -> Entry:
    return Entry("article", fields={"year": year}, persons={"author": [Person(author) for author in authors]})


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (work("Ottosson, Bj\u00f6rn", year="2020"), "Ottosson, 2020"),
        (work("Shazeer, Noam", "Stern, Mitchell"), "Shazeer and Stern, 2017"),
        (work("Vaswani, Ashish", "Shazeer, Noam", "Parmar, Niki"), "Vaswani et al., 2017"),
        (work("van der Maaten, Laurens"), "van der Maaten, 2017"),
        (work("{OLMo Team}"), "OLMo Team, 2017"),
    ],
)
def test_label(entry: Entry, expected: str):
    assert label(entry) == expected


def test_citation_may_name_a_place_in_the_work():
    cited = CITATION.fullmatch("Vaswani et al., 2017, section 3.2")
    assert cited is not None
    assert cited["label"] == "Vaswani et al., 2017"
    assert CITATION.fullmatch("references page") is None


@pytest.mark.parametrize(
    ("said", "term"),
    [
        ("Queries", "query"),
        ("keys", "key"),
        ("softmax", "softmax"),
        ("queries and keys", "query"),
        ("batches", "batch"),
    ],
)
def test_a_sentence_may_use_a_plural(said: str, term: str):
    assert term in forms(said)


def test_labels_are_unique():
    labels = [label(entry) for entry in WORKS.entries.values()]
    assert sorted(set(labels)) == sorted(labels)


@pytest.mark.parametrize("key", list(WORKS.entries))
def test_every_work_can_be_checked(key: str):
    entry = WORKS.entries[key]
    assert re.fullmatch(r"https://[\w./~+%()&=?#:-]+", address(entry)), "a work needs a url, an eprint or a doi"
    assert re.fullmatch(r"(19|20)\d\d", entry.fields["year"])
    assert entry.fields["title"]
    assert entry.persons["author"]
