"""Studies as they are committed: what their tables hold, read back so that everything said of them can be computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.cast import Cast, Member
from analysis.paper import PAPER_SEEDS
from analysis.wins import PAPER, Rule, compare, outcome_counts
from experiments import store
from experiments.cli import compose
from experiments.config import study
from experiments.learners import params_of

__all__ = ["Committed", "read_study"]


@dataclass(frozen=True)
class Committed:
    """A study's committed tables.

    Attributes
    ----------
    name : str
        The experiment.
    folder : Path
        ``results/<experiment>/<suite>``.
    finals : DataFrame
        Final rewards of every run.
    datasets : DataFrame
        Columns dataset, name, rows, family and group.
    cast : Cast
        The learners that have runs.
    manifest : dict
        What the study was meant to be, who made it and what it cost; empty where that is not committed.
    """

    name: str
    folder: Path
    finals: pd.DataFrame
    datasets: pd.DataFrame
    cast: Cast
    manifest: dict[str, Any]

    @cached_property
    def seeds(self) -> dict[str, int]:
        """How many seeds each learner has on every dataset that it has."""
        counts = self.finals.groupby(["learner", "dataset"])["seed"].nunique().groupby("learner").min()
        return {str(learner): int(count) for learner, count in counts.items()}

    @property
    def n_datasets(self) -> int:
        """On how many datasets there are runs."""
        return int(self.finals["dataset"].nunique())

    def table(self, name: str) -> pd.DataFrame:
        """Return another of the study's tables, empty where there is none."""
        path = self.folder / "tables" / name
        return pd.read_csv(path) if path.exists() else pd.DataFrame()

    def among(self, column: str, word: str | None = None, but: str | None = None) -> pd.DataFrame:
        """Return the final rewards on the datasets of one family or group, or on all but one."""
        chosen = self.datasets[column] == word if word is not None else self.datasets[column] != but
        return self.finals[self.finals["dataset"].isin(self.datasets.loc[chosen, "dataset"])]

    def counts(self, first: str, second: str, finals: pd.DataFrame | None = None) -> dict[str, Any]:
        """Count wins by the paper's rule where there are seeds enough for it, and else by Student's t.

        Returns
        -------
        dict
            Keys wins, ties, losses, undecided, datasets, seeds (the fewest), mean (of the differences) and its se.
        """
        finals = self.finals if finals is None else finals
        table = compare(finals, first, second, PAPER)
        seeds = int(table["seeds"].min()) if len(table) else 0
        if seeds < PAPER_SEEDS:
            table = compare(finals, first, second, Rule())
        mean = float(table["mean"].mean()) if len(table) else float("nan")
        se = float(table["mean"].std() / len(table) ** 0.5) if len(table) else float("nan")
        return {**outcome_counts(table), "datasets": len(table), "seeds": seeds, "mean": mean, "se": se}


def read_study(results: str | Path, experiment: str, suite: str = "paper") -> Committed | None:
    """Return the committed tables of a study, or None where there are none.

    Parameters
    ----------
    results : str or Path
        The folder of all studies.
    experiment, suite : str
        Which of them.

    Examples
    --------
    >>> read_study("no/such/folder", "unbounded") is None
    True
    """
    folder = Path(results) / experiment / suite
    path = folder / "tables" / "final_rewards.csv.gz"
    if not path.exists():
        return None
    finals = pd.read_csv(path)
    finals["reward"] = np.rint(finals["reward"] * finals["n_steps"]) / finals["n_steps"]  # a CSV file has six digits
    manifest = store.read_manifest(folder, set_aside=False) or {}
    return Committed(
        name=experiment,
        folder=folder,
        finals=finals,
        datasets=pd.read_csv(folder / "tables" / "datasets.csv")[["dataset", "name", "rows", "family", "group"]],
        cast=_cast(experiment, suite, manifest).only(finals["learner"]),
        manifest=manifest,
    )


def _cast(experiment: str, suite: str, manifest: dict[str, Any]) -> Cast:
    """Return the learners that the experiment's config and the manifest know."""
    entries = study(compose([f"experiment={experiment}", f"suite={suite}"])).learners
    logged = manifest.get("identity", {}).get("learners", {})
    known = {name: Member(name, {}, params) for name, params in logged.items()}
    return Cast(
        known
        | {name: Member(one.base, one.varied, logged.get(name) or params_of(one)) for name, one in entries.items()}
    )
