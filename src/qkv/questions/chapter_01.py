"""Chapter 1, sequence inputs: what is asked, and what people get wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.questions.engine import Case, Draw, Misconception, Question, Seen, call
from qkv.questions.slips import At, slips
from qkv.sequences import embed, frame_signal, one_hot, pad_batch


def some_ids(draw: Draw, n: int, vocab: int, *must: int) -> Tensor:
    """Draw n ids below vocab, these among them, in any order."""
    ids = torch.cat([torch.tensor(must, dtype=torch.int64)[:n], draw.ids(max(0, n - len(must)), below=vocab)])
    return ids[torch.randperm(n, generator=draw.generator)]


# ── 1.1 one-hot rows ──────────────────────────────────────────────────────────────────────────────

Guard = Callable[[Tensor, int], None]  # of ids and vocab_size: raises where an id is outside


def guard(outside: Callable[[Tensor, int], Tensor], error: type[Exception] = ValueError) -> Guard:
    """Give a test of ids that takes these for outside, and raises this."""

    def test(ids: Tensor, vocab_size: int) -> None:
        wrong = ids[outside(ids, vocab_size)]
        if wrong.numel():
            raise error(f"expected ids from 0 to {vocab_size - 1}; got {wrong.tolist()}")

    return test


def is_outside(ids: Tensor, vocab_size: int) -> Tensor:
    return (ids < 0) | (ids >= vocab_size)


in_range = guard(is_outside)


def unguarded(ids: Tensor, vocab_size: int) -> None:
    pass


def guard_by_truth(ids: Tensor, vocab_size: int) -> None:
    if ids[is_outside(ids, vocab_size)]:
        raise ValueError("outside")


def compared(ids: Tensor, vocab_size: int) -> Tensor:
    return (ids[:, None] == torch.arange(vocab_size)).float()


def looked_up(ids: Tensor, vocab_size: int) -> Tensor:
    return torch.eye(vocab_size)[ids]


def one_hot_variant(check: Guard = in_range, rows: Callable[[Tensor, int], Tensor] = compared) -> Callable[..., Tensor]:
    """Give an answer to 1.1 that tests ids, or makes rows, in another way."""

    def variant(ids: Tensor, vocab_size: int) -> Tensor:
        check(ids, vocab_size)
        return rows(ids, vocab_size)

    return variant


def draw_ids(draw: Draw) -> list[Case]:
    def case(name: str, n: int, vocab: int, *must: int, raises: str | None = None) -> Case:
        inside = [i for i in must if 0 <= i < vocab]
        ids = some_ids(draw, n, vocab, *inside) if raises is None else some_ids(draw, n, vocab, *must)
        return Case(call(ids, vocab), name, {"n": n, "vocab": vocab}, raises=raises)

    def without_last() -> Case:
        n, vocab = draw.whole(5, 7), draw.whole(9, 12)
        word = draw.whole(1, vocab - 2)
        ids = some_ids(draw, n, vocab - 1, 0, word, word)
        return Case(call(ids, vocab), "plain", {"n": n, "vocab": vocab})

    few, many = draw.whole(4, 6), draw.whole(8, 11)
    vocab = draw.whole(4, 8)
    return [
        without_last(),
        case("plain", many, few, 0, few - 1, 1, 1),
        case("the first and the last id", 4, many, 0, many - 1),
        case("as many ids as words", few, few, 0, few - 1, 2, 2),
        case("n = 1", 1, vocab, vocab - 1),
        case("n = 1", 1, vocab, 0),
        case("a vocabulary of one word", 3, 1),
        case("an id that equals vocab_size", few + 2, vocab, vocab, 0, raises="ValueError"),
        case("an id far above", few, vocab, vocab + draw.whole(2, 9), 0, raises="ValueError"),
        case("the id −1", few + 1, vocab, -1, vocab - 1, raises="ValueError"),
        case("an id far below", few, vocab, -vocab - draw.whole(2, 9), vocab - 1, raises="ValueError"),
        case("nothing but an id that equals vocab_size", 1, vocab, vocab, raises="ValueError"),
        case("nothing but the id −1", 1, vocab, -1, raises="ValueError"),
    ]


def one_hot_in_steps(at: At) -> Callable[..., Tensor]:
    def answer(ids: Tensor, vocab_size: int) -> Tensor:
        in_range(ids, vocab_size)
        columns = at("columns", torch.arange(vocab_size))
        return at("rows", (ids[:, None] == columns).float())

    return answer


def every_row_has_every_id(ids: Tensor, vocab_size: int) -> Tensor:
    rows = torch.zeros(len(ids), vocab_size)
    rows[:, ids] = 1
    return rows


NOT_CHECKED = (
    "A row came back for an id that the vocabulary does not have. What should a word get that nobody knows: a row, "
    "or a complaint? The question says which."
)
LAST_ONE = "Ids below 0 are refused, and so are large ones. What is the largest id that a vocabulary of 5 words has?"
NEGATIVE = (
    "Ids that are too large are refused, and −1 gets a row. What does Python take index −1 for? Is that a word's id?"
)
TORCHS_ERROR = (
    "Ids outside raise an error, but another one: {0}. Which exception does the question ask for, and who raises it?"
)
NOT_FLOATS = (
    "The ones stand in the right places, but they are {0}. This row will be multiplied with a table. Which kind of "
    "numbers is asked for?"
)

ONE_HOT = Question(
    id="1.1",
    points=2,
    title="One-hot rows",
    inputs=("ids", "vocab_size"),
    outputs=("rows (n, vocab_size)",),
    draw=draw_ids,
    reference=one_hot,
    variant=one_hot_variant,
    any_float=True,
    row_sums={"rows": 1.0},
    misconceptions=(
        Misconception("id-not-checked", NOT_CHECKED, knobs={"check": unguarded}),
        Misconception(
            "id-not-checked",
            "A row came back for the id −1, and a large id gave an IndexError that the indexing raised. Who should "
            "look at the ids first, and say what is wrong with them?",
            twin=looked_up,
        ),
        Misconception("negative-id-let-through", NEGATIVE, knobs={"check": guard(lambda ids, size: ids >= size)}),
        Misconception(
            "large-id-let-through",
            "Negative ids are refused, and ids that are too large get a row. Which column would hold their 1?",
            knobs={"check": guard(lambda ids, size: ids < 0)},
        ),
        Misconception(
            "large-id-let-through",
            "Negative ids are refused, and large ones are left to the indexing, which raises IndexError. Which "
            "exception is asked for?",
            knobs={"check": guard(lambda ids, size: ids < 0), "rows": looked_up},
        ),
        Misconception("id-off-by-one", LAST_ONE, knobs={"check": guard(lambda ids, size: (ids < 0) | (ids > size))}),
        Misconception(
            "id-off-by-one",
            LAST_ONE,
            knobs={"check": guard(lambda ids, size: (ids < 0) | (ids > size)), "rows": looked_up},
        ),
        Misconception(
            "minus-one-let-through",
            "The id −1 gets a row, and −2 is refused. Where do ids begin?",
            knobs={"check": guard(lambda ids, size: (ids < -1) | (ids >= size))},
        ),
        Misconception(
            "last-id-refused",
            "The last word of the vocabulary is refused. Five words have the ids 0 to 4. Which of them is the last?",
            knobs={"check": guard(lambda ids, size: (ids < 0) | (ids >= size - 1))},
        ),
        Misconception(
            "first-id-refused",
            "The id 0 is refused. Which id has the first word of a vocabulary?",
            knobs={"check": guard(lambda ids, size: (ids <= 0) | (ids >= size))},
        ),
        Misconception(
            "all-for-any",
            "You refuse ids when all of them are outside. What becomes of a sentence with one unknown word?",
            knobs={"check": guard(lambda ids, size: is_outside(ids, size) & is_outside(ids, size).all())},
        ),
        Misconception(
            "another-error", TORCHS_ERROR.format("RuntimeError"), knobs={"check": guard(is_outside, RuntimeError)}
        ),
        Misconception(
            "another-error", TORCHS_ERROR.format("IndexError"), knobs={"check": guard(is_outside, IndexError)}
        ),
        Misconception("another-error", TORCHS_ERROR.format("KeyError"), knobs={"check": guard(is_outside, KeyError)}),
        Misconception("another-error", TORCHS_ERROR.format("TypeError"), knobs={"check": guard(is_outside, TypeError)}),
        Misconception(
            "another-error",
            "Ids outside raise an AssertionError. An `assert` can be switched off. Which exception is asked for?",
            knobs={"check": guard(is_outside, AssertionError)},
        ),
        Misconception(
            "not-floats",
            NOT_FLOATS.format("whole numbers or truth values"),
            knobs={"rows": lambda ids, size: compared(ids, size).long()},
        ),
        Misconception(
            "counted-from-one",
            "Each 1 stands one column too far left, and that of id 0 in the last. Does the first word have id 0, or 1?",
            knobs={"rows": lambda ids, size: torch.eye(size)[ids - 1]},
        ),
        Misconception(
            "counted-from-one",
            "Each 1 stands one column too far left, and the row of id 0 is empty. Which id has the first word?",
            knobs={"rows": lambda ids, size: (ids[:, None] == torch.arange(1, size + 1)).float()},
        ),
        Misconception(
            "shifted-right",
            "Each 1 stands one column too far right. In which column does id 0 have its 1?",
            knobs={"rows": lambda ids, size: torch.eye(size)[(ids + 1) % size]},
        ),
        Misconception(
            "shifted-right",
            "Each 1 stands one column too far right, and the last word's row is empty. Where is id 0's column?",
            knobs={"rows": lambda ids, size: (ids[:, None] == torch.arange(-1, size - 1)).float()},
        ),
        Misconception(
            "transposed",
            "Your rows are words of the vocabulary and your columns tokens. What is a row in this course?",
            knobs={"rows": lambda ids, size: compared(ids, size).mT},
        ),
        Misconception(
            "vocabulary-guessed",
            "Your rows are only as wide as the largest id that occurs. The next sentence has other words: do its rows "
            "have the same width? Which argument says how wide?",
            knobs={"rows": lambda ids, size: F.one_hot(ids).float()},
        ),
        Misconception(
            "position-for-id",
            "The 1 moves one column on with each row, whatever the ids are. Which word does a row stand for?",
            knobs={"rows": lambda ids, size: torch.eye(len(ids), size)},
        ),
        Misconception(
            "id-in-place-of-1",
            "Where the 1 should be, the id stands. Is word 4 four times as much of anything as word 1?",
            knobs={"rows": lambda ids, size: compared(ids, size) * ids[:, None]},
        ),
        Misconception(
            "filled-up-to-the-id",
            "Your rows hold ones in every column up to the id. How many places are *hot* in a one-hot row?",
            knobs={"rows": lambda ids, size: (torch.arange(size) <= ids[:, None]).float()},
        ),
        Misconception(
            "filled-up-to-the-id",
            "Your rows hold ones in every column from the id on, or before it. How many places are *hot*?",
            knobs={"rows": lambda ids, size: (torch.arange(size) >= ids[:, None]).float()},
        ),
        Misconception(
            "filled-up-to-the-id",
            "Your rows hold ones in every column before the id. How many places are *hot*, and which?",
            knobs={"rows": lambda ids, size: (torch.arange(size) < ids[:, None]).float()},
        ),
        Misconception(
            "filled-up-to-the-id",
            "Your rows hold ones in every column after the id. How many places are *hot*, and which?",
            knobs={"rows": lambda ids, size: (torch.arange(size) > ids[:, None]).float()},
        ),
        Misconception(
            "zeros-and-ones-exchanged",
            "Your rows are 0 in one place and 1 everywhere else. Which place says which word it is?",
            knobs={"rows": lambda ids, size: 1 - compared(ids, size)},
        ),
        Misconception(
            "every-row-has-every-id",
            "All your rows are alike: each has a 1 for every word of the sentence. An index like `[:, ids]` means "
            "*these columns of all rows*. Which row should get which column?",
            knobs={"rows": every_row_has_every_id},
        ),
        Misconception(
            "counts",
            "One row came back, with counts: how often each word occurs. What became of the order of the words?",
            knobs={"rows": lambda ids, size: compared(ids, size).sum(0)},
        ),
        Misconception(
            "repeated-ids-dropped",
            "A word that occurs twice has one row only. How many rows has *I saw a saw*?",
            knobs={"rows": lambda ids, size: compared(ids.unique(), size)},
        ),
        Misconception(
            "ids-sorted",
            "The rows come in the order of the ids. In which order are the tokens of a sentence?",
            knobs={"rows": lambda ids, size: compared(ids.sort().values, size)},
        ),
        Misconception(
            "one-column-too-many",
            "Your rows have vocab_size + 1 columns. Ids run from 0 to vocab_size − 1: how many is that?",
            knobs={"rows": lambda ids, size: compared(ids, size + 1)},
        ),
        Misconception(
            "one-column-too-few",
            "Your rows have vocab_size − 1 columns. Ids run from 0 to vocab_size − 1: how many is that?",
            knobs={"rows": lambda ids, size: compared(ids, size - 1)},
        ),
        Misconception(
            "all-zeros",
            "Your rows are all zeros. What must be written into each of them, and where?",
            knobs={"rows": lambda ids, size: torch.zeros(len(ids), size)},
        ),
        Misconception(
            "softmax-applied",
            "Your rows sum to 1, but no number in them is 0. A one-hot row says which word it is. Is anything unsure?",
            knobs={"rows": lambda ids, size: compared(ids, size).softmax(-1)},
        ),
        *(
            Misconception(
                "good-ids-refused",
                f"Ids that the vocabulary has are refused: those {which}. For which ids is your comparison true?",
                twin=one_hot_variant(check=guard(outside)),
            )
            for which, outside in (
                ("above 0", lambda ids, size: (ids > 0) | (ids >= size)),
                ("from 0 on, all there are", lambda ids, size: (ids >= 0) | (ids >= size)),
                ("below vocab_size", lambda ids, size: (ids < 0) | (ids < size)),
            )
        ),
        Misconception(
            "one-unknown-id-let-through",
            "A single id outside is let through where it is 0 or its test is read as a truth value: your test asks for "
            "the ids themselves. How do you ask whether there are any?",
            twin=one_hot_variant(check=guard_by_truth),
        ),
        *(
            Misconception(
                "ids-against-columns-one-by-one",
                "Id i is compared with column i, and with no other. Each id must meet every column: which new axis "
                "makes room for that?",
                twin=one_hot_variant(rows=rows),
            )
            for rows in (
                lambda ids, size: (ids == torch.arange(size)).float(),
                lambda ids, size: (ids[None] == torch.arange(size)).float(),
            )
        ),
        *slips(
            one_hot_in_steps,
            "negated",
            columns="the columns' numbers 0 … vocab_size − 1",
            rows="your rows of zeros and ones",
        ),
    ),
)

# ── 1.2 an embedding ──────────────────────────────────────────────────────────────────────────────


def draw_look_up(draw: Draw) -> list[Case]:
    def case(name: str, leading: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **fixed: int) -> Case:
        s = draw.sizes("n", "vocab", "d", low=5, **fixed)
        count = s["n"] * torch.Size(leading).numel()
        twice = draw.whole(0, s["vocab"] - 1)
        ids = some_ids(draw, count, s["vocab"], 0, s["vocab"] - 1, twice, twice).reshape(*leading, s["n"])
        return Case(call(ids, draw.normal(s["vocab"], s["d"], dtype=dtype)), name, s)

    same = draw.whole(5, 9)
    return [
        *draw.situations(case),
        case("more features than words", vocab=6, d=draw.whole(8, 11)),
        case("more words than features", vocab=draw.whole(8, 11), d=6),
        case("all sizes equal", n=same, vocab=same, d=same),
        case("n = 1", n=1),
        case("sentences of one word", leading=(3,), n=1),
        case("d = 1", d=1),
        case("a vocabulary of one word", vocab=1),
    ]


def looked_up_variant(
    index: Callable[[Tensor, Tensor], Tensor] = lambda ids, table: ids,
    after: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda rows, ids, table: rows,
) -> Callable[..., Tensor]:
    """Give an answer to 1.2 that looks up at other places, or goes on with the rows."""

    def variant(ids: Tensor, table: Tensor) -> Tensor:
        return after(table[index(ids, table)], ids, table)

    return variant


def by_position(ids: Tensor, table: Tensor) -> Tensor:
    return (torch.arange(ids.shape[-1]) % len(table)).expand(ids.shape)


EMBED = Question(
    id="1.2",
    points=2,
    title="Look up embeddings",
    inputs=("ids", "table"),
    outputs=("vectors (..., d)",),
    draw=draw_look_up,
    reference=embed,
    variant=looked_up_variant,
    gradients=True,
    misconceptions=(
        Misconception(
            "columns-looked-up",
            "You took columns of the table. It is (vocab, d): what is a row of it, and what is a column?",
            twin=lambda ids, table: table.mT[ids],
        ),
        Misconception(
            "columns-looked-up",
            "You took columns of the table, side by side. It is (vocab, d): what is a row of it, and what is a column?",
            twin=lambda ids, table: table[:, ids],
        ),
        Misconception(
            "counted-from-one",
            "Every vector is that of the word before in the vocabulary. Do ids begin with 0, or with 1?",
            knobs={"index": lambda ids, table: ids - 1},
        ),
        Misconception(
            "shifted-by-one",
            "Every vector is that of the next word in the vocabulary. In which row does word 0 have its vector?",
            knobs={"index": lambda ids, table: (ids + 1) % len(table)},
        ),
        Misconception(
            "shifted-by-one",
            "Every vector is that of the next word in the vocabulary, and the last word has none. In which row does "
            "word 0 have its vector?",
            knobs={"index": lambda ids, table: ids + 1},
        ),
        Misconception(
            "position-for-id",
            "Your rows are the table's first ones, in order. They say where a word stands. Which word stands there?",
            knobs={"index": by_position},
        ),
        Misconception(
            "table-reversed",
            "The table is read from its end. Which row belongs to id 0?",
            knobs={"index": lambda ids, table: len(table) - 1 - ids},
        ),
        Misconception(
            "ids-sorted",
            "The vectors come in the order of the ids. In which order are the tokens?",
            knobs={"index": lambda ids, table: ids.sort(-1).values},
        ),
        Misconception(
            "repeated-ids-dropped",
            "A word that occurs twice has one vector only. How many rows has *I saw a saw*?",
            knobs={"index": lambda ids, table: ids.unique()},
        ),
        Misconception(
            "leading-axes-lost",
            "All tokens of the batch stand in one long list. Which axes of ids should the result still have?",
            knobs={"index": lambda ids, table: ids.flatten()},
        ),
        Misconception(
            "only-the-first-sequence",
            "The vectors of one sequence came back for a batch of them. What became of the others?",
            knobs={"index": lambda ids, table: ids.reshape(-1, ids.shape[-1])[0]},
        ),
        Misconception(
            "summed-over-tokens",
            "One vector came back for a whole sequence: the sum of its words' vectors. What does the next layer need, "
            "to give each token a label?",
            knobs={"after": lambda rows, ids, table: rows.sum(-2)},
        ),
        Misconception(
            "averaged-over-tokens",
            "One vector came back for a whole sequence: the mean of its words' vectors. What does the next layer need, "
            "to give each token a label?",
            knobs={"after": lambda rows, ids, table: rows.mean(-2)},
        ),
        Misconception(
            "summed-over-features",
            "One number came back for each token. How many numbers has the vector of a word?",
            knobs={"after": lambda rows, ids, table: rows.sum(-1)},
        ),
        Misconception(
            "transposed",
            "Your tokens are columns. In this course, what is a row?",
            knobs={"after": lambda rows, ids, table: rows.mT},
        ),
        Misconception(
            "one-hot-returned",
            "Your rows say which word it is, as wide as the vocabulary. Which product makes vectors of them?",
            twin=lambda ids, table: F.one_hot(ids, len(table)).to(table.dtype),
        ),
        Misconception(
            "ids-returned",
            "The ids came back, not vectors. Where are the vectors kept?",
            twin=lambda ids, table: ids,
        ),
        Misconception(
            "table-returned",
            "The whole table came back. Which of its rows does this sentence need, and how often?",
            twin=lambda ids, table: table * 1,
        ),
        Misconception(
            "multiplied-by-id",
            "Each vector is multiplied by its id. An id is a name: is word 4 four times as much as word 1?",
            knobs={"after": lambda rows, ids, table: rows * ids[..., None]},
        ),
        Misconception(
            "scaled-by-width",
            "Your vectors are √d times those of the table. Some models do that later on. Does a look-up?",
            knobs={"after": lambda rows, ids, table: rows * table.shape[-1] ** 0.5},
        ),
        Misconception(
            "scaled-by-width",
            "Your vectors are those of the table divided by √d. Does a look-up change what it finds?",
            knobs={"after": lambda rows, ids, table: rows / table.shape[-1] ** 0.5},
        ),
        Misconception(
            "normalised",
            "Each vector has length 1. Does a look-up change what it finds?",
            knobs={"after": lambda rows, ids, table: F.normalize(rows, dim=-1)},
        ),
        Misconception(
            "softmax-applied",
            "Each vector is positive and sums to 1. Does a look-up change what it finds?",
            knobs={"after": lambda rows, ids, table: rows.softmax(-1)},
        ),
        Misconception(
            "padding-for-a-word",
            "Id 0 gives zeros, as if it were padding. Here it is a word like any other. Who said otherwise?",
            knobs={"after": lambda rows, ids, table: rows * (ids != 0)[..., None]},
        ),
        Misconception(
            "padding-for-a-word",
            "The vectors are right, but word 0 will never learn: no gradient reaches its row. Which argument takes it "
            "for padding?",
            twin=lambda ids, table: F.embedding(ids, table, padding_idx=0),
        ),
        Misconception(
            "gradient-cut-at-the-table",
            "The vectors are right, but no gradient reaches the table. Was it copied into a new layer, detached, or "
            "sent through NumPy? Such a table never learns.",
            twin=lambda ids, table: table.detach()[ids],
        ),
        *slips(lambda at: lambda ids, table: at("vectors", table[ids]), "negated rounded", vectors="the vectors"),
        Misconception(
            "vectors-rounded",
            "Your vectors are cut to whole numbers. Which step or which dtype does that?",
            knobs={"after": lambda rows, ids, table: rows.trunc()},
        ),
    ),
)

# ── 1.3 a batch and its mask ──────────────────────────────────────────────────────────────────────

Lengths = list[int]


def draw_sequences(draw: Draw) -> list[Case]:
    def some_lengths(longest: int) -> Lengths:
        """Draw lengths for 3 or 4 sequences, pairwise different, the longest at this place."""
        n_max = draw.whole(6, 7)
        shorter = (2 + torch.randperm(n_max - 2, generator=draw.generator)).tolist()
        lengths = shorter[: draw.whole(2, 3)]
        lengths.insert(len(lengths) if longest < 0 else longest, n_max)
        return lengths

    def case(name: str, lengths: Lengths, d: int | None = None, dtype: torch.dtype = torch.float32) -> Case:
        d = draw.whole(8, 11) if d is None else d
        sequences = [draw.normal(n, d, dtype=dtype) for n in lengths]
        return Case(call(sequences), name, {"B": len(lengths), "n_max": max(lengths), "d": d})

    same = draw.whole(4, 6)
    return [
        case("plain", some_lengths(1)),
        case("plain", some_lengths(-1)),
        case("the longest first", some_lengths(0)),
        case("float64", some_lengths(1), dtype=torch.float64),
        silent(draw),
        case("all of one length", [same] * 3),
        case("one sequence", [same]),
        case("a sequence of one row", [1, same, 3]),
        case("d = 1", some_lengths(-1), d=1),
        case("sequences of one row each", [1, 1]),
        case("all sizes equal", [same, 2, *range(3, same)] + [same] * 1, d=same),
    ]


def silent(draw: Draw) -> Case:
    """Real rows that look like padding: all zeros, zero in part, or of sum 0."""
    d = 2 * draw.whole(4, 5)
    first, second, third = draw.normal(5, d), draw.normal(6, d), torch.zeros(3, d)
    first[-1] = 0  # the last real row
    first[1] = 0
    second[2, : d // 2] = 0
    second[3, d // 2 :] = -second[3, : d // 2]
    second[0] = 0
    return Case(call([first, third, second]), "real rows of zeros", {"B": 3, "n_max": 6, "d": d})


def keep_mask(batch: Tensor, mask: Tensor, lengths: Lengths) -> Tensor:
    return mask


def give_both(batch: Tensor, mask: Tensor, lengths: Lengths) -> Any:
    return batch, mask


def pad_variant(
    order: Callable[[list[Tensor]], list[Tensor]] = list,
    width: Callable[[Lengths], int] = max,
    start: Callable[[int, int], int] = lambda n, width: 0,
    fill: float = 0.0,
    real: Callable[[Tensor, Tensor, Lengths], Tensor] = keep_mask,
    give: Callable[[Tensor, Tensor, Lengths], Any] = give_both,
) -> Callable[..., Any]:
    """Give an answer to 1.3 that goes wrong at some of its steps."""

    def variant(sequences: list[Tensor]) -> Any:
        chosen = order(sequences)
        lengths = [len(s) for s in chosen]
        n = width(lengths)
        batch = torch.full((len(chosen), n, chosen[0].shape[-1]), fill, dtype=chosen[0].dtype)
        mask = torch.zeros(len(chosen), n, dtype=torch.bool)
        for i, s in enumerate(chosen):
            first = start(min(len(s), n), n)
            batch[i, first : first + len(s)] = s[:n]
            mask[i, first : first + len(s)] = True
        return give(batch, real(batch, mask, lengths), lengths)

    return variant


def first_places(counts: Sequence[int]) -> Callable[[Tensor, Tensor, Lengths], Tensor]:
    return lambda batch, mask, lengths: torch.arange(mask.shape[1]) < torch.tensor(counts)[:, None]


def shifted_mask(by: int) -> Callable[[Tensor, Tensor, Lengths], Tensor]:
    """Give a mask that takes this many more rows for real."""
    return lambda batch, mask, lengths: torch.arange(mask.shape[1]) < torch.tensor(lengths)[:, None] + by


def as_wide(axis: int) -> Callable[[Tensor, Tensor, Lengths], Tensor]:
    """Give a mask with as many places as the batch has on another axis."""
    return lambda batch, mask, lengths: torch.arange(batch.shape[axis]) < torch.tensor(lengths)[:, None]


def repeat_last(batch: Tensor, mask: Tensor, lengths: Lengths) -> Any:
    last = torch.stack([row[n - 1] for row, n in zip(batch, lengths, strict=True)])
    return torch.where(mask[..., None], batch, last[:, None]), mask


def in_front(n: int, width: int) -> int:
    return width - n


def sized_by_the_first(sequences: list[Tensor]) -> Any:
    batch = torch.zeros(len(sequences), *sequences[0].shape, dtype=sequences[0].dtype)
    mask = torch.zeros(batch.shape[:2], dtype=torch.bool)
    for i, s in enumerate(sequences):
        batch[i, : len(s)] = s
        mask[i, : len(s)] = True
    return batch, mask


def time_first(sequences: list[Tensor]) -> Any:
    """Forget that `pad_sequence` puts the places first unless it is told otherwise."""
    batch = torch.nn.utils.rnn.pad_sequence(sequences)
    return batch, torch.arange(batch.shape[1]) < torch.tensor([len(s) for s in sequences])[:, None]


def says_real(seen: Seen) -> str:
    """Quote how many rows a mask takes for real."""
    mask = seen.value[1] if isinstance(seen.value, (tuple, list)) and len(seen.value) == 2 else None
    if not isinstance(mask, Tensor) or mask.ndim != 2:
        return ""
    return f"Your mask takes {mask.bool().sum(-1).tolist()} rows for real. "


READ_OFF = (
    "Your mask was read off the numbers. A silent window is {0}, and real. Who knows how many rows are real, before "
    "any zero is added?"
)

PAD_BATCH = Question(
    id="1.3",
    points=4,
    title="Pad a batch",
    inputs=("sequences",),
    outputs=("batch (B, n_max, d)", "mask (B, n_max)"),
    draw=draw_sequences,
    reference=pad_batch,
    variant=pad_variant,
    gradients=True,
    misconceptions=(
        Misconception(
            "mask-inverted",
            lambda seen: f"{says_real(seen)}True and False are exchanged. What does True say of a row in this course?",
            knobs={"real": lambda batch, mask, lengths: ~mask},
        ),
        Misconception(
            "mask-read-off-the-numbers",
            READ_OFF.format("all zeros"),
            knobs={"real": lambda batch, mask, lengths: (batch != 0).any(-1)},
        ),
        Misconception(
            "mask-read-off-the-numbers",
            READ_OFF.format("zero in some places"),
            knobs={"real": lambda batch, mask, lengths: (batch != 0).all(-1)},
        ),
        Misconception(
            "mask-read-off-the-numbers",
            READ_OFF.format("zero in its first place"),
            knobs={"real": lambda batch, mask, lengths: batch[..., 0] != 0},
        ),
        Misconception(
            "mask-read-off-the-numbers",
            READ_OFF.format("zero in its last place"),
            knobs={"real": lambda batch, mask, lengths: batch[..., -1] != 0},
        ),
        Misconception(
            "mask-read-off-the-numbers",
            READ_OFF.format("of sum 0"),
            knobs={"real": lambda batch, mask, lengths: batch.sum(-1).abs() > 1e-6},
        ),
        Misconception(
            "mask-off-by-one",
            lambda seen: (
                f"{says_real(seen)}One row of padding passes for real. Rows are counted from 0: which is last?"
            ),
            knobs={"real": shifted_mask(1)},
        ),
        Misconception(
            "mask-off-by-one",
            lambda seen: (
                f"{says_real(seen)}The last real row passes for padding. Rows are counted from 0: which is it?"
            ),
            knobs={"real": shifted_mask(-1)},
        ),
        Misconception(
            "everything-real",
            "Your mask is True everywhere. Which rows were not there before you padded?",
            knobs={"real": lambda batch, mask, lengths: torch.ones_like(mask)},
        ),
        Misconception(
            "nothing-real",
            "Your mask is False everywhere. Which rows came from the sequences?",
            knobs={"real": lambda batch, mask, lengths: torch.zeros_like(mask)},
        ),
        Misconception(
            "one-length-for-all",
            lambda seen: (
                f"{says_real(seen)}Every sequence has the first one's length there. Where does each row get its own?"
            ),
            knobs={"real": lambda b, mask, lengths: first_places([lengths[0]] * len(lengths))(b, mask, lengths)},
        ),
        Misconception(
            "one-length-for-all",
            lambda seen: (
                f"{says_real(seen)}Every sequence has the last one's length there. Where does each row get its own?"
            ),
            knobs={"real": lambda b, mask, lengths: first_places([lengths[-1]] * len(lengths))(b, mask, lengths)},
        ),
        Misconception(
            "one-length-for-all",
            lambda seen: (
                f"{says_real(seen)}Every sequence has the shortest one's length there. Where does each get its own?"
            ),
            knobs={"real": lambda b, mask, lengths: first_places([min(lengths)] * len(lengths))(b, mask, lengths)},
        ),
        Misconception(
            "only-the-end-marked",
            "Your mask is True in one place a sequence: its last real row. What should it say of the rows before?",
            knobs={
                "real": lambda batch, mask, lengths: torch.arange(mask.shape[1]) == torch.tensor(lengths)[:, None] - 1
            },
        ),
        Misconception(
            "mask-of-numbers",
            "Your mask is right, but it is made of numbers. Chapter 5 will negate it and index with it. Which dtype "
            "has only two values?",
            knobs={"real": lambda batch, mask, lengths: mask.long()},
        ),
        Misconception(
            "lengths-for-a-mask",
            "In place of a mask the lengths came back. They say the same. Which rows of the batch do they make real, "
            "one by one?",
            knobs={"real": lambda batch, mask, lengths: torch.tensor(lengths)},
        ),
        Misconception(
            "mask-transposed",
            "Your mask has a row for each place and a column for each sequence. Which axis comes first in the batch?",
            knobs={"real": lambda batch, mask, lengths: mask.mT},
        ),
        Misconception(
            "mask-for-every-number",
            "Your mask has an entry for each number of the batch. Can one feature of a row be real and another "
            "padding?",
            knobs={"real": lambda batch, mask, lengths: mask[..., None].expand_as(batch)},
        ),
        Misconception(
            "mask-for-every-number",
            "Your mask has an axis more than asked for. What does it have one entry for?",
            knobs={"real": lambda batch, mask, lengths: mask[..., None]},
        ),
        Misconception(
            "padded-in-front",
            "Your padding stands in front of the real rows. Row 0 of a sequence: where should it be in the batch?",
            knobs={"start": in_front},
        ),
        Misconception(
            "padded-in-front",
            "Your padding stands in front of the real rows, and your mask says that it stands behind them. Where "
            "should row 0 of a sequence be?",
            knobs={"start": in_front, "real": shifted_mask(0)},
        ),
        Misconception(
            "mask-from-the-other-side",
            "The batch is right, but your mask is True at the end of each row. Where do the real rows stand?",
            knobs={"real": lambda batch, mask, lengths: mask.flip(-1)},
        ),
        Misconception(
            "padded-with-something-else",
            "Your padding is 1. What should stand where there is nothing?",
            knobs={"fill": 1.0},
        ),
        Misconception(
            "padded-with-something-else",
            "Your padding is −1. What should stand where there is nothing?",
            knobs={"fill": -1.0},
        ),
        Misconception(
            "padded-with-something-else",
            "Your padding is −∞. That belongs into scores, in chapter 5. What becomes of −∞ times 0?",
            knobs={"fill": -torch.inf},
        ),
        Misconception(
            "padded-with-something-else",
            "Your padding is NaN. What becomes of a sum that meets it, even with a weight of 0?",
            knobs={"fill": torch.nan},
        ),
        Misconception(
            "last-row-repeated",
            "Your padding repeats the last real row. What should stand where there is nothing?",
            knobs={"give": repeat_last},
        ),
        Misconception(
            "cut-to-the-shortest",
            "Your batch is as long as the shortest sequence, so real rows are lost. Which sequence sets the length?",
            knobs={"width": min},
        ),
        Misconception(
            "one-row-too-long",
            "Your batch has one row more than the longest sequence. What is the last place for?",
            knobs={"width": lambda lengths: max(lengths) + 1},
        ),
        Misconception(
            "one-row-too-long",
            "Your batch is one row short: the longest sequence lost its last. What sets the length of the batch?",
            knobs={"width": lambda lengths: max(lengths) - 1},
        ),
        Misconception(
            "fixed-length",
            "Your batch has the same length whatever the sequences are. What sets its length?",
            knobs={"width": lambda lengths: 16},
        ),
        Misconception(
            "sized-by-the-first",
            "Your batch takes its length from the first sequence. What happens when a later one is longer?",
            twin=sized_by_the_first,
        ),
        Misconception(
            "sorted-by-length",
            "Your batch holds the longest sequence first. Who will find their own sequence again?",
            knobs={"order": lambda sequences: sorted(sequences, key=len, reverse=True)},
        ),
        Misconception(
            "sorted-by-length",
            "Your batch holds the shortest sequence first. Who will find their own sequence again?",
            knobs={"order": lambda sequences: sorted(sequences, key=len)},
        ),
        Misconception(
            "order-reversed",
            "Your batch holds the sequences in reverse order. Who will find their own sequence again?",
            knobs={"order": lambda sequences: sequences[::-1]},
        ),
        Misconception(
            "batch-axis-second",
            "Your batch is (n_max, B, d): the places come first. Which axis is asked for first?",
            knobs={"give": lambda batch, mask, lengths: (batch.transpose(0, 1), mask)},
        ),
        Misconception(
            "batch-axis-second",
            "Your batch and mask both have the places first and the sequences second. Which axis is asked for first?",
            knobs={"give": lambda batch, mask, lengths: (batch.transpose(0, 1), mask.mT)},
        ),
        Misconception(
            "features-second",
            "Your batch is (B, d, n_max). In this course, what is a row?",
            knobs={"give": lambda batch, mask, lengths: (batch.mT, mask)},
        ),
        Misconception(
            "put-end-to-end",
            "All sequences stand in one long list of rows. Then where does one end and the next begin? A batch keeps "
            "them apart.",
            knobs={"give": lambda batch, mask, lengths: (batch[mask], mask)},
        ),
        Misconception(
            "rows-and-mask-swapped",
            "The mask comes first and the batch second. In which order does the question ask for them?",
            knobs={"give": lambda batch, mask, lengths: (mask, batch)},
        ),
        Misconception(
            "mask-not-returned",
            "The batch came back alone. What says which of its rows are real?",
            knobs={"give": lambda batch, mask, lengths: batch},
        ),
        Misconception(
            "batch-not-returned",
            "The mask came back alone. Two things are asked for: batch, and then mask.",
            knobs={"give": lambda batch, mask, lengths: mask},
        ),
        Misconception(
            "lengths-added",
            "Three things came back. Two are asked for. What does the third say that the mask does not?",
            knobs={"give": lambda batch, mask, lengths: (batch, mask, torch.tensor(lengths))},
        ),
        Misconception(
            "gradient-cut-at-the-batch",
            "Batch and mask are right, but no gradient reaches the sequences. Where were their numbers copied without "
            "their history: `torch.tensor`, `.data`, NumPy?",
            twin=lambda sequences: pad_batch([s.detach() for s in sequences]),
        ),
        *slips(
            lambda at: pad_variant(give=lambda batch, mask, lengths: (at("batch", batch), mask)),
            "negated rounded",
            batch="the batch",
        ),
        *(
            Misconception(
                "mask-as-wide-as-another-axis",
                f"Your mask has as many columns as {what}. How many places has each sequence of the batch?",
                knobs={"real": as_wide(axis)},
            )
            for what, axis in (("there are sequences", 0), ("a row has features", 2))
        ),
        *(
            Misconception(
                "places-against-lengths-one-by-one",
                "Place i is compared with length i, and with no other. Each sequence's length must meet every place: "
                "which new axis makes room for that?",
                knobs={"real": real},
            )
            for real in (
                lambda batch, mask, lengths: torch.arange(mask.shape[1]) < torch.tensor(lengths),
                lambda batch, mask, lengths: torch.arange(mask.shape[1]) < torch.tensor(lengths)[None],
            )
        ),
        Misconception(
            "one-answer-a-sequence",
            "Your mask has one entry for each sequence: the length was compared with the number of places, and not "
            "with each of them. What makes the numbers of all places?",
            knobs={"real": lambda batch, mask, lengths: mask.shape[1] < torch.tensor(lengths)[:, None]},
        ),
        Misconception(
            "nothing-filled-in",
            "Your batch is all zeros. Which of its rows belong to which sequence, and who writes them there?",
            knobs={"give": lambda batch, mask, lengths: (0 * batch.nan_to_num(), mask)},
        ),
        Misconception(
            "mask-off-by-one",
            "Your mask is True behind the first row of padding, and nowhere else. What does True say of a row?",
            knobs={"real": lambda batch, mask, lengths: ~shifted_mask(1)(batch, mask, lengths)},
        ),
        Misconception(
            "only-the-end-marked",
            "Your mask is True in one place a sequence, its first row of padding. What does True say of a row?",
            knobs={"real": lambda batch, mask, lengths: torch.arange(mask.shape[1]) == torch.tensor(lengths)[:, None]},
        ),
        Misconception(
            "only-the-end-marked",
            "Your mask is False in one place a sequence, its first row of padding. What of the rows after it?",
            knobs={"real": lambda batch, mask, lengths: torch.arange(mask.shape[1]) != torch.tensor(lengths)[:, None]},
        ),
        Misconception(
            "batch-axis-second",
            "Your batch is (n_max, B, d), and your mask is as wide as its axis 1. Which axis is asked for first?",
            twin=time_first,
        ),
    ),
)

# ── 1.4 windows of a signal ───────────────────────────────────────────────────────────────────────


def draw_signal(draw: Draw) -> list[Case]:
    def case(
        name: str, window: int, hop: int, n_frames: int, rest: int | None = None, dtype: torch.dtype = torch.float32
    ) -> Case:
        rest = draw.whole(1, hop - 1) if rest is None else rest
        samples = window + (n_frames - 1) * hop + rest
        sizes = {"samples": samples, "window": window, "hop": hop, "n_frames": n_frames}
        return Case(call(draw.normal(samples, dtype=dtype), window, hop), name, sizes)

    def shape() -> tuple[int, int, int]:
        hop = draw.whole(3, 4)
        return draw.choose([n for n in (7, 8, 10, 11) if n % hop]), hop, draw.whole(5, 6)

    return [
        case("plain", *shape()),
        case("plain", *shape()),
        case("float64", *shape(), dtype=torch.float64),
        case("the last window fits exactly", *shape(), rest=0),
        case("one sample is missing to another window", 7, 4, draw.whole(3, 6), rest=3),
        case("windows that do not overlap", 5, 5, draw.whole(6, 8)),
        case("windows that do not overlap, and fit exactly", 5, 5, draw.whole(6, 8), rest=0),
        case("hop = 1", draw.whole(4, 6), 1, draw.whole(7, 9), rest=0),
        case("a single window", 7, 3, 1, rest=0),
        case("a single window, and some samples left", 7, 3, 1, rest=draw.whole(1, 2)),
        case("two windows", 8, 3, 2, rest=0),
        case("a hop of more than half a window", 9, 7, draw.whole(3, 5)),
        case("as many windows as samples in each", 6, 4, 6),
        case("windows of one sample", 1, 1, draw.whole(5, 9), rest=0),
    ]


def cut(signal: Tensor, window: int, starts: Sequence[int]) -> Tensor:
    """Stack windows that begin at these samples, filled up with zeros past the end."""
    padded = F.pad(signal, (0, max(starts) + window))
    return torch.stack([padded[start : start + window] for start in starts])


def all_starts(samples: int, window: int, hop: int) -> Sequence[int]:
    return range(0, samples - window + 1, hop)


def frames_variant(
    starts: Callable[[int, int, int], Sequence[int]] = all_starts,
    after: Callable[[Tensor], Tensor] = lambda frames: frames,
) -> Callable[..., Tensor]:
    """Give an answer to 1.4 whose windows begin elsewhere, or are changed afterwards."""

    def variant(signal: Tensor, window: int, hop: int) -> Tensor:
        return after(cut(signal, window, starts(len(signal), window, hop)))

    return variant


def ragged(signal: Tensor, window: int, hop: int) -> Tensor:
    return torch.stack([signal[start : start + window] for start in range(0, len(signal), hop)])


def without_last(signal: Tensor, window: int, hop: int) -> Tensor:
    """Stop before the last start: `range` without the + 1."""
    starts = range(0, len(signal) - window, hop)
    return torch.stack([signal[start : start + window] for start in starts])


def overlap_for_hop(signal: Tensor, window: int, hop: int) -> Tensor:
    starts = range(0, len(signal) - window + 1, window - hop)
    return torch.stack([signal[start : start + window] for start in starts])


def too_few(signal: Tensor, window: int, hop: int) -> Tensor:
    n_frames = (len(signal) - window) // hop
    return torch.stack([signal[i * hop : i * hop + window] for i in range(n_frames)])


LEFT_OVER = (
    "Your last row was filled up with zeros: the signal ended before it did. Only whole windows count. How many fit?"
)

FRAME_SIGNAL = Question(
    id="1.4",
    points=4,
    title="Cut a signal into windows",
    inputs=("signal", "window", "hop"),
    outputs=("frames (n_frames, window)",),
    draw=draw_signal,
    reference=frame_signal,
    variant=frames_variant,
    misconceptions=(
        Misconception(
            "last-window-padded",
            LEFT_OVER,
            knobs={"starts": lambda samples, window, hop: range(0, samples - window + hop, hop)},
        ),
        Misconception(
            "last-window-padded",
            "A window begins at every hop up to the signal's end, and those that reach past it are filled up with "
            "zeros. Only whole windows count. Where may the last one begin?",
            knobs={"starts": lambda samples, window, hop: range(0, samples, hop)},
        ),
        Misconception(
            "window-forgotten-in-the-count",
            "There is a window for each whole hop in the signal. The last ones reach past its end. Where may the last "
            "one begin?",
            knobs={"starts": lambda samples, window, hop: range(0, samples // hop * hop, hop)},
        ),
        Misconception(
            "ragged-windows",
            "Windows begin up to the signal's last sample, so those at the end are shorter, and do not stack. Where "
            "may the last whole one begin?",
            twin=ragged,
        ),
        Misconception(
            "one-window-too-few",
            "The last whole window is missing. Take a signal that is as long as one window: how many windows are in "
            "it, and what does your count say?",
            twin=too_few,
        ),
        Misconception(
            "one-window-too-many",
            "There is one window too many, and it reaches past the signal. Take a signal as long as one window: how "
            "many are in it?",
            knobs={
                "starts": lambda samples, window, hop: range(0, ((samples - window) // hop + 2) * hop, hop),
            },
        ),
        Misconception(
            "exact-fit-lost",
            "Right where some samples are left over. Where the last window ends with the signal, it is missing. Does "
            "`range` include its end?",
            twin=without_last,
        ),
        Misconception(
            "first-window-dropped",
            "Your first row begins one hop into the signal. Where does the first window begin?",
            knobs={"starts": lambda samples, window, hop: range(hop, samples - window + 1 + hop, hop)},
        ),
        Misconception(
            "one-sample-late",
            "Each of your windows begins one sample too late. Which sample is the first one's first?",
            knobs={
                "starts": lambda samples, window, hop: [s + 1 for s in all_starts(samples, window, hop)],
            },
        ),
        Misconception(
            "hop-ignored",
            "Your windows stand side by side: each begins where the one before ends. After how many samples does the "
            "next one begin?",
            knobs={"starts": lambda samples, window, hop: range(0, samples - window + 1, window)},
        ),
        Misconception(
            "hop-of-one",
            "Your windows begin at every sample. After how many samples does the next one begin?",
            knobs={"starts": lambda samples, window, hop: range(samples - window + 1)},
        ),
        Misconception(
            "hop-taken-for-overlap",
            lambda seen: (
                f"Neighbours of yours share hop = {seen['hop']} samples. Is hop what windows share, or how far the "
                "next one begins from the last?"
            ),
            twin=overlap_for_hop,
        ),
        Misconception(
            "half-a-window",
            "Your windows begin half a window apart. Which argument says how far apart?",
            knobs={"starts": lambda samples, window, hop: range(0, samples - window + 1, max(1, window // 2))},
        ),
        Misconception(
            "twice-the-hop",
            "Every other window is missing. After how many samples does the next one begin?",
            knobs={"starts": lambda samples, window, hop: range(0, samples - window + 1, 2 * hop)},
        ),
        Misconception(
            "window-and-hop-swapped",
            "Your rows are hop samples long, and window samples apart. Which of the two is the length?",
            twin=lambda signal, window, hop: signal.unfold(0, hop, window),
        ),
        Misconception(
            "rows-as-long-as-the-hop",
            "Your rows are hop samples long, so neighbours share nothing. How many samples has a window?",
            twin=lambda signal, window, hop: signal.unfold(0, hop, hop),
        ),
        Misconception(
            "window-one-short",
            "Your windows are one sample short. How many numbers has `signal[a:b]`?",
            knobs={"after": lambda frames: frames[:, :-1]},
        ),
        Misconception(
            "window-one-long",
            "Your windows are one sample too long. How many numbers has `signal[a:b]`?",
            twin=lambda signal, window, hop: cut(signal, window + 1, all_starts(len(signal), window, hop)),
        ),
        Misconception(
            "transposed",
            "Your windows are columns. In this course, what is a row?",
            knobs={"after": lambda frames: frames.mT},
        ),
        Misconception(
            "put-end-to-end",
            "All windows stand in one long list. Which shape keeps them apart?",
            knobs={"after": lambda frames: frames.flatten()},
        ),
        Misconception(
            "laid-out-along-the-wrong-axis",
            "The shape is right, but a row holds samples of several windows. Was something reshaped that should be "
            "transposed?",
            knobs={"after": lambda frames: frames.mT.reshape(frames.shape)},
        ),
        Misconception(
            "windows-reversed",
            "Your windows come in reverse order. Which one comes first in time?",
            knobs={"after": lambda frames: frames.flip(0)},
        ),
        Misconception(
            "samples-reversed",
            "Within each window time runs backwards. Which sample of a window comes first?",
            knobs={"after": lambda frames: frames.flip(-1)},
        ),
        Misconception(
            "tapered",
            "Your windows fade in and out. Speech systems often do that next. Did this question ask for it?",
            knobs={"after": lambda frames: frames * torch.hann_window(frames.shape[-1], dtype=frames.dtype)},
        ),
        Misconception(
            "tapered",
            "Your windows fade in and out. Speech systems often do that next. Did this question ask for it?",
            knobs={"after": lambda frames: frames * torch.hamming_window(frames.shape[-1], dtype=frames.dtype)},
        ),
        Misconception(
            "mean-removed",
            "Each window's mean was taken away. Should a row hold the signal's own samples?",
            knobs={"after": lambda frames: frames - frames.mean(-1, keepdim=True)},
        ),
        Misconception(
            "averaged",
            "One number a window came back, its mean. What should a row hold?",
            knobs={"after": lambda frames: frames.mean(-1)},
        ),
        Misconception(
            "only-the-first-window",
            "Only the first window came back. How many whole ones are in the signal?",
            knobs={"after": lambda frames: frames[:1]},
        ),
        *slips(
            lambda at: frames_variant(after=lambda frames: at("samples", frames)),
            "negated rounded",
            samples="the samples",
        ),
        Misconception(
            "signal-returned",
            "The signal came back as it is. What should the rows of your result be?",
            twin=lambda signal, window, hop: signal,
        ),
        *(
            Misconception(
                "arguments-of-unfold",
                "`unfold` complains about its first argument, which is an axis. In which order does it take an axis, a "
                "size and a step?",
                twin=twin,
            )
            for twin in (
                lambda signal, window, hop: signal.unfold(window, -1, hop),
                lambda signal, window, hop: signal.unfold(hop, window, -1),
                lambda signal, window, hop: signal.unfold(window, hop, -1),
            )
        ),
    ),
)

QUESTIONS = (ONE_HOT, EMBED, PAD_BATCH, FRAME_SIGNAL)
