"""The tagger and its grammar in JavaScript, against qkv.models with the same weights in float64."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from qkv.models import load_tagger
from qkv.models.grammar import PARTS, Sentence, agree, all_nouns, draw, part_of, read
from qkv.models.tagger import accuracy
from qkv.models.vocabulary import grammar_vocabulary

from .node import JS, ROOT, node

HUNGRY = "the cat chased the mouse because it was hungry".split()  # noqa: SIM905
JS_NAMES = {"feed_forward": "feedForward"}
HOSTILE: list[dict[str, Any]] = [
    {"temperature": 0.01},
    {"temperature": 1e-4},
    {"temperature": 1e6},
    {"scaled": False, "temperature": 0.05},
    {"positions": False},
    {"heads": [[True, False], [False, True]]},
    {"heads": [[False, False], [False, False]]},
    {"layers": [False, True]},
    {"layers": [False, False], "residual": False},
    {"residual": False},
    {"norm": False, "temperature": 3.0},
    {"feed_forward": False},
    {"residual": False, "norm": False, "feed_forward": False, "positions": False, "scaled": False},
]


def drawn(n: int, seed: int = 0) -> list[Sentence]:
    random = Random(seed)
    return [draw(random) for _ in range(n)]


def places_agree(model: str, words: list[str], settings: dict[str, Any]) -> None:
    """Compare every place of one run, to 1e-8 of the largest number that stands there."""
    expected = load_tagger(model).double().tag(words, **settings).places
    handles = {JS_NAMES.get(name, name): value for name, value in settings.items()}
    call = "({ model, words, handles }) => taggers.runTagger(tagger(model), words, handles)"
    actual = node(call, {"model": model, "words": words, "handles": handles})
    assert set(actual) == set(expected)
    for place, table in expected.items():
        seen = torch.tensor(actual[place], dtype=torch.float64).reshape(table.shape)
        scale = max(1.0, table.abs().max().item())
        assert (seen - table).abs().max().item() <= 1e-8 * scale, place


# ── the mathematics ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("sentence", drawn(25), ids=str)
def test_every_place_is_what_torch_computes(sentence):
    places_agree("tagger", list(sentence.words), {})


@pytest.mark.parametrize("settings", HOSTILE, ids=str)
def test_with_every_handle_turned_far(settings):
    for words in (HUNGRY, ["saw"], list(drawn(1, seed=8)[0].words)):
        places_agree("tagger", words, settings)


@pytest.mark.parametrize("model", ["tagger-one-layer", "tagger-without-positions"])
def test_other_weights_run_too(model):
    places_agree(model, HUNGRY, {})


@pytest.mark.slow
def test_every_place_on_many_sentences_and_settings():
    random = Random(3)
    for sentence in drawn(400, seed=3):
        places_agree("tagger", list(sentence.words), random.choice([{}, *HOSTILE]))


@pytest.mark.parametrize("bits", [0, 1, 0x03FF, 0x0400, 0x3C00, 0x7BFF, 0x8000, 0x8001, 0xC000, 0xFBFF, 0x7C00, 0xFC00])
def test_numbers_of_16_bits(bits):
    expected = torch.tensor([bits], dtype=torch.int32).to(torch.int16).view(torch.float16).double().item()
    assert node("files.float16", bits) == expected


def test_what_it_says_is_what_python_says():
    tagger = load_tagger()
    for sentence in drawn(20, seed=4):
        said = node(
            "(words) => { const t = taggers.tag(tagger('tagger'), words); return [t.classes, [...t.refersTo]]; }",
            list(sentence.words),
        )
        tagged = tagger.tag(list(sentence.words))
        assert said == [tagged.classes, [list(pair) for pair in tagged.refers_to.items()]]


@pytest.mark.parametrize("handles", [{}, {"temperature": 8.0}, {"heads": [[True, True], [False, True]]}])
def test_the_score_is_the_accuracy(handles):
    body = """({ handles }) => {
      const model = tagger("tagger");
      const sentences = grammar.draw("new", 100, 1);
      const total = [0, 0, 0, 0];
      for (const s of sentences) taggers.score(model, s, handles).forEach((count, i) => { total[i] += count; });
      return { total, words: sentences.map((s) => s.words) };
    }"""
    seen = node(body, {"handles": handles})
    sentences = [read(words) for words in seen["words"]]
    expected = accuracy(load_tagger(), [sentence for sentence in sentences if sentence], **handles)
    right_words, words, right_it, it = seen["total"]
    assert right_words / words == pytest.approx(expected.classes)
    assert right_it / it == pytest.approx(expected.it)
    assert it > 30


def test_chances_sum_to_1():
    logits = [1.0, 2.0, 3.0, 1000.0, 0.0, -1000.0]
    assert node("(x) => taggers.chances(Float64Array.from(x), 1, 3)", logits) == [1.0, 0.0, 0.0]
    first = node("(x) => taggers.chances(Float64Array.from(x), 0, 3)", logits)
    assert first == pytest.approx(torch.tensor([1.0, 2.0, 3.0]).softmax(0).tolist(), abs=1e-6)


@pytest.mark.parametrize("temperature", [0, -1, math.nan])
def test_a_temperature_is_above_0(temperature):
    with pytest.raises(AssertionError, match="temperature is above 0"):
        node("({ t }) => taggers.runTagger(tagger('tagger'), ['saw'], { temperature: t })", {"t": temperature})


# ── the grammar ───────────────────────────────────────────────────────────────────────────────────


def test_words_and_nouns_have_the_ids_that_they_have_in_python():
    words, nouns = node("() => [grammar.words, grammar.nouns]")
    assert words == grammar_vocabulary().words[1:]
    assert nouns == all_nouns()


@pytest.mark.parametrize("part", PARTS)
def test_what_is_drawn_is_true_and_of_that_part(part):
    body = "(part) => grammar.draw(part, 150, 5).map((s) => ({ ...s, refersTo: [...s.refersTo] }))"
    for seen in node(body, part):
        sentence = read(seen["words"])
        assert sentence is not None
        assert list(sentence.classes) == seen["classes"]
        assert [list(pair) for pair in sentence.refers_to.items()] == seen["refersTo"]
        assert part_of(sentence) == part
        assert agree(sentence.language, sentence.words) == seen["words"]


def test_it_reads_and_cuts_what_python_reads_and_cuts():
    sentences = drawn(150, seed=6)
    cut = "texts.map((text) => grammar.split(text).words)"
    body = f"(texts) => {cut}.map((words) => [words, grammar.read(words).classes])"
    for sentence, (words, classes) in zip(sentences, node(body, [str(s) for s in sentences]), strict=True):
        assert words == list(sentence.words)
        assert classes == list(sentence.classes)


@pytest.mark.parametrize(
    ("text", "unknown"), [("the dragon saw", "dragon"), ("貓追龍因為它", "龍"), ("Foo bar", "Foo")]
)
def test_an_unknown_word_is_named(text, unknown):
    assert node("(text) => grammar.split(text)", text) == {"unknown": unknown}


def test_words_of_the_same_kind_are_offered():
    offered = node("(words) => words.map((_, i) => grammar.alternatives(words, i))", HUNGRY)
    assert offered[0] == ["the", "a", "my"]
    assert offered[1] == offered[4]
    assert "owl" in offered[1]
    assert offered[8] == ["hungry", "fast", "angry", "scared", "slow", "tasty"]
    changed = node("(words) => grammar.replace(words, 1, 'owl')", ["a", *HUNGRY[1:]])
    assert changed[:2] == ["an", "owl"]


def test_the_words_that_may_come_next_complete_a_sentence():
    assert node("(words) => grammar.next(words)", ["the", "cat", "chased", "the", "mouse"]) == ["because"]
    assert set(node("(words) => grammar.next(words)", ["I"])) == {"saw", "found", "bought", "used"}
    assert {"the", "I", "貓", "我"} <= set(node("(words) => grammar.next(words)", []))
    assert node("(words) => grammar.next(words)", HUNGRY) == []


# ── on the page ───────────────────────────────────────────────────────────────────────────────────


def test_bundled_weights_and_grammar_are_small_and_whole(tmp_path: Path):
    """The committed file goes into the page's script as it is; what comes out is the same bytes."""
    entry = f"""
      import bytes from "{JS.parents[1]}/models/weights/tagger.safetensors";
      import data from "{JS.parents[1]}/models/grammar.json";
      import {{ makeTagger, tag }} from "{JS}/tagger.js";
      import {{ Grammar }} from "{JS}/grammar.js";
      console.log(JSON.stringify([...tag(makeTagger(bytes, new Grammar(data)), {json.dumps(HUNGRY)}).refersTo]));
    """
    build = f"""
      import {{ build }} from "{ROOT}/node_modules/esbuild/lib/main.js";
      await build({{
        stdin: {{ contents: {json.dumps(entry)}, resolveDir: "{ROOT}" }},
        bundle: true, format: "esm", minify: true, target: "es2022", outfile: "{tmp_path}/page.mjs",
        loader: {{ ".safetensors": "binary" }},
      }});
    """
    subprocess.run(["node", "--input-type=module", "--eval", build], check=True)
    assert (tmp_path / "page.mjs").stat().st_size < 100_000
    said = subprocess.run(["node", tmp_path / "page.mjs"], check=True, capture_output=True, text=True).stdout
    assert json.loads(said) == [[6, "cat"]]
