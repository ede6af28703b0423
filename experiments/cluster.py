"""joblib on Dask: a cluster that is running, or one that is started here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, KilledWorker, LocalCluster
from joblib._dask import DaskDistributedBackend

from experiments.config import ConfigError

__all__ = ["KilledWorker", "cluster"]

# Run by each worker as it starts: the parent hears Ctrl-C too, and ends its workers.
DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


class _Backend(DaskDistributedBackend):
    """joblib's Dask backend, which by itself waits for ever for a block whose worker died."""

    def submit(self, func: Any, callback: Callable[[Any], None] | None = None) -> Future:
        future = super().submit(func, callback)
        if callback:
            future.add_done_callback(lambda done: callback(done) if done.exception() else None)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        return out.result() if isinstance(out, Future) else super().retrieve_result_callback(out)


@contextmanager
def cluster(address: str | None, n_workers: int) -> Iterator[_Backend]:
    """Yield joblib's way to the cluster at an address, or to one with so many worker processes that ends with it."""
    if address:
        try:
            client = Client(address, timeout=10)
        except (OSError, ValueError) as error:
            raise ConfigError(f"engine.address={address}: no Dask scheduler answers there ({error})") from error
        with client:
            _check_threads(client, address)
            yield _Backend(client=client)
        return
    # A run that kills its worker is tried again by the runner, alone: not by Dask, among others.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            preload=DEAF,
        ) as local,
        Client(local) as client,
    ):
        yield _Backend(client=client)


def _check_threads(client: Client, address: str) -> None:
    # Vowpal Wabbit is not safe to call from several threads, and the compiled learners would only wait for each other.
    if any(n > 1 for n in client.nthreads().values()):
        raise ConfigError(f"the workers at {address} have several threads each; start them with --nthreads 1")
