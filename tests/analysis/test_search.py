import json

import pandas as pd
import pytest
from synthetic_logs import row, runs_of, study_of, write

from analysis.cast import Cast, Member
from analysis.report import write_report
from analysis.results import Options
from analysis.search import draw_search, miss_table, search_section, search_table
from analysis.tidy import final_rewards
from analysis.wins import Rule
from emt.learners import EMT, PEMT, AuditedEMT

REWARDS = {25: 0.4, 100: 0.6, 10**6: 0.7}
SECONDS = {25: 0.1, 100: 0.2, 10**6: 0.8}


def stream(share, n=100):
    return [int(place < share * n) for place in range(n)]


@pytest.fixture
def study():
    members = {f"emt{n}": Member("emt", {"leaf_capacity": n}, EMT(leaf_capacity=n).params) for n in REWARDS}
    members |= {f"audit{n}": Member("emt_audited", {}, AuditedEMT(leaf_capacity=n).params) for n in (25, 100)}
    members |= {"pemt": Member("pemt", {}, PEMT().params)}
    rows = []
    for seed in range(3):
        for dataset in ("a", "b"):
            for n, reward in REWARDS.items():
                rows.append(row(f"emt{n}", dataset, seed, stream(reward), seconds=SECONDS[n]))
            for n, misses in ((25, 50), (100, 10)):
                counted = json.dumps({"queries": 100, "misses": misses, "different": misses / 5})
                rows.append(row(f"audit{n}", dataset, seed, stream(REWARDS[n]), seconds=9.0, measures=counted))
            rows.append(row("pemt", dataset, seed, stream(0.65), seconds=0.4))
    return pd.DataFrame(rows), Cast(members)


def table_of(log, cast):
    return search_table(final_rewards(log), miss_table(log), cast, horizon=200).set_index("learner")


def test_reward_cost_and_misses_are_against_the_usual_leaf(study):
    table = table_of(*study)
    assert list(table.index) == ["emt25", "emt100", f"emt{10**6}", "pemt"]
    assert table["cost"].round(6).tolist() == [0.5, 1, 4, 2]  # not from the audited runs
    assert table["difference"].round(6).tolist() == [-0.2, 0, 0.1, 0.05]
    assert table["misses"].fillna(-1).round(6).tolist() == [0.5, 0.1, 0, -1]
    assert table["different"].fillna(-1).round(6).tolist() == [0.1, 0.02, 0, -1]
    assert table["exact"].tolist() == [False, False, True, False]
    assert table.loc["emt100", "microseconds"] == pytest.approx(2000)


def test_the_sentences_say_what_exact_search_is_worth_and_the_pareto_front(study):
    log, cast = study
    section = search_section(log, final_rewards(log), cast, 200, Rule())
    text = " ".join(section.sentences)
    assert "does not hold the memory that is least unlike in 10.0% of the queries, and in 2.0%" in text
    assert "Exact search of the same memory is worth +0.1000 ± 0.0000 of mean reward" in text
    assert "at 4.0 times the cost" in text
    front = section.sentences[-1]
    assert all(words in front for words in ("capacity 25;", "capacity 100;", "capacity 1,000,000", "PEMT"))


def test_a_study_without_exact_search_or_audit_has_no_such_part(study):
    log, cast = study
    some = cast.only(["emt25", "emt100", "pemt"])
    finals = final_rewards(log[log["learner"].isin(list(some.members))])
    assert search_section(log.assign(measures="{}"), finals, some, 200, Rule()) is None
    assert search_section(log, finals, cast.only(["pemt"]), 200, Rule()) is None


def test_the_figure_names_the_leaves(study):
    table = table_of(*study).reset_index()
    pareto, missed = draw_search(table, study[1]).axes
    assert [text.get_text() for text in pareto.texts] == ["25", "100", "exact"]
    assert [text.get_text() for text in missed.get_xticklabels()] == ["25", "100", "all"]


def test_the_report_has_it(tmp_path):
    learners = [
        {"learner": "emt", "leaf_capacity": [25, 100, 1000000]},
        {"learner": "emt_audited", "leaf_capacity": 25},
    ]
    asked = study_of(tmp_path, learners, n_datasets=2, seeds=3, horizon=64)
    counted = json.dumps({"queries": 10, "misses": 5, "different": 1})
    rows = [
        row(name, str(dataset), seed, stream(0.5, 64), measures=counted if "audited" in name else "{}")
        for name in asked.learners
        for dataset in asked.suite.datasets
        for seed in range(3)
    ]
    write(asked, runs_of(asked, rows))
    summary = write_report(asked, Options(meta=False)).read_text()
    assert "## Is the tree worth it?" in summary
    assert "| 50.0%    | 10.0%" in summary
    assert (asked.folder / "figures" / "search.pdf").exists()
