"""From the run log to tables, figures, the summary and the page.

``python -m analysis.report experiment=unbounded suite=embedded``
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

import pandas as pd
from matplotlib.figure import Figure
from omegaconf import DictConfig

from analysis.budgets import draw_budgets
from analysis.contrasts import draw_contrast
from analysis.curves import draw_curves
from analysis.look import file_name, save, styles_of
from analysis.meta import PAPER_COMPACT, draw_feature, draw_importances
from analysis.metafeatures import FEATURES
from analysis.page import page_text
from analysis.results import Options, Results, results_of
from analysis.summary import describe_features, summary_text, sweep_heading
from analysis.sweep import draw_sweep
from analysis.tables import markdown, standing, wins_latex, wins_markdown
from analysis.tidy import count_text
from analysis.wins import Rule
from emt.files import replacing, write_text
from experiments.checks import check_keys, plain
from experiments.cli import command, main
from experiments.config import ConfigError, Study
from experiments.logfile import writing

__all__ = ["write_report"]


def write_report(study: Study, options: Options) -> Path:
    """Write a study's tables, figures, summary and page from its log, for whatever part of it is there.

    Parameters
    ----------
    study : Study
        What is reported: of its log the runs that belong to it, and no others.
    options : Options
        What can be chosen.

    Returns
    -------
    Path
        The summary.
    """
    results = results_of(study, options, _say)
    for folder in ("tables", "figures"):
        (study.folder / folder).mkdir(parents=True, exist_ok=True)
    _say("writing tables")
    _write_tables(results)
    drawings = _drawings(results)
    shown: dict[str, dict[str, str]] = {}
    for number, (heading, name, text, draw) in enumerate(drawings, 1):
        _say(f"drawing figure {number} of {len(drawings)}: {name}")
        save(draw(), study.folder / "figures", name)
        shown.setdefault(heading, {})[name] = text
    images = {}
    for picture in (picture for section in results.sections for picture in section.pictures):
        _say(f"drawing {picture.name}")
        save(picture.draw(), study.folder / "figures", picture.name)
        images[picture.name] = (study.folder / "figures" / f"{picture.name}.png").read_bytes()
    write_text(study.folder / "summary.md", summary_text(results, shown))
    _say("writing the page")
    write_text(study.folder / "report.html", page_text(results, images))
    return study.folder / "summary.md"


def _say(text: str) -> None:
    print(f"report: {text}", file=sys.stderr, flush=True)


def _write_tables(results: Results) -> None:
    folder = results.study.folder / "tables"

    def write(frame: pd.DataFrame, name: str) -> None:
        with replacing(folder / name) as whole, ExitStack() as stack:
            file: IO[bytes] | gzip.GzipFile = whole
            if name.endswith(".gz"):
                file = stack.enter_context(gzip.GzipFile(name, "wb", fileobj=whole, mtime=0))
            frame.to_csv(file, mode="wb", index=False, float_format="%.6g", lineterminator="\n")

    if len(results.finals):
        seconds = results.finals["seconds"].map("{:.2g}".format)  # more are noise, and a third of the file
        write(results.finals.drop(columns="peak_memory").assign(seconds=seconds), "final_rewards.csv.gz")
        write(results.datasets, "datasets.csv")
        write(results.rewards, "rewards.csv")
        write(results.means, "mean_rewards.csv")
        write(results.pairs, "contrasts.csv.gz")
        write(results.curves, "curves.csv.gz")
        write(results.speed, "speed.csv")
        for name, table in {"": results.wins, **results.group_wins}.items():
            file = f"wins_{file_name(name)}" if name else "wins"
            write(table, f"{file}.csv")
            write_text(folder / f"{file}.tex", wins_latex(table, results.present.label))
            write_text(folder / f"{file}.md", f"{wins_markdown(table, results.present.label)}\n\n{standing(table)}\n")
    for name, rows in {"claims.csv": results.claims, "beside_paper.csv": results.beside}.items():
        if rows:
            write(pd.DataFrame(rows), name)
    if results.mean_curves:
        means = [table.assign(figure=name) for name, table in results.mean_curves.items()]
        write(pd.concat(means, ignore_index=True), "mean_curves.csv")
    if len(results.finals) and len(results.budgets):
        write(results.budgets, "budgets.csv")
    for name, table in (file for section in results.sections for file in section.files.items()):
        write(table, name)
    for parameter, table in results.sweeps.items():
        write(table, f"sweep_{parameter}.csv")
    if results.meta:
        write(results.meta.table, "meta_features.csv")
        features = describe_features().drop(columns="name")
        write_text(folder / "meta_features.md", markdown(features) + "\n")
        write_text(
            folder / "meta_features.tex",
            features.style.hide(axis="index").format(escape="latex").to_latex(hrules=True, column_format="lp{9cm}"),
        )
        if forest := results.meta.forest:
            write(pd.DataFrame(forest.scores).T.rename_axis("model").reset_index(), "forest_scores.csv")
            write(forest.importances, "forest_importances.csv")


class _Drawing(NamedTuple):
    """A figure of a report: its section, the name of its file, what it shows, and what draws it."""

    heading: str
    name: str
    text: str
    draw: Callable[[], Figure]


def _drawings(results: Results) -> list[_Drawing]:
    present, label = results.present, results.present.label
    if results.finals.empty:
        return _sweep_drawings(results)
    found = [
        _Drawing(
            "Contrasts", f"contrast_{name}", " against ".join(map(label, pair)), partial(_contrast, results, *pair)
        )
        for name, pair in results.contrasts.items()
    ]
    for name, table in results.mean_curves.items():
        text = ", ".join(label(str(learner)) for learner in dict.fromkeys(table["learner"]))
        draw = partial(draw_curves, table, present, zoom=name == "budgets")
        found.append(_Drawing("Progressive reward over interactions", f"curves_{name}", text, draw))
    if len(results.budgets):
        text = f"Loss of reward and wins against {label(results.baseline)} over the share of memory"
        draw = partial(draw_budgets, results.budgets, present, label(results.baseline))
        found.append(_Drawing("Budgets", "budgets", text, draw))
    return [*found, *_meta_drawings(results), *_sweep_drawings(results)]


def _contrast(results: Results, first: str, second: str) -> Figure:
    label, styles = results.present.label, styles_of(results.present)
    table = results.contrast(first, second).merge(results.datasets[["dataset", "name"]], on="dataset")
    table = table.assign(dataset=table["name"])
    bars = results.options.rule.bars
    return draw_contrast(table, (label(first), label(second)), (styles[first], styles[second]), bars)


def _meta_drawings(results: Results) -> list[_Drawing]:
    if results.meta is None:
        return []
    heading, found = "Where EMT beats parametric: meta-features", []
    table, forest = results.meta.table, results.meta.forest
    if forest:
        count = count_text(len(table), table["seeds"].min(), table["seeds"].max())
        draw = partial(draw_importances, forest, count)
        found.append(_Drawing(heading, "meta_importances", "Mean decrease in impurity", draw))
    for feature in PAPER_COMPACT if len(table) > 2 else ():
        text = f"EMT against Parametric and {FEATURES[feature]}"
        found.append(_Drawing(heading, f"meta_{feature}", text, partial(draw_feature, table, feature)))
    return found


def _sweep_drawings(results: Results) -> list[_Drawing]:
    text = "Mean final reward of each value, and its difference to one of them"
    return [
        _Drawing(sweep_heading(name), f"sweep_{name}", text, partial(draw_sweep, table, results.swept, name))
        for name, table in results.sweeps.items()
    ]


def options_of(cfg: DictConfig) -> Options:
    """Check the report's own part of a config and return what it asks for.

    Examples
    --------
    >>> from experiments.cli import compose
    >>> options_of(compose(["report.contrasts=[[linear,emt]]"], "report")).contrasts
    (('linear', 'emt'),)
    """
    given = plain(cfg)["report"]
    known = ["rule", "level", "holm", "baseline", "contrasts", "groups", "meta"]
    check_keys(given, known, "report.", required=known)
    try:
        rule = Rule(str(given["rule"]), float(given["level"]), bool(given["holm"]))
    except ValueError as error:
        raise ConfigError(str(error)) from error
    pairs = given["contrasts"]
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ConfigError(f"report.contrasts={pairs}: must be a list of pairs of learners, e.g. [[linear,emt]]")
    contrasts = tuple((str(first), str(second)) for first, second in pairs)
    groups = Path(given["groups"]) if given["groups"] else None
    return Options(rule, given["baseline"], contrasts, groups, bool(given["meta"]))


def _main(study: Study, cfg: DictConfig) -> None:
    with writing(study.folder):
        summary = write_report(study, options_of(cfg))
    print(summary)
    print(summary.with_name("report.html"))
    if not any((study.folder / "runs").glob("*.parquet")):
        print(f"nothing was run yet in {study.folder}: {command('run', study)}", file=sys.stderr)


if __name__ == "__main__":
    main(_main, "report", "report")
