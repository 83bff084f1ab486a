"""The shapes in docstrings: each function of the root package returns the shapes that its docstring says.

The arguments are made from the lines below `Shapes:`, with sizes that all differ, and the results are compared with the
lines below `Returns:`. `GIVEN` holds what these lines do not say: numbers, modules, sizes that depend on each other.
"""

import importlib
import inspect
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import qkv
from qkv.cache import KVCache
from qkv.decoder import DecoderShape
from qkv.efficient import elu_features
from qkv.transformer import TransformerShape

MODULES = [path.stem for path in Path(qkv.__file__).parent.glob("*.py")]
MODULES = [name for name in MODULES if name not in ("__init__", "figures", "cli")]
NAMED = re.compile(r"((?:\w+, )*\w+)(?: \w)? \(([^()]*)\)( bool| of integers| ids|)")  # w_q, w_k (d_model, d_k) bool
SHAPE = re.compile(r"\(([^()]*)\)|0-d")
SHAPED = TransformerShape(vocab_size=11, d_model=6, n_layers=2, n_heads=3, d_hidden=7, n_max=40)
DECODER = DecoderShape(vocab_size=11, d_model=12, n_layers=2, n_heads=6, n_kv_heads=3, d_hidden=7)
HEADS, D_MODEL = {"H": 3, "d_head": 4, "d_model": 12}, {"d_model": 6, "vocab_size": 11, "H": 3}
SQUARE = {"C": 2, "patch": 3, "H": 6, "W": 12, "height": 6, "width": 12, "n_patches": 8}

# By the function's or the module's name: sizes, other arguments, and for a module how it is made.
GIVEN: dict[
    str, tuple[dict[str, int], dict[str, Any]] | tuple[dict[str, int], dict[str, Any], Callable[[type], Any]]
] = {
    "attention.SingleHeadAttention": ({"d_model": 6, "d_v": 8}, {}, lambda cls: cls(6, 7, 8)),
    "attention.split_heads": (HEADS, {"n_heads": 3}),
    "attention.merge_heads": (HEADS, {}),
    "attention.MultiHeadAttention": (HEADS, {}, lambda cls: cls(12, 3)),
    "attention.grouped_query_attention": ({"H": 6, "H_kv": 3, "n_q": 2}, {}),
    "softmax.masked_softmax": ({"n_q": 3, "n_k": 4}, {"mask": torch.ones(3, 4, dtype=torch.bool)}),
    "softmax.keep_top_k": ({}, {"k": 2}),
    "softmax.keep_top_p": ({}, {"p": 0.5}),
    "sequences.one_hot": ({"vocab_size": 9}, {"vocab_size": 9}),
    "sequences.pad_batch": ({"B": 2, "n_max": 5, "d": 3}, {"sequences": [torch.ones(5, 3), torch.ones(4, 3)]}),
    "sequences.frame_signal": ({"samples": 19, "n_frames": 6, "window": 4}, {"window": 4, "hop": 3}),
    "positions.apply_rope": ({"d": 6}, {}),
    "positions.relative_bias": ({"r": 3, "n": 5}, {"n": 5}),
    "cache.KVCache.append": ({"n": 3, "n_new": 3}, {}, lambda cls: cls()),
    "cache.decode_step": ({}, {"cache": KVCache()}),
    "transformer.FeedForward": (D_MODEL, {}, lambda cls: cls(6, 7)),
    "transformer.pre_norm_block": ({}, dict.fromkeys(["norm_1", "attend", "norm_2", "feed_forward"], torch.sigmoid)),
    "transformer.Block": (D_MODEL, {}, lambda cls: cls(SHAPED, cross=True)),
    "transformer.Embedding": (D_MODEL, {}, lambda cls: cls(SHAPED)),
    "transformer.Encoder": (D_MODEL, {}, lambda cls: cls(SHAPED)),
    "transformer.Decoder": (D_MODEL, {}, lambda cls: cls(SHAPED, cross=True)),
    "transformer.EncoderDecoder": (D_MODEL, {}, lambda cls: cls(SHAPED, SHAPED)),
    "decoder.CachedAttention": ({"d_model": 12}, {"cache": KVCache()}, lambda cls: cls(DECODER)),
    "decoder.DecoderBlock": ({"d_model": 12}, {"cache": KVCache()}, lambda cls: cls(DECODER)),
    "decoder.Decoder": ({"vocab_size": 11}, {}, lambda cls: cls(DECODER)),
    "interpretability.head_contribution": (HEADS, {}),
    "interpretability.logit_lens": (
        {"d_model": 6, "vocab": 8},
        {"norm": nn.LayerNorm(6), "unembedding": nn.Linear(6, 8)},
    ),
    "efficient.seen_through": ({}, {"layers": 2}),
    "efficient.linear_attention": ({}, {"feature_map": elu_features}),
    "efficient.linear_attention_step": ({}, {"state": None, "feature_map": elu_features}),
    "efficient.hash_buckets": ({"n_buckets": 8}, {}),
    "efficient.hash_attention": ({"n_buckets": 8}, {}),
    "efficient.latent_attention": (HEADS, {}),
    "modalities.patchify": (SQUARE, {"patch": 3}),
    "modalities.unpatchify": (SQUARE, {"patch": 3, "height": 6, "width": 12}),
    "modalities.convolution_as_attention": ({"size": 3}, {}),
}
# What these return has no shape, or their docstring gives it in words.
IN_WORDS = {
    "softmax.softmax", "softmax.entropy", "softmax.log_sum_exp", "softmax.sparsemax", "softmax.find_temperature",
    "softmax.sample_token", "positions.LearnedPositions", "decoder.prefill", "interpretability.patch_activation",
    "interpretability.mean_ablation", "efficient.random_features",
}  # fmt: skip


def with_shapes() -> Iterator[tuple[str, Any]]:
    """Yield the name and the object of all that has `Shapes:` in its docstring: functions, classes, methods."""
    for stem in MODULES:
        module = importlib.import_module(f"qkv.{stem}")
        for name, thing in vars(module).items():
            if getattr(thing, "__module__", "") != module.__name__:
                continue
            inner = vars(thing).items() if inspect.isclass(thing) else ()
            for full, one in ((name, thing), *((f"{name}.{key}", value) for key, value in inner)):
                if re.search(r"^\s*Shapes:$", getattr(one, "__doc__", None) or "", re.MULTILINE):
                    yield f"{stem}.{full}", one


FOUND = dict(with_shapes())


def sizes_of(text: str, sizes: dict[str, int], new: Iterator[int]) -> tuple[int, ...]:
    """Return a shape such as "..., H · d_head" as sizes. A name without a size gets the next new one."""
    found: list[int] = []
    for part in filter(None, re.split(r",\s*", text)):
        if part == "...":
            found.append(2)
            continue
        for name in re.findall(r"[a-zA-Z_]\w*", part.replace("2r", "r")):
            if name not in sizes:
                sizes[name] = next(new)
        python = part.replace("·", "*").replace("²", "**2").replace("2r", "2 * r").replace("/", "//")
        found.append(eval(python, {}, sizes))
    return tuple(found)


def argument(name: str, shape: tuple[int, ...], words: str) -> Tensor:
    """Return a tensor of this shape: of bools, integers below 3, or positive numbers, as the docstring says."""
    if "bool" in words or name.endswith("mask"):
        return torch.ones(shape, dtype=torch.bool)
    if "integers" in words or "ids" in name or name in ("targets", "positions", "source", "target"):
        return torch.arange(3).repeat(200)[: torch.Size(shape).numel()].reshape(shape)
    return torch.rand(shape).softmax(-1)


@pytest.mark.parametrize("name", sorted(FOUND.keys() - IN_WORDS))
def test_docstring_shapes(name):
    thing, (given_sizes, given, *how) = FOUND[name], GIVEN.get(name, ({}, {}))
    before, after = re.split(r"\n\s*Returns:\n", thing.__doc__.split("Shapes:")[1].split("Raises:")[0])
    sizes, new = dict(given_sizes), (n for n in itertools.count(3) if n not in given_sizes.values())
    owner = getattr(importlib.import_module(f"qkv.{name.split('.')[0]}"), name.split(".")[1])
    call = getattr(how[0](owner), name.partition(".")[2].partition(".")[2] or "forward") if how else thing
    takes = inspect.signature(call).parameters
    arguments = dict(given)
    for names, shape, words in NAMED.findall(before):
        for one in names.split(", "):
            if one in takes and one not in arguments:
                arguments[one] = argument(one, sizes_of(shape, sizes, new), words)
    missing = {key for key, value in takes.items() if value.default is value.empty} - arguments.keys()
    assert not missing, f"give {', '.join(missing)} of {name} in GIVEN, or their shapes in the docstring"
    result = call(**arguments)
    results = [r for r in (result if isinstance(result, tuple) else (result,)) if isinstance(r, Tensor)]
    shapes = [sizes_of(text, sizes, new) for text in SHAPE.findall(after)[: len(results)]]
    assert shapes
    assert [tuple(r.shape) for r in results][: len(shapes)] == shapes


def test_every_shape_is_checked_or_in_words():
    assert len(FOUND) > 60
    assert GIVEN.keys() | IN_WORDS <= FOUND.keys()
