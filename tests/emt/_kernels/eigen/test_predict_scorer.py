import numba
import numpy as np
import pytest
from oracle import Oracle

from emt import EigenMemoryTree
from emt._kernels.eigen import predict_scorer
from emt._kernels.eigen.state import sum_levels

_exp_minus = numba.njit(lambda x: predict_scorer._exp_minus(x))


@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-11), ("float32", 1e-6)])
def test_exp_by_arithmetic_alone(dtype, error):
    x = np.concatenate([np.linspace(0, 40, 10001), [1e3, 1e30, np.inf]]).astype(dtype)
    y = x.copy()
    _exp_minus(y)
    np.testing.assert_allclose(y, np.exp(-x.astype(float)), rtol=0, atol=error)


@pytest.mark.parametrize("variant", ["as_run", "as_printed"])
@pytest.mark.parametrize("scorer", ["self_consistent", "interaction"])
@pytest.mark.parametrize("n_actions", [0, 3])
@pytest.mark.parametrize(("n_features", "n_levels"), [(1, ()), (4, ()), (9, (3, 2)), (0, (4, 2, 2))])
def test_scores_are_those_of_vectors_written_out(variant, scorer, n_actions, n_features, n_levels):
    """Of one memory and many random weights, some negative."""
    rng = np.random.default_rng(0)

    def draw():
        codes = [int(rng.integers(n)) for n in n_levels]
        return rng.normal(size=n_features), codes, int(rng.integers(n_actions)) if n_actions else None

    options = {"variant": variant, "scorer": scorer, "n_levels": n_levels, "n_actions": n_actions}
    for _ in range(60):
        tree, (x, codes, action) = EigenMemoryTree(n_features, **options), draw()
        tree._tree.scorer.weight[:] = rng.normal(0.1, 0.3, len(tree._tree.scorer.weight))
        oracle = Oracle(n_features, **options)
        oracle.w = tree._tree.scorer.weight[: len(oracle.w)].tolist()
        tree._tree.scorer.weight[len(oracle.w) :] = 0
        sum_levels(tree._tree)
        tree.learn(x, 0.0, categorical=codes, action=action)
        for _ in range(3):
            query = draw()
            found = tree.retrieve(query[0], categorical=query[1], action=query[2])
            expected = oracle.predict_scorer(oracle.memory(*query), oracle.memory(x, codes, action))
            assert found.score == pytest.approx(expected, abs=1e-10)
            assert found.score == -np.inf or 0 <= found.score <= (3 if variant == "as_run" else np.inf)


def test_ties_are_broken_at_random():
    tree = EigenMemoryTree(0, n_levels=[5])
    for level in range(4):
        tree.learn([], float(level), categorical=[level], weight=0)
    found = np.bincount([int(tree.query([], categorical=[4])) for _ in range(4000)])
    assert all(850 < count < 1150 for count in found)
