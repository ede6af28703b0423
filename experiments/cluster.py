"""joblib on Dask: a cluster that is running, or one that is started here."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, KilledWorker, LocalCluster

from experiments.checks import ConfigError

__all__ = ["KilledWorker", "cluster"]

# Run by each worker as it starts: Ctrl-C reaches the parent too, which ends its workers.
IGNORE_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


def _backend(client: Client) -> dict[str, Any]:
    """Return the arguments of `joblib.parallel_config` for a client.

    By itself joblib's Dask backend waits for ever for a block whose worker died. A subclass mends that; where joblib
    has no such class any more, or it works in another way, the backend is taken as it is, with a warning.
    """
    try:
        from joblib._dask import DaskDistributedBackend as Base

        Base.submit, Base.retrieve_result_callback  # noqa: B018 (is it there?)
    except (ImportError, AttributeError) as error:
        print(f"warning: this joblib waits for ever for a Dask worker that dies ({error})", file=sys.stderr)
        return {"backend": "dask", "client": client}

    class Backend(Base):  # type: ignore[misc]
        def submit(self, func: Any, callback: Callable[[Any], None] | None = None) -> Any:
            future = super().submit(func, callback)
            if callback:
                future.add_done_callback(lambda done: callback(done) if done.exception() else None)
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            return out.result() if isinstance(out, Future) else super().retrieve_result_callback(out)

    return {"backend": Backend(client=client)}


@contextmanager
def cluster(address: str | None, n_workers: int) -> Iterator[dict[str, Any]]:
    """Yield joblib's way to the cluster at an address, or to one with so many worker processes that ends with it."""
    if address:
        try:
            client = Client(address, timeout=10)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise ConfigError(f"engine.address={address}: no Dask scheduler answers there ({error})") from error
        with client:
            _check_threads(client, address)
            yield _backend(client)
        return
    # A run that kills its worker is tried again by the runner, alone: not by Dask, among others.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            preload=IGNORE_CTRL_C,
        ) as local,
        Client(local) as client,  # type: ignore[no-untyped-call]
    ):
        yield _backend(client)


def _check_threads(client: Client, address: str) -> None:
    # Vowpal Wabbit is not safe to call from several threads, and the compiled learners would only wait for each other.
    if any(n > 1 for n in client.nthreads().values()):  # type: ignore[no-untyped-call]
        raise ConfigError(f"the workers at {address} have several threads each; start them with --nthreads 1")
