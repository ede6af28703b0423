"""What there is to study: the learners of ``conf/learner`` and the datasets that are here, as tables for a terminal."""

from __future__ import annotations

import inspect

from omegaconf import OmegaConf
from tabulate import tabulate

from emt.data import DatasetError, load, prepared
from emt.data.embedded import EMBEDDED
from emt.data.load import names
from emt.data.nasty import NASTY
from experiments.checks import CONF, choices, plain
from experiments.learners import learner_class, learners

__all__ = ["datasets_text", "learners_text"]


def learners_text() -> str:
    """Return a list of the learners: what each is, its class, and every parameter with its default."""
    lines = []
    for name in choices("learner"):
        about = (CONF / "learner" / f"{name}.yaml").read_text().partition("\n")[0].lstrip("# ")
        entry = learners([name])[name]
        kind = learner_class(entry)
        parameters = inspect.signature(kind).parameters
        values = {key: entry.config.get(key, parameter.default) for key, parameter in parameters.items()}
        given = ", ".join(f"{key}={'null' if value is None else value}" for key, value in values.items())
        lines += [f"{name}: {about}", f"    {entry.config['_target_']}: {given}"]
    more = "'learners=[emt,{learner:pemt,budget:1000}]' chooses; {name:mine,_target_:mine.Learner} is your own"
    return "\n".join([*lines, "", more])


def datasets_text() -> str:
    """Return a table of the datasets that need no network: built in, your own and prepared; and the suites."""
    own = [name for name in names() if name not in EMBEDDED and name not in NASTY]
    tasks = list(prepared.folder().glob("task-*.parquet"))
    rows, broken = [], []
    for name in [*EMBEDDED, *own]:
        try:
            dataset = load(name)
        except DatasetError as error:
            broken.append(f"{name}: {error}")
            continue
        sizes = (len(dataset), dataset.numeric.shape[1], dataset.categorical.shape[1], dataset.n_classes)
        rows.append([name, *sizes])
    suites = []
    for name in choices("suite"):
        suite = plain(OmegaConf.load(CONF / "suite" / f"{name}.yaml"))
        suites.append(f"{name} ({len(suite['datasets'])})")
    return "\n".join(
        [
            tabulate(rows, ["dataset", "rows", "numbers", "categories", "classes"]),
            *broken,
            "",
            f"prepared OpenML tasks in {prepared.folder()}: {len(tasks)}",
            f"suites (suite=...): {', '.join(suites)}",
            "emt.data.save adds your own; emt prepare suite=<name> fetches the OpenML tasks of a suite",
        ]
    )
