"""EMT without self-consistency beside a Vowpal Wabbit that multiplies as many features as it: ``make bench-products``.

The ablation's scorer sees all products of two keys' coordinates, in the paper and here. In VW it did until 9.8; since
its pull request 4652 it multiplies each coordinate with its own counterpart only, which is less work and another
learner: VW 9.8 is the one that does the same. It has wheels up to Python 3.10. Figures go to
``results/speed_products.csv``, with the columns of ``speed.csv``.
"""

from __future__ import annotations

import sys
from importlib.metadata import version

import pandas as pd

from benchmarks.bench_learners import PAIRS, SPEED, compare, show
from benchmarks.sets import SETS, make
from emt import Environment, evaluate
from emt.learners.vw import workspace

NAME = "EMT, not self-consistent"
CSV = SPEED.with_name("speed_products.csv")
INITIAL = "--emt_initial gaussian "  # the only one that 9.8 has, and so no option of it


class Workspace(workspace.Workspace):
    """A workspace of VW 9.8."""

    def __init__(self, command: str):
        super().__init__(command.replace(INITIAL, ""))


def main() -> None:
    if not version("vowpalwabbit").startswith(("9.7.", "9.8.")):
        sys.exit(f"vowpalwabbit {version('vowpalwabbit')} does not take all products; 9.8.0 does: make bench-products")
    workspace.Workspace = Workspace  # type: ignore[misc]
    evaluate(PAIRS[NAME][0](), Environment(make(SETS[0]), seed=0, horizon=200))  # compiled before the clock starts
    rows = [compare(NAME, set_name, 1) for set_name in SETS]
    show(rows)
    rows = [row | {"learner": f"{NAME}, VW {version('vowpalwabbit')}"} for row in rows]
    pd.DataFrame(rows).to_csv(CSV, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
