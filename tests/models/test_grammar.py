"""The grammar: every sentence says what is true of it, and what is held out is held out."""

from __future__ import annotations

from random import Random

import pytest

from qkv.models.grammar import (
    CLASSES,
    GRAMMAR,
    LANGUAGES,
    PARTS,
    agree,
    all_nouns,
    all_words,
    combinations,
    draw,
    draw_from,
    part_of,
    read,
)


def drawn(n: int, seed: int = 0, language: str | None = None):
    random = Random(seed)
    return [draw(random, language) for _ in range(n)]


@pytest.mark.parametrize(
    ("text", "noun"),
    [
        ("the cat chased the mouse because it was hungry", "cat"),
        ("the cat chased the mouse because it was tasty", "mouse"),
        ("my old owl fed a girl because it was thin", "girl"),
        ("the saw feared an old saw because it was big", "saw"),
        ("貓 追 老鼠 因為 它 餓了", "貓"),
        ("貓 追 老鼠 因為 它 很好吃", "老鼠"),
    ],
)
def test_verb_and_adjective_decide_which_noun_it_stands_for(text, noun):
    sentence = read(text.split())
    assert sentence is not None
    assert list(sentence.refers_to.values()) == [noun]
    assert sentence.words[next(iter(sentence.refers_to))] in ("it", "它")


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("I saw a saw", "pronoun verb determiner noun"),
        ("the saw saw a saw", "determiner noun verb determiner noun"),
        ("the saw fed a hen because it was kind", "determiner noun verb determiner noun conjunction pronoun verb adjective"),  # noqa: E501
        ("我 畫 畫", "pronoun verb noun"),
        ("這幅 畫 畫 一幅 舊 畫", "determiner noun verb determiner adjective noun"),
    ],
)  # fmt: skip
def test_one_word_has_the_class_of_its_place(text, classes):
    sentence = read(text.split())
    assert sentence is not None
    assert " ".join(sentence.classes) == classes


def test_what_is_drawn_is_read_back_with_the_same_truth():
    sentences = drawn(2000)
    for sentence in sentences:
        assert read(sentence.words) == sentence
        assert set(sentence.classes) <= set(CLASSES)
        assert (sentence.it is None) == (not sentence.refers_to)
    assert {word for s in sentences for word in s.words} == {w for language in LANGUAGES for w in all_words(language)}


def test_half_of_all_it_stand_for_each_noun_and_both_languages_are_drawn():
    with_it = [s for s in drawn(4000) if s.it is not None]
    first = [s.noun == s.classes.index("noun") for s in with_it]
    assert 0.45 < sum(first) / len(first) < 0.55
    assert 0.45 < sum(s.language == "chinese" for s in with_it) / len(with_it) < 0.55


@pytest.mark.parametrize(
    "text", ["the cat the cat", "cat", "", "the cat chased", "I saw a saw saw", "the 貓 saw a saw"]
)
def test_other_orders_of_words_are_no_sentences(text):
    assert read(text.split()) is None


def test_where_verb_and_adjective_do_not_go_together_it_has_no_noun():
    sentence = read(["the", "cat", "chased", "the", "mouse", "because", "it", "was", "rich"])
    assert sentence is not None
    assert sentence.refers_to == {}


@pytest.mark.parametrize(
    ("plain", "agreed"),
    [
        ("a owl saw a cat", "an owl saw a cat"),
        ("a old cat saw an hen", "an old cat saw a hen"),
        ("一隻 老 男孩 畫 一隻 老 畫", "一個 老 男孩 畫 一幅 舊 畫"),
        ("一幅 貓 看見 這把 鎚子", "一隻 貓 看見 這把 鎚子"),
    ],
)
def test_words_take_the_form_that_their_noun_asks_for(plain, agreed):
    language = "english" if plain.isascii() else "chinese"
    assert agree(language, plain.split()) == agreed.split()
    assert agree(language, agreed.split()) == agreed.split()


def test_no_sentence_says_a_owl():
    words = [pair for s in drawn(3000, language="english") for pair in zip(s.words, s.words[1:], strict=False)]
    assert ("an", "owl") in words
    assert not {("a", "owl"), ("a", "old"), ("an", "cat")} & set(words)


def test_training_never_sees_a_combination_that_is_held_out():
    random = Random(1)
    seen, held_out = set(), set()
    for _ in range(3000):
        seen |= {tuple(words) for words in combinations(draw_from("training", random))}
        kept = [tuple(words) for words in combinations(draw_from("combination", random))]
        assert len(kept) == 2
        assert not set(kept) <= seen
        held_out |= set(kept)
    new = held_out - seen
    assert {len(words) for words in new} == {2, 3}  # pairs of nouns, and noun with verb and adjective
    assert len(new) > 100


def test_every_noun_verb_and_adjective_is_seen_in_training():
    random = Random(2)
    seen = {word for _ in range(3000) for word in draw_from("training", random).words}
    assert seen == {word for language in LANGUAGES for word in all_words(language)}
    for language in LANGUAGES:
        for act, sides in GRAMMAR[language]["acts"].items():
            for adjective in sides["actor"] + sides["other"]:
                triples = [[noun, act, adjective] for noun in GRAMMAR[language]["nouns"]]
                kept_out = sum(_is_held_out(language, triple) for triple in triples)
                assert kept_out < len(triples) / 2


def _is_held_out(language: str, triple: list[str]) -> bool:
    """Ask whether no sentence with this noun, verb and adjective is in training."""
    noun, act, adjective = triple
    sides = GRAMMAR[language]["acts"][act]
    for other in GRAMMAR[language]["nouns"]:
        nouns = [noun, other] if adjective in sides["actor"] else [other, noun]
        because = ["because", "it", "was"] if language == "english" else ["因為", "它"]
        the = ["the"] if language == "english" else []
        sentence = read([*the, nouns[0], act, *the, nouns[1], *because, adjective])
        assert sentence is not None
        if part_of(sentence) != "combination":
            return False
    return True


def test_a_part_that_is_none_raises(monkeypatch):
    monkeypatch.setattr("qkv.models.grammar.draw", None)  # or it would draw for ever
    with pytest.raises(ValueError, match="'test'"):
        draw_from("test", Random(0))


def test_every_part_is_drawn_and_they_share_no_sentence():
    shares = {part: sum(part_of(s) == part for s in drawn(4000)) / 4000 for part in PARTS}
    assert shares["training"] > 0.6
    assert min(shares.values()) > 0.05
    random = Random(3)
    parts = [{draw_from(part, random).words for _ in range(500)} for part in PARTS]
    assert not parts[0] & parts[1]
    assert not parts[0] & parts[2]


def test_nouns_of_all_languages_are_told_apart():
    assert len(set(all_nouns())) == len(all_nouns()) == 32
