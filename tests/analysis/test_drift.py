from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from synthetic_logs import row, runs_of, study_of, write

from analysis.cast import Cast, Member
from analysis.drift import draw_drift, drift_section, drift_table, windows_of
from analysis.report import write_report
from analysis.results import Options
from analysis.wins import Rule

T = 640


def stream(levels):
    """Rewards of a stream whose mean in each part of equal length is as given, spread evenly."""
    parts = [np.diff(np.floor(np.arange(T // len(levels) + 1) * level + 1e-9)) for level in levels]
    return np.concatenate(parts).astype(np.uint8)


def run(learner, dataset, story, levels, seed=0):
    name = f"{learner}/{dataset}/{story}/{seed}"
    return row(learner, dataset, seed, stream(levels), story=story, id=name, key=name)


@pytest.fixture
def log():
    rows = []
    for seed in range(3):
        for dataset in ("a", "b"):
            rows += [run(learner, dataset, "none", [0.8] * 16, seed) for learner in ("emt", "pemt", "parametric")]
            rows.append(run("emt", dataset, "abrupt", [0.8] * 8 + [0.2] * 8, seed))
            back = [0.2, 0.4, 0.8, 0.8] if dataset == "a" else [0.3] * 4
            rows.append(run("parametric", dataset, "abrupt", [0.8] * 8 + back + [back[-1]] * 4, seed))
            rows.append(run("pemt", dataset, "abrupt", [0.8] * 8 + [0.6] + [0.8] * 7, seed))
    return pd.DataFrame(rows)


CAST = Cast({name: Member(name) for name in ("parametric", "emt", "pemt")})


def test_windows_are_means_over_seeds_on_the_datasets_that_all_have(log):
    lone = run("emt", "c", "none", [0.5] * 16)
    windows = windows_of(pd.concat([log, pd.DataFrame([lone])], ignore_index=True))
    assert (windows.stories, windows.datasets, windows.seeds) == (("none", "abrupt"), ("a", "b"), (3, 3))
    np.testing.assert_allclose(windows.parts["abrupt", "emt"][:, [0, 31, 32, 63]], [[0.8, 0.8, 0.2, 0.2]] * 2)
    np.testing.assert_allclose(windows.rewards("abrupt", "emt"), 0.5)
    assert windows.count == "2 datasets, 3 seeds"


def test_streams_of_any_length_have_64_parts():
    rng = np.random.default_rng(0)
    rewards = rng.integers(0, 2, 413)
    log = pd.DataFrame([row("emt", "a", 0, rewards)])
    windows = windows_of(log)
    assert windows.rewards("none", "emt")[0] == pytest.approx(rewards.mean())
    assert windows.parts["none", "emt"][0, 5] == pytest.approx(rewards[5 * 413 // 64 : 6 * 413 // 64].mean())


def test_the_fall_after_a_change_and_the_steps_back(log):
    table = drift_table(windows_of(log), log, CAST, "pemt").set_index(["story", "learner"])
    emt, parametric, pemt = (table.loc[("abrupt", name)] for name in ("emt", "parametric", "pemt"))
    assert (emt["before"], emt["after"]) == pytest.approx((0.8, 0.2))
    assert emt["cost"] == pytest.approx(0.3)
    assert (emt["steps"], emt["recovered"]) == (np.inf, 0)
    assert parametric["recovered"] == 0.5
    assert pemt["recovered"] == 1
    assert pemt["steps"] == pytest.approx(T / 16 + 3 * T / 64)  # of four parts one may be .6
    assert emt[["wins", "ties", "losses"]].tolist() == [0, 0, 2]
    assert np.isnan(table.loc[("none", "emt"), "before"])


def test_a_recurring_story_counts_every_change_until_the_next():
    levels = [0.8] * 4 + [0.4] * 4 + [0.8] * 4 + [0.4] * 4
    log = pd.DataFrame([run("emt", "a", story, levels, seed) for story in ("none", "recurring") for seed in range(3)])
    found = drift_table(windows_of(log), log, CAST.only(["emt"]), "emt").set_index("story").loc["recurring"]
    assert found["before"] == pytest.approx((0.8 + 0.4 + 0.8) / 3)
    assert found["after"] == pytest.approx((0.4 + 0.8 + 0.4) / 3)
    assert found["recovered"] == pytest.approx(1 / 3)
    assert found["steps"] == np.inf  # the median of three


def test_the_question_is_answered_from_the_numbers(log):
    section = drift_section(log, CAST, Rule())
    text = " ".join(section.sentences)
    assert text.startswith(
        "Over 2 datasets, 3 seeds, EMT is less robust than the parametric learner where what is right in a context "
        "changes (its mean reward moves by −0.300"
    )
    assert "it keeps 25% (parametric: 31%), the least of the 3 learners without a budget" in text
    assert "EMT on 0% of the datasets (no median in the stream), parametric on 50% of the datasets" in text
    assert "Story abrupt: 0.787, the most, is earned by PEMT" in text


def test_what_a_budget_does_is_said_beside_emt(log):
    bounded = Member("emt", {"budget": 200, "eviction": "fifo"}, {"budget": 200, "eviction": "fifo"})
    more = [
        run("small", dataset, story, levels, seed)
        for dataset in ("a", "b")
        for seed in range(3)
        for story, levels in (("none", [0.7] * 16), ("abrupt", [0.7] * 16))
    ]
    both = pd.concat([log, pd.DataFrame(more)], ignore_index=True)
    text = " ".join(drift_section(both, Cast({**CAST.members, "small": bounded}), Rule()).sentences)
    assert "Forgetting helps most with EMT, 200 memories, FIFO: +0.200 (abrupt) against EMT without a budget" in text
    assert "and −0.100 where nothing changes" in text


def test_a_study_of_one_story_has_no_such_part(log):
    assert drift_section(log[log["story"] == "none"], CAST, Rule()) is None


def test_every_story_is_a_panel_and_every_change_a_dotted_line(log):
    figure = draw_drift(windows_of(log), CAST)
    none, abrupt, legend = figure.axes
    assert [axes.get_title() for axes in (none, abrupt)] == ["none", "abrupt"]
    dotted = [line for line in abrupt.get_lines() if line.get_linestyle() == ":"]
    assert [line.get_xdata()[0] for line in dotted] == [0.5]
    assert len(legend.get_legend().get_texts()) == 3


def test_a_report_of_stories_is_about_the_first_where_none_is_named(tmp_path, log):
    asked = study_of(
        tmp_path, ["parametric", "emt", "pemt"], n_datasets=2, seeds=3, horizon=T, stories=["none", "abrupt"]
    )
    names = {"a": "set-000", "b": "set-001"}
    rows = [
        one | {"dataset": names[one["dataset"]], "id": "/".join(part for part in parts if part != "none")}
        for one in log.to_dict("records")
        for parts in [[one["learner"], names[one["dataset"]], one["story"], f"seed-{one['seed']:02d}"]]
    ]
    write(asked, runs_of(asked, rows))
    summary = write_report(asked, Options(meta=False)).read_text()
    assert "36 of 36 runs are done (100.0%): 2 datasets, 3 seeds, 3 learners, 2 stories" in summary
    assert "what is said is about the story none" in summary
    assert "The highest mean reward is 0.800" in summary
    assert "| EMT          | 0.800 (0/0) | 0.500 (0/2) |" in summary.replace("EMT        ", "EMT          ")
    assert Path(asked.folder, "tables", "drift.csv").exists()
    assert "Mean reward while the world changes" in (asked.folder / "report.html").read_text()
