"""`look` on tiny models of ten families and more, against the weights that they return themselves."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from qkv import look

from .models import FAMILIES, TEXT, WORDS, model_of, tokenizer

TWO_STACKS = ("T5", "BART")
N = len(TEXT.split()) + 2


def own(model: Any, **inputs: Tensor) -> Any:
    """What the model itself returns, from a copy with eager attention."""
    other = copy.deepcopy(model).eval()
    other.set_attn_implementation("eager")
    with torch.no_grad():
        return other(**inputs, output_attentions=True, output_hidden_states=True, return_dict=True)


def encoded(text: str = TEXT, **options: Any) -> dict[str, Tensor]:
    found = tokenizer()(text, return_tensors="pt", **options)
    return {name: found[name] for name in ("input_ids", "attention_mask")}


def stacked(layers: Any) -> Tensor:
    return torch.stack([layer[0] for layer in layers])


def assert_near(seen: Tensor | None, expected: Tensor) -> None:
    assert seen is not None
    torch.testing.assert_close(seen, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in TWO_STACKS])
def test_weights_are_those_of_the_model(family: str):
    model = model_of(family)
    view = look(model, tokenizer(), TEXT)
    expected = stacked(own(model, **encoded()).attentions)
    assert_near(view.weights, expected)
    assert view.tokens == ["[CLS]", *TEXT.split(), "[SEP]"]
    assert view.weights.shape == (2, 4, N, N)
    assert expected.amax(-1).mean() > 1.5 / N, "the weights are too even to show a mistake"


@pytest.mark.parametrize("family", TWO_STACKS)
def test_an_encoder_and_a_decoder_have_three_parts(family: str):
    model, target = model_of(family), "a mouse ran"
    view = look(model, tokenizer(), TEXT, target)
    wanted = encoded(target)["input_ids"]
    start = torch.tensor([[model.config.decoder_start_token_id]])
    expected = own(model, **encoded(), decoder_input_ids=torch.cat([start, wanted[:, :-1]], dim=1))
    assert_near(view.weights, stacked(expected.encoder_attentions))
    assert_near(view.decoder, stacked(expected.decoder_attentions))
    assert_near(view.cross, stacked(expected.cross_attentions))
    assert view.cross is not None
    assert view.cross.shape == (2, 4, 5, N)
    assert view.decoder_tokens == ["[PAD]" if family == "T5" else "[SEP]", "[CLS]", "a", "mouse", "ran"]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("family", ["BERT", "GPT-2", "Llama", "gpt-oss"])
def test_padding_gets_no_weight_and_does_not_count(family: str, side: str):
    model = model_of(family)
    padded = encoded(padding="max_length", max_length=N + 3, padding_side=side)
    view = look(model, tokenizer(), padded)
    assert_near(view.weights, stacked(own(model, **padded).attentions))
    real = padded["attention_mask"][0].bool()
    assert view.tokens.count("[PAD]") == 3
    assert view.weights[..., real, :][..., ~real].max() == 0
    kept = view.weights[..., real, :][..., real]
    assert_near(view.scores["previous"], kept.diagonal(-1, -2, -1).mean(-1))


def test_windows_and_sinks_are_seen():
    assert look(model_of("Mistral"), tokenizer(), TEXT).weights[..., -1, : N - 4].max() == 0
    gemma = look(model_of("Gemma 3"), tokenizer(), TEXT).weights[..., -1, : N - 4]
    assert gemma[0].max() == 0
    assert gemma[1].max() > 0
    sums = look(model_of("gpt-oss"), tokenizer(), TEXT).weights.sum(-1)
    assert sums.min() < 0.5, "a part of a row goes to the sink"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_model_is_left_as_it_was(family: str):
    model = model_of(family)
    model.config._attn_implementation = "sdpa"
    frozen = next(module for module in model.modules() if not list(module.children()))
    frozen.training = False
    before = copy.deepcopy(model.state_dict())
    inputs = encoded() | ({"decoder_input_ids": encoded()["input_ids"]} if family in TWO_STACKS else {})
    model.eval()
    out = model(**inputs)
    model.train()
    frozen.training = False
    view = look(model, tokenizer(), TEXT)
    view.switch_off((1, 2))
    assert model.config._attn_implementation == "sdpa"
    assert [module.training for module in model.modules() if module is not frozen] == [True] * (
        len(list(model.modules())) - 1
    )
    assert not frozen.training
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    model.eval()
    after = model(**inputs)
    assert torch.equal(after[0], out[0])


# ---- heads that are switched off


def without(model: Any, name: str, width: int, *heads: int) -> Any:
    """A copy whose output projection takes nothing from these heads."""
    other = copy.deepcopy(model)
    projection = other.get_submodule(name)
    with torch.no_grad():
        for head in heads:
            features = slice(head * width, (head + 1) * width)
            if type(projection).__name__ == "Conv1D":
                projection.weight[features] = 0
            else:
                projection.weight[:, features] = 0
    return other


PROJECTIONS = {
    "BERT": ("encoder.layer.1.attention.output.dense", 6),
    "RoBERTa": ("roberta.encoder.layer.1.attention.output.dense", 6),
    "DistilBERT": ("transformer.layer.1.attention.out_lin", 6),
    "GPT-2": ("transformer.h.1.attn.c_proj", 6),
    "GPT-NeoX": ("gpt_neox.layers.1.attention.dense", 6),
    "Llama": ("model.layers.1.self_attn.o_proj", 8),
    "Mistral": ("model.layers.1.self_attn.o_proj", 8),
    "Qwen3": ("model.layers.1.self_attn.o_proj", 8),
    "Gemma 3": ("model.layers.1.self_attn.o_proj", 8),
    "gpt-oss": ("model.layers.1.self_attn.o_proj", 8),
}


@pytest.mark.parametrize("family", PROJECTIONS)
def test_a_head_that_is_off_adds_nothing(family: str):
    model = model_of(family)
    view = look(model, tokenizer(), TEXT)
    effect, control = view.switch_off((1, 0), (1, 2))
    expected = own(without(model, *PROJECTIONS[family], 0, 2), **encoded())
    intact = own(model, **encoded())
    before, after = (each.hidden_states[-1][0].mean(0) for each in (intact, expected))
    assert effect.cosine == pytest.approx(float(torch.cosine_similarity(before, after, dim=0)), abs=1e-5)
    assert effect.cosine < 0.9999
    assert control is not None
    others = own(without(model, *PROJECTIONS[family], 1, 3), **encoded()).hidden_states[-1][0].mean(0)
    assert control.cosine == pytest.approx(float(torch.cosine_similarity(before, others, dim=0)), abs=1e-5)
    if effect.loss is not None:
        ids = encoded()["input_ids"][0]
        loss = torch.nn.functional.cross_entropy(expected.logits[0, :-1], ids[1:])
        assert effect.loss == pytest.approx(float(loss), abs=1e-4)
        assert effect.likeliest[0][0] == int(expected.logits[0, -1].argmax())
    assert (effect.loss is None) == (family in {"BERT", "RoBERTa", "DistilBERT"})


@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("family", TWO_STACKS)
def test_each_part_of_two_stacks_has_its_own_heads(family: str, part: str):
    names = {
        "T5": {
            "encoder": "encoder.block.1.layer.0.SelfAttention.o",
            "decoder": "decoder.block.1.layer.0.SelfAttention.o",
            "cross": "decoder.block.1.layer.1.EncDecAttention.o",
        },
        "BART": {
            "encoder": "model.encoder.layers.1.self_attn.out_proj",
            "decoder": "model.decoder.layers.1.self_attn.out_proj",
            "cross": "model.decoder.layers.1.encoder_attn.out_proj",
        },
    }
    model = model_of(family)
    effect, _ = look(model, tokenizer(), TEXT).switch_off((1, 3), part=part)
    ids = encoded()["input_ids"]
    start = torch.tensor([[model.config.decoder_start_token_id]])
    shifted = torch.cat([start, ids[:, :-1]], dim=1)
    expected = own(without(model, names[family][part], 6, 3), **encoded(), decoder_input_ids=shifted)
    loss = torch.nn.functional.cross_entropy(expected.logits[0], ids[0])
    assert effect.loss == pytest.approx(float(loss), abs=1e-4)


def test_with_every_head_of_a_layer_off_there_is_no_control():
    view = look(model_of("BERT"), tokenizer(), TEXT)
    assert view.switch_off(*((1, head) for head in range(4)))[1] is None
    with pytest.raises(ValueError, match="no head"):
        view.switch_off((2, 0))


def test_the_widget_asks_for_a_head_and_gets_what_it_does():
    view = look(model_of("GPT-2"), tokenizer(), TEXT)
    view.widget.off = [[0, 1, 2]]
    [found] = view.widget.effects
    effect, control = view.switch_off((1, 2))
    assert control is not None
    assert found["off"] == [[0, 1, 2]]
    assert found["changed"]["loss"] == effect.loss
    assert found["control"]["loss"] == control.loss
    assert found["controls"][0][:2] == [0, 1]
    assert found["controls"][0][2] != 2
    assert found["intact"]["cosine"] == pytest.approx(1)
    assert found["changed"]["likeliest"][0][0] in {
        *WORDS,
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        *(f"id {each}" for each in range(16, 40)),
    }
    view.widget.off = []
    view.widget.off = [[0, 1, 2]]
    assert len(view.widget.effects) == 1, "what is known is not measured again"


def test_heads_that_python_switches_off_are_shown_by_the_widget():
    view = look(model_of("T5"), tokenizer(), TEXT)
    first, _ = view.switch_off((0, 1))
    effect, control = view.switch_off((1, 2), (1, 3), part="cross")
    assert [list(head) for head in view.widget.off] == [[2, 1, 2], [2, 1, 3]]
    before, found = view.widget.effects
    assert before["changed"]["loss"] == first.loss
    assert found["off"] == [[2, 1, 2], [2, 1, 3]]
    assert found["changed"]["loss"] == effect.loss
    assert control is not None
    assert found["control"]["loss"] == control.loss
    view.switch_off((0, 1))
    assert len(view.widget.effects) == 2


def test_an_unknown_family_says_so_in_the_widget():
    model = model_of("Llama")
    for layer in model.model.layers:
        layer.self_attn.mixes_heads = layer.self_attn.o_proj
        type(layer.self_attn).o_proj = property(lambda self: self.mixes_heads)
        del layer.self_attn._modules["o_proj"]
    try:
        view = look(model, tokenizer(), TEXT)
        view.widget.off = [[0, 0, 0]]
        assert "which layer" in view.widget.effects[0]["problem"]
    finally:
        del type(model.model.layers[0].self_attn).o_proj


# ---- precision, arrays, and what is wrong


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_shown_as_it_is(dtype: torch.dtype):
    model = model_of("Llama").to(dtype)
    view = look(model, tokenizer(), TEXT)
    assert view.weights.dtype == torch.float32
    assert torch.equal(view.weights, stacked(own(model, **encoded()).attentions).float())
    assert view.switch_off((0, 0))[0].loss is not None


def test_arrays_of_any_origin_are_shown():
    weights = torch.randn(3, 2, 4, 4).softmax(-1)
    view = look(weights.numpy(), ["a", "b", "a", "c"])
    assert torch.equal(view.weights, weights)
    assert view.tokens == ["a", "b", "a", "c"]
    assert look(weights[0, 0].tolist(), "abac").weights.shape == (1, 1, 4, 4)
    assert view.scores["induction"][2, 1] == pytest.approx(float(weights[2, 1, 2, 1]))
    with pytest.raises(ValueError, match="shows arrays"):
        view.switch_off((0, 0))


def test_what_a_model_has_returned_is_shown():
    """As a user of bertviz has it: a tuple of the layers, the tokens or their ids."""
    model, cut = model_of("BERT").eval(), tokenizer()
    encoding = cut(TEXT, return_tensors="pt")
    ids = encoding["input_ids"]
    model.set_attn_implementation("eager")
    outputs = model(ids, output_attentions=True)
    expected = look(model, cut, TEXT)
    names = cut.convert_ids_to_tokens(ids[0])
    for weights in (outputs, outputs.attentions, torch.stack(outputs.attentions), list(outputs.attentions)):
        view = look(weights, names)
        assert torch.equal(view.weights, expected.weights)
        assert view.tokens == expected.tokens
        for name, scores in view.scores.items():
            torch.testing.assert_close(scores, expected.scores[name])
    assert look(outputs.attentions, encoding).tokens == names
    assert look(outputs.attentions, ids).tokens == [str(each) for each in ids[0].tolist()]
    for text in (ids, ids[0], ids[0].tolist(), encoding, [TEXT]):
        assert torch.equal(look(model, cut, text).weights, expected.weights)


def test_what_a_model_has_returned_without_weights_gets_a_sentence():
    model, cut = model_of("BERT"), tokenizer()
    model.set_attn_implementation("eager")
    ids = cut(TEXT, return_tensors="pt")["input_ids"]
    names = cut.convert_ids_to_tokens(ids[0])
    with pytest.raises(ValueError, match=r"in training mode.* call model.eval\(\)"):
        look(model(ids, output_attentions=True).attentions, names)
    for nothing in (model(ids), (None, None), ()):
        with pytest.raises(ValueError, match="no attention weights in this"):
            look(nothing, names)
    two = model(ids.repeat(2, 1), output_attentions=True)
    with pytest.raises(ValueError, match="one text at a time; got weights of 2"):
        look(two.attentions, names)
    with pytest.raises(ValueError, match="needs the tokens too"):
        look(two.attentions)
    with pytest.raises(ValueError, match="All layers must have the same shape"):
        look((torch.ones(1, 2, 3, 3) / 3, torch.ones(1, 4, 3, 3) / 3), ["a", "b", "c"])
    with pytest.raises(ValueError, match="needs input_ids"):
        look(model, cut, {"inputs_embeds": torch.zeros(1, 4, 24)})


def test_the_title_names_the_model_but_not_a_folder(tmp_path: Path):
    model = model_of("GPT-2")
    assert look(model, tokenizer(), TEXT).widget.title == "Attention weights of GPT2LMHeadModel"
    for loaded in ("gpt2", "someone/gpt2"):
        model.config._name_or_path = loaded
        assert look(model, tokenizer(), TEXT).widget.title == f"Attention weights of {loaded} (GPT2LMHeadModel)"
    folder = tmp_path / "mine"
    folder.mkdir()
    model.config._name_or_path = str(folder)
    assert look(model, tokenizer(), TEXT).widget.title == "Attention weights of mine (GPT2LMHeadModel)"


@pytest.mark.parametrize(
    ("weights", "tokens", "says"),
    [
        (torch.zeros(4), list("abcd"), "got shape"),
        (torch.full((2, 3, 3), 1 / 3), list("abcd"), "4 tokens need weights of shape"),
        (torch.randn(2, 4, 4), list("abcd"), "before the softmax"),
        (torch.full((2, 1, 1), 1.0), ["a"], "1 tokens"),
    ],
)
def test_wrong_arrays_get_a_sentence(weights: Tensor, tokens: list[str], says: str):
    with pytest.raises(ValueError, match=says):
        look(weights, tokens)


def test_whatever_is_wrong_gets_a_sentence():
    model, cut = model_of("BERT"), tokenizer()
    with pytest.raises(ValueError, match="takes at most 32"):
        look(model, cut, "the cat " * 20)
    with pytest.raises(ValueError, match="one text at a time; got 2"):
        look(model, cut, [TEXT, TEXT])
    with pytest.raises(ValueError, match="one text at a time; got 2"):
        look(model, cut, cut([TEXT, TEXT], return_tensors="pt"))
    with pytest.raises(ValueError, match="needs a text"):
        look(model, cut)
    with pytest.raises(TypeError, match="got str"):
        look("gpt2", cut, TEXT)
    small = model_of("BERT")
    small.resize_token_embeddings(10)
    with pytest.raises(ValueError, match="does not belong to this model"):
        look(small, cut, TEXT)
    roberta = model_of("RoBERTa")  # its positions begin after that of the padding
    assert len(look(roberta, cut, "the " * 29).tokens) == 31
    with pytest.raises(ValueError, match="takes at most 31"):
        look(roberta, cut, "the " * 30)


def test_a_model_without_attention_gets_a_sentence():
    import transformers

    config = transformers.MambaConfig(vocab_size=40, hidden_size=16, num_hidden_layers=2, state_size=4)
    with pytest.raises(ValueError, match="MambaForCausalLM returns no attention weights"):
        look(transformers.MambaForCausalLM(config), tokenizer(), TEXT)


def test_bytes_are_shown_as_letters():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    cut = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    cut.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    cut.decoder = decoders.ByteLevel()
    model = model_of("GPT-2")
    model.resize_token_embeddings(len(alphabet))
    assert look(model, PreTrainedTokenizerFast(tokenizer_object=cut), "a cat").tokens == ["a", " ", "c", "a", "t"]
