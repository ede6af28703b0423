import pytest
from synthetic_logs import finals

from analysis.budgets import budget_table, draw_budgets


@pytest.fixture
def table():
    rewards = {}
    for name, shift in (("a", 0.0), ("b", 0.02)):
        rewards["parametric", name] = [0.5, 0.6, 0.55]
        rewards["pemt_1000", name] = [0.51, 0.61, 0.57]
        rewards["pemt_32000", name] = [0.53 + shift, 0.63 + shift, 0.57 + shift]
    rewards["pemt_1000", "b"] = [0.4, 0.7, 0.55]
    return budget_table(finals(rewards), horizon=32_000)


def test_loss_share_and_wins(table):
    assert table["learner"].tolist() == ["pemt_32000", "pemt_1000"]
    assert table["share"].tolist() == [1, 1 / 32]
    largest, smallest = table.to_dict("records")
    assert largest["loss"] == 0
    assert smallest["loss"] == pytest.approx(((0.02 + 0.02 + 0) / 3 + (0.15 - 0.05 + 0.04) / 3) / 2)
    assert (largest["wins"], smallest["wins"], smallest["ties"]) == (2, 1, 1)
    assert smallest["versus_parametric"] == 2


def test_no_budgets_no_table():
    assert budget_table(finals({("emt", "a"): [0.5]}), horizon=100).empty


def test_figure(table):
    left, right = draw_budgets(table).axes
    assert list(left.containers[0].lines[0].get_ydata()) == table["loss"].tolist()
    assert list(right.lines[0].get_ydata()) == table["wins"].tolist()
    assert [text.get_text() for text in left.get_xticklabels()] == ["100 %", "3.12 %"]
    assert "2 datasets, 3 seeds" in left.get_title()
