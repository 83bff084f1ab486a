"""Chapter 8: right answers in many shapes, wrong ones that no twin foresaw, and what is said of them."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from qkv.questions import find
from qkv.questions.catalogue import q8_6
from tests.questions.answers import expected_verdicts, right_answers
from tests.questions.test_chapter_05 import diagnose_by_probes
from tests.questions.test_twins import verdict

# ── right answers, written otherwise ──────────────────────────────────────────────────────────────


def norm_by_moments(x, gain, bias, eps=1e-5):
    mean, square = x.mean(dim=-1, keepdim=True), (x * x).mean(dim=-1, keepdim=True)
    return (
        gain * (x - mean) / torch.sqrt(square - mean**2 + eps) + bias
        if x.dtype == torch.float64
        else norm_by_var(x, gain, bias, eps)
    )


def norm_by_var(x, gain, bias, eps=1e-5):
    return (x - x.mean(-1, True)) * (x.var(-1, correction=0, keepdim=True) + eps).rsqrt() * gain + bias


def norm_by_rows(x, gain, bias, eps=1e-5):
    rows = [(row - sum(row) / len(row)) for row in x.reshape(-1, x.shape[-1])]
    rows = [row / (sum(row**2) / len(row) + eps) ** 0.5 for row in rows]
    return torch.stack(rows).reshape(x.shape) * gain + bias


NORMS = [
    norm_by_moments,
    norm_by_var,
    norm_by_rows,
    lambda x, gain, bias, eps=1e-5: F.layer_norm(x, x.shape[-1:], gain, bias, eps),
    lambda x, g, b, eps=0.00001: F.layer_norm(x, (len(g),), eps=eps) * g + b,
]


def block_in_steps(x, norm_1, attend, norm_2, feed_forward):
    attended = attend(norm_1(x))
    x = torch.add(attended, x)
    return feed_forward(norm_2(x)).add(x)


def block_in_a_loop(x, *parts):
    for norm, work in (parts[:2], parts[2:]):
        x = x + work(norm(x))
    return x


class Residual(nn.Module):
    """A part with its norm, as many write it."""

    def __init__(self, norm, work):
        super().__init__()
        self.inside = lambda x: work(norm(x))

    def forward(self, x):
        return x + self.inside(x)


BLOCKS = [
    block_in_steps,
    block_in_a_loop,
    lambda x, n1, a, n2, f: Residual(n2, f)(Residual(n1, a)(x)),
    lambda x, n1, a, n2, f: x + (first := a(n1(x))) + f(n2(x + first)),
]


def loss_by_loops(logits, ids):
    total = 0
    for text, tokens in zip(logits, ids, strict=True):
        for t in range(len(tokens) - 1):
            total = total - torch.log_softmax(text[t], dim=0)[tokens[t + 1]]
    return total / (len(ids) * (ids.shape[1] - 1))


def loss_by_one_hot(logits, ids):
    wanted = F.one_hot(ids[:, 1:], logits.shape[-1]).to(logits.dtype)
    return -(logits[:, :-1].log_softmax(-1) * wanted).sum(-1).mean()


LOSSES = [
    loss_by_loops,
    loss_by_one_hot,
    lambda logits, ids: F.cross_entropy(logits[:, :-1].mT, ids[:, 1:]),
    lambda logits, ids: F.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1)),
    lambda logits, ids: F.nll_loss(logits[:, :-1].log_softmax(-1).transpose(1, 2), ids[:, 1:]),
    lambda logits, ids: nn.CrossEntropyLoss()(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()),
    lambda logits, ids: torch.stack([F.cross_entropy(a[:-1], b[1:]) for a, b in zip(logits, ids, strict=True)]).mean(),
]


def parameters_of_a_model(vocab, d_model, layers, d_hidden, tied=True):
    layer = nn.TransformerEncoderLayer(2, 1, 3)
    names = {2: d_model, 3: d_hidden, 6: 3 * d_model}
    one = sum(torch.Size([names[size] for size in p.shape]).numel() for p in layer.parameters())
    return vocab * d_model + layers * one + 2 * d_model + (not tied) * vocab * d_model


def parameters_one_by_one(vocab, d_model, layers, d_hidden, tied=True):
    total = vocab * d_model
    for _ in range(layers):
        total += sum(d_model * d_model + d_model for _ in "qkvo")
        total += 2 * (d_model + d_model)
        total += (d_model + 1) * d_hidden + (d_hidden + 1) * d_model
    if not tied:
        total += vocab * d_model
    return total + 2 * d_model


COUNTS = [
    parameters_of_a_model,
    parameters_one_by_one,
    lambda v, d, n, h, tied=True: d * (v * (2 - tied) + 2 + n * (4 * d + 9 + 2 * h)) + n * h,
]

test_a_right_answer_is_accepted = right_answers({"8.1": NORMS, "8.2": BLOCKS, "8.3": LOSSES, "8.4": COUNTS})

# ── wrong answers, and what is said of them ───────────────────────────────────────────────────────


def in_place(x, norm_1, attend, norm_2, feed_forward):
    x += attend(norm_1(x))
    return x + feed_forward(norm_2(x))


def both_residuals_forgotten(x, norm_1, attend, norm_2, feed_forward):
    return feed_forward(norm_2(attend(norm_1(x))))


SAID = {
    "x.std": (
        "8.1", lambda x, gain, bias, eps=1e-5: (x - x.mean(-1, True)) / (x.std(-1, keepdim=True) + eps) * gain + bias,
        "failed", "eps-outside-and-sample-variance", ["x.std()", "inside the root"],
    ),
    "x.var": (
        "8.1",
        lambda x, gain, bias, eps=1e-5: (x - x.mean(-1, True)) / (x.var(-1, keepdim=True) + eps).sqrt() * gain + bias,
        "failed", "sample-variance", ["d − 1"],
    ),
    "no eps argument": (
        "8.1", lambda x, gain, bias: F.layer_norm(x, x.shape[-1:], gain, bias),
        "error", None, ["eps"],
    ),
    "the first residual": (
        "8.2", lambda x, n1, a, n2, f: (y := a(n1(x))) + f(n2(y)), "failed", "first-residual-forgotten",
        ["to the output of attention?"],
    ),
    "the second residual": (
        "8.2", lambda x, n1, a, n2, f: f(n2(x + a(n1(x)))), "failed", "second-residual-forgotten",
        ["to the output of the feed-forward network?"],
    ),
    "both residuals": ("8.2", both_residuals_forgotten, "failed", "residual-forgotten", ["nothing of what came in"]),
    "post-norm": (
        "8.2", lambda x, n1, a, n2, f: n2((y := n1(x + a(x))) + f(y)), "failed", "norm-after-the-sum", ["post-norm"],
    ),
    "in place": ("8.2", in_place, "failed", "inputs-changed", ["writes into", "x"]),
    "not shifted": (
        "8.3", lambda logits, ids: F.cross_entropy(logits.mT, ids), "failed", "not-shifted", ["just read", "predict?"],
    ),
    "classes last": (
        "8.3", lambda logits, ids: F.cross_entropy(logits[:, :-1], ids[:, 1:]),
        "error", "classes-on-another-axis", ["axis 1"],
    ),
    "item": (
        "8.3",
        lambda logits, ids: F.cross_entropy(logits[:, :-1].mT, ids[:, 1:]).item(),
        "failed",
        "gradient-cut",
        ["Your loss is the number", "without axes", "No gradient passes"],
    ),
    "detached": (
        "8.3",
        lambda logits, ids: F.cross_entropy(logits.detach()[:, :-1].mT, ids[:, 1:]),
        "failed",
        "gradient-cut",
        ["no gradient"],
    ),
    "no biases": (
        "8.4", lambda v, d, n, h, tied=True: v * d * (2 - tied) + n * (4 * d * d + 2 * d * h + 4 * d) + 2 * d,
        "failed", "all-biases-forgotten", ["bias"],
    ),
    "a float": ("8.4", lambda v, d, n, h, tied=True: 1.5, "failed", None, ["parameters"]),
}  # fmt: skip

test_what_is_said_of_a_wrong_answer = expected_verdicts(SAID)


# ── 8.5: diagnose ─────────────────────────────────────────────────────────────────────────────────


def diagnose_by_switching_off(block):
    """Switch parts off by zeros, and change single tokens."""
    d, zero, one = 4, torch.zeros(4, 4), torch.eye(4)
    x = 5 * torch.randn(1, 3, d, generator=torch.Generator().manual_seed(3))
    changed = x.clone()
    changed[0, -1] += torch.tensor([1.0, -2, 3, 4])
    still, large = block(x, *[one] * 3, zero, one, zero), block(10 * x, *[one] * 3, zero, one, zero)
    if torch.allclose(still, large, atol=1e-3) and not torch.allclose(still, torch.zeros(1)):
        # norm after each sum, or on the stream: the last sum of the latter is not normed
        out = block(x, *[one] * 3, zero, one, 3 * one)
        return "norm after each sum" if out.mean(-1).abs().max() < 1e-3 else "norm on the stream"
    if not torch.allclose(still, x, atol=1e-4):
        first_only = block(x, *[one] * 4, one, zero)
        return (
            "no residual around the MLP"
            if torch.allclose(first_only, first_only * 0)
            else "no residual around attention"
        )
    rows = [torch.allclose(block(x, *given)[0, 0], block(changed, *given)[0, 0], atol=1e-5) for given in (
        (one, one, one, zero, one, one), (one, one, one, one, one, zero))]  # fmt: skip
    if not rows[0]:
        return "norm over tokens"
    if not rows[1]:
        return "no mask"
    mirrored = (block(x, *[one] * 3, zero, w, one) - x for w in (one, -one))
    if torch.allclose(sum(mirrored), torch.zeros(1), atol=1e-4):
        return "no activation"
    before = block(x, zero, zero, one, 9 * one, one, one) - block(x, zero, zero, one, 9 * one, one, zero)
    return (
        "MLP beside attention"
        if torch.allclose(before, block(x, *[one] * 3, zero, one, one) - x, atol=1e-4)
        else "none"
    )


test_a_right_diagnosis_is_accepted = right_answers({"8.5": [diagnose_by_switching_off]})


@pytest.mark.parametrize(("name", "diagnose"), [("5.8", diagnose_by_probes), ("8.5", diagnose_by_switching_off)])
def test_a_name_in_other_words_does_not_get_the_right_one(name, diagnose):
    asked, names = find(name), {case.name for case in find(name).fresh_cases(1)}
    for change in (str.title, str.upper, lambda said: f"{said}!", lambda said: [said], lambda said: 3):
        found = verdict(asked, lambda module, change=change: change(diagnose(module)))
        assert found.status == "failed"
        assert "is not one of the 9 names" in found.message
        assert not any(f" {fault}" in found.message for fault in names - {"none"})


# ── 8.6: numbers of one's own ─────────────────────────────────────────────────────────────────────


def lowest_by_training():
    """Find the best guesses of Grace's language by gradient descent, from the losses that they have."""
    numbers = q8_6.PERSONAL.numbers_of("Grace")
    true = torch.tensor([numbers["likelier"] / 100, 1 - numbers["likelier"] / 100], dtype=torch.float64)
    logits = torch.zeros(2, dtype=torch.float64)
    for _ in range(500):
        logits = logits + true - logits.softmax(0)
    of_two = -(true * logits.log_softmax(0)).sum().item()
    even = numbers["even"] / 100
    of_even = F.cross_entropy(torch.zeros(1, numbers["words"], dtype=torch.float64), torch.tensor([0])).item()
    return "Grace", even * of_even + (1 - even - numbers["certain"] / 100) * of_two


test_a_right_prediction_is_accepted = right_answers({"8.6": [lowest_by_training]})
