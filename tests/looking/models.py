"""Tiny models of many families with random weights, and a tokenizer of a few words: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable

import torch
import transformers as hf
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ["the", "cat", "dog", "chased", "it", "because", "was", "hungry", "a", "mouse", "ran", "tired"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
VOCAB = 40
TEXT = "the cat chased the dog because it was hungry the cat"
COMMON = {"vocab_size": VOCAB, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
BERT = COMMON | {
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 32,
}
LLAMA = BERT | {"num_key_value_heads": 2, "head_dim": 8}
WINDOW = {"sliding_window": 4}


def gemma3() -> hf.PreTrainedModel:
    kinds = ["sliding_attention", "full_attention"]
    return hf.Gemma3ForCausalLM(hf.Gemma3TextConfig(**LLAMA, **WINDOW, layer_types=kinds))


def gpt_oss() -> hf.PreTrainedModel:
    """A model with mixtures of experts, and weights of attention that sum to less than 1."""
    kinds = ["sliding_attention", "full_attention"]
    experts = {"num_local_experts": 2, "num_experts_per_tok": 1}
    model = hf.GptOssForCausalLM(hf.GptOssConfig(**LLAMA, **WINDOW, **experts, layer_types=kinds))
    with torch.no_grad():  # some parameters of a new model are left empty
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    return model


def t5() -> hf.PreTrainedModel:
    """A model with two stacks and biases for distances."""
    sizes = {"d_model": 24, "d_kv": 6, "d_ff": 48, "num_layers": 2, "num_heads": 4}
    return hf.T5ForConditionalGeneration(
        hf.T5Config(vocab_size=VOCAB, **sizes, pad_token_id=0, eos_token_id=3, decoder_start_token_id=0)
    )


def bart() -> hf.PreTrainedModel:
    """A model with two stacks and learned positions."""
    sizes = {
        f"{stack}_{name}": value
        for stack in ("encoder", "decoder")
        for name, value in {"layers": 2, "attention_heads": 4, "ffn_dim": 48}.items()
    }
    return hf.BartForConditionalGeneration(
        hf.BartConfig(**COMMON, d_model=24, max_position_embeddings=32, **sizes, decoder_start_token_id=3)
    )


FAMILIES: dict[str, Callable[[], hf.PreTrainedModel]] = {
    "BERT": lambda: hf.BertModel(hf.BertConfig(**BERT)),
    "RoBERTa": lambda: hf.RobertaForMaskedLM(hf.RobertaConfig(**BERT)),
    "DistilBERT": lambda: hf.DistilBertModel(
        hf.DistilBertConfig(vocab_size=VOCAB, dim=24, n_layers=2, n_heads=4, hidden_dim=48, max_position_embeddings=32)
    ),
    "GPT-2": lambda: hf.GPT2LMHeadModel(
        hf.GPT2Config(vocab_size=VOCAB, n_positions=32, n_embd=24, n_layer=2, n_head=4, bos_token_id=2, eos_token_id=3)
    ),
    "GPT-NeoX": lambda: hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**BERT)),
    "Llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**LLAMA)),
    "Mistral": lambda: hf.MistralForCausalLM(hf.MistralConfig(**LLAMA, **WINDOW)),
    "Qwen3": lambda: hf.Qwen3ForCausalLM(hf.Qwen3Config(**LLAMA)),
    "Gemma 3": gemma3,
    "gpt-oss": gpt_oss,
    "T5": t5,
    "BART": bart,
}


def model_of(family: str) -> hf.PreTrainedModel:
    """A model in training mode, so that what `look` changes for its run can be seen; its scores are not all alike."""
    torch.manual_seed(0)
    model = FAMILIES[family]()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(6)
    return model.train()


def tokenizer() -> hf.PreTrainedTokenizerFast:
    """A tokenizer with one token for each word, and special tokens at both ends."""
    vocabulary = {word: i for i, word in enumerate([*SPECIAL, *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return hf.PreTrainedTokenizerFast(tokenizer_object=made, **names)
