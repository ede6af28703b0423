"""coba's experiments with the learners here, and coba's learners in the studies here: ``pip install 'emt[coba]'``.

| here | in coba |
| --- | --- |
| a `Learner`, by `ForCoba` | a learner of an experiment |
| an `Environment`, by `CobaEnvironment` | an environment of an experiment: the same rows in the same order |
| a learner of a study, by `CobaLearner` | any learner |

A learner and a stream give the same rewards on both sides if the dice are the same: see `ForCoba`.
"""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from emt._kernels.explore import sample
from emt.environment import Context, Environment, Space
from emt.extras import needs
from emt.learners.base import Learner

with needs("coba"):
    import coba

__all__ = ["CobaEnvironment", "CobaLearner", "ForCoba"]


class ForCoba(coba.Learner):  # type: ignore[misc]
    """A learner of this library as one of coba's.

    It is started by the first context that it is asked about. Contexts are dense: numbers, and categories as the
    indicators that coba makes of them. The actions are the same throughout.

    Parameters
    ----------
    learner : Learner
        Any learner, which is copied.
    seed : int
        Seed of its own randomness, and of the dice that actions are drawn with: ``coba.CobaRandom(seed)``, one number
        a step.

    Examples
    --------
    >>> import coba
    >>> from emt import Environment
    >>> from emt.data import load
    >>> from emt.learners import EMT, PEMT
    >>> iris = CobaEnvironment(Environment(load("iris"), seed=0))
    >>> experiment = coba.Experiment([iris], [ForCoba(EMT()), ForCoba(PEMT()), coba.LinUCBLearner()])
    >>> result = experiment.run(quiet=True)
    >>> len(result.interactions)
    450

    With coba's dice, the rewards here are the same:

    >>> environment = Environment(load("iris"), seed=0)
    >>> environment.dice = np.array(coba.CobaRandom(1).randoms(len(environment)))
    >>> rewards = EMT().play(environment, seed=1)
    >>> rewards.tolist() == list(result.interactions.where(learner_id=0)["reward"])
    True
    """

    def __init__(self, learner: Learner, seed: int = 1):
        self._learner, self._seed = copy.deepcopy(learner), seed
        self._dice = coba.CobaRandom(seed)
        self._actions: list[Any] | None = None

    @property
    def params(self) -> dict[str, Any]:
        """What coba's results call it."""
        params = dict(self._learner.params)
        return {"family": params.pop("class"), **params, "seed": self._seed}

    def predict(self, context: Any, actions: Sequence[Any]) -> tuple[Any, float]:
        """Return an action, drawn by the learner's probabilities, and its own."""
        taken = _dense(context)
        if self._actions is None:
            self._actions = list(actions)
            self._learner.start(Space(len(taken.numeric), (), len(actions)), self._seed)
        if self._actions != list(actions):
            raise ValueError(f"the actions were {self._actions} and are {actions}: they must be the same throughout")
        probabilities = self._learner.predict(taken, len(actions))
        action = int(sample(probabilities, self._dice.random()))
        return actions[action], float(probabilities[action])

    def learn(self, context: Any, action: Any, reward: float, probability: float) -> None:
        """Learn from the reward of the action that was taken."""
        if self._actions is None:
            raise ValueError("a learner of this library predicts before it learns: it must know all actions")
        self._learner.learn(_dense(context), self._actions.index(action), float(reward), float(probability))


class CobaEnvironment(coba.Environment):  # type: ignore[misc]
    """A stream of this library as one of coba's environments: the same rows, scaled, in the same order.

    Parameters
    ----------
    environment : Environment
        The stream. Its dice are not coba's: learners of coba have their own.

    Examples
    --------
    >>> from emt.data import load
    >>> first = next(CobaEnvironment(Environment(load("iris"), seed=0)).read())
    >>> len(first["context"]), len(first["actions"])
    (4, 3)
    """

    def __init__(self, environment: Environment):
        self._environment = environment

    @property
    def params(self) -> dict[str, Any]:
        """What coba's results call it."""
        it = self._environment
        return {"env_type": it.dataset.name, "seed": it.seed, "horizon": it.horizon, "story": it.story}

    def read(self) -> Iterator[Mapping[str, Any]]:
        """Yield the interactions."""
        space = self._environment.space
        names = [str(action) for action in range(space.n_actions)]
        actions = [coba.Categorical(name, names) for name in names]
        levels = [[str(code) for code in range(n)] for n in space.n_levels]
        for context, label in self._environment:
            codes = zip(context.categorical, levels, strict=True)
            categories = [coba.Categorical(known[code], known) for code, known in codes]
            rewards = [float(action == label) for action in range(space.n_actions)]
            yield coba.SimulatedInteraction([*context.numeric.tolist(), *categories], actions, rewards)


class CobaLearner(Learner):
    """A learner of coba as one of this library: it explores by itself, as in coba, with its own dice.

    A context is the list of its numbers, then an indicator for each level; an action is a tuple of indicators.

    Parameters
    ----------
    kind : str
        The learner's class, for example ``coba.LinUCBLearner``.
    arguments : dict, optional
        The arguments of its constructor. Where it takes a ``seed`` and none is given, it has the stream's.

    Examples
    --------
    >>> from emt import evaluate
    >>> from emt.data import load
    >>> rewards = evaluate(CobaLearner("coba.LinUCBLearner", {"alpha": 0.1}), Environment(load("iris"), seed=0))
    >>> bool(rewards.mean() > 0.6)
    True
    """

    def __init__(self, kind: str, arguments: dict[str, Any] | None = None):
        self.kind, self.arguments = kind, dict(arguments or {})
        module, _, name = kind.rpartition(".")
        try:
            self._make = getattr(importlib.import_module(module), name)
        except (AttributeError, ImportError, ValueError):
            raise ValueError(f"kind is {kind!r}: name a class, as in coba.LinUCBLearner") from None

    def start(self, space: Space, seed: int) -> None:
        """Make the learner anew."""
        arguments = dict(self.arguments)
        if "seed" in inspect.signature(self._make).parameters:
            arguments.setdefault("seed", seed)
        self._learner = coba.SafeLearner(self._make(**arguments))
        self._actions = [tuple(row) for row in np.eye(space.n_actions, dtype=int).tolist()]
        self._begins = np.cumsum([0, *space.n_levels])
        self._n_numeric = space.n_numeric

    def predict(self, context: Context, n_actions: int) -> np.ndarray:
        """Return 1 for the action that the learner takes, and 0 for the others."""
        action, self._probability, self._told = self._learner.predict(self._features(context), self._actions)
        return np.array([float(action == other) for other in self._actions])

    def learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        """Let the learner learn, with the probability that it gave its action."""
        features, taken = self._features(context), self._actions[action]
        self._learner.learn(features, taken, reward, self._probability, **self._told)

    def finish(self) -> None:
        """Let go of the learner, which may not be one that can be pickled."""
        self._learner = None

    def _features(self, context: Context) -> list[float]:
        indicators = np.zeros(self._begins[-1])
        indicators[self._begins[:-1] + context.categorical] = 1
        return [*context.numeric.tolist(), *indicators.tolist()]


def _dense(context: Any) -> Context:
    """Return a context of coba's as one of ours."""
    values = [] if context is None else context
    try:
        numeric = np.atleast_1d(np.asarray(values, np.float32))
    except (TypeError, ValueError):
        advice = "numbers and coba.Categorical are taken; environments.dense() makes sparse contexts dense"
        raise ValueError(f"a context is {str(context)[:80]}: {advice}") from None
    return Context(numeric, np.zeros(0, np.int32))
