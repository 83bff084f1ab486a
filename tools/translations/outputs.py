"""Give a woven notebook the outputs of its source, with their texts translated, so that nothing runs twice.

The code of both is the same except for texts that are shown, and so are the numbers. A text is replaced only where the
whole of it is found: a trait of a prediction, the caption, alt text or label of a figure, a printed line.
"""

from __future__ import annotations

import copy
import html
import re
import unicodedata
from typing import Any

from tools.translations import code
from tools.translations.sources import Notebook, Translate, Unit, cell_units, is_hidden, new_names

PLACEHOLDER = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
# What stands around a text of a figure in its HTML, and before its alt text in the plain form.
AROUND = (('aria-label="', '"'), ("<figcaption>", "</figcaption>"), (">", "</text>"), ("Figure: ", ""))


def transplanted(run: Notebook, woven: Notebook, translate: Translate) -> Notebook:
    """Return a copy of the woven notebook with the translated outputs of the notebook that was run.

    Both have the same cells. The outputs of hidden cells stay in English.
    """
    result = copy.deepcopy(woven)
    result["metadata"]["widgets"] = copy.deepcopy(run["metadata"].get("widgets", {}))
    traits: dict[str, str] = {}
    names, shared = new_names(run, translate), labels(run, translate)
    for cell, source in zip(result["cells"], run["cells"], strict=True):
        if cell["cell_type"] != "code":
            continue
        cell["outputs"] = copy.deepcopy(source["outputs"])
        cell["execution_count"] = source["execution_count"]
        if not is_hidden(source):
            translate_outputs(cell, source, translate, traits)
            for output in cell["outputs"]:
                for text, new in shared.items():
                    replace(output, "label", text, new)
                for name, new in names.items():
                    rename(output, name, new)
    for states in result["metadata"]["widgets"].values():
        for model in states.get("state", {}).values():
            # Others can have the same string as a name for code: "sinusoidal" is an answer, and a scheme of a widget.
            if model["state"].get("_name", "").startswith("Predict"):
                model["state"] = exactly(model["state"], traits)
    return result


def labels(notebook: Notebook, translate: Translate) -> dict[str, str]:
    """Return the labels of a notebook that have a translation: a function of one cell draws them in other cells too."""
    shown = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    found = [unit for cell in shown for unit in cell_units(cell) if unit.kind == "label"]
    return {unit.text: new for unit in found if (new := translate(unit)) != unit.text}


def translate_outputs(
    cell: dict[str, Any], source: dict[str, Any], translate: Translate, traits: dict[str, str]
) -> None:
    """Translate the texts of a cell in its outputs, which are changed; add those of its prediction to `traits`.

    `source` is the cell before it was translated.
    """
    for place in code.places("".join(source["source"])):
        text = translate(Unit(source["id"], place.kind, place.text))
        if place.kind == "prediction":
            traits[place.text] = text
        elif text != place.text and place.kind != "comment":
            for output in cell["outputs"]:
                replace(output, place.kind, place.text, text)
                if place.kind == code.NAME and PLACEHOLDER.search(place.text) and "text" in output:
                    output["text"] = printed("".join(output["text"]), place.text, text, anywhere=True)


def exactly(value: Any, texts: dict[str, str]) -> Any:
    """Return a structure in which strings that are one of these texts are replaced."""
    if isinstance(value, str):
        return texts.get(value, value)
    if isinstance(value, list):
        return [exactly(each, texts) for each in value]
    return {key: exactly(each, texts) for key, each in value.items()} if isinstance(value, dict) else value


def replace(output: dict[str, Any], kind: str, text: str, new: str) -> None:
    """Replace a text of a cell in one of its outputs, which is changed. Without the text, it stays as it is.

    A text of the kind "print" is looked for in printed text, others in figures.
    """
    if kind == "print":
        if "text" in output:
            output["text"] = printed("".join(output["text"]), text, new)
        return
    for mime, before in output.get("data", {}).items():
        if isinstance(before, list) and all(isinstance(line, str) for line in before):
            before = "".join(before)
        if isinstance(before, str):
            output["data"][mime] = drawn(before, text, new)


def rename(output: dict[str, Any], name: str, new: str) -> None:
    """Replace a name in an output, which is changed: where it is printed, and where it is a label.

    A name of several words is also replaced at the end of a label. A name with placeholders stays.
    """
    if PLACEHOLDER.search(name):
        return
    before = "{before}" if " " in name else ""
    replace(output, "label", before + name, before + new)
    if "text" in output:
        output["text"] = renamed("".join(output["text"]), name, new)


def renamed(output: str, name: str, new: str) -> str:
    """Return printed text with a name replaced. Spaces after it fill a column, which stays as wide."""

    def replaced(found: re.Match[str]) -> str:
        return new + " " * max(columns(found[0]) - columns(new), 1) if found[1] else new

    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)( *)", replaced, output)


def columns(text: str) -> int:
    """Return how many columns a text takes: a Chinese character is two wide."""
    return sum(2 if unicodedata.east_asian_width(sign) in "FW" else 1 for sign in text)


def drawn(output: str, text: str, new: str) -> str:
    """Return a figure with a text replaced: its alt text, its caption or a label, each line of which is an element.

    It stays as it is if the two texts have different numbers of lines. Errors are those of `target_of`.
    """
    lines, fresh = (re.split(r"\n|\\n", each) for each in (text, new))
    if len(lines) != len(fresh):
        return output
    for old, line in zip(lines, fresh, strict=True):
        pattern, target = pattern_of(html.escape(old), r"[^<>]*?"), target_of(html.escape(old), html.escape(line))
        for left, right in AROUND:
            around = f"(?P<left>{re.escape(left)}){pattern}(?P<right>{re.escape(right)})"
            output = re.sub(around, rf"\g<left>{target}\g<right>", output)
    return output


def printed(output: str, text: str, new: str, anywhere: bool = False) -> str:
    """Return printed text with what an f-string has printed replaced; the values between its fixed parts are kept.

    If a line ends with it, it is replaced there alone; else, or with `anywhere`, each time that it is found. Errors are
    those of `target_of`.
    """
    pattern = pattern_of(text)
    whole = re.compile(f"{pattern}$", re.MULTILINE)
    at_end = not anywhere and whole.search(output)
    return (whole if at_end else re.compile(pattern)).sub(target_of(text, new), output)


def pattern_of(text: str, value: str = ".*?") -> str:
    """Return the pattern of what an f-string becomes: its fixed parts, and a group v1, v2 … for each placeholder.

    `value` is the pattern of a value.
    """
    fixed = (part.replace("{{", "{").replace("}}", "}") for part in PLACEHOLDER.split(text))
    first, *others = map(re.escape, fixed)
    return first + "".join(f"(?P<v{number}>{value}){part}" for number, part in enumerate(others, 1))


def target_of(text: str, new: str) -> str:
    """Return the replacement, for the groups of `pattern_of`, that puts the values of an f-string into its translation.

    Raises:
        KeyError: the translation has a placeholder that the text does not have.
    """
    groups = {hole: rf"\g<v{number}>" for number, hole in enumerate(PLACEHOLDER.findall(text), 1)}
    return PLACEHOLDER.sub(lambda hole: groups[hole[0]], new.replace("\\", r"\\"))
