"""How blocks of runs are played: in this process, in worker processes here, or on a Dask cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache, lru_cache
from multiprocessing import get_context
from typing import Any

import joblib
import numpy as np

from emt import Environment, evaluate
from emt.data import Dataset, DatasetError, load
from experiments.config import ConfigError, Engine
from experiments.learners import instantiate
from experiments.plan import Block, Run, row_of, run_key
from experiments.provenance import cpu
from experiments.store import pack

__all__ = ["execute", "n_workers", "play"]

Row = dict[str, Any]


def execute(work: Iterator[Block], engine: Engine) -> Generator[list[Row], None, None]:
    """Play blocks and yield their rows of the log as they come in.

    A worker that dies takes the pool with it. Every run that was in flight is then played once more, alone in a
    process of its own; one that kills that process too is a failure, and the rest goes on in a new pool.

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
    elif engine.name == "local" and n_workers(engine) == 1:
        yield from _alone(work, tries=2)
    else:
        parent = os.getpid() if engine.name == "local" else None  # Dask looks after its own
        with _pool(engine) as death:
            while suspects := (yield from _together(work, parent, death)):
                yield from _alone(suspects, tries=1)


def n_workers(engine: Engine) -> int:
    """Return how many runs are played at a time; of a cluster elsewhere that is not known, and is taken as 1."""
    if engine.name == "serial" or engine.address:
        return 1
    return joblib.cpu_count() if engine.n_jobs == -1 else engine.n_jobs


def play(block: Block) -> list[Row]:
    """Play the runs of a block, each from a fresh start; what goes wrong in a run is its row."""
    return [_play(block, seed) for seed in block.seeds]


def _play(block: Block, seed: int) -> Row:
    started = time.perf_counter()
    try:
        dataset = _load(block.source.reference)
        if dataset.fingerprint != block.source.fingerprint:
            raise DatasetError(f"{dataset.name} is not the same here as where the study was started; prepare it again")
        learner = instantiate(block.learner)
        environment = Environment(dataset, seed, block.horizon)
        started = time.perf_counter()
        rewards = np.asarray(evaluate(learner, environment))
        seconds = time.perf_counter() - started
        if rewards.shape != (len(environment),) or not ((rewards == 0) | (rewards == 1)).all():
            raise ValueError(f"learner {block.learner.name} gave no 0 or 1 for each of {len(environment)} steps")
    except Exception as error:
        lines = traceback.format_exception(error)
        return _row(block, seed, "error", "".join(lines[-4:]).strip(), time.perf_counter() - started)
    return _row(block, seed, "done", learner.note, seconds, rewards)


def _row(block: Block, seed: int, status: str, message: str, seconds: float, rewards: np.ndarray | None = None) -> Row:
    key = run_key(block.source.fingerprint, block.horizon, block.params, seed)
    return {
        **row_of(block.source, Run(block.source.name, block.learner.name, seed), key, block.params),
        "status": status,
        "message": message,
        "n_steps": 0 if rewards is None else len(rewards),
        "rewards": b"" if rewards is None else pack(rewards),
        "seconds": seconds,
        "cpu": cpu(),
    }


@lru_cache(maxsize=4)  # blocks of one dataset tend to follow each other
def _load(reference: str | int) -> Dataset:
    return load(reference)


def _play_in_worker(number: int, block: Block, parent: int | None) -> tuple[int, list[Row]]:
    if parent:
        _depend_on(parent)
    return number, play(block)


@cache
def _depend_on(parent: int) -> None:
    """Make this a worker that ends with its parent, however that ends, and by nothing else."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which ends its workers

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _together(
    work: Iterator[Block], parent: int | None, death: type[Exception]
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
            yield joblib.delayed(_play_in_worker)(number, block, parent)
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
        with joblib.parallel_config("loky", n_jobs=n_workers(engine), inner_max_num_threads=1):
            yield BrokenProcessPool
        return
    try:
        from experiments.cluster import KilledWorker, cluster
    except ImportError as error:
        raise ConfigError(f"engine=dask needs dask: pip install 'dask[distributed]' ({error})") from error
    with cluster(engine.address, n_workers(engine)) as backend, joblib.parallel_config(**backend):
        yield KilledWorker


def _alone(work: Iterable[Block], tries: int) -> Iterator[list[Row]]:
    """Play one run at a time in a process of its own; a run that kills it every time it is tried is a failure."""
    pool = None
    try:
        for run in (run for block in work for run in block.split()):
            for _ in range(tries):
                pool = pool or ProcessPoolExecutor(1, mp_context=get_context("spawn"))
                try:
                    _, rows = pool.submit(_play_in_worker, 0, run, os.getpid()).result()
                    break
                except BrokenProcessPool:
                    pool = None
            else:
                message = "its worker process died twice (out of memory, or a crash in compiled code)"
                rows = [_row(run, run.seeds[0], "error", message, 0.0)]
            yield rows
    finally:
        if pool:
            _kill(pool)


def _kill(pool: ProcessPoolExecutor) -> None:
    """End a pool at once; where Python has no way to, after the run that it is at."""
    if hasattr(pool, "kill_workers"):  # from Python 3.14 on
        pool.kill_workers()
    for process in (getattr(pool, "_processes", None) or {}).values():
        process.kill()
    pool.shutdown(cancel_futures=True)
