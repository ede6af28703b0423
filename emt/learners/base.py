"""What every learner is: an exploring policy that learns from the reward of the action it took."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from emt._kernels.explore import sample
from emt.environment import Context, Environment, Space

__all__ = ["Learner", "refuse_other_actions"]

TOLERANCE = 1e-6  # of the sum of probabilities


@cache
def _arguments(kind: type) -> tuple[str, ...]:
    return tuple(inspect.signature(kind).parameters)


def _are_probabilities(values: Any, n_actions: int) -> bool:
    """Tell if these are the probabilities of so many actions; NaN fails every comparison."""
    return (
        isinstance(values, np.ndarray)
        and values.shape == (n_actions,)
        and values.dtype.kind in "fiu"
        and bool(values.min() >= 0)
        and bool(abs(values.sum() - 1) <= TOLERANCE)
    )


def _problem(values: Any, n_actions: int) -> str:
    """Say what keeps values from being the probabilities of so many actions."""
    if not isinstance(values, np.ndarray):
        return f"it must return an array, not {type(values).__name__}"
    if values.shape != (n_actions,):
        return f"it must return a probability for each of {n_actions} actions; the shape is {values.shape}"
    if values.dtype.kind not in "fiu":
        return f"probabilities must be numbers, not {values.dtype}"
    if not np.isfinite(values).all():
        return f"probabilities must be finite, not {values}"
    if values.min() < 0:
        return f"no probability may be negative: {values}"
    return f"probabilities must sum to 1, not to {values.sum()}"


def refuse_other_actions(n_actions: int, space: Space) -> None:
    """Raise where `Learner.predict` is asked for another number of actions than `Learner.start` was told of."""
    if n_actions != space.n_actions:
        raise ValueError(f"there are {n_actions} actions, but it was started with {space.n_actions}")


class Learner(ABC):
    """Base of all learners, ours and yours.

    A subclass keeps its constructor's arguments under their own names, and that is all it needs for `params`.
    It may override `play` with a compiled loop, which must give exactly the rewards of the one here.

    Attributes
    ----------
    note : str
        What a reader of the run log should know about the last stream (a fallback that was taken, for example).
    measures : mapping of str to float
        Numbers that it has counted in the last stream, for the run log.
    """

    note: str = ""
    measures: Mapping[str, float] = MappingProxyType({})

    @property
    def params(self) -> dict[str, Any]:
        """The learner's identity: its class and the values of its constructor's arguments."""
        return {"class": type(self).__name__, **{name: getattr(self, name) for name in _arguments(type(self))}}

    @abstractmethod
    def start(self, space: Space, seed: int) -> None:
        """Forget everything and get ready for a stream of contexts of this shape."""

    @abstractmethod
    def predict(self, context: Context, n_actions: int) -> np.ndarray:
        """Return the probability of each action."""

    @abstractmethod
    def learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        """Learn from the reward of the action that was taken with this probability."""

    def finish(self) -> None:  # noqa: B027 (most learners hold nothing)
        """Release what `start` acquired from outside Python; the runner calls it after a stream."""

    def play(self, environment: Environment, seed: int) -> np.ndarray:
        """Run a whole stream from a fresh start: predict, act by the environment's dice, learn.

        Parameters
        ----------
        environment : Environment
            The stream.
        seed : int
            Seed of the learner's own randomness.

        Returns
        -------
        ndarray of uint8, shape (n_steps,)
            The reward, 0 or 1, of each step.

        Raises
        ------
        ValueError
            If `predict` gives no probabilities; the message says at which step, and what is wrong with them.
        """
        rewards = np.zeros(len(environment), dtype=np.uint8)
        n_actions = environment.space.n_actions
        self.start(environment.space, seed)
        try:
            for step, (context, label) in enumerate(environment):
                probabilities = self.predict(context, n_actions)
                if not _are_probabilities(probabilities, n_actions):
                    problem = _problem(probabilities, n_actions)
                    raise ValueError(f"{type(self).__name__}.predict at step {step}: {problem}")
                action = int(sample(probabilities, environment.dice[step]))
                rewards[step] = action == label
                self.learn(context, action, float(rewards[step]), float(probabilities[action]))
        finally:
            self.finish()
        return rewards

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.params.items() if name != "class")
        return f"{type(self).__name__}({given})"
