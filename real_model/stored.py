"""Write the weights of a few sentences, which the widget shows without the model: `python -m real_model.stored`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load
from tokenizers import BertWordPieceTokenizer
from transformers import BertConfig, BertModel

from real_model import pack

SENTENCES = (
    "The animal did not cross the street because it was too tired.",
    "The animal did not cross the street because it was too wide.",
    "I saw a saw.",
)
TARGET = Path(__file__).resolve().parents[1] / "src" / "qkv" / "widgets" / "real_model_stored.json"


def main() -> None:
    """Run the model on the sentences, with the weights that the page computes with, and write TARGET.

    It has the sentences, their tokens, and the attention weights of all sentences, one after another, as bytes from 0
    to 255 in hexadecimal digits: (layers, heads, n, n) for a sentence of n tokens.

    Raises:
        MissingError: the model's package cannot be had.
    """
    files = pack.package_files()
    sizes: dict[str, Any] = {"hidden_size": pack.WIDTH, "num_hidden_layers": pack.LAYERS}
    sizes |= {"intermediate_size": 4 * pack.WIDTH, "attn_implementation": "eager"}
    model = BertModel(BertConfig(**sizes), add_pooling_layer=False).eval()
    model.load_state_dict(pack.dequantised(load(files["model.safetensors"])), strict=False)
    words = files["vocab.txt"].decode().splitlines()
    tokenizer = BertWordPieceTokenizer({word: i for i, word in enumerate(words)}, lowercase=True)
    sentences, weights = [], b""
    for sentence in SENTENCES:
        encoded = tokenizer.encode(sentence)
        with torch.no_grad():
            seen = torch.cat(model(torch.tensor([encoded.ids]), output_attentions=True).attentions)
        sentences.append({"sentence": sentence, "tokens": encoded.tokens})
        weights += (255 * seen).round().to(torch.uint8).numpy().tobytes()
    TARGET.write_text(json.dumps({"sentences": sentences, "weights": weights.hex()}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
