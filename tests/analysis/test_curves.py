import numpy as np
import pandas as pd
import pytest
from synthetic_logs import budgets, cast

from analysis.curves import curves_of, draw_curves, mean_curves
from analysis.look import styles_of

CAST = budgets(1000, 32_000)


@pytest.fixture
def curves():
    rng = np.random.default_rng(0)
    steps = np.arange(20, 1001, 20)
    parts = [
        pd.DataFrame(
            {"dataset": d, "learner": learner, "step": steps, "reward": rng.random(50), "seeds": 3 + (d == "b")}
        )
        for d in "abc"
        for learner in ("pemt[budget=1000]", "pemt[budget=32000]", "parametric")
        if (d, learner) != ("c", "parametric")
    ]
    return pd.concat(parts, ignore_index=True)


def test_means_and_errors_are_over_the_datasets_that_all_learners_have(curves):
    table = mean_curves(curves, ["pemt[budget=32000]", "pemt[budget=1000]", "parametric"])
    assert set(table["datasets"]) == {2}
    last = table[(table["learner"] == "pemt[budget=1000]") & (table["step"] == 1000)].iloc[0]
    known = curves.query("learner == 'pemt[budget=1000]' and step == 1000 and dataset != 'c'")["reward"]
    assert last["mean"] == pytest.approx(known.mean())
    assert last["se"] == pytest.approx(known.std(ddof=1) / np.sqrt(2))
    assert mean_curves(curves, ["pemt[budget=32000]", "pemt[budget=1000]"])["datasets"].tolist() == [3] * 100


def test_lines_draw_the_table(curves):
    table = mean_curves(curves, ["pemt[budget=32000]", "pemt[budget=1000]", "parametric"])
    axes = draw_curves(table, CAST).axes[0]
    named = {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}
    assert list(named) == ["PEMT, 32,000 memories", "PEMT, 1,000 memories", "Parametric"]
    drawn = named["Parametric"]
    np.testing.assert_allclose(drawn.get_ydata(), table[table["learner"] == "parametric"]["mean"])
    assert drawn.get_color() == styles_of(CAST)["parametric"].colour
    assert len({(line.get_color(), line.get_linestyle()) for line in named.values()}) == 3
    assert drawn.figure.get_suptitle() == "2 datasets, 3 to 4 seeds; bars: 1 SE over datasets"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("interactions", "mean progressive reward")


def test_bars_are_standard_errors_over_datasets(curves):
    table = mean_curves(curves, ["pemt[budget=1000]", "parametric"])
    axes = draw_curves(table, CAST).axes[0]
    segment = axes.collections[0].get_segments()[0]
    point = table[(table["learner"] == "pemt[budget=1000]") & (table["step"] == segment[0, 0])].iloc[0]
    np.testing.assert_allclose(segment[:, 1], [point["mean"] - point["se"], point["mean"] + point["se"]])


def test_a_second_panel_shows_the_last_tenth(curves):
    table = mean_curves(curves, ["pemt[budget=32000]", "pemt[budget=1000]", "parametric"])
    _, last = draw_curves(table, CAST, zoom=True).axes
    assert last.get_xlim() == (900, 1000)
    assert len(last.lines) == 3
    assert min(min(line.get_xdata()) for line in last.lines) >= 900


def test_the_legend_hides_nothing(curves):
    figure = draw_curves(mean_curves(curves, ["pemt[budget=1000]", "parametric"]), CAST)
    figure.draw_without_rendering()
    assert not figure.legends[0].get_window_extent().overlaps(figure.axes[0].get_tightbbox())


def test_the_figures_of_the_paper():
    unbounded = curves_of(cast(parametric={}, emt={}, emt_not_self_consistent={}, cmt={}, pemt={}, pcmt={}))
    assert list(unbounded) == ["self_consistency", "emt_cmt_parametric", "pemt_pcmt_parametric"]
    assert curves_of(cast(parametric={}, emt={})) == {"emt_cmt_parametric": ("emt", "parametric")}
    assert curves_of(cast(parametric={})) == {"all": ("parametric",)}


def test_a_learner_that_the_paper_does_not_have_is_in_a_figure_of_all():
    own = curves_of(cast(parametric={}, emt={}, linear={}))
    assert own == {"emt_cmt_parametric": ("emt", "parametric"), "all": ("emt", "parametric", "linear")}


def test_budgets_have_a_figure():
    assert curves_of(CAST) == {"budgets": ("pemt[budget=32000]", "pemt[budget=1000]", "parametric")}
