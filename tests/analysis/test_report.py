import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from synthetic_logs import row, study_log, write

from analysis.metafeatures import FEATURES, VERSION
from analysis.report import Options, expected, write_report
from analysis.summary import Expected
from analysis.wins import Rule
from experiments.cli import compose
from experiments.config import ConfigError, Study, Suite

UNBOUNDED = ["parametric", "emt", "emt_not_self_consistent", "cmt", "pemt", "pcmt"]
BOUNDED = ["parametric", "pemt_1000", "pemt_2000", "pemt_16000", "pemt_32000"]


def plan(log, learners, seeds=4, horizon=400):
    return Expected("a / study", dict.fromkeys(log["dataset"]), tuple(learners), seeds, horizon, "RUN IT", "PREPARE IT")


@pytest.fixture(scope="module")
def unbounded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbounded")
    log = study_log(UNBOUNDED, n_datasets=12, seeds=4, n_steps=400)
    log = log[~((log["learner"] == "pcmt") & (log["dataset"] == "set-003"))]
    failed = row("pcmt", "set-003", 0, np.zeros(0), status="error", message="ValueError: a | b\nsecond line")
    write(folder, pd.concat([log, pd.DataFrame([failed])], ignore_index=True))
    write_report(folder, plan(log, UNBOUNDED), Options(Rule(), meta=False))
    return folder


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_is_there_and_everything_in_the_summary_exists(unbounded):
    names = set(files(unbounded))
    for table in (
        "wins.csv",
        "wins.tex",
        "wins.md",
        "contrasts.csv",
        "final_rewards.csv.gz",
        "curves.csv.gz",
        "claims.csv",
    ):
        assert f"tables/{table}" in names
    for figure in (
        "contrast_self_consistency",
        "contrast_emt_cmt",
        "contrast_emt_parametric",
        "contrast_pemt_parametric",
    ):
        assert {f"figures/{figure}.pdf", f"figures/{figure}.png"} <= names
    for figure in ("self_consistency", "emt_cmt_parametric", "pemt_pcmt_parametric"):
        assert f"figures/curves_{figure}.pdf" in names
    linked = set(re.findall(r"\((figures/[^)]*)\)", (unbounded / "summary.md").read_text()))
    assert linked == {name for name in names if name.startswith("figures/")}


def test_the_summary_says_what_is_there_and_what_is_not(unbounded):
    text = (unbounded / "summary.md").read_text()
    assert "284 of 288 runs are done (98.6%), 1 failed: 12 datasets, 4 seeds, 6 learners" in text
    assert "What is missing is run by `RUN IT`" in text
    assert "| PEMT : PCMT |" in text
    assert re.search(r"\| PEMT : PCMT \| \d+ \| \d+ \| \d+ \| 11 \|", text)  # one dataset has no PCMT
    assert "| PEMT | --- | " in text
    assert "(53%)" in text  # Table 1: PEMT over parametric 110 of 206
    for claim in ("PEMT beats parametric", "EMT beats CMT", "Self-consistency", "1,000 memories", "as run beats"):
        assert claim in text
    assert "1 failed runs" in text
    assert r"| pcmt/set-003/seed-00 | ValueError: a \| b second line |" in text
    assert "Slowest runs" in text


def test_tables_hold_the_numbers(unbounded):
    finals = pd.read_csv(unbounded / "tables" / "final_rewards.csv.gz")
    assert len(finals) == 284
    curves = pd.read_csv(unbounded / "tables" / "curves.csv.gz")
    last = curves[curves["step"] == 400].set_index(["dataset", "learner"])["reward"]
    means = finals.groupby(["dataset", "learner"])["reward"].mean()
    np.testing.assert_allclose(last.sort_index(), means.sort_index(), rtol=1e-4)


def test_repeated_it_is_the_same_to_the_byte(unbounded, tmp_path):
    shutil.copytree(unbounded / "runs", tmp_path / "runs")
    log = study_log(UNBOUNDED, 12, 1, 8)
    write_report(tmp_path, plan(log, UNBOUNDED), Options(Rule(), meta=False))
    assert files(tmp_path) == files(unbounded)


def test_bounded_has_budgets_and_the_zoomed_curves(tmp_path):
    log = study_log(BOUNDED, n_datasets=4, seeds=3, n_steps=400)
    write(tmp_path, log)
    text = write_report(tmp_path, plan(log, BOUNDED), Options(Rule())).read_text()
    for name in ("budgets", "curves_budgets", "contrast_pemt_1000_parametric", "contrast_pemt_32000_parametric"):
        assert f"figures/{name}.png" in text
    assert "1,000 memories still beat parametric" in text


def test_an_empty_folder_says_which_command_fills_it(tmp_path):
    empty = Expected("a", {"digits": None}, ("emt",), 5, 4000, "RUN IT", "PREPARE IT")
    text = write_report(tmp_path / "nothing", empty, Options(Rule())).read_text()
    assert "0 of 5 runs are done" in text
    assert "no finished run" in text
    assert "`RUN IT`" in text


def test_only_failures_are_still_a_report(tmp_path):
    failed = pd.DataFrame([row("emt", "digits", 0, np.zeros(0), status="error", message="boom")])
    write(tmp_path, failed)
    text = write_report(tmp_path, plan(failed, ["emt"]), Options(Rule())).read_text()
    assert "emt/digits/seed-00" in text
    assert "boom" in text


def test_a_damaged_file_is_set_aside_and_the_rest_counts(tmp_path, capsys):
    log = study_log(["emt", "parametric"], 3, 2, 64)
    write(tmp_path, log)
    (tmp_path / "runs" / "all-9.parquet").write_bytes(b"half a file")
    assert (
        "12 of 12 runs"
        in write_report(tmp_path, plan(log, ["emt", "parametric"], 2), Options(Rule(), meta=False)).read_text()
    )
    assert "Set aside" in capsys.readouterr().err


def test_one_run_is_enough_for_a_report(tmp_path):
    log = study_log(["emt"], 1, 1, 64)
    write(tmp_path, log)
    assert "1 of 4 runs" in write_report(tmp_path, plan(log, ["emt"]), Options(Rule())).read_text()


def test_groups_have_win_tables_of_their_own(tmp_path):
    log = study_log(["emt", "parametric"], 5, 3, 64)
    write(tmp_path, log)
    groups = tmp_path / "groups.csv"
    groups.write_text("dataset,group\nset-000,original\nset-001,original\nset-002,generated\n")
    text = write_report(tmp_path, plan(log, ["emt", "parametric"]), Options(Rule(), groups, meta=False)).read_text()
    assert "## Wins: 5 datasets" in text
    assert "group original: 2 datasets" in text
    assert pd.read_csv(tmp_path / "tables" / "wins_original.csv")["datasets"].tolist() == [2, 2]
    assert pd.read_csv(tmp_path / "tables" / "wins_generated.csv")["datasets"].tolist() == [1, 1]
    groups.write_text("task,kind\n")
    with pytest.raises(ConfigError, match="must have the columns dataset and group"):
        write_report(tmp_path, plan(log, ["emt"]), Options(Rule(), groups))
    with pytest.raises(ConfigError, match=r"no\.csv cannot be read"):
        write_report(tmp_path, plan(log, ["emt"]), Options(Rule(), tmp_path / "no.csv"))


def test_sub_studies_are_laid_side_by_side(tmp_path):
    for value in (25, 100):
        write(tmp_path / f"leaf_capacity={value}", study_log(["emt"], 3, 2, 64, random_state=value))
    nothing = Expected("a", {}, ("emt",), 2, 64, "RUN IT", "PREPARE IT")
    text = write_report(tmp_path, nothing, Options(Rule())).read_text()
    assert "Side by side: leaf_capacity" in text
    assert pd.read_csv(tmp_path / "tables" / "sweep_leaf_capacity.csv")["value"].tolist() == [
        "leaf_capacity=25",
        "leaf_capacity=100",
    ]


def test_meta_features_of_real_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("EMT_DATA", str(tmp_path / "store"))
    names = ["iris", "wine", "balance-scale", "task-3"]
    log = study_log(["emt", "parametric"], 4, 3, 64)
    log["dataset"] = log["dataset"].map(dict(zip(sorted(log["dataset"].unique()), names, strict=True)))
    write(tmp_path / "study", log)
    text = write_report(tmp_path / "study", plan(log, ["emt", "parametric"]), Options(Rule())).read_text()
    assert "Meta-features of 3 datasets" in text
    assert "1 datasets are missing here (the first is task-3" in text
    assert "`PREPARE IT`" in text
    assert "Too little data" in text
    assert "figures/meta_nonzero_share.png" in text


def test_other_rules_are_named(tmp_path):
    log = study_log(["emt", "parametric"], 3, 4, 64)
    write(tmp_path, log)
    text = write_report(tmp_path, plan(log, ["emt"]), Options(Rule("wilcoxon", 0.01), meta=False)).read_text()
    assert "Wilcoxon signed-rank test paired by seed at 0.01, Holm-corrected over datasets" in text


def test_the_config_of_the_report_is_a_study_with_options():
    cfg = compose(["experiment=bounded", "report.rule=ttest"], "report")
    assert (cfg.report.rule, cfg.report.level, cfg.report.holm, cfg.report.groups) == ("ttest", 0.05, True, None)


def test_what_is_expected_comes_from_the_config_and_the_manifest(tmp_path):
    study = Study(
        name="unbounded",
        suite=Suite("mixed", ("digits", 3, 6)),
        learners={"emt": {}},
        seeds=5,
        horizon=4000,
        sweep={"epsilon": 0.2},
        results=tmp_path,
        engine=None,
    )
    plain = expected(study)
    assert list(plain.datasets) == ["digits", "task-3", "task-6"]
    assert plain.command == "python -m experiments.run experiment=unbounded suite=mixed learner.epsilon=0.2"
    study.folder.mkdir(parents=True)
    (study.folder / "manifest.json").write_text(
        '{"identity": {"datasets": {"digits": "abc"}}, "missing": {"task-3": "not prepared"}}'
    )
    assert expected(study).datasets == {"digits": "abc", "task-3": None}


REPORT = """
import sys
from pathlib import Path

from analysis.report import Options, write_report
from analysis.summary import Expected
from analysis.wins import Rule

names = {f"set-{i:03d}": "its fingerprint" for i in range(200)}
study = Expected("a study", names, tuple(sys.argv[2:]), 50, 4000, "RUN IT", "PREPARE IT")
write_report(Path(sys.argv[1]), study, Options(Rule()))
"""


@pytest.mark.slow
def test_a_whole_paper_takes_less_than_a_minute_and_two_gibibytes(tmp_path):
    learners = [*UNBOUNDED, "emt_as_printed", "pemt_as_printed"]
    write(tmp_path, study_log(learners, n_datasets=200, seeds=50, n_steps=4000))
    store, rng = tmp_path / "store", np.random.default_rng(0)
    store.mkdir()
    for number in range(200):
        features = dict(zip(FEATURES, rng.random(len(FEATURES)), strict=True))
        stored = {"identity": [VERSION, "its fingerprint"], "features": features}
        (store / f"set-{number:03d}.meta-4000.json").write_text(json.dumps(stored))
    start = time.perf_counter()
    command = [sys.executable, "-c", REPORT, str(tmp_path), *learners]
    subprocess.run(command, check=True, env={**os.environ, "EMT_DATA": str(store)})
    assert time.perf_counter() - start < 60
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2 * 1024**2  # kibibytes
    assert "macro F1" in (tmp_path / "summary.md").read_text()
    assert sum(path.stat().st_size for folder in ("tables", "figures") for path in (tmp_path / folder).iterdir()) < 5e6
