"""What has to hold between a text and its translation. A rule takes both, and yields what is wrong."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

from markdown_it import MarkdownIt

from tools.translations.terms import glossary, table

Rule = Callable[[str, str], Iterator[str]]
MATHS = re.compile(r"\$\$?[^$]+\$\$?")
CODE = re.compile(r"`[^`]+`")
LINK = re.compile(r"\]\(([^)]+)\)")
PLACEHOLDER = re.compile(r"(?:(?<![\\A-Za-z0-9_^}])|(?<=\\n))\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}(?:\{[^{}]*\})*")
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
LARGE_NUMBER = re.compile(r"(\d+(?:\.\d+)?) (million|billion)")
LARGE = {"million": (100, 0.01), "billion": (10,)}  # a million is 100 萬 or 0.01 億, a billion is 10 億
TAG = re.compile(r"<[^>]*>")
ITALIC = re.compile(r"(?<!\*)\*(?:\*\*)?[^*]*[A-Za-z][^*]*\*(?:\*\*)?(?!\*)")  # names of works, sentences
CITATION = re.compile(r"\[?[A-Z][\w .&]+(?:et al\.|and \w+|Team)?, \d{4}|^[A-Z]\w+ (?:et al\.|Team), \d{4}\.")
LATIN = re.compile(r"[A-Za-z]{2,}(?:[ '’-][A-Za-z]+)*")
NAME = re.compile(
    r"\b\w+(?:[._]\w+)+\b|(?<![A-Za-z.])\.\w+\b|\b\w+\[[^\]]*\]"
)  # of Python: d_model, F.pad, .mT, mask[i]
MARKDOWN = MarkdownIt()
HAN = r"\u4e00-\u9fff"


def without(text: str, *patterns: re.Pattern[str]) -> str:
    for pattern in patterns:
        text = pattern.sub(" ", text)
    return text


def same(name: str, found_in: Callable[[str], Counter[str]]) -> Rule:
    """Return a rule: what `found_in` finds in one text, it also finds in the other, as often, in any order.

    `name` is what it is called in the lines of the rule.
    """

    def rule(text: str, said: str) -> Iterator[str]:
        wanted, found = found_in(text), found_in(said)
        yield from (f"{name} lost: {each}" for each in wanted - found)
        yield from (f"{name} added: {each}" for each in found - wanted)

    return rule


def formulas(text: str) -> Counter[str]:
    """Count the formulas once each, without spaces and words: Chinese repeats a formula where English says "it"."""
    return Counter({re.sub(r"\s|,|\\qquad|\\text\{[^}]*\}", "", found[0]) for found in MATHS.finditer(text)})


def numbers(text: str, said: str) -> Iterator[str]:
    """Yield a line for each number of the source that the translation lacks.

    Chinese may write further ones: "three" as 3, and counts in 萬 and 億.
    """
    bare = [without(each, PLACEHOLDER, MATHS, CODE) for each in (text, said)]
    large = {found[1]: LARGE[found[2]] for found in LARGE_NUMBER.finditer(bare[0])}
    wanted, found = (Counter(NUMBER.findall(each)) for each in bare)
    found_values = {float(each.replace(",", "")) for each in found}
    for each in wanted - found:
        if not any(
            math.isclose(float(each) * factor, value) for factor in large.get(each, ()) for value in found_values
        ):
            yield f"number lost: {each}"


def emphasis(text: str, said: str) -> Iterator[str]:
    """Yield a line if a translation emphasises less than its text, or if Markdown does not see an emphasis in it.

    With a bracket at its edge, `**「詞」**是` is not bold.
    """
    for mark in ("**", "*"):
        alone = re.compile(rf"(?<!\*){re.escape(mark)}(?!\*)")
        wanted, found = (len(alone.findall(without(each, MATHS, CODE))) for each in (text, said))
        if wanted > found:
            yield f"{mark} stands {found} times, not {wanted}"
    if stars_left(said) and not stars_left(text):  # in code, a star is a product
        yield "Markdown does not see an emphasis: put punctuation outside of it"


def stars_left(text: str) -> bool:
    """Return whether Markdown leaves a star in a text, because it does not see an emphasis there."""
    return "*" in text and "*" in TAG.sub("", MARKDOWN.render(without(text, MATHS, CODE, PLACEHOLDER)))


def english(text: str, said: str) -> Iterator[str]:
    """Yield a line with the English words that are left in a translation, except those that `terms.toml` lets stay."""
    rest = without(said, MATHS, CODE, PLACEHOLDER, LINK, ITALIC, CITATION, TAG, NAME, stays())
    if left := LATIN.findall(rest):
        yield f"English: {', '.join(left)}"


@cache
def stays() -> re.Pattern[str]:
    """Return a pattern for the words that may stay, for names of errors and of dtypes, and for single letters."""
    words = sorted(table()["other"]["stays"], key=len, reverse=True)  # the longest first: "GPT-2" before "GPT"
    names = r"\b\w+Error\b|\bu?int\d+|\bb?float\d+|\b[A-Za-z]\b"
    return re.compile("|".join(rf"\b{re.escape(word)}\b" for word in words) + "|" + names)


def punctuation(text: str, said: str) -> Iterator[str]:
    """Yield a line for each mark or space of a Chinese translation that is wrong.

    Punctuation after Chinese is Chinese. Between Chinese and Latin letters or numbers is one space; else there is none.
    """
    rest = CODE.sub("`c`", MATHS.sub("$m$", said))
    yield from (f"half-width after Chinese: {each}" for each in re.findall(rf"[{HAN}][,;:?!.](?:\s|$)", rest))
    yield from (f"space between Chinese: {each}" for each in re.findall(rf"[{HAN}，。] [{HAN}]", rest))
    mixed = re.findall(rf"[{HAN}][A-Za-z0-9$`]|[A-Za-z0-9$`][{HAN}]", PLACEHOLDER.sub("", rest))
    yield from (f"no space: {each}" for each in mixed)
    quotes = "[“”]" if '"' in text else '[“”"]'  # a text with code may have its quotation marks
    yield from (f"quotation mark: {each}" for each in re.findall(quotes, CODE.sub("", said)))


def terms(text: str, said: str) -> Iterator[str]:
    """Yield a line for each term of a text whose name in the glossary or `terms.toml` its translation does not have.

    So too for each word of the translation that is not used in Taiwan.
    """
    prose = without(text, ITALIC, MATHS, CODE, PLACEHOLDER, NAME)
    for pattern, name in wanted_terms():
        if (found := pattern.search(prose)) and name not in said:
            yield f"term: {found[0]} is {name}"
    yield from (f"not a word of Taiwan: {word}" for word in table()["other"]["never"] if word in said)


@cache
def wanted_terms() -> list[tuple[re.Pattern[str], str]]:
    """Return pairs: the pattern of a term in an English text, and the name that its translation has in Taiwan."""
    own = [(term["en"], term["zh_TW"]) for term in table()["term"]]
    named = [(rf"\b{plural(name)}\b", glossary()[name][0]) for name in table()["other"]["checked"]]
    return [(re.compile(pattern, re.IGNORECASE), name) for pattern, name in own + named]


def plural(name: str) -> str:
    return f"{name[:-1]}(?:y|ies)" if re.search(r"[^aeiou]y$", name) else f"{name}s?"


ANY_LANGUAGE: tuple[Rule, ...] = (
    same("formula", formulas),
    same("code", lambda text: Counter(set(CODE.findall(text)))),
    same("link", lambda text: Counter(LINK.findall(text))),
    same("placeholder", lambda text: Counter(PLACEHOLDER.findall(without(text, MATHS, CODE)))),
    numbers,
    emphasis,
    english,
)
RULES: dict[str, tuple[Rule, ...]] = {"zh_TW": (*ANY_LANGUAGE, punctuation, terms), "zh_CN": ANY_LANGUAGE}


def broken(text: str, said: str, language: str) -> Iterator[str]:
    """Yield what is wrong with a translation."""
    for rule in RULES[language]:
        yield from rule(text, said)
