import numpy as np
import pandas as pd
import pytest
from synthetic_logs import finals, row

from analysis.tidy import curve_table, final_rewards, full_length, speed_table


def log_of(*rows):
    return pd.DataFrame(rows)


def test_final_rewards_are_means_whatever_the_length():
    rng = np.random.default_rng(0)
    rewards = [rng.integers(0, 2, n) for n in (1, 7, 8, 9, 4000)]
    table = final_rewards(log_of(*(row("emt", f"d{i}", 0, r) for i, r in enumerate(rewards))))
    assert table["reward"].tolist() == pytest.approx([r.mean() for r in rewards])


def test_failed_runs_are_never_taken_for_done():
    failed = row("emt", "d", 0, np.zeros(0), status="error", message="boom")
    assert final_rewards(log_of(failed)).empty
    assert final_rewards(log_of(failed, row("emt", "d", 0, np.ones(4), key="again")))["reward"].tolist() == [1]


def test_curves_are_running_means_over_seeds():
    rng = np.random.default_rng(0)
    runs = rng.integers(0, 2, (3, 100))
    table = curve_table(log_of(*(row("emt", "d", seed, r) for seed, r in enumerate(runs))), length=100, n_points=10)
    assert table["step"].tolist() == list(range(10, 101, 10))
    expected = [runs[:, :step].mean() for step in table["step"]]
    assert table["reward"].tolist() == pytest.approx(expected)
    assert set(table["seeds"]) == {3}


def test_curves_shorter_than_their_points_have_every_step():
    table = curve_table(log_of(row("emt", "d", 0, np.array([1, 0, 1]))), length=3)
    assert table["step"].tolist() == [1, 2, 3]
    assert table["reward"].tolist() == pytest.approx([1, 1 / 2, 2 / 3])


def test_curves_leave_short_datasets_out():
    log = log_of(row("emt", "long", 0, np.ones(100)), row("emt", "short", 0, np.ones(99)))
    assert set(curve_table(log, length=100)["dataset"]) == {"long"}
    assert curve_table(log, length=200).empty


def test_full_length_is_the_horizon_where_half_reach_it():
    def lengths(*n_steps):
        return pd.DataFrame({"dataset": [f"d{i}" for i in range(len(n_steps))], "n_steps": n_steps})

    assert full_length(lengths(50, 4000), 4000) == 4000
    assert full_length(lengths(50, 60, 4000), 4000) == 60


def test_speed_counts_interactions_and_seconds():
    rewards = finals({("emt", "a"): [0.5, 0.5], ("pemt", "a"): [0.5]})
    table = speed_table(rewards, ["pemt", "cmt", "emt"], n_runs=7200)
    assert table["learner"].tolist() == ["pemt", "emt"]
    assert table["per_second"].tolist() == pytest.approx([1000, 1000])
    assert table["interactions"].tolist() == [100, 200]
    assert table["peak_mib"].tolist() == [256, 256]
    assert table["core_hours"].tolist() == pytest.approx([0.1 / 3600, 0.2 / 3600])
    assert table["whole_core_hours"].tolist() == pytest.approx([0.2, 0.2])
    assert speed_table(rewards.assign(peak_memory=0), ["emt"], 1)["peak_mib"].isna().all()
