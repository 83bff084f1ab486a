"""The capstone: right answers in other words, what is said of some wrong ones, and what it has from the writer."""

from __future__ import annotations

import contextlib
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from qkv.models import load_writer
from qkv.questions import find
from qkv.questions.catalogue import q12_3
from qkv.questions.shared import writing
from tests.questions.answers import expected_verdicts, right_answers
from tests.questions.test_twins import drawn_once, verdict, verdict_in


def normed(y, w, name):
    return F.layer_norm(y, y.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"])


def normed_by_var(y, w, name):
    centred = y - y.mean(-1, keepdim=True)
    return centred / (y.var(-1, keepdim=True) + 1e-5).sqrt() * w[f"{name}.weight"] + w[f"{name}.bias"]


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


# ── what is likely to be written first, from the parts ────────────────────────────────────────────


def causal_mask(n):
    return torch.ones(n, n, dtype=torch.bool).tril()


def split(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def of_the_newest(n, n_k, cache):
    return causal_mask(n_k)[-n:]


def from_the_parts(
    mask=of_the_newest, appended_first=False, without_bias=(), without=(), weight=lambda stored: stored, norm=normed
):
    """Return a block from the parts of chapters 5, 7 and 8, of which each argument changes one line."""

    def written(x, w, n_heads, cache=None):
        kept = []

        def linear(name, y):
            if name in without:
                return y
            return F.linear(y, weight(w[f"{name}.weight"]), None if name in without_bias else w[f"{name}.bias"])

        def attend(y):
            q, k, v = (linear(f"attention.w_{name}", y) for name in "qkv")
            if cache is not None and appended_first:
                k, v = cache.append(k, v)
            q, k, v = (split(part, n_heads) for part in (q, k, v))
            if cache is not None and not appended_first:
                k, v = cache.append(k, v)
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
            seen = mask(q.shape[-2], k.shape[-2], cache)
            weights = scores.masked_fill(~seen, -math.inf).softmax(-1)
            kept.append(weights)
            return linear("attention.w_o", (weights @ v).transpose(1, 2).flatten(-2))

        x = x + attend(norm(x, w, "norm_1"))
        hidden = F.gelu(linear("feed_forward.w_1", norm(x, w, "norm_2")))
        return x + linear("feed_forward.w_2", hidden), kept[0]

    return written


def block_if_cache(x, w, n_heads, cache=None):
    return from_the_parts()(x, w, n_heads, cache if cache else None)


def layers_of(w):
    return range(sum(name.endswith("norm_1.weight") for name in w))


def writer_from_the_parts(held=lambda caches: len(caches[0]), layers=layers_of, block=None):
    """Return a writer from blocks, of which each argument changes one line."""

    def written(ids, w, n_heads, caches=None):
        start = held(caches) if caches else 0
        x = w["embedding.tokens.weight"][ids] + w["embedding.positions.table"][start : start + ids.shape[1]]
        kept = []
        for layer in layers(w):
            own = writing.part(w, f"stack.blocks.{layer}")
            x, weights = (block or from_the_parts())(x, own, n_heads, caches[layer] if caches else None)
            kept.append(weights)
        return normed(x, w, "stack.norm") @ w["unembedding.weight"].T, torch.stack(kept)

    return written


def all_seen(n, n_k):
    return torch.ones(n, n_k, dtype=torch.bool)


def own_mask_of_two(n, n_k, cache):
    return causal_mask(n, n_k)


def own_mask_of_two_with_a_cache(n, n_k, cache):
    return causal_mask(n) if cache is None else causal_mask(n, n_k)


def write_from_the_parts(writer):
    """Return an answer that writes with this writer."""

    def written(ids, w, n_heads, n_new, caches=None):
        text = unseen = list(ids)
        for _ in range(n_new):
            logits, _ = writer(torch.tensor([unseen]), w, n_heads, caches)
            text = [*text, int(logits[0, -1].argmax())]
            unseen = text[-1:] if caches else text
        return torch.tensor(text[len(ids) :])

    return written


def test_both_from_the_parts_are_right():
    for question, answer in (("12.1", from_the_parts()), ("12.2", writer_from_the_parts())):
        assert verdict(find(question), answer).status == "passed"


SAID = {
    "appended before the split": (
        "12.1", from_the_parts(appended_first=True), "error", "appended-before-the-split", ["(4, 3, 12)", "(B, H, n"],
    ),
    "a mask of the new tokens": (
        "12.1", from_the_parts(lambda n, n_k, cache: causal_mask(n)),
        "error", "mask-of-the-new-tokens", ["`(3, 3)`", "8 keys"],
    ),
    "a mask of all tokens": (
        "12.1", from_the_parts(lambda n, n_k, cache: causal_mask(n_k)),
        "error", "mask-of-all-tokens", ["`(8, 8)`", "3 queries"],
    ),
    "no mask with a cache": (
        "12.1", from_the_parts(lambda n, n_k, cache: all_seen(n, n_k) if cache is not None else causal_mask(n)),
        "failed", "no-mask-with-a-cache", ["no mask is applied"],
    ),
    "weights transposed for F.linear": (
        "12.1", from_the_parts(weight=lambda stored: stored.T if stored.shape[0] != stored.shape[1] else stored),
        "error", "weight-for-linear-transposed", ["(out, in)"],
    ),
    "x.var() in the norm": ("12.1", from_the_parts(norm=normed_by_var), "failed", "another-layer-norm", ["8.1"]),
    "a mask of two numbers": ("12.1", from_the_parts(own_mask_of_two), "error", "mask-of-two-numbers", ["from 5.3"]),
    "a mask of two numbers with a cache": (
        "12.1", from_the_parts(own_mask_of_two_with_a_cache),
        "error", "arguments-do-not-fit", ["`causal_mask` take", "causal_mask(n, n_k)`"],
    ),
    "no bias of w_o": (
        "12.1", from_the_parts(without_bias=["attention.w_o"]), "failed", "some-biases-forgotten", ["`.bias`"],
    ),
    "no bias of w_2": (
        "12.1", from_the_parts(without_bias=["feed_forward.w_2"]), "failed", "some-biases-forgotten", ["`.bias`"],
    ),
    "no w_o": (
        "12.1", from_the_parts(without=["attention.w_o"]), "failed", "last-projection-forgotten", ["merged heads"],
    ),
    "caches counted": ("12.2", writer_from_the_parts(held=len), "failed", "caches-counted", ["begin at 2"]),
    "two layers": (
        "12.2", writer_from_the_parts(layers=lambda w: range(2)), "error", "two-layers-taken-for-granted", ["has 1"],
    ),
    "three layers": (
        "12.2", writer_from_the_parts(layers=lambda w: range(3)), "error", "more-layers-than-there-are", ["has 2"],
    ),
    "names of the whole writer": (
        "12.2", lambda ids, w, n_heads, caches=None: from_the_parts()(w["embedding.tokens.weight"][ids], w, n_heads),
        "error", "key-that-is-not-there", ["KeyError", "Which keys"],
    ),
    "a part still to be written": ("12.1", lambda x, w, n_heads, cache=None: stub(x), "not attempted", None, ["stub"]),
    "no cache": (
        "12.1", lambda x, w, n_heads, cache=None: block_in_one_piece(x, w, n_heads),
        "failed", "cache-not-used", ["The cache is as it was"],
    ),
    "if cache in the block": ("12.1", block_if_cache, "failed", "empty-cache-taken-for-none", ["`if cache`"]),
    "a block with if cache in the writer": (
        "12.2", writer_from_the_parts(block=block_if_cache), "failed", "empty-caches-taken-for-none", ["`if cache`"],
    ),
    "a block with if cache, writing": (
        "12.3", write_from_the_parts(writer_from_the_parts(block=block_if_cache)),
        "failed", "empty-caches-taken-for-none", ["`if cache`"],
    ),
    "a list": ("12.3", list_of_ids, "failed", None, ["list"]),
    "always anew": (
        "12.3", lambda ids, w, n_heads, n_new, caches=None: write_by_recursion(ids, w, n_heads, n_new),
        "failed", "caches-not-used", ["ran again"],
    ),
    "written over": ("12.4", weights_changed, "failed", "inputs-changed", ["next call"]),
}  # fmt: skip


test_what_is_said_of_a_wrong_answer = expected_verdicts(SAID)


def test_a_message_counts_the_calls_of_the_answer_alone():
    """The check fills the cache first, with a call of its own; two later cases call the answer several times."""
    question = find("12.1")

    def fails_behind(held):
        def answer(x, w, n_heads, cache=None):
            if cache is not None and len(cache) == held:
                raise ZeroDivisionError
            return block_in_one_piece(x, w, n_heads, cache)

        return verdict_in(question, answer, drawn_once(question)).message

    assert fails_behind(5).startswith("Your answer raised ZeroDivisionError")
    assert fails_behind(4).startswith("In call 2 of your answer: Your answer raised ZeroDivisionError")


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


# ── the notebook ──────────────────────────────────────────────────────────────────────────────────

NOTEBOOK = Path(__file__).resolve().parents[2] / "exercises" / "12_capstone.ipynb"


def printed_by_tries(folder, answers=""):
    """Run the notebook with code that defines some answers. Return what each cell that tries an answer prints."""
    sources = ["".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]]
    names, printed = {"display": print}, []
    with contextlib.chdir(folder):
        for source in sources:
            if source.startswith("import math") or "raise NotImplementedError\n" in f"{source}\n":
                exec(f"{source}\n\n{answers}", names)
            elif "with trying():" in source or ", trying():" in source:
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(source, names)
                printed.append(out.getvalue().splitlines())
    return printed


def test_a_try_says_what_is_not_written_yet(tmp_path):
    tried = ["block", "writer", "writer", "write", "writer", "heads_needed", "KVCache"]
    assert printed_by_tries(tmp_path) == [[f"Not written yet: {name}"] for name in tried]


def test_a_try_says_which_part_of_an_answer_is_not_written_yet(tmp_path):
    first, *_ = printed_by_tries(
        tmp_path, "def block(x, w, n_heads, cache=None):\n    return split_heads(x, n_heads), x"
    )
    assert first == ["Not written yet: split_heads"]


def test_a_try_prints_what_it_can_before_the_part_that_is_missing(tmp_path):
    _, _, _, without, heads, _, _ = printed_by_tries(tmp_path, "from qkv.questions.shared.writing import write, writer")
    assert without == ["Without caches: the dog chased my old saw because it was tasty", "Not written yet: KVCache"]
    assert heads == ["whole writer: slow", "Not written yet: without_head"]


def test_a_try_says_which_line_was_written_with_caches(tmp_path):
    lines = printed_by_tries(tmp_path, "from qkv.questions.shared.writing import HeldCache as KVCache, write, writer")[
        3
    ]
    text = "the dog chased my old saw because it was tasty"
    assert lines == [f"Without caches: {text}", f"With caches: {text}"]


def test_an_error_of_torch_is_not_taken_for_a_part_that_is_missing(tmp_path):
    with pytest.raises(NotImplementedError, match="gelu"):
        printed_by_tries(tmp_path, "def block(*given):\n    raise NotImplementedError('gelu is not implemented')")
