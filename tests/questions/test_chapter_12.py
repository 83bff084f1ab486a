"""The capstone: right answers in other words, what is said of some wrong ones, and what it has from the writer."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from qkv.models import load_writer
from qkv.questions import find
from qkv.questions.catalogue import q12_3
from qkv.questions.shared import writing
from tests.questions.answers import expected_verdicts, right_answers
from tests.questions.test_twins import verdict


def normed(y, w, name):
    return F.layer_norm(y, y.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"])


def block_in_one_piece(x, w, n_heads, cache=None):
    batch, n, d = x.shape
    y = normed(x, w, "norm_1")
    stacked = torch.cat([w[f"attention.w_{name}.weight"] for name in "qkv"])
    biases = torch.cat([w[f"attention.w_{name}.bias"] for name in "qkv"])
    q, k, v = (y @ stacked.T + biases).view(batch, n, 3, n_heads, d // n_heads).permute(2, 0, 3, 1, 4)
    if cache is not None:
        k, v = cache.append(k, v)
    n_k = k.shape[2]
    hidden = torch.arange(n_k)[None] > torch.arange(n_k - n, n_k)[:, None]
    weights = (torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(d // n_heads) + hidden * -1e9).softmax(-1)
    out = (weights @ v).permute(0, 2, 1, 3).reshape(batch, n, d)
    x = x + out @ w["attention.w_o.weight"].T + w["attention.w_o.bias"]
    y = normed(x, w, "norm_2") @ w["feed_forward.w_1.weight"].T + w["feed_forward.w_1.bias"]
    y = y * (1 + torch.erf(y / math.sqrt(2))) / 2
    return x + y @ w["feed_forward.w_2.weight"].T + w["feed_forward.w_2.bias"], weights


def block_token_by_token(x, w, n_heads, cache=None):
    """No mask: each token goes through a list of the keys so far."""

    class Held:
        keys, values = [], []

        def append(self, k, v):
            self.keys, self.values = [*self.keys, k], [*self.values, v]
            return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)

    held = Held() if cache is None else cache
    outs, rows = zip(*(block_in_one_piece(x[:, i : i + 1], w, n_heads, held) for i in range(x.shape[1])), strict=True)
    n_k = rows[-1].shape[-1]
    return torch.cat(outs, dim=1), torch.cat([F.pad(row, (0, n_k - row.shape[-1])) for row in rows], dim=2)


def writer_by_a_loop(ids, w, n_heads, caches=None):
    places = torch.arange(ids.shape[1]) + (len(caches[-1]) if caches is not None else 0)
    x = F.embedding(ids, w["embedding.tokens.weight"]) + w["embedding.positions.table"][places]
    found, layer = [], 0
    while f"stack.blocks.{layer}.norm_1.bias" in w:
        start = f"stack.blocks.{layer}."
        own = {name[len(start) :]: value for name, value in w.items() if name.startswith(start)}
        x, weights = block_in_one_piece(x, own, n_heads, None if caches is None else caches[layer])
        found += [weights]
        layer += 1
    return normed(x, w, "stack.norm") @ w["unembedding.weight"].T, torch.stack(found)


def write_by_recursion(ids, w, n_heads, n_new, caches=None):
    held = len(caches[0]) if caches else 0
    logits, _ = writer_by_a_loop(torch.tensor(ids[held:])[None], w, n_heads, caches)
    new = logits[:, -1].argmax(-1)
    rest = write_by_recursion([*ids, int(new)], w, n_heads, n_new - 1, caches) if n_new > 1 else new[:0]
    return torch.cat([new, rest])


def lost_by_a_mask(ids, w, n_heads, layer, head):
    name = f"stack.blocks.{layer}.attention.w_o.weight"
    d_head = w[name].shape[-1] // n_heads
    kept = (torch.arange(w[name].shape[-1]) // d_head != head).to(w[name])
    return writer_by_a_loop(ids, dict(w, **{name: w[name] * kept}), n_heads)[0]


def lost_values(ids, w, n_heads, layer, head):
    """The head's values are zeros, so it adds nothing."""
    start = f"stack.blocks.{layer}.attention.w_v."
    changed = dict(w)
    for kind in ("weight", "bias"):
        heads = list(w[start + kind].chunk(n_heads))
        heads[head] = torch.zeros_like(heads[head])
        changed[start + kind] = torch.cat(heads)
    return writer_by_a_loop(ids, changed, n_heads)[0]


def needed_by_cross_entropy(ids, w, n_heads):
    def loss(logits):
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())

    layers = sum(name.endswith("norm_1.weight") for name in w)
    rise = torch.zeros(layers, n_heads)
    for place in range(layers * n_heads):
        layer, head = place // n_heads, place % n_heads
        rise[layer, head] = loss(lost_by_a_mask(ids, w, n_heads, layer, head)) - loss(
            writer_by_a_loop(ids, w, n_heads)[0]
        )
    return rise


test_a_right_answer_is_accepted = right_answers(
    {
        "12.1": [block_in_one_piece, block_token_by_token],
        "12.2": [writer_by_a_loop],
        "12.3": [write_by_recursion],
        "12.4": [lost_by_a_mask, lost_values],
        "12.5": [needed_by_cross_entropy],
    }
)


def list_of_ids(ids, w, n_heads, n_new, caches=None):
    return write_by_recursion(ids, w, n_heads, n_new, caches).tolist()


def weights_changed(ids, w, n_heads, layer, head):
    name = f"stack.blocks.{layer}.attention.w_o.weight"
    w[name] *= 1 - (torch.arange(w[name].shape[-1]) // (w[name].shape[-1] // n_heads) == head).to(w[name])
    return writer_by_a_loop(ids, w, n_heads)[0]


def stub(*inputs):
    raise NotImplementedError


SAID = {
    "a part still to be written": ("12.1", lambda x, w, n_heads, cache=None: stub(x), "not attempted", None, ["stub"]),
    "no cache": (
        "12.1", lambda x, w, n_heads, cache=None: block_in_one_piece(x, w, n_heads),
        "failed", "cache-not-used", ["The cache is as it was"],
    ),
    "a list": ("12.3", list_of_ids, "failed", None, ["list"]),
    "always anew": (
        "12.3", lambda ids, w, n_heads, n_new, caches=None: write_by_recursion(ids, w, n_heads, n_new),
        "failed", "caches-not-used", ["ran again"],
    ),
    "written over": ("12.4", weights_changed, "failed", "inputs-changed", ["next call"]),
}  # fmt: skip


test_what_is_said_of_a_wrong_answer = expected_verdicts(SAID)


def write_with(pick):
    """Return an answer that chooses the next word from the logits in this way."""
    return q12_3.write_variant(pick=pick)


@pytest.mark.parametrize(
    "pick",
    [
        lambda logits: int(np.argmax(logits.detach().numpy()[-1])),
        lambda logits: int(np.asarray(logits[-1].detach()).argmax()),
        lambda logits: (row := logits[-1].tolist()).index(max(row)),
    ],
)
def test_the_likeliest_word_may_be_found_in_numpy(pick):
    assert verdict(find("12.3"), write_with(pick)).status == "passed"


def test_the_weights_of_the_writer_may_not_go_to_numpy():
    """There nobody sees that the whole text runs again for each word."""

    def answer(ids, w, n_heads, n_new, caches=None):
        for weight in w.values():
            weight.numpy()
        return write_by_recursion(ids, w, n_heads, n_new, caches)

    assert "goes to NumPy" in verdict(find("12.3"), answer).message


def test_the_capstones_writer_is_the_trained_one():
    ours = load_writer()
    ids = torch.randint(1, len(ours.vocabulary.words), (3, 12), generator=torch.Generator().manual_seed(0))
    logits, weights = writing.writer(ids, ours.state_dict(), 2)
    torch.testing.assert_close(logits[..., 1:], ours(ids)[..., 1:], atol=1e-5, rtol=0)
    assert weights.shape == (2, 3, 2, 12, 12)


def test_the_capstone_writes_what_the_trained_writer_writes():
    ours = load_writer()
    begin = [ours.vocabulary.ids[word] for word in ("<end>", "the", "lamb", "feared")]
    for caches in (None, [writing.HeldCache(), writing.HeldCache()]):
        ids = writing.write(begin, ours.state_dict(), 2, 8, caches).tolist()
        words = [ours.vocabulary.words[i] for i in [*begin[1:], *ids]]
        assert " ".join(words[: words.index("<end>")]) == ours.write("the lamb feared", temperature=0)
