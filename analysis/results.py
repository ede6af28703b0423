"""Everything that a report shows, worked out once from a study's log; pages, figures and summaries only show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.budgets import budget_table
from analysis.cast import Cast, cast_of
from analysis.contrasts import baseline_of, contrasts_of
from analysis.curves import curves_of, mean_curves
from analysis.datasets import dataset_table, read_groups
from analysis.details import details_section
from analysis.drift import drift_section
from analysis.exploring import exploring_section
from analysis.meta import Forest, fit_forest
from analysis.metafeatures import FEATURES, feature_table
from analysis.paper import beside, claims_of, table_1_pairs, verdict
from analysis.plus import plus_section
from analysis.rewards import mean_rewards, reward_table
from analysis.search import search_section
from analysis.section import Section
from analysis.sweep import pooled, sub_studies, sweep_table, swept_parameters
from analysis.tidy import curve_table, final_rewards, full_length, rounded, speed_table
from analysis.wins import Rule, compare_all, turned, win_table
from emt.arguments import nearest
from experiments import store
from experiments.config import ConfigError, Study
from experiments.plan import Plan, recorded_plan, refuse_mismatch

__all__ = ["Meta", "Options", "Results", "results_of"]


@dataclass(frozen=True)
class Options:
    """What can be chosen in a report.

    Parameters
    ----------
    rule : Rule
        When a difference is a win.
    baseline : str, optional
        The learner that all others are compared with; parametric, or else the study's first.
    contrasts : tuple of pairs
        More pairs of learners to draw.
    groups : Path, optional
        A CSV file with the columns dataset and group; each group gets a win table of its own beside the one of all.
    meta : bool
        Whether to analyse meta-features, which needs the datasets themselves and some minutes the first time.
    """

    rule: Rule = field(default_factory=Rule)
    baseline: str | None = None
    contrasts: tuple[tuple[str, str], ...] = ()
    groups: Path | None = None
    meta: bool = True


@dataclass(frozen=True)
class Meta:
    """Where EMT beats parametric: a row a dataset with its meta-features, the forest, and what is missing and why."""

    table: pd.DataFrame
    forest: Forest | None
    missing: dict[str, str]


@dataclass(frozen=True)
class Results:
    """A study's results.

    Attributes
    ----------
    plan : Plan
        What was meant to be run.
    options : Options
        What was chosen.
    cast, present : Cast
        All learners of the study, and those that have finished a run.
    finals : DataFrame
        Final rewards of the finished runs; of a study of several stories, those of the first.
    played : DataFrame
        The same of all stories.
    n_done, failed : int, DataFrame
        How many runs are finished, and the log's rows of those that failed.
    datasets : DataFrame
        What the datasets are.
    pairs : DataFrame
        Every pair of learners on every dataset.
    curves, length : DataFrame, int
        Thinned curves, and how many interactions they have.
    meta : Meta or None
        The analysis of meta-features.
    sections : list of Section
        What the study was made to find out, where it is one of those that have a part of their own.
    sweeps : dict of str to DataFrame
        By parameter, the table of its values; of the learners in swept.
    origins : list of dict
        The code, packages and machines that wrote the log.
    """

    plan: Plan
    options: Options
    cast: Cast
    present: Cast
    finals: pd.DataFrame
    played: pd.DataFrame
    n_done: int
    failed: pd.DataFrame
    datasets: pd.DataFrame
    pairs: pd.DataFrame
    curves: pd.DataFrame
    length: int
    meta: Meta | None
    sections: list[Section]
    swept: Cast
    sweeps: dict[str, pd.DataFrame]
    origins: list[dict[str, Any]]

    @property
    def study(self) -> Study:
        """What was asked for."""
        return self.plan.study

    @property
    def n_expected(self) -> int:
        """How many runs the whole study has."""
        return self.n_datasets * self.study.n_runs

    @cached_property
    def even(self) -> bool:
        """Whether all learners have finished runs of the same datasets, so that their means can be compared."""
        return bool((self.finals.groupby("dataset")["learner"].nunique() == len(self.cast.members)).all())

    @property
    def n_datasets(self) -> int:
        """How many datasets the whole study has, those included that are missing here."""
        return len((self.plan.sources.keys() | self.plan.missing.keys()) - self.plan.short.keys())

    @cached_property
    def baseline(self) -> str:
        """The learner that all others are compared with."""
        return baseline_of(self.present, self.options.baseline)

    @cached_property
    def contrasts(self) -> dict[str, tuple[str, str]]:
        """Names of figures, and the pairs of learners that they show."""
        pairs = contrasts_of(self.present, self.baseline, self.options.contrasts)
        return {name: pair for name, pair in pairs.items() if len(self.contrast(*pair))}

    def contrast(self, first: str, second: str) -> pd.DataFrame:
        """Return the rows of a pair, from the first learner's side."""
        forth = (self.pairs["first"] == first) & (self.pairs["second"] == second)
        if forth.any():
            return self.pairs[forth]
        return turned(self.pairs[(self.pairs["first"] == second) & (self.pairs["second"] == first)])

    @cached_property
    def wins(self) -> pd.DataFrame:
        """On how many datasets each learner beats each other."""
        return win_table(self.pairs, self.present.order())

    @cached_property
    def group_wins(self) -> dict[str, pd.DataFrame]:
        """The same for each group of datasets that was given."""
        if self.options.groups is None:
            return {}
        members = {str(group): part["dataset"] for group, part in self.datasets.groupby("group")}
        given = set(read_groups(self.options.groups)["group"])
        order = self.present.order()
        return {
            group: win_table(self.pairs[self.pairs["dataset"].isin(names)], order)
            for group, names in members.items()
            if group in given
        }

    @cached_property
    def rewards(self) -> pd.DataFrame:
        """The mean reward of each learner on each dataset."""
        return reward_table(self.finals)

    @cached_property
    def means(self) -> pd.DataFrame:
        """The mean reward of each learner, and its difference to the baseline."""
        return mean_rewards(self.rewards, self.pairs, self.present.order(), self.baseline)

    @cached_property
    def mean_curves(self) -> dict[str, pd.DataFrame]:
        """Names of figures, and the curves that they show."""
        tables = {name: mean_curves(self.curves, learners) for name, learners in curves_of(self.present).items()}
        return {name: table for name, table in tables.items() if len(table)}

    @cached_property
    def budgets(self) -> pd.DataFrame:
        """What budgets cost."""
        return budget_table(self.finals, self.present, self.study.horizon, self.options.rule, self.baseline)

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """The paper's claims that this study can judge."""
        return [verdict(claim, self.finals, self.options.rule) for claim in claims_of(self.present)]

    @cached_property
    def table_1(self) -> dict[tuple[str, str], dict[str, Any]]:
        """The pairs of the paper's Table 1, by the paper's rule."""
        return table_1_pairs(self.finals, self.present)

    @cached_property
    def beside(self) -> list[dict[str, Any]]:
        """The published comparisons, each with what was found here."""
        return beside(self.table_1, self.finals, self.present)

    @cached_property
    def speed(self) -> pd.DataFrame:
        """How fast each learner is, how much memory it takes, and what the whole study costs with it."""
        n_runs = self.n_datasets * self.study.seeds * len(self.study.stories)
        return speed_table(self.played, self.cast.order(), n_runs)


def results_of(study: Study, options: Options, say: Callable[[str], None] = lambda text: None) -> Results:
    """Work out a study's results from its log, whatever part of it is there.

    Parameters
    ----------
    study : Study
        What is reported: of its log the runs that belong to it, and no others.
    options : Options
        What can be chosen.
    say : callable
        Takes what is being done, for a reader who waits.
    """
    asked = [name for name in (options.baseline, *(name for pair in options.contrasts for name in pair)) if name]
    for name in asked:
        if name not in study.learners:
            raise ConfigError(f"report: the study has no learner {name!r}; {nearest(name, study.learners)}")
    groups = read_groups(options.groups)
    say("reading the log")
    todo = recorded_plan(study)
    refuse_mismatch(todo)
    log = todo.of_study(store.read(study.folder))
    plain = log[log["story"] == study.stories[0]]  # what is not about stories is about the first
    cast, finals, played = cast_of(study.learners, log), final_rewards(plain), final_rewards(log)
    present = cast.only(finals["learner"])
    if options.baseline and finals.size and options.baseline not in present.members:
        options = Options(options.rule, None, options.contrasts, options.groups, options.meta)
    say(f"comparing {len(present.members)} learners on {finals['dataset'].nunique()} datasets")
    pairs = compare_all(finals, present.order(), options.rule)
    length = full_length(finals, study.horizon) if len(finals) else study.horizon
    curves = curve_table(plain, length)
    say("working out what the study was made to find out")
    found = [
        details_section(finals, present, options.rule),
        drift_section(log, cast, options.rule),
        search_section(plain, finals, present, study.horizon, options.rule),
        exploring_section(finals, present, options.rule),
        plus_section(finals, present, options.rule),
    ]
    sections = [section for section in found if section]
    told = {parameter for section in sections for parameter in section.parameters}
    say("laying sweeps side by side")
    swept, pool = pooled([(cast, finals), *(subs := sub_studies(study))])
    swept = swept.only(pool["learner"])
    parameters = [one for one in swept_parameters(swept) if one not in told and (one != "budget" or subs)]
    sweeps = {parameter: sweep_table(pool, swept, parameter, options.rule) for parameter in parameters}
    say("describing the datasets")
    ours = {name: todo.sources[name] for name in dict.fromkeys(finals["dataset"])}
    datasets = dataset_table(ours, study.horizon, groups)
    return Results(
        plan=todo,
        options=options,
        cast=cast,
        present=present,
        finals=finals,
        played=played,
        n_done=int((log["status"] == "done").sum()),
        failed=log[log["status"] == "error"],
        datasets=datasets,
        pairs=pairs,
        curves=curves,
        length=length,
        meta=_meta(pairs, todo, say) if options.meta else None,
        sections=sections,
        swept=swept,
        sweeps={parameter: table for parameter, table in sweeps.items() if len(table)},
        origins=store.origins(study.folder),
    )


def _meta(pairs: pd.DataFrame, todo: Plan, say: Callable[[str], None]) -> Meta | None:
    differences = pairs[(pairs["first"] == "emt") & (pairs["second"] == "parametric")]
    if differences.empty:
        return None
    known = {name: todo.sources[name].fingerprint for name in differences["dataset"]}
    say(f"working out meta-features of {len(known)} datasets (kept in the store; the first time takes minutes)")
    features, missing = feature_table(known, todo.study.horizon)
    features[list(FEATURES)] = features[list(FEATURES)].map(rounded)  # the forest sees what the table says
    table = differences.drop(columns=["first", "second"]).merge(features, on="dataset")
    return Meta(table, fit_forest(table, (table["outcome"] == "win").to_numpy()), missing)
