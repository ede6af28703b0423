"""The learners of a study: from the entries of its list to configs under names that say what varies."""

from __future__ import annotations

import inspect
import itertools
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import hydra
from omegaconf import OmegaConf

from emt.arguments import nearest
from emt.learners.base import Learner
from experiments.checks import CONF, ConfigError, check_keys, check_name, check_unique, choices, plain
from experiments.texts import safe_text

__all__ = ["Entry", "instantiate", "learner_class", "learners", "params_of", "sweep"]


@dataclass(frozen=True)
class Entry:
    """A learner of a study: what makes it, and what its name says.

    Attributes
    ----------
    config : dict
        ``_target_``, the class, and its parameters.
    base : str
        The name of its file in ``conf/learner``, or its own.
    varied : dict
        The parameters that its name has in brackets, with their values.
    """

    config: dict[str, Any]
    base: str
    varied: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its runs.

        Examples
        --------
        >>> Entry({}, "pemt", {"budget": 1000, "eviction": "fifo"}).name
        'pemt[budget=1000,eviction=fifo]'
        """
        values = ",".join(f"{key}={_text(self.base, key, value)}" for key, value in self.varied.items())
        return f"{self.base}[{values}]" if values else self.base


def learners(entries: Any) -> dict[str, Entry]:
    """Return the learners of a list by their names.

    Parameters
    ----------
    entries : list
        Of names of files in ``conf/learner`` (``emt``), of such files with other values (``{learner: pemt, budget:
        [1000, 2000]}``), and of learners without a file (``{name: mine, _target_: mine.Linear}``). A list of values
        makes a learner for each, several lists one for each combination. A value is a part of the name, unless the
        entry has a name of its own and gives no other value of that parameter.

    Returns
    -------
    dict of str to Entry

    Examples
    --------
    >>> list(learners(["emt", {"learner": "pemt", "budget": [1000, 2000]}]))
    ['emt', 'pemt[budget=1000]', 'pemt[budget=2000]']
    """
    if not isinstance(entries, list) or not entries:
        raise ConfigError("learners must be a list of names of files in conf/learner, e.g. learners=[emt,pemt]")
    found = [learner for entry in entries for learner in _variants(entry)]
    check_unique([learner.name for learner in found], "learners")
    return {learner.name: learner for learner in found}


def sweep(study: dict[str, Entry], values: dict[str, Any]) -> dict[str, Entry]:
    """Give parameters to the learners that have them, as ``learner.epsilon=0.05`` does; their names stay.

    So a value that a name has in brackets is refused, and so are values that make two learners the same.
    """
    parameters = {known: _parameters(learner) for known, learner in study.items()}
    everything = {parameter for known in parameters.values() for parameter in known}
    for key in values:
        if key not in everything:
            raise ConfigError(f"learner.{key}: no learner of the study has this parameter; {nearest(key, everything)}")
        if named := [known for known, learner in study.items() if key in learner.varied]:
            raise ConfigError(
                f"learner.{key}={values[key]}: the study gives values of its own to {', '.join(named)}; "
                "choose the learners too, e.g. learners=[emt,pemt]"
            )
    changed = {
        known: replace(learner, config=learner.config | {k: v for k, v in values.items() if k in parameters[known]})
        for known, learner in study.items()
    }
    before, after = ({known: params_of(learner) for known, learner in of.items()} for of in (study, changed))
    for one, other in itertools.combinations(study, 2):
        if after[one] == after[other] and before[one] != before[other]:
            given = " ".join(f"learner.{key}={value}" for key, value in values.items())
            raise ConfigError(
                f"{given} makes {one} and {other} the same; choose the learners too: learners=[{one},...]"
            )
    return changed


def learner_class(entry: Entry) -> type[Learner]:
    """Return the class of a learner; asked for first, so that nothing else is ever constructed."""
    target = entry.config.get("_target_")
    with _refusing(entry):
        kind = hydra.utils.get_class(str(target))
    if not issubclass(kind, Learner):
        raise ConfigError(f"learner {entry.name}: {target} is not a subclass of emt.learners.base.Learner")
    return kind


def instantiate(entry: Entry) -> Learner:
    """Make a learner from its config; by hand, for Hydra's own way takes longer than a short run."""
    kind = learner_class(entry)
    with _refusing(entry):
        return kind(**{key: value for key, value in entry.config.items() if key != "_target_"})


def params_of(entry: Entry) -> dict[str, Any]:
    """Return a learner's identity, which the log must be able to hold."""
    learner = instantiate(entry)
    with _refusing(entry):
        return dict(json.loads(json.dumps(learner.params)))


@contextmanager
def _refusing(entry: Entry) -> Iterator[None]:
    """Say in one line which learner it is whose module or class raises, be it SystemExit."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        text = " ".join(safe_text(error).split()) or type(error).__name__
        raise ConfigError(f"learner {entry.name}: {text}") from error


def _variants(entry: Any) -> list[Entry]:
    """Return the learners of one entry, one for each combination of the values it gives."""
    if not isinstance(entry, dict):
        return [Entry(_file(entry), entry)]
    given = dict(entry)
    own_name = check_name(given.pop("name"), "learners: name") if "name" in given else None
    config: dict[str, Any] = {}
    if "learner" in given and "_target_" not in given:
        base = str(given.pop("learner"))
        config, base = _file(base), own_name or base
    elif "_target_" in given and "learner" not in given and own_name:
        config, base = {"_target_": given.pop("_target_")}, own_name
    else:
        raise ConfigError(f"learners: {entry} must have either learner (a file in conf/learner), or name and _target_")
    for key, values in given.items():
        if values == []:
            raise ConfigError(f"learners: {base}: {key} has no value")
    lists = [values if isinstance(values, list) else [values] for values in given.values()]
    in_name = [key for key, values in given.items() if isinstance(values, list) or not own_name]
    combinations = [dict(zip(given, values, strict=True)) for values in itertools.product(*lists)]
    return [Entry(config | values, base, {key: values[key] for key in in_name}) for values in combinations]


def _file(learner: Any) -> dict[str, Any]:
    if learner not in choices("learner"):
        raise ConfigError(
            f"learners: there is no conf/learner/{learner}.yaml; {nearest(str(learner), choices('learner'))}"
        )
    values: dict[str, Any] = plain(OmegaConf.load(CONF / "learner" / f"{learner}.yaml"))
    return values


def _parameters(entry: Entry) -> list[str]:
    """Return the parameters that a learner's class takes, all of which its config may hold, and no others."""
    kind = learner_class(entry)
    with _refusing(entry):
        known = [*inspect.signature(kind).parameters]
    check_keys(entry.config, ["_target_", *known], f"learner {entry.name}: ")
    return known


def _text(base: str, key: str, value: Any) -> str:
    """Return a value as it stands in a name."""
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    if not re.fullmatch(r"[\w.+-]+", text):
        raise ConfigError(
            f"learners: {key}={text} cannot be a part of a name; give this learner one of its own: "
            f"{{name: ..., learner: {base}, {key}: ...}}"
        )
    return text
