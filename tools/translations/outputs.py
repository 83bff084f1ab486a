"""Give a woven notebook the outputs of its source, with their texts translated, so that nothing runs twice.

The code of both is the same except for texts that are shown, and so are the numbers. A text is replaced only where the
whole of it is found: a trait of a prediction, the caption, alt text or label of a figure, a printed line. Whoever
translates a text that is not found in the output is told so. A test of the long sweeps runs a woven notebook and
compares.
"""

from __future__ import annotations

import copy
import html
import re
from typing import Any

from tools.translations import code
from tools.translations.sources import Notebook, Translate, Unit, is_hidden

PLACEHOLDER = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
# What stands around a text of a figure in its HTML, and before its alt text in the plain form.
AROUND = (('aria-label="', '"'), ("<figcaption>", "</figcaption>"), (">", "</text>"), ("Figure: ", ""))


class UntranslatedError(Exception):
    """A text of a cell was not found in its output."""


def transplanted(run: Notebook, woven: Notebook, translate: Translate) -> Notebook:
    """Return the woven notebook with the outputs of the notebook that was run.

    Raises:
        UntranslatedError: a text that is translated was not found in the output of its cell.
    """
    result = copy.deepcopy(woven)
    result["metadata"]["widgets"] = copy.deepcopy(run["metadata"].get("widgets", {}))
    traits: dict[str, str] = {}
    for cell, source in zip(result["cells"], run["cells"], strict=True):
        if cell["cell_type"] != "code":
            continue
        cell["outputs"] = copy.deepcopy(source["outputs"])
        cell["execution_count"] = source["execution_count"]
        if not is_hidden(source):
            translate_outputs(cell, source, translate, traits)
    for states in result["metadata"]["widgets"].values():
        for model in states.get("state", {}).values():
            model["state"] = exactly(model["state"], traits)
    return result


def translate_outputs(
    cell: dict[str, Any], source: dict[str, Any], translate: Translate, traits: dict[str, str]
) -> None:
    """Translate the texts of a cell in its outputs; add those of its prediction to `traits`."""
    for place in code.places("".join(source["source"])):
        text = translate(Unit(source["id"], place.kind, place.text))
        if text == place.text or place.kind == "comment":
            continue
        if place.kind == "prediction":
            traits[place.text] = text
        elif True not in [replaced(output, place.kind, place.text, text) for output in cell["outputs"]]:
            raise UntranslatedError(f"cell {cell['id']}: its output has no {place.kind} {place.text!r}")


def exactly(value: Any, texts: dict[str, str]) -> Any:
    """Replace the strings in a structure that are one of these texts."""
    if isinstance(value, str):
        return texts.get(value, value)
    if isinstance(value, list):
        return [exactly(each, texts) for each in value]
    return {key: exactly(each, texts) for key, each in value.items()} if isinstance(value, dict) else value


def replaced(output: dict[str, Any], kind: str, text: str, new: str) -> bool:
    """Replace a text in an output; return whether it was there."""
    if kind == "print":
        before = "".join(output.get("text", ""))
        after = printed(before, text, new)
        if "text" in output:
            output["text"] = after
        return after != before
    found = False
    for mime, before in output.get("data", {}).items():
        if isinstance(before, list) and all(isinstance(line, str) for line in before):
            before = "".join(before)
        if isinstance(before, str):
            output["data"][mime] = after = drawn(before, text, new)
            found |= after != before
    return found


def drawn(output: str, text: str, new: str) -> str:
    """Replace a text of a figure: its alt text, its caption or one of its labels."""
    old, fresh = html.escape(text), html.escape(new)
    for left, right in AROUND:
        output = output.replace(f"{left}{old}{right}", f"{left}{fresh}{right}")
    return output


def printed(output: str, text: str, new: str) -> str:
    """Replace the lines that an f-string has printed: its fixed parts are found, and what stands between is kept."""
    holes = PLACEHOLDER.findall(text)
    fixed = (part.replace("{{", "{").replace("}}", "}") for part in PLACEHOLDER.split(text))
    pattern = "(.*?)".join(map(re.escape, fixed))
    groups = {hole: f"\\g<{number}>" for number, hole in enumerate(holes, 1)}
    target = PLACEHOLDER.sub(lambda hole: groups[hole[0]], new.replace("\\", r"\\"))
    whole = re.compile(f"{pattern}$", re.MULTILINE)
    return (whole if whole.search(output) else re.compile(pattern)).sub(target, output)
