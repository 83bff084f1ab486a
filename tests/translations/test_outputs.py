"""Transplanted outputs: a woven notebook has the outputs of its source, with its own words in them."""

import pytest

from tools.translations import outputs


@pytest.mark.parametrize(
    ("printed", "text", "new", "expected"),
    [
        ("in 3 rows\nin 4 rows\n", "in {n} rows", "共 {n} 列", "共 3 列\n共 4 列\n"),
        ("a 1 b 2\n", "a {x:.0f} b {y!r}", "乙 {y!r} 甲 {x:.0f}", "乙 2 甲 1\n"),
        ("{1}\nrow\n", "row", "列", "{1}\n列\n"),
    ],
)
def test_a_printed_line_keeps_its_values(printed: str, text: str, new: str, expected: str) -> None:
    assert outputs.printed(printed, text, new) == expected


def test_what_an_f_string_has_put_into_a_line_several_times_is_replaced_each_time() -> None:
    printed = "n = 4: 1 to 2   n = 8: 3 to 4\n"
    assert outputs.printed(printed, "n = {n}: {a} to {b}", "n = {n}：{a} 到 {b}", anywhere=True) == (
        "n = 4：1 到 2   n = 8：3 到 4\n"
    )


def test_a_label_of_a_figure_is_replaced_where_it_is_the_whole_text() -> None:
    figure = '<svg aria-label="one row"><text x="1">row</text><text>row 2</text><text>(a)</text></svg>'
    assert outputs.drawn(figure, "row", "列") == figure.replace(">row<", ">列<")
    assert ">第 2 列<" in outputs.drawn(figure, "row {i}", "第 {i} 列")
    assert outputs.drawn(figure, "row\n(a)", "列\n（甲）") == figure.replace(">row<", ">列<").replace("(a)", "（甲）")


def test_a_text_of_a_prediction_is_replaced_in_its_trait_alone() -> None:
    state = {"question": "why?", "options": [["why?", "because"]], "n": 3}
    assert outputs.exactly(state, {"why?": "為什麼？"}) == {
        "question": "為什麼？",
        "options": [["為什麼？", "because"]],
        "n": 3,
    }


def test_only_a_prediction_gets_the_translated_strings():
    source = 'Predict("Which?", ["sinusoidal", "none"], answer=0)'
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": [source], "outputs": [], "execution_count": 1}
    models = {
        "1": {"state": {"_name": "Predict", "options": ["sinusoidal", "none"]}},
        "2": {"state": {"_name": "PositionExplorer", "scheme": "sinusoidal"}},
    }
    run = {"cells": [cell], "metadata": {"widgets": {"application/vnd": {"state": models}}}}
    names = {"sinusoidal": "正弦", "none": "沒有"}
    done = outputs.transplanted(run, run, lambda unit: names.get(unit.text, unit.text))
    state = done["metadata"]["widgets"]["application/vnd"]["state"]
    assert state["1"]["state"]["options"] == ["正弦", "沒有"]
    assert state["2"] == models["2"]


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("one head       0.3\nnone           0.4\n", "一個頭         0.3\nnone           0.4\n"),  # as wide as before
        ("{'one head': 3}\n", "{'一個頭': 3}\n"),
        ("one head\nalone head 1\n", "一個頭\nalone head 1\n"),
        ("one headache", "one headache"),
    ],
)
def test_a_name_is_replaced_in_what_is_printed_and_keeps_its_column(printed: str, expected: str) -> None:
    assert outputs.renamed(printed, "one head", "一個頭") == expected


def test_a_name_is_translated_in_the_outputs_of_other_cells_too() -> None:
    cells = [
        {"cell_type": "code", "id": name, "metadata": {}, "source": [source], "outputs": [], "execution_count": 1}
        for name, source in (("a", 'x = {"one head": 1}'), ("b", "print(*x)"))
    ]
    cells[1]["outputs"] = [{"output_type": "stream", "text": ["one head\n"]}]
    run = {"cells": cells, "metadata": {}}
    done = outputs.transplanted(run, run, lambda unit: {"one head": "一個頭"}[unit.text])
    assert done["cells"][1]["outputs"][0]["text"] == "一個頭\n"


def test_a_label_that_a_function_of_another_cell_draws_is_translated_with_the_name_in_it() -> None:
    cells = [
        {"cell_type": "code", "id": name, "metadata": {}, "source": [source], "outputs": [], "execution_count": 1}
        for name, source in (("a", 'def draw(ax, name): ax.set(xlabel=f"rate, {name}")'), ("b", 'x = ["one head"]'))
    ]
    svg = "<svg><text>rate, one head</text></svg>"
    cells[1]["outputs"] = [{"output_type": "display_data", "data": {"text/html": svg}}]
    run = {"cells": cells, "metadata": {}}
    words = {"rate, {name}": "學習率，{name}", "one head": "一個頭"}
    done = outputs.transplanted(run, run, lambda unit: words[unit.text])
    assert done["cells"][1]["outputs"][0]["data"]["text/html"] == "<svg><text>學習率，一個頭</text></svg>"
