"""Compiled learners that live on: saved, loaded, and safe from what does not fit."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from toy_memory import Nearest

from emt import Context, Environment, Space
from emt._kernels.explore import sample
from emt.array_files import load_arrays, save_arrays
from emt.data import from_arrays, load
from emt.learners import CMT, EMT, KNN, PCMT, PEMT, LinUCB, Parametric, PCMTPlus, PEMTPlus, Ridge, compiled

LEARNERS = [
    Parametric(),
    EMT(budget=40, leaf_capacity=10),
    EMT(variant="as_printed", scorer="interaction", leaf_capacity=10),
    PEMT(),
    PEMT(budget=30, leaf_capacity=5, duplicates="last"),
    CMT(leaf_multiplier=1),
    PCMT(),
    PEMTPlus(leaf_capacity=10, forgetting=0.99),
    PEMTPlus(ridge=False, explore="squarecb"),
    PCMTPlus(),
    KNN(k=3),
    Ridge(),
    LinUCB(),
    Parametric(explore="squarecb"),
]


def mixed():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 200)
    columns = [rng.normal(labels), rng.normal(size=200), (labels + rng.integers(0, 2, 200)) % 4]
    return from_arrays(np.column_stack(columns), labels, categorical=[2], name="mixed")


def play(learner, environment, steps):
    rewards = []
    for step in steps:
        context = Context(environment.numeric[step], environment.categorical[step])
        probabilities = learner.predict(context, environment.space.n_actions)
        action = int(sample(probabilities, environment.dice[step]))
        rewards.append(int(action == environment.labels[step]))
        learner.learn(context, action, rewards[-1], float(probabilities[action]))
    return rewards


def played(learner, environment, n):
    learner = type(learner)(**{name: value for name, value in learner.params.items() if name != "class"})
    learner.start(environment.space, seed=7)
    return learner, play(learner, environment, range(n))


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("dataset", [mixed, lambda: load("tic-tac-toe")], ids=["mixed", "tic-tac-toe"])
def test_a_learner_goes_on_from_its_file_as_if_nothing_had_happened(learner, dataset, tmp_path):
    environment = Environment(dataset(), seed=0, horizon=200)
    stopped, rewards = played(learner, environment, 90)
    stopped.save(tmp_path / "learner")
    again = type(learner).load(tmp_path / "learner")
    assert again.params == learner.params
    rewards += play(again, environment, range(90, 140))
    again.save(tmp_path / "learner")
    rewards += play(type(learner).load(tmp_path / "learner"), environment, range(140, len(environment)))
    assert rewards == learner.play(environment, seed=7).tolist()


def test_features_that_are_numbered_as_they_occur_come_back(tmp_path, monkeypatch):
    """Where a model has room for the features that occur alone, and where even those must share."""
    environment = Environment(load("tic-tac-toe"), seed=0, horizon=200)
    for n_bytes in (2**29, 2**12):
        monkeypatch.setattr("emt._kernels.linear.ALL_BYTES", 0)
        monkeypatch.setattr("emt._kernels.linear.NUMERIC_BYTES", 0)
        monkeypatch.setattr("emt._kernels.linear.OCCURRING_BYTES", n_bytes)
        stopped, rewards = played(Parametric(), environment, 100)
        stopped.save(tmp_path / "learner")
        again = Parametric.load(tmp_path / "learner")
        counts = again._bandit.model.numbering.counts
        assert counts["next"] > counts["first"]
        assert bool(again._bandit.model.numbering.counts["sharing"]) == (n_bytes == 2**12)
        rewards += play(again, environment, range(100, 200))
        assert rewards == Parametric().play(environment, seed=7).tolist()


@pytest.mark.parametrize("kind", [PEMT, PEMTPlus])
def test_between_a_prediction_and_its_reward_a_learner_can_be_saved(tmp_path, kind):
    environment = Environment(mixed(), seed=0)
    one, _ = played(kind(), environment, 60)
    context = Context(environment.numeric[60], environment.categorical[60])
    one.predict(context, 3)
    one.save(tmp_path / "learner")
    other = kind.load(tmp_path / "learner")
    for learner in (one, other):
        learner.learn(context, 1, 1.0, 0.5)
    assert play(one, environment, range(61, 120)) == play(other, environment, range(61, 120))


def test_a_learner_is_loaded_in_another_process(tmp_path):
    environment = Environment(mixed(), seed=0)
    learner, _ = played(EMT(), environment, 60)
    learner.save(tmp_path / "learner")
    code = (
        "import sys, json, numpy as np; from emt import Context; from emt.learners import EMT; "
        "numeric, categorical = (np.array(part) for part in json.loads(sys.argv[2])); "
        "print(json.dumps(EMT.load(sys.argv[1]).predict(Context(numeric, categorical), 3).tolist()))"
    )
    context = Context(environment.numeric[60], environment.categorical[60])
    arguments = [str(tmp_path / "learner"), json.dumps([part.tolist() for part in context])]
    child = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert json.loads(child.stdout) == learner.predict(context, 3).tolist()


@pytest.fixture
def saved(tmp_path):
    played(PEMT(leaf_capacity=10), Environment(mixed(), seed=0), 80)[0].save(tmp_path / "learner")
    return tmp_path / "learner", *load_arrays(tmp_path / "learner")


CONTEXTUAL_FAULTS = [
    ("memory.codes", lambda a: a + 9, "levels that there are not"),
    ("memory.action", lambda a: a - 1, "actions that there are not"),
    ("memory.numeric", lambda a: a * np.nan, "numbers that are not finite"),
    ("memory.reward", lambda a: a + np.inf, "numbers that are not finite"),
    ("memory.reward", lambda a: a[1:], "do not fit its options"),
    ("memory.numeric", lambda a: a[:, 1:], "its numeric do not fit its options"),
    ("memory.action", lambda a: a.astype(np.int32), "its action do not fit its options"),
    ("memory.seed", lambda a: np.zeros(2, np.uint64), "its seed do not fit its options"),
]


@pytest.mark.parametrize(("name", "change", "message"), CONTEXTUAL_FAULTS, ids=range(len(CONTEXTUAL_FAULTS)))
def test_files_that_are_no_contextual_tree_are_refused(tmp_path, name, change, message):
    path = tmp_path / "learner"
    played(CMT(leaf_multiplier=1), Environment(mixed(), seed=0), 80)[0].save(path)
    about, arrays = load_arrays(path)
    save_arrays(path, about, arrays | {name: change(arrays[name])})
    with pytest.raises(ValueError, match=message):
        CMT.load(path)


FAULTS = [
    ("answers", lambda a: a[:1], "its answers do not fit"),
    ("answers", lambda a: a * np.nan, "its answers do not fit"),
    ("memory.codes", lambda a: a + 9, "a code is out of range"),
    ("memory.weight", lambda a: a[1:], "its weight do not fit"),
    ("model.weight", lambda a: a[:, 1:], "the model's weight do not fit"),
    ("model.weight", lambda a: a[1:], "the model's weight do not fit"),
    ("model.weight", lambda a: a * np.nan, "the model's weight are not finite"),
    ("model.adaptive", lambda a: a + np.inf, "the model's adaptive are not finite"),
    ("model.sums", lambda a: a * np.nan, "the model's sums are not finite"),
    ("model.numbers", lambda a: a + 1, "the model's numbers are out of range"),
    ("model.numbers", lambda a: a - 1, "the model's numbers are out of range"),
    ("model.numbers", lambda a: a + np.array([0, 2]), "the model's numbers are out of range"),
    ("model.slot", lambda a: a + 5, "the model's features are not numbered"),
    ("model.more", lambda a: np.zeros(3), "it has .*, not"),
    ("other.weight", lambda a: np.zeros(3), "KeyError"),
]


@pytest.mark.parametrize(("name", "change", "message"), FAULTS, ids=lambda case: case if isinstance(case, str) else "")
def test_files_that_are_no_learner_are_refused(saved, name, change, message):
    path, about, arrays = saved
    save_arrays(path, about, arrays | {name: change(arrays.get(name))})
    with pytest.raises(ValueError, match=f"learner is not a PEMT written by its save, or is damaged: .*{message}"):
        PEMT.load(path)


PLUS_FAULTS = [
    ("model.weight", lambda a: a[1:], "weight of the stack does not fit"),
    ("model.inverse", lambda a: a * np.nan, "inverse of the stack is not finite"),
    ("model.guard", lambda a: a.astype(np.float32), "guard of the stack does not fit"),
    ("model.z", lambda a: a[:1], "z of the stack does not fit"),
    ("model.asked", lambda a: a + 3, "asked of the stack is out of range"),
    ("model.asked", lambda a: a - 9, "asked of the stack is out of range"),
    ("model.more", lambda a: np.zeros(1), "the stack has .*, not"),
    ("model.ridge.weight", lambda a: a[:, 1:], "weight of the ridge does not fit"),
    ("model.ridge.inverse", lambda a: a + np.inf, "inverse of the ridge is not finite"),
    ("model.joint.weight", lambda a: a * np.nan, "the model's weight are not finite"),
    ("memory.codes", lambda a: a + 9, "a code is out of range"),
    ("explorer.n_steps", lambda a: a[:0], "n_steps of the exploration does not fit"),
    ("answers", lambda a: a[:, :1], "its answers do not fit"),
]


@pytest.mark.parametrize(("name", "change", "message"), PLUS_FAULTS, ids=range(len(PLUS_FAULTS)))
def test_files_that_are_no_stack_are_refused(tmp_path, name, change, message):
    path = tmp_path / "learner"
    played(PEMTPlus(explore="squarecb"), Environment(mixed(), seed=0), 60)[0].save(path)
    about, arrays = load_arrays(path)
    save_arrays(path, about, arrays | {name: change(arrays.get(name))})
    with pytest.raises(ValueError, match=message):
        PEMTPlus.load(path)


KNN_FAULTS = [
    ("memory.codes", lambda a: a + 9, "a code is out of range"),
    ("memory.action", lambda a: a - 1, "an action is out of range"),
    ("memory.numeric", lambda a: a * np.nan, "its numeric are not finite"),
    ("memory.reward", lambda a: a[1:], "do not fit its space"),
    ("memory.more", lambda a: np.zeros(1), "it has .*, not"),
]


@pytest.mark.parametrize(("name", "change", "message"), KNN_FAULTS, ids=range(len(KNN_FAULTS)))
def test_files_that_are_no_observations_are_refused(tmp_path, name, change, message):
    path = tmp_path / "learner"
    played(KNN(), Environment(mixed(), seed=0), 60)[0].save(path)
    about, arrays = load_arrays(path)
    save_arrays(path, about, arrays | {name: change(arrays.get(name))})
    with pytest.raises(ValueError, match=message):
        KNN.load(path)


ABOUTS = [
    ({"format": "emt-learner-0"}, "of format 'emt-learner-0', not 'PEMT'"),
    ({"class": "EMT"}, "it is 'EMT'"),
    ({"params": {"epsilon": 7}}, "epsilon must be"),
    ({"params": {"colour": "red"}}, "TypeError"),
    ({"space": {"n_numeric": 10**9, "n_levels": [], "n_actions": 3}}, "do not fit"),
    ({"space": {"n_numeric": -2, "n_levels": [4], "n_actions": 3}}, "n_numeric must be"),
    ({"space": {"n_numeric": 2, "n_levels": [0], "n_actions": 3}}, "n_levels must be"),
    ({"space": {"n_numeric": 2, "n_levels": [4], "n_actions": 0}}, "n_actions must be"),
    ({"space": {}}, "TypeError"),
]


@pytest.mark.parametrize(("changes", "message"), ABOUTS, ids=str)
def test_files_about_something_else_are_refused(saved, changes, message):
    path, about, arrays = saved
    save_arrays(path, about | changes, arrays)
    with pytest.raises(ValueError, match=message):
        PEMT.load(path)


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    learner = EMT()
    with pytest.raises(ValueError, match="start the learner first"):
        learner.save(tmp_path / "learner")
    learner.start(Space(1, (), 2), seed=0)
    learner.learn(Context(np.array([1e20]), np.zeros(0, int)), 0, 1.0, 0.5)
    with pytest.raises(ValueError, match=r"not numbers of size 1e.08 at most"):
        learner.save(tmp_path / "learner")
    other = Nearest()
    other.start(Space(1, (), 2), seed=0)
    with pytest.raises(TypeError, match="a learner with a Row cannot be saved"):
        other.save(tmp_path / "learner")
    assert os.listdir(tmp_path) == []


# What does not fit


@pytest.mark.parametrize("learner", LEARNERS[:4], ids=repr)
def test_what_does_not_fit_the_start_is_refused(learner):
    learner, _ = played(learner, Environment(mixed(), seed=0), 5)
    good = Context(np.zeros(2, np.float32), np.array([3]))
    assert learner.predict(good, 3).sum() == pytest.approx(1)
    for n_actions in (2, 4):
        with pytest.raises(ValueError, match=f"there are {n_actions} actions, but it was started with 3"):
            learner.predict(good, n_actions)
    contexts = [
        (Context(np.zeros(3), good.categorical), "does not fit Space"),
        (Context(good.numeric, np.array([0, 0])), "does not fit Space"),
        (Context(np.array([0, np.nan]), good.categorical), "not finite"),
        (Context(np.array([0, np.inf]), good.categorical), "not finite"),
        (Context(good.numeric, np.array([4])), "levels .* do not fit"),
        (Context(good.numeric, np.array([-1])), "levels .* do not fit"),
    ]
    for context, message in contexts:
        with pytest.raises(ValueError, match=message):
            learner.predict(context, 3)
        with pytest.raises(ValueError, match=message):
            learner.learn(context, 0, 1.0, 0.5)
    for action, reward, probability in [(3, 1, 0.5), (-1, 1, 0.5), (0, np.nan, 0.5), (0, 1, 0), (0, 1, np.nan)]:
        with pytest.raises(ValueError, match=r"action is|must be finite"):
            learner.learn(good, action, reward, probability)


@pytest.mark.parametrize("options", [{}, {"router": "random"}, {"budget": 30}], ids=str)
def test_contexts_so_large_that_projections_overflow_leave_no_leaf_empty(options):
    rng, learner = np.random.default_rng(0), EMT(leaf_capacity=5, **options)
    learner.start(Space(3, (), 2), seed=0)
    for _ in range(200):
        x = rng.choice([-1, 1], 3) * rng.choice([1, 1e20, 1e38, 3e38], 3)
        learner.predict(Context(x, np.zeros(0, int)), 2)
        learner.learn(Context(x, np.zeros(0, int)), int(rng.integers(2)), float(rng.integers(2)), 0.5)
    nodes, left = learner._bandit.memory.nodes.node, [int(learner._bandit.memory.counts.root)]
    while left:
        node = nodes[left.pop()]
        assert node.size > 0 or node.left >= 0
        left += [int(node.left), int(node.right)] if node.left >= 0 else []


@pytest.mark.parametrize("learner", [Parametric(), EMT(), PEMT(), CMT()], ids=lambda learner: type(learner).__name__)
def test_arrays_that_may_only_be_read_or_are_of_other_kinds_compile_nothing_anew(learner):
    environment = Environment(mixed(), seed=0, horizon=40)
    steps = range(10)
    rewards = learner.play(environment, 0).tolist(), step_by_step(learner, environment, steps)
    kernels = (compiled.play, compiled.predict_step, compiled.learn_step)
    before = [len(kernel.signatures) for kernel in kernels]
    for name in ("numeric", "categorical", "labels", "dice"):
        array = getattr(environment, name)
        other = np.asfortranarray(array) if name == "numeric" else np.repeat(array, 2, axis=0)[::2]
        setattr(environment, name, other.astype(np.int64) if name in ("labels", "categorical") else other)
        getattr(environment, name).flags.writeable = False
    assert (learner.play(environment, 0).tolist(), step_by_step(learner, environment, steps)) == rewards
    assert [len(kernel.signatures) for kernel in kernels] == before


def step_by_step(learner, environment, steps):
    learner.start(environment.space, 0)
    return play(learner, environment, steps)


@pytest.mark.parametrize("learner", [Parametric(), EMT(), CMT()], ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("seed", [0.5, "1", None, True, np.float64(3), [1]], ids=repr)
def test_a_seed_is_a_whole_number(learner, seed):
    with pytest.raises(ValueError, match="seed must be a whole number"):
        learner.start(Space(2, (), 2), seed)


def test_a_whole_number_of_numpy_is_a_seed():
    environment = Environment(load("iris"), seed=0, horizon=50)
    for learner in (Parametric(), EMT(leaf_capacity=np.int64(5)), CMT()):
        assert learner.play(environment, np.int32(3)).tolist() == learner.play(environment, 3).tolist()
