import matplotlib.colors
import numpy as np
import pandas as pd
import pytest
from synthetic_logs import budgets, cast

from analysis.contrasts import FEW, baseline_of, contrasts_of, draw_contrast
from analysis.look import styles_of

STYLES = styles_of(cast(emt={}, cmt={}))
PAIR = (STYLES["emt"], STYLES["cmt"])


def table_of(n):
    """Half of the datasets are won, a few lost, the rest ties; the last has two seeds."""
    mean = np.linspace(-0.2, 0.3, n)
    words = np.select([mean > 0.05, mean < -0.15], ["win", "loss"], "tie").astype(object)
    words[n // 2] = "undecided"
    seeds = np.where(words == "undecided", 2, 5)
    names = [f"set {place:02d}" for place in range(n)]
    return pd.DataFrame({"dataset": names, "mean": mean, "se": 0.01, "limit": 0.03, "seeds": seeds, "outcome": words})


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_many_datasets_are_points_of_the_winners_colour():
    table = table_of(60)
    axes = draw_contrast(table, ("EMT", "CMT"), PAIR).axes[0]
    shapes = {container.lines[0].get_marker(): container.lines[0] for container in axes.containers}
    for outcome, marker, colour in (("win", "^", STYLES["emt"].colour), ("loss", "v", STYLES["cmt"].colour)):
        part = table[table["outcome"] == outcome]
        np.testing.assert_array_equal(shapes[marker].get_xdata(), part.index + 1)
        np.testing.assert_allclose(np.array(shapes[marker].get_ydata(), dtype=float), part["mean"])
        assert matplotlib.colors.same_color(shapes[marker].get_color(), colour)
    assert len(shapes["o"].get_xdata()) == (table["outcome"] == "tie").sum()
    assert len(shapes["x"].get_xdata()) == 1


def test_shades_differ_without_colour():
    axes = draw_contrast(table_of(60), ("EMT", "CMT"), PAIR).axes[0]
    grey = {
        line.lines[0].get_marker(): np.mean(matplotlib.colors.to_rgb(line.lines[0].get_color()))
        for line in axes.containers
    }
    assert grey["o"] > max(grey["^"], grey["v"]) + 0.15


def test_many_near_0_are_seen_beside_few_that_are_large():
    axes = draw_contrast(table_of(60), ("EMT", "CMT"), PAIR).axes[0]
    assert axes.get_yscale() == "symlog"
    ticks = [float(text.get_text().replace("−", "-")) for text in axes.get_yticklabels()]
    assert {-0.1, -0.01, 0, 0.01, 0.1} <= set(ticks)
    assert axes.get_ylim()[0] < -0.2
    assert axes.get_ylim()[1] > 0.3


def test_few_datasets_are_bars_with_their_names():
    table = table_of(7)
    figure = draw_contrast(table, ("EMT", "CMT"), PAIR)
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == table["dataset"].tolist()
    assert sorted(bar.get_width() for bar in axes.patches) == pytest.approx(sorted(table["mean"]))
    assert axes.get_xlabel() == "reward of EMT − CMT"
    assert draw_contrast(table_of(FEW), ("EMT", "CMT"), PAIR).get_size_inches()[1] > figure.get_size_inches()[1]


def test_long_names_are_broken_into_lines():
    axes = draw_contrast(table_of(60), ("PEMT+, 1,000 memories, LRU", "CMT"), PAIR).axes[0]
    assert axes.get_ylabel() == "reward of PEMT+, 1,000\nmemories, LRU\n− CMT"


@pytest.mark.parametrize("n", [7, 60])
def test_bars_are_the_limits_and_the_figure_says_so(n):
    axes = draw_contrast(table_of(n), ("EMT", "CMT"), PAIR, "1.96 SE").axes[0]
    along = 0 if n <= FEW else 1
    for container in axes.containers:
        if hasattr(container, "lines"):
            for segment in container.lines[2][0].get_segments():
                assert np.ptp(segment[:, along]) == pytest.approx(0.06)
    assert axes.get_title() == f"{n} datasets, 2 to 5 seeds; bars: 1.96 SE"


@pytest.mark.parametrize("n", [7, 60])
def test_counts_are_in_a_legend_outside_the_axes(n):
    table = table_of(n)
    figure = draw_contrast(table, ("EMT", "CMT"), PAIR)
    counts = table["outcome"].value_counts()
    assert legend(figure) == [
        f"EMT wins ({counts['win']})",
        f"CMT wins ({counts['loss']})",
        f"ties ({counts['tie']})",
        "undecided (1)",
    ]
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert not box.overlaps(figure.axes[0].get_tightbbox())


def test_each_learner_meets_the_baseline_and_the_papers_pairs_are_there():
    unbounded = cast(parametric={}, emt={}, emt_not_self_consistent={}, cmt={}, pemt={}, pcmt={})
    assert list(contrasts_of(unbounded, "parametric")) == [
        "pemt_parametric",
        "emt_parametric",
        "pcmt_parametric",
        "cmt_parametric",
        "emt_not_self_consistent_parametric",
        "emt_emt_not_self_consistent",
        "emt_cmt",
        "pemt_pcmt",
        "pemt_emt",
    ]
    sized = contrasts_of(budgets(2000, 1000), "parametric")
    assert sized["pemt_budget_1000_parametric"] == ("pemt[budget=1000]", "parametric")


def test_a_learner_of_ones_own_and_any_pair_are_drawn():
    own = cast(emt={}, linear={})
    assert contrasts_of(own, "linear") == {"emt_linear": ("emt", "linear")}
    assert list(contrasts_of(own, "linear", [("linear", "emt")])) == ["emt_linear", "linear_emt"]
    assert contrasts_of(cast(emt={}, cmt={}), "cmt") == {"emt_cmt": ("emt", "cmt")}
    assert "cmt_emt" in contrasts_of(cast(emt={}, cmt={}), "emt")


def test_the_baseline_is_parametric_or_the_first_or_what_was_asked_for():
    assert baseline_of(cast(emt={}, parametric={})) == "parametric"
    assert baseline_of(cast(linear={}, emt={})) == "linear"
    assert baseline_of(cast(linear={}, emt={}), "emt") == "emt"
