"""The parametric learner, EMT and PEMT as a coba experiment on Vowpal Wabbit: what ours is compared with.

The same VW command lines as `emt.learners.VWParametric`, `VWEMT` and `VWPEMT`, driven the way coba drives VW.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import coba as cb
from coba.learners import VowpalMediator
from coba.learners.utilities import PMFInfoPredictor

from emt.data import load

__all__ = ["interactions_per_second"]

EPSILON = 0.1
PARAMETRIC = (
    "--cb_explore_adf --epsilon 0.1 --interactions xa --interactions xxa --ignore_linear x -b 26 --random_seed 1 "
    "--quiet"
)
MEMORY = (
    "--emt --emt_tree 0 --emt_leaf 100 --emt_scorer self_consistent_rank --emt_router eigen --emt_initial gaussian "
    "--min_prediction 0 --max_prediction 3 --coin --noconstant --power_t 0 --loss_function squared -b 26 "
    "--initial_weight 0 --interactions xa --random_seed 1 --quiet"
)
MULTICLASS, CONTEXTUAL_BANDIT = 2, 4  # VW's types of labels


class Memory:
    """VW's eigen memory tree, through coba's mediator."""

    def __init__(self) -> None:
        self._vw = VowpalMediator()

    def rewards(self, context: Sequence[float], actions: Sequence[Any]) -> list[int]:
        """Return the remembered reward of each action."""
        if not self._vw.is_initialized:
            self._vw.init_learner(MEMORY, MULTICLASS)
        return [self._vw.predict(self._vw.make_example({"x": context, "a": action})) for action in actions]

    def learn(self, context: Sequence[float], action: Any, reward: float, weight: float) -> None:
        """Remember the reward of the action taken."""
        self._vw.learn(self._vw.make_example({"x": context, "a": action}, f"{int(reward)} {weight}"))


class CobaEMT(cb.Learner):
    """EMT-CB."""

    def __init__(self) -> None:
        self._memory = Memory()
        self._predictor = PMFInfoPredictor(self._probabilities, 1)

    @property
    def params(self) -> dict[str, Any]:
        """What coba's results call it."""
        return {"family": "emt"}

    def _probabilities(self, context: Any, actions: Any) -> tuple[list[float], dict[str, Any]]:
        rewards = self._memory.rewards(context, actions)
        best = max(rewards)
        greedy = (1 - EPSILON) / rewards.count(best)
        return [EPSILON / len(actions) + greedy * (reward == best) for reward in rewards], {"n": len(actions)}

    def predict(self, context: Any, actions: Any) -> Any:
        """Query every action and draw one."""
        return self._predictor.predict(context, actions)

    def learn(self, context: Any, action: Any, reward: float, probability: float, n: int) -> None:
        """Remember the reward of the action taken."""
        self._memory.learn(context, action, reward, 1 / (n * probability))


class CobaPEMT(cb.Learner):
    """PEMT-CB: the memory's answer is one more feature of each action."""

    def __init__(self) -> None:
        self._memory, self._vw = Memory(), VowpalMediator()
        self._predictor = PMFInfoPredictor(self._probabilities, 1)

    @property
    def params(self) -> dict[str, Any]:
        """What coba's results call it."""
        return {"family": "pemt"}

    def _probabilities(self, context: Any, actions: Any) -> tuple[list[float], dict[str, Any]]:
        if not self._vw.is_initialized:
            self._vw.init_learner(PARAMETRIC, CONTEXTUAL_BANDIT)
        rewards = self._memory.rewards(context, actions)
        told = [{"a": action, "m": reward} for action, reward in zip(actions, rewards, strict=True)]
        return self._vw.predict(self._vw.make_examples({"x": context}, told)), {"actions": actions, "told": told}

    def predict(self, context: Any, actions: Any) -> Any:
        """Query every action, let the linear model judge, and draw one."""
        return self._predictor.predict(context, actions)

    def learn(self, context: Any, action: Any, reward: float, probability: float, actions: Any, told: Any) -> None:
        """Teach both."""
        labels = [f"1:{-reward}:{probability}" if other == action else None for other in actions]
        self._vw.learn(self._vw.make_examples({"x": context}, told, labels))
        self._memory.learn(context, action, reward, 1 / (len(actions) * probability))


def _rows(name: str) -> tuple[list[list[Any]], list[str]]:
    """Return a set the way coba takes one: numbers scaled as ours are, categories as text, labels as text."""
    dataset = load(name)
    extent = dataset.numeric.max(axis=0, initial=0) - dataset.numeric.min(axis=0, initial=0)
    numeric = (dataset.numeric / [size or 1 for size in extent]).tolist() if dataset.numeric.size else None
    codes = [[f"v{code}" for code in row] for row in dataset.categorical.tolist()]
    features = [(numeric[i] if numeric else []) + codes[i] for i in range(len(dataset))]
    return features, [f"class {label}" for label in dataset.labels]


def interactions_per_second(datasets: Sequence[str], seeds: int, processes: int) -> tuple[float, float]:
    """Run the study with coba; return its rate, start-up included, and the mean reward as a check of its sense."""
    environments = sum((cb.Environments.from_supervised(*_rows(name)) for name in datasets), cb.Environments())
    environments = environments.shuffle(seeds=range(seeds))
    noconstant = PARAMETRIC.replace("--quiet", "--noconstant --quiet")
    learners = [cb.VowpalLearner(noconstant), CobaEMT(), CobaPEMT()]
    started = time.perf_counter()
    result = cb.Experiment(environments, learners).run(quiet=True, processes=processes)
    seconds = time.perf_counter() - started
    rewards = result.interactions["reward"]
    return len(rewards) / seconds, sum(rewards) / len(rewards)
