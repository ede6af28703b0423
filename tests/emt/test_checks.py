"""Every learner of conf/ passes every check, and every check finds the fault that it is there for."""

import copy
import importlib.util
import itertools
import os
import sys
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from emt import checks
from emt.checks import CHECKS, check_learner
from emt.learners.base import Learner

CONFIGS = sorted((Path(__file__).parents[2] / "conf" / "learner").glob("*.yaml"))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_every_learner_of_conf_passes_every_check(config, check):
    check(instantiate(OmegaConf.load(config)))


@pytest.fixture(autouse=True)
def _send_these_classes_to_workers():
    """Workers cannot import a test's module; before 1.6, joblib had a cloudpickle of its own."""
    picklers = [cloudpickle]
    if importlib.util.find_spec("joblib.externals.cloudpickle"):
        picklers.append(importlib.import_module("joblib.externals.cloudpickle"))
    for pickler in picklers:
        pickler.register_pickle_by_value(sys.modules[__name__])
    yield
    for pickler in picklers:
        pickler.unregister_pickle_by_value(sys.modules[__name__])


class Table(Learner):
    """A sound learner for contexts of a few kinds: the best mean reward so far, near-ties broken at random."""

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = epsilon

    def start(self, space, seed):
        self.rng = np.random.default_rng(seed)
        self.sums = {}

    def kind(self, context):
        return (*np.round(context.numeric).tolist(), *context.categorical.tolist()[:2])

    def predict(self, context, n_actions):
        sums = self.sums.setdefault(self.kind(context), np.zeros((2, n_actions)))
        best = np.argmax((sums[0] + 0.5) / (sums[1] + 1) + 0.1 * self.rng.random(n_actions))
        return self.epsilon / n_actions + (1 - self.epsilon) * (np.arange(n_actions) == best)

    def learn(self, context, action, reward, probability):
        self.sums[self.kind(context)][:, action] += (reward, 1)


class NoLearner:
    params = {"class": "NoLearner"}  # noqa: RUF012 (a fault on purpose)


class ParamsBeyondJson(Table):
    def __init__(self, epsilon=0.1, kinds=frozenset()):
        super().__init__(epsilon)
        self.kinds = kinds


class FinishesOnce(Table):
    def finish(self):
        del self.rng


class ChangesItsArguments(Table):
    def __init__(self, epsilon=0.1):
        self.epsilon = epsilon / 2


class HiddenArgument(Table):
    def __init__(self, epsilon=0.1):
        super().__init__(epsilon)
        HiddenArgument.made = getattr(HiddenArgument, "made", 0) + 1
        self.made = HiddenArgument.made

    def start(self, space, seed):
        super().start(space, seed + self.made)


class SumsToMore(Table):
    def predict(self, context, n_actions):
        return super().predict(context, n_actions) + 0.01


class Negative(Table):
    def predict(self, context, n_actions):
        p = super().predict(context, n_actions)
        return p + np.where(np.arange(n_actions) == 0, -1, 0) + np.where(np.arange(n_actions) == n_actions - 1, 1, 0)


class GivesNan(Table):
    def predict(self, context, n_actions):
        return super().predict(context, n_actions) * np.nan


class GivesAList(Table):
    def predict(self, context, n_actions):
        return super().predict(context, n_actions).tolist()


class GlobalDraws(Table):
    def start(self, space, seed):
        super().start(space, seed)
        self.rng = np.random


class Unseeded(Table):
    starts = itertools.count()  # for chance might make two streams the same

    def start(self, space, seed):
        super().start(space, seed)
        self.rng = np.random.default_rng(next(self.starts))


class NeverForgets(Table):
    def start(self, space, seed):
        sums = getattr(self, "sums", {})
        super().start(space, seed)
        self.sums = {kind: kept for kind, kept in sums.items() if kept.shape[1] == space.n_actions}


class SharedState(Table):
    everyone = {}  # noqa: RUF012 (a fault on purpose)

    def start(self, space, seed):
        super().start(space, seed)
        self.everyone.clear()
        self.sums = self.everyone


class NeverLearns(Table):
    def learn(self, context, action, reward, probability):
        pass


class NeedsNumbers(Table):
    def kind(self, context):
        return round(float(context.numeric[0])), *context.categorical.tolist()[:2]


class PlaysAnotherGame(Table):
    def play(self, environment, seed):
        environment = copy.copy(environment)
        environment.dice = 1 - environment.dice
        return super().play(environment, seed)


class SpoilsItsInputs(Table):
    def learn(self, context, action, reward, probability):
        super().learn(context, action, reward, probability)
        context.numeric[:] = 0


class CannotBePickled(Table):
    def start(self, space, seed):
        super().start(space, seed)
        self.kind = lambda context: tuple(context.categorical.tolist()[:2])


class KnowsItsProcess(Table):
    home = os.getpid()

    def start(self, space, seed):
        super().start(space, seed + (os.getpid() != self.home))


FAULTS = {
    "check_protocol": [NoLearner, ParamsBeyondJson, FinishesOnce],
    "check_params": [ChangesItsArguments, HiddenArgument],
    "check_probabilities": [SumsToMore, Negative, GivesNan, GivesAList],
    "check_seed": [GlobalDraws, Unseeded],
    "check_start": [NeverForgets],
    "check_two_at_once": [SharedState],
    "check_learning": [NeverLearns],
    "check_spaces": [NeedsNumbers],
    "check_play": [PlaysAnotherGame],
    "check_inputs": [SpoilsItsInputs],
    "check_pickle": [CannotBePickled],
    "check_worker": [KnowsItsProcess],
}


def test_a_sound_learner_of_a_user_passes():
    check_learner(Table())


def test_every_check_has_a_fault_to_find():
    assert list(FAULTS) == [check.__name__ for check in CHECKS]


@pytest.mark.parametrize(
    ("name", "fault"),
    [(name, fault) for name, faults in FAULTS.items() for fault in faults],
    ids=lambda case: getattr(case, "__name__", case),
)
def test_a_check_finds_its_fault(name, fault):
    with pytest.raises((AssertionError, AttributeError, IndexError)):
        getattr(checks, name)(fault())


def test_a_failed_check_says_who_and_what():
    with pytest.raises(AssertionError, match=r"Negative\(epsilon=0.1\) .* negative probability: \["):
        checks.check_probabilities(Negative())


def test_without_joblib_the_check_in_a_worker_process_is_a_warning(monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.warns(UserWarning, match=r"joblib is not installed: pip install 'emt\[study\]'"):
        checks.check_worker(Table())
