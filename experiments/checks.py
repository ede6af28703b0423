"""Checks of config values: an error says which key is wrong and what would be right."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

__all__ = [
    "CONF",
    "ConfigError",
    "check_choice",
    "check_keys",
    "check_name",
    "check_unique",
    "check_whole",
    "choices",
    "nearest",
    "plain",
]

CONF = Path(__file__).parent.parent / "conf"


class ConfigError(Exception):
    """A config that cannot be run; the message says which key is wrong and what would be right."""


def check_whole(value: Any, key: str, least: int) -> int:
    """Return a whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{key}={value}: must be a whole number of at least {least}")
    return value


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
            raise ConfigError(f"{prefix}there is no key {key!r}; {nearest(key, known)}")
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


def nearest(word: str, known: Iterable[str]) -> str:
    """Say which known words are like this one, or all of them.

    Examples
    --------
    >>> nearest("sedes", ["seeds", "suite"])
    'did you mean seeds?'
    """
    close = difflib.get_close_matches(str(word), sorted(known), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(sorted(known))}"


def plain(cfg: Any) -> Any:
    """Return a config as dicts and lists, interpolations resolved."""
    return OmegaConf.to_container(cfg, resolve=True)
