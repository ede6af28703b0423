"""What is not public in joblib and Python is used where it is there; without it everything works, slower or warned."""

import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import joblib
import pytest

from experiments import alone, engine
from experiments.cli import compose
from experiments.config import study
from experiments.costs import Costs
from experiments.plan import blocks, plan

TOY = "learners=[{name:toy,_target_:toys.Toy}]"


def rewards(*overrides):
    todo = plan(study(compose([TOY, "seeds=3", "horizon=40", "suite.datasets=[wine]", *overrides])))
    work = blocks(todo, todo.runs(), Costs())
    return {row["id"]: row["rewards"] for rows in engine.execute(work, todo.study.engine) for row in rows}


def test_a_pool_is_killed_in_the_middle_of_its_work():
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    running = pool.submit(time.sleep, 1000)
    while not running.running():
        time.sleep(0.01)
    alone._kill(pool)
    assert running.exception() is not None


class Opaque:
    """A pool that shows nothing but what is documented."""

    def __init__(self, *arguments, **options):
        self._pool = ProcessPoolExecutor(*arguments, **options)
        self.submit, self.shutdown = self._pool.submit, self._pool.shutdown


def test_a_pool_without_private_parts_is_waited_for(monkeypatch):
    expected = rewards("engine=serial")
    monkeypatch.setattr(alone, "ProcessPoolExecutor", Opaque)
    assert rewards("engine.n_jobs=1") == expected
    assert len(expected) == 3


def test_a_worker_that_has_grown_is_replaced_without_a_word():
    engine.end_workers()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        grown = rewards("learners=[{name:toy,_target_:toys.Grows}]", "seeds=16", "engine.n_jobs=2")
    engine.end_workers()
    assert len(grown) == 16
    assert [str(one.message) for one in said] == []


def test_dask_works_without_the_private_backend_and_says_what_is_lost(monkeypatch, capsys):
    pytest.importorskip("distributed")
    from joblib._dask import DaskDistributedBackend

    joblib.register_parallel_backend("dask", DaskDistributedBackend)  # as a joblib that keeps it elsewhere would
    expected = rewards("engine=serial")
    monkeypatch.setitem(sys.modules, "joblib._dask", None)
    assert rewards("engine=dask", "engine.n_jobs=2") == expected
    assert "waits for ever" in capsys.readouterr().err
