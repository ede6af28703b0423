"""Golden rewards: digests of what every compiled learner earns, so that no change moves a number unnoticed.

``python tests/emt/test_golden.py`` writes the table anew, after a change that is meant to move numbers.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from emt import Environment, evaluate
from emt.data import Dataset, from_arrays, load
from emt.learners import CMT, EMT, KNN, PCMT, PEMT, Learner, LinUCB, Parametric, PCMTPlus, PEMTPlus, Ridge

TABLE = Path(__file__).with_name("golden.json")

LEARNERS: dict[str, Learner] = {
    "parametric": Parametric(),
    "emt": EMT(),
    "emt, budget": EMT(budget=50, leaf_capacity=20),
    "emt, first in first out": EMT(budget=50, leaf_capacity=20, eviction="fifo"),
    "emt, interaction": EMT(scorer="interaction", leaf_capacity=50),
    "emt, random router": EMT(router="random", leaf_capacity=20),
    "emt, as printed": EMT(variant="as_printed"),
    "emt, as printed, budget": EMT(variant="as_printed", budget=50, leaf_capacity=20),
    "emt, as printed, interaction": EMT(variant="as_printed", scorer="interaction", leaf_capacity=50),
    "emt, as printed, random router": EMT(variant="as_printed", router="random", leaf_capacity=20),
    "pemt": PEMT(),
    "pemt, budget": PEMT(budget=50, leaf_capacity=20),
    "pemt, as printed": PEMT(variant="as_printed"),
    "cmt": CMT(),
    "cmt, small": CMT(max_nodes=9, leaf_multiplier=1, dreams=3, alpha=0.1),
    "cmt, no collisions": CMT(bits=None),
    "pcmt": PCMT(),
    "pemt+": PEMTPlus(),
    "pemt+, budget": PEMTPlus(budget=50, leaf_capacity=20, neighbours=3, forgetting=0.998),
    "pemt+, linucb": PEMTPlus(explore="linucb"),
    "pcmt+": PCMTPlus(),
    "knn": KNN(),
    "ridge": Ridge(),
    "linucb": LinUCB(),
    "parametric, squarecb": Parametric(explore="squarecb"),
}


def mixed() -> Dataset:
    """Numbers of either sign, a constant, and two categorical columns; four classes that both kinds of column tell."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 400)
    numbers = rng.normal(0, 1, (400, 4)) + labels[:, None] * [1, -1, 0, 0]
    codes = np.column_stack([(labels + rng.integers(0, 2, 400)) % 5, rng.integers(0, 3, 400)])
    return from_arrays(np.column_stack([numbers, np.full(400, 2.5), codes]), labels, categorical=[5, 6], name="mixed")


def many_classes() -> Dataset:
    """Twenty-six clusters in six dimensions."""
    rng = np.random.default_rng(1)
    labels = np.arange(500) % 26
    return from_arrays(rng.random((26, 6))[labels] + rng.normal(0, 0.1, (500, 6)), labels, name="many-classes")


SETS = {
    "iris": lambda: load("iris"),
    "digits": lambda: load("digits"),
    "tic-tac-toe": lambda: load("tic-tac-toe"),
    "multiplexer-11": lambda: load("multiplexer-11"),
    "mixed": mixed,
    "many-classes": many_classes,
}


@cache
def environment(name: str) -> Environment:
    return Environment(SETS[name](), seed=0, horizon=500)


def golden(learner: str, name: str) -> str:
    """The mean reward, for readers, and a digest of all rewards."""
    rewards = evaluate(LEARNERS[learner], environment(name))
    return f"{rewards.mean():.4f} {hashlib.sha256(rewards.tobytes()).hexdigest()[:16]}"


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", SETS)
def test_rewards_are_the_golden_ones(learner, name):
    expected, found = json.loads(TABLE.read_text())[learner][name], golden(learner, name)
    assert found == expected, (
        f"{learner} on {name} earned {found}, not {expected}. If this change was meant to move rewards, raise FORMAT "
        "in experiments/store.py, so that no log mixes old and new runs, and write the table anew: "
        "python tests/emt/test_golden.py. If it was not, it changed more than it meant to"
    )


def test_the_table_has_every_learner_on_every_set():
    table = json.loads(TABLE.read_text())
    assert list(table) == list(LEARNERS)
    assert all(list(row) == list(SETS) for row in table.values())


if __name__ == "__main__":
    table = {learner: {name: golden(learner, name) for name in SETS} for learner in LEARNERS}
    TABLE.write_text(json.dumps(table, indent=1) + "\n")
