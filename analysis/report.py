"""From the run log to tables, figures and the summary.

``python -m analysis.report experiment=unbounded suite=embedded``
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from omegaconf import DictConfig

from analysis import summary
from analysis.budgets import budget_table, draw_budgets
from analysis.cast import Cast, cast_of
from analysis.contrasts import contrasts_of, draw_contrast
from analysis.curves import curves_of, draw_curves, mean_curves
from analysis.look import file_name, save
from analysis.meta import PAPER_COMPACT, draw_feature, draw_importances, fit_forest
from analysis.metafeatures import FEATURES, feature_table
from analysis.paper import claims_of, verdict
from analysis.sweep import draw_sweep, pooled, sub_studies, sweep_table, swept_parameters
from analysis.tidy import count_text, curve_table, final_rewards, full_length, speed_table
from analysis.wins import Rule, compare, to_latex, to_markdown, win_table
from experiments import store
from experiments.cli import command, main
from experiments.config import ConfigError, Study
from experiments.plan import Plan, recorded_plan, refuse_mismatch

__all__ = ["Options", "write_report"]


@dataclass(frozen=True)
class Options:
    """What can be chosen in a report.

    Parameters
    ----------
    rule : Rule
        When a difference is a win.
    groups : Path, optional
        A CSV file with the columns dataset and group; each group gets a win table of its own beside the one of all.
    meta : bool
        Whether to analyse meta-features, which needs the datasets themselves and some minutes the first time.
    """

    rule: Rule
    groups: Path | None = None
    meta: bool = True


class _Writer:
    """Where tables and figures go."""

    def __init__(self, folder: Path):
        self.folder = folder
        (folder / "tables").mkdir(parents=True, exist_ok=True)

    def table(self, frame: pd.DataFrame, name: str) -> None:
        compression: Any = {"method": "gzip", "mtime": 0} if name.endswith(".gz") else None
        frame.to_csv(
            self.folder / "tables" / name,
            index=False,
            float_format="%.6g",
            compression=compression,
            lineterminator="\n",
        )

    def text(self, text: str, name: str) -> None:
        (self.folder / name).write_text(text)

    def figure(self, figure: Any, name: str) -> None:
        save(figure, self.folder / "figures", name)


def write_report(study: Study, options: Options) -> Path:
    """Write a study's tables, figures and summary from its log, for whatever part of it is there.

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
    todo = recorded_plan(study)
    refuse_mismatch(todo)
    log = todo.of_study(store.read(study.folder))
    cast, write = cast_of(study.learners, log), _Writer(study.folder)
    finals, failed = final_rewards(log), log[log["status"] == "error"]
    title = " / ".join(study.folder.relative_to(study.results).parts)
    sections = [f"# {title}", summary.coverage_section(finals, todo, cast, len(failed))]
    if finals.empty:
        run = command("experiments.run", study)
        sections += [f"There is no finished run of it in `{study.folder / 'runs'}` yet: `{run}` makes them."]
    else:
        present = cast.only(finals["learner"])
        write.table(finals, "final_rewards.csv.gz")
        sections += _wins(write, finals, present, options)
        sections += _contrasts(write, finals, present, options.rule)
        sections += _curves(write, log, finals, present, study.horizon)
        sections += _budgets(write, finals, present, study.horizon, options.rule)
        sections += _meta(write, finals, todo, options)
    sections += _sweeps(write, (cast, finals), sub_studies(study))
    if len(log):
        speed = speed_table(finals, cast.order())
        write.table(speed, "speed.csv")
        sections += [summary.runs_section(speed, finals, failed, cast)]
    write.text("\n\n".join(section.strip() for section in sections) + "\n", "summary.md")
    return study.folder / "summary.md"


def _wins(write: _Writer, finals: pd.DataFrame, cast: Cast, options: Options) -> list[str]:
    sections = []
    for name, part in {"": finals, **_groups(finals, options.groups)}.items():
        table = win_table(part, cast.order(), options.rule)
        file = f"wins_{file_name(name)}" if name else "wins"
        write.table(table, f"{file}.csv")
        write.text(to_latex(table, cast.label), f"tables/{file}.tex")
        write.text(to_markdown(table, cast.label) + "\n", f"tables/{file}.md")
        title = (
            f"Wins on the group {name}: {part['dataset'].nunique()} datasets"
            if name
            else f"Wins: {part['dataset'].nunique()} datasets"
        )
        sections.append(summary.wins_section(title, table, cast, str(options.rule)))
    verdicts = [verdict(claim, finals, options.rule) for claim in claims_of(cast)]
    write.table(pd.DataFrame(verdicts), "claims.csv")
    return [*sections, summary.claims_section(verdicts)]


def _groups(finals: pd.DataFrame, path: Path | None) -> dict[str, pd.DataFrame]:
    if path is None:
        return {}
    try:
        groups = pd.read_csv(path, dtype=str)
    except (OSError, ValueError) as error:
        raise ConfigError(f"report.groups={path} cannot be read as CSV: {error}") from error
    if not {"dataset", "group"} <= set(groups.columns):
        raise ConfigError(
            f"{path}: report.groups must have the columns dataset and group, not {', '.join(groups.columns)}"
        )
    return {str(name): finals[finals["dataset"].isin(part["dataset"])] for name, part in groups.groupby("group")}


def _contrasts(write: _Writer, finals: pd.DataFrame, cast: Cast, rule: Rule) -> list[str]:
    tables, figures = [], {}
    for name, (first, second) in contrasts_of(cast).items():
        table = compare(finals, first, second, rule)
        if len(table):
            tables.append(table.assign(first=first, second=second))
            labels = cast.label(first), cast.label(second)
            write.figure(draw_contrast(table, *labels), f"contrast_{name}")
            figures[f"contrast_{name}"] = " against ".join(labels)
    if not tables:
        return []
    write.table(pd.concat(tables, ignore_index=True), "contrasts.csv")
    return [
        summary.figures_section("Contrasts", figures, "The difference of final progressive reward on each dataset.")
    ]


def _curves(write: _Writer, log: pd.DataFrame, finals: pd.DataFrame, cast: Cast, horizon: int) -> list[str]:
    length = full_length(finals, horizon)
    curves = curve_table(log, length)
    write.table(curves, "curves.csv.gz")
    figures, means = {}, []
    for name, learners in curves_of(cast).items():
        table = mean_curves(curves, learners)
        if len(table):
            means.append(table.assign(figure=name))
            write.figure(draw_curves(table, cast, zoom=name == "budgets"), f"curves_{name}")
            figures[f"curves_{name}"] = ", ".join(map(cast.label, learners))
    if not means:
        return []
    write.table(pd.concat(means, ignore_index=True), "mean_curves.csv")
    intro = f"Only datasets with at least {length:,} interactions, the same ones for all lines of a figure."
    if length < horizon:
        intro += f" Fewer than half of the datasets have {horizon:,}, so the curves end at their median length."
    return [summary.figures_section("Progressive reward over interactions", figures, intro)]


def _budgets(write: _Writer, finals: pd.DataFrame, cast: Cast, horizon: int, rule: Rule) -> list[str]:
    table = budget_table(finals, cast, horizon, rule)
    if table.empty:
        return []
    write.table(table, "budgets.csv")
    write.figure(draw_budgets(table), "budgets")
    shown = table.assign(learner=[cast.label(learner) for learner in table["learner"]]).drop(columns="line")
    section = summary.figures_section(
        "Budgets", {"budgets": "Loss of reward and wins against parametric over the share of memory"}
    )
    return [f"{section}\n{summary.markdown_table(shown)}"]


def _meta(write: _Writer, finals: pd.DataFrame, todo: Plan, options: Options) -> list[str]:
    differences = compare(finals, "emt", "parametric", options.rule)
    if not options.meta or differences.empty:
        return []
    known = {name: todo.sources[name].fingerprint for name in differences["dataset"]}
    features, missing = feature_table(known, todo.study.horizon)
    table = differences.merge(features, on="dataset")
    forest = fit_forest(table, (table["outcome"] == 1).to_numpy())
    figures = {}
    write.table(table, "meta_features.csv")
    if forest:
        write.table(pd.DataFrame(forest.scores).T.rename_axis("model").reset_index(), "forest_scores.csv")
        write.table(forest.importances, "forest_importances.csv")
        count = count_text(len(table), table["seeds"].min(), table["seeds"].max())
        write.figure(draw_importances(forest, count), "meta_importances")
        figures["meta_importances"] = "Mean decrease in impurity"
    for feature in PAPER_COMPACT if len(table) > 2 else ():
        write.figure(draw_feature(table, feature), f"meta_{feature}")
        figures[f"meta_{feature}"] = f"EMT against Parametric and {FEATURES[feature]}"
    return [summary.meta_section(forest, table, missing, figures, command("experiments.prepare", todo.study))]


def _sweeps(write: _Writer, own: tuple[Cast, pd.DataFrame], subs: list[tuple[Cast, pd.DataFrame]]) -> list[str]:
    """Lay side by side what differs in one parameter, in the study and its sweeps; its own budgets are shown above."""
    cast, finals = pooled([own, *subs])
    sections = []
    for parameter in swept_parameters(cast.only(finals["learner"])):
        if parameter == "budget" and not subs:
            continue
        table = sweep_table(finals, cast.only(finals["learner"]), parameter)
        write.table(table, f"sweep_{parameter}.csv")
        write.figure(draw_sweep(table, parameter), f"sweep_{parameter}")
        figures = {f"sweep_{parameter}": "Mean final reward of each value"}
        section = summary.figures_section(f"Side by side: {parameter}", figures)
        sections.append(f"{section}\n{summary.markdown_table(table)}")
    return sections


def _main(study: Study, cfg: DictConfig) -> None:
    given = cfg.report
    try:
        rule = Rule(str(given.rule), float(given.level), bool(given.holm))
    except ValueError as error:
        raise ConfigError(str(error)) from error
    options = Options(rule, Path(given.groups) if given.groups else None, bool(given.meta))
    print(write_report(study, options))
    if not any((study.folder / "runs").glob("*.parquet")):
        print(f"nothing was run yet in {study.folder}: {command('experiments.run', study)}", file=sys.stderr)


if __name__ == "__main__":
    main(_main, "report", "report")
