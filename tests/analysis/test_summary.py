from synthetic_logs import study_log, study_of, write

from analysis.results import Options, results_of
from analysis.summary import findings, table_1_rows


def results(tmp_path, learners, keep=slice(None), seeds=3):
    asked = study_of(tmp_path, learners, 4, seeds, 64)
    write(asked, study_log(asked)[keep])
    return results_of(asked, Options(meta=False))


def test_only_learners_of_table_1_stand_beside_it(tmp_path):
    mine = {"name": "mine", "learner": "emt"}
    assert table_1_rows(results(tmp_path / "own", ["emt", mine])) == []
    rows = table_1_rows(results(tmp_path / "both", ["emt", mine, "parametric"]))
    assert [row[""] for row in rows] == ["EMT", "Parametric"]
    assert rows[0]["Parametric"].endswith("* (21%)")  # three seeds are not the paper's fifty


def test_half_a_study_is_not_taken_for_a_whole_one(tmp_path):
    said = findings(results(tmp_path, ["emt", "parametric"], keep=slice(0, 12)))
    assert said[0].startswith("12 of 24 runs are done (50.0%): 4 datasets, 3 seeds, 2 learners")
    assert "which goes on where it stopped" in said[1]
    assert "(Parametric, 2 datasets, 3 seeds)" in said[2]


def test_every_learner_is_compared_with_the_baseline(tmp_path):
    said = findings(results(tmp_path, ["emt", "pemt", "parametric"]))
    assert sum(" against Parametric: " in sentence for sentence in said) == 2
    assert said[-1] == "Verdicts on the paper's claims that it can judge: too little data (1)."
