"""Chapter 1: right answers in many shapes, wrong ones that no twin foresaw, and what is said of them."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

from qkv.questions import questions_of
from tests.questions.answers import expected_verdicts, right_answers

QUESTIONS = questions_of(1)


def refuse(ids, vocab_size):
    if min(ids.tolist()) < 0 or max(ids.tolist()) > vocab_size - 1:
        raise ValueError("unknown word")


# ── right answers, written otherwise ──────────────────────────────────────────────────────────────


def rows_by_loop(ids, vocab_size):
    rows = torch.zeros(len(ids), vocab_size)
    for i, word in enumerate(ids):
        if not 0 <= word < vocab_size:
            raise ValueError(f"no word has the id {word}")
        rows[i, word] = 1.0
    return rows


def rows_by_scatter(ids, vocab_size):
    refuse(ids, vocab_size)
    return torch.zeros(ids.numel(), vocab_size).scatter_(1, ids.unsqueeze(1), 1.0)


def rows_by_torch(ids, vocab_size):
    try:
        return F.one_hot(ids, num_classes=vocab_size).float()
    except RuntimeError as problem:
        raise ValueError(str(problem)) from None


def rows_of_the_identity(ids, vocab_size):
    refuse(ids, vocab_size)
    return torch.eye(vocab_size, dtype=torch.float64)[ids]


def rows_in_numpy(ids, vocab_size):
    refuse(ids, vocab_size)
    return torch.from_numpy(np.eye(vocab_size, dtype=np.float32)[ids.numpy()])


def rows_from_lists(ids, vocab_size):
    class UnknownWordError(ValueError):
        pass

    if any(word not in range(vocab_size) for word in ids.tolist()):
        raise UnknownWordError
    return torch.tensor([[float(word == column) for column in range(vocab_size)] for word in ids.tolist()])


ONE_HOTS = [rows_by_loop, rows_by_scatter, rows_by_torch, rows_of_the_identity, rows_in_numpy, rows_from_lists]


def vectors_by_product(ids, table):
    return F.one_hot(ids, table.shape[0]).to(table.dtype) @ table


def vectors_by_loop(ids, table):
    return torch.stack([table[word] for word in ids.flatten().tolist()]).reshape(*ids.shape, table.shape[1])


def vectors_by_gather(ids, table):
    flat = ids.reshape(-1, 1).expand(-1, table.size(1))
    return table.gather(0, flat).view(ids.shape + table.shape[1:])


EMBEDS = [
    vectors_by_product,
    vectors_by_loop,
    vectors_by_gather,
    lambda ids, table: F.embedding(ids, table),
    lambda ids, table: torch.index_select(table, 0, ids.reshape(-1)).unflatten(0, ids.shape),
    lambda i, t: torch.einsum("...v,vd->...d", (i.unsqueeze(-1) == torch.arange(len(t))).to(t), t),
    lambda ids, table: table.index_select(0, ids.ravel()).reshape([*ids.shape, -1]),
]


def batch_by_torch(sequences):
    batch = pad_sequence(sequences, batch_first=True)
    lengths = torch.as_tensor([s.shape[0] for s in sequences])
    return batch, torch.arange(batch.shape[1])[None] < lengths[:, None]


def batch_by_pad(sequences):
    n = max(map(len, sequences))
    rows = [F.pad(s, (0, 0, 0, n - len(s))) for s in sequences]
    return torch.stack(rows), torch.stack([torch.tensor([i < len(s) for i in range(n)]) for s in sequences])


def batch_by_cat(sequences):
    n = max(s.size(0) for s in sequences)
    batch, mask = [], []
    for s in sequences:
        missing = n - s.size(0)
        batch.append(torch.cat([s, torch.zeros(missing, s.size(1), dtype=s.dtype)]))
        mask.append([True] * s.size(0) + [False] * missing)
    return torch.stack(batch), torch.tensor(mask)


def batch_as_a_list(sequences):
    return list(batch_by_pad(sequences))


def batch_by_masked_fill(sequences):
    mask = pad_sequence([torch.ones(len(s)) for s in sequences], batch_first=True).bool()
    batch = torch.zeros(*mask.shape, sequences[0].shape[1], dtype=sequences[0].dtype)
    batch[mask] = torch.cat(sequences)
    return batch, mask


def batch_row_by_row(sequences):
    n = sorted(len(s) for s in sequences)[-1]
    nothing = torch.zeros_like(sequences[0][0])
    rows = [[s[i] if i < len(s) else nothing for i in range(n)] for s in sequences]
    mask = np.array([[i < len(s) for i in range(n)] for s in sequences])
    return torch.stack([torch.stack(row) for row in rows]), torch.from_numpy(mask)


PADDED = [batch_by_torch, batch_by_pad, batch_by_cat, batch_as_a_list, batch_by_masked_fill, batch_row_by_row]


def frames_by_while(signal, window, hop):
    frames, start = [], 0
    while start + window <= len(signal):
        frames.append(signal[start : start + window])
        start += hop
    return torch.stack(frames)


def frames_filled(signal, window, hop):
    n_frames = 1 + (signal.numel() - window) // hop
    frames = torch.empty(n_frames, window, dtype=signal.dtype)
    for i in range(n_frames):
        for j in range(window):
            frames[i, j] = signal[i * hop + j]
    return frames


def frames_by_index(signal, window, hop):
    starts = torch.arange(0, len(signal) - window + 1, hop)
    return signal[starts[:, None] + torch.arange(window)]


def frames_in_numpy(signal, window, hop):
    return torch.from_numpy(np.lib.stride_tricks.sliding_window_view(signal.numpy(), window)[::hop].copy())


FRAMES = [
    frames_by_while,
    frames_filled,
    frames_by_index,
    frames_in_numpy,
    lambda signal, window, hop: signal.unfold(0, window, hop),
    lambda s, w, h: torch.as_strided(s, ((len(s) - w) // h + 1, w), (h, 1)),
    lambda s, w, h: F.unfold(s[None, None, None], (1, w), stride=(1, h))[0].mT,
]

test_a_right_answer_is_accepted = right_answers({"1.1": ONE_HOTS, "1.2": EMBEDS, "1.3": PADDED, "1.4": FRAMES})

# ── wrong answers, and what is said of them ───────────────────────────────────────────────────────


def stub(*inputs):
    raise NotImplementedError


def sorts_what_it_got(sequences):
    sequences.sort(key=len)
    return batch_by_torch(sequences)


def pads_what_it_got(sequences):
    given = list(sequences)
    sequences[:] = [F.pad(s, (0, 0, 0, max(map(len, given)) - len(s))) for s in given]
    return batch_by_torch(given)


def zeroes_the_signal(signal, window, hop):
    frames = frames_by_while(signal, window, hop)
    signal.zero_()
    return frames


SAID = {
    "stub": ("1.1", stub, "not attempted", None, ["NotImplementedError"]),
    "nothing": ("1.3", lambda sequences: None, "not attempted", None, ["returned None"]),
    "raises": ("1.1", lambda ids, size: 1 / 0, "error", None, ["ZeroDivisionError"]),
    "always refuses": ("1.1", lambda ids, size: refuse(ids, -1), "error", "good-ids-refused", ["refused"]),
    "torch's one-hot": ("1.1", lambda i, n: F.one_hot(i, n).float(), "failed", "id-not-checked", ["its own error"]),
    "the identity's rows": ("1.1", lambda i, n: torch.eye(n)[i], "failed", "id-not-checked", ["raise its own error"]),
    "rows of zeros": (
        "1.1", lambda i, n: (i[:, None] == torch.arange(n)).float(), "failed", "id-not-checked", ["gets a row"],
    ),
    "truth values": (
        "1.1", lambda i, n: rows_by_loop(i, n).bool(), "failed", "not-floats", ["right places"],
    ),
    "a list": ("1.1", lambda i, n: rows_by_loop(i, n).tolist(), "failed", None, ["a list of"]),
    "half of it": ("1.1", lambda i, n: rows_by_loop(i, n) / 2, "failed", None, ["½ times"]),
    "the error returned": (
        "1.1", lambda i, n: rows_by_loop(i, n) if max(i) < n and min(i) >= 0 else ValueError,
        "failed", "error-returned", ["as a value"],
    ),
    "a new layer": (
        "1.2", lambda i, t: torch.nn.Embedding.from_pretrained(t)(i),
        "failed", "gradient-cut", ["no gradient reaches table"],
    ),
    "in numpy": ("1.2", lambda i, t: t.numpy()[i.numpy()], "failed", "gradient-cut", ["NumPy array"]),
    "one sequence only": (
        "1.2", lambda i, t: torch.stack([t[int(j)] for j in i]), "error", "one-id-at-a-time", ["It raises"],
    ),
    "one-hot rows of 1.1": (
        "1.2", lambda i, t: (i[:, None] == torch.arange(len(t))).float() @ t,
        "error", "one-hot-of-one-sequence", ["batch"],
    ),
    "the end of a range": (
        "1.4", lambda s, w, h: torch.stack([s[i : i + w] for i in range(0, len(s) - w, h)]),
        "error", "exact-fit-lost", ["also raises RuntimeError", "(a single window)"],
    ),
    "float32 only": (
        "1.3", lambda s: (batch_by_cat(s)[0].float(), batch_by_cat(s)[1]), "passed", None, ["One remark", "float32"],
    ),
    "sorted in place": ("1.3", sorts_what_it_got, "failed", "sorted-by-length", ["shortest sequence first"]),
    "list overwritten": ("1.3", pads_what_it_got, "failed", "inputs-changed", ["writes into", "sequences"]),
    "mask upside down": (
        "1.3", lambda s: (batch_by_cat(s)[0], ~batch_by_cat(s)[1]), "failed", "mask-inverted", ["True and False"],
    ),
    "two at once": (
        "1.3", lambda s: ((b := batch_by_cat(s))[0].masked_fill(~b[1][..., None], -1), ~b[1]),
        "failed", "mask-inverted", ["Two mistakes at once", "−1"],
    ),
    "signal changed": ("1.4", zeroes_the_signal, "failed", "inputs-changed", ["writes into", "signal"]),
    "a list of windows": ("1.4", lambda *a: list(frames_by_while(*a)), "failed", None, ["came back"]),
}  # fmt: skip


test_what_is_said_of_a_wrong_answer = expected_verdicts(SAID)
