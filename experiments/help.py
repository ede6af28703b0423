"""The help of a verb: the keys of its config with their values, choices and comments, read from ``conf`` itself."""

from __future__ import annotations

import re
from typing import Any

from omegaconf import OmegaConf

from experiments.checks import CONF, choices, plain
from experiments.verbs import MODULES, start_words

__all__ = ["groups_of", "help_text"]

ABOUT = {
    "prepare": "Get every dataset of a suite ready, once. The only verb that uses the network.",
    "run": "Run a study. Skips what is in the log already: the same command goes on where it was stopped.",
    "status": "Say what of a study is prepared, done, failed and left. It only reads.",
    "report": "Write the tables, the figures, summary.md and report.html of what has been run of a study.",
    "reproduce": "Prepare, run and report all experiments of a study; prints the commands that it gives.",
}
EXAMPLES = {
    "prepare": ["suite=paper", "suite=paper verify=true"],
    "run": ["experiment=ablation seeds=5 horizon=1000", "'learners=[emt,{learner:pemt,budget:[64,128]}]' name=budgets"],
    "status": ["experiment=unbounded suite=paper"],
    "report": ["experiment=unbounded report.rule=paper"],
    "reproduce": ["study=embedded", "study=paper seeds=5"],
}
KEY = re.compile(r"^(?P<indent> *)(?P<key>\w+):[^#]*?(?:\s+# *(?P<comment>.*))?$")
WIDTH = 34


def help_text(verb: str, values: dict[str, Any]) -> str:
    """Return the help of a verb.

    Parameters
    ----------
    verb : str
        Which.
    values : dict
        Its config as it is without any override.
    """
    config = verb if (CONF / f"{verb}.yaml").exists() else "config"
    started = " ".join(start_words(verb))
    other = "" if started.startswith("python") else f" The same as python -m {MODULES[verb]} in a clone."
    comments = _comments(config)
    groups = [_line(f"{group}={chosen}", ", ".join(choices(group))) for group, chosen in groups_of(config).items()]
    keys = [_line(f"{key}={_text(value)}", comments.get(key, "")) for key, value in _flat(values)]
    return "\n".join(
        [
            f"{started}: {ABOUT[verb]}{other}",
            "",
            *[f"  {started} {example}" for example in EXAMPLES[verb]],
            "",
            "Choices, each a file of conf/<key>/:",
            *groups,
            "",
            "Keys and their values, each to be changed by key=value; a list is quoted: 'learners=[emt,pemt]'",
            *keys,
            "",
            "-m key=1,2,3 runs the verb once for each value; --cfg job prints the whole config.",
        ]
    )


def _line(left: str, right: str) -> str:
    return f"  {left}" if not right else f"  {left:<{WIDTH}}  {right}"


def groups_of(config: str) -> dict[str, str]:
    """Return the groups that a config chooses from, and what it chooses.

    Examples
    --------
    >>> groups_of("report")
    {'experiment': 'unbounded', 'suite': 'embedded', 'engine': 'local'}
    """
    chosen: dict[str, str] = {}
    for default in plain(OmegaConf.load(CONF / f"{config}.yaml"))["defaults"]:
        if isinstance(default, dict):
            chosen |= {group: choice for group, choice in default.items() if "/" not in group}
        elif default != "_self_":
            chosen |= groups_of(default)
    return chosen


def _comments(config: str) -> dict[str, str]:
    """Return what the files of a config say of each key: beside it, or in the line above."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(["config", config]):
        found |= _comments_of((CONF / f"{name}.yaml").read_text())
    for group, choice in groups_of(config).items():
        prefix = "" if group in ("experiment", "study") else f"{group}."  # those two are of the package _global_
        comments = _comments_of((CONF / group / f"{choice}.yaml").read_text())
        found |= {f"{prefix}{key}": comment for key, comment in comments.items()}
    return found


def _comments_of(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    parents: list[tuple[int, str]] = []
    above = ""
    for line in text.splitlines():
        if match := KEY.match(line):
            indent = len(match["indent"])
            parents = [(depth, key) for depth, key in parents if depth < indent]
            found[".".join([*(key for _, key in parents), match["key"]])] = match["comment"] or above
            parents.append((indent, match["key"]))
        above = line.lstrip("# ") if line.startswith("# ") else ""
    return found


def _flat(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in values.items():
        found += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) and value else [(f"{prefix}{key}", value)]
    return found


def _text(value: Any) -> str:
    if isinstance(value, list) and len(str(value)) > WIDTH:
        return "[...]"
    text = {None: "null", True: "true", False: "false"}.get(value) if isinstance(value, bool | None) else None
    return text or re.sub(r"['\"]| (?=[^ ])", "", str(value))
