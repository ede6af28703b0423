"""Supervised-to-bandit conversion: a Dataset, a seed and a horizon give a stream of contexts and rewards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from emt.arguments import check_choice, check_counts
from emt.seeds import seed_sequence
from emt.stories import STORIES, Rows, order_of, tell

if TYPE_CHECKING:
    from emt.data import Dataset

__all__ = ["Context", "Environment", "Space"]


class Context(NamedTuple):
    """One row of a dataset: numeric coordinates, and categorical columns as integer codes."""

    numeric: np.ndarray
    categorical: np.ndarray


@dataclass(frozen=True)
class Space:
    """The shape of a stream: what a learner must know before the first context.

    Parameters
    ----------
    n_numeric : int
        Number of numeric coordinates.
    n_levels : tuple of int
        Number of levels of each categorical column.
    n_actions : int
        Number of actions.
    """

    n_numeric: int
    n_levels: tuple[int, ...]
    n_actions: int


class Environment:
    """The bandit that a classification dataset becomes.

    At most ``horizon`` rows are taken at random, once per dataset: every seed sees the same rows. A seed changes their
    order, and the dice of exploration: one uniform number per step, the same for every learner, so that learners are
    compared on the same rows with the same dice. Each numeric column of the taken rows is scaled by 1 / (max - min),
    without a shift; a constant column stays as it is. An action is right (reward 1) when it is the row's label.

    Parameters
    ----------
    dataset : Dataset
        Where the rows come from.
    seed : int
        Which order of the rows, and which dice.
    horizon : int
        Number of interactions at most.
    story : {"none", "abrupt", "recurring", "gradual", "sorted"}
        How the world changes while the stream is played: see `emt.stories`.

    Attributes
    ----------
    numeric : ndarray of float32, shape (n_steps, n_numeric)
        The scaled numeric columns, in the order of the stream.
    categorical : ndarray of int32, shape (n_steps, n_categorical)
        The codes of the categorical columns, in the order of the stream.
    labels : ndarray of int32, shape (n_steps,)
        The right action of each step.
    dice : ndarray of float64, shape (n_steps,)
        The uniform number in [0, 1) that decides, with a learner's probabilities, which action each step takes.
    learner_seed : int
        Seed of a learner's own randomness (where a memory splits, how it breaks ties), the same for every learner.
    space : Space
        The shape of the contexts and the number of actions.

    Examples
    --------
    >>> from emt.data import load
    >>> environment = Environment(load("digits"), seed=0, horizon=1000)
    >>> len(environment), environment.space.n_actions
    (1000, 10)
    """

    def __init__(self, dataset: Dataset, seed: int, horizon: int = 4000, story: str = "none"):
        check_counts(None, seed=seed)
        check_counts(1, horizon=horizon)
        check_choice(STORIES, story=story)
        if not len(dataset):
            raise ValueError(f"dataset {dataset.name!r} has no rows")
        self.dataset, self.seed, self.horizon, self.story = dataset, int(seed), int(horizon), story
        rows = _taken(dataset, self.horizon)
        order = np.random.default_rng(seed_sequence("order", dataset.name, self.seed)).permutation(len(rows.labels))
        order = order_of(story, rows, order)
        rows = Rows(*(column[order] for column in rows))
        rows = tell(story, rows, dataset.n_classes, np.asarray(dataset.n_levels), dataset.name, self.seed)
        self.numeric, self.categorical, self.labels = rows
        self.dice = np.random.default_rng(seed_sequence("dice", dataset.name, self.seed)).random(len(order))
        self.learner_seed = int(seed_sequence("learner", dataset.name, self.seed).generate_state(1, np.uint64)[0])
        self.space = Space(self.numeric.shape[1], tuple(int(n) for n in dataset.n_levels), dataset.n_classes)

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[tuple[Context, int]]:
        """Yield each step's context and its right action."""
        for numeric, categorical, label in zip(self.numeric, self.categorical, self.labels, strict=True):
            yield Context(numeric, categorical), int(label)

    def __repr__(self) -> str:
        story = f", story={self.story!r}" if self.story != "none" else ""
        return f"Environment({self.dataset.name!r}, seed={self.seed}, horizon={self.horizon}{story})"


@lru_cache(maxsize=4)  # environments of one dataset tend to follow each other
def _taken(dataset: Dataset, horizon: int) -> Rows:
    """Return the rows that every seed sees: numeric columns, scaled; codes; labels."""
    rows = np.arange(len(dataset))
    if len(dataset) > horizon:
        rows = np.random.default_rng(seed_sequence("rows", dataset.name, horizon)).permutation(rows)[:horizon]
    numeric = dataset.numeric[rows]
    if numeric.size:
        # In double precision: the extent of a float32 column need not fit into float32.
        extent = numeric.max(axis=0).astype(np.float64) - numeric.min(axis=0)
        numeric = numeric / np.where(extent > 0, extent, 1)
    return Rows(
        np.ascontiguousarray(numeric, dtype=np.float32),
        np.ascontiguousarray(dataset.categorical[rows], dtype=np.int32),
        np.ascontiguousarray(dataset.labels[rows], dtype=np.int32),
    )
