"""Vowpal Wabbit (VW) behind the learners: a workspace, and its examples built from pre-hashed (index, value) pairs.

Namespace ``x`` is the context: numeric column i is feature i, and each level of each categorical column is one more
feature, an indicator, numbered on from there. Namespace ``a`` is the indicator of the action, and ``m`` what a memory
says of it. An index is the one that VW's text format would give to the name ``str(number)``: examples from pairs give
the predictions of text, without the writing and parsing of it.

VW's bindings (`pylibvw`) are called directly where a step passes: the checks in pyvw around a prediction cost ten
times the prediction. Importing this module loads VW.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import pylibvw
from vowpalwabbit import Workspace
from vowpalwabbit.pyvw import Example

from emt._kernels.explore import epsilon_greedy
from emt.environment import Context, Space

__all__ = ["Memory", "Model", "Policy", "PolicyWithMemory"]

Features = list[tuple[int, float]]
_ACTION = ord("a")


class Model:
    """A VW workspace for one stream.

    A workspace cannot be pickled: a learner makes its model in ``start`` and lets go of it in ``finish``.

    Parameters
    ----------
    command : str
        VW's command line.
    space : Space
        The shape of the stream.
    seed : int
        Becomes VW's ``--random_seed``.
    """

    def __init__(self, command: str, space: Space, seed: int):
        self.workspace = Workspace(f"{command} --random_seed {seed % 2**32} --quiet")
        self._numeric = [self._index("x", i) for i in range(space.n_numeric)]
        starts = accumulate(space.n_levels, initial=space.n_numeric)
        self._levels = [
            [(self._index("x", start + level), 1.0) for level in range(n)]
            for start, n in zip(starts, space.n_levels, strict=False)
        ]
        self._actions: list[Features] = [[(self._index("a", action), 1.0)] for action in range(space.n_actions)]

    def _index(self, namespace: str, number: int) -> int:
        return int(self.workspace.hash_feature(str(number), self.workspace.hash_space(namespace)))

    def context(self, context: Context) -> Features:
        """Return the features of namespace x; VW leaves out those with value 0."""
        features: Features = list(zip(self._numeric, context.numeric.tolist(), strict=True))
        if self._levels:
            features += [pairs[code] for pairs, code in zip(self._levels, context.categorical.tolist(), strict=True)]
        return features

    def example(self, namespaces: dict[str, Features], label: str = "") -> Example:
        """Return an example ready for VW. The label comes first: VW's setup takes the weight from it."""
        example = Example(self.workspace, namespaces)
        if label:
            example.set_label_string(label)
        example.setup_example()
        return example

    def finish(self) -> None:
        """Free VW's side."""
        self.workspace.finish()


class Memory(Model):
    """A memory in VW that keeps the reward of a (context, action) as a multiclass label, explored epsilon-greedily.

    Parameters
    ----------
    command, space, seed
        As in `Model`.
    epsilon : float
        Share of exploration.
    zero : int
        The label of reward 0; reward 1 is the label after it.
    weighted : bool
        Whether a memory carries the importance weight 1 / (|A| p) of its action.
    """

    def __init__(self, command: str, space: Space, seed: int, epsilon: float, zero: int, weighted: bool):
        super().__init__(command, space, seed)
        self._epsilon, self._zero, self._weighted = epsilon, zero, weighted
        alone = [self.example({"a": features}) for features in self._actions]
        self._action_indices = [pylibvw.example.feature(example, _ACTION, 0) for example in alone]

    def rewards(self, context: Context) -> list[int]:
        """Query every action once and return the remembered rewards; a memory that has none gives 0."""
        example = self.example({"x": self.context(context), "a": self._actions[0]})
        rewards = []
        for index in self._action_indices:
            # The queries of a context differ in the action's indicator only: put in place, not built anew.
            pylibvw.example.pop_feature(example, _ACTION)
            pylibvw.example.push_hashed_feature(example, _ACTION, index, 1.0)
            pylibvw.vw.predict(self.workspace, example)
            rewards.append(max(example.get_multiclass_prediction() - self._zero, 0))
        return rewards

    def probabilities(self, context: Context) -> np.ndarray:
        """Return the probability of each action: epsilon-greedy over the remembered rewards."""
        probabilities = np.empty(len(self._actions))
        epsilon_greedy(np.array(self.rewards(context), dtype=np.float64), self._epsilon, probabilities)
        return probabilities

    def learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        """Remember the reward of the action taken."""
        if reward not in (0, 1):
            raise ValueError(f"VW's memories keep rewards of 0 and 1 only, not {reward}")
        weight = 1 / (len(self._actions) * probability) if self._weighted else 1
        label = f"{int(reward) + self._zero} {weight}"
        example = self.example({"x": self.context(context), "a": self._actions[action]}, label)
        pylibvw.vw.learn(self.workspace, example)


class Policy(Model):
    """VW's contextual bandit over actions with features of their own, ``--cb_explore_adf``.

    The context is VW's shared example. An action's own example is the same at every step, with or without feature m:
    both are made once.
    """

    def __init__(self, command: str, space: Space, seed: int):
        super().__init__(command, space, seed)
        remembered = {"m": [(self._index("m", 0), 1.0)]}
        self._namespaces = [({"a": features}, {"a": features, **remembered}) for features in self._actions]
        self._examples = [[self.example(namespaces) for namespaces in pair] for pair in self._namespaces]
        self._nothing = [0] * space.n_actions

    def probabilities(self, context: Context, memory: Sequence[int] | None = None) -> np.ndarray:
        """Return the probability of each action; those whose remembered reward is 1 have the feature m."""
        shared = self.example({"x": self.context(context)}, "shared")
        actions = [pair[m] for pair, m in zip(self._examples, memory or self._nothing, strict=True)]
        pylibvw.vw.predict_multi(self.workspace, [shared, *actions])
        return np.array(shared.get_action_scores())

    def learn(
        self, context: Context, action: int, reward: float, probability: float, memory: Sequence[int] | None = None
    ) -> None:
        """Learn that the action taken cost -reward."""
        memory = memory or self._nothing
        shared = self.example({"x": self.context(context)}, "shared")
        actions = [pair[m] for pair, m in zip(self._examples, memory, strict=True)]
        actions[action] = self.example(self._namespaces[action][memory[action]], f"0:{-reward}:{probability}")
        pylibvw.vw.learn_multi(self.workspace, [shared, *actions])


class PolicyWithMemory:
    """A parametric policy that is told what a memory says; both learn from every step."""

    def __init__(self, memory: Memory, policy: Policy):
        self._memory, self._policy = memory, policy
        self._last: tuple[Context | None, list[int]] = (None, [])

    def probabilities(self, context: Context) -> np.ndarray:
        """Return the probability of each action."""
        self._last = context, self._memory.rewards(context)
        return self._policy.probabilities(context, self._last[1])

    def learn(self, context: Context, action: int, reward: float, probability: float) -> None:
        """Learn from the reward of the action taken; the memory is asked again only if it was not asked just before."""
        last, rewards = self._last
        if last is not context:
            rewards = self._memory.rewards(context)
        self._policy.learn(context, action, reward, probability, rewards)
        self._memory.learn(context, action, reward, probability)
        self._last = None, []

    def finish(self) -> None:
        """Free VW's side."""
        self._memory.finish()
        self._policy.finish()
