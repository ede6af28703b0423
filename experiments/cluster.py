"""joblib on Dask: a cluster that is running, or one that is started here."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from typing import Any

import dask
from distributed import Client, KilledWorker, LocalCluster

from experiments.checks import ConfigError

__all__ = ["KilledWorker", "cluster"]

# Run by each worker as it starts: Ctrl-C reaches the parent too, which ends its workers.
IGNORE_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"

WAIT_SECONDS = 300.0  # for workers, at the start and whenever all are gone
LOST_SECONDS = 5  # after which a worker of one's own that has not come back is replaced
POLL_SECONDS = 1.0


@contextmanager
def cluster(address: str | None, n_workers: int) -> Iterator[dict[str, Any]]:
    """Yield joblib's way to the cluster at an address, or to one with so many worker processes that ends with it."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said here, in one line
    if address:
        try:
            client = Client(address, timeout=10)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise ConfigError(f"engine.address={address}: no Dask scheduler answers there ({error})") from error
        with client, _watched(client, address) as arguments:
            yield arguments
        return
    # A run that kills its worker is tried again by the runner, alone: not by Dask, among others.
    with (
        dask.config.set(
            {"distributed.scheduler.allowed-failures": 0, "distributed.deploy.lost-worker-timeout": LOST_SECONDS}
        ),
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            preload=IGNORE_CTRL_C,
        ) as local,
        Client(local) as client,  # type: ignore[no-untyped-call]
        _kept(local, n_workers),
    ):
        yield _backend(client)


@contextmanager
def _kept(local: LocalCluster, n_workers: int) -> Iterator[None]:
    """Have a cluster start a worker for each that left it: Dask does so for those killed, not for those that end."""
    done = threading.Event()

    def keep() -> None:
        while not done.wait(POLL_SECONDS):
            if len(local.workers) < n_workers:
                local.scale(n_workers)  # type: ignore[no-untyped-call]

    keeper = threading.Thread(target=keep, daemon=True)
    keeper.start()
    try:
        yield
    finally:
        done.set()
        keeper.join(10 * POLL_SECONDS)


def _backend(client: Client) -> dict[str, Any]:
    """Return the arguments of `joblib.parallel_config` for a client.

    By itself joblib's Dask backend waits for ever for a block whose worker died. A subclass mends that; where joblib
    has no such class any more, or it works in another way, the backend is taken as it is, with a warning.
    """
    try:
        from joblib._dask import DaskDistributedBackend as Base

        Base.submit, Base.retrieve_result_callback, Base.effective_n_jobs  # noqa: B018 (are they there?)
    except (ImportError, AttributeError) as error:
        print(f"warning: this joblib waits for ever for a Dask worker that dies ({error})", file=sys.stderr)
        return {"backend": "dask", "client": client}

    class Backend(Base):  # type: ignore[misc]
        def effective_n_jobs(self, n_jobs: int) -> int:
            return max(2, int(super().effective_n_jobs(n_jobs)))  # with one worker, joblib would play here

        def submit(self, func: Any, callback: Callable[[Any], None] | None = None) -> Any:
            future = super().submit(func, callback)
            self._pending = {one for one in getattr(self, "_pending", ()) if not one.done()} | {future}
            if callback:
                future.add_done_callback(lambda done: callback(done) if done.exception() else None)
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, BaseException):  # of a block that was cancelled
                raise out
            return out.result() if isinstance(out, Future) else super().retrieve_result_callback(out)

        def fail(self, error: Exception) -> None:
            """Have all that is waited for end with an error."""
            for future in list(getattr(self, "_pending", ())):
                with suppress(InvalidStateError):
                    future.set_exception(error)

    return {"backend": Backend(client=client, wait_for_workers_timeout=WAIT_SECONDS)}


@contextmanager
def _watched(client: Client, address: str) -> Iterator[dict[str, Any]]:
    """Yield joblib's way to a cluster of others; that it is gone, or has no workers, is said in one line."""
    _wait_for_workers(client, address)
    _check_threads(client, address)
    arguments, done = _backend(client), threading.Event()
    lost: list[str] = []

    def watch() -> None:
        seen, said = time.monotonic(), False
        while not lost and not done.wait(POLL_SECONDS):
            try:
                n_workers = len(_threads(client)) if client.status == "running" else -1
            except Exception:  # of many kinds, when the scheduler is gone
                n_workers = -1
            if n_workers < 0:
                lost.append("is gone")
            elif n_workers:
                seen, said = time.monotonic(), False
            elif time.monotonic() - seen > WAIT_SECONDS:
                lost.append(f"has had no workers for {WAIT_SECONDS:.0f} seconds")
            elif not said:
                _say_waiting(address)
                said = True
        if lost and hasattr(arguments["backend"], "fail"):
            arguments["backend"].fail(RuntimeError(lost[0]))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield arguments
    except (GeneratorExit, KeyboardInterrupt, KilledWorker):
        raise
    except BaseException as error:  # a cancelled block is no Exception
        if client.status == "running" and not lost:
            raise
        problem = lost[0] if lost else "is gone"
        raise ConfigError(
            f"the Dask scheduler at {address} {problem}. The log has all that came in; "
            "when it is there again, the same command goes on"
        ) from error
    finally:
        done.set()
        watcher.join(10 * POLL_SECONDS)


def _wait_for_workers(client: Client, address: str) -> None:
    if _threads(client):
        return
    _say_waiting(address)
    try:
        client.wait_for_workers(1, timeout=WAIT_SECONDS)
    except Exception as error:
        raise ConfigError(
            f"engine.address={address}: no worker has come in {WAIT_SECONDS:.0f} seconds; "
            f"start some: dask worker {address} --nthreads 1"
        ) from error


def _threads(client: Client) -> dict[str, int]:
    """Return the number of threads of each worker."""
    threads: dict[str, int] = client.nthreads()  # type: ignore[no-untyped-call]
    return threads


def _say_waiting(address: str) -> None:
    say = f"the Dask scheduler at {address} has no workers; waiting for one, {WAIT_SECONDS:.0f} seconds at most"
    print(say, file=sys.stderr, flush=True)


def _check_threads(client: Client, address: str) -> None:
    # Vowpal Wabbit is not safe to call from several threads, and the compiled learners would only wait for each other.
    if any(n > 1 for n in _threads(client).values()):
        raise ConfigError(f"the workers at {address} have several threads each; start them with --nthreads 1")
