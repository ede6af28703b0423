"""Checks of config values: an error says which key is wrong and what would be right."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from emt.arguments import nearest

__all__ = [
    "CONF",
    "ConfigError",
    "check_choice",
    "check_file_names",
    "check_keys",
    "check_name",
    "check_path",
    "check_seconds",
    "check_unique",
    "check_whole",
    "choices",
    "plain",
]

CONF = Path(__file__).parent.parent / "conf"
YEAR = 366 * 24 * 3600


class ConfigError(Exception):
    """A config that cannot be run; the message says which key is wrong and what would be right."""


def check_whole(value: Any, key: str, least: int, most: int = 2**63 - 1) -> int:
    """Return a whole number that is large enough, and not too large."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{key}={value}: must be a whole number of at least {least}")
    if value > most:
        raise ConfigError(f"{key}={value}: must be {most} at most")
    return value


def check_seconds(value: Any, key: str) -> float | None:
    """Return a length of time in seconds, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= YEAR:
        raise ConfigError(f"{key}={value}: must be null or a number of seconds, more than 0 and at most {YEAR}")
    return float(value)


def check_path(value: Any, key: str) -> Path:
    """Return the path of a file or a folder."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip("\0"):
        raise ConfigError(f"{key}={'null' if value is None else value}: must be a path")
    if "\0" in str(value):
        raise ConfigError(f"{key}={value!r}: a path has no zero byte")
    return Path(str(value))


def check_file_names(names: Iterable[Any], key: str) -> list[str]:
    """Return names that are made into file names: each can be one, and no two are the same but for upper case.

    Examples
    --------
    >>> check_file_names(["original", "made again"], "report.groups")
    ['original', 'made again']
    >>> check_file_names(["../../etc"], "report.groups")
    Traceback (most recent call last):
    ...
    experiments.checks.ConfigError: report.groups: '../../etc' must be a name of letters, digits, spaces and _ . + -
    """
    checked = []
    for name in names:
        if not isinstance(name, str) or len(name) > 100 or not re.fullmatch(r"[\w.+ -]*\w[\w.+ -]*", name):
            raise ConfigError(f"{key}: {name!r:.120} must be a name of letters, digits, spaces and _ . + -")
        checked.append(name)
    check_unique([name.casefold() for name in checked], key)
    return checked


def check_name(value: Any, key: str) -> str:
    """Return a name that files and folders can have."""
    if not isinstance(value, str) or not re.fullmatch(r"[\w.+-]*\w[\w.+-]*", value):
        raise ConfigError(f"{key}={value}: must be a name of letters, digits and _ . + - (it names files)")
    return value


def check_choice(value: Any, key: str, known: list[Any]) -> Any:
    """Return a value that is one of those known."""
    if value not in known:
        raise ConfigError(f"{key}={value}: must be one of {', '.join('null' if c is None else c for c in known)}")
    return value


def check_unique(values: list[Any], key: str) -> None:
    """Refuse a list that has a value twice."""
    if twice := [value for value in dict.fromkeys(values) if values.count(value) > 1]:
        raise ConfigError(f"{key}: {', '.join(map(str, twice))} is listed more than once")


def check_keys(values: Any, known: list[str], prefix: str, required: Iterable[str] = ()) -> None:
    """Refuse a mapping that has a key that is not known, or lacks one that is required."""
    if not isinstance(values, dict):
        raise ConfigError(f"{prefix.rstrip('.: ')} must be a mapping with the keys {', '.join(known)}")
    for key in values:
        if key not in known:
            raise ConfigError(f"{prefix}there is no key {key!r}; {nearest(str(key), known)}")
    for key in required:
        if key not in values:
            raise ConfigError(f"{prefix}{key} is missing")


def choices(group: str) -> list[str]:
    """Return the choices of a config group, which are the files of its folder.

    Examples
    --------
    >>> choices("engine")
    ['dask', 'local', 'serial']
    """
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def plain(cfg: Any) -> Any:
    """Return a config as dicts and lists, interpolations resolved."""
    return OmegaConf.to_container(cfg, resolve=True)
