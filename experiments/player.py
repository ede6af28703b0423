"""What a worker does: it plays the runs of a block, each from a fresh start, and makes their rows of the log.

A learner is someone else's code. Whatever it raises is the row of its run; a process that it ends, or that is ended
because a run takes too long, is the concern of `experiments.engine`.
"""

from __future__ import annotations

import faulthandler
import json
import os
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from emt import Environment, evaluate
from emt.data import Dataset, DatasetError, load
from emt.learners.compiled import CompiledLearner
from experiments.learners import Entry, instantiate, learner_class
from experiments.memory import forget_peak, peak_memory
from experiments.plan import Block, Run, row_of, run_key
from experiments.provenance import cpu
from experiments.signals import raise_if_stopped
from experiments.store import pack
from experiments.texts import safe_text

__all__ = ["Row", "failure", "no_copies", "play", "time_limit", "timed_out", "warm_up", "warm_up_seconds"]

Row = dict[str, Any]

WARM_UP_STEPS = 8
COMPILING_SECONDS = 600.0  # that the compiled learners have for it on top of a timeout


def play(block: Block, marks: str | None = None, stoppable: bool = True) -> list[Row]:
    """Play the runs of a block; what goes wrong in a run is its row.

    Parameters
    ----------
    block : Block
        The runs.
    marks : str, optional
        The folder where a run that takes longer than ``block.timeout`` leaves a file that says so, see `timed_out`.
    stoppable : bool
        Whether a KeyboardInterrupt is Ctrl-C, and ends this; in a worker it can only be the learner's.
    """
    return [_play(block, seed, marks, stoppable) for seed in block.seeds]


def _play(block: Block, seed: int, marks: str | None, stoppable: bool) -> Row:
    started = time.perf_counter()
    with no_copies():
        try:
            return _row(block, seed, "done", **_results(block, seed, marks, stoppable))
        except BaseException as error:
            if stoppable:
                raise_if_stopped(error)
            return failure(block, seed, _message(error), time.perf_counter() - started)


def _results(block: Block, seed: int, marks: str | None, stoppable: bool) -> dict[str, Any]:
    """Play a run and return what its row says of it."""
    dataset = _load(block.source.reference)
    if dataset.fingerprint != block.source.fingerprint:
        raise DatasetError(f"{dataset.name} is not the same here as where the study was started; prepare it again")
    mark = Path(marks, _key(block, seed)) if marks else None
    with time_limit(warm_up_seconds(block.learner, block.timeout), mark):
        warm_up(block.learner, dataset, stoppable)
    environment = Environment(dataset, seed, block.horizon, block.story)
    with time_limit(block.timeout, mark):
        forget_peak()
        learner = instantiate(block.learner)
        started = time.perf_counter()
        rewards = np.asarray(evaluate(learner, environment))
        seconds, peak = time.perf_counter() - started, peak_memory()
        if rewards.shape != (len(environment),) or not ((rewards == 0) | (rewards == 1)).all():
            raise ValueError(f"learner {block.learner.name} gave no 0 or 1 for each of {len(environment)} steps")
        measured = {"seconds": seconds, "peak_memory": peak}
        told = {"message": _note(learner), "measures": _measures(learner)}
        return {"rewards": pack(rewards), "n_steps": len(rewards)} | measured | told


def failure(block: Block, seed: int, message: str, seconds: float = 0.0) -> Row:
    """Return the row of a run that failed."""
    return _row(block, seed, "error", message=message, seconds=seconds, peak_memory=0, n_steps=0, rewards=b"")


def _row(block: Block, seed: int, status: str, **results: Any) -> Row:
    run = Run(block.source.name, block.learner.name, seed, block.story)
    known = row_of(block.source, run, _key(block, seed), block.params)
    return known | results | {"status": status, "cpu": cpu(), "ended": time.time()}


def _key(block: Block, seed: int) -> str:
    return run_key(block.source.fingerprint, block.horizon, block.params, seed, block.story)


def _note(learner: Any) -> str:
    try:
        return safe_text(learner.note)
    except Exception as error:  # the rewards are as good without it
        return f"its note cannot be read: {type(error).__name__}"


def _measures(learner: Any) -> str:
    try:
        return json.dumps({str(name): float(value) for name, value in learner.measures.items()}, allow_nan=False)
    except Exception:  # the rewards are as good without them
        return "{}"


def _message(error: BaseException) -> str:
    try:
        return safe_text("".join(traceback.format_exception(error)[-4:]).strip())
    except BaseException as another:  # the learner's own exception may be wrong in every way
        return f"{type(error).__name__}, whose text cannot be had: {type(another).__name__}"


@lru_cache(maxsize=4)  # blocks of one dataset tend to follow each other
def _load(reference: str | int) -> Dataset:
    dataset = load(reference)
    for array in (dataset.numeric, dataset.categorical, dataset.labels):
        array.flags.writeable = False  # the next learner has the same
    return dataset


_warm: set[tuple[str, str]] = set()  # learners that this process has played, but for their numbers, and on what


def warm_up(entry: Entry, dataset: Dataset, stoppable: bool = True) -> None:
    """Play a few steps of a dataset with the first learner of its kind, so that loading and compiling count for no run.

    Kernels are compiled for a class and its choices, such as ``explore`` and ``ridge``, whatever its numbers are; and
    for the parts that it is made of, which may depend on the dataset.
    """
    numbers = {key for key, value in entry.config.items() if type(value) in (int, float)}  # True is no number
    choices = {key: value for key, value in entry.config.items() if key not in numbers}
    if (kind := (json.dumps(choices, sort_keys=True, default=str), dataset.fingerprint)) in _warm:
        return
    _warm.add(kind)
    with no_copies():
        try:
            evaluate(instantiate(entry), Environment(dataset, seed=0, horizon=WARM_UP_STEPS))
        except BaseException as error:  # what is wrong with a learner will stand in the rows of its runs
            if stoppable:
                raise_if_stopped(error)


@contextmanager
def no_copies() -> Iterator[None]:
    """End the copy of this process that a learner may have forked, when it gets here."""
    process = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != process:
            os._exit(1)


def warm_up_seconds(entry: Entry, timeout: float | None) -> float | None:
    """Return how long a learner may take to be loaded, and compiled if need be, before its first run."""
    if timeout is None:
        return None
    return timeout + COMPILING_SECONDS * issubclass(learner_class(entry), CompiledLearner)


@contextmanager
def time_limit(seconds: float | None, mark: Path | None) -> Iterator[None]:
    """End this process, whatever it is busy with, when it takes longer; the mark then says where it was."""
    if seconds is None:
        yield
        return
    with open(mark if mark and mark.parent.is_dir() else os.devnull, "w") as file:
        faulthandler.dump_traceback_later(seconds, exit=True, file=file)
        try:
            with no_copies():  # in a copy there is no one to answer the next call
                yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def timed_out(block: Block, seed: int, marks: str) -> Row | None:
    """Return the row of a run whose process was ended because it took too long, or None."""
    try:
        where = Path(marks, _key(block, seed)).read_text(errors="replace")
    except OSError:
        return None
    if not where or block.timeout is None:
        return None
    reason = f"TimeoutError: the run took longer than timeout={block.timeout:g} seconds, and its process was ended"
    return failure(block, seed, safe_text(f"{where.strip()}\n{reason}"), block.timeout)
