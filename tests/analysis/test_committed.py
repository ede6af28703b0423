"""What is committed of a study's results can be computed again from the committed files themselves."""

import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from synthetic_logs import study_log, study_of, write

from analysis.committed import read_study
from analysis.meta import fit_forest
from analysis.metafeatures import FEATURES
from analysis.paper import beside, claims_of, table_1_pairs, verdict
from analysis.report import write_report
from analysis.results import Options
from analysis.rewards import mean_rewards, reward_table
from analysis.wins import Rule, compare_all, win_table

ROOT = Path(__file__).parents[2]
MADE = [path.parent for path in sorted(ROOT.glob("results/*/paper*/manifest.json"))]


def same(found, known):
    """Numbers to the digits of a CSV file, words to the letter."""
    found = found.reset_index(drop=True)
    assert list(found.columns) == list(known.columns)
    for column in known:
        if pd.api.types.is_numeric_dtype(known[column]):
            np.testing.assert_allclose(found[column].astype(float), known[column], rtol=2e-5, atol=2e-6)
        else:
            assert found[column].astype(str).tolist() == known[column].astype(str).tolist()


def check(study):
    """Compute a study's tables again from its final rewards and meta-features."""
    order = study.cast.order()
    pairs = compare_all(study.finals, order, Rule())
    same(win_table(pairs, order), study.table("wins.csv"))
    rewards = reward_table(study.finals)
    same(rewards, study.table("rewards.csv"))
    means = study.table("mean_rewards.csv")
    baseline = "parametric" if "parametric" in order else means.loc[means["difference"].isna(), "learner"].iloc[0]
    same(mean_rewards(rewards, pairs, order, baseline), means)
    claims = [verdict(claim, study.finals, Rule()) for claim in claims_of(study.cast)]
    if claims:
        same(pd.DataFrame(claims), study.table("claims.csv"))
    compared = beside(table_1_pairs(study.finals, study.cast), study.finals, study.cast)
    if compared:
        same(pd.DataFrame(compared), study.table("beside_paper.csv"))
    hours, n_stories = study.finals["seconds"].sum() / 3600, len(study.manifest.get("stories", ["none"]))
    if n_stories == 1:  # else the final rewards are those of the first story, and times those of all
        seconds = study.finals.groupby("learner")["seconds"].sum()
        speed = study.table("speed.csv").set_index("learner")["seconds"]
        np.testing.assert_allclose(seconds[speed.index], speed, rtol=0.01)
    if cost := study.manifest.get("cost"):
        assert cost["runs"] == len(study.finals) * n_stories
        assert cost["core_hours"] == pytest.approx(hours, rel=0.01, abs=2e-4) or (
            n_stories > 1 and cost["core_hours"] > hours
        )


def check_forest(study):
    meta, scores = study.table("meta_features.csv"), study.table("forest_scores.csv")
    if len(scores):
        forest = fit_forest(meta, (meta["outcome"] == "win").to_numpy())
        same(pd.DataFrame(forest.scores).T.rename_axis("model").reset_index(), scores)


def test_the_tables_of_a_study_follow_from_its_final_rewards(tmp_path, monkeypatch):
    monkeypatch.setattr("analysis.meta.TREES", 5)
    rng = np.random.default_rng(0)
    made_up = pd.DataFrame({name: rng.random(40) for name in FEATURES})
    names = [f"set-{place:03d}" for place in range(40)]
    monkeypatch.setattr("analysis.results.feature_table", lambda *_: (made_up.assign(dataset=names), {}))
    asked = study_of(tmp_path, ["parametric", "emt", "pemt", "cmt"], 40, 6, 300)
    write(asked, study_log(asked))
    write_report(asked, Options())
    (asked.results / "unbounded" / "synthetic").rename(asked.results / "unbounded" / "paper")
    study = read_study(asked.results, "unbounded")
    assert study.n_datasets == 40
    assert set(study.seeds.values()) == {6}
    check(study)
    check_forest(study)
    study.finals.loc[study.finals["learner"] == "emt", "reward"] += 0.2
    with pytest.raises(AssertionError):
        check(study)


@pytest.mark.parametrize("folder", MADE, ids=lambda folder: folder.parent.name)
def test_the_committed_tables_follow_from_the_committed_final_rewards(folder):
    check(read_study(ROOT / "results", folder.parent.name, folder.name))


@pytest.mark.parametrize("folder", MADE, ids=lambda folder: folder.parent.name)
def test_the_committed_scores_of_the_forest_follow_from_the_committed_features(folder):
    check_forest(read_study(ROOT / "results", folder.parent.name, folder.name))


def test_committed_results_are_at_most_16_mb():
    listed = subprocess.run(["git", "ls-files", "results"], cwd=ROOT, capture_output=True, text=True, check=False)
    sizes = {name: path.stat().st_size for name in listed.stdout.split() if (path := ROOT / name).exists()}
    assert sum(sizes.values()) < 16e6
    assert {name: size for name, size in sizes.items() if size > 2e6} == {}
