import pytest
from synthetic_logs import budgets, cast, finals

from analysis.budgets import budget_table, draw_budgets


@pytest.fixture
def table():
    rewards = {}
    for name, shift in (("a", 0.0), ("b", 0.02)):
        rewards["parametric", name] = [0.5, 0.6, 0.55]
        rewards["pemt[budget=1000]", name] = [0.51, 0.61, 0.57]
        rewards["pemt[budget=32000]", name] = [0.53 + shift, 0.63 + shift, 0.57 + shift]
    rewards["pemt[budget=1000]", "a"] = [0.52, 0.62, 0.575]
    rewards["pemt[budget=1000]", "b"] = [0.4, 0.7, 0.55]
    return budget_table(finals(rewards), budgets(1000, 32_000), horizon=32_000)


def test_loss_share_and_wins(table):
    assert table["learner"].tolist() == ["pemt[budget=32000]", "pemt[budget=1000]"]
    assert table["share"].tolist() == [1, 1 / 32]
    largest, smallest = table.to_dict("records")
    assert largest["loss"] == 0
    assert smallest["loss"] == pytest.approx(((0.01 + 0.01 - 0.005) / 3 + (0.15 - 0.05 + 0.04) / 3) / 2)
    assert (largest["wins"], smallest["wins"], smallest["ties"]) == (2, 1, 1)
    assert smallest["versus_baseline"] == 2


def test_no_budgets_no_table():
    assert budget_table(finals({("emt", "a"): [0.5]}), cast(emt={"class": "EMT", "budget": None}), horizon=100).empty


def test_learners_of_any_name_are_compared_with_the_largest_budget_of_their_kind():
    pemt = {"class": "PEMT", "epsilon": 0.1}
    kinds = cast(
        small=pemt | {"budget": 64},
        free=pemt | {"budget": None},
        odd=pemt | {"budget": 8, "epsilon": 0.2},
        parametric={"class": "Parametric"},
    )
    rewards = {("small", "a"): [0.5, 0.6], ("free", "a"): [0.7, 0.8], ("odd", "a"): [0.1, 0.2]}
    rows = budget_table(finals(rewards | {("parametric", "a"): [0.4, 0.4]}), kinds, horizon=128).to_dict("records")
    assert [(row["learner"], row["budget"], row["share"]) for row in rows] == [
        ("free", 128, 1),
        ("small", 64, 0.5),
        ("odd", 8, 1 / 16),
    ]
    assert [row["loss"] for row in rows] == pytest.approx([0, 0.2, 0])
    assert [row["line"] for row in rows] == ["free", "free", "odd"]
    figure = draw_budgets(budget_table(finals(rewards), kinds, horizon=128), kinds)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["free", "odd"]


def test_loss_and_wins_have_a_panel_each(table):
    figure = draw_budgets(table, budgets(1000, 32_000), "Parametric")
    loss, won = figure.axes
    assert list(loss.containers[0].lines[0].get_ydata()) == table["loss"].tolist()
    assert [list(line.get_ydata()) for line in won.lines] == [table["wins"].tolist(), table["losses"].tolist()]
    assert [text.get_text() for text in loss.get_xticklabels()] == ["100%", "3.12%"]
    assert "2 datasets, 3 seeds" in figure.get_supxlabel()
    assert "Parametric" in won.get_title()


def test_any_learner_can_be_the_one_to_beat(table):
    rewards = {("pemt[budget=8]", "a"): [0.5, 0.6, 0.7], ("mine", "a"): [0.8, 0.9, 0.95]}
    kinds = budgets(8, others=["mine"])
    assert budget_table(finals(rewards), kinds, 100, baseline="mine")["losses"].tolist() == [1]


def test_what_is_forgotten_first_is_a_line_of_its_own_that_loses_against_the_same_largest_budget():
    pemt = {"class": "PEMT", "epsilon": 0.1}
    kinds = cast(
        free=pemt | {"budget": None, "eviction": "lru"},
        unused=pemt | {"budget": 64, "eviction": "lru"},
        oldest=pemt | {"budget": 64, "eviction": "fifo"},
        parametric={"class": "Parametric"},
    )
    rewards = {("free", "a"): [0.7, 0.8], ("unused", "a"): [0.5, 0.6], ("oldest", "a"): [0.6, 0.7]}
    rows = budget_table(finals(rewards | {("parametric", "a"): [0.4, 0.4]}), kinds, horizon=128)
    assert rows.set_index("learner")["loss"].round(6).to_dict() == {"free": 0, "unused": 0.2, "oldest": 0.1}
