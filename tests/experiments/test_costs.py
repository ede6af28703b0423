import pandas as pd

from experiments.costs import total_cost, wall_clock


def test_time_counts_once_however_many_runs_were_played_in_it():
    # two workers from 0 to 10, one of them idle from 4 to 6; then a pause, and a run inside another one
    ended, seconds = [4.0, 10.0, 10.0, 130.0, 120.0], [4.0, 10.0, 4.0, 30.0, 10.0]
    assert wall_clock(pd.DataFrame({"ended": ended, "seconds": seconds})) == 40.0
    assert wall_clock(pd.DataFrame({"ended": [], "seconds": []})) == 0.0


def test_failed_runs_cost_too():
    log = pd.DataFrame({"status": ["done", "error"], "n_steps": [100, 0], "seconds": [1800.0, 1800.0]})
    log = log.assign(ended=[1800.0, 3600.0], peak_memory=[300, 0], cpu="a kind")
    assert total_cost(log) == {
        "runs": 1,
        "failed": 1,
        "interactions": 100,
        "core_hours": 1.0,
        "wall_clock_hours": 1.0,
        "peak_memory": 300,
        "cpus": ["a kind"],
    }
    assert total_cost(log.iloc[:0])["peak_memory"] == 0
