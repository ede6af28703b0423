"""Learners for tests of the runner: quick, pure Python, and able to fail in every way."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from emt.learners.base import Learner

HERE = Path(__file__).parent
LEFT: list[bytearray] = []


class Toy(Learner):
    """Rewards from the run's seed alone; at "dataset/seed" in `fail` or `kill` it raises or kills its process.

    The seconds in TOY_DELAY make it slow, which is no part of its identity.
    """

    def __init__(self, epsilon=0.1, fail="", kill="", mark=""):
        if not 0 <= epsilon <= 1:
            raise ValueError(f"epsilon must be between 0 and 1, not {epsilon}")
        self.epsilon, self.fail, self.kill, self.mark = epsilon, fail, kill, mark

    def play(self, environment, seed):
        here = f"{environment.dataset.name}/{environment.seed}"
        time.sleep(float(os.environ.get("TOY_DELAY", 0)))
        if here == self.fail and not (self.mark and os.path.exists(self.mark)):
            raise RuntimeError("no luck here")
        if here == self.kill and len(environment) > 100:
            os.kill(os.getpid(), signal.SIGKILL)
        self.note = "noted" if here == "wine/1" else ""
        return np.random.default_rng(seed).integers(0, 2, len(environment), dtype=np.uint8)

    def start(self, space, seed):
        pass

    def predict(self, context, n_actions):
        return np.full(n_actions, 1 / n_actions)

    def learn(self, context, action, reward, probability):
        pass


class Grows(Toy):
    """Leaves 400 MB behind in its process, once."""

    def play(self, environment, seed):
        if environment.seed == 5:
            LEFT.append(bytearray(os.urandom(1)) * 400_000_000)
        time.sleep(0.4)
        return super().play(environment, seed)


class Stepper(Toy):
    """Goes step by step through the loop that every learner has."""

    play = Learner.play


class Counts(Toy):
    """Measures what it was shown."""

    def play(self, environment, seed):
        self.measures = {"labels": float(environment.labels @ np.arange(len(environment)))}
        return super().play(environment, seed)


class Liar(Toy):
    """Gives rewards that are no rewards."""

    def play(self, environment, seed):
        return np.full(len(environment), 7)


class OwnProcess(Toy):
    """Notes which process played it."""

    def play(self, environment, seed):
        rewards = super().play(environment, seed)
        self.note = str(os.getpid())
        return rewards


class Exits(Toy):
    """Cannot be constructed."""

    def __init__(self):
        raise SystemExit("not today")


class Unloggable(Toy):
    """Has a parameter that no log can hold."""

    def __init__(self, what=None):
        super().__init__()
        self.what = object()
