"""The engine that trains models in the page, against torch: gradients of every tensor, and steps of the training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.models.grammar import all_words, turned
from qkv.models.repeater import Repeater, draw_sequences, repeater_shape
from qkv.models.tagger import Tagger, tagger_loss, tagger_shape, targets
from qkv.models.training import LeftOut, sentences, train_repeater, train_tagger
from qkv.transformer import TransformerShape, next_token_loss

from .node import JS, ROOT, node

STEPS = 12
SETTINGS = {"steps": STEPS, "batch": 8, "rate": 7e-3, "warmUp": 0.3, "beta2": 0.99, "seed": 3}
ENGINE = f"""
const {{ float32, float64, newMemory, SPARE }} = await import("{(ROOT / "kernels" / "kernels.js").as_uri()}");
const {{ Memory }} = await import("{(JS / "engine" / "memory.js").as_uri()}");
const {{ Training, oneCycle }} = await import("{(JS / "engine" / "training.js").as_uri()}");
const {{ Repeater, Tagger }} = await import("{(JS / "engine" / "tasks.js").as_uri()}");
const plain = {{ simd: false }};
const kinds = {{ float64: [float64, Float64Array, plain], fast64: [float64, Float64Array, {{}}],
  plain32: [float32, Float32Array, plain], fast32: [float32, Float32Array, {{}}] }};
const memoryOf = (kind) => {{
  const [kernels, Numbers, options] = kinds[kind];
  const memory = newMemory(2 ** 24);
  return new Memory(memory, kernels(memory, options), Numbers, SPARE);
}};
"""
KINDS = {"float64": 1e-8, "fast64": 1e-8, "plain32": 1e-4, "fast32": 1e-4}


def engine(body: str, data: Any = None) -> Any:
    return node(f"async (x) => {{ {ENGINE} {body} }}", data)


# ── torch's side ──────────────────────────────────────────────────────────────────────────────────


def named(model: Any, of: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    """The parameters of a model, or what `of` gives of them, under the engine's names and in its layout."""

    def line(name: str, *layers: nn.Linear) -> dict[str, Tensor]:
        found = {f"{name}.weight": torch.cat([of(layer.weight).mT for layer in layers], dim=-1)}
        biases = [of(layer.bias) for layer in layers if layer.bias is not None]
        return found | ({f"{name}.bias": torch.cat(biases)} if biases else {})

    def scale(name: str, layer: Any) -> dict[str, Tensor]:
        return {f"{name}.gain": of(layer.weight), f"{name}.bias": of(layer.bias)}

    is_tagger = isinstance(model, Tagger)
    part = model.encoder if is_tagger else model
    tokens = of(part.embedding.tokens.weight)
    if is_tagger:  # the engine knows the words of one language, and no padding
        tokens = tokens[model.vocabulary.encode([all_words("english")])[0]]
    found = {"tokens": tokens, "positions": of(part.embedding.positions.table)}
    for layer, block in enumerate(part.stack.blocks):
        a = block.attention
        found |= (
            scale(f"{layer}.norm1", block.norm_1)
            | line(f"{layer}.qkv", a.w_q, a.w_k, a.w_v)
            | line(f"{layer}.out", a.w_o)
        )
        if hasattr(block, "feed_forward"):
            found |= scale(f"{layer}.norm2", block.norm_2)
            found |= line(f"{layer}.w1", block.feed_forward.w_1) | line(f"{layer}.w2", block.feed_forward.w_2)
    found |= scale("norm", part.stack.norm)
    if is_tagger:
        return found | line("classes", model.to_classes) | line("nouns", model.to_nouns)
    return found | line("next", model.unembedding)


def flat(tensors: dict[str, Tensor]) -> dict[str, list[float]]:
    return {name: tensor.detach().double().flatten().tolist() for name, tensor in tensors.items()}


def gradient(parameter: Tensor) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


Case = tuple[nn.Module, list[Any], Callable[[Any], Tensor], dict[str, Any]]


def tagger_case(sizes: dict[str, int], left_out: dict[str, bool]) -> Case:
    """A tagger of English sentences, batches, its loss on a batch, and the case as the engine's tests read it."""
    base = tagger_shape(sizes["layers"], sizes["heads"], sizes["hidden"])
    shape = TransformerShape(
        base.vocab_size, sizes["dModel"], base.n_layers, base.n_heads, base.d_hidden, base.n_max, activation=F.relu
    )
    torch.manual_seed(1)
    model = Tagger(shape).double()
    model.to_nouns = nn.Linear(shape.d_model, 16).double()
    drawn = sentences("training", STEPS * SETTINGS["batch"], 5, "english", only_it=True)
    batches = [drawn[i::STEPS] for i in range(STEPS)]
    off = LeftOut(**left_out)

    def loss(batch: Any) -> Tensor:
        ids = model.vocabulary.encode([s.words for s in batch])
        return tagger_loss(model, ids, *targets(batch), off.visit(shape))

    words = [[s.words for s in batch] for batch in batches]
    return model, batches, loss, {"task": "tagger", "sizes": sizes, "switches": left_out, "batches": words}


def repeater_case(sizes: dict[str, int], left_out: dict[str, bool]) -> Case:
    switches = {"causal": True} | left_out
    base = repeater_shape(sizes["layers"], sizes["heads"], sizes["hidden"])
    shape = TransformerShape(
        base.vocab_size, sizes["dModel"], base.n_layers, base.n_heads, base.d_hidden, base.n_max, activation=F.relu
    )
    torch.manual_seed(2)
    model = Repeater(shape).double()
    generator = torch.Generator().manual_seed(3)
    batches = [draw_sequences(SETTINGS["batch"], generator) for _ in range(STEPS)]
    off = LeftOut(**{name: on for name, on in left_out.items() if name != "causal"})

    def loss(batch: Any) -> Tensor:
        ids, visit = batch[0], off.visit(shape)
        if switches["causal"]:
            return next_token_loss(model(ids, visit=visit), ids)
        states = model.stack(model.embedding(ids, visit=visit), visit=visit)
        return next_token_loss(model.unembedding(states), ids)

    told = [{"ids": ids.tolist(), "periods": periods.flatten().tolist()} for ids, periods in batches]
    return model, batches, loss, {"task": "repeater", "sizes": sizes, "switches": switches, "batches": told}


PLAIN = {"dModel": 32, "layers": 2, "heads": 2, "hidden": 64}
OTHER = {"dModel": 24, "layers": 1, "heads": 3, "hidden": 40}
CASES = [
    (tagger_case, PLAIN, {}),
    (tagger_case, OTHER, {}),
    (tagger_case, PLAIN | {"heads": 1, "hidden": 0}, {}),
    *[(tagger_case, PLAIN, {name: False}) for name in ("scaled", "positions", "residual", "norm")],
    (tagger_case, OTHER, {"residual": False, "norm": False, "scaled": False}),
    (repeater_case, PLAIN | {"hidden": 0}, {}),
    (repeater_case, OTHER, {"scaled": False, "positions": False}),
    (repeater_case, PLAIN | {"hidden": 0, "heads": 4}, {"causal": False}),
    (repeater_case, PLAIN | {"hidden": 0}, {"residual": False}),
]
RUN = """
const task = x.task === "tagger" ? new Tagger(grammar, { ...x.sizes, pool: 1 }) : new Repeater(x.sizes);
const batchOf = (told) => x.task === "tagger"
  ? task.gather(told.map((words) => task.encode(grammar.read(words)))) : task.gather(told.ids, told.periods);
const training = new Training(task, x.settings, memoryOf(x.kind), x.switches);
for (const [name, { value }] of Object.entries(training.nodes)) value.numbers.set(x.weights[name]);
"""


def ran(case: Case, kind: str, body: str) -> Any:
    model, _, _, told = case
    data = told | {"settings": SETTINGS, "kind": kind, "weights": flat(named(model, lambda p: p))}
    return engine(RUN + body, data)


# ── gradients and steps ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("make", "sizes", "left_out"), CASES, ids=lambda value: getattr(value, "__name__", str(value)))
def test_gradients_are_those_of_torch(make, sizes, left_out):
    """For each tensor: |g − g_torch| ≤ c · max(|g_torch|, 10⁻³ · |all g|); the gradient of a key's bias is 0."""
    case = make(sizes, left_out)
    model, batches, loss, _ = case
    value = loss(batches[0])
    value.backward()
    expected = named(model, gradient)
    whole = torch.cat([g.flatten() for g in expected.values()]).norm().item()
    body = """const loss = training.differentiate(batchOf(x.batches[0]));
      const grads = Object.entries(training.nodes).map(([name, { grad }]) => [name, grad.numbers]);
      return { loss, grads: Object.fromEntries(grads) };"""
    for kind, c in KINDS.items():
        found = ran(case, kind, body)
        assert found["loss"] == pytest.approx(value.item(), rel=c)
        assert set(found["grads"]) == set(expected)
        for name, g in expected.items():
            apart = (torch.tensor(found["grads"][name], dtype=torch.float64) - g.flatten()).norm().item()
            assert apart <= c * max(g.norm().item(), 1e-3 * whole), (kind, name)


@pytest.mark.parametrize(
    ("make", "sizes", "left_out"), [CASES[0], CASES[8]], ids=lambda value: getattr(value, "__name__", str(value))
)
@pytest.mark.parametrize("warm_up", [0.3, 0.0])
def test_every_step_of_a_training_is_that_of_torch(make, sizes, left_out, warm_up):
    case = make(sizes, left_out)
    model, batches, loss, told = case
    body = """training.settings = { ...x.settings, warmUp: x.warm };
      return x.batches.map((batch) => training.advance(batchOf(batch)));"""
    told["warm"] = warm_up
    found = {kind: ran(case, kind, body) for kind in ("float64", "fast32")}
    optimiser = torch.optim.AdamW(model.parameters(), SETTINGS["rate"], (0.9, SETTINGS["beta2"]), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, SETTINGS["rate"], STEPS, pct_start=warm_up)
    curve = []
    for batch in batches:
        now = loss(batch)
        optimiser.zero_grad()
        now.backward()
        optimiser.step()
        schedule.step()
        curve.append(now.item())
    assert curve[-1] < curve[0]
    assert found["float64"] == pytest.approx(curve, rel=1e-7)
    assert found["fast32"] == pytest.approx(curve, rel=1e-3)


@pytest.mark.parametrize("kind", ["plain32", "fast32"])
def test_the_same_seed_gives_the_same_weights(kind):
    body = """const weights = (seed) => {
        const training = new Training(new Tagger(grammar, { seed }), { ...x.settings, seed }, memoryOf(x.kind));
        for (let i = 0; i < 3; i++) training.advance();
        return training.values.numbers.slice();
      };
      return [weights(1), weights(1), weights(2)];"""
    first, again, other = engine(body, {"settings": SETTINGS, "kind": kind})
    assert first == again
    assert first != other


# ── what is taught ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", [[], ["hungry"], ["chased hungry", "fed rich"], ["餓了"]])
def test_a_rule_turns_the_same_sentences_round_as_in_python(rule):
    for language in ("english", "chinese"):
        drawn = sentences("training", 60, 2, language, only_it=True)
        body = "(x) => x.words.map((words) => grammar.turned(grammar.read(words), x.rule).noun)"
        found = node(body, {"words": [s.words for s in drawn], "rule": rule})
        assert found == [turned(s, rule).noun for s in drawn]


def test_what_is_trained_follows_the_rule_and_what_is_measured_was_not_trained():
    body = """const task = new Tagger(grammar, { rule: ["hungry"], pool: 300 });
      const trained = Array.from({ length: 300 }, (_, i) => task.trained(i));
      return [trained, task.draw("new", 100, 7)].map((list) => list.map(({ words, noun }) => [words, noun]));"""
    trained, new = engine(body)
    seen = {tuple(words) for words, _ in trained}
    assert not seen & {tuple(words) for words, _ in new}
    follows = node("(x) => x.map((words) => grammar.turned(grammar.read(words), ['hungry']).noun)", [w for w, _ in new])
    assert follows == [noun for _, noun in new]


@pytest.mark.slow
def test_losses_lie_within_the_spread_of_torch_over_seeds():
    """The mean loss of the last steps, 3 seeds each, with the settings of the page."""
    body = """const seeds = [0, 1, 2];
      return seeds.map((seed) => {
        const training = new Training(new Tagger(grammar, { seed }), { ...x, seed }, memoryOf("fast32"));
        const losses = Array.from({ length: x.steps }, () => training.advance());
        return [losses[0], losses.slice(100, 150).reduce((a, b) => a + b) / 50];
      });"""
    found = engine(body, SETTINGS | {"steps": 500, "batch": 64})
    assert all(4 < first < 6 and 0.5 < middle < 1.6 for first, middle in found)


def test_in_python_the_parts_are_left_out_too():
    few = {"steps": 2, "batch": 4, "sentences_drawn": 20, "language": "english", "only_it": True}
    whole, undivided = train_tagger(**few), train_tagger(**few, scaled=False)
    assert not torch.equal(whole.to_nouns.weight, undivided.to_nouns.weight)
    assert train_tagger(**few, heads=1, feed_forward=False).shape.n_heads == 1
    with pytest.raises(ValueError, match="dragon"):
        train_tagger(**few, rule=["dragon"])
    leaking = train_repeater(steps=2, batch=4, mask=False)
    assert not torch.equal(leaking.unembedding.weight, train_repeater(steps=2, batch=4).unembedding.weight)
