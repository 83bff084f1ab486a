"""A text as a model gets it, and its tokens as a reader can read them. Whatever is wrong gets a sentence."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from qkv.words import t


def encode(model: Any, tokenizer: Any, text: Any) -> dict[str, Tensor]:
    """Return the inputs of a model's forward for one text, (1, n) each, on the model's device.

    `text` is a string, ids, or what a tokenizer returned; of this, what `model.forward` does not take is left out. A
    list of one text counts as this text.

    Raises:
        ValueError: `text` is none of these, there are several texts or fewer than two tokens, or the model cannot take
            them.
    """
    if isinstance(text, (list, tuple)) and len(text) == 1:
        text = text[0]
    if isinstance(text, (list, tuple)) and not all(isinstance(each, int) for each in text):
        raise ValueError(t("look shows one text at a time; got {n}.", n=len(text)))
    if hasattr(text, "shape") or isinstance(text, (list, tuple)):
        text = {"input_ids": text}
    if not isinstance(text, (str, Mapping)):
        raise ValueError(
            t("look(model, tokenizer, text) needs a text: a string, its ids, or what the tokenizer returned for it.")
        )
    encoded = tokenizer(text, return_tensors="pt") if isinstance(text, str) else text
    inputs = {name: _row(value) for name, value in encoded.items()}
    if "input_ids" not in inputs:
        got = t(", ").join(inputs) or t("nothing")
        raise ValueError(t("look needs input_ids, to name the tokens; got {names}.", names=got))
    ids = inputs["input_ids"]
    if len(ids) != 1:
        raise ValueError(t("look shows one text at a time; got {n}.", n=len(ids)))
    _check(model, tokenizer, ids[0])
    takes = inspect.signature(model.forward).parameters
    return {name: value.to(model.device) for name, value in inputs.items() if name in takes}


def encode_wanted(model: Any, tokenizer: Any, target: str) -> tuple[dict[str, Tensor], Tensor]:
    """Return the inputs of a decoder that says `target`, each token one place later, and the tokens that it should say.

    Shapes:
        decoder_input_ids (1, n), which begin with the configuration's token for a start; the tokens (n)
    Raises:
        ValueError: the configuration names no token that the decoder starts with; or see `encode`.
    """
    wanted = encode(model, tokenizer, target)["input_ids"]
    config = model.config
    starts = [getattr(config, name, None) for name in ("decoder_start_token_id", "bos_token_id", "pad_token_id")]
    start = next((each for each in starts if each is not None), None)
    if start is None:
        raise ValueError(t("The model's configuration has no decoder_start_token_id, so its decoder cannot start."))
    shifted = torch.cat([wanted.new_full((1, 1), start), wanted[:, :-1]], dim=1)
    return {"decoder_input_ids": shifted}, wanted[0]


def _row(value: Any) -> Tensor:
    """Return the tensor (1, n) of one text, which may have come without the axis of texts."""
    tensor = torch.as_tensor(value)
    return tensor[None] if tensor.ndim == 1 else tensor


def _check(model: Any, tokenizer: Any, ids: Tensor) -> None:
    """Raise a ValueError for a text that the model cannot take: too short, too long, or of another tokenizer."""
    name = type(model).__name__
    known = model.get_input_embeddings().num_embeddings
    if len(ids) < 2:
        raise ValueError(t("The text has fewer than two tokens, so there is nothing to attend to."))
    if int(ids.max()) >= known:
        raise ValueError(
            t(
                "The tokenizer does not belong to this model: it made token {id}, and {model} knows {n}.",
                id=int(ids.max()),
                model=name,
                n=known,
            )
        )
    longest = longest_text(model)
    if longest is not None and len(ids) > longest:
        raise ValueError(
            t(
                "The text has {n} tokens, and {model} takes at most {most}. Shorten the text.",
                n=len(ids),
                model=name,
                most=longest,
            )
        )


def name_of(model: Any) -> str:
    """Return a model's name for a title: its class, and what it was loaded as, without the folders of a path."""
    loaded, kind = str(getattr(model.config, "_name_or_path", "")), type(model).__name__
    return f"{Path(loaded).name if Path(loaded).exists() else loaded} ({kind})" if loaded else kind


def longest_text(model: Any) -> int | None:
    """Return the number of positions that a model's table of positions has for tokens; None without such a table.

    In some families the table begins with rows that no token uses; these do not count.
    """
    for path, module in model.named_modules():
        last = path.rpartition(".")[2]
        if isinstance(module, nn.Embedding) and (last == "wpe" or "position" in last):
            offset = getattr(module, "offset", 0) or (module.padding_idx + 1 if module.padding_idx is not None else 0)
            return int(module.num_embeddings - offset)
    return None


def readable(tokenizer: Any, ids: list[int]) -> list[str]:
    """Return the text of each id's token, for a reader. The tokenizer is one of Hugging Face.

    A piece of a word is as in the vocabulary: "##ing". Of a tokenizer of bytes, such as GPT-2's, each token is decoded
    alone: " the" and not "Ġthe", and "�" for a part of a letter. An id that the tokenizer does not know is "id 7".
    """
    known = tokenizer.convert_ids_to_tokens(ids)  # None for an id that only the model knows
    pieces = [f"id {each}" if piece is None else str(piece) for each, piece in zip(ids, known, strict=True)]
    if any("Ġ" in piece for piece in tokenizer.convert_ids_to_tokens(range(min(1000, len(tokenizer))))):
        return [tokenizer.decode([each]) or piece for each, piece in zip(ids, pieces, strict=True)]
    return pieces


def separators_of(tokenizer: Any) -> frozenset[int]:
    """Return the ids of the tokens that a tokenizer puts between and after texts; none if it has no such token."""
    found = (getattr(tokenizer, name, None) for name in ("sep_token_id", "eos_token_id"))
    return frozenset(each for each in found if each is not None)


def separators_among(tokens: list[str]) -> frozenset[int]:
    """Return the places of the first of each separator among tokens that came without a tokenizer."""
    return frozenset(tokens.index(each) for each in ("[SEP]", "</s>", "<|endoftext|>") if each in tokens)
