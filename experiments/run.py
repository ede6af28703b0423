"""Run a study: ``python -m experiments.run experiment=unbounded suite=embedded``.

Skips what is in the log already, so the same command goes on where it was stopped.
"""

from __future__ import annotations

import math
import shlex
import shutil
import signal
import sys
import time
from collections import Counter
from contextlib import closing
from typing import Any

from omegaconf import DictConfig

from experiments import store
from experiments.cli import main
from experiments.config import ConfigError, Study, plain
from experiments.engine import execute, n_workers
from experiments.plan import Costs, Plan, Run, blocks, plan
from experiments.progress import Progress, duration, work_left
from experiments.provenance import provenance
from experiments.rehearsal import known_costs, rehearse

__all__ = ["run"]

FLUSH_SECONDS = 2.0  # of results at most are lost when everything is killed
MANY_FILES = 100


def run(study: Study, cfg: DictConfig) -> None:
    """Play every run of a study that its log does not have.

    Parameters
    ----------
    study : Study
        What to run.
    cfg : DictConfig
        The whole config, kept with the results.
    """
    todo = plan(study)
    _refuse_missing(todo)
    with store.writer(study.folder, _shard(study)):
        _refuse_mismatch(todo)
        log = store.read(study.folder)
        made_by = provenance() | {"identity": todo.identity, "config": plain(cfg)}
        store.write_manifest(study.folder, manifest(todo) | made_by)
        tried = log[log["status"] == "done"] if study.retry else log
        if left := [run for run in todo.left(tried) if todo.in_shard(run)]:
            _refuse_full_disk(todo, left)
            try:
                costs = rehearse(todo, known_costs(log))
                _announce(todo, left, costs)
                _work(todo, left, costs, made_by)
            except KeyboardInterrupt:
                _say(f"stopped; the log has all that is done. To go on: {command()}")
                sys.exit(130)
        store.compact(study.folder, made_by, _shard(study))
    _summarise(todo)


def command() -> str:
    """Return the command line that was given."""
    return shlex.join(["python", "-m", "experiments.run", *sys.argv[1:]]).replace("++learner.", "learner.")


def manifest(todo: Plan) -> dict[str, Any]:
    """Return what a study's folder is meant to hold."""
    return {
        "experiment": todo.study.name,
        "suite": todo.study.suite.name,
        "learners": list(todo.params),
        "seeds": todo.study.seeds,
        "horizon": todo.study.horizon,
        "datasets": {source.name: source.n_rows for source in todo.sources.values()},
        "missing": todo.missing,
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
        f"{study.folder}: {len(todo.sources)} datasets x {len(todo.params)} learners x {study.seeds} seeds; "
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
                f"({first}). python -m experiments.prepare suite={suite.name} makes them; missing=skip leaves them out"
            )
        _say(f"not ready, left out: {names}")
    if not todo.sources:
        raise ConfigError(f"suite {suite.name} has no dataset to run on (min_rows={suite.min_rows})")


def _refuse_mismatch(todo: Plan) -> None:
    study = todo.study
    for logged in store.identities(study.folder):
        if differences := _differences(logged, todo.identity):
            raise ConfigError(
                f"{study.folder} has runs of another study: {'; '.join(differences)}. Give this one a name of its own "
                f"(name={study.name}_2) or another place (results=<folder>), or remove {study.folder}"
            )


def _differences(logged: Any, ours: Any, path: str = "") -> list[str]:
    """Name the keys whose values differ; learners and datasets that only one of the two has are no difference."""
    if not (isinstance(logged, dict) and isinstance(ours, dict)):
        return [] if logged == ours else [f"{path} is {logged} there and {ours} here"]
    grows = path in ("learners", "datasets")
    keys = [key for key in logged | ours if not grows or (key in logged and key in ours)]
    here = f"{path}." if path else ""
    return [
        line for key in keys for line in _differences(logged.get(key, "not set"), ours.get(key, "not set"), here + key)
    ]


def _refuse_full_disk(todo: Plan, left: list[Run]) -> None:
    needed = 2 * sum(todo.n_bytes(run) for run in left)  # twice: files are merged into new ones
    free = shutil.disk_usage(todo.study.folder).free
    if free < needed:
        raise store.LogError(
            f"{todo.study.folder} needs about {needed / 1e6:,.0f} MB and has {free / 1e6:,.0f} MB free; "
            f"free some space, or choose another place with results=<folder>"
        )


def _summarise(todo: Plan) -> None:
    study = todo.study
    ours = todo.of_study(store.read(study.folder))
    failed = ours[ours["status"] == "error"]
    _say(f"{study.folder}: {len(ours) - len(failed):,} of {len(todo.runs()):,} runs are done, {len(failed)} failed")
    for row in failed.head(5).itertuples():
        _say(f"  failed: {row.id}: {str(row.message).splitlines()[-1]}")
    if len(failed):
        _say("  retry=errors runs the failed ones again")


def _shard(study: Study) -> str:
    part, n_parts = study.shard
    return "all" if n_parts == 1 else f"{part}of{n_parts}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # Ctrl-C, as batch queues say it
    main(run)
