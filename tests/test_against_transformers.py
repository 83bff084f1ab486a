"""The reference against Hugging Face `transformers`, built from small random configurations: nothing is downloaded."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
import transformers  # its classes are loaded where they are first named: that takes seconds
from torch import Tensor, nn

from qkv import transformer
from qkv.attention import attention, causal_mask, grouped_query_attention, merge_heads, padding_mask, split_heads
from qkv.cache import KVCache
from qkv.decoder import Decoder, DecoderShape
from qkv.positions import apply_rope, apply_rope_half_split, to_half_split
from qkv.transformer import generate

N, VOCAB = 11, 31
pytestmark = pytest.mark.usefixtures("_without_gradients")


@pytest.fixture(name="_without_gradients")
def without_gradients():
    with torch.no_grad():
        yield


def random_weights(model: transformers.PreTrainedModel) -> transformers.PreTrainedModel:
    """Weights that make scores of about unit variance: the small ones of a fresh model would hide mistakes."""
    generator = torch.Generator().manual_seed(0)
    for name, p in model.named_parameters():
        if p.ndim == 2:
            fan_in = 4 if "embed" in name or "wte" in name else sum(p.shape) / 2
            p.copy_(torch.randn(p.shape, generator=generator, dtype=p.dtype) / fan_in**0.5)
        elif name.endswith("bias") and "attn" in name:
            p.copy_(torch.randn(p.shape, generator=generator, dtype=p.dtype) / 4)
    return model.double().eval()


def some_ids(*shape: int) -> Tensor:
    return torch.randint(VOCAB, shape, generator=torch.Generator().manual_seed(1))


def assert_near(seen: Tensor, expected: Tensor, atol: float = 1e-12) -> None:
    torch.testing.assert_close(seen, expected, atol=atol, rtol=0)


class Call(NamedTuple):
    x: Tensor
    out: Tensor
    weights: Tensor


def calls_of(module: nn.Module, run) -> list[Call]:
    """What went into an attention module, and what came out, while `run` runs the model it is part of."""
    calls: list[Call] = []

    def note(_module, args, kwargs, returned):
        calls.append(Call(args[0] if args else kwargs["hidden_states"], *returned[:2]))

    handle = module.register_forward_hook(note, with_kwargs=True)
    run()
    handle.remove()
    return calls


# ── GPT-2: all heads have keys of their own, and biases ───────────────────────────────────────────


def gpt2() -> transformers.GPT2LMHeadModel:
    config = transformers.GPT2Config(
        vocab_size=VOCAB,
        n_positions=32,
        n_embd=24,
        n_layer=2,
        n_head=4,
        attn_implementation="eager",
        bos_token_id=None,
        eos_token_id=None,
    )
    return random_weights(transformers.GPT2LMHeadModel(config))


def gpt2_attention(module: nn.Module, x: Tensor, mask: Tensor, cache: KVCache | None = None):
    """Our attention with the weights of theirs: one matrix (in, out) that holds W_Q, W_K and W_V side by side."""
    q, k, v = (split_heads(part, 4) for part in module.c_attn(x).chunk(3, dim=-1))
    if cache is not None:
        k, v = cache.append(k, v)
    heads, weights = attention(q, k, v, mask)
    return module.c_proj(merge_heads(heads)), weights


@pytest.mark.parametrize("layer", [0, 1])
def test_gpt2_attends_as_we_do(layer):
    model = gpt2()
    module = model.transformer.h[layer].attn
    (call,) = calls_of(module, lambda: model(some_ids(3, N), output_attentions=True))
    out, weights = gpt2_attention(module, call.x, causal_mask(N))
    assert_near(out, call.out)
    assert_near(weights, call.weights)
    assert call.weights.amax(-1).mean() < 0.9  # not saturated: a wrong scale would be seen


def test_gpt2_hides_padding_as_we_do():
    model, real = gpt2(), torch.arange(N) < torch.tensor([[N], [4], [7]])
    module = model.transformer.h[1].attn
    (call,) = calls_of(module, lambda: model(some_ids(3, N), attention_mask=real.long(), output_attentions=True))
    out, weights = gpt2_attention(module, call.x, causal_mask(N) & padding_mask(real))
    assert_near(out[real], call.out[real])
    assert_near(weights.transpose(1, 2)[real], call.weights.transpose(1, 2)[real])


def test_gpt2_decodes_with_a_cache_as_we_do():
    model, ids, theirs, ours = gpt2(), some_ids(3, N), transformers.DynamicCache(), KVCache()
    module = model.transformer.h[1].attn
    for start, stop in [(0, 4), (4, 5), (5, 8), (8, 9)]:
        piece = ids[:, start:stop]
        (call,) = calls_of(module, lambda piece=piece: model(piece, past_key_values=theirs, use_cache=True))
        mask = causal_mask(stop - start, stop)
        assert_near(gpt2_attention(module, call.x, mask, ours)[0], call.out)
    assert_near(ours.read()[0], theirs.layers[1].keys)
    assert_near(ours.read()[1], theirs.layers[1].values)


def our_gpt2(theirs: transformers.GPT2LMHeadModel) -> transformer.Decoder:
    """Our decoder with the weights of theirs. Their matrices are (in, out), those of nn.Linear (out, in)."""
    shape = transformer.TransformerShape(
        VOCAB,
        24,
        n_layers=2,
        n_heads=4,
        d_hidden=96,
        n_max=32,
        activation=partial(F.gelu, approximate="tanh"),
        tied=True,
    )
    ours = transformer.Decoder(shape).double()
    ours.embedding.tokens.load_state_dict(theirs.transformer.wte.state_dict())
    ours.embedding.positions.table.copy_(theirs.transformer.wpe.weight)
    ours.stack.norm.load_state_dict(theirs.transformer.ln_f.state_dict())
    for block, layer in zip(ours.stack.blocks, theirs.transformer.h, strict=True):
        block.norm_1.load_state_dict(layer.ln_1.state_dict())
        block.norm_2.load_state_dict(layer.ln_2.state_dict())
        q_k_v = zip(layer.attn.c_attn.weight.T.chunk(3), layer.attn.c_attn.bias.chunk(3), strict=True)
        named = dict(zip((block.attention.w_q, block.attention.w_k, block.attention.w_v), q_k_v, strict=True))
        for projection, conv in [
            (block.attention.w_o, layer.attn.c_proj),
            (block.feed_forward.w_1, layer.mlp.c_fc),
            (block.feed_forward.w_2, layer.mlp.c_proj),
        ]:
            named[projection] = (conv.weight.T, conv.bias)
        for projection, (weight, bias) in named.items():
            projection.weight.copy_(weight)
            projection.bias.copy_(bias)
    return ours


def test_gpt2_is_our_decoder_block_by_block():
    theirs, ids, places = gpt2(), some_ids(3, N), transformer.Places()
    seen = theirs(ids, output_hidden_states=True, output_attentions=True)
    assert_near(our_gpt2(theirs)(ids, visit=places), seen.logits)
    assert_near(places["1.state"], seen.hidden_states[1])
    assert_near(places.layers("attention.weights"), torch.stack(seen.attentions, dim=1))
    post_norm = our_gpt2(theirs)
    for block in post_norm.stack.blocks:
        block.norm_first = False
    assert (post_norm(ids) - seen.logits).abs().max() > 0.1


def test_gpt2_writes_what_our_decoder_writes():
    theirs, prompt = gpt2(), some_ids(5)
    theirs.transformer.wpe.weight.mul_(20)  # tied, it would only repeat its last token
    written = theirs.generate(prompt[None], max_new_tokens=12, do_sample=False)[0, 5:].tolist()
    assert generate(our_gpt2(theirs), prompt.tolist(), 12) == written
    assert len(set(written)) > 3


# ── Llama: rotary positions in halves, grouped queries ────────────────────────────────────────────


def llama() -> transformers.LlamaForCausalLM:
    config = transformers.LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=24,
        intermediate_size=40,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=64,
        attn_implementation="eager",
    )
    return random_weights(transformers.LlamaForCausalLM(config))


def llama_attention(module: nn.Module, x: Tensor, cache: KVCache, rope=apply_rope_half_split) -> Tensor:
    """Our attention with the weights of theirs, on tokens that follow what the cache holds."""
    positions = torch.arange(len(cache), len(cache) + x.shape[1])
    q, k, v = split_heads(module.q_proj(x), 6), split_heads(module.k_proj(x), 2), split_heads(module.v_proj(x), 2)
    k, v = cache.append(rope(k, positions), v)
    return module.o_proj(merge_heads(grouped_query_attention(rope(q, positions), k, v)))


@pytest.mark.parametrize("layer", [0, 1])
def test_llama_attends_as_we_do_and_not_in_the_other_layout(layer):
    model = llama()
    module = model.model.layers[layer].self_attn
    (call,) = calls_of(module, lambda: model(some_ids(3, N)))
    assert_near(llama_attention(module, call.x, KVCache()), call.out, atol=1e-6)
    wrong_layout = llama_attention(module, call.x, KVCache(), rope=apply_rope)
    assert (wrong_layout - call.out).abs().max() > 0.01


def test_llama_in_the_interleaved_layout_is_the_same_with_its_rows_reordered():
    module, x = llama().model.layers[0].self_attn, torch.randn(3, N, 24, dtype=torch.float64)
    expected = llama_attention(module, x, KVCache())
    for projection, n_heads in [(module.q_proj, 6), (module.k_proj, 2)]:
        projection.weight.copy_(rows_to_interleaved(projection.weight, n_heads))
    assert_near(llama_attention(module, x, KVCache(), rope=apply_rope), expected)


def test_llama_decodes_with_a_cache_as_we_do():
    model, ids, theirs, ours = llama(), some_ids(3, N), transformers.DynamicCache(), KVCache()
    module = model.model.layers[1].self_attn
    for start, stop in [(0, 4), (4, 5), (5, 8), (8, 9)]:
        piece = ids[:, start:stop]
        (call,) = calls_of(module, lambda piece=piece: model(piece, past_key_values=theirs, use_cache=True))
        assert_near(llama_attention(module, call.x, ours), call.out, atol=1e-6)
    assert_near(ours.read()[0], theirs.layers[1].keys, atol=1e-6)
    assert_near(ours.read()[1], theirs.layers[1].values)


# ── Starcoder 2: the block of our decoder, whole ──────────────────────────────────────────────────


def starcoder2(window: int | None) -> transformers.Starcoder2ForCausalLM:
    config = transformers.Starcoder2Config(
        vocab_size=VOCAB,
        hidden_size=24,
        intermediate_size=40,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
        hidden_act="gelu",
        max_position_embeddings=64,
        sliding_window=window,
        attn_implementation="eager",
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
    )
    model = random_weights(transformers.Starcoder2ForCausalLM(config))
    for layer in model.model.layers:
        for projection in ("q_proj", "k_proj", "v_proj", "o_proj"):
            getattr(layer.self_attn, projection).bias.zero_()  # ours has none
    return model


def rows_to_interleaved(weight: Tensor, n_heads: int) -> Tensor:
    """Reorder each head's output features from halves to neighbouring pairs."""
    halves = weight.unflatten(0, (n_heads, 2, -1))
    return halves.transpose(1, 2).flatten(0, 2)


def our_decoder(theirs: transformers.Starcoder2ForCausalLM, window: int | None) -> Decoder:
    """Our decoder with the weights of theirs."""
    shape = DecoderShape(VOCAB, 24, n_layers=3, n_heads=6, n_kv_heads=2, d_hidden=40, window=window)
    ours = Decoder(shape).double()
    ours.embedding.weight.copy_(theirs.model.embed_tokens.weight)
    ours.unembedding.weight.copy_(theirs.lm_head.weight)
    ours.norm.load_state_dict(theirs.model.norm.state_dict())
    for block, layer in zip(ours.blocks, theirs.model.layers, strict=True):
        block.norm_1.load_state_dict(layer.input_layernorm.state_dict())
        block.norm_2.load_state_dict(layer.post_attention_layernorm.state_dict())
        block.mlp[0].load_state_dict(layer.mlp.c_fc.state_dict())
        block.mlp[2].load_state_dict(layer.mlp.c_proj.state_dict())
        block.attention.w_q.weight.copy_(rows_to_interleaved(layer.self_attn.q_proj.weight, 6))
        block.attention.w_k.weight.copy_(rows_to_interleaved(layer.self_attn.k_proj.weight, 2))
        block.attention.w_v.weight.copy_(layer.self_attn.v_proj.weight)
        block.attention.w_o.weight.copy_(layer.self_attn.o_proj.weight)
    return ours


@pytest.mark.parametrize("window", [None, 4])
def test_our_decoder_is_starcoder_2_in_the_other_rotary_layout(window):
    theirs = starcoder2(window)
    ours, ids = our_decoder(theirs, window), some_ids(3, N)
    assert_near(ours(ids), theirs(ids).logits, atol=2e-6)  # they turn by float32 angles
    if window:
        assert (our_decoder(theirs, None)(ids) - ours(ids)).abs().max() > 0.01


@pytest.mark.parametrize("window", [None, 4])
def test_our_decoder_writes_what_starcoder_2_writes(window):
    theirs, prompt = starcoder2(window), some_ids(5)
    written = theirs.generate(prompt[None], max_new_tokens=12, do_sample=False)[0, 5:].tolist()
    assert generate(our_decoder(theirs, window), prompt.tolist(), 12) == written
    assert len(set(written)) > 3


def test_the_reordering_of_rows_is_the_inverse_of_the_one_for_features():
    weight, x = torch.randn(12, 5, dtype=torch.float64), torch.randn(7, 5, dtype=torch.float64)
    projected = split_heads(x @ rows_to_interleaved(weight, 3).T, 3)
    assert_near(to_half_split(projected), split_heads(x @ weight.T, 3))
