"""Chapter 6: right answers in many shapes, wrong ones that no twin foresaw, and what is said of them."""

from __future__ import annotations

import itertools
import json
import math
import re

import numpy as np
import pytest
import torch
from torch import nn

from qkv.questions import find, questions_of
from tests.questions.answers import expected_verdicts, right_answers
from tests.questions.test_twins import verdict

QUESTIONS = questions_of(6)

# ── right answers, written otherwise ──────────────────────────────────────────────────────────────


def encoding_by_loops(n, d_model):
    table = torch.zeros(n, d_model)
    for t in range(n):
        for i in range(0, d_model, 2):
            angle = t / 10000 ** (i / d_model)
            table[t, i] = math.sin(angle)
            table[t, i + 1] = math.cos(angle)
    return table


def encoding_by_columns(n, d_model):
    table = torch.empty(n, d_model)
    positions = torch.arange(n, dtype=torch.float).unsqueeze(1)
    speeds = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    table[:, 0::2] = torch.sin(positions * speeds)
    table[:, 1::2] = torch.cos(positions * speeds)
    return table


def encoding_by_numpy(n, d_model):
    j = np.arange(d_model)
    angles = np.arange(n)[:, None] / np.power(10000, 2 * (j // 2) / d_model)
    return torch.tensor(np.where(j % 2 == 0, np.sin(angles), np.cos(angles)), dtype=torch.float32)


def encoding_by_a_phase(n, d_model):
    """A cosine is a sine that is a quarter of a turn ahead."""
    j = torch.arange(d_model)
    speeds = 1 / 10000 ** ((j - j % 2) / d_model)
    return torch.sin(torch.arange(n)[:, None] * speeds + (j % 2) * math.pi / 2)


def encoding_by_turning(n, d_model):
    """Each row is the one before, turned on."""
    speeds = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    hands = torch.polar(torch.ones(n, d_model // 2, dtype=torch.float64), speeds.expand(n, -1)).cumprod(0)
    hands = torch.cat([torch.ones_like(hands[:1]), hands[:-1]])
    return torch.stack([hands.imag, hands.real], dim=-1).reshape(n, d_model).float()


ENCODINGS = [
    encoding_by_loops,
    encoding_by_columns,
    encoding_by_numpy,
    encoding_by_a_phase,
    encoding_by_turning,
    lambda n, d: torch.tensor(
        [[(math.sin, math.cos)[j % 2](t * 10000 ** -((j // 2) * 2 / d)) for j in range(d)] for t in range(n)]
    ),
]


def shift_by_blocks(k, d_model):
    blocks = []
    for i in range(d_model // 2):
        angle = torch.tensor(k / 10000 ** (2 * i / d_model))
        blocks.append(torch.stack([angle.cos(), angle.sin(), -angle.sin(), angle.cos()]).view(2, 2))
    return torch.block_diag(*blocks)


def shift_by_steps(k, d_model):
    one = shift_by_blocks(1, d_model).double()
    whole = torch.eye(d_model, dtype=torch.float64)
    for _ in range(k):
        whole = one @ whole
    return whole


def shift_by_solving(k, d_model):
    """Least squares over so many positions that the slowest hand turns, too."""
    t = torch.arange(0, 40000, 1, dtype=torch.float64)
    angles = t[:, None] * 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    table = torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)
    return torch.linalg.lstsq(table[: len(t) - k], table[k:]).solution.T


def shift_by_exponential(k, d_model):
    speeds = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    spin = torch.block_diag(*[torch.tensor([[0.0, w], [-w, 0.0]], dtype=torch.float64) for w in speeds.tolist()])
    return torch.linalg.matrix_exp(k * spin)


def shift_by_indices(k, d_model):
    matrix = np.zeros((d_model, d_model), dtype=np.float32)
    even = np.arange(0, d_model, 2)
    angle = k * np.exp(-np.log(10000.0) * even / d_model)
    matrix[even, even] = matrix[even + 1, even + 1] = np.cos(angle)
    matrix[even, even + 1] = np.sin(angle)
    matrix[even + 1, even] = -np.sin(angle)
    return torch.from_numpy(matrix)


SHIFTS = [shift_by_blocks, shift_by_steps, shift_by_solving, shift_by_exponential, shift_by_indices]


def rope_by_complex(x, positions, base=10000.0):
    d = x.shape[-1]
    speeds = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = torch.outer(positions.double(), speeds).to(x.dtype)
    turned = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2)


def rope_in_float32(x, positions, base=10000.0):
    d = x.size(-1)
    inv_freq = 1.0 / (base ** (torch.arange(0, d, 2).float() / d))
    angles = torch.einsum("i,j->ij", positions.float(), inv_freq).repeat_interleave(2, dim=-1)
    partner = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)
    return x * angles.cos() + partner * angles.sin()


def rope_by_loops(x, positions, base=10000.0):
    d = x.shape[-1]
    rows = []
    for row, t in enumerate(positions.tolist()):
        features = []
        for i in range(d // 2):
            angle = t * base ** (-2 * i / d)
            a, b = x[..., row, 2 * i], x[..., row, 2 * i + 1]
            features.append(a * math.cos(angle) - b * math.sin(angle))
            features.append(a * math.sin(angle) + b * math.cos(angle))
        rows.append(torch.stack(features, dim=-1))
    return torch.stack(rows, dim=-2)


def rope_filled(x, positions, base=10000.0):
    d = x.shape[-1]
    theta = positions[:, None].to(torch.float64) * torch.pow(base, -torch.arange(0, d, 2).double() / d)
    cos, sin = torch.cos(theta).to(x.dtype), torch.sin(theta).to(x.dtype)
    out = torch.empty_like(x)
    out[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., ::2] * sin + x[..., 1::2] * cos
    return out


def rope_by_matrices(x, positions, base=10000.0):
    d = x.shape[-1]
    angles = positions[:, None].double() * base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    turn = torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], -1).unflatten(-1, (2, 2)).to(x)
    return torch.einsum("nprc,...npc->...npr", turn, x.unflatten(-1, (-1, 2))).flatten(-2)


def rope_from_a_table(x, positions, base=10000.0):
    """A table of all positions that are allowed, as models make it once."""
    d = x.shape[-1]
    angles = torch.outer(torch.arange(1024), 1.0 / base ** (torch.arange(0, d, 2) / d))
    cos, sin = angles.cos()[positions], angles.sin()[positions]
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


def rope_by_halves(x, positions, base=10000.0):
    """Move features to halves, turn them there, and move them back."""
    d = x.shape[-1]
    order = torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])
    first, second = x[..., order].chunk(2, dim=-1)
    angles = positions[:, None].double() * base ** (-torch.arange(d // 2).double() * 2 / d)
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned[..., order.argsort()]


ROPES = [
    rope_by_complex,
    rope_in_float32,
    rope_by_loops,
    rope_filled,
    rope_by_matrices,
    rope_from_a_table,
    rope_by_halves,
]


def alibi_by_loops(n_heads, n):
    bias = torch.zeros(n_heads, n, n)
    for h in range(n_heads):
        slope = 1 / 2 ** (8 * (h + 1) / n_heads)
        for i in range(n):
            for j in range(n):
                bias[h, i, j] = -slope * abs(i - j)
    return bias


def alibi_by_powers(n_heads, n):
    start = 2 ** (-8 / n_heads)
    slopes = torch.tensor([start * start**h for h in range(n_heads)])
    places = torch.arange(n)
    return slopes.view(-1, 1, 1) * -torch.abs(places.view(1, 1, -1) - places.view(1, -1, 1))


def alibi_by_numpy(n_heads, n):
    slopes = np.exp2(-8 * np.arange(1, n_heads + 1) / n_heads)
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return torch.from_numpy(-slopes[:, None, None] * apart)


ALIBIS = [
    alibi_by_loops,
    alibi_by_powers,
    alibi_by_numpy,
    lambda n_heads, n: torch.einsum(
        "h,ij->hij",
        -torch.exp2(-8 * torch.arange(1, n_heads + 1) / n_heads),
        (torch.arange(n)[:, None] - torch.arange(n)).abs().float(),
    ),
    lambda n_heads, n: torch.stack(
        [
            -(0.5 ** (8 * h / n_heads)) * torch.cdist(p := torch.arange(float(n))[:, None], p)
            for h in range(1, n_heads + 1)
        ]
    ),
    lambda n_heads, n: -torch.logspace(-8 / n_heads, -8, n_heads, base=2)[:, None, None]
    * torch.maximum(a := torch.arange(n)[:, None] - torch.arange(n), -a),
]  # fmt: skip

test_a_right_answer_is_accepted = right_answers({"6.1": ENCODINGS, "6.2": SHIFTS, "6.3": ROPES, "6.4": ALIBIS})

# ── wrong answers, and what is said of them ───────────────────────────────────────────────────────


def encoding(n, d_model):
    return encoding_by_loops(n, d_model)


def rope(x, positions, base=10000.0):
    return rope_by_matrices(x, positions, base)


def stub(*inputs, **options):
    raise NotImplementedError


def rope_over_itself(x, positions, base=10000.0):
    x[..., :] = rope(x, positions, base)
    return x


SAID = {
    "stub": ("6.3", stub, "not attempted", None, ["NotImplementedError"]),
    "float64": ("6.1", lambda n, d: encoding(n, d).double(), "failed", "wrong-dtype", ["float64"]),
    "a 1 % other base": (
        "6.1", lambda n, d: encoding_of_base(n, d, 10100.0), "failed", None, ["of your encoding"],
    ),
    "a base of 1,000": ("6.1", lambda n, d: encoding_of_base(n, d, 1000.0), "failed", "another-base", ["another base"]),
    "two at once": (
        "6.1",
        QUESTIONS["6.1"].variant(
            arrange=lambda sines, cosines: torch.cat([sines, cosines], -1),
            positions=lambda n: torch.arange(1, n + 1, dtype=torch.float64),
        ),
        "failed", "concatenated", ["Two mistakes at once", "position 1"],
    ),
    "no base": ("6.3", lambda x, positions: rope(x, positions), "error", None, ["base", "another base"]),
    "writes": ("6.3", rope_over_itself, "failed", "inputs-changed", ["writes into", "x has"]),
    "detached": (
        "6.3", lambda x, p, base=1e4: rope(x.detach(), p, base), "failed", "gradient-cut", ["reaches x"],
    ),
    "through numpy": (
        "6.3", lambda x, p, base=1e4: torch.from_numpy(rope(x, p, base).detach().numpy()),
        "failed", "gradient-cut", [],
    ),
    "in float32": (
        "6.3", lambda x, p, base=1e4: rope(x.float(), p, base).to(x.dtype), "passed", None, ["fewer digits"],
    ),
    "positions left out, in float32": (
        "6.3", lambda x, p, base=1e4: rope_in_float32(x, torch.arange(x.shape[-2]), base),
        "failed", "positions-ignored", ["do not use `positions`"],
    ),
    "positions from one, in float32": (
        "6.3", lambda x, p, base=1e4: rope_in_float32(x, p + 1, base), "failed", "positions-off-by-one", ["off by one"],
    ),
    "an array": ("6.4", lambda h, n: alibi_by_numpy(h, n).numpy(), "failed", None, ["NumPy array"]),
    "a parameter": ("6.4", lambda h, n: nn.Parameter(alibi_by_loops(h, n)), "passed", None, []),
    "2 % off": ("6.4", lambda h, n: 1.02 * alibi_by_loops(h, n), "failed", None, ["1.02 times"]),
    "rows for columns": ("6.2", lambda k, d: shift_by_blocks(k, d).mT, "failed", "shifted-backwards", ["transposed"]),
}  # fmt: skip


def encoding_of_base(n, d_model, base):
    angles = torch.outer(torch.arange(n).double(), base ** (-torch.arange(0, d_model, 2).double() / d_model))
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()


test_what_is_said_of_an_answer = expected_verdicts(SAID)


def test_equations_in_which_a_rounding_error_grows_are_not_said_to_draw():
    def shift_by_few_positions(k, d_model):
        table = encoding(3 * d_model + k, d_model)
        return torch.linalg.lstsq(table[: 3 * d_model], table[k:]).solution.T

    found = verdict(QUESTIONS["6.2"], shift_by_few_positions)
    assert found.status == "failed"
    assert "draw" not in found.message


@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("base", [9999.0, 10001.0])
def test_a_slightly_different_default_base_is_seen(base, times):
    def answer(x, positions, base=base):
        return rope(x, positions, base)

    for _ in range(times):
        assert verdict(QUESTIONS["6.3"], answer).status == "failed"
        assert verdict(QUESTIONS["6.1"], lambda n, d: encoding_of_base(n, d, base)).status == "failed"


# ── 6.5: positions under padding ──────────────────────────────────────────────────────────────────


def positions_by_loop(mask):
    return torch.tensor([[sum(row[:i]) if real else 0 for i, real in enumerate(row)] for row in mask.tolist()])


def positions_by_product(mask):
    return (mask.long().cumsum(-1) - 1) * mask


test_right_positions_are_accepted = right_answers({"6.5": [positions_by_loop, positions_by_product]})


# ── 6.6 and 6.7: heads that are written ───────────────────────────────────────────────────────────


def previous_by_one_matrix(words, positions):
    d = words.shape[1]
    return 30 * d**0.5 * sum(torch.outer(b, a) for a, b in itertools.pairwise(positions)), torch.eye(d)


def previous_by_slopes(words, positions):
    """One score rises with the position up to the query and another falls from there on: a parabola around i − 1."""
    places = torch.arange(float(len(positions)))
    one, place, square = positions.sum(0), places @ positions, places**2 @ positions
    w_q = torch.stack([2 * (place - one), -one], dim=1)  # 2 (i − 1) j − j² is largest for j = i − 1
    return 20 * w_q, torch.stack([place, square], dim=1)


def nearest_by_doubling(words, is_noun, positions):
    """A score of nouns alone, and a mask of the token itself in the same place; others get nothing."""
    places = torch.arange(1.0, len(positions) + 1)
    one = positions.sum(0)
    key = torch.stack([500 * words[is_noun].sum(0) + 6 * places @ positions], dim=1)
    w_q = torch.cat([one[:, None], 4000 * positions.T], dim=1)
    return w_q * (len(positions) + 1) ** 0.5, torch.cat([key, -positions.T], dim=1)


test_a_written_head_is_accepted = right_answers(
    {"6.6": [previous_by_one_matrix, previous_by_slopes], "6.7": [nearest_by_doubling]}
)


def previous_but_the_first_looks_further(words, positions):
    """Token 1 asks for the last token, and each other one for the token before it."""
    asked = positions[:-1].clone()
    asked[0] = positions[1]
    return 100 * positions[1:].T, asked.T


test_a_head_that_knows_nouns_alone_has_two_mistakes = expected_verdicts(
    {
        "nouns alone": (
            "6.7",
            lambda words, is_noun, positions: (100 * words.sum(0)[:, None], words[is_noun].sum(0)[:, None]),
            "failed", "itself-not-left-out", ["Two mistakes at once", "All nouns before a token"],
        ),
    }
)  # fmt: skip


test_a_message_counts_tokens_from_0 = expected_verdicts(
    {"token 1": ("6.6", previous_but_the_first_looks_further, "failed", None, ["token 1 should look at token 0,"])}
)


def looks_at_position_2(words, is_noun, positions):
    return 100 * positions.sum(0)[:, None], 100 * positions[2][:, None]


def test_two_tokens_with_the_same_weight_are_not_a_question_of_sharpness() -> None:
    """Keys that say "position 2" and no more: tokens 0 and 1 get 0.5 each of token 1, however large the scores are."""
    seen = verdict(QUESTIONS["6.7"], looks_at_position_2, seed=1)
    assert seen.status == "failed"
    assert "as much to token" in seen.message
    assert "sharper" not in seen.message


# ── 6.7: what is said of a wrong answer ───────────────────────────────────────────────────────────


def test_the_text_of_a_wrong_token_is_shown() -> None:
    """The ids and the nouns of the message name the right token again."""
    message = verdict(QUESTIONS["6.7"], looks_at_position_2).message
    i, target = map(int, re.search(r"token (\d+) should look at token (\d+)", message).groups())
    ids, nouns = map(json.loads, re.search(r"ids = (\[.*?\])\. Of these words, (\[.*?\]) are nouns", message).groups())
    assert target == max(j for j in range(i) if ids[j] in nouns)


test_a_product_of_whole_numbers_and_fractions_asks_for_float = expected_verdicts(
    {
        "bool @ float": (
            "6.7", lambda words, is_noun, positions: (is_noun @ words, words.T), "error", "whole-numbers-in-a-product",
            ["bool != float", "`.float()`"],
        ),
        "long @ float": (
            "6.7", lambda words, is_noun, positions: (torch.arange(len(positions)) @ positions, words.T), "error",
            "whole-numbers-in-a-product", ["`.float()`"],
        ),
        "long · float": (
            "6.7", lambda words, is_noun, positions: torch.arange(words.shape[1]) @ words[0], "error",
            "whole-numbers-in-a-product", ["found Long and Float", "`.float()`"],
        ),
        "a batch of long @ float": (
            "6.7", lambda words, is_noun, positions: words.long()[None] @ words.T[None], "error",
            "whole-numbers-in-a-product", ["expected scalar type", "`.float()`"],
        ),
        "double @ float": ("6.7", lambda words, is_noun, positions: words.double() @ words.T, "error", None, []),
    }
)  # fmt: skip


@pytest.mark.parametrize("question", ["6.6", "6.7", "9.5"])
def test_an_exception_does_not_describe_matrices_of_free_sizes(question: str) -> None:
    def raises(words, *others):
        return words @ words

    assert "Expected" not in verdict(find(question), raises).message
