"""Chapter 9: right answers in many shapes, and what is said of some wrong ones."""

from __future__ import annotations

import json
import re

import torch

from qkv.questions import find
from tests.questions.answers import expected_verdicts, right_answers
from tests.questions.test_twins import verdict


def score_by_a_dictionary(weights, ids):
    last, found = {}, []
    for i, token in enumerate(ids.tolist()):
        if token in last:
            found.append(weights[i, last[token] + 1])
        last[token] = i
    return torch.stack(found).mean() if found else torch.zeros((), dtype=weights.dtype)


def score_by_running_sum(weights, ids):
    total, count = weights.sum() * 0, 0
    for i in range(len(ids)):
        for j in range(i - 1, -1, -1):
            if ids[j] == ids[i]:
                total, count = total + weights[i][j + 1], count + 1
                break
    return total / max(count, 1)


def added_in_a_loop(weights, v, w_o):
    d = v.shape[2]
    return torch.stack([weights[h] @ v[h] @ w_o[h * d : (h + 1) * d] for h in range(len(v))])


def added_by_zeros(weights, v, w_o):
    """Run the whole layer with all heads but one set to zero."""
    heads, rows = weights @ v, []
    for h in range(len(heads)):
        alone = torch.zeros_like(heads)
        alone[h] = heads[h]
        rows.append(alone.transpose(0, 1).flatten(1) @ w_o)
    return torch.stack(rows)


def patched_by_clone(run, clean, corrupt, layer, position):
    _, states = run(clean, None)

    def edit(number, state):
        new = state.clone()
        if number == layer:
            new[position] = states[layer][position]
        return new

    logits, _ = run(corrupt, edit=edit)
    return logits


def patched_by_where(run, clean, corrupt, layer, position):
    kept = run(clean)[1][layer]
    here = (torch.arange(len(clean)) == position)[:, None]
    return run(corrupt, lambda at, state: torch.where(here, kept, state) if at == layer else state)[0]


test_a_right_answer_is_accepted = right_answers(
    {
        "9.1": [score_by_a_dictionary, score_by_running_sum],
        "9.2": [
            added_in_a_loop,
            added_by_zeros,
            lambda w, v, o: torch.einsum("hij,hjd,hdm->him", w, v, o.view(len(v), v.shape[-1], -1)),
        ],
        "9.3": [patched_by_clone, patched_by_where],
    }
)


def score_that_writes_first(weights, ids):
    last, found = {}, []
    for i, token in enumerate(ids.tolist()):
        last[token] = i
        if token in last:
            found.append(weights[i, last[token] + 1])
    return sum(found) / len(found)


def score_with_tensors_as_keys(weights, ids):
    last, found = {}, []
    for i, token in enumerate(ids):
        if token in last:
            found.append(weights[i, last[token] + 1])
        last[token] = i
    return torch.stack(found).mean() if found else torch.zeros((), dtype=weights.dtype)


SAID = {
    "writes first": ("9.1", score_that_writes_first, "error", "itself-for-earlier", ["when do you look"]),
    "tensors as keys": ("9.1", score_with_tensors_as_keys, "failed", "ids-never-found", ["dictionary"]),
    "all of the matrix": ("9.2", lambda w, v, o: w @ v @ o, "error", "matrix-not-cut", ["which rows"]),
    "a number": ("9.1", lambda w, ids: score_by_a_dictionary(w, ids).item(), "failed", None, ["without axes"]),
    "detached": ("9.2", lambda w, v, o: added_in_a_loop(w.detach(), v, o), "failed", "gradient-cut", ["weights"]),
}

test_what_is_said_of_a_wrong_answer = expected_verdicts(SAID)


# ── 9.4: the score of a previous-token head ───────────────────────────────────────────────────────


def previous_by_index(weights):
    rows = torch.arange(1, len(weights))
    return weights[rows, rows - 1].mean()


def previous_by_sum(weights):
    n = len(weights)
    return (weights * torch.eye(n, dtype=weights.dtype).roll(1, 0).tril(-1)).sum() / (n - 1)


test_a_right_score_is_accepted = right_answers({"9.4": [previous_by_index, previous_by_sum]})


# ── 9.5: an induction head that is written ────────────────────────────────────────────────────────


def induction_without_the_first_note(words, positions, free):
    """The note says which word came before, but at the first position the first head writes its opposite as well."""
    w_v1 = words.T @ free
    w_q2 = torch.cat([words.T, words.sum(0)[:, None]], dim=1)
    w_k2 = torch.cat([free.T, -positions[:1].T], dim=1)
    return 300 * positions[1:].T, positions[:-1].T, w_v1, 300 * w_q2, w_k2


def induction_in_one_matrix(words, positions, free):
    d = words.shape[1]
    first = sum(torch.outer(positions[i], positions[i - 1]) for i in range(1, len(positions)))
    second = words.T @ free - words.sum(0)[:, None] * positions[0]
    return 300 * first, torch.eye(d), words.T @ free, 300 * second, torch.eye(d)


test_right_heads_are_accepted = right_answers({"9.5": [induction_without_the_first_note, induction_in_one_matrix]})


test_the_diagonal_without_its_first_number_is_called_the_diagonal = expected_verdicts(
    {"from row 1": ("9.4", lambda weights: weights.diagonal()[1:].mean(), "failed", "itself", ["diagonal"])}
)


def second_head(query, key):
    """Return an answer whose second head is this one, without a thought of the first token."""

    def answer(words, positions, free):
        given = {"words": words, "free": free}
        return 200 * positions[1:].T, positions[:-1].T, words.T @ free, 200 * given[query].T, given[key].T

    return answer


def first_head_forwards(words, positions, free):
    return 200 * positions[:-1].T, positions[1:].T, words.T @ free, 900 * words.T, free.T


test_one_mistake_in_9_5_is_called_one = expected_verdicts(
    {
        "the same word": (
            "9.5", second_head("words", "words"), "failed", "looks-at-the-word-itself", ["Your second head looks for"]
        ),
        "swapped": ("9.5", second_head("free", "words"), "failed", "query-and-key-swapped", ["The query of your"]),
        "forwards": ("9.5", first_head_forwards, "failed", "looks-at-the-next-token", ["Your first head asks"]),
        "note transposed": (
            "9.5",
            lambda words, positions, free: (
                200 * positions[1:].T, positions[:-1].T, free.T @ words, 200 * words.T, free.T
            ),
            "failed", "nothing-written", ["which ones to write"],
        ),
    }
)  # fmt: skip


def test_the_text_of_a_wrong_token_is_shown() -> None:
    """The ids of the message name the right token again: the one after the earlier token of the same word."""

    def looks_at_position_3(words, positions, free):
        return positions.T, positions.T, words.T @ free, 900 * words.T, positions[3:4].T.expand(-1, len(words))

    message = verdict(find("9.5"), looks_at_position_3).message
    i, target = map(int, re.search(r"token (\d+) should look at token (\d+)", message).groups())
    ids = json.loads(re.search(r"The text: ids = (\[.*?\])\.", message)[1])
    assert target == ids.index(ids[i]) + 1 <= i
