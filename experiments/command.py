"""``emt``: the verbs of a study, and what there is to study, in one command.

``emt run ...`` is ``python -m experiments.run ...``, and so on. Nothing beyond the core is imported before it is
needed, so that what is not installed is one line.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Sequence

from emt import __version__
from emt.arguments import nearest
from emt.extras import MissingExtra, needs
from experiments.verbs import MODULES, started_as_emt

__all__ = ["main"]

HELP = """\
emt: Eigen Memory Trees, and the study that shows what they are worth

  emt reproduce study=embedded     prepare, run and report all experiments of a study
  emt prepare suite=paper          get the datasets of a suite ready: the only verb that uses the network
  emt run experiment=unbounded     run an experiment; goes on where it was stopped
  emt status experiment=unbounded  say what is prepared, done, failed and left
  emt report experiment=unbounded  write tables, figures and one page of what has been run
  emt learners                     list the learners, their parameters and defaults
  emt datasets                     list the datasets that are here, and the suites

emt <verb> --help shows the keys of a verb, with their values and choices; emt --version the version.
`emt run ...` is `python -m experiments.run ...` of a clone, and so on."""


def main(arguments: Sequence[str]) -> None:
    """Do what the words after ``emt`` ask for, and exit."""
    word, *rest = arguments or ["--help"]
    if word in ("--help", "-h", "help"):
        print(HELP)
    elif word == "--version":
        print(f"emt {__version__}")
    else:
        try:
            with needs("study"):
                _do(word, rest)
        except MissingExtra as error:
            _refuse(str(error))


def _do(word: str, rest: list[str]) -> None:
    if word in MODULES:
        started_as_emt()
        sys.argv = [f"emt {word}", *rest]
        runpy.run_module(MODULES[word], run_name="__main__", alter_sys=True)
        return
    lists: dict[str, Callable[[], str]] = {"learners": _learners, "datasets": _datasets}
    if word not in lists:
        _refuse(f"there is no emt {word}; {nearest(word, [*MODULES, *lists])}")
    elif rest and rest != ["--help"]:
        _refuse(f"emt {word} takes nothing more, not {' '.join(rest)}")
    else:
        print(lists[word]())


def _learners() -> str:
    from experiments.catalogue import learners_text

    return learners_text()


def _datasets() -> str:
    from experiments.catalogue import datasets_text

    return datasets_text()


def _refuse(problem: str) -> None:
    print(f"error: {problem}", file=sys.stderr)
    sys.exit(2)
