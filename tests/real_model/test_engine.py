"""The real model in the page: its tokens, weights and vectors are those of transformers."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import BertWordPieceTokenizer
from torch import Tensor

from real_model import pack

from .conftest import Engine

SENTENCES = [
    "The animal did not cross the street because it was too tired.",
    "The animal did not cross the street because it was too wide.",
    "I saw a saw",
    "Unbelievably, the Zürich tokenizer splits antidisestablishmentarianism; naïve café—2,048 words!",
]
CORPUS = [
    *SENTENCES,
    "",
    "don't e-mail me@example.org, 3.14 (or -2e5)?",
    "ﬁne ‘quotes’ “double” … ½ ™ © № ①",
    "貓追老鼠 because it was hungry 東京タワー 한국어",
    "tabs\tand\nlines\r\nand\u00a0spaces\u3000here \u200b zero",
    "null\u0000 replacement\ufffd bell\u0007 soft\u00adhyphen",
    "ÀÉÎÕÜ àéîõü İstanbul ßtraße Ångström ﬀ Σίσυφος",
    "🙂 emoji 👩‍👩‍👧 flags 🇩🇪",
    "a" * 101 + " " + "b" * 100,
    "[MASK] and [SEP] are special, [mask] is not [UNUSED]",
    "x²+y³=z⁴ ∑∫√ ←→ ¿qué? ¡hola!",
    "#hashtag @name $5 100% ^caret `tick` |bar| ~tilde _under_score_",
]


def state_of(model: torch.nn.Module) -> dict[str, Tensor]:
    return {name: value for name, value in model.state_dict().items() if not name.startswith("pooler")}


def write(folder: Path, state: dict[str, Tensor], words: list[str], **sizes: int) -> Path:
    """The files of a small model, as pack.pack writes those of the real one."""
    packer, pieces = pack.packed(state)
    layers, listed = zlib.compress(bytes(packer.bytes)), zlib.compress("\n".join(words).encode())
    index = {
        "version": "tiny",
        "shape": sizes,
        "common": pack.COMMON,
        "piece": pack.PIECE,
        "bytes": {"layers.bin": len(layers), "words.txt": len(listed)},
        "parts": packer.parts,
    }
    (folder / "rows").mkdir()
    (folder / "layers.bin").write_bytes(layers)
    (folder / "words.txt").write_bytes(listed)
    (folder / "index.json").write_text(json.dumps(index))
    for number, piece in enumerate(pieces):
        (folder / "rows" / f"{number}.bin").write_bytes(zlib.compress(piece))
    return folder


class Tiny:
    """A random BERT of two layers with ten words, one of them beyond the common ones, and its files."""

    def __init__(self, folder: Path) -> None:
        torch.manual_seed(0)
        self.words = [f"[unused{i}]" for i in range(pack.COMMON + 40)]
        named = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "saw", "##s", "."]
        self.words[: len(named)] = named
        self.words[pack.COMMON + 37] = "dog"
        config = transformers.BertConfig(
            vocab_size=len(self.words),
            hidden_size=24,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=pack.POSITIONS + 7,
            attn_implementation="eager",
        )
        self.model = transformers.BertModel(config, add_pooling_layer=False).eval()
        with torch.no_grad():
            for name, value in self.model.named_parameters():
                value.copy_(
                    torch.randn_like(value) * (0.3 if "LayerNorm" not in name else 0.2)
                    + ("weight" in name) * ("Norm" in name)
                )
        self.folder = write(
            folder, state_of(self.model), self.words, layers=2, heads=4, width=24, positions=pack.POSITIONS
        )
        self.model.load_state_dict(pack.dequantised(state_of(self.model)))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    return Tiny(tmp_path_factory.mktemp("tiny"))


def seen_by(model: Any, ids: list[int]) -> tuple[Tensor, Tensor]:
    """A model's weights (layers, heads, n, n), and the vector of the text."""
    with torch.no_grad():
        out = model(torch.tensor([ids]), output_attentions=True)
    vector = out.last_hidden_state[0].mean(0)
    return torch.cat(out.attentions), vector / vector.norm()


def assert_same(found: dict[str, Any], model: Any, atol: float = 1e-4) -> None:
    weights, vector = seen_by(model, found["ids"])
    assert weights.amax(-1).mean() > 1.5 / len(found["ids"])
    torch.testing.assert_close(torch.tensor(found["weights"]).view_as(weights), weights, atol=atol, rtol=0)
    torch.testing.assert_close(torch.tensor(found["vector"]), vector, atol=atol, rtol=0)


@pytest.mark.parametrize("text", ["the cat saw the dog .", "dogs", "cat " * (pack.POSITIONS - 2)])
def test_a_small_model_gives_the_weights_of_transformers(engine: Engine, tiny: Tiny, text: str):
    found = engine.run(tiny.folder, text)
    assert len(found["ids"]) > 2
    assert_same(found, tiny.model, atol=1e-5)


def test_temperature_and_scale_change_every_softmax(engine: Engine, tiny: Tiny):
    text = "the cat saw the dog ."
    for handles, factor in [({"temperature": 2.5}, 1 / 2.5), ({"scaled": False}, 6**0.5)]:
        for layer in tiny.model.encoder.layer:
            layer.attention.self.scaling *= factor
        try:
            assert_same(engine.run(tiny.folder, text, **handles), tiny.model, atol=1e-5)
        finally:
            for layer in tiny.model.encoder.layer:
                layer.attention.self.scaling /= factor


def test_a_head_that_is_off_adds_nothing(engine: Engine, tiny: Tiny):
    state = {name: value.clone() for name, value in tiny.model.state_dict().items()}
    projection = "encoder.layer.0.attention.output.dense.weight"
    before = engine.run(tiny.folder, "the cat saw the dog .")
    try:
        tiny.model.get_parameter(projection).data[:, 6:12] = 0
        found = engine.run(tiny.folder, "the cat saw the dog .", off=[[0, 1]])
        assert_same(found, tiny.model, atol=1e-5)
        assert found["vector"] != before["vector"]
    finally:
        tiny.model.load_state_dict(state)


def test_int8_keeps_a_row_to_half_a_step():
    matrix = torch.randn(5, 40)
    numbers, scales = pack.quantised(matrix)
    assert numbers.abs().amax(1).tolist() == [127] * 5
    assert ((numbers * scales[:, None] - matrix).abs() <= scales[:, None] / 2 + 1e-7).all()
    assert pack.quantised(torch.zeros(1, 3))[0].tolist() == [[0, 0, 0]]


def test_words_are_cut_as_transformers_cuts_them(engine: Engine):
    pieces = "the cat un ##believ ##ably ##s s z ##u ##rich don ' t , . - naive cafe 貓 東 a ##a"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces.split()]
    theirs = BertWordPieceTokenizer({word: i for i, word in enumerate(words)}, lowercase=True)
    body = "({ words, texts }) => texts.map(tokenizer(words))"
    found = engine.ask(body, {"words": words, "texts": CORPUS})["result"]
    assert found == [theirs.encode(text).ids for text in CORPUS]


# ---- the real model


@pytest.fixture(scope="module")
def real(real_files: Path) -> tuple[Any, Any]:
    """The model with float32 weights, and with those of the page."""
    from safetensors.torch import load

    config = transformers.BertConfig(
        hidden_size=pack.WIDTH, num_hidden_layers=6, intermediate_size=1536, attn_implementation="eager"
    )
    state = {
        name: value for name, value in load(pack.package_files()["model.safetensors"]).items() if "pooler" not in name
    }
    state.pop("embeddings.position_ids")
    models = []
    for each in (state, pack.dequantised(state)):
        model = transformers.BertModel(config, add_pooling_layer=False).eval()
        model.load_state_dict(each)
        models.append(model)
    return models[0], models[1]


@pytest.mark.parametrize("text", SENTENCES)
def test_the_real_model_gives_the_weights_of_transformers(engine: Engine, real_files: Path, real: Any, text: str):
    whole, restored = real
    found = engine.run(real_files, text)
    assert_same(found, restored)
    assert_same(found, whole, atol=0.07)


def test_real_words_are_cut_as_transformers_cuts_them(engine: Engine, real_files: Path):
    words = zlib.decompress((real_files / "words.txt").read_bytes()).decode().splitlines()
    theirs = BertWordPieceTokenizer({word: i for i, word in enumerate(words)}, lowercase=True)
    texts = [*CORPUS, *(path.read_text(encoding="utf-8") for path in sorted(Path("book").glob("*.md")))]
    found = engine.ask("({ words, texts }) => texts.map(tokenizer(words))", {"words": words, "texts": texts})["result"]
    assert found == [theirs.encode(text).ids for text in texts]
    assert sum(map(len, found)) > 5000


def test_a_first_sentence_costs_14_mb_and_a_further_one_100_kb(real_files: Path):
    fresh = Engine()
    try:
        body = "async ({ folder, text }) => (await (await load(folder)).read(text)).rows.length"
        first = fresh.ask(body, {"folder": str(real_files), "text": SENTENCES[0]})
        assert 8e6 < first["fetched"] <= 14e6
        loaded, total = first["progress"][-1]
        assert loaded == total
        rare = "Quixotic zebras juggled kumquats beside the lighthouse near Reykjavik ."
        more = fresh.ask(body, {"folder": str(real_files), "text": rare})
        assert 0 < more["fetched"] - first["fetched"] <= 100e3
    finally:
        fresh.process.kill()
