import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from analysis import meta
from analysis.meta import COMPACT, draw_feature, draw_importances, fit_forest, macro_f1
from analysis.metafeatures import DESCRIPTIONS, FEATURES


@pytest.fixture(scope="module", autouse=True)
def _few_trees():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meta, "TREES", 20)
        patch.setattr(meta, "REPEATS", 2)
        yield


@pytest.fixture(scope="module")
def study():
    """80 datasets; EMT wins where the top eigenvector explains much."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.random(80) for name in FEATURES}).assign(dataset=[f"d{i:02d}" for i in range(80)])
    table["mean"] = table["top_eigenvector_share"] - 0.7 + rng.normal(0, 0.15, 80)
    table["seeds"] = 5
    return table


@pytest.fixture(scope="module")
def forest(study):
    return fit_forest(study, (study["mean"] > 0).to_numpy(), n_jobs=1)


def test_macro_f1_is_sklearns():
    rng = np.random.default_rng(0)
    truth, predicted = rng.random(50) < 0.3, rng.random((4, 50)) < 0.4
    expected = [f1_score(truth, row, average="macro") for row in predicted]
    np.testing.assert_allclose(macro_f1(truth, predicted), expected)


def test_the_feature_that_decides_is_found(forest):
    assert forest.importances["feature"].iloc[0] == "top_eigenvector_share"
    assert forest.importances["mean"].sum() == pytest.approx(1)
    chosen = forest.importances.set_index("feature")["chosen"]
    assert chosen["top_eigenvector_share"] == pytest.approx(1)
    assert chosen.sum() == pytest.approx(COMPACT)
    assert forest.scores["full"]["macro_f1"] > 0.65
    assert forest.beats_majority


def test_the_majority_is_the_baseline(forest, study):
    n = len(study)
    assert forest.wins + forest.others == n
    guess = np.full(n, forest.wins > n / 2)
    expected = f1_score(study["mean"] > 0, guess, average="macro", zero_division=0)
    assert forest.scores["majority"]["macro_f1"] == pytest.approx(expected)


def test_intervals_hold_the_scores(forest):
    for score in forest.scores.values():
        assert score["low"] <= score["macro_f1"] <= score["high"]
    assert forest.scores["full"]["high"] - forest.scores["full"]["low"] > 0.05


def test_noise_is_not_called_a_finding(study):
    wins = np.random.default_rng(1).random(len(study)) < 0.4
    assert fit_forest(study, wins, n_jobs=1).scores["full"]["macro_f1"] < 0.65


def test_too_few_of_a_class_is_no_forest(study):
    assert fit_forest(study, np.arange(80) < 9) is None
    assert fit_forest(study, np.arange(80) >= 9) is None


def test_missing_values_and_processes_change_nothing(study, forest):
    again = fit_forest(study, (study["mean"] > 0).to_numpy(), n_jobs=2)
    assert again.scores == forest.scores
    assert again.importances.equals(forest.importances)
    holes = study.assign(noise_to_signal=np.where(np.arange(80) % 7, study["noise_to_signal"], np.nan))
    assert fit_forest(holes, (study["mean"] > 0).to_numpy(), n_jobs=1) is not None


def test_importances_are_drawn_with_the_largest_on_top(forest):
    figure = draw_importances(forest, "80 datasets, 5 seeds")
    axes = figure.axes[0]
    widths = [segment[1, 0] for segment in axes.collections[0].get_segments()]
    np.testing.assert_allclose(widths[::-1], forest.importances["mean"])
    assert axes.get_yticklabels()[-1].get_text() == FEATURES["top_eigenvector_share"]
    assert [text.get_text() for text in axes.texts][-1] == "100%"  # how often the compact model chose it
    assert figure.get_suptitle().startswith(f"80 datasets, 5 seeds; EMT beats parametric on {forest.wins}")


def test_a_feature_is_drawn_under_the_difference(study):
    above, below = draw_feature(study, "nonzero_share", window=20).axes
    ordered = study.sort_values("mean")
    heights = np.array([bar.get_height() for bar in above.patches])
    assert (heights.min(), heights.max()) == pytest.approx((ordered["mean"].min(), ordered["mean"].max()))
    np.testing.assert_allclose(below.lines[0].get_ydata(), ordered["nonzero_share"])
    rolling = below.lines[1].get_ydata()
    assert rolling[40] == pytest.approx(ordered["nonzero_share"].iloc[30:50].mean())
    assert below.get_ylabel().replace("\n", " ") == FEATURES["nonzero_share"]
    assert "80 datasets, 5 seeds" in above.get_title()


def test_every_feature_has_a_description():
    assert list(DESCRIPTIONS) == list(FEATURES)
