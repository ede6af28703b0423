"""How blocks of runs are played: in this process, in worker processes here, or on a Dask cluster."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import Any

import joblib

from emt.extras import needs
from experiments.alone import Alone, BrokenProcessPool, depend_on
from experiments.config import ConfigError, Engine
from experiments.plan import Block
from experiments.player import Row, failure, play, timed_out

__all__ = ["end_workers", "execute", "n_workers"]


def execute(work: Iterator[Block], engine: Engine) -> Generator[list[Row], None, None]:
    """Play blocks and yield their rows of the log as they come in.

    A worker that dies takes the pool with it. Every run that was in flight is then played once more, alone in a
    process of its own; one that kills that process too is a failure, and the rest goes on in a new pool. A run that
    takes longer than ``block.timeout`` has its process ended, and is a failure at once.

    Parameters
    ----------
    work : iterator of Block
        Taken from as workers become free.
    engine : Engine
        Where to play.

    Yields
    ------
    list of dict
        The rows of a block.
    """
    if engine.name == "serial":
        yield from map(play, work)
        return
    with TemporaryDirectory(prefix="emt-", ignore_cleanup_errors=True) as marks:
        if engine.name == "local" and n_workers(engine) == 1:
            yield from _alone(work, marks, tries=2)
            return
        parent = os.getpid() if engine.name == "local" else None  # Dask looks after its own
        with _pool(engine) as death:
            while suspects := (yield from _together(work, marks, parent, death)):
                yield from _alone(suspects, marks, tries=1)


def n_workers(engine: Engine) -> int:
    """Return how many runs are played at a time; of a cluster elsewhere that is not known, and is taken as 1."""
    if engine.name == "serial" or engine.address:
        return 1
    return joblib.cpu_count() if engine.n_jobs == -1 else engine.n_jobs


def end_workers() -> None:
    """End the worker processes of this machine, whatever learners have left in them (threads that never end)."""
    try:
        from joblib.externals.loky import get_reusable_executor
    except ImportError:  # then they end by themselves
        return
    get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


def _play_in_worker(number: int, block: Block, marks: str, parent: int | None) -> tuple[int, list[Row]]:
    if parent:
        depend_on(parent)
    return number, play(block, marks, stoppable=False)


def _together(
    work: Iterator[Block], marks: str, parent: int | None, death: type[Exception]
) -> Generator[list[Row], None, list[Block]]:
    """Play blocks in a pool until none is left or a worker dies; return those that were in flight when it did."""
    in_flight: dict[int, Block] = {}
    lock = threading.Lock()  # joblib takes blocks from threads of its own
    more = True

    def tasks() -> Iterator[Any]:
        number = 0
        while True:
            with lock:
                block = next(work, None) if more else None
                if block is None:
                    return
                in_flight[number] = block
            yield joblib.delayed(_play_in_worker)(number, block, marks, parent)
            number += 1

    try:
        parallel = joblib.Parallel(batch_size=1, pre_dispatch="2*n_jobs", return_as="generator_unordered")
        for number, rows in parallel(tasks()):
            del in_flight[number]
            yield rows
    except death:
        pass
    finally:
        with lock:
            more = False
    return list(in_flight.values())


@contextmanager
def _pool(engine: Engine) -> Iterator[type[Exception]]:
    """Have joblib use the engine's workers; yield what it raises when one of them dies."""
    if engine.name == "local":
        # One that has grown by much ends between two runs and is replaced: none of a user's business.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        with joblib.parallel_config("loky", n_jobs=n_workers(engine), inner_max_num_threads=1):
            yield BrokenProcessPool
        return
    try:
        with needs("dask"):
            from experiments.cluster import KilledWorker, cluster
    except ImportError as error:
        raise ConfigError(f"engine=dask: {error}") from error
    with cluster(engine.address, n_workers(engine)) as backend, joblib.parallel_config(**backend):
        yield KilledWorker


def _alone(work: Iterable[Block], marks: str, tries: int) -> Iterator[list[Row]]:
    """Play one run at a time in a process of its own; a run that ends it every time it is tried is a failure."""
    with Alone() as process:
        for run in (run for block in work for run in block.split()):
            seed, row = run.seeds[0], None
            for _ in range(tries):
                if row := timed_out(run, seed, marks):
                    break
                with suppress(BrokenProcessPool):
                    [row] = process.call(play, run, marks, False)
                    break
            died = "its worker process died twice (out of memory, a crash in compiled code, or it was ended)"
            yield [row or timed_out(run, seed, marks) or failure(run, seed, died)]
