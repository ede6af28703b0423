"""Sets that need no download: those that come with scikit-learn, complete enumerations, and one long synthetic stream.

A set has the name of an OpenML set only where it equals it, row order aside.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from emt.data.dataset import Dataset
from emt.data.encode import encode, from_arrays
from emt.seeds import seed_sequence

__all__ = ["EMBEDDED"]

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def _bunch(name: str) -> Any:
    import sklearn.datasets  # here, for it takes a second or two that workers on prepared sets need not spend

    return getattr(sklearn.datasets, f"load_{name}")()


def _from_sklearn(name: str, bunch: Any) -> Dataset:
    return from_arrays(
        bunch.data, bunch.target_names[bunch.target], name=name, names=[str(column) for column in bunch.feature_names]
    )


def _iris(name: str) -> Dataset:
    """Return the iris set of UCI and OpenML (data 61); two of its rows differ from Fisher's and scikit-learn's."""
    bunch = _bunch("iris")
    bunch.data[[34, 37]] = [4.9, 3.1, 1.5, 0.1]
    return _from_sklearn(name, bunch)


def _has_line(board: str, player: str) -> bool:
    return any(all(board[square] == player for square in line) for line in LINES)


def _endgames() -> list[str]:
    """Return every board on which a game can end; x moves first."""
    boards, final = {"b" * 9}, set()
    for player in "xoxoxoxox":
        boards = {
            board[:square] + player + board[square + 1 :]
            for board in boards
            for square in range(9)
            if board[square] == "b"
        }
        won = {board for board in boards if _has_line(board, player)}
        final |= won
        boards -= won
    return sorted(final | boards)


def _tic_tac_toe(name: str) -> Dataset:
    """All 958 boards on which a game can end; positive where x has won (OpenML data 50)."""
    boards = _endgames()
    rows = ("top", "middle", "bottom")
    columns = [f"{row}-{column}-square" for row in rows for column in ("left", "middle", "right")]
    frame = pd.DataFrame([list(board) for board in boards], columns=columns)
    frame["Class"] = ["positive" if _has_line(board, "x") else "negative" for board in boards]
    return encode(frame, "Class", name=name)


def _balance_scale(name: str) -> Dataset:
    """All 625 settings of a balance with weights and distances 1..5: which side goes down (OpenML data 11)."""
    rows = list(product(range(1, 6), repeat=4))
    columns = ["left-weight", "left-distance", "right-weight", "right-distance"]
    frame = pd.DataFrame(rows, columns=columns)
    tilt = frame["left-weight"] * frame["left-distance"] - frame["right-weight"] * frame["right-distance"]
    frame["class"] = np.array(["R", "B", "L"])[np.sign(tilt) + 1]
    return encode(frame, "class", name=name)


def _monks(name: str, rule: Callable[..., bool]) -> Dataset:
    """All 432 robots of the monks problems (Thrun et al., 1991), labelled by the rule, without noise."""
    sizes = (3, 3, 2, 3, 4, 2)
    robots = list(product(*(range(1, size + 1) for size in sizes)))
    columns = ["head_shape", "body_shape", "is_smiling", "holding", "jacket_color", "has_tie"]
    frame = pd.DataFrame(robots, columns=columns)
    frame["class"] = [str(int(rule(*robot))) for robot in robots]
    return encode(frame, "class", name=name, categorical=columns)


def _multiplexer(name: str) -> Dataset:
    """All 2,048 states of a multiplexer with 3 address bits and 8 data bits: the addressed bit."""
    states = np.array(list(product((0, 1), repeat=11)))
    address = states[:, 0] * 4 + states[:, 1] * 2 + states[:, 2]
    columns = [f"a{j}" for j in range(3)] + [f"d{j}" for j in range(8)]
    output = states[np.arange(len(states)), 3 + address]
    return from_arrays(states, output, name=name, names=columns, categorical=range(11))


def _synthetic_rbf(name: str) -> Dataset:
    """40,000 points around 50 random centres in 10 dimensions; a centre has a class, a spread and a weight."""
    rng = np.random.default_rng(seed_sequence(name))
    n_rows, n_centres, n_columns, n_classes = 40_000, 50, 10, 5
    centres, spreads, weights = rng.random((n_centres, n_columns)), rng.random(n_centres), rng.random(n_centres)
    drawn = rng.choice(n_centres, size=n_rows, p=weights / weights.sum())
    steps = rng.normal(size=(n_rows, n_columns))
    lengths = spreads[drawn] * rng.normal(size=n_rows)
    points = centres[drawn] + steps / np.linalg.norm(steps, axis=1, keepdims=True) * lengths[:, None]
    return from_arrays(points, np.arange(n_centres)[drawn] % n_classes, name=name)


EMBEDDED: dict[str, Callable[[str], Dataset]] = {
    "digits": lambda name: _from_sklearn(name, _bunch("digits")),
    "wine": lambda name: _from_sklearn(name, _bunch("wine")),
    "iris": _iris,
    "breast-cancer-diagnostic": lambda name: _from_sklearn(name, _bunch("breast_cancer")),
    "tic-tac-toe": _tic_tac_toe,
    "balance-scale": _balance_scale,
    "monks-1-rule": lambda name: _monks(name, lambda a, b, c, d, e, f: a == b or e == 1),
    "monks-2-rule": lambda name: _monks(name, lambda *robot: robot.count(1) == 2),
    "monks-3-rule": lambda name: _monks(name, lambda a, b, c, d, e, f: (e == 3 and d == 1) or (e != 4 and b != 3)),
    "multiplexer-11": _multiplexer,
    "synthetic-rbf-40000": _synthetic_rbf,
}
