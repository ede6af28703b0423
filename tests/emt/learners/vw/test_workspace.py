"""The plumbing between the learners and Vowpal Wabbit."""

import gc
import pickle
from pathlib import Path

import numpy as np
import pytest
from vowpalwabbit import Workspace

from emt import Context, Space
from emt.learners import VWCMT, VWEMT, VWPCMT, VWPEMT, VWParametric
from emt.learners.vw.workspace import Model, Policy

SPACE = Space(n_numeric=4, n_levels=(3, 2), n_actions=3)
LEARNERS = [VWCMT, VWPCMT, VWEMT, VWPEMT, VWParametric]


def stream(n_steps, seed=0):
    """Yield a context, and the action, reward, probability and remembered rewards of a log."""
    rng = np.random.default_rng(seed)
    for _ in range(n_steps):
        numeric = (rng.normal(size=4) * (rng.random(4) < 0.7)).astype(np.float32)
        context = Context(numeric, rng.integers(0, (3, 2)).astype(np.int32))
        action = int(rng.integers(3))
        reward = int((np.argmax(numeric) + context.categorical[0]) % 3 == action)
        yield context, action, reward, float(rng.uniform(0.1, 1)), [int(m) for m in rng.random(3) < 0.5]


def text_of(context):
    numbers = [f"{i}:{float(value)!r}" for i, value in enumerate(context.numeric) if value]
    levels = [str(4 + context.categorical[0]), str(7 + context.categorical[1])]
    return "|x " + " ".join(numbers + levels)


def workspace_of(learner):
    """Return VW run by text with the same options as the learner's."""
    model = learner.build(SPACE, seed=7)
    options = model.workspace.get_arguments()
    model.finish()
    return Workspace(options)


@pytest.mark.parametrize("learner", [VWCMT(leaf_multiplier=1), VWEMT(leaf_capacity=20), VWEMT(budget=30)], ids=repr)
def test_a_memory_answers_as_it_does_to_text(learner):
    memory, text = learner.build(SPACE, seed=7), workspace_of(learner)
    zero, weighted = (1, False) if isinstance(learner, VWCMT) else (0, True)
    answers = []
    for context, action, reward, probability, _ in stream(300):
        x = text_of(context)
        expected = [max(text.predict(f"{x} |a {k}") - zero, 0) for k in range(3)]
        answers.append(memory.rewards(context))
        assert answers[-1] == expected
        weight = 1 / (3 * probability) if weighted else 1
        text.learn(f"{reward + zero} {weight} {x} |a {action}")
        memory.learn(context, action, reward, probability)
    assert {0, 1} == set(np.ravel(answers))
    memory.finish()
    text.finish()


@pytest.mark.parametrize("options", ["--noconstant", "", "--noconstant -b 26"])
def test_a_policy_scores_as_it_does_by_text(options):
    command = f"--cb_adf --interactions xa --interactions xxa --ignore_linear x {options}"
    policy, text = Policy(command, SPACE, seed=1), Workspace(f"{command} --random_seed 1 --quiet")
    for context, action, reward, probability, memory in stream(500):
        x = text_of(context)
        lines = [f"{x} |a {k}" + (" |m 0:1" if memory[k] else "") for k in range(3)]
        scores = policy.probabilities(context, memory)  # raw scores, since nothing explores
        np.testing.assert_allclose(scores, text.predict(lines), rtol=1e-5, atol=1e-6)
        lines[action] = f"0:{-reward}:{probability} {lines[action]}"
        text.learn(lines)
        policy.learn(context, action, reward, probability, memory)
    assert np.ptp(scores) > 0.05
    policy.finish()
    text.finish()


def test_indices_are_those_of_the_names_in_text():
    model = Model("", SPACE, seed=0)
    context = Context(np.array([1, 0, -2, 0.5], dtype=np.float32), np.array([2, 1], dtype=np.int32))
    example, parsed = model.example({"x": model.context(context)}), model.workspace.parse(text_of(context))
    assert list(example.iter_features()) == list(parsed.iter_features())
    assert example.num_features_in("x") == 5  # the zero is left out
    model.workspace.finish_example(parsed)
    model.finish()


def test_every_level_and_action_has_an_index_of_its_own():
    model = Model("-b 26", Space(5, (3, 4), 6), seed=0)
    indices = [*model._numeric, *(index for pairs in model._levels for index, _ in pairs)]
    assert len(set(indices)) == 5 + 7
    assert len({features[0][0] for features in model._actions}) == 6
    model.finish()


@pytest.mark.parametrize("learner_class", LEARNERS)
def test_vw_is_freed_by_finish_and_by_a_new_start(learner_class):
    learner = learner_class()
    workspaces = []
    for _ in range(2):
        learner.start(SPACE, seed=1)
        parts = [learner._strategy, *vars(learner._strategy).values()]
        workspaces.append([part.workspace for part in parts if isinstance(part, Model)])
    assert all(workspace.finished for workspace in workspaces[0])
    assert not any(workspace.finished for workspace in workspaces[1])
    learner.finish()
    assert all(workspace.finished for workspace in workspaces[1])


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads its own memory from Linux")
def test_streams_leave_no_memory_behind():
    def resident_pages():
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1])

    def run():
        learner = VWPCMT()
        learner.start(SPACE, seed=1)
        for context, action, reward, probability, _ in stream(20):
            learner.predict(context, 3)
            learner.learn(context, action, reward, probability)
        learner.finish()

    for _ in range(20):
        run()
    before = resident_pages()
    for _ in range(100):
        run()
    assert (resident_pages() - before) * 4096 < 20e6


@pytest.mark.parametrize("learner_class", LEARNERS)
def test_a_learner_without_a_stream_says_what_to_do(learner_class):
    context = next(stream(1))[0]
    with pytest.raises(RuntimeError, match="call start"):
        learner_class().predict(context, 3)
    with pytest.raises(RuntimeError, match="call start"):
        learner_class().learn(context, 0, 1.0, 0.5)


def test_a_running_learner_is_pickled_without_its_stream():
    learner = VWCMT(epsilon=0.2)
    learner.start(SPACE, seed=1)
    copy = pickle.loads(pickle.dumps(learner))
    assert copy.params == learner.params
    with pytest.raises(RuntimeError, match="call start"):
        copy.predict(next(stream(1))[0], 3)
    learner.finish()


@pytest.mark.parametrize("seed", [0, 2**32 - 1, 2**63, 2**64 - 1])
def test_every_seed_is_within_the_range_of_vw(seed):
    memory = VWCMT().build(SPACE, seed)
    assert f"--random_seed {seed % 2**32}" in memory.workspace.get_arguments()
    memory.finish()


@pytest.mark.parametrize("learner_class", [VWCMT, VWEMT, VWPCMT, VWPEMT])
def test_memories_refuse_rewards_that_they_cannot_keep(learner_class):
    learner = learner_class()
    learner.start(SPACE, seed=1)
    with pytest.raises(ValueError, match=r"0 and 1 only, not 0\.5"):
        learner.learn(next(stream(1))[0], 0, 0.5, 0.5)
    learner.finish()


@pytest.mark.parametrize(
    ("learner_class", "arguments", "message"),
    [
        (VWCMT, {"epsilon": 1.5}, "epsilon must be a number between 0 and 1, not 1.5"),
        (VWCMT, {"epsilon": "much"}, "epsilon must be a number between 0 and 1, not 'much'"),
        (VWCMT, {"alpha": -1}, "alpha"),
        (VWCMT, {"max_nodes": 0}, "max_nodes must be a whole number, at least 1, not 0"),
        (VWCMT, {"dreams": -1}, "dreams"),
        (VWPCMT, {"leaf_multiplier": 2.5}, "leaf_multiplier"),
        (VWPCMT, {"bits": 0}, "bits"),
        (VWEMT, {"leaf_capacity": 0}, "leaf_capacity"),
        (VWEMT, {"budget": 0}, "budget"),
        (VWPEMT, {"budget": "none"}, "budget"),
        (VWParametric, {"bits": "many"}, "bits"),
    ],
)
def test_impossible_arguments_are_refused(learner_class, arguments, message):
    with pytest.raises(ValueError, match=message):
        learner_class(**arguments)


@pytest.mark.parametrize("learner_class", LEARNERS)
def test_nothing_is_printed(learner_class, capfd):
    learner = learner_class()
    learner.start(SPACE, seed=1)
    for context, action, reward, probability, _ in stream(200):
        learner.predict(context, 3)
        learner.learn(context, action, reward, probability)
    learner.finish()
    assert capfd.readouterr() == ("", "")
