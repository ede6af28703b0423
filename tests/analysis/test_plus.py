import pandas as pd
import pytest
from synthetic_logs import finals, row, runs_of, study_of, write

from analysis.cast import Cast, Member
from analysis.plus import draw_parts, parts_table, plus_section, worst_table
from analysis.report import write_report
from analysis.results import Options
from analysis.wins import Rule
from emt.learners import PEMT, Parametric, PEMTPlus

#: Rewards on two datasets: on the second the ridge misleads.
REWARDS = {
    "pemt": (0.5, 0.6),
    "plus": (0.6, 0.55),
    "no ridge": (0.55, 0.65),
    "no guard": (0.6, 0.5),
    "other": (0.4, 0.4),
}
LEARNERS = {
    "pemt": PEMT(),
    "plus": PEMTPlus(),
    "no ridge": PEMTPlus(ridge=False),
    "no guard": PEMTPlus(guard=False),
    "other": Parametric(),
}


@pytest.fixture
def study():
    rewards = {
        (learner, dataset): [level + noise for noise in (-0.01, 0.0, 0.01)]
        for learner, levels in REWARDS.items()
        for dataset, level in zip(("a", "b"), levels, strict=True)
    }
    table = finals(rewards)
    table.loc[table["learner"] == "plus", "seconds"] = 0.12
    members = {name: Member({"plus": "pemt_plus"}.get(name, name), {}, one.params) for name, one in LEARNERS.items()}
    return table, Cast(members)


def test_each_part_is_known_by_its_parameter_and_is_worth_what_the_whole_has_more(study):
    table = parts_table(*study).set_index("learner")
    assert table["part"].to_dict() == {"plus": "", "no ridge": "ridge", "no guard": "guard", "other": ""}
    assert table["difference"].round(6).tolist() == [0.025, 0.05, 0.0, -0.15]
    assert table["worth"].round(6).fillna(0).tolist() == [0, -0.025, 0.025, 0.175]
    assert table.loc["plus", ["wins", "losses", "worst_on"]].tolist() == [1, 1, "b"]
    assert table.loc["plus", "worst"] == pytest.approx(-0.05)
    assert table.loc["no guard", ["whole_wins", "whole_losses"]].tolist() == [1, 0]
    assert table["cost"].round(6).tolist() == [1.2, 1, 1, 1]


def test_the_worst_dataset_names_the_part_without_which_it_would_be_better(study):
    table = worst_table(*study)
    assert table["dataset"].tolist() == ["b", "a"]
    assert table["culprit"].tolist() == ["ridge", ""]
    assert table["ridge"].round(6).tolist() == [0.1, -0.05]


def test_the_sentences_tell_wins_cost_and_losses_with_their_reason(study):
    section = plus_section(*study, Rule())
    text = " ".join(section.sentences)
    assert "PEMT+ earns +0.0250 ± 0.0750 of mean reward beyond PEMT (1 win, 0 ties, 1 loss) at 1.20 times" in text
    assert "It loses to PEMT on b (−0.050; without the ridge it would earn +0.100 more)." in text
    assert section.parameters == {"neighbours", "confidence", "ridge", "guard"}


def test_a_study_that_switches_nothing_off_or_lacks_pemt_has_no_such_part(study):
    table, cast = study
    for some in (["pemt", "plus"], ["plus", "no ridge"], ["pemt", "no ridge"]):
        assert plus_section(table[table["learner"].isin(some)], cast.only(some), Rule()) is None
    assert plus_section(table.iloc[:0], cast, Rule()) is None


def test_the_figure_has_a_row_for_the_whole_for_each_part_and_for_others(study):
    table, cast = study
    earned, _ = draw_parts(parts_table(table, cast), cast).axes
    labels = [text.get_text() for text in earned.get_yticklabels()]
    assert labels == ["PEMT+", "without the ridge", "without the guard", "other"]


def test_the_report_has_it(tmp_path):
    learners = ["pemt", "pemt_plus", {"learner": "pemt_plus", "guard": False}]
    asked = study_of(tmp_path, learners, n_datasets=2, seeds=3, horizon=64)
    rows = [
        row(name, str(dataset), seed, [int(step < 30 + place + seed) for step in range(64)])
        for place, name in enumerate(asked.learners)
        for dataset in asked.suite.datasets
        for seed in range(3)
    ]
    write(asked, runs_of(asked, rows))
    summary = write_report(asked, Options(meta=False)).read_text()
    assert "## What the parts of PEMT+ are worth" in summary
    assert (asked.folder / "figures" / "parts.pdf").exists()
    assert set(pd.read_csv(asked.folder / "tables" / "parts.csv")["part"].fillna("")) == {"", "guard"}
