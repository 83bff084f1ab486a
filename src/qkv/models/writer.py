"""The writer: a model that continues a sentence of the grammar, word by word.

It is a causal decoder with feed-forward networks, trained on the tagger's sentences. Each
sentence begins and ends with the token <end>.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from qkv.attention import Visit, unchanged
from qkv.cache import KVCache
from qkv.models.grammar import LANGUAGES, Sentence, all_words
from qkv.models.vocabulary import END, writer_vocabulary
from qkv.transformer import Decoder, TransformerShape, generate

N_MAX = 12  # words in the longest sentence, and the <end> before it


def writer_shape() -> TransformerShape:
    """Return the sizes of the writer: 32 features, 2 layers of 2 heads."""
    return TransformerShape(
        vocab_size=len(writer_vocabulary()), d_model=32, n_layers=2, n_heads=2, d_hidden=64, n_max=N_MAX
    )


class Writer(Decoder):
    """A decoder that predicts the next word of a sentence at every position, from the words up to it."""

    def __init__(self, shape: TransformerShape | None = None) -> None:
        super().__init__(shape or writer_shape())
        self.vocabulary = writer_vocabulary()
        torch.nn.init.normal_(self.embedding.tokens.weight, std=0.3)
        torch.nn.init.normal_(self.embedding.positions.table, std=0.3)

    def forward(
        self,
        ids: Tensor,
        caches: Sequence[KVCache] | None = None,
        memory: Tensor | None = None,
        memory_real: Tensor | None = None,
        visit: Visit = unchanged,
    ) -> Tensor:
        """Return the logits of the next word, (B, n, vocab), as `Decoder` does; that of padding, id 0, is −∞."""
        logits = super().forward(ids, caches, memory, memory_real, visit)
        return logits.index_fill(-1, torch.tensor([0]), -math.inf)

    def write(
        self,
        start: str | Sequence[str] = "",
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        seed: int | None = None,
        cache: bool = True,
    ) -> str:
        """Continue a sentence to its end, or write a whole one without a start.

        The same seed gives the same sentence, with the cache and without it. At temperature 0
        each word is the likeliest one. At high temperatures <end> may not be drawn: then the
        sentence stops when the writer has no more positions. With top_k, only the k likeliest
        words can be drawn. Without a seed, torch's global random state is used.

        Returns:
            the whole sentence, with the start and without <end>
        Raises:
            ValueError: a word of the start is not known, the start is too long, or the temperature
                is below 0.
        """
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        words = [END, *(self.vocabulary.split(start) if start else [])]
        ids = [self.vocabulary.ids[word] for word in words]
        if len(ids) > N_MAX:
            raise ValueError(f"expected at most {N_MAX - 1} words; got {len(ids) - 1}")
        caches = self.new_caches() if cache else None
        while len(ids) <= N_MAX:
            (new,) = generate(self, ids, 1, caches, temperature, generator, top_k)
            if self.vocabulary.words[new] == END:
                break
            ids.append(new)
        return join([self.vocabulary.words[i] for i in ids[1:]])


def join(words: Sequence[str]) -> str:
    """Join words to a text, Chinese words without spaces."""
    chinese = set(all_words(LANGUAGES[1]))
    return ("" if all(word in chinese for word in words) else " ").join(words)


def with_ends(sentences: Sequence[Sentence]) -> list[list[str]]:
    """Put <end> before and after each sentence."""
    return [[END, *sentence.words, END] for sentence in sentences]
