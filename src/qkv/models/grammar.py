"""The sentences that the tagger and the writer are trained on: a small grammar, in English and in Chinese.

The grammar is data, grammar.json, because the web page reads it too. A template is a list of
slots. A slot has a word class and the words that may stand in it. For each verb of an action
(an "act"), some adjectives describe the noun that acts, the "actor", and other adjectives
describe the "other" noun. So verb and adjective together decide which noun *it* stands for:

    the cat chased the mouse because it was hungry      it = cat
    the cat chased the mouse because it was tasty       it = mouse

Every sentence belongs to one of three parts. Models are trained on the first part only.

    "training"      the sentences that models are trained on
    "new"           each pair of its words occurs in training, but the sentence does not
    "combination"   the pair of nouns, or noun with verb and adjective, is in no training sentence with *it*
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

Slot = dict[str, Any]
Words = Sequence[str]

GRAMMAR: dict[str, Any] = json.loads(files("qkv.models").joinpath("grammar.json").read_text(encoding="utf-8"))
CLASSES: list[str] = GRAMMAR["classes"]
LANGUAGES = ("english", "chinese")
PARTS = ("training", "new", "combination")
OFTEN = 0.4  # the probability that a slot takes the word under its key "often"
ONE_IN = 8  # one in eight of all combinations, and of all sentences, is kept out of training


@dataclass(frozen=True)
class Sentence:
    """A sentence with its word classes and the noun that *it* stands for.

    `it` is the position of the pronoun *it*, and `noun` the position of the noun that it
    stands for. Both are None if there is no *it*.
    """

    language: str
    words: tuple[str, ...]
    classes: tuple[str, ...]
    it: int | None = None
    noun: int | None = None

    def __str__(self) -> str:
        return GRAMMAR[self.language]["joined"].join(self.words)

    @property
    def refers_to(self) -> dict[int, str]:
        """The noun that *it* stands for, as {position of *it*: noun}; empty if there is none."""
        return {} if self.it is None or self.noun is None else {self.it: self.words[self.noun]}


# ── which words may stand where ───────────────────────────────────────────────────────────────────


def slot_words(language: str, slot: Slot) -> list[str]:
    """Return all words that may stand in a slot of this language, in their plain forms (a, not an)."""
    rules = GRAMMAR[language]
    if "words" in slot:
        return list(slot["words"])
    if slot["class"] == "noun":
        return list(rules["nouns"])
    if slot["role"] == "act":
        return list(rules["acts"])
    sides = [side for act in rules["acts"].values() for side in act.values()]
    return list(dict.fromkeys(adjective for side in sides for adjective in side))


def forms(language: str, word: str) -> list[str]:
    """Return a word and the forms that it takes before certain words: a, an."""
    return [word, *GRAMMAR[language]["agreement"].get(word, {})]


def all_words(language: str) -> list[str]:
    """Return all words of a language, sorted."""
    slots = [slot for template in GRAMMAR[language]["templates"] for slot in template["slots"]]
    return sorted({form for slot in slots for word in slot_words(language, slot) for form in forms(language, word)})


def all_nouns() -> list[str]:
    """Return the nouns of all languages: those that *it* can stand for."""
    return [noun for language in LANGUAGES for noun in GRAMMAR[language]["nouns"]]


def agree(language: str, words: Words) -> list[str]:
    """Return the words in the forms that the next noun, or a word before that noun, requires: a owl → an owl."""
    rules = GRAMMAR[language]["agreement"]
    plain_form = {form: plain for plain, others in rules.items() for form in others}
    plain = [plain_form.get(word, word) for word in words]
    return [_agreed(rules.get(word, {}), word, plain[i + 1 :], language) for i, word in enumerate(plain)]


def _agreed(rule: dict[str, list[str]], word: str, following: Words, language: str) -> str:
    """Return the form of a word that the following words, up to the next noun, ask for; the word itself if none does.

    `rule` has, for each form, the words that ask for it.
    """
    for later in following if rule else ():
        for form, asked_by in rule.items():
            if later in asked_by:
                return form
        if later in GRAMMAR[language]["nouns"]:
            break
    return word


# ── drawing sentences ─────────────────────────────────────────────────────────────────────────────


def draw(random: Random, language: str | None = None) -> Sentence:
    """Draw a sentence of the grammar, in any language if none is given."""
    language = language or random.choice(LANGUAGES)
    templates = GRAMMAR[language]["templates"]
    (template,) = random.choices(templates, [template["share"] for template in templates])
    roles = _draw_roles(random, language)
    slots = [slot for slot in template["slots"] if random.random() < slot.get("share", 1)]
    words = agree(language, [_draw_word(random, language, slot, roles) for slot in slots])
    return _sentence(language, slots, words)


def draw_from(
    part: str, random: Random, language: str | None = None, only_it: bool = False, rule: Collection[str] = ()
) -> Sentence:
    """Draw sentences until one is of this part: "training", "new" or "combination". Return it.

    With `only_it`, it is a sentence with *it*. With a rule, *it* stands for the noun that this rule says (`turned`).

    Raises:
        ValueError: there is no such part, or the rule is not valid.
    """
    if part not in PARTS:
        raise ValueError(f"expected one of {', '.join(PARTS)}; got {part!r}")
    while True:
        sentence = turned(draw(random, language), rule)
        if part_of(sentence) == part and (sentence.it is not None or not only_it):
            return sentence


def _draw_roles(random: Random, language: str) -> dict[str, str]:
    """Draw the verb of an action, who acts, the other noun, and the reason: an adjective that fits one of the two."""
    acts = GRAMMAR[language]["acts"]
    act = random.choice(list(acts))
    actor, other = random.sample(GRAMMAR[language]["nouns"], 2)
    side = random.choice(["actor", "other"])
    return {"act": act, "actor": actor, "other": other, "reason": random.choice(acts[act][side])}


def _draw_word(random: Random, language: str, slot: Slot, roles: dict[str, str]) -> str:
    """Return the word of a slot: that of its role, or one of its words, drawn at random, some more often."""
    if slot.get("role") in roles:
        return roles[slot["role"]]
    if "often" in slot and random.random() < OFTEN:
        return str(slot["often"])
    return random.choice(slot_words(language, slot))


# ── reading sentences ─────────────────────────────────────────────────────────────────────────────


def read(words: Words) -> Sentence | None:
    """Return the Sentence with these words, or None if no template of the grammar fits them.

    If the adjective does not go with the verb, the sentence has an `it` but no `noun`.
    """
    for language in LANGUAGES:
        for template in GRAMMAR[language]["templates"]:
            slots = _fit(language, template["slots"], words)
            if slots is not None:
                return _sentence(language, slots, words)
    return None


def _fit(language: str, slots: Sequence[Slot], words: Words) -> list[Slot] | None:
    """Return the slot of each word, or None if the words do not fit the slots. A slot with a share may be left out."""
    if not slots:
        return None if words else []
    first, rest = slots[0], slots[1:]
    if words and _may_stand(language, first, words[0]):
        later = _fit(language, rest, words[1:])
        if later is not None:
            return [first, *later]
    return _fit(language, rest, words) if "share" in first else None


def _may_stand(language: str, slot: Slot, word: str) -> bool:
    return any(word in forms(language, plain) for plain in slot_words(language, slot))


def _sentence(language: str, slots: Sequence[Slot], words: Words) -> Sentence:
    """Return the words as a sentence, with their classes, the place of *it*, and that of the noun it stands for."""
    at = {slot["role"]: i for i, slot in enumerate(slots) if "role" in slot}
    side = _side_of_it(language, at, words)
    classes = tuple(slot["class"] for slot in slots)
    return Sentence(language, tuple(words), classes, at.get("it"), None if side is None else at[side])


def _side_of_it(language: str, at: dict[str, int], words: Words) -> str | None:
    """Return which noun the adjective describes: "actor", who acts, or "other".

    None if the sentence has no such adjective, or it does not go with the verb. `at` has the place in `words` of each
    part of the sentence, such as the act and the reason.
    """
    if "reason" not in at:
        return None
    act = GRAMMAR[language]["acts"][words[at["act"]]]
    return next((side for side, adjectives in act.items() if words[at["reason"]] in adjectives), None)


# ── another rule ──────────────────────────────────────────────────────────────────────────────────


def turned(sentence: Sentence, rule: Collection[str]) -> Sentence:
    """Return the sentence with the noun that a rule gives: the other noun, if the rule names its adjective.

    The rule names adjectives that are turned round: "hungry" for every verb, "chased hungry" for one verb only. A
    sentence without *it*, or whose adjective the rule does not name, comes back as it is.

    turned(read("the cat chased the mouse because it was hungry".split()), ["hungry"]).refers_to    # {6: 'mouse'}

    Raises:
        ValueError: the grammar does not have such an adjective, or such an adjective after such a verb.
    """
    unknown = sorted(set(rule) - turnable())
    if unknown:
        raise ValueError(f"the rule may name adjectives such as 'hungry' or 'chased hungry'; got {unknown[0]!r}")
    if sentence.noun is None:
        return sentence
    act, adjective = act_of(sentence), sentence.words[-1]
    if adjective not in rule and f"{act} {adjective}" not in rule:
        return sentence
    (other,) = (i for i, kind in enumerate(sentence.classes) if kind == "noun" and i != sentence.noun)
    return replace(sentence, noun=other)


@cache
def turnable() -> frozenset[str]:
    """Return what a rule may name: each adjective that decides, alone and after each of its verbs."""
    acts = {act: sides for language in LANGUAGES for act, sides in GRAMMAR[language]["acts"].items()}
    pairs = [(act, adjective) for act, sides in acts.items() for side in sides.values() for adjective in side]
    return frozenset(name for act, adjective in pairs for name in (adjective, f"{act} {adjective}"))


def act_of(sentence: Sentence) -> str:
    """Return the verb of the action in a sentence with *it*."""
    return next(word for word in sentence.words if word in GRAMMAR[sentence.language]["acts"])


# ── sentences kept out of training ────────────────────────────────────────────────────────────────


def part_of(sentence: Sentence) -> str:
    """Return the part that a sentence belongs to, by hashes of its words: "training", "new" or "combination"."""
    if any(_kept_out(combination) for combination in combinations(sentence)):
        return "combination"
    return "new" if _kept_out(sentence.words) else "training"


def combinations(sentence: Sentence) -> Iterator[Words]:
    """Yield the two combinations of a sentence with *it*: its nouns; and noun, verb and adjective.

    A sentence without *it* has none, and one whose *it* stands for no noun neither.
    """
    if sentence.noun is None:
        return
    nouns = [word for word, kind in zip(sentence.words, sentence.classes, strict=True) if kind == "noun"]
    yield sorted(nouns)
    yield [sentence.words[sentence.noun], act_of(sentence), sentence.words[-1]]


def _kept_out(words: Words) -> bool:
    """Check whether these words are kept out of training: one in eight, chosen by a hash of the words.

    The hash is 32-bit FNV-1a (https://datatracker.ietf.org/doc/draft-eastlake-fnv/). Its upper
    half is used, because the lower bits of FNV depend only on the lower bits of the letters.
    """
    number = 2166136261
    for letter in " ".join(words):
        number = ((number ^ ord(letter)) * 16777619) % 2**32
    return (number >> 16) % ONE_IN == 0
