"""Answers to the questions of chapter 1."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from tests.questions.corpus.label import right, wrong


@right("1.1", "PyTorch forum, checked first")
def one_hot_checked(ids, vocab_size):
    if ids.numel() and (ids.min() < 0 or ids.max() >= vocab_size):
        raise ValueError("id out of range")
    return F.one_hot(ids, num_classes=vocab_size).to(torch.float32)


@right("1.1", "d2l, exception translated")
def one_hot_translated(ids, vocab_size):
    try:
        return F.one_hot(ids, vocab_size).float()
    except RuntimeError as e:
        raise ValueError(str(e)) from e


@wrong("1.1", "d2l, train_ch8", "id-not-checked")
def one_hot_d2l(ids, vocab_size):
    return F.one_hot(ids, vocab_size).type(torch.float32)


@wrong("1.1", "a row of np.eye, NumPy tutorials", "id-not-checked", "negative-id-let-through")
def one_hot_eye(ids, vocab_size):
    return torch.eye(vocab_size)[ids]


@wrong("1.1", "makemore", "not-floats")
def one_hot_makemore(ids, vocab_size):
    if (ids < 0).any() or (ids >= vocab_size).any():
        raise ValueError
    return F.one_hot(ids, num_classes=vocab_size)


@wrong("1.1", "forum, only the upper end is checked", "negative-id-let-through")
def one_hot_upper(ids, vocab_size):
    if max(ids.tolist()) > vocab_size - 1:
        raise ValueError("unknown token")
    return torch.eye(vocab_size)[ids]


@right("1.2", "nanoGPT")
def embed_functional(ids, table):
    return F.embedding(ids, table)


@right("1.2", "one-hot times matrix, makemore")
def embed_one_hot(ids, table):
    return F.one_hot(ids, num_classes=table.shape[0]).to(table.dtype) @ table


@wrong("1.2", "PyTorch docs, from_pretrained freezes", "gradient-cut")
def embed_from_pretrained(ids, table):
    return nn.Embedding.from_pretrained(table)(ids)


@wrong("1.2", "Hugging Face, weight.data", "gradient-cut")
def embed_weight_data(ids, table):
    layer = nn.Embedding(*table.shape)
    layer.weight.data = table
    return layer(ids)


@wrong("1.2", "The Annotated Transformer, Embeddings", "scaled-by-width")
def embed_annotated(ids, table):
    return F.embedding(ids, table) * table.size(-1) ** 0.5


@wrong("1.2", "forum, index_select", "one-axis-of-ids")
def embed_index_select(ids, table):
    return torch.index_select(table, 0, ids)


@right("1.3", "torch.nn.utils.rnn")
def pad_by_pad_sequence(sequences):
    lengths = torch.tensor([len(s) for s in sequences])
    batch = pad_sequence(sequences, batch_first=True)
    return batch, torch.arange(batch.size(1))[None, :] < lengths[:, None]


@right("1.3", "F.pad and stack, Kaggle")
def pad_by_f_pad(sequences):
    longest = max(s.size(0) for s in sequences)
    batch = torch.stack([F.pad(s, (0, 0, 0, longest - s.size(0))) for s in sequences])
    mask = torch.stack([F.pad(torch.ones(s.size(0)), (0, longest - s.size(0))) for s in sequences])
    return batch, mask.bool()


@wrong("1.3", "forum: batch != 0", "mask-read-off-the-numbers")
def pad_mask_from_batch(sequences):
    batch = pad_sequence(sequences, batch_first=True)
    return batch, batch.ne(0).any(dim=-1)


@wrong("1.3", "Hugging Face attention_mask", "mask-of-numbers", "wrong-dtype")
def pad_attention_mask(sequences):
    batch = pad_sequence(sequences, batch_first=True)
    mask = torch.zeros(batch.shape[:2], dtype=torch.long)
    for i, s in enumerate(sequences):
        mask[i, : len(s)] = 1
    return batch, mask


@wrong("1.3", "nn.MultiheadAttention key_padding_mask", "mask-inverted")
def pad_key_padding_mask(sequences):
    batch = pad_sequence(sequences, batch_first=True)
    lengths = torch.tensor([len(s) for s in sequences]).unsqueeze(1)
    return batch, torch.arange(batch.shape[1]).unsqueeze(0) >= lengths


@wrong("1.3", "pad_sequence as it comes", "batch-axis-second")
def pad_time_first(sequences):
    batch = pad_sequence(sequences)
    lengths = torch.tensor([len(s) for s in sequences])
    return batch, torch.arange(batch.shape[0])[:, None] < lengths[None, :]


@wrong("1.3", "decoder-only generation, left padding", "padded-in-front")
def pad_left(sequences):
    longest = max(map(len, sequences))
    batch = torch.stack([F.pad(s, (0, 0, longest - len(s), 0)) for s in sequences])
    mask = torch.stack([torch.arange(longest) >= longest - len(s) for s in sequences])
    return batch, mask


@right("1.4", "torch unfold, torchaudio")
def frames_unfold(signal, window, hop):
    return signal.unfold(0, window, hop)


@right("1.4", "as_strided, librosa")
def frames_strided(signal, window, hop):
    count = 1 + (signal.numel() - window) // hop
    return signal.contiguous().as_strided((count, window), (hop, 1))


@right("1.4", "index arithmetic, NumPy recipes")
def frames_index(signal, window, hop):
    count = int(np.floor((len(signal) - window) / hop)) + 1
    return signal[torch.arange(window)[None, :] + hop * torch.arange(count)[:, None]]


@wrong("1.4", "range without its end, forum", "exact-fit-lost", "one-window-too-few")
def frames_exclusive(signal, window, hop):
    return torch.stack([signal[i : i + window] for i in range(0, len(signal) - window, hop)])


@wrong("1.4", "overlap for hop, scipy.signal", "hop-taken-for-overlap")
def frames_overlap(signal, window, hop):
    return signal.unfold(0, window, max(window - hop, 1))


@wrong("1.4", "every start, forum", "ragged-windows")
def frames_every_start(signal, window, hop):
    return torch.stack([signal[i : i + window] for i in range(0, len(signal), hop)])
