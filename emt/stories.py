"""Stories: how the world of a stream changes while it is played, on the same rows.

========== ===========================================================================================================
none       Nothing changes.
abrupt     Label y becomes (y + 1) mod K from step T/2 on, of T steps and K actions.
recurring  The same in the second and in the fourth quarter alone.
gradual    Columns drift into their neighbours: x_t = (1 - t/T) x + (t/T) roll(x, 1), the scaled numeric columns rolled
           by one among themselves. The levels of a categorical column cannot be mixed: at step t it has, with
           probability t/T, the next level, (c + 1) mod its number of levels, by numbers from (dataset, seed).
sorted     Rows in the order of the numeric column that is most correlated with "is the majority class". Where there is
           none, a categorical column counts as one, each level with the share of the majority class in it. Rows with
           equal values stay in the seed's order.
========== ===========================================================================================================

Abrupt and recurring change the concept (what is right in a context), gradual and sorted the contexts alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emt.seeds import seed_sequence

__all__ = ["STORIES", "Rows", "change_steps", "order_of", "tell"]

STORIES = ("none", "abrupt", "recurring", "gradual", "sorted")


class Rows(NamedTuple):
    """Rows of a dataset: scaled numeric columns, codes of categorical ones, labels."""

    numeric: np.ndarray
    categorical: np.ndarray
    labels: np.ndarray


def change_steps(story: str, n_steps: int) -> tuple[int, ...]:
    """Return the steps at which what is right in a context changes.

    Examples
    --------
    >>> change_steps("recurring", 4000), change_steps("gradual", 4000)
    ((1000, 2000, 3000), ())
    """
    quarters = tuple(n_steps * quarter // 4 for quarter in range(1, 4))
    return {"abrupt": quarters[1:2], "recurring": quarters}.get(story, ())


def order_of(story: str, rows: Rows, order: np.ndarray) -> np.ndarray:
    """Return the order of a story's rows, given the seed's."""
    return order[np.argsort(_sorting_column(rows)[order], kind="stable")] if story == "sorted" else order


def tell(story: str, rows: Rows, n_actions: int, n_levels: np.ndarray, *names: object) -> Rows:
    """Return rows that are in their order as the story has them; the names are those of its random numbers."""
    n_steps = len(rows.labels)
    if changes := change_steps(story, n_steps):
        n_changes = np.searchsorted(changes, np.arange(n_steps), side="right")
        return rows._replace(labels=(rows.labels + n_changes.astype(np.int32) % 2) % np.int32(n_actions))
    if story == "gradual":
        share = (np.arange(n_steps) / max(n_steps, 1))[:, None]
        numeric = (1 - share) * rows.numeric + share * np.roll(rows.numeric, 1, axis=1)
        moved = np.random.default_rng(seed_sequence("gradual", *names)).random(rows.categorical.shape) < share
        categorical = (rows.categorical + moved) % np.maximum(n_levels, 1)
        return rows._replace(numeric=numeric.astype(np.float32), categorical=categorical.astype(np.int32))
    return rows


def _sorting_column(rows: Rows) -> np.ndarray:
    """Return the column most correlated with "is the majority class", the first of equals."""
    majority = (rows.labels == np.bincount(rows.labels).argmax()).astype(float)
    columns = rows.numeric.T.astype(float) if rows.numeric.shape[1] else _shares(rows.categorical, majority)
    centred = columns - columns.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.abs(centred @ (majority - majority.mean())) / spread
    return np.asarray(columns[np.argmax(np.where(spread > 0, correlation, 0))])


def _shares(categorical: np.ndarray, majority: np.ndarray) -> np.ndarray:
    """Return categorical columns as numbers: each level as the share of the majority class in it."""
    totals = [(np.bincount(codes, majority), np.bincount(codes)) for codes in categorical.T]
    columns = [(part / np.maximum(n, 1))[codes] for (part, n), codes in zip(totals, categorical.T, strict=True)]
    return np.array(columns)
