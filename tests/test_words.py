"""Messages have whole sentences with a translation, and a language changes nothing but what is shown."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import qkv
from qkv.checking import examine
from qkv.grading.results import error_of_cell
from qkv.questions import chapters, find, questions_of
from qkv.questions.engine.question import Question
from qkv.words import DICTIONARIES, ENGLISH, joined, known, sentences, speak, t, translated
from tests.questions.test_twins import drawn_once, verdict_in
from tools.translations import messages

PACKAGE = Path(qkv.__file__).parent
PLACEHOLDER = re.compile(r"\{(\w+)\}")
# What stays in Latin letters on a Chinese card: names in code, types, examples, and what torch says.
NAMES = re.compile(
    r"`[^`]*`|「[^」]*」|\b(\w+Error|float32|weights|out|softmax|torch|it|cat|n_[qk]|d_[kv]|[qkvQKVABdx])\b|√"
)


@cache
def texts() -> set[str]:
    """Return all texts of the package's Python."""
    return {unit.text for units in messages.rooms().values() for unit in units}


@pytest.fixture
def chinese() -> Iterator[None]:
    speak("zh_TW")
    yield
    speak(ENGLISH)


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls of a function of `qkv.words` in the package, each with the file."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "qkv.words import" in text:
            tree = ast.parse(text)
            found = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == name)
            yield from ((path.name, call) for call in found)


@pytest.mark.parametrize("name", ["t", "mark"])
def test_every_text_stands_in_its_call(name: str) -> None:
    found = list(calls(name))
    assert len(found) > 20
    for file, call in found:
        text = call.args[0]
        assert isinstance(text, ast.Constant), f"{file}, line {call.lineno}: {ast.unparse(call)}"
        assert isinstance(text.value, str)
        given = {keyword.arg for keyword in call.keywords}
        if name == "t" and None not in given:  # None: `**values`
            assert set(PLACEHOLDER.findall(text.value)) == given, f"{file}, line {call.lineno}: {ast.unparse(call)}"


@pytest.mark.parametrize("path", sorted(DICTIONARIES.glob("*.json")), ids=lambda path: path.stem)
def test_a_translation_has_no_placeholder_that_the_text_does_not_have(path: Path) -> None:
    words = json.loads(path.read_text(encoding="utf-8"))
    assert words
    for text, said in words.items():
        assert set(PLACEHOLDER.findall(said)) <= set(PLACEHOLDER.findall(text)), said


def test_the_name_of_every_case_can_be_translated() -> None:
    for chapter in chapters():
        for question in questions_of(chapter).values():
            for name in {case.name for case in drawn_once(question)} - {""}:
                if question.id not in ("5.8", "8.5"):  # there, the names are what an answer returns
                    assert name in texts() or messages.SYMBOLS.fullmatch(name), f"{question.id}: {name}"


def test_an_unknown_language_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="does not speak 'tlh'; it speaks en, zh_CN, zh_TW"):
        qkv.speak("tlh")
    assert t("not yet") == "not yet"


def test_a_text_without_a_translation_stays_english(chinese: None) -> None:
    assert t("nobody has translated {n} of these", n=3) == "nobody has translated 3 of these"


def test_lists_and_sentences_are_joined_as_a_language_joins_them(chinese: None) -> None:
    assert joined(["a", "b", "c"]) == "a、b 與 c"
    assert joined(["a"]) == "a"
    assert sentences("甲。", "", "乙。") == "甲。乙。"
    speak(ENGLISH)
    assert joined(["a", "b", "c"]) == "a, b and c"
    assert sentences("One.", "", "Two.") == "One. Two."


def test_what_arrives_in_english_from_the_sandbox_is_retold(chinese: None) -> None:
    assert error_of_cell("ValueError: no in line 2, `1 / 0`") == "ValueError: no，在第 2 行 `1 / 0`"
    assert error_of_cell("KeyboardInterrupt") == "KeyboardInterrupt"
    speak(ENGLISH)
    for said in ("ValueError: no in line 2, `1 / 0`", "OSError: x in line 3. The rest of the cell ran"):
        assert error_of_cell(said) == said


def not_chinese(text: str) -> list[str]:
    """Return the English words of a text, beside the names of code and examples."""
    return re.findall(r"[A-Za-z]{2,}", NAMES.sub(" ", text))


@pytest.mark.parametrize("answer", [None, lambda q, k, v: q, lambda q, k, v: (q, q.shape[0])])
def test_a_card_in_chinese_has_no_english_word(chinese: None, answer: object) -> None:
    card = examine("3.3", answer, in_model=False).card
    assert re.search("[一-鿿]", card.text())
    assert not_chinese(card.text()) == []
    assert not_chinese(re.sub(r"<style>.*?</style>|<[^>]*>", " ", card.html(), flags=re.DOTALL)) == []


def test_the_language_changes_no_verdict() -> None:
    question = find("3.3")
    cases, ideas = drawn_once(question), question.misconceptions[::5]
    english = [verdict_in(question, question.twin(idea), cases) for idea in ideas]
    speak("zh_TW")
    try:
        said = [verdict_in(question, question.twin(idea), cases) for idea in ideas]
    finally:
        speak(ENGLISH)
    assert [(one.status, one.misconception) for one in said] == [(one.status, one.misconception) for one in english]
    for one, other in zip(said, english, strict=True):
        assert one.message != other.message
        assert not_chinese(one.message) == []


def test_a_new_process_speaks_the_language_of_its_environment() -> None:
    command = [sys.executable, "-c", "from qkv.words import t; print(ascii(t('not yet')))"]
    done = subprocess.run(command, env={**os.environ, "QKV_LANGUAGE": "zh_TW"}, capture_output=True, text=True)
    assert done.stdout.strip() == ascii("還沒答對")
    assert known() == ["en", "zh_CN", "zh_TW"]


def test_in_english_every_text_is_said_as_it_stands() -> None:
    """Also after another language: nothing of it stays, neither in Python's texts nor in those of cards."""
    try:
        speak("zh_TW")
        assert sum(t(text) != text for text in texts()) > 0.99 * len(texts())
    finally:
        speak(ENGLISH)
    assert {text for text in texts() if t(text) != text} == set()


@pytest.mark.parametrize("id_", ["1.4", "3.3", "8.5", "12.1"])
def test_an_english_card_is_what_plain_formatting_gives(id_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    question = find(id_)
    drawn, twin = drawn_once(question), question.twin(question.misconceptions[0])
    monkeypatch.setattr(Question, "fresh_cases", lambda self: drawn)

    def shown() -> str:
        card = examine(id_, twin, in_model=False).card
        return card.text() + card.html()

    before = shown()
    for module in [module for name, module in sys.modules.items() if name.startswith("qkv")]:
        for old, new in ((t, plain), (translated, lambda text: text)):
            if getattr(module, old.__name__, None) is old:
                monkeypatch.setattr(module, old.__name__, new)
    assert shown() == before
    monkeypatch.setattr("qkv.checking.card.t", lambda text, /, **values: plain(text, **values).upper())
    assert shown() != before, "cards do not ask `t`"


def plain(text: str, /, **values: object) -> str:
    return text.format_map(values) if values else text
