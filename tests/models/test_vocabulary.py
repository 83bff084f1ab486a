"""Which words are known, and where one ends."""

from __future__ import annotations

from random import Random

import pytest

from qkv.models.grammar import draw
from qkv.models.vocabulary import END, Vocabulary, grammar_vocabulary, writer_vocabulary

CAT = ["the", "cat", "chased", "the", "mouse", "because", "it", "was", "hungry"]
MAO = ["貓", "追", "老鼠", "因為", "它", "餓了"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the cat chased the mouse because it was hungry", CAT),
        ("  The CAT chased the mouse, because it was hungry. ", CAT),
        (CAT, CAT),
        (["The", "cat", "chased", "the", "mouse", ",", "because", "it", "was", "hungry", "."], CAT),
        ("i saw a saw", ["I", "saw", "a", "saw"]),
        ("貓追老鼠因為它餓了", MAO),
        ("貓追老鼠，因為它餓了。", MAO),
        ("貓 追 老鼠, 因為 它 餓了", MAO),
        (MAO, MAO),
        ("老老鼠", ["老", "老鼠"]),
        ("貓頭鷹怕貓", ["貓頭鷹", "怕", "貓"]),
    ],
)
def test_a_text_is_cut_into_words(text, words):
    assert grammar_vocabulary().split(text) == words


def test_chinese_without_spaces_is_cut_as_it_was_written():
    random = Random(0)
    for _ in range(1000):
        sentence = draw(random, "chinese")
        assert grammar_vocabulary().split(str(sentence)) == list(sentence.words)


@pytest.mark.parametrize(
    ("text", "unknown", "near"),
    [
        ("the dragon saw a saw", "dragon", "dog"),
        ("the cats saw a saw", "cats", "cat"),
        ("thecat saw a saw", "thecat", "cat"),
        ("the cat's saw", "cat's", "cat"),
        (["the", "mous"], "mous", "mouse"),
        ("貓追龍因為它餓了", "龍", None),
        ("貓吃掉老鼠", "吃掉", "很好吃"),
        ("el gato", "el", None),
        ("señor", "señor", None),
    ],
)
def test_an_unknown_word_is_named_with_the_nearest_known_ones(text, unknown, near):
    with pytest.raises(ValueError, match=f"^['\"]{unknown}['\"] is not a word") as error:
        grammar_vocabulary().split(text)
    if near:
        assert near in str(error.value).split(": ")[1].split(", ")


@pytest.mark.parametrize("text", ["", "  ", "...", [], [""]])
def test_nothing_is_no_sentence(text):
    with pytest.raises(ValueError, match="at least one word"):
        grammar_vocabulary().split(text)


def test_shorter_sentences_are_padded_with_0():
    vocabulary = Vocabulary(["a", "b"])
    assert vocabulary.encode([["b", "a", "b"], ["a"]]).tolist() == [[2, 1, 2], [1, 0, 0]]


def test_the_writer_knows_the_same_words_by_the_same_ids_and_the_end():
    assert writer_vocabulary().words == [*grammar_vocabulary().words, END]
