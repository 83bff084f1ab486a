"""Programs that mix tokens or examples are found at their line; programs that do not are never accused."""

from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from qkv import xray
from qkv.attention import MultiHeadAttention
from qkv.questions import find
from qkv.sandboxed.running import Run

B, N, D, H = 2, 5, 12, 3


@pytest.fixture
def x():
    return torch.randn(B, N, D)


def attend(q, k, v):
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v


def split(x):
    return x.view(len(x), x.shape[1], H, -1).transpose(1, 2)


def merge(x):
    return x.transpose(1, 2).reshape(len(x), x.shape[2], -1)


# ── real mistakes, each written anew in a few lines; the comment `# here` stands at the line to find ──────────────


def heads_split_by_view(x):
    b, n, d = x.shape
    heads = x.view(b, H, n, d // H)  # here
    return merge(attend(heads, heads, heads))


def heads_merged_by_reshape(x):
    heads = split(x)
    out = attend(heads, heads, heads)
    return out.reshape(len(x), x.shape[1], -1)  # here


def view_after_a_transpose_that_was_made_contiguous(x):
    b, n, d = x.shape
    columns = x.transpose(1, 2).contiguous()
    x = columns.view(b, n, d)  # here
    return attend(x, x, x)


def mask_of_the_wrong_example_for_folded_heads(x, mask):
    b, n, d = x.shape
    folded = split(x).reshape(b * H, n, d // H)
    scores = folded @ folded.mT
    per_head = mask.repeat(H, 1)[:, None, :]
    scores = scores.masked_fill(~per_head, -1e9)  # here
    return merge((scores.softmax(-1) @ folded).view(b, H, n, d // H))


def mask_added_across_the_batch(x, mask):
    scores = x @ x.mT
    bias = torch.zeros(mask.shape).masked_fill(~mask, -1e9)
    scores = scores + bias.sum(0)[None, None, :]  # here
    return scores.softmax(-1) @ x


def sequence_first_layer_on_batch_first_input(x):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(D, H)
    return layer(x, x, x)[0]  # here


def keys_cut_with_the_length_of_the_queries(q, k):
    keys = k.reshape(len(k), q.shape[1], -1)[..., : q.shape[-1]]
    keys = torch.cat([keys, keys], dim=1)  # here
    return attend(q, keys, keys)


def heads_of_the_batch_first(x):
    b, n, d = x.shape
    heads = x.reshape(H, b, n, d // H).transpose(0, 1)  # here
    return merge(attend(heads, heads, heads))


def mean_over_tokens_taken_off(x):
    return x - x.mean(dim=1, keepdim=True)  # here


def statistics_over_the_batch(x):
    centred = x - x.mean(dim=0)  # here
    return centred / x.std(dim=0)


def written_into_the_wrong_rows(x):
    out = torch.zeros_like(x)
    for t in range(x.shape[1]):
        out[:, t] += x[:, t]
    out[:, 1:] += x[:, :-1]  # here
    return out


PADDING = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
MISTAKES = [
    *((fn, ()) for fn in (heads_split_by_view, heads_merged_by_reshape, heads_of_the_batch_first)),
    (view_after_a_transpose_that_was_made_contiguous, ()),
    (mask_of_the_wrong_example_for_folded_heads, (PADDING,)),
    (mask_added_across_the_batch, (PADDING,)),
    (sequence_first_layer_on_batch_first_input, ()),
    *((fn, ()) for fn in (mean_over_tokens_taken_off, statistics_over_the_batch, written_into_the_wrong_rows)),
]


@pytest.mark.parametrize(("fn", "more"), MISTAKES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_mistake_is_found_at_its_line(fn, more, x):
    found = xray(fn, x, *more)
    assert found.source is not None, found.message
    assert found.source.endswith("# here"), found.message
    assert f"Line {found.line}" in found.message
    assert re.search(r"holds numbers of (tokens|examples|rows) \d+, \d+", found.message)


# ── programs without a mistake ────────────────────────────────────────────────────────────────────


def maximum_of_everything_subtracted(x):
    scores = x @ x.mT
    shifted = (scores - scores.max()).exp()
    return shifted / shifted.sum(-1, keepdim=True) @ x


def folded_heads(x, mask):
    b, n, d = x.shape
    folded = split(x).reshape(b * H, n, d // H)
    scores = (folded @ folded.mT).masked_fill(~mask.repeat_interleave(H, 0)[:, None, :], -1e9)
    return merge((scores.softmax(-1) @ folded).view(b, H, n, d // H))


def by_einsum(x):
    heads = x.unflatten(-1, (H, -1))
    weights = torch.einsum("bihd,bjhd->bhij", heads, heads).softmax(-1)
    return torch.einsum("bhij,bjhd->bihd", weights, heads).flatten(2)


def by_torch(x):
    return merge(F.scaled_dot_product_attention(split(x), split(x), split(x), is_causal=True))


def heads_one_by_one(x):
    parts = [attend(part, part, part) for part in x.chunk(H, dim=-1)]
    return torch.cat(parts, dim=-1) + F.layer_norm(x, x.shape[-1:])


def one_vector_for_all(x):
    return x.mean(dim=1)


RIGHT = [
    *((fn, ()) for fn in (maximum_of_everything_subtracted, by_einsum, by_torch, heads_one_by_one, one_vector_for_all)),
    (folded_heads, (PADDING,)),
    (MultiHeadAttention(D, H), ()),
    (nn.MultiheadAttention(D, H, batch_first=True), "twice"),
    (nn.TransformerEncoderLayer(D, H, 20, batch_first=True), ()),
    (nn.TransformerEncoderLayer(D, H, 20, batch_first=True, norm_first=True), ()),
]


@pytest.mark.parametrize(("fn", "more"), RIGHT, ids=lambda value: getattr(value, "__name__", type(value).__name__))
def test_a_right_program_is_not_accused(fn, more, x):
    found = xray(fn, x, *((x, x) if more == "twice" else more))
    assert (found.line, found.source) == (None, None), found.message
    assert found.steps


def test_torchs_own_module_with_the_other_layout_mixes_examples(x):
    found = xray(nn.MultiheadAttention(D, H), x, x, x)
    assert "numbers of examples 0, 1" in found.message


# ── the questions' own mistakes ───────────────────────────────────────────────────────────────────

MIXED = ("heads-split-by-reshape", "heads-merged-by-reshape", "examples-mixed", "heads-split-and-merged-by-reshape")
TWINS = [
    pytest.param(name, idea, id=f"{name} {idea.slug} {i}")
    for name in ("5.1", "5.2", "5.5")
    for i, idea in enumerate(find(name).misconceptions)
    if idea.slug in MIXED
]


def subject_and_inputs(question, answer):
    """Return what a question's first case calls, and what it is called with."""
    running, inputs = Run(answer, gradients=False), ()
    for i, step in enumerate(question.fresh_cases(1)[0].script):
        if step.act == "call":
            inputs = step.args
        else:
            running.run_step(i, step)
    return running.subject, *inputs


@pytest.mark.parametrize(("name", "idea"), TWINS)
def test_every_twin_that_mixes_is_found(name, idea):
    question = find(name)
    found = xray(*subject_and_inputs(question, question.twin(idea)))
    assert "reshape" in found.source
    assert xray(*subject_and_inputs(question, question.reference)).line is None


# ── what it leaves alone ──────────────────────────────────────────────────────────────────────────


def test_nothing_is_changed(x):
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0
            self.norm = nn.BatchNorm1d(D)
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            self.seen += 1
            return F.dropout(self.norm(x.mT).mT, 0.5, self.training)

    module = Counts().train()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    state, given = torch.get_rng_state(), x.clone()
    xray(module, x)
    assert torch.equal(x, given)
    assert torch.equal(torch.get_rng_state(), state)
    assert module.training
    assert module.calls == 0
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert torch.is_grad_enabled()


def test_axes_of_one_size_are_told_apart_when_the_input_grows():
    square = torch.randn(4, 4, 4)  # as many examples as tokens as features
    assert xray(lambda x: x.mT.contiguous().view(x.shape), square).line is not None
    assert xray(lambda x: (x @ x.mT).softmax(-1) @ x, square).line is None


def test_what_cannot_be_told_apart_is_not_accused():
    square = torch.randn(4, 4, 4)
    found = xray(lambda x: x.mT.contiguous().view(4, 4, 4), square)
    assert found.line is None
    assert "takes no longer input" in found.message


def test_ids_are_followed_too():
    table = nn.Embedding(10, 6)
    assert xray(lambda ids: table(ids), torch.tensor([[3, 1, 2]]), tokens=-1).line is None
    assert xray(lambda ids: table(ids.flip(-1)).cumsum(1), torch.tensor([[3, 1, 2]]), tokens=-1).line is not None


@pytest.mark.parametrize("inputs", [(), ("text",), (torch.ones(3),)])
def test_an_input_without_tokens_is_refused(inputs):
    with pytest.raises(TypeError, match="the first input needs an axis -2"):
        xray(lambda *_: None, *inputs)


def test_the_picture_marks_the_line_and_escapes_the_program(x):
    html = xray(heads_split_by_view, x)._repr_html_()
    assert html.count("data-fault") == 2, "the rule of the style, and one row"
    assert "<b>5</b>" in html
    assert "<script" not in xray(lambda x: x.reshape(len("<script>") // 4, 3, 5, 4), x)._repr_html_()
