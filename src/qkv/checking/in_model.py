"""Run a trained model of the course with an answer in the place of ours, and say how well it does.

A question's `in_model` says where the answer goes (`qkv.questions.engine.in_model`). The result is never a mark.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from qkv.attention import padding_mask
from qkv.cache import KVCache
from qkv.models import load_tagger, load_writer
from qkv.models import sentences as draw_sentences
from qkv.models.grammar import Sentence, read
from qkv.models.tagger import Tagger, targets
from qkv.models.vocabulary import END
from qkv.models.writer import N_MAX, Writer, join, with_ends
from qkv.questions.engine.in_model import InModel, ModelRun
from qkv.questions.engine.question import Question
from qkv.sandboxed.isolation import CapturedOutput, quiet, undisturbed
from qkv.sandboxed.time_limit import TimeUp, at_most
from qkv.transformer import Edit, Places
from qkv.words import sentences, t

SECONDS = 2  # until the run is given up; with a right answer it takes a tenth of a second
N_SENTENCES = 100
EXAMPLE = "the cat chased the mouse because it was hungry"
N_TEXTS = 20  # new sentences on which heads are compared; more name the same head, and take longer
LENGTH = 9  # the words of each of them; two of three new sentences have as many
BEGINNING = "the dog chased"


def say_in_model(question: Question, answer: Any, passed: bool) -> str:
    """Return a sentence about what a trained model does with an answer in the place of ours.

    It is empty if the question has no model, if the model does not run with the answer or not in time, and for a wrong
    answer with which it does as well as with ours. The weights are read anew each time, so nothing that an answer does
    to a model lasts.
    """
    if question.in_model is None:
        return ""
    say = {"tagger": _say_tagger, "writer": _say_writer}[question.in_model.model]
    try:
        with at_most(SECONDS), undisturbed(), quiet(), CapturedOutput(), torch.no_grad():
            return say(question.in_model, answer, question.name, passed)
    except TimeUp:
        return ""
    except KeyboardInterrupt:
        raise
    except BaseException:  # also SystemExit; it was observed already: whatever it does wrong, the verdict says
        return ""


# ── the tagger: which noun is *it*? ───────────────────────────────────────────────────────────────


def _say_tagger(put: InModel, answer: Any, name: str, passed: bool) -> str:
    """Say what the tagger answers with this part, and in how many new sentences it is right.

    `passed`: whether the answer is right. If it is wrong, but the tagger does as well as with ours, return "".
    """
    example = read(EXAMPLE.split())
    assert example is not None
    drawn = _exam(N_SENTENCES)
    tagger = load_tagger()
    noun = tagger.nouns[int(_nouns(tagger, put, answer, [example])[0])]
    right = n_right(tagger, put, answer, drawn)
    said = t(
        "With your `{name}` in place of ours, the trained tagger reads “{text}”, and says: “it” is the {noun}.",
        name=name,
        text=EXAMPLE,
        noun=noun,
    )
    if passed:
        return sentences(said, t("Right in {n} of {all} new sentences.", n=right, all=N_SENTENCES))
    ours = n_right(tagger, InModel(), None, drawn)
    if right == ours:  # these sentences do not show what is wrong
        return ""
    values = {"n": right, "all": N_SENTENCES, "ours": ours}
    return sentences(said, t("Right in {n} of {all} new sentences; with ours, in {ours}.", **values))


@cache
def _exam(n: int) -> list[Sentence]:
    """Draw new sentences with *it*, the same ones for each check: drawing takes a third of the time of one."""
    return draw_sentences("new", n, 0, "english", only_it=True)


def n_right(tagger: Tagger, put: InModel, answer: Any, drawn: list[Sentence]) -> int:
    """Count the sentences in which a tagger with the answer finds the noun that *it* stands for."""
    lengths = sorted({len(sentence.words) for sentence in drawn})
    batches = [drawn] if put.padded else [[s for s in drawn if len(s.words) == n] for n in lengths]
    return sum(int((_nouns(tagger, put, answer, batch) == _true_nouns(batch)).sum()) for batch in batches)


def _nouns(tagger: Tagger, put: InModel, answer: Any, batch: list[Sentence]) -> Tensor:
    """Return the index in `tagger.nouns` of the noun that the tagger, with the answer in it, finds for each *it*, (B,).

    It is −1 if a logit is not finite. The sentences have one length, unless `put.padded`.
    """
    ids = tagger.vocabulary.encode([sentence.words for sentence in batch])
    places = Places()
    run = ModelRun(tagger.encoder.stack, padding_mask(ids > 0), places)
    places.edits.update(_guarded(put.edits(answer, run)))
    _, logits = tagger(ids, places)
    at_it = logits[torch.arange(len(batch)), [sentence.it for sentence in batch]]
    return torch.where(at_it.isfinite().all(-1), at_it.argmax(-1), -1)


def _true_nouns(batch: list[Sentence]) -> Tensor:
    return targets(batch)[1].amax(-1)


# ── the writer: which words come next? ────────────────────────────────────────────────────────────


def _say_writer(put: InModel, answer: Any, name: str, passed: bool) -> str:
    """Say how the writer continues a sentence with this part, and how often it writes what it writes with ours.

    `passed`: whether the answer is right. If it is wrong, but the writer writes the same, return "". A question with
    its own `says` makes the sentence itself, for right answers only.
    """
    writer = load_writer()
    if put.says is not None:
        if not passed:  # wrong numbers say nothing about the writer
            return ""
        return put.says(answer, _new_texts(writer), writer.state_dict(), writer.shape.n_heads)
    drawn = [BEGINNING.split(), *(list(s.words[:3]) for s in draw_sentences("new", put.n_texts, 0, "english"))]
    given = writer.vocabulary.encode([[END, *words] for words in drawn])
    ids = written(writer, put, answer, given)
    same = int(as_ours(writer, ids, given.shape[1])[1:].sum())
    said = t(
        "With your `{name}` in place of ours, the trained writer continues “{text}”: “{more}”.",
        name=name,
        text=BEGINNING,
        more=_text(writer, ids[0, 1:].tolist()),
    )
    if same == put.n_texts and not passed:  # these sentences do not show what is wrong
        return ""
    of_all = t("The same as with ours in {n} of {all} sentences.", n=same, all=put.n_texts)
    return sentences(said, of_all)


def _new_texts(writer: Writer) -> Tensor:
    """Return the ids of new sentences of one length."""
    drawn = [sentence for sentence in _exam(2 * N_TEXTS) if len(sentence.words) == LENGTH]
    return writer.vocabulary.encode(with_ends(drawn[:N_TEXTS]))


def written(writer: Writer, put: InModel, answer: Any, ids: Tensor) -> Tensor:
    """Continue texts (B, n), each time by the likeliest word with the answer in the writer.

    Return the ids (B, n + new).

    It stops when each text has its <end>, or when the writer has no more positions.
    """
    grow = _steps(writer, put, answer) if put.next_ids is None else _next_of(writer, put.next_ids, answer)
    while ids.shape[1] <= N_MAX and not (ids[:, 1:] == writer.vocabulary.ids[END]).any(-1).all():
        ids = torch.cat([ids, grow(ids)[:, None]], dim=1)
    return ids


def as_ours(writer: Writer, ids: Tensor, n_given: int) -> Tensor:
    """Return for each text (B, n) whether the writer alone would have continued its `n_given` first words the same way.

    The result is bool (B,). Words after <end> do not count. This takes one run for all words, because the writer is
    causal.
    """
    new, likeliest = ids[:, n_given:], writer(ids[:, :-1])[:, n_given - 1 :].argmax(-1)
    ends = new == writer.vocabulary.ids[END]
    has_ended = ends.cumsum(-1) > ends.long()  # before this word
    return ((new == likeliest) | has_ended).all(-1)


def _next_of(writer: Writer, next_ids: Callable[..., Tensor], answer: Any) -> Callable[[Tensor], Tensor]:
    """Return a function that lets an answer, which is the whole writer or a block of it, find the next id."""
    own = {name: weight.clone() for name, weight in writer.state_dict().items()}  # an answer may write into them
    return lambda ids: next_ids(answer, ids, own, writer.shape.n_heads)


def _steps(writer: Writer, put: InModel, answer: Any) -> Callable[[Tensor], Tensor]:
    """Return a function from ids (B, n) to the likeliest next ids (B,), computed with the answer in the writer.

    Each token runs through the writer once, one at a time, and is then in the caches. So the function has to be called
    with texts that grow.
    """
    places = Places()
    run = ModelRun(writer.stack, torch.ones(1, 1, 1, 1, dtype=torch.bool), places)
    places.edits.update(_guarded(put.edits(answer, run)))
    caches = [KVCache() if put.cache is None else put.cache(answer) for _ in run.layers]

    def next_ids(ids: Tensor) -> Tensor:
        for token in ids[:, len(caches[0]) :].split(1, dim=1):
            logits = writer(token, caches, visit=places)
        return logits[:, -1].argmax(-1)

    return next_ids


def _text(writer: Writer, ids: list[int]) -> str:
    """Return the words up to <end>."""
    words = [writer.vocabulary.words[i] for i in ids]
    return join(words[: words.index(END)] if END in words else words)


# ── both ──────────────────────────────────────────────────────────────────────────────────────────


def _guarded(edits: dict[str, Edit]) -> dict[str, Edit]:
    """Return the edits, changed to raise a ValueError if the result is no tensor of the shape of ours.

    The result gets the dtype of ours.
    """

    def guarded(edit: Edit) -> Callable[[Tensor], Tensor]:
        def checked(ours: Tensor) -> Tensor:
            theirs = edit(ours)
            if not isinstance(theirs, Tensor) or theirs.shape != ours.shape:
                raise ValueError(f"expected {tuple(ours.shape)}")
            return theirs.to(ours)

        return checked

    return {place: guarded(edit) for place, edit in edits.items()}
