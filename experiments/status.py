"""Say how far a study is: ``python -m experiments.status experiment=unbounded suite=paper``.

It only reads: nothing is played, compiled, written or set aside.
"""

from __future__ import annotations

from collections import Counter

import pandas as pd
from omegaconf import DictConfig

from emt.data import prepared
from experiments import store
from experiments.cli import command, main
from experiments.config import Study
from experiments.costs import duration, known_costs, work_left
from experiments.engine import n_workers
from experiments.plan import Plan, plan, refuse_mismatch
from experiments.texts import last_line

__all__ = ["status"]


def status(study: Study, cfg: DictConfig) -> None:
    """Print what of a study is prepared, done, failed and left, and how long the rest will take by what the log knows.

    Parameters
    ----------
    study : Study
        Which.
    cfg : DictConfig
        The whole config (every verb is given it).
    """
    todo = plan(study, recorded=True)
    refuse_mismatch(todo)
    log = todo.of_study(store.read(study.folder, set_aside=False))
    print(f"{study.folder}: {len(todo.sources)} datasets, {study.seeds} seeds, {study.horizon:,} steps at most")
    print(table(todo, log).to_string(index=False))
    for row in log[log["status"] == "error"].head(10).itertuples():
        print(f"failed: {row.id}: {last_line(str(row.message))}")
    print(f"the log of what is left will take {sum(map(todo.n_bytes, todo.left(log))) / 1e6:,.1f} MB")
    print(_datasets(todo))
    if todo.left(log):
        print(f"what is left is run by {command('run', study)}")


def table(todo: Plan, log: pd.DataFrame) -> pd.DataFrame:
    """Return for each learner the numbers of runs done, failed and left, and the time that those left will take."""
    left = todo.left(log)
    counts = log.groupby(["learner", "status"]).size()
    costs, workers = known_costs(log), n_workers(todo.study.engine)
    rows = []
    for learner in [*todo.params, "all"]:
        ours = Counter((run.dataset, run.learner) for run in left if learner in (run.learner, "all"))
        seconds, unknown = work_left(todo, ours, costs)
        names = [learner] if learner != "all" else list(todo.params)
        rows.append(
            {
                "learner": learner,
                "done": sum(counts.get((name, "done"), 0) for name in names),
                "failed": sum(counts.get((name, "error"), 0) for name in names),
                "left": ours.total(),
                f"time left ({workers} workers)": "not known yet" if unknown else duration(seconds / workers),
            }
        )
    return pd.DataFrame(rows)


def _datasets(todo: Plan) -> str:
    """Say which datasets are not ready, and why."""
    suite = todo.study.suite
    lines = [f"prepared: {len(suite.datasets) - len(todo.missing)} of {len(suite.datasets)} datasets"]
    if todo.short:
        lines.append(f"too short for the study: {len(todo.short)} (fewer than {todo.study.min_rows:,} rows)")
    known = prepared.failures()
    lines += [f"not prepared: {name}: {known.get(name, reason)}" for name, reason in todo.missing.items()]
    if todo.missing:
        lines.append(f"{command('prepare', todo.study)} prepares what it can")
    return "\n".join(lines)


if __name__ == "__main__":
    main(status, "status")
