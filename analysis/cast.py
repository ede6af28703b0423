"""Who is in a report: the learners' names, order, labels and parameters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from experiments.learners import Entry

__all__ = ["LABELS", "MANY", "Cast", "Member", "cast_of"]

MANY = 12  # learners: of more, not each is told of in a sentence, nor drawn against every other

# name of the config: label in print, in the order of the tables
LABELS = {
    "pemt_plus": "PEMT+",
    "pcmt_plus": "PCMT+",
    "pemt": "PEMT",
    "emt": "EMT",
    "pcmt": "PCMT",
    "cmt": "CMT",
    "parametric": "Parametric",
    "knn": "kNN",
    "ridge": "Ridge",
    "linucb": "LinUCB",
    "emt_not_self_consistent": "EMT, not self-consistent",
    "emt_as_printed": "EMT as printed",
    "pemt_as_printed": "PEMT as printed",
    "emt_random_router": "EMT, random router",
    "emt_audited": "EMT, audited",
    "vw_parametric": "VW parametric",
    "vw_emt": "VW EMT",
    "vw_pemt": "VW PEMT",
    "vw_cmt": "VW CMT",
    "vw_pcmt": "VW PCMT",
}


@dataclass(frozen=True)
class Member:
    """A learner of a report.

    Attributes
    ----------
    base : str
        The name of its file in ``conf/learner``, or its own.
    varied : mapping
        The parameters that its name says beside that, with their values.
    params : mapping
        Its class and all its parameters, as the log has them; empty where the log has no run of it.
    """

    base: str
    varied: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cast:
    """The learners of a report by their names.

    Examples
    --------
    >>> params = {"class": "PEMT", "epsilon": 0.1}
    >>> cast = Cast({
    ...     "parametric": Member("parametric"),
    ...     "pemt[budget=1000]": Member("pemt", {"budget": 1000}, params | {"budget": 1000}),
    ...     "small": Member("small", {}, params | {"budget": 64}),
    ... })
    >>> [cast.label(name) for name in cast.order()]
    ['PEMT, 1,000 memories', 'Parametric', 'small']
    >>> cast.families("budget")
    [['pemt[budget=1000]', 'small']]
    """

    members: Mapping[str, Member]

    def label(self, name: str, but: str = "") -> str:
        """Return a learner's name in print, without one of its parameters if need be."""
        member = self.members.get(name, Member(name))
        said = [_words(key, value) for key, value in member.varied.items() if key != but]
        return ", ".join([LABELS.get(member.base, member.base), *said])

    def order(self, names: Iterable[str] | None = None) -> list[str]:
        """Return some learners, or all, in the order of the paper's tables; others after them as the study has them."""
        chosen = set(self.members if names is None else names)
        places = {base: place for place, base in enumerate(LABELS)}
        known = [name for name in self.members if name in chosen]
        return sorted(known, key=lambda name: places.get(self.members[name].base, len(places)))

    def only(self, names: Iterable[str]) -> Cast:
        """Return these learners alone."""
        chosen = set(names)
        return Cast({name: member for name, member in self.members.items() if name in chosen})

    def value(self, name: str, parameter: str) -> Any:
        """Return the value of a learner's parameter."""
        return self.members[name].params.get(parameter)

    def families(self, parameter: str) -> list[list[str]]:
        """Return the learners that have a parameter, those together that differ in nothing else, in order."""
        groups: dict[str, list[str]] = {}
        for name in self.order():
            params = dict(self.members[name].params)
            if parameter in params:
                del params[parameter]
                groups.setdefault(json.dumps(params, sort_keys=True), []).append(name)
        return list(groups.values())

    def budgets(self) -> list[list[str]]:
        """Return the families of learners with a budget, each from the largest down; no limit comes first."""
        families = [family for family in self.families("budget") if any(self.value(name, "budget") for name in family)]
        return [sorted(family, key=self.budget, reverse=True) for family in families]

    def largest(self, name: str) -> str:
        """Return the learner with the largest budget of those that differ in budget and eviction alone.

        Examples
        --------
        >>> sizes = {"all": (None, "lru"), "old": (1000, "fifo"), "unused": (1000, "lru")}
        >>> params = {key: {"budget": budget, "eviction": how} for key, (budget, how) in sizes.items()}
        >>> Cast({key: Member("pemt", {}, one) for key, one in params.items()}).largest("old")
        'all'
        """
        rest = {one: {**self.members[one].params, "budget": None, "eviction": None} for one in self.order()}
        return max((one for one in rest if rest[one] == rest[name]), key=self.budget)

    def budget(self, name: str) -> float:
        """Return how many memories a learner may keep, infinity where there is no limit."""
        budget = self.value(name, "budget")
        return float("inf") if budget is None else float(budget)


def cast_of(learners: Mapping[str, Entry], log: pd.DataFrame) -> Cast:
    """Return the learners of a study with their parameters in its log.

    Parameters
    ----------
    learners : mapping of str to Entry
        Of the study.
    log : DataFrame
        The run log, as `experiments.store.read` returns it.
    """
    logged = dict(zip(log["learner"], log["params"], strict=True))
    params = {name: json.loads(text) for name, text in logged.items()}
    return Cast({name: Member(entry.base, entry.varied, params.get(name, {})) for name, entry in learners.items()})


def _words(parameter: str, value: Any) -> str:
    """Say a parameter's value in print."""
    if parameter == "budget":
        return "no budget" if value is None else f"{value:,} memories"
    if parameter == "eviction":
        return str(value).upper()
    if value is False or (parameter, value) == ("neighbours", 0):
        return f"{'not' if parameter.endswith('ed') else 'no'} {parameter}"
    if value is True:
        return parameter if parameter.endswith("ed") else f"with {parameter}"
    said = f"{value:,}" if isinstance(value, int) else value
    return f"{parameter.replace('_', ' ')} {'none' if value is None else said}"
