"""Get every dataset of a suite ready, once: ``python -m experiments.prepare suite=paper``.

The only verb that uses the network. What is prepared and intact is skipped, so it can be stopped and started at will;
what fails never stops the rest, and is listed at the end with the reason.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from omegaconf import DictConfig
from tqdm import tqdm

from emt.data import DatasetError, load, prepared
from emt.data.load import name_of
from experiments.cli import main
from experiments.config import Study

__all__ = ["prepare", "prepare_all", "verify"]

PREPARED, THERE, AGAIN, BUILT_IN, FAILED = "prepared", "already there", "prepared again", "built in", "failed"
Outcome = tuple[str, str]
MB_PER_TASK = 50, 0.5  # of the paper's, on average: as OpenML has them (up to a million rows), and prepared


def prepare(dataset: str | int) -> Outcome:
    """Get one dataset ready.

    Parameters
    ----------
    dataset : str or int
        The name of an embedded set, which needs nothing, or the id of an OpenML task.

    Returns
    -------
    outcome : str
        "prepared", "already there", "prepared again" (a broken file was set aside), "built in" or "failed".
    detail : str
        Why it failed, or which file was set aside.

    Examples
    --------
    >>> prepare("digits")
    ('built in', '')
    """
    name, outcome, detail = name_of(dataset), PREPARED, ""
    try:
        if isinstance(dataset, str):
            load(dataset)
            return BUILT_IN, ""  # or the user's own: saved is prepared
        try:
            prepared.read(name)
            outcome = THERE
        except FileNotFoundError:
            _fetch(dataset)
        except prepared.BrokenFile as error:
            outcome, detail = AGAIN, f"{error}; it is now {prepared.set_aside(name)}"
            _fetch(dataset)
        prepared.record_failure(name, None)
    except DatasetError as error:
        outcome, detail = FAILED, str(error)
    except Exception as error:  # one dataset must never stop the others
        outcome, detail = FAILED, f"unexpected {type(error).__name__}: {error}"
    if outcome == FAILED:
        prepared.record_failure(name, detail)
    return outcome, detail


def _fetch(task_id: int) -> None:
    from emt.data.openml_tasks import fetch  # the client takes a second to import: only where it is needed

    prepared.write(fetch(task_id))


def verify(dataset: str | int) -> Outcome:
    """Check one dataset without changing anything; the outcome is "intact" or "failed"."""
    try:
        load(dataset)
    except DatasetError as error:
        return FAILED, str(error)
    return "intact", ""


def _all(datasets: Iterable[str | int], do: Callable[[str | int], Outcome]) -> dict[str, Outcome]:
    outcomes = {}
    with tqdm(list(datasets), unit="dataset", disable=not sys.stderr.isatty()) as bar:
        for dataset in bar:
            bar.set_postfix_str(name_of(dataset))
            outcomes[name_of(dataset)] = do(dataset)
    return outcomes


def _summary(outcomes: dict[str, Outcome]) -> str:
    """Return a table of how many came out how, with a line for each that needs to be looked at."""
    states = [outcome for outcome, _ in outcomes.values()]
    lines = [f"{state:<16}{states.count(state):>5}" for state in sorted(set(states), key=lambda state: state == FAILED)]
    width = max(map(len, outcomes))
    return "\n".join(lines + [f"  {name:<{width}}  {detail}" for name, (_, detail) in outcomes.items() if detail])


def prepare_all(datasets: Iterable[str | int]) -> dict[str, Outcome]:
    """Get datasets ready one by one, and bring the store's manifest up to date."""
    with prepared.exclusive():
        try:
            return _all(datasets, prepare)
        finally:
            prepared.write_manifest()


def _announce(datasets: Iterable[str | int]) -> None:
    """Say what there is to fetch, before it starts."""
    left = [task for task in datasets if isinstance(task, int) and not prepared.file_of(name_of(task)).exists()]
    if left:
        cache, store = (size * len(left) / 1000 for size in MB_PER_TASK)
        print(
            f"{len(left)} OpenML tasks to fetch; the paper's take about {cache:.1f} GB in the client's cache and "
            f"{store:.1f} GB in {prepared.folder()} for so many, and from a second to some minutes each",
            file=sys.stderr,
            flush=True,
        )


def _run(study: Study, cfg: DictConfig) -> int:
    datasets = study.suite.datasets
    if not cfg.verify:
        _announce(datasets)
    outcomes = _all(datasets, verify) if cfg.verify else prepare_all(datasets)
    print(f"suite {study.suite.name}, store {prepared.folder()}\n{_summary(outcomes)}")
    return int(any(outcome == FAILED for outcome, _ in outcomes.values()))


if __name__ == "__main__":
    main(_run, "prepare", "verify")
