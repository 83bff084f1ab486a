"""What answers a prediction is covered, and nothing else."""

from __future__ import annotations

from docutils import nodes
from qkv_site.predictions import cover_answers


def cell(name: str, result: str = "") -> nodes.container:
    output = nodes.container("", nodes.Text(result), mime_type="text/plain")
    return nodes.container("", output, nb_element="cell_code", names=[name])


def text(words: str) -> nodes.paragraph:
    return nodes.paragraph("", words)


def covered(*parts: nodes.Node) -> list[list[str]]:
    """What the parts of a section come to, each cover as a list of what it hides."""
    section = nodes.section("", *parts)
    document = nodes.document(None, None)
    document += section
    cover_answers(None, document)  # type: ignore[arg-type]
    covers = [part for part in section.children if "qkv-prediction-answer" in part.get("classes", [])]
    assert all("Show it anyway" in cover.children[-1].astext() for cover in covers)
    return [[part.astext() for part in cover.children[:-1]] for cover in covers]


def test_the_next_result_and_the_text_after_it_are_covered():
    parts = [
        cell("ask", "PredictNumber(…)"),
        text("before"),
        cell("run", "32"),
        text("so it is 32"),
        cell("more", "33"),
    ]
    assert covered(*parts) == [["32", "so it is 32"]]


def test_cells_side_by_side_are_covered_together():
    parts = [cell("ask", "PredictBars(…)"), cell("define"), cell("draw", "a figure"), text("so"), cell("more", "33")]
    assert covered(*parts) == [["", "a figure", "so"]]


def test_a_widget_in_which_the_answer_is_looked_for_is_not_covered():
    tool = cell("lab", "TemperatureLab(…)")
    tool["classes"].append("tag_uncovered")
    assert covered(cell("ask", "Predict(…)"), tool, text("so"), cell("more", "33")) == [["so"]]


def test_a_section_or_another_prediction_ends_what_answers_one():
    assert covered(cell("ask", "Predict(…)"), text("before"), nodes.section("", cell("run", "32"))) == []
    asked_twice = [cell("ask", "Predict(…)"), cell("again", "PredictMask(…)"), cell("run", "32"), text("so")]
    assert covered(*asked_twice) == [["32", "so"]]


def test_other_results_are_not_covered():
    assert covered(cell("run", "tensor([1.])"), cell("more", "32"), text("so")) == []
