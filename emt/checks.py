"""One suite of checks for every learner, ours or yours.

Each check is a function of a learner, which it never starts: it works on copies built from ``params``. A check that
fails raises `AssertionError` with what was found and what is expected.
"""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable

import numpy as np

from emt._kernels.explore import sample
from emt.data import Dataset
from emt.environment import Environment
from emt.evaluate import evaluate
from emt.extras import MissingExtra, needs
from emt.learners.base import Learner

__all__ = ["CHECKS", "check_learner"]


def check_learner(learner: Learner) -> None:
    """Run every check on a learner.

    Parameters
    ----------
    learner : Learner
        Any learner, not started: the checks work on copies of it.

    Raises
    ------
    AssertionError
        By the first check that fails, with what to do about it.

    Examples
    --------
    >>> from emt.learners import Parametric
    >>> check_learner(Parametric())
    """
    for check in CHECKS:
        check(learner)


def check_protocol(learner: Learner) -> None:
    """Check that it is a `Learner`, known by plain params, with a note, that may be finished at any time."""
    _require(isinstance(learner, Learner), learner, "inherits from emt.learners.base.Learner")
    _require(learner.params.get("class") == type(learner).__name__, learner, "has its class among its params")
    _require(json.loads(json.dumps(learner.params, default=repr)) == learner.params, learner, "has params for JSON")
    _require(isinstance(learner.note, str), learner, "has a note that is a string")
    fresh = _copy(learner)
    fresh.finish()
    fresh.start(_environment().space, seed=0)
    fresh.finish()
    fresh.finish()


def check_params(learner: Learner) -> None:
    """Check that its class and params are all of it: built again from them it is the same and earns the same."""
    copy = _copy(learner)
    _require(copy.params == learner.params, learner, f"keeps its arguments as they are; a copy has {copy.params}")
    _require(repr(copy) == repr(learner), learner, "looks the same when built again from its params")
    _same(evaluate(_copy(copy), _environment()), evaluate(copy, _environment()), learner, "earns the same as its copy")


def check_probabilities(learner: Learner) -> None:
    """Check that at every step it gives one finite, non-negative probability an action, and that they sum to 1."""
    learner = _copy(learner)
    for environment in _environments().values():
        n_actions = environment.space.n_actions
        learner.start(environment.space, seed=0)
        for die, (context, label) in zip(environment.dice, environment, strict=True):
            p = learner.predict(context, n_actions)
            _require(isinstance(p, np.ndarray), learner, f"predicts an array, not {p!r}")
            _require(p.shape == (n_actions,), learner, f"predicts one probability an action; its shape is {p.shape}")
            _require(p.dtype.kind == "f" and bool(np.isfinite(p).all()), learner, f"predicts finite floats, not {p}")
            _require(bool((p >= 0).all()), learner, f"predicts no negative probability: {p}")
            _require(abs(p.sum() - 1) < 1e-6, learner, f"predicts probabilities that sum to 1, not to {p.sum()}")
            action = int(sample(p, die))
            learner.learn(context, action, float(action == label), float(p[action]))
        learner.finish()


def check_seed(learner: Learner) -> None:
    """Check that the same seed gives the same rewards, and that numpy's global generator has no part in it."""
    state = np.random.get_state()  # noqa: NPY002 (the legacy generator is what is looked at)
    try:
        rewards = []
        for seed in (1, 2):
            np.random.seed(seed)  # noqa: NPY002
            rewards.append(evaluate(_copy(learner), _environment()))
            after = np.random.random()  # noqa: NPY002
            expected = np.random.RandomState(seed).random_sample()
            _require(after == expected, learner, "leaves numpy's global generator alone: draw from a seeded one")
    finally:
        np.random.set_state(state)  # noqa: NPY002
    _same(rewards[0], rewards[1], learner, "takes its randomness from the seed of start alone")


def check_start(learner: Learner) -> None:
    """Check that start forgets: after other streams, finished or not, it earns what a new one earns."""
    new = evaluate(_copy(learner), _environment())
    used = _copy(learner)
    for other in _environments().values():
        evaluate(used, other)
    used.start(_environment().space, seed=3)
    for context, _ in _environment():
        used.learn(context, 0, 1.0, float(used.predict(context, _environment().space.n_actions)[0]))
    _same(evaluate(used, _environment()), new, learner, "forgets everything in start")


def check_two_at_once(learner: Learner) -> None:
    """Check that two of them can take turns on two streams: their state is their own."""
    environments = [_environment(seed) for seed in (0, 1)]
    alone = [Learner.play(_copy(learner), environment, seed=0) for environment in environments]
    pair = [_copy(learner) for _ in environments]
    together: list[list[int]] = [[], []]
    for one, environment in zip(pair, environments, strict=True):
        one.start(environment.space, seed=0)
    for *steps, dice in zip(*environments, zip(*(each.dice for each in environments), strict=True), strict=True):
        for one, rewards, (context, label), die in zip(pair, together, steps, dice, strict=True):
            probabilities = one.predict(context, environments[0].space.n_actions)
            action = int(sample(probabilities, die))
            rewards.append(int(action == label))
            one.learn(context, action, float(rewards[-1]), float(probabilities[action]))
    for one, rewards, expected in zip(pair, together, alone, strict=True):
        one.finish()
        _same(np.array(rewards), expected, learner, "keeps its state to itself: nothing in modules or classes")


def check_learning(learner: Learner) -> None:
    """Check that it learns: on an easy problem its later rewards are far better than chance."""
    for kind in ("numeric", "categorical"):
        environment = _environment(n_rows=400, numeric=kind == "numeric", categorical=kind == "categorical")
        late, chance = evaluate(_copy(learner), environment)[200:].mean(), 1 / environment.space.n_actions
        found = f"it has {late:.2f} late on, chance is {chance:.2f}"
        _require(late > chance + 0.2, learner, f"learns an easy {kind} problem; {found}")


def check_spaces(learner: Learner) -> None:
    """Check that it plays every shape of stream: one action, one context, no numeric or no categorical columns, ..."""
    learner = _copy(learner)
    for name, environment in _environments().items():
        rewards = np.asarray(evaluate(learner, environment))
        _require(rewards.dtype == np.uint8, learner, f"gives rewards as uint8, not {rewards.dtype} ({name})")
        _require(rewards.shape == (len(environment),), learner, f"gives one reward a step ({name})")
        _require(bool((rewards <= 1).all()), learner, f"gives rewards of 0 and 1 ({name})")
        if environment.space.n_actions == 1:
            _require(bool(rewards.all()), learner, "takes the only action that there is")


def check_play(learner: Learner) -> None:
    """Check that a play of its own earns exactly what the step-by-step loop earns."""
    for name, environment in {**_environments(), "long": _environment(n_rows=400)}.items():
        for seed in (0, 2**64 - 1):
            played = _copy(learner).play(environment, seed)
            looped = Learner.play(_copy(learner), environment, seed)
            _same(played, looped, learner, f"plays exactly as it does step by step ({name})")


def check_inputs(learner: Learner) -> None:
    """Check that it modifies nothing that it is given."""
    for environment in _environments().values():
        arrays = environment.numeric, environment.categorical, environment.labels
        before = [array.copy() for array in arrays]
        evaluate(_copy(learner), environment)
        Learner.play(_copy(learner), environment, seed=0)
        for array, old in zip(arrays, before, strict=True):
            _require(np.array_equal(array, old), learner, "leaves the arrays of contexts and labels as they are")


def check_pickle(learner: Learner) -> None:
    """Check that it can be pickled before a stream and after one, and that the pickled one earns the same."""
    used = _copy(learner)
    rewards = evaluate(used, _environment())
    for one in (_copy(learner), used):
        try:
            other = pickle.loads(pickle.dumps(one))
        except Exception as error:
            raise AssertionError(
                f"{learner!r} must be a learner that can be pickled before start and after finish: {error}"
            ) from error
        _require(other.params == learner.params, learner, "has the same params when unpickled")
        _same(evaluate(other, _environment()), rewards, learner, "earns the same when unpickled")


def check_worker(learner: Learner) -> None:
    """Check that it earns the same in a worker process, where studies run; without joblib, a warning is all."""
    try:
        with needs("study"):
            from joblib import Parallel, delayed
    except MissingExtra as error:
        warnings.warn(f"not checked in a worker process, where studies run: {error}", stacklevel=3)
        return
    environments = [_environment(seed) for seed in (0, 1)]
    try:
        there = Parallel(n_jobs=2, backend="loky")(delayed(evaluate)(_copy(learner), each) for each in environments)
    except Exception as error:
        raise AssertionError(f"{learner!r} must be a learner that can run in a worker process: {error}") from error
    for rewards, environment in zip(there, environments, strict=True):
        _same(rewards, evaluate(_copy(learner), environment), learner, "earns the same in a worker process")


#: Every check, in the order of `check_learner`.
CHECKS: tuple[Callable[[Learner], None], ...] = (
    check_protocol,
    check_params,
    check_probabilities,
    check_seed,
    check_start,
    check_two_at_once,
    check_learning,
    check_spaces,
    check_play,
    check_inputs,
    check_pickle,
    check_worker,
)


def _environment(
    seed: int = 0,
    n_rows: int = 60,
    n_actions: int = 3,
    numeric: bool = True,
    categorical: bool = True,
    shift: float = 0,
) -> Environment:
    """Return an easy problem: the numeric columns alone tell the label (with noise), and so do the categorical ones."""
    rng = np.random.default_rng(0)
    labels = np.arange(n_rows, dtype=np.int32) % n_actions
    noise = rng.normal(0, 0.1, (n_rows, n_actions))
    numbers = (np.eye(n_actions)[labels] + noise + shift)[:, : n_actions * numeric]
    codes = np.column_stack([labels, (labels + 1) % n_actions, rng.integers(0, 5, n_rows)])[:, : 3 * categorical]
    dataset = Dataset(
        name="easy",
        numeric=numbers.astype(np.float32),
        categorical=codes.astype(np.int32),
        n_levels=np.array([n_actions, n_actions, 5], dtype=np.int32)[: codes.shape[1]],
        labels=labels,
        classes=tuple(f"class {k}" for k in range(n_actions)),
        numeric_names=tuple(f"number {i}" for i in range(numbers.shape[1])),
        categorical_names=tuple(f"code {j}" for j in range(codes.shape[1])),
    )
    return Environment(dataset, seed)


def _environments() -> dict[str, Environment]:
    """Return small streams of every shape."""
    same = _environment(n_rows=30)
    same.numeric[:], same.categorical[:] = same.numeric[0], same.categorical[0]
    return {
        "mixed columns": _environment(),
        "no categorical columns": _environment(categorical=False),
        "no numeric columns": _environment(numeric=False),
        "numbers far from 0": _environment(shift=-100),
        "many actions": _environment(n_actions=12),
        "one action": _environment(n_rows=20, n_actions=1),
        "one context, once": _environment(n_rows=1),
        "one context, repeated": same,
    }


def _copy(learner: Learner) -> Learner:
    given = {name: value for name, value in learner.params.items() if name != "class"}
    return type(learner)(**given)


def _require(condition: bool, learner: object, what: str) -> None:
    if not condition:
        raise AssertionError(f"{learner!r} must be a learner that {what}")


def _same(rewards: np.ndarray, expected: np.ndarray, learner: Learner, what: str) -> None:
    differ = np.flatnonzero(np.asarray(rewards) != np.asarray(expected))
    _require(len(differ) == 0, learner, f"{what}; the first difference is at step {differ[0] if len(differ) else ''}")
