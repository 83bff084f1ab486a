"""Find submissions whose code is nearly the same.

A match is a reason to read the submissions. It proves nothing: short answers to the same question agree by chance.
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

CLOSE = 0.95  # share of the tokens that two submissions have in the same order
# Share of the public solution from which a submission counts as a copy. Notebooks that were put together from right
# answers of many kinds have at most 0.57 (5 chapters, 60 each); the solution with its variables renamed, at least 0.88.
PUBLIC = 0.8
MIN_TOKENS = 60  # a submission with fewer tokens of its own is not compared
MAX_TOKENS = 1000  # of a submission that are compared, so that the time stays bounded
MAX_SOURCE = 200_000  # characters of a submission that are compared
SAMPLE = 100  # submissions from which the median similarity is estimated
MIN_CLASS = 20  # in a class of this size, a line that half of the submissions share does not count as copied
LETTERS = 255  # different characters that stand for tokens

# A string without an end also matches, up to the end of its line or of the text. Otherwise the search for its end
# would start again at each quotation mark, and take quadratic time.
LEXEME = re.compile(
    r"""(?P<text>("{3}|'{3}).*?(?:\2|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)"""
    r"""|(?P<comment>\#[^\n]*)|(?P<name>[^\W\d]\w*)|(?P<other>\w+|[^\w\s])""",
    re.DOTALL | re.VERBOSE,
)
COMMON = frozenset(keyword.kwlist) | frozenset(dir(builtins))


@dataclass(frozen=True)
class Group:
    """A group of submissions; each is close to at least one other member."""

    members: tuple[int, ...]  # their indices in the list that was compared
    closest: float  # the largest similarity of two members, from 0 to 1


@dataclass(frozen=True)
class Comparison:
    """The result of comparing the submissions of one notebook."""

    groups: tuple[Group, ...]
    compared: int  # submissions that were compared
    too_short: int  # submissions with too little code of their own
    median_similarity: float | None  # of two submissions, from 0 to 1; None if there are too few of them


def compare(sources: Sequence[str], released: str = "") -> Comparison:
    """Compare the code of one notebook's submissions, and return groups of similar ones.

    Comments do not count. Lines of the released notebook do not count either, nor do lines that at least half of the
    submissions have, if there are at least `MIN_CLASS` submissions. Submissions with few tokens are not compared, but
    counted.
    """
    counts = (
        Counter(line for source in sources for line in lines_of(source)) if len(sources) >= MIN_CLASS else Counter()
    )
    given = lines_of(released) | {line for line, count in counts.items() if 2 * count >= len(sources)}
    known = COMMON | {match["name"] for line in given for match in LEXEME.finditer(line) if match["name"]}
    places: dict[str, list[int]] = {}
    for i, source in enumerate(sources):
        places.setdefault(own_code(source, given, known), []).append(i)
    short = sum(len(places.pop(code)) for code in list(places) if len(code) < MIN_TOKENS)
    codes = list(places)
    groups = _groups(list(places.values()), _close_pairs(codes))
    return Comparison(groups, len(sources) - short, short, _median_similarity(codes))


def shares_of_public(sources: Sequence[str], public: str, released: str = "") -> list[float]:
    """Return how much of each submission is the public solution, from 0 to 1; 0 if one of the two is short.

    All lines count but the released ones: where most of a class has the solution, its lines are still copied.
    """
    given = lines_of(released)
    known = COMMON | {match["name"] for line in given for match in LEXEME.finditer(line) if match["name"]}
    solution, *codes = (own_code(source, given, known) for source in (public, *sources))
    if len(solution) < MIN_TOKENS:
        return [0.0] * len(codes)
    shares = cdist([solution], codes, scorer=Indel.normalized_similarity, dtype=np.float32)[0].tolist()
    return [share if len(code) >= MIN_TOKENS else 0.0 for share, code in zip(shares, codes, strict=True)]


def lines_of(source: str) -> frozenset[str]:
    """Return the set of a source's lines, without empty lines and without spaces at both ends."""
    return frozenset(filter(None, map(str.strip, source[:MAX_SOURCE].splitlines())))


def own_code(source: str, given: frozenset[str], known: frozenset[str]) -> str:
    """Return a submission's first `MAX_TOKENS` own tokens as a string of one character each. Strings compare fast.

    The lines in `given` do not count. All names that the learner chose, those not in `known`, become the same
    character, so that renaming hides no copy. Names of attributes and of called functions stay different.
    """
    own = "\n".join(line for line in source[:MAX_SOURCE].splitlines() if line.strip() not in given)
    return "".join(letter(token) for token in _tokens(own, known))[:MAX_TOKENS]


def _tokens(code: str, known: frozenset[str]) -> Iterator[str]:
    """Yield the tokens of code without comments: one sign for all texts, one word for all names that are not `known`.

    Names of attributes and of called functions stay as they are.
    """
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
    """Return a character for a token, the same in every run. It fits into one byte, so that texts compare fast."""
    return chr(1 + zlib.crc32(token.encode("utf-8", "replace")) % LETTERS)


def _close_pairs(codes: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """Yield each pair of close texts: both indices and the similarity, which is at least `CLOSE`.

    The edit distance of two texts is at least the difference of their character counts. So the counts, which are
    fast to compare, rule out nearly all pairs before the edit distance is computed.
    """
    counts = np.array([np.bincount(np.frombuffer(code.encode("latin-1"), np.uint8), minlength=256) for code in codes])
    counts = counts.astype(np.int16)  # each count is at most MAX_TOKENS
    lengths = np.array([len(code) for code in codes])
    for i, code in enumerate(codes[:-1]):
        apart = np.abs(counts[i + 1 :] - counts[i]).sum(1, dtype=np.int32)
        near = i + 1 + np.nonzero(apart <= (1 - CLOSE) * (lengths[i + 1 :] + lengths[i]) + 1e-6)[0]
        others = [codes[int(j)] for j in near]
        shares = cdist([code], others, scorer=Indel.normalized_similarity, score_cutoff=CLOSE, dtype=np.float32)[0]
        yield from ((i, int(j), float(share)) for j, share in zip(near, shares, strict=True) if share > 0)


def _groups(places: Sequence[Sequence[int]], pairs: Iterable[tuple[int, int, float]]) -> tuple[Group, ...]:
    """Join close texts into groups of submissions (union-find); groups with the closest pair come first.

    Args:
        places: for each text, the indices of the submissions that have it
        pairs: the close pairs of texts, with their similarity
    """
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


def _median_similarity(codes: Sequence[str]) -> float | None:
    """Return the median similarity of two submissions, from an evenly spaced sample; None for fewer than three."""
    sample = codes[:: max(1, len(codes) // SAMPLE)][:SAMPLE]
    if len(sample) < 3:
        return None
    table = cdist(sample, sample, scorer=Indel.normalized_similarity, dtype=np.float32)
    return statistics.median(table[np.triu_indices(len(sample), k=1)].tolist())
