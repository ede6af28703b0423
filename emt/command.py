"""The command ``emt``: it finds what the studies are made of, in a clone or inside the installed package.

``experiments`` and ``analysis`` are too common as names to be installed for everybody: the wheel keeps them, with
``conf``, in a folder of this package, and they can be imported in the processes of the command alone.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

__all__ = ["main", "study_folder"]


def study_folder() -> Path:
    """Return the folder that has ``experiments``, ``analysis`` and ``conf``."""
    package = Path(__file__).parent
    inside = package / "_study"
    return inside if inside.is_dir() else package.parent


def main() -> None:
    """Do what the command line asks for, with learners of one's own from the current folder, as by ``python -m``."""
    sys.path[:0] = [str(study_folder()), str(Path.cwd())]
    import_module("experiments.command").main(sys.argv[1:])
