"""Find submissions that are nearly the same.

That is a reason to read them, and no proof: short answers to one question agree by chance.
"""

from __future__ import annotations

import builtins
import keyword
import re
import statistics
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

CLOSE = 0.95  # share of the tokens that stand in the same order in both
MIN_TOKENS = 60  # fewer of one's own say nothing
MAX_TOKENS = 1000  # a bound on what one submission can cost
MAX_SOURCE = 200_000  # characters
SAMPLE = 100  # submissions that show what is usual
ENOUGH = 20  # submissions in which a line that half of them share is nobody's own
LETTERS = 255

# A string that never ends is one too: to look for its end again and again would take time that grows with the square.
LEXEME = re.compile(
    r"""(?P<text>("{3}|'{3}).*?(?:\2|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)"""
    r"""|(?P<comment>\#[^\n]*)|(?P<name>[^\W\d]\w*)|(?P<other>\w+|[^\w\s])""",
    re.DOTALL | re.VERBOSE,
)
COMMON = frozenset(keyword.kwlist) | frozenset(dir(builtins))


@dataclass(frozen=True)
class Group:
    """Submissions of which each is close to at least one other."""

    members: tuple[int, ...]  # their places in the list that was compared
    closest: float


@dataclass(frozen=True)
class Comparison:
    """What came of comparing: the groups, how many were too short, and how alike two usually are."""

    groups: tuple[Group, ...]
    compared: int
    too_short: int
    usual: float | None


def compare(sources: Sequence[str], released: str = "") -> Comparison:
    """Compare the code of one notebook's submissions, less comments and the lines that are nobody's own.

    Those are the lines that were released, and in a class of some size the lines that half of it wrote.
    """
    counts = Counter(line for source in sources for line in lines_of(source)) if len(sources) >= ENOUGH else Counter()
    given = lines_of(released) | {line for line, count in counts.items() if 2 * count >= len(sources)}
    known = COMMON | {match["name"] for line in given for match in LEXEME.finditer(line) if match["name"]}
    places: dict[str, list[int]] = {}
    for i, source in enumerate(sources):
        places.setdefault(own_code(source, given, known), []).append(i)
    short = sum(len(places.pop(code)) for code in list(places) if len(code) < MIN_TOKENS)
    codes = list(places)
    groups = _groups(list(places.values()), _close_pairs(codes))
    return Comparison(groups, len(sources) - short, short, _usual(codes))


def lines_of(source: str) -> frozenset[str]:
    """The lines of a source, without what stands before and after them."""
    return frozenset(filter(None, map(str.strip, source[:MAX_SOURCE].splitlines())))


def own_code(source: str, given: frozenset[str], known: frozenset[str]) -> str:
    """Give a submission's own tokens, a letter each, so that texts can be compared in place of lists.

    Names that a learner chose are all one letter: to rename is not to write. Attributes and what is called keep theirs.
    """
    own = "\n".join(line for line in source[:MAX_SOURCE].splitlines() if line.strip() not in given)
    return "".join(letter(token) for token in _tokens(own, known))[:MAX_TOKENS]


def _tokens(code: str, known: frozenset[str]) -> Iterator[str]:
    before = ""
    for match in LEXEME.finditer(code):
        token = match[0]
        if match["comment"]:
            continue
        if match["text"]:
            token = '"'
        elif match["name"] and token not in known and before != "." and code[match.end() : match.end() + 1] != "(":
            token = "name"
        yield token
        before = token


def letter(token: str) -> str:
    """One character for a token, the same at each run. There are few, so that texts are compared fast."""
    return chr(1 + zlib.crc32(token.encode("utf-8", "replace")) % LETTERS)


def _close_pairs(codes: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """Each pair that is close.

    Two texts differ at least in as many places as their counts of letters do. To compare counts first spares nearly
    every pair of a class the longer look.
    """
    counts = np.array([np.bincount(np.frombuffer(code.encode("latin-1"), np.uint8), minlength=256) for code in codes])
    counts = counts.astype(np.int16)  # at most MAX_TOKENS
    lengths = np.array([len(code) for code in codes])
    for i, code in enumerate(codes[:-1]):
        apart = np.abs(counts[i + 1 :] - counts[i]).sum(1, dtype=np.int32)
        near = i + 1 + np.nonzero(apart <= (1 - CLOSE) * (lengths[i + 1 :] + lengths[i]) + 1e-6)[0]
        others = [codes[int(j)] for j in near]
        shares = cdist([code], others, scorer=Indel.normalized_similarity, score_cutoff=CLOSE, dtype=np.float32)[0]
        yield from ((i, int(j), float(share)) for j, share in zip(near, shares, strict=True) if share > 0)


def _groups(places: Sequence[Sequence[int]], pairs: Iterable[tuple[int, int, float]]) -> tuple[Group, ...]:
    """Join codes that are close, each with the places where it stands; the closest and largest groups first."""
    home = list(range(len(places)))
    closest = [1.0 if len(same) > 1 else 0.0 for same in places]

    def root(i: int) -> int:
        while home[i] != i:
            home[i] = home[home[i]]
            i = home[i]
        return i

    for i, j, how in pairs:
        first, second = root(i), root(j)
        home[second] = first
        closest[first] = max(closest[first], closest[second], how)
    members: dict[int, list[int]] = {}
    for i, same in enumerate(places):
        members.setdefault(root(i), []).extend(same)
    groups = (Group(tuple(sorted(who)), closest[r]) for r, who in members.items() if len(who) > 1)
    return tuple(sorted(groups, key=lambda group: (-group.closest, -len(group.members), group.members)))


def _usual(codes: Sequence[str]) -> float | None:
    """How alike two submissions are in the median, over a sample spread evenly."""
    sample = codes[:: max(1, len(codes) // SAMPLE)][:SAMPLE]
    if len(sample) < 3:
        return None
    table = cdist(sample, sample, scorer=Indel.normalized_similarity, dtype=np.float32)
    return statistics.median(table[np.triu_indices(len(sample), k=1)].tolist())
