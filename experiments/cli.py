"""The command line of every verb: Hydra composes, sweeps and hands over; what is wrong is said in one line."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import hydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from emt.arguments import nearest
from emt.data import DatasetError
from experiments.checks import CONF, ConfigError, choices, plain
from experiments.config import Study, study
from experiments.help import groups_of, help_text
from experiments.signals import is_stopped
from experiments.store import LogError
from experiments.verbs import start_words

__all__ = [
    "answer_options",
    "command",
    "compose",
    "config_of",
    "main",
    "report_errors",
]

# Keys that only one verb has; the others would refuse them.
OWN_KEYS = {"report": "report", "verify": "prepare"}

# What Hydra takes beside overrides, as far as it is of use here.
HYDRA_OPTIONS = {"-m", "--multirun", "-c", "--cfg", "--resolve", "-p", "--package", "-i", "--info", "--hydra-help"}


def compose(overrides: Iterable[str] = (), config_name: str = "config") -> DictConfig:
    """Compose a config as the command line does."""
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return hydra.compose(config_name, [_open(override) for override in overrides])


def main(task: Callable[[Study, DictConfig], int | None], verb: str, *options: str) -> None:
    """Run a verb from the command line, once or for each value of a sweep, and exit with its status.

    What the user can put right ends in one line on standard error and status 2. All values of a sweep are checked
    before the first is run.

    Parameters
    ----------
    task : callable
        Takes the checked study and the whole config; returns its exit status (None is 0).
    verb : str
        Which; its config is the file of its name in ``conf``, or else ``config.yaml``.
    *options : str
        Keys of the verb's own in that file.
    """
    config_name = config_of(verb)
    statuses, typed = [0], tuple(sys.argv[1:])
    with report_errors(config_name):
        answer_options(verb, typed)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # or Hydra would print and exit by itself
    sys.argv[1:] = [_open(argument) for argument in typed]

    def job(cfg: DictConfig) -> None:
        with report_errors(config_name):  # here too, or Hydra would add lines of its own
            statuses.append(task(replace(study(cfg, *options), typed=typed), cfg) or 0)

    with report_errors(config_name):
        if {"-m", "--multirun"} & set(sys.argv):
            for overrides in _sweep(sys.argv[1:]):
                study(compose(overrides, config_name), *options)
        hydra.main(version_base="1.3", config_path=str(CONF), config_name=config_name)(job)()
    sys.exit(max(statuses))


def command(verb: str, asked: Study) -> str:
    """Return the command line that gives another verb what was asked for: all that was typed, but what only one takes.

    Examples
    --------
    >>> asked = replace(study(compose()), typed=("learners=[emt,pemt]", "report.rule=ttest"))
    >>> command("run", asked)
    "python -m experiments.run 'learners=[emt,pemt]'"
    """
    words = [word for word in asked.typed if OWN_KEYS.get(re.split(r"[.=]", word.lstrip("+~"))[0], verb) == verb]
    return shlex.join([*start_words(verb), *words])


def config_of(verb: str) -> str:
    """Return the name of a verb's config."""
    return verb if (CONF / f"{verb}.yaml").exists() else "config"


def answer_options(verb: str, words: Iterable[str]) -> None:
    """Print the help and exit if it is asked for; refuse an option that there is not, for keys are no options."""
    options = [word for word in words if word.startswith("-")]
    if {"-h", "--help"} & set(options):
        print(help_text(verb, plain(compose(config_name=config_of(verb)))))
        sys.exit(0)
    for option in options:
        name, _, value = option.partition("=")
        if name not in HYDRA_OPTIONS:
            key = name.strip("-")
            known = _known_keys(config_of(verb))
            advice = f"write {key}={value or '...'}" if key in known else nearest(key, known)
            raise ConfigError(f"there is no option {name}; {advice} (keys have no dashes: {verb} --help lists them)")


@contextmanager
def report_errors(config_name: str = "config") -> Iterator[None]:
    """Say what the user can put right in one line, and exit with status 2; with 130 on Ctrl-C.

    Ctrl-C in the middle of a package's work may come out as an error of that package.
    """
    try:
        yield
        return
    except SystemExit:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or is_stopped():
            said, status = "stopped", 130
        elif isinstance(error, (ConfigError, LogError, DatasetError)):
            said, status = f"error: {error}", 2
        elif isinstance(error, (HydraException, OmegaConfBaseException)):
            said, status = f"error: {_in_our_words(error, config_name)}", 2
        else:
            raise
    print(said, file=sys.stderr)
    sys.exit(status)


def _in_our_words(error: Exception, config_name: str) -> str:
    """Say what is wrong with an override that Hydra refused, with the nearest names that it would take."""
    text = " ".join(str(error).split("See https://")[0].split())
    if isinstance(error, OverrideParseException):
        return f"cannot read {error.override!r}: {text}. Write key=value, and quote lists: 'learners=[emt,pemt]'"
    if (unknown := re.search(r"Could not find '(\w+)/([^']*)'", text)) and (CONF / unknown[1]).is_dir():
        group, choice = unknown.groups()
        return f"{group}={choice}: there is no conf/{group}/{choice}.yaml; {nearest(choice, choices(group))}"
    if unknown := re.search(r"Could not override '([^']*)'", text):
        key = unknown[1]
        if key == "learner":
            return "learner=...: a study has a list of learners: learners=[emt,pemt]"
        return f"there is no key {key!r}; {nearest(key, _known_keys(config_name))}"
    return text


def _open(argument: str) -> str:
    # Any parameter of any learner may be given; Hydra wants a + before a key that the config does not list.
    return f"++{argument}" if argument.startswith("learner.") else argument


def _sweep(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Yield the overrides of each job of a multirun."""
    overrides = [argument for argument in arguments if "=" in argument and not argument.startswith(("-", "hydra"))]
    choices = [
        [f"{part.get_key_element()}={value}" for value in part.sweep_string_iterator()]
        if part.is_sweep_override()
        else [part.input_line or ""]
        for part in OverridesParser.create().parse_overrides(overrides)
    ]
    return map(list, itertools.product(*choices))


def _known_keys(config_name: str) -> list[str]:
    """Return what can be given a value on the command line of a config: its groups and its keys."""
    return [*groups_of(config_name), *_keys(plain(compose(config_name=config_name)))]


def _keys(values: dict[str, Any], prefix: str = "") -> list[str]:
    """Return all keys of a config, with dots."""
    below = [_keys(value, f"{prefix}{key}.") for key, value in values.items() if isinstance(value, dict)]
    return [f"{prefix}{key}" for key in values] + list(itertools.chain(*below))
