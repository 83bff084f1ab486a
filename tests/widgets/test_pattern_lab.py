"""PatternLab's masks, their reach and their errors, against the reference in torch."""

from __future__ import annotations

import pytest
import torch

from qkv.attention import causal_mask, window_mask
from qkv.cheaper import dilated_mask, global_mask, seen_through
from qkv.widgets import PatternLab

from .node import JS, node

MODULE = (JS / "patterns.js").as_uri()
N = 32


def mask_of(pattern: str, window: int, causal: bool) -> torch.Tensor:
    body = f'async (x) => (await import("{MODULE}")).patternMask(x.pattern, x)'
    found = node(body, {"pattern": pattern, "n": N, "window": window, "causal": causal})
    return torch.tensor(found, dtype=torch.bool)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("window", [1, 4, 16])
def test_masks_are_those_of_the_reference(window: int, causal: bool):
    future = causal_mask(N) if causal else torch.ones(N, N, dtype=torch.bool)
    assert torch.equal(mask_of("full", window, causal), future)
    assert torch.equal(mask_of("window", window, causal), window_mask(N, window, causal=causal))
    with_global = (window_mask(N, window, causal=False) | global_mask(N, 2)) & future
    assert torch.equal(mask_of("window and global", window, causal), with_global)
    assert torch.equal(mask_of("dilated", window, causal), dilated_mask(N, window, 3, causal))


def test_strided_sees_the_window_and_every_multiple_of_it():
    apart = torch.arange(N)[:, None] - torch.arange(N)
    expected = ((apart.abs() < 5) | (apart % 5 == 0)) & (apart >= 0)
    assert torch.equal(mask_of("strided", 5, True), expected)


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_reach_is_that_of_the_reference(layers: int):
    mask = mask_of("window", 3, True)
    body = f'async (x) => (await import("{MODULE}")).seenThrough(x.mask, x.layers)'
    found = torch.tensor(node(body, {"mask": mask.tolist(), "layers": layers}), dtype=torch.bool)
    assert torch.equal(found, seen_through(mask, layers))


def test_errors_tell_what_each_pattern_gives_up():
    body = f'async (x) => (await import("{MODULE}")).patternErrors(x.mask, x.all, 10)'
    everything = mask_of("full", 1, True).tolist()
    assert node(body, {"mask": everything, "all": everything}) == {"random": 0, "local": 0, "needle": 0}
    found = node(body, {"mask": mask_of("window", 4, True).tolist(), "all": everything})
    assert found["needle"] > 0.8
    assert found["local"] < found["random"]


def test_it_opens_on_a_causal_window():
    lab = PatternLab()
    assert (lab.pattern, lab.window, lab.causal, lab.layers, lab.token) == ("window", 4, True, 1, 32)
