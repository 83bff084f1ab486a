"""Vocabularies: the words that a model knows, and functions to split a text into words and encode them as ids."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from qkv.models.grammar import LANGUAGES, all_words

PADDING = "<padding>"
END = "<end>"
PUNCTUATION = '.,;:!?"，。；：！？、「」'


class Vocabulary:
    """The words that a model knows, each with its id. Id 0 is padding."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = [PADDING, *words]
        self.ids = {word: i for i, word in enumerate(self.words)}
        self._spelled = {word.lower(): word for word in words}
        longest_first = sorted(self._spelled, key=len, reverse=True)
        self._next_word = re.compile("|".join(re.escape(word) for word in longest_first))

    def __len__(self) -> int:
        return len(self.words)

    def split(self, text: str | Sequence[str]) -> list[str]:
        """Split a text, or a list of words, into known words, spelled as in `words`, and without punctuation.

        Capital and small letters count as the same. Chinese has no spaces between words, so the longest known word is
        taken from the left each time.

        Raises:
            ValueError: a word is not known (the message has the word and the nearest known words), or there are none.
        """
        pieces = text if isinstance(text, str) else " ".join(text)
        pieces = pieces.translate(str.maketrans(PUNCTUATION, " " * len(PUNCTUATION)))
        words = [word for piece in pieces.split() for word in self._split_piece(piece)]
        if not words:
            raise ValueError("expected a sentence of at least one word; got none")
        return words

    def _split_piece(self, piece: str) -> list[str]:
        """Return the known words that make up a piece of text without spaces.

        A piece in ASCII is one word; in others, the longest known word is taken from the left each time.

        Raises:
            ValueError: a word is not known.
        """
        if piece.lower() in self._spelled:
            return [self._spelled[piece.lower()]]
        if piece.isascii():
            raise ValueError(self._unknown(piece))
        words = []
        while piece:
            found = self._next_word.match(piece.lower())
            if not found:
                raise ValueError(self._unknown(self._until_known(piece)))
            words.append(self._spelled[found[0]])
            piece = piece[found.end() :]
        return words

    def _until_known(self, piece: str) -> str:
        """Return the letters before the next known word in a piece that does not begin with a known word."""
        found = self._next_word.search(piece.lower(), 1)
        return piece[: found.start()] if found else piece

    def _unknown(self, word: str) -> str:
        return f"{word!r} is not a word that this model knows. The nearest known words: {', '.join(self.nearest(word))}"

    def nearest(self, word: str, n: int = 3) -> list[str]:
        """Return the n known words of the same script that are most similar to a word, the most similar first."""
        from difflib import SequenceMatcher  # not at the top: it takes as long to import as the rest, and is rare

        same_script = [known for known in self.words[1:] if known.isascii() == word.isascii()]

        def likeness(known: str) -> float:
            return SequenceMatcher(None, word.lower(), known.lower()).ratio()

        return sorted(same_script, key=likeness, reverse=True)[:n]

    def encode(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Return the ids of the words, int64 (B, n), with 0 after the end of a shorter sentence.

        Raises:
            KeyError: a word is not spelled as in `words`; those that `split` returns are.
            ValueError: there is no sentence.
        """
        n = max(len(words) for words in sentences)
        return torch.tensor([[*(self.ids[word] for word in words), *[0] * (n - len(words))] for words in sentences])


@cache
def grammar_vocabulary() -> Vocabulary:
    """Return the vocabulary of all words of the grammar, English and Chinese."""
    return Vocabulary([word for language in LANGUAGES for word in all_words(language)])


@cache
def writer_vocabulary() -> Vocabulary:
    """Return the vocabulary of all words of the grammar and <end>."""
    return Vocabulary([*grammar_vocabulary().words[1:], END])
