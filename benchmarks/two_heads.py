"""Train the two layers that TwoHeads shows: one head and two heads on the task of chapter 5.

    python benchmarks/two_heads.py     trains both again (10 s), and writes src/qkv/models/two-heads.json

The layer and its training are those of the chapter, with a width of 8: a token is four prices and four numbers of its
position. Only what reads or answers the first price is stored, with two decimals.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[1]
CHAPTER = ROOT / "chapters" / "05_multi_head.ipynb"
TARGET = ROOT / "src" / "qkv" / "models" / "two-heads.json"
WIDTH, STEPS, SEED = 8, 2400, 2


def chapter_s(*cells: str) -> dict[str, Any]:
    """Return what cells of the chapter define, after their imports."""
    sources = {cell["id"]: "".join(cell["source"]) for cell in json.loads(CHAPTER.read_text())["cells"]}
    names: dict[str, Any] = {}
    exec("import torch\nfrom torch import nn\nfrom qkv.attention import MultiHeadAttention", names)
    for cell in cells:
        exec(sources[cell], names)
    return names


def rounded(numbers: Any) -> Any:
    """Return nested lists of numbers with two decimals."""
    return [rounded(each) for each in numbers] if isinstance(numbers, list) else round(numbers, 2)


def trained(heads: int) -> dict[str, Any]:
    """Return the parameters of a trained layer, as far as its answer for the first price needs them."""
    names = chapter_s("layer-defined", "change-trained")
    torch.manual_seed(SEED)
    layer = names["Layer"](heads, width=WIDTH)
    print(heads, "heads:", f"{names['train'](layer, STEPS):.4f}")
    stored = {name.removeprefix("attend."): value for name, value in layer.state_dict().items()}
    for which in ("w_q", "w_k", "w_v"):
        stored[f"{which}.weight"] = stored[f"{which}.weight"][:, [0, 4, 5, 6, 7]]
    for part in ("w_o.weight", "w_o.bias"):
        stored[part] = stored[part][:1]
    return {name: rounded(value.tolist()) for name, value in stored.items()}


def main() -> None:
    """Train both layers and store them."""
    torch.set_num_threads(1)
    stored = {"one head": trained(1), "two heads": trained(2)}
    text = json.dumps(stored, separators=(",", ":"))
    TARGET.write_text(re.sub(r'("[a-z_.]+":|},|{)', r"\n\1", text).strip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
