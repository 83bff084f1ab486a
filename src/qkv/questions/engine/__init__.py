"""The names that question files import. The other modules of this package judge answers."""

from qkv.hidden import Hidden, behind
from qkv.observing import Carried, Case, Provided, Seeded, call, call_carrying, call_many, length, load, make, method
from qkv.questions.engine.draw import Draw
from qkv.questions.engine.question import Layer, Misconception, Question, Seen, by_knob, mistake

__all__ = [
    "Carried",
    "Case",
    "Draw",
    "Hidden",
    "Layer",
    "Misconception",
    "Provided",
    "Question",
    "Seeded",
    "Seen",
    "behind",
    "by_knob",
    "call",
    "call_carrying",
    "call_many",
    "length",
    "load",
    "make",
    "method",
    "mistake",
]
