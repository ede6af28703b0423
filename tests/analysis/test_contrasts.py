import matplotlib.colors
import numpy as np
import pandas as pd
from synthetic_logs import budgets, cast

from analysis.contrasts import contrasts_of, draw_contrast
from analysis.look import BLUE, GREEN, ORANGE

TABLE = pd.DataFrame(
    {
        "dataset": ["a", "b", "c", "d"],
        "mean": [0.1, -0.2, 0.0, 0.3],
        "se": [0.01, 0.02, 0.03, np.nan],
        "seeds": [5, 5, 3, 5],
        "outcome": [1, -1, 0, 1],
    }
)


def test_dots_are_sorted_and_coloured_by_outcome():
    axes = draw_contrast(TABLE, "emt", "cmt").axes[0]
    loss, tie, win = axes.containers
    for container, colour, x, y in (
        (loss, ORANGE, [1], [-0.2]),
        (tie, GREEN, [2], [0.0]),
        (win, BLUE, [3, 4], [0.1, 0.3]),
    ):
        assert list(container.lines[0].get_xdata()) == x
        assert list(container.lines[0].get_ydata()) == y
        assert matplotlib.colors.same_color(container.lines[0].get_color(), colour)


def test_bars_are_196_standard_errors():
    loss = draw_contrast(TABLE, "emt", "cmt").axes[0].containers[0]
    (segment,) = loss.lines[2][0].get_segments()
    np.testing.assert_allclose(segment[:, 1], [-0.2 - 1.96 * 0.02, -0.2 + 1.96 * 0.02])


def test_counts_names_and_size():
    figure = draw_contrast(TABLE, "EMT", "CMT")
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["CMT wins (1)", "ties (1)", "EMT wins (2)"]
    assert "4 datasets, 3 to 5 seeds" in axes.get_title()
    assert axes.get_xlabel()
    assert "EMT" in axes.get_ylabel()
    assert tuple(figure.get_size_inches()) == (6, 2.5)
    zero = axes.lines[0]
    assert list(zero.get_ydata()) == [0, 0]


def test_the_contrasts_of_the_paper():
    unbounded = cast(parametric={}, emt={}, emt_not_self_consistent={}, cmt={}, pemt={}, pcmt={})
    assert list(contrasts_of(unbounded)) == ["self_consistency", "emt_cmt", "emt_parametric", "pemt_parametric"]
    assert contrasts_of(budgets(2000, 32_000, 1000, 16_000)) == {
        "pemt_budget_1000_parametric": ("pemt[budget=1000]", "parametric"),
        "pemt_budget_32000_parametric": ("pemt[budget=32000]", "parametric"),
    }
    ablation = cast(emt={}, emt_as_printed={}, pemt={}, pemt_as_printed={})
    assert {"emt_as_run_as_printed", "pemt_as_run_as_printed"} <= set(contrasts_of(ablation))
