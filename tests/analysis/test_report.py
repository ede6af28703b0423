import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text
from synthetic_logs import row, runs_of, study_log, study_of, write

from analysis.look import new_figure
from analysis.metafeatures import FEATURES, VERSION
from analysis.report import _main, options_of, write_report
from analysis.results import Options
from analysis.section import signed
from analysis.wins import Rule
from emt.data import load
from experiments.cli import compose
from experiments.config import ConfigError, Suite, swept
from experiments.logfile import LogError

ROOT = Path(__file__).parents[2]
UNBOUNDED = ["parametric", "emt", "emt_not_self_consistent", "cmt", "pemt", "pcmt"]
BOUNDED = ["parametric", {"learner": "pemt", "budget": [1000, 2000, 16000, 32000]}]
QUICK = Options(meta=False)


@pytest.fixture(scope="module")
def unbounded(tmp_path_factory):
    asked = study_of(tmp_path_factory.mktemp("results"), UNBOUNDED, n_datasets=12, seeds=4, horizon=400)
    log = study_log(asked)
    log = log[~((log["learner"] == "pcmt") & (log["dataset"] == "set-003"))]
    failed = row("pcmt", "set-003", 0, np.zeros(0), status="error", message="ValueError: a | b\nsecond line")
    write(asked, pd.concat([log, runs_of(asked, [failed])], ignore_index=True))
    write_report(asked, QUICK)
    return asked


def report(tmp_path, learners, n_datasets=3, seeds=2, horizon=64, options=QUICK):
    """Make a log, report on it and return the summary."""
    asked = study_of(tmp_path / "results", learners, n_datasets, seeds, horizon)
    write(asked, study_log(asked))
    return write_report(asked, options).read_text()


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_is_there_and_everything_in_the_summary_exists(unbounded):
    names = set(files(unbounded.folder))
    for table in (
        "wins.csv",
        "wins.tex",
        "wins.md",
        "contrasts.csv.gz",
        "final_rewards.csv.gz",
        "rewards.csv",
        "mean_rewards.csv",
        "datasets.csv",
        "beside_paper.csv",
        "curves.csv.gz",
        "claims.csv",
    ):
        assert f"tables/{table}" in names
    for figure in (
        "contrast_emt_emt_not_self_consistent",
        "contrast_emt_cmt",
        "contrast_emt_parametric",
        "contrast_pemt_parametric",
    ):
        assert {f"figures/{figure}.pdf", f"figures/{figure}.png"} <= names
    for figure in ("self_consistency", "emt_cmt_parametric", "pemt_pcmt_parametric"):
        assert f"figures/curves_{figure}.pdf" in names
    assert "report.html" in names
    assert "(report.html)" in (unbounded.folder / "summary.md").read_text()
    linked = set(re.findall(r"\((figures/[^)]*)\)", (unbounded.folder / "summary.md").read_text()))
    assert linked == {name for name in names if name.startswith("figures/")}


def test_the_summary_says_what_is_there_and_what_is_not(unbounded):
    text = (unbounded.folder / "summary.md").read_text()
    assert "284 of 288 runs are done (98.6%), 1 failed: 12 datasets, 4 seeds, 6 learners" in text
    assert f"What is missing is run by `python -m experiments.run {shlex.join(unbounded.typed)}`" in text
    wins = pd.read_csv(unbounded.folder / "tables" / "wins.csv").set_index(["row", "column"])
    assert wins.loc[("pemt", "pcmt"), "datasets"] == 11  # one dataset has no PCMT
    assert "(53%)" in text  # Table 1: PEMT over parametric 110 of 206
    assert "PCMT against Parametric" in text
    for claim in ("PEMT beats parametric", "EMT beats CMT", "Self-consistency"):
        assert claim in text
    assert "1,000 memories" not in text  # which a study without budgets says nothing of
    assert "1 runs failed" in text
    assert r"ValueError: a \| b second line" in text


def test_mean_rewards_are_in_the_summary_with_the_error_of_the_difference(unbounded):
    text = (unbounded.folder / "summary.md").read_text()
    means = pd.read_csv(unbounded.folder / "tables" / "mean_rewards.csv").set_index("learner")
    (line,) = re.findall(r"^\| PEMT +\|(.*0\.\d{4} *\| *[+−]0\.\d{4}.*)$", text, flags=re.MULTILINE)
    cells = [cell.strip() for cell in line.split("|")]
    pemt = means.loc["pemt"]
    assert cells[:3] == [f"{pemt['mean']:.4f}", signed(pemt["difference"]), f"{pemt['difference_se']:.4f}"]
    assert cells[4] == "12"


def test_tables_hold_the_numbers(unbounded):
    finals = pd.read_csv(unbounded.folder / "tables" / "final_rewards.csv.gz")
    assert len(finals) == 284
    curves = pd.read_csv(unbounded.folder / "tables" / "curves.csv.gz")
    last = curves[curves["step"] == 400].set_index(["dataset", "learner"])["reward"]
    means = finals.groupby(["dataset", "learner"])["reward"].mean()
    np.testing.assert_allclose(last.sort_index(), means.sort_index(), rtol=1e-4)


def texts_of(figure):
    """The texts of a figure that are drawn: not the labels of ticks beyond the limits, nor of an axes that is off."""
    hidden = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            beyond = [tick for tick in axis.get_major_ticks() if not (axes.axison and low <= tick.get_loc() <= high)]
            hidden |= {tick.label1 for tick in beyond} | (set() if axes.axison else {axis.label})
    shown = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [text for text in shown if text not in hidden]


def flaws(figure):
    """What a reader of a figure would stumble over: texts under a legend, cut off, or run together along an axis."""
    figure.draw_without_rendering()
    boxes = {text: text.get_window_extent() for text in texts_of(figure)}
    page = figure.bbox.padded(1)
    cut = [text for text, box in boxes.items() if not all(page.contains(x, y) for x, y in (box.min, box.max))]
    covered = []
    for legend in figure.findobj(Legend):
        frame, own = legend.get_window_extent().padded(-1), legend.findobj(Text)
        covered += [text for text, box in boxes.items() if text not in own and frame.overlaps(box)]
    together = []
    for axes in figure.axes:
        row = sorted((text for text in axes.get_xticklabels() if text in boxes), key=lambda text: boxes[text].x0)
        together += [right for left, right in pairwise(row) if boxes[left].x1 + 2 > boxes[right].x0]
    kinds = {"cut off": cut, "covered": covered, "run together": together}
    return [f"{text.get_text()}: {kind}" for kind, texts in kinds.items() for text in texts]


@pytest.mark.parametrize(
    ("learners", "sizes"),
    [
        (["parametric", "emt", "pemt", "cmt", "pcmt"], (3, 2, 64)),
        (
            [
                "parametric",
                {"learner": "pemt", "budget": [8, 64]},
                {"learner": "pemt", "budget": 8, "eviction": "fifo"},
            ],
            (3, 2, 64),
        ),
        ([{"learner": "emt", "leaf_capacity": [5, 50]}, {"learner": "pemt", "leaf_capacity": [5, 50]}], (3, 2, 64)),
        ([*BOUNDED, {"learner": "pemt_plus", "budget": 1000, "eviction": ["lru", "fifo"]}], (31, 2, 32_000)),
    ],
    ids=["pairs", "budgets", "sweep", "long names and streams"],
)
def test_a_figure_hides_nothing_and_cuts_nothing_off(tmp_path, monkeypatch, learners, sizes):
    found = {}
    monkeypatch.setattr("analysis.report.save", lambda figure, _, name: found.update({name: flaws(figure)}))
    report(tmp_path, learners, *sizes)
    assert found
    assert not any(found.values()), found


def test_a_flaw_of_a_figure_is_found():
    figure, axes = new_figure()
    axes.set_xticks([0, 0.01, 1], ["first", "second", "last"])
    axes.set_ylabel("a long name of what is on this axis, which is too high for the figure")
    axes.set_title("title")
    figure.legend(handles=[Line2D([], [], label="line")], loc="upper center")
    kinds = {flaw.split(": ")[1] for flaw in flaws(figure)}
    assert kinds == {"cut off", "covered", "run together"}


def test_repeated_it_is_the_same_to_the_byte(unbounded, tmp_path):
    again = replace(unbounded, results=tmp_path)
    shutil.copytree(unbounded.folder / "runs", again.folder / "runs")
    shutil.copy(unbounded.folder / "manifest.json", again.folder)
    write_report(again, QUICK)
    assert files(again.folder) == files(unbounded.folder)


def test_a_report_is_on_the_runs_that_it_was_asked_for_and_no_others(unbounded, tmp_path):
    fewer = replace(unbounded, results=tmp_path, seeds=2, suite=Suite("synthetic", ("set-000", "set-004")))
    fewer = replace(fewer, learners={name: unbounded.learners[name] for name in ("emt", "parametric")})
    shutil.copytree(unbounded.folder / "runs", fewer.folder / "runs")
    text = write_report(fewer, QUICK).read_text()
    assert "8 of 8 runs are done (100.0%): 2 datasets, 2 seeds, 2 learners" in text
    finals = pd.read_csv(fewer.folder / "tables" / "final_rewards.csv.gz")
    assert set(finals["dataset"]) == {"set-000", "set-004"}
    assert set(finals["seed"]) == {0, 1}
    assert set(finals["learner"]) == {"emt", "parametric"}
    everything = pd.read_csv(unbounded.folder / "tables" / "final_rewards.csv.gz")
    columns = ["dataset", "learner", "seed"]
    assert finals.equals(everything.merge(finals[columns], on=columns))
    assert set(pd.read_csv(fewer.folder / "tables" / "curves.csv.gz")["seeds"]) == {2}


def test_datasets_that_are_too_short_take_no_part(tmp_path):
    asked = study_of(tmp_path, ["emt", "parametric"], 3, 2, 64)
    log = study_log(asked)
    short = log["dataset"] == "set-001"
    log.loc[short, "n_steps"] = 40
    log.loc[short, "rewards"] = np.packbits(np.ones(40, np.uint8)).tobytes()
    write(asked, log)
    assert "12 of 12 runs" in write_report(asked, QUICK).read_text()
    assert "8 of 8 runs" in write_report(replace(asked, min_rows=50), QUICK).read_text()


@pytest.mark.parametrize(
    ("learner", "horizon", "difference"),
    [("emt", 32, "horizon is 64 there and 32 here"), ("pemt", 64, r"learners\.it\.class is EMT there and PEMT here")],
)
def test_a_log_of_another_study_is_refused(tmp_path, learner, horizon, difference):
    asked = study_of(tmp_path, [{"name": "it", "learner": "emt"}], 2, 2, 64)
    write(asked, study_log(asked))
    with pytest.raises(ConfigError, match=difference):
        write_report(study_of(tmp_path, [{"name": "it", "learner": learner}], 2, 2, horizon), QUICK)


def test_bounded_has_budgets_and_the_zoomed_curves(tmp_path):
    text = report(tmp_path, BOUNDED, n_datasets=4, seeds=3, horizon=400)
    contrasts = "contrast_pemt_budget_1000_parametric", "contrast_pemt_budget_32000_parametric"
    for name in ("budgets", "curves_budgets", *contrasts):
        assert f"figures/{name}.png" in text
    assert "1,000 memories still beat parametric" in text
    assert "| PEMT, 16,000 memories" in text
    assert "Side by side" not in text


def test_a_learner_of_ones_own_with_a_budget_is_among_the_budgets(tmp_path):
    small = {"name": "small", "_target_": "emt.learners.PEMT", "budget": 64}
    text = report(tmp_path, [*BOUNDED, small], n_datasets=4, seeds=3, horizon=400)
    table = pd.read_csv(tmp_path / "results/unbounded/synthetic/tables/budgets.csv")
    assert table["learner"].tolist()[-2:] == ["pemt[budget=1000]", "small"]
    assert table["line"].unique().tolist() == ["PEMT"]
    assert table["share"].tolist()[-1] == 64 / 400
    assert re.search(r"\| small +\| +64 \| 16% +\| 0.\d{4} ", text)
    assert "64 memories still beat parametric" in text
    assert "figures/contrast_small_parametric.png" in text
    assert "small" in re.search(r"^(.*)\(\[PDF\]\(figures/curves_budgets", text, flags=re.MULTILINE)[1]


def test_values_of_a_parameter_are_laid_side_by_side(tmp_path):
    text = report(tmp_path, [{"learner": "emt", "leaf_capacity": [50, 10, 25]}])
    assert "Side by side: leaf capacity" in text
    table = pd.read_csv(tmp_path / "results/unbounded/synthetic/tables/sweep_leaf_capacity.csv")
    assert table["value"].tolist() == [10, 25, 50]
    assert table["line"].unique().tolist() == ["EMT"]
    assert "| EMT, leaf capacity 25" in text


def test_an_empty_folder_says_which_command_fills_it(tmp_path):
    asked = study_of(tmp_path, ["emt"], n_datasets=1, seeds=5, horizon=4000)
    text = write_report(asked, Options()).read_text()
    assert "0 of 5 runs are done" in text
    assert "no finished run" in text
    assert f"`python -m experiments.run {shlex.join(asked.typed)}`" in text


def test_only_failures_are_still_a_report(tmp_path):
    asked = study_of(tmp_path, ["emt"], 1, 4, 400)
    write(asked, runs_of(asked, [row("emt", "set-000", 0, np.zeros(0), status="error", message="boom")]))
    text = write_report(asked, Options()).read_text()
    assert "emt/set-000/seed-00" in text
    assert "boom" in text


def test_a_damaged_file_is_set_aside_and_the_rest_counts(tmp_path, capsys):
    asked = study_of(tmp_path, ["emt", "parametric"], 3, 2, 64)
    write(asked, study_log(asked))
    (asked.folder / "runs" / "all-9.parquet").write_bytes(b"half a file")
    assert "12 of 12 runs" in write_report(asked, QUICK).read_text()
    assert "Set aside" in capsys.readouterr().err


def test_one_run_is_enough_for_a_report(tmp_path):
    asked = study_of(tmp_path, ["emt"], 1, 4, 64)
    write(asked, study_log(asked).head(1))
    assert "1 of 4 runs" in write_report(asked, Options()).read_text()


def test_groups_have_win_tables_of_their_own(tmp_path):
    asked = study_of(tmp_path, ["emt", "parametric"], 5, 3, 64)
    write(asked, study_log(asked))
    groups = tmp_path / "groups.csv"
    groups.write_text("dataset,group\nset-000,original\nset-001,original\nset-002,made again\n")
    text = write_report(asked, Options(groups=groups, meta=False)).read_text()
    assert "## Wins: 5 datasets" in text
    assert "[made again](tables/wins_made_again.md), [original](tables/wins_original.md)" in text
    tables = asked.folder / "tables"
    assert pd.read_csv(tables / "wins_original.csv")["datasets"].tolist() == [2, 2]
    assert pd.read_csv(tables / "wins_made_again.csv")["datasets"].tolist() == [1, 1]


def test_sub_studies_are_laid_side_by_side_with_the_study_above_them(tmp_path):
    asked = study_of(tmp_path, ["emt"], 3, 2, 64)
    for value in (25, 300):
        write(sub := swept(asked, {"leaf_capacity": value}), study_log(sub, random_state=value))
    table = asked.folder / "tables" / "sweep_leaf_capacity.csv"
    assert "Side by side: leaf capacity" in write_report(asked, QUICK).read_text()
    assert pd.read_csv(table)["value"].tolist() == [25, 300]
    write(asked, study_log(asked))
    write_report(asked, QUICK)
    assert pd.read_csv(table)["value"].tolist() == [25, 100, 300]


def test_meta_features_of_real_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("EMT_DATA", str(tmp_path / "store"))
    suite = Suite("synthetic", ("iris", "wine", "balance-scale", 3))
    asked = replace(study_of(tmp_path, ["emt", "parametric"], 0, 3, 64), suite=suite)
    prints = {name: load(name).fingerprint for name in suite.datasets[:3]} | {"task-3": "was there once"}
    rng = np.random.default_rng(0)
    rows = [row(one, name, n, rng.integers(0, 2, 64)) for one in asked.learners for name in prints for n in range(3)]
    write(asked, runs_of(asked, rows, prints), prints)
    text = write_report(asked, Options()).read_text()
    assert "24 of 24 runs are done" in text
    assert "Meta-features of 3 datasets" in text
    assert "1 datasets are missing here (the first is task-3" in text
    assert f"`python -m experiments.prepare {shlex.join(asked.typed)}`" in text
    assert "Too little data" in text
    assert "figures/meta_nonzero_share.png" in text


def test_other_rules_are_named(tmp_path):
    text = report(
        tmp_path, ["emt", "parametric"], seeds=4, options=Options(Rule("wilcoxon", 0.01, holm=True), meta=False)
    )
    assert "Wilcoxon signed-rank test paired by seed at 0.01, Holm-corrected over datasets" in text


def test_the_config_of_the_report_is_a_study_with_options():
    assert options_of(compose(["experiment=bounded"], "report")) == Options()
    asked = options_of(compose(["report.rule=paper", "report.baseline=emt", "report.contrasts=[[a,b]]"], "report"))
    assert asked == Options(Rule("paper"), baseline="emt", contrasts=(("a", "b"),))


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("report.contrasts=[emt,pemt]", "must be a list of pairs"),
        ("report.contrasts=[[a,b,c]]", "must be a list of pairs"),
        ("report.rule=anova", "must be ttest, paper or wilcoxon"),
        ("+report.base=emt", "did you mean baseline"),
    ],
)
def test_options_that_make_no_sense_are_named(word, problem):
    with pytest.raises(ConfigError, match=problem):
        options_of(compose([word], "report"))


@pytest.mark.parametrize("options", [Options(baseline="ept"), Options(contrasts=(("emt", "ept"),))])
def test_learners_that_the_study_does_not_have_are_named(tmp_path, options):
    with pytest.raises(ConfigError, match="no learner 'ept'; did you mean emt"):
        report(tmp_path, ["emt", "parametric"], options=options)


LINEAR = {"name": "linear", "_target_": "emt.learners.EMT", "leaf_capacity": 7}


def test_a_learner_of_ones_own_on_two_datasets_is_in_every_part_of_the_report(tmp_path):
    options = Options(contrasts=(("linear", "emt"),), meta=False)
    text = report(tmp_path, [LINEAR, "emt", "parametric"], n_datasets=2, seeds=3, options=options)
    for figure in ("contrast_linear_parametric", "contrast_linear_emt", "curves_all"):
        assert f"figures/{figure}.png" in text
    assert "linear against Parametric: " in text
    assert re.search(r"^\| linear +\| 0\.\d{4} ", text, flags=re.MULTILINE)


def test_any_learner_can_be_the_baseline(tmp_path):
    text = report(tmp_path, [LINEAR, "emt", "parametric"], options=Options(baseline="emt", meta=False))
    assert "difference to EMT" in text
    assert "figures/contrast_linear_emt.png" in text
    assert "figures/contrast_linear_parametric.png" not in text


def test_two_seeds_decide_nothing_and_the_report_says_so(tmp_path):
    text = report(tmp_path, ["emt", "parametric"], seeds=2)
    assert "EMT against Parametric: 3 undecided; mean difference" in text
    assert "| 3 undecided " in text  # of the table of mean rewards, where 0 / 0 / 0 would say otherwise
    assert "EMT against Parametric | undecided |" in text
    assert "Fewer than 3 seeds decide nothing" in text
    assert re.search(r"^\| EMT +\| — +\| undecided", text, flags=re.MULTILINE)


def test_the_command_that_a_summary_names_makes_the_study_whole_when_it_is_pasted(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tmp_path / "bin" / "python").chmod(0o755)
    path = f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}"
    words = ["learners=[parametric,{learner:pemt,budget:[8,16]}]", "horizon=30", "engine=serial", "suite.name=my-own"]
    words += ["suite.datasets=[wine,iris]", "learner.epsilon=0.2", f"results={tmp_path}/a_folder", "seeds=2"]

    def paste(command):
        done = subprocess.run(["sh", "-c", command], cwd=ROOT, env=os.environ | {"PATH": path}, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()

    reporting = shlex.join(["python", "-m", "analysis.report", *words, "report.meta=false", "report.rule=ttest"])
    paste(reporting)
    (summary,) = tmp_path.glob("a_folder/unbounded/my-own/epsilon=0.2/summary.md")
    assert "0 of 12 runs are done" in summary.read_text()
    paste(re.search(r"is run by `([^`]*)`", summary.read_text())[1])
    paste(reporting)
    assert "12 of 12 runs are done" in summary.read_text()


REPORT = """
import resource, sys
from pathlib import Path

from synthetic_logs import study_of

from analysis.report import options_of, write_report
from analysis.results import Options
from analysis.wins import Rule

write_report(study_of(Path(sys.argv[1]), sys.argv[2:], 200, 50, 4000), Options())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_a_whole_paper_takes_less_than_two_gibibytes(tmp_path):
    learners = [*UNBOUNDED, "emt_as_printed", "pemt_as_printed"]
    asked = study_of(tmp_path, learners, n_datasets=200, seeds=50, horizon=4000)
    folder = write(asked, study_log(asked))
    place, rng = tmp_path / "store", np.random.default_rng(0)
    place.mkdir()
    for name in asked.suite.datasets:
        features = dict(zip(FEATURES, rng.random(len(FEATURES)), strict=True))
        stored = {"identity": [VERSION, f"the fingerprint of {name}"], "features": features}
        (place / f"{name}.meta-4000.json").write_text(json.dumps(stored))
    command = [sys.executable, "-c", REPORT, str(tmp_path), *learners]
    environment = os.environ | {"EMT_DATA": str(place), "PYTHONPATH": f"{Path(__file__).parent}{os.pathsep}{ROOT}"}
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    assert int(done.stdout) < 2 * 1024**2  # kibibytes
    assert "macro F1" in (folder / "summary.md").read_text()
    assert (folder / "report.html").stat().st_size < 5e6
    assert sum(path.stat().st_size for part in ("tables", "figures") for path in (folder / part).iterdir()) < 5e6


def test_results_that_are_a_file_are_refused_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    asked = study_of(tmp_path / "file", ["parametric"], n_datasets=1, seeds=1, horizon=10)
    with pytest.raises(LogError, match=r"cannot write to .*: Not a directory"):
        _main(asked, compose(config_name="report"))
