"""A second kind of memory, in one file: all observations in a row, and the nearest of the same action answers.

It has the functions that the loop asks for and nothing else; the loop, the learners' base, the checks and the runner
know nothing of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emt._kernels.parts import ask, begin, grow, has_room, learn
from emt.learners.compiled import CompiledLearner
from emt.learners.parametric import linear_model


class Row(NamedTuple):
    numeric: np.ndarray
    codes: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    size: np.ndarray  # one number


@begin.of(Row)
def _begin(row, numeric, codes):
    pass


@ask.of(Row)
def _ask(row, numeric, codes, answers):
    for a in range(len(answers)):
        nearest = np.inf
        answers[a, 0] = 0
        for m in range(row.size[0]):
            if row.action[m] == a:
                distance = 0.0
                for i in range(len(numeric)):
                    distance += (numeric[i] - row.numeric[m, i]) ** 2
                for j in range(len(codes)):
                    distance += 2.0 * (codes[j] != row.codes[m, j])
                if distance < nearest:
                    nearest = distance
                    answers[a, 0] = row.reward[m]


@learn.of(Row)
def _learn(row, numeric, codes, action, answers, reward, weight):
    m = row.size[0]
    for i in range(len(numeric)):
        row.numeric[m, i] = numeric[i]
    for j in range(len(codes)):
        row.codes[m, j] = codes[j]
    row.action[m], row.reward[m] = action, reward
    row.size[0] = m + 1


@has_room.of(Row)
def _has_room(row):
    return row.size[0] < len(row.reward)


@grow.register(Row)
def _grow(row):
    return Row(*(np.concatenate([array, np.zeros_like(array)]) for array in row[:4]), row.size)


class Nearest(CompiledLearner):
    """The memory alone, or beside the linear model."""

    def __init__(self, epsilon: float = 0.1, model: bool = False):
        self.epsilon, self.model = epsilon, model

    def parts(self, space, seed, n_steps):
        shapes = (4, space.n_numeric), (4, len(space.n_levels)), 4, 4  # little room, so that it must grow
        kinds = np.float32, np.int32, np.int64, np.float64
        arrays = [np.zeros(shape, kind) for shape, kind in zip(shapes, kinds, strict=True)]
        model = linear_model(space, constant=True) if self.model else None
        return Row(*arrays, np.zeros(1, np.int64)), model
