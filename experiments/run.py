"""Run a study: ``python -m experiments.run experiment=unbounded suite=embedded``.

Skips what is in the log already, so the same command goes on where it was stopped.
"""

from __future__ import annotations

from experiments.signals import end_at_once, raise_if_stopped, stop_on_signals

if __name__ == "__main__":
    end_at_once()  # while all the rest is loaded

import math
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from typing import Any

import pandas as pd
from omegaconf import DictConfig

from experiments import store
from experiments.checks import ConfigError, plain
from experiments.cli import command, main
from experiments.config import Study
from experiments.costs import Costs, duration, known_costs, total_cost, work_left
from experiments.engine import end_workers, execute, n_workers
from experiments.plan import Plan, Run, blocks, plan, refuse_mismatch
from experiments.progress import Progress
from experiments.provenance import cpu, provenance
from experiments.rehearsal import rehearse
from experiments.texts import last_line

__all__ = ["run"]

FLUSH_SECONDS = 2.0  # of results at most are lost when everything is killed
MANY_FILES = 100


def run(study: Study, cfg: DictConfig) -> int:
    """Play every run of a study that no log has.

    Finished runs of other studies in the same results folder that have the same key are the same runs, and are copied;
    so are those of the same learner under another name.

    Parameters
    ----------
    study : Study
        What to run.
    cfg : DictConfig
        The whole config, kept with the results.

    Returns
    -------
    int
        The exit status: 1 if a run failed.
    """
    todo = plan(study)
    _refuse_missing(todo)
    raise_if_stopped()
    with store.writer(study.folder, _shard(study)):
        store.read_manifest(study.folder)  # a damaged one is set aside
        refuse_mismatch(todo)
        log = store.read(study.folder)
        made_by = provenance() | {"identity": todo.identity, "config": plain(cfg)}
        _write_manifest(todo, log, made_by)
        _tell_kinds({cpu(), *todo.of_study(log)["cpu"]})
        tried = log[log["status"] == "done"] if study.retry else log
        try:
            _finish(todo, {run: key for run, key in todo.left(tried).items() if todo.in_shard(run)}, made_by)
        except KeyboardInterrupt:
            _say(f"stopped; the log has all that is done. To go on: {command('run', study)}")
            sys.exit(130)
        store.compact(study.folder, made_by, _shard(study))
        ours = todo.of_study(store.read(study.folder))
        _write_manifest(todo, ours, made_by)
    return _summarise(todo, ours)


def _finish(todo: Plan, left: dict[Run, str], made_by: dict[str, Any]) -> None:
    """Copy the runs that are done elsewhere and play the others, each key once."""
    if left:
        _refuse_full_disk(todo, left)
        left = _take_over(todo, left, made_by)
    while left:
        once = list({key: run for run, key in reversed(left.items())}.values())
        costs = rehearse(todo, dict.fromkeys(run.learner for run in once), known_costs(store.read(todo.study.folder)))
        raise_if_stopped()
        _announce(todo, once, costs)
        _work(todo, once, costs, made_by)
        played = set(once)
        left = _take_over(todo, {run: key for run, key in left.items() if run not in played}, made_by)


def _take_over(todo: Plan, left: dict[Run, str], made_by: dict[str, Any]) -> dict[Run, str]:
    """Copy finished runs that have the same key, from other studies or under other names; return what is left."""
    if not left:
        return {}
    folder, keys = todo.study.folder, set(left.values())
    own = store.read(folder)
    others = store.find(todo.study.results, keys, but=folder)
    done = pd.concat([own[(own["status"] == "done") & own["key"].isin(keys)], others], ignore_index=True)
    by_key: dict[str, dict[Any, Any]] = {row["key"]: row for row in done.to_dict("records")}
    copies = [by_key[key] | todo.row(run, key) for run, key in left.items() if key in by_key]
    if copies:
        store.append(folder, copies, made_by, _shard(todo.study))
        _say(f"{folder}: {len(copies):,} runs are done already in other studies or under other names, and are copied")
    return {run: key for run, key in left.items() if key not in by_key}


def _write_manifest(todo: Plan, log: pd.DataFrame, made_by: dict[str, Any]) -> None:
    """Say what the folder is meant to hold, who gave the last command, who made the runs and what they cost."""
    folder = todo.study.folder
    cost = {"cost": total_cost(todo.of_study(log)), "origins": store.origins(folder)}
    store.write_manifest(folder, manifest(todo) | made_by | cost)


def manifest(todo: Plan) -> dict[str, Any]:
    """Return what a study's folder is meant to hold."""
    return {
        "experiment": todo.study.name,
        "suite": todo.study.suite.name,
        "learners": list(todo.params),
        "seeds": todo.study.seeds,
        "horizon": todo.study.horizon,
        "stories": list(todo.study.stories),
        "datasets": {source.name: source.n_rows for source in todo.sources.values()},
        "missing": list(todo.missing),
        "sweep": todo.study.sweep,
    }


def _work(todo: Plan, left: list[Run], costs: Costs, made_by: dict[str, Any]) -> None:
    """Play the runs and log them as they come in."""
    folder, shard = todo.study.folder, _shard(todo.study)
    buffer: list[dict[str, Any]] = []
    n_files, flushed = 0, -math.inf
    progress = Progress(todo, left, costs)
    try:
        with closing(execute(blocks(todo, left, costs), todo.study.engine)) as results:
            for rows in results:
                buffer += rows
                progress.add(rows)
                raise_if_stopped()
                if time.monotonic() - flushed > FLUSH_SECONDS:
                    store.append(folder, buffer, made_by, shard)
                    buffer, n_files, flushed = [], n_files + 1, time.monotonic()
                    if n_files % MANY_FILES == 0:
                        store.compact(folder, made_by, shard)
    finally:
        progress.close()
        if buffer:
            store.append(folder, buffer, made_by, shard)


def _announce(todo: Plan, left: list[Run], costs: Costs) -> None:
    study = todo.study
    n_bytes = sum(todo.n_bytes(run) for run in left)
    seconds, unknown = work_left(todo, Counter((run.dataset, run.learner) for run in left), costs)
    time_needed = "nobody knows how long" if unknown else f"about {duration(seconds / n_workers(study.engine))}"
    _say(
        f"{study.folder}: {len(todo.sources)} datasets x {len(todo.params)} learners x {study.seeds} seeds"
        f"{f' x {len(study.stories)} stories' if len(study.stories) > 1 else ''}; "
        f"{len(left):,} runs to do ({n_bytes / 1e6:,.1f} MB, {time_needed})"
    )


def _refuse_missing(todo: Plan) -> None:
    suite = todo.study.suite
    if todo.missing:
        names = ", ".join(todo.missing)
        if not todo.study.skip_missing:
            first = next(iter(todo.missing.values()))
            raise ConfigError(
                f"{len(todo.missing)} of {len(suite.datasets)} datasets of suite {suite.name} are not ready: {names} "
                f"({first}). {command('prepare', todo.study)} makes them; missing=skip leaves them out"
            )
        _say(f"not ready, left out: {names}")
    if not todo.sources:
        raise ConfigError(f"suite {suite.name} has no dataset to run on (min_rows={todo.study.min_rows})")


def _refuse_full_disk(todo: Plan, left: Iterable[Run]) -> None:
    needed = 2 * sum(todo.n_bytes(run) for run in left)  # twice: files are merged into new ones
    free = shutil.disk_usage(todo.study.folder).free
    if free < needed:
        raise store.LogError(
            f"{todo.study.folder} needs about {needed / 1e6:,.0f} MB and has {free / 1e6:,.0f} MB free; "
            f"free some space, or choose another place with results=<folder>"
        )


def _summarise(todo: Plan, ours: pd.DataFrame) -> int:
    """Say what is done and what failed; return whether a run of this shard failed."""
    study = todo.study
    failed = ours[ours["status"] == "error"]
    _say(f"{study.folder}: {len(ours) - len(failed):,} of {len(todo.runs()):,} runs are done, {len(failed)} failed")
    for row in failed.head(5).itertuples():
        _say(f"  failed: {row.id}: {last_line(str(row.message))}")
    if len(failed):
        _say("  retry=errors runs the failed ones again")
    _tell_kinds(set(ours["cpu"]))
    runs = map(Run, failed["dataset"], failed["learner"], failed["seed"], failed["story"])
    return int(any(todo.in_shard(run) for run in runs))


def _tell_kinds(cpus: set[str]) -> None:
    if len(cpus) > 1:
        _say(f"warning: on more than one kind of CPU, where rewards may differ in some runs: {'; '.join(sorted(cpus))}")


def _shard(study: Study) -> str:
    part, n_parts = study.shard
    return "all" if n_parts == 1 else f"{part}of{n_parts}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    stop_on_signals()
    try:
        main(run, "run")
    finally:
        end_workers()
