"""What docs say of the studies beyond the paper follows from what is committed, and is what their summaries say."""

from dataclasses import replace

import pandas as pd
import pytest

from analysis.answers import QUESTIONS, answers, half_rows
from analysis.committed import read_study
from analysis.plus import parts_table
from analysis.readme import ROOT

MADE = {
    name: study
    for name in QUESTIONS
    for folder in sorted((ROOT / "results" / name).glob("paper*"))
    if (study := read_study(ROOT / "results", name, folder.name))
}


@pytest.mark.parametrize("name", MADE)
def test_an_answer_from_committed_tables_is_the_one_from_the_logs(name):
    summary = (MADE[name].folder / "summary.md").read_text(encoding="utf8")
    said = QUESTIONS[name].answers(MADE[name])
    assert said
    assert [sentence for sentence in said if sentence not in summary] == []


def test_each_study_has_its_question_and_its_sentences_in_a_list():
    text = answers({"capacity": MADE["capacity"]})
    question, answer, picture = text.split("\n\n")
    assert question == "**[How much should a leaf hold?](results/capacity/paper/summary.md)** (165 datasets, 50 seeds)"
    assert answer.startswith("- Of leaf capacity, EMT earns most with ")
    assert picture == "![How much should a leaf hold?](results/capacity/paper/figures/sweep_leaf_capacity.png)"
    assert answers({}) == ""


def test_the_parts_of_pemt_plus_follow_from_the_committed_final_rewards():
    study, counted = MADE["plus"], ["learner", "wins", "ties", "losses", "whole_wins", "whole_losses"]
    made, known = parts_table(study.finals, study.cast), study.table("parts.csv")
    pd.testing.assert_frame_equal(made[counted], known[counted], check_dtype=False)
    for column in ("reward", "difference", "se", "worth", "worth_se", "worst"):
        assert made[column].tolist() == pytest.approx(known[column].tolist(), rel=1e-4, abs=1e-6, nan_ok=True)
    assert made["cost"].tolist() == pytest.approx(known["cost"].tolist(), rel=0.02)  # seconds have two digits


def test_halves_are_counted_alone():
    study = read_study(ROOT / "results", "unbounded")
    rewards = [
        {"dataset": f"task-{task}", "learner": learner, "seed": seed, "reward": 0.5 + gain + 0.001 * (seed % 3) * gain}
        for task, better in ((3, 0.1), (6, -0.1), (11, 0.2))  # tuned on, not tuned on, tuned on
        for learner, gain in (("pemt_plus", better), ("pemt", 0.0))
        for seed in range(50)
    ]
    tuned, other = half_rows(replace(study, finals=pd.DataFrame(rewards)))
    assert (tuned["tasks"], tuned["datasets"], tuned["wins"], tuned["losses"]) == ("tuned on", 2, 2, 0)
    assert (other["tasks"], other["datasets"], other["wins"], other["losses"]) == ("not tuned on", 1, 0, 1)
    assert tuned["mean difference"].startswith("+0.15")
