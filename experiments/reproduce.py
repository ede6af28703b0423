"""Prepare, run and report all experiments of a study: ``python -m experiments.reproduce study=embedded``.

Each step is a command that can be given by hand, and is printed before it is given. Stopped at any moment, the same
command goes on where it was.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig

from experiments.checks import CONF, ConfigError, check_choice, check_keys, check_whole, plain
from experiments.cli import answer_options, compose, report_errors
from experiments.config import study
from experiments.signals import stop_on_signals
from experiments.verbs import start_words, subprocess_words

__all__ = ["Step", "reproduce", "steps"]

VERBS = ["prepare", "run", "report", "status"]
KEYS = ["suite", "seeds", "experiments", "verbs", "results", "n_jobs", "report"]
SOME_FAILED, REFUSED, STOPPED = 1, 2, 130  # exit statuses of the verbs


@dataclass(frozen=True)
class Step:
    """A command: what every verb of an experiment is given, the page that its report writes, and what is its own."""

    verb: str
    words: tuple[str, ...]
    page: Path | None = None
    own: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command for readers, ready to be pasted.

        Examples
        --------
        >>> Step("run", ("experiment=ablation", "learners=[emt,pemt]")).command
        "python -m experiments.run experiment=ablation 'learners=[emt,pemt]'"
        """
        return shlex.join([*start_words(self.verb), *self.words, *self.own])


def steps(cfg: DictConfig) -> list[list[Step]]:
    """Return the commands of a study: those of the preparation, then those of each experiment.

    An experiment may give values of its own: whatever its command takes; seeds, of which it then has so many at most;
    and suites, which of a suite's parts it is run on (``{paper: paper_drift}``). Every command is checked here, before
    the first is given.

    Examples
    --------
    >>> for group in steps(compose(["study=paper", "seeds=5"], "reproduce")):
    ...     print(group[0].command)
    python -m experiments.prepare suite=paper
    python -m experiments.run experiment=unbounded suite=paper seeds=5 results=results missing=skip
    python -m experiments.run experiment=ablation suite=paper seeds=5 results=results missing=skip
    python -m experiments.run experiment=bounded suite=paper seeds=5 results=results missing=skip
    python -m experiments.run experiment=capacity suite=paper seeds=5 results=results missing=skip
    python -m experiments.run experiment=details suite=paper seeds=5 results=results missing=skip
    python -m experiments.run experiment=drift suite=paper_drift seeds=5 results=results missing=skip
    python -m experiments.run experiment=search suite=paper_search seeds=5 results=results missing=skip
    python -m experiments.run experiment=explore suite=paper_search seeds=5 results=results missing=skip
    python -m experiments.run experiment=plus suite=paper seeds=5 results=results missing=skip
    """
    values = plain(cfg)
    check_keys(values, KEYS, "", required=KEYS)
    for key in ("verbs", "experiments"):
        if not isinstance(values[key], list) or not values[key]:
            raise ConfigError(f"{key}={values[key]}: must be a list, e.g. {key}={plain(compose((), 'reproduce'))[key]}")
    suite = values["suite"].get("name")
    if plain(compose([f"suite={suite}"]).suite) != values["suite"]:
        raise ConfigError(f"suite: a list of datasets of your own is a file in conf/suite, not a change of {suite}")
    verbs = [check_choice(verb, "verbs", VERBS) for verb in values["verbs"]]
    common = {"suite": suite, "seeds": check_whole(values["seeds"], "seeds", 1), "results": values["results"]}
    common |= {"missing": "skip"} | ({"engine.n_jobs": values["n_jobs"]} if values["n_jobs"] is not None else {})
    own = {"report": _report(values["report"])} if "report" in verbs else {}
    groups = [[Step("prepare", (f"suite={suite}",))]] if "prepare" in verbs else []
    for experiment in values["experiments"]:
        given = dict(experiment) if isinstance(experiment, dict) else {"experiment": experiment}
        if "experiment" not in given:
            raise ConfigError(f"experiments: {experiment} has no experiment (a file in conf/experiment)")
        parts = given.pop("suites", {})
        words = {"experiment": given.pop("experiment")} | common | given
        words |= {"suite": parts.get(suite, suite), "seeds": min(common["seeds"], given.get("seeds", common["seeds"]))}
        overrides = tuple(f"{key}={override(value)}" for key, value in words.items())
        page = study(compose(overrides)).folder / "report.html"
        groups.append([Step(verb, overrides, page, own.get(verb, ())) for verb in verbs if verb != "prepare"])
    return [group for group in groups if group]


def _report(given: dict[str, Any]) -> tuple[str, ...]:
    """Return what the reports are given beside the rest, checked now and not when all is run."""
    check_keys(given, list(plain(compose((), "report"))["report"]), "report.")
    if (groups := given.get("groups")) and not Path(groups).is_file():
        print(f"there is no {groups} here: reports have no groups of datasets", file=sys.stderr)
        given = {key: value for key, value in given.items() if key != "groups"}
    return tuple(f"report.{key}={override(value)}" for key, value in given.items())


def override(value: Any) -> str:
    """Return a value as Hydra reads it on a command line.

    Examples
    --------
    >>> override(["parametric", {"learner": "pemt", "budget": [64, None]}])
    '[parametric,{learner:pemt,budget:[64,null]}]'
    >>> override("a b")
    "'a b'"
    """
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{override(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(override, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = str(value)
    if not isinstance(value, str) or re.fullmatch(r"[\w./+-]+", text):
        return text
    return "'" + text.replace("'", r"\'") + "'"


def reproduce(groups: list[list[Step]]) -> int:
    """Give the commands one after the other, and say where the reports are.

    Datasets that cannot be prepared are left out of the studies. An experiment that is refused stops neither the
    others nor their reports.

    Returns
    -------
    int
        The exit status: 1 if a run failed, 2 if an experiment was refused or broke off. That datasets are missing is
        no failure, unless a preparation is all that was asked for.
    """
    worst, unprepared, pages = 0, False, []
    for group in groups:
        for step in group:
            status = _give(step)
            if step.verb == "prepare" and status == SOME_FAILED:
                unprepared = True
                continue
            if status == STOPPED:
                raise KeyboardInterrupt
            worst = max(worst, min(status, REFUSED) if status >= 0 else REFUSED)
            if status not in (0, SOME_FAILED):
                print(f"this did not succeed (status {status}): {step.command}", file=sys.stderr, flush=True)
                break
            if step.verb == "report":
                pages.append(step.page)
    if unprepared:
        print("\nSome datasets could not be prepared; studies are run without them.")
        worst = worst or (SOME_FAILED if len(groups) == 1 else 0)  # where nothing but a preparation was asked for
    if pages:
        print("\nReports, with summaries, tables and figures beside them:")
    for page in pages:
        print(f"  {page}")
    return worst


def _give(step: Step) -> int:
    """Run a command and return its exit status; when this is stopped, so is the command, and it is waited for."""
    print(f"\n{step.command}", flush=True)
    process = subprocess.Popen([*subprocess_words(step.verb), *step.words, *step.own])
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.terminate()  # Ctrl-C reached it too; what only this process was told must be passed on
        process.wait()
        raise


def main() -> None:
    """Reproduce what the command line asks for."""
    typed = shlex.join([*start_words("reproduce"), *sys.argv[1:]])
    os.environ["HYDRA_FULL_ERROR"] = "1"  # or Hydra would print and exit by itself
    given: list[DictConfig] = []
    with report_errors("reproduce"):
        answer_options("reproduce", sys.argv[1:])
        hydra.main(version_base="1.3", config_path=str(CONF), config_name="reproduce")(given.append)()
        groups = [group for cfg in given for group in steps(cfg)]
    try:
        status = reproduce(groups)
    except KeyboardInterrupt:
        print(f"\nstopped. To go on: {typed}", file=sys.stderr)
        sys.exit(STOPPED)
    sys.exit(status)


if __name__ == "__main__":
    stop_on_signals()
    main()
