"""Wrong ways to split features into heads and to merge heads: the shape is right, the order of numbers is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from qkv.attention import merge_heads, split_heads
from qkv.questions.engine import Misconception

Split = Callable[[Tensor, int], Any]  # (x (B, n, d_model), H) -> heads (B, H, n, d_head)
Merge = Callable[[Tensor], Tensor]  # heads (B, H, n, d_head) -> (B, n, d_model)


def split_by_reshape(x: Tensor, n_heads: int) -> Tensor:
    return x.reshape(len(x), n_heads, x.shape[1], -1)


def features_dealt_out(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)


# The keys are slugs; their texts are in heads.toml.
SPLITS: dict[str, tuple[Split, ...]] = {
    "heads-split-by-reshape": (
        split_by_reshape,
        lambda x, n_heads: split_heads(x, n_heads).mT.reshape(len(x), n_heads, x.shape[1], -1),
        lambda x, n_heads: x.mT.reshape(len(x), n_heads, x.shape[1], -1),
    ),
    "examples-mixed": (
        lambda x, n_heads: x.reshape(n_heads, len(x), x.shape[1], -1).transpose(0, 1),
        lambda x, n_heads: x.transpose(0, 1).reshape(len(x), n_heads, x.shape[1], -1),
    ),
    "features-dealt-out": (features_dealt_out,),
    "all-heads-alike": (lambda x, n_heads: split_heads(x, n_heads)[:, :1].expand(-1, n_heads, -1, -1),),
}


def merge_by_reshape(x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], x.shape[2], -1)


def features_alternating(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1).flatten(2)


MERGES: dict[str, tuple[Merge, ...]] = {
    "heads-merged-by-reshape": (
        merge_by_reshape,
        lambda x: x.mT.reshape(x.shape[0], x.shape[2], -1),
        lambda x: x.permute(0, 3, 2, 1).reshape(x.shape[0], x.shape[2], -1),
        lambda x: x.permute(0, 3, 1, 2).reshape(x.shape[0], x.shape[2], -1),
    ),
    "features-dealt-out": (features_alternating,),
    "examples-mixed": (
        lambda x: x.transpose(0, 1).reshape(x.shape[0], x.shape[2], -1),
        lambda x: x.permute(2, 0, 1, 3).reshape(x.shape[0], x.shape[2], -1),
    ),
    "heads-averaged": (lambda x: merge_heads(x.mean(1, keepdim=True).expand_as(x)),),
}


def split_or_merge_mistake(slug: str) -> Misconception:
    """Return the misconception with this slug, with one set of knobs for each wrong way to split or to merge heads.

    For "features-dealt-out", one more does both.
    """
    ways: list[dict[str, Any]] = [{"split": split} for split in SPLITS.get(slug, ())]
    ways += [{"merge": merge} for merge in MERGES.get(slug, ())]
    if slug == "features-dealt-out":
        ways.append({"split": features_dealt_out, "merge": features_alternating})
    return Misconception(slug, knob_sets=tuple(ways))


HEADS = (
    *map(split_or_merge_mistake, dict.fromkeys([*SPLITS, *MERGES])),
    Misconception("heads-split-and-merged-by-reshape", knobs={"split": split_by_reshape, "merge": merge_by_reshape}),
)
