"""Blocks, stacks, losses and handles: against torch's own, by their properties, beside wrong versions."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from qkv.attention import causal_mask
from qkv.softmax import keep_top_k
from qkv.transformer import (
    Block,
    Decoder,
    Encoder,
    EncoderDecoder,
    Places,
    RMSNorm,
    TransformerShape,
    generate,
    handles,
    layer_norm,
    masked_token_loss,
    next_token_loss,
    pre_norm_block,
    rms_norm,
    transformer_parameters,
)

SHAPE = TransformerShape(vocab_size=29, d_model=24, n_layers=3, n_heads=4, d_hidden=40, n_max=20)
N = 11
both_orders = pytest.mark.parametrize("norm_first", [True, False])


def normal(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def some_ids(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randint(29, shape, generator=torch.Generator().manual_seed(seed))


def randomised(module: nn.Module) -> nn.Module:
    """In float64, with weights that make signals of about unit variance, gains and biases included."""
    generator = torch.Generator().manual_seed(0)
    module = module.double().eval()
    with torch.no_grad():
        for p in module.parameters():
            spread = p.shape[-1] ** -0.5 if p.ndim == 2 else 0.3
            p.add_(torch.randn(p.shape, generator=generator, dtype=p.dtype) * spread)
    return module


def decoder(cross: bool = False, **changes) -> Decoder:
    return randomised(Decoder(dataclasses.replace(SHAPE, **changes), cross))


def encoder(**changes) -> Encoder:
    return randomised(Encoder(dataclasses.replace(SHAPE, **changes)))


def assert_near(seen, expected, atol=1e-12):
    torch.testing.assert_close(seen, expected, atol=atol, rtol=0)


# ── norms ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("spread", [1.0, 1e-3, 0.0])
@pytest.mark.parametrize("eps", [1e-5, 0.1])
def test_layer_norm_is_torchs(spread, eps):
    x, gain, bias = spread * normal(0, 3, 5, 7) + 2, normal(1, 7), normal(2, 7)
    assert_near(layer_norm(x, gain, bias, eps), F.layer_norm(x, (7,), gain, bias, eps))


def test_layer_norm_sees_one_token_at_a_time():
    x, gain, bias = normal(0, 3, 5, 7), normal(1, 7), normal(2, 7)
    assert_near(layer_norm(x[1, 3], gain, bias), layer_norm(x, gain, bias)[1, 3])


@pytest.mark.parametrize("spread", [1.0, 1e-3])
def test_rms_norm_is_torchs(spread):
    x, gain = spread * normal(0, 3, 5, 7) + 2 * spread, normal(1, 7)
    assert_near(rms_norm(x, gain, 1e-5), F.rms_norm(x, (7,), gain, 1e-5))
    norm = RMSNorm(7).double()
    assert_near(norm(x).square().mean(-1), x.square().mean(-1) / (x.square().mean(-1) + 1e-5))


# ── the block, against torch's ────────────────────────────────────────────────────────────────────


def copy_attention(ours, theirs: nn.MultiheadAttention) -> None:
    for i, layer in enumerate((ours.w_q, ours.w_k, ours.w_v)):
        layer.weight.copy_(theirs.in_proj_weight.chunk(3)[i])
        layer.bias.copy_(theirs.in_proj_bias.chunk(3)[i])
    ours.w_o.load_state_dict(theirs.out_proj.state_dict())


@torch.no_grad()
def with_weights_of(theirs: nn.Module, cross: bool = False, **changes) -> Block:
    """Our block with the weights of torch's encoder or decoder layer."""
    ours = Block(dataclasses.replace(SHAPE, **changes), cross).double().eval()
    copy_attention(ours.attention, theirs.self_attn)
    if cross:
        copy_attention(ours.cross, theirs.multihead_attn)
    names = ("norm_1", "norm_cross", "norm_2") if cross else ("norm_1", "norm_2")
    for i, name in enumerate(names, start=1):
        getattr(ours, name).load_state_dict(getattr(theirs, f"norm{i}").state_dict())
    ours.feed_forward.w_1.load_state_dict(theirs.linear1.state_dict())
    ours.feed_forward.w_2.load_state_dict(theirs.linear2.state_dict())
    return ours


@both_orders
@pytest.mark.parametrize("activation", [F.relu, F.gelu])
@pytest.mark.parametrize("masked", [False, True])
def test_the_block_is_torchs_encoder_layer(norm_first, activation, masked):
    theirs = randomised(nn.TransformerEncoderLayer(24, 4, 40, 0.1, activation, batch_first=True, norm_first=norm_first))
    ours, x = with_weights_of(theirs, norm_first=norm_first, activation=activation), normal(3, 2, N, 24)
    mask = causal_mask(N) if masked else None
    assert_near(ours(x, mask), theirs(x, src_mask=None if mask is None else ~mask))
    other_order = with_weights_of(theirs, norm_first=not norm_first, activation=activation)
    assert (other_order(x, mask) - ours(x, mask)).abs().max() > 0.1


@both_orders
def test_the_block_that_asks_a_memory_is_torchs_decoder_layer(norm_first):
    theirs = randomised(nn.TransformerDecoderLayer(24, 4, 40, 0.1, F.relu, batch_first=True, norm_first=norm_first))
    ours = with_weights_of(theirs, cross=True, norm_first=norm_first, activation=F.relu)
    x, memory, real = normal(3, 2, N, 24), normal(4, 2, 7, 24), torch.arange(7) < torch.tensor([[7], [5]])
    expected = theirs(x, memory, tgt_mask=~causal_mask(N), memory_key_padding_mask=~real)
    assert_near(ours(x, causal_mask(N), memory, real[:, None, None, :]), expected)


def test_a_stack_is_torchs_encoder():
    layer = nn.TransformerEncoderLayer(24, 4, 40, 0.0, F.gelu, batch_first=True, norm_first=True)
    theirs = randomised(nn.TransformerEncoder(layer, 3, nn.LayerNorm(24), enable_nested_tensor=False))
    model, ids = encoder(), some_ids(2, N)
    for i, block in enumerate(theirs.layers):
        model.stack.blocks[i] = with_weights_of(block)
    model.stack.norm.load_state_dict(theirs.norm.state_dict())
    real = torch.arange(N) < torch.tensor([[N], [6]])
    expected = theirs(model.embedding(ids), src_key_padding_mask=~real)
    assert_near(model(ids, real)[real], expected[real])


def test_pre_norm_block_is_the_block():
    model, x = encoder().stack.blocks[0], normal(3, 2, N, 24)
    seen = pre_norm_block(x, model.norm_1, lambda y: model.attention(y)[0], model.norm_2, model.feed_forward)
    assert_near(seen, model(x))


def test_dropout_is_on_in_training_only():
    model, ids = decoder(dropout=0.5), some_ids(2, N)
    assert torch.equal(model(ids), model(ids))
    model.train()
    assert (model(ids) - model(ids)).abs().max() > 0.1


def test_a_block_without_feed_forward_has_none():
    model = decoder(d_hidden=0)
    assert not [name for name, _ in model.named_parameters() if "feed_forward" in name or "norm_2" in name]
    assert model(some_ids(2, N)).shape == (2, N, 29)


# ── who depends on whom ───────────────────────────────────────────────────────────────────────────


def test_an_encoder_reads_both_ways_and_a_decoder_only_back():
    ids, t = some_ids(1, N), 5
    other = ids.clone()
    other[0, t] = (other[0, t] + 1) % 29
    for model, unmoved in [(encoder(), 0), (decoder(), t)]:
        moved = (model(ids) - model(other)).abs().amax(-1)[0]
        assert moved[:unmoved].sum() == 0
        assert moved[unmoved:].min() > 1e-4


def test_padding_moves_nothing():
    model, ids = encoder(), some_ids(1, N)
    padded = torch.cat([ids, some_ids(1, 3, seed=2)], dim=1)
    assert_near(model(padded, (torch.arange(N + 3) < N)[None])[:, :N], model(ids))


def test_an_encoder_decoder_writes_with_the_whole_source_in_sight():
    model = randomised(EncoderDecoder(SHAPE, dataclasses.replace(SHAPE, n_layers=2)))
    source, target = some_ids(2, 7), some_ids(2, N, seed=2)
    other_source, other_target = source.clone(), target.clone()
    other_source[:, -1], other_target[:, -1] = (source[:, -1] + 1) % 29, (target[:, -1] + 1) % 29
    logits = model(source, target)
    assert (model(other_source, target) - logits).abs().amax(-1).min() > 1e-4
    assert_near(model(source, other_target)[:, :-1], logits[:, :-1])
    real = torch.tensor([True] * 6 + [False]).expand(2, 7)
    assert_near(model(other_source, target, real), model(source, target, real))
    places = Places()
    model(source, target, visit=places)
    assert places["decoder.1.cross.weights"].shape == (2, 4, N, 7)
    assert places["encoder.2.attention.weights"].shape == (2, 4, 7, 7)


# ── with a cache ──────────────────────────────────────────────────────────────────────────────────


@both_orders
def test_with_a_cache_every_step_gives_what_running_everything_gives(norm_first):
    model, ids = decoder(norm_first=norm_first), some_ids(2, N)
    caches, expected = model.new_caches(), model(ids)
    pieces = [model(piece, caches) for piece in ids.split([4, 1, 3, 1, 2], dim=1)]
    assert_near(torch.cat(pieces, dim=1), expected)


@pytest.mark.parametrize(("temperature", "top_k"), [(0.0, None), (1.5, None), (2.0, 3)])
def test_generating_is_asking_for_the_next_token_again_and_again(temperature, top_k):
    model, prompt = decoder(), some_ids(5).tolist()
    seen = generate(model, prompt, 9, temperature=temperature, generator=torch.Generator().manual_seed(5), top_k=top_k)
    ids, generator = list(prompt), torch.Generator().manual_seed(5)
    for _ in range(9):
        logits = model(torch.tensor([ids]))[0, -1].detach()
        if temperature == 0:
            ids.append(int(logits.argmax()))
            continue
        logits = logits if top_k is None else keep_top_k(logits, top_k)
        ids.append(int(torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)))
    assert seen == ids[5:]


def test_top_1_is_greedy_at_every_temperature():
    model, prompt = decoder(), some_ids(5).tolist()
    assert generate(model, prompt, 9, temperature=50.0, top_k=1) == generate(model, prompt, 9)


def test_a_text_longer_than_the_table_of_positions_is_refused():
    with pytest.raises(ValueError, match="at most 20 positions; got 21"):
        decoder()(some_ids(1, 21))


# ── losses ────────────────────────────────────────────────────────────────────────────────────────


def test_next_token_loss_holds_each_guess_against_the_token_after_it():
    logits, ids = 3 * normal(0, 3, N, 29), some_ids(3, N)
    expected = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    assert_near(next_token_loss(logits, ids), expected)
    assert (F.cross_entropy(logits.flatten(0, 1), ids.flatten()) - expected).abs() > 0.05
    moved = logits.clone()
    moved[:, -1] += 100 * normal(1, 3, 29)
    assert_near(next_token_loss(moved, ids), expected)


def test_masked_token_loss_counts_hidden_positions_alone():
    logits, ids, hidden = 3 * normal(0, 3, N, 29), some_ids(3, N), normal(1, 3, N) > 0.5
    assert_near(masked_token_loss(logits, ids, hidden), F.cross_entropy(logits[hidden], ids[hidden]))


def test_a_decoder_learns_a_text_by_heart():
    torch.manual_seed(0)
    shape = TransformerShape(vocab_size=7, d_model=16, n_layers=1, n_heads=2, d_hidden=32, n_max=12)
    model, ids = Decoder(shape), torch.randint(7, (1, 12))
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    losses = []
    for _ in range(60):
        loss = next_token_loss(model(ids), ids)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert abs(losses[0] - math.log(7)) < 1
    assert losses[-1] < 0.05
    text = ids[0].tolist()
    assert generate(model, text[:2], 10) == text[2:]


# ── places and handles ────────────────────────────────────────────────────────────────────────────


def test_places_hand_out_what_was_computed():
    model, ids, places = decoder(), some_ids(2, N), Places()
    logits = model(ids, visit=places)
    assert torch.equal(logits, model(ids))
    assert torch.equal(places["logits"], logits)
    assert torch.equal(places["0.state"], places["embedded"] + places["positions"])
    for layer in range(3):
        at = f"{layer}.attention"
        assert_near(places[f"{at}.sum"], places[f"{layer}.state"] + places[f"{at}.out"])
        assert_near(places[f"{at}.heads"], places[f"{at}.weights"] @ places[f"{at}.v"])
        assert_near(places[f"{layer}.feed_forward.sum"], places[f"{layer + 1}.state"])
        expected = places[f"{at}.q"] @ places[f"{at}.k"].mT / math.sqrt(6)
        assert_near(places[f"{at}.scores"], expected)
    weights = places.layers("attention.weights")
    assert weights.shape == (2, 3, 4, N, N)
    assert torch.equal(weights[:, 2], places["2.attention.weights"])
    assert places.layers("state").shape == (2, 4, N, 24)
    assert places["1.feed_forward.hidden"].shape == (2, N, 40)


@both_orders
def test_a_place_can_be_changed_and_what_follows_follows(norm_first):
    model, ids = decoder(norm_first=norm_first), some_ids(1, N)
    clean, patched = Places(), Places({"1.state": lambda state: clean["1.state"]})
    expected = model(ids, visit=clean)
    assert torch.equal(model(some_ids(1, N, seed=2), visit=patched), expected)
    assert not torch.equal(patched["0.attention.out"], clean["0.attention.out"])


def turned(model, ids, **turns) -> Places:
    places = Places(handles(model.shape, **turns))
    model(ids, visit=places)
    return places


def test_the_handles_at_rest_change_nothing():
    model, ids = decoder(), some_ids(2, N)
    at_rest = turned(model, ids, heads=torch.ones(3, 4, dtype=torch.bool))
    assert_near(at_rest["logits"], model(ids))


def test_the_temperature_divides_scores_and_no_scale_is_a_temperature():
    model, ids = decoder(), some_ids(2, N)
    plain, hot, unscaled = turned(model, ids), turned(model, ids, temperature=3.0), turned(model, ids, scaled=False)
    assert_near(hot["0.attention.scores"], plain["0.attention.scores"] / 3)
    assert_near(unscaled["0.attention.scores"], plain["0.attention.q"] @ plain["0.attention.k"].mT * 1.0)
    assert_near(turned(model, ids, temperature=1 / math.sqrt(6))["logits"], unscaled["logits"])
    flat = turned(model, ids, temperature=1e9)["2.attention.weights"]
    assert_near(flat[0, 0, -1], torch.full((N,), 1 / N, dtype=torch.float64), atol=1e-6)


def test_each_layer_can_have_its_own_temperature():
    model, ids = decoder(), some_ids(2, N)
    plain, hot = turned(model, ids), turned(model, ids, temperature=(1.0, 3.0, 1.0))
    assert torch.equal(hot["0.attention.weights"], plain["0.attention.weights"])
    assert_near(hot["1.attention.scores"], plain["1.attention.scores"] / 3)
    last = hot["2.attention.q"] @ hot["2.attention.k"].mT / math.sqrt(6)
    assert_near(hot["2.attention.scores"], last)


def test_a_head_that_is_off_adds_nothing():
    model, ids = decoder(), some_ids(2, N)
    heads = torch.ones(3, 4, dtype=torch.bool)
    heads[1, 2] = False
    places = turned(model, ids, heads=heads)
    assert places["1.attention.heads"][:, 2].abs().max() == 0
    with torch.no_grad():
        model.stack.blocks[1].attention.w_o.weight[:, 12:18] = 0
    assert_near(places["logits"], model(ids))


def test_without_positions_an_encoder_sees_a_set():
    model, ids, order = encoder(), some_ids(1, N), torch.randperm(N, generator=torch.Generator().manual_seed(3))
    off, shuffled = turned(model, ids, positions=False), turned(model, ids[:, order], positions=False)
    assert_near(shuffled["normed"], off["normed"][:, order])
    assert (model(ids[:, order]) - model(ids)[:, order]).abs().max() > 0.1


@pytest.mark.parametrize(
    "turns",
    [
        {"temperature": 0.0},
        {"temperature": (1.0, 0.0, 1.0)},
        {"temperature": (1.0, 2.0)},
        {"heads": torch.ones(4, 3, dtype=torch.bool)},
    ],
)
def test_handles_that_fit_no_model_are_refused(turns):
    with pytest.raises(ValueError, match="expected"):
        handles(SHAPE, **turns)


# ── cost ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("d_hidden", [40, 96])
def test_the_parameters_counted_are_those_of_the_model(tied, d_hidden):
    model = Decoder(dataclasses.replace(SHAPE, tied=tied, d_hidden=d_hidden))
    n_positions = model.embedding.positions.table.numel()
    expected = sum(p.numel() for p in model.parameters()) - n_positions
    assert transformer_parameters(29, 24, 3, d_hidden, tied=tied) == expected


def test_gpt_2_small_has_124_million_parameters():
    assert transformer_parameters(50257, 768, 12, 3072) + 1024 * 768 == 124_439_808
