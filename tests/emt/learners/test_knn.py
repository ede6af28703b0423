"""The k-nearest-neighbour bandit, beside plain search and scikit-learn."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn.neighbors import KNeighborsRegressor

from emt import Environment, evaluate
from emt._kernels.explore import sample
from emt.data import load
from emt.learners import KNN
from emt.reference.stacked import k_nearest

CONF = Path(__file__).parents[3] / "conf" / "learner"


def written_out(environment):
    levels = [
        np.eye(n)[column] for n, column in zip(environment.space.n_levels, environment.categorical.T, strict=True)
    ]
    return np.column_stack([environment.numeric.astype(float), *levels])


@pytest.mark.parametrize("name", ["iris", "tic-tac-toe", "monks-1-rule"])
@pytest.mark.parametrize("k", [1, 5])
def test_its_answers_are_those_of_a_plain_search(name, k):
    environment, learner = Environment(load(name), seed=0, horizon=150), KNN(k=k)
    n_actions, X = environment.space.n_actions, written_out(environment)
    actions, rewards = np.full(150, -1), np.zeros(150)
    learner.start(environment.space, 0)
    for t, (context, label) in enumerate(environment):
        p = learner.predict(context, n_actions)
        for a in range(n_actions):
            mine = np.flatnonzero(actions[:t] == a)
            found = learner._bandit.answers[a, 0]
            assert found == pytest.approx(k_nearest(X[mine], rewards[mine], X[t], k))
            if name == "iris" and len(mine) >= k and t % 10 == 0:  # hardly any are as near as each other
                theirs = KNeighborsRegressor(k).fit(X[mine], rewards[mine])
                assert found == pytest.approx(theirs.predict(X[t : t + 1])[0])
        actions[t] = sample(p, environment.dice[t])
        rewards[t] = actions[t] == label
        learner.learn(context, int(actions[t]), rewards[t], float(p[actions[t]]))
    assert evaluate(KNN(k=k), environment).tolist() == rewards.tolist()


def test_the_config_and_what_is_refused():
    given = yaml.safe_load((CONF / "knn.yaml").read_text())
    assert given == {"_target_": "emt.learners.KNN", "epsilon": 0.1, "k": 5}
    with pytest.raises(ValueError, match="k must be a whole number, at least 1"):
        KNN(k=0)
