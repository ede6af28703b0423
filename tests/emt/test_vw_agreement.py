"""EMT earns what Vowpal Wabbit's own --emt earns, on real and synthetic sets.

Where no feature is negative, the z of today's VW is that of the paper's time; where some are, today's cross terms keep
their sign.
"""

import numpy as np
import pytest

from emt import Environment, evaluate
from emt.data import from_arrays, load
from emt.learners import EMT, VWEMT

N_SEEDS = 20


def synthetic(n_features, n_classes, spread, name, shift=0.0):
    """Two clusters per class in the unit cube, or beside it, some of whose coordinates are noise."""
    rng = np.random.default_rng(n_features)
    centres, rows = rng.random((2 * n_classes, n_features)), np.arange(1000) % (2 * n_classes)
    X = np.clip(centres[rows] + rng.normal(0, spread, (1000, n_features)), 0, 1)
    noisy = n_features // 3
    X[:, :noisy] = rng.random((1000, noisy))
    return from_arrays(X - shift, rows % n_classes, name=name)


DATASETS = {
    "digits": lambda: (load("digits"), 1000),
    "wine": lambda: (load("wine"), 178),
    "breast-cancer-diagnostic": lambda: (load("breast-cancer-diagnostic"), 569),
    "synthetic-6-2": lambda: (synthetic(6, 2, 0.2, "synthetic-6-2"), 1000),
    "synthetic-20-5": lambda: (synthetic(20, 5, 0.3, "synthetic-20-5"), 1000),
}
SIGNED = {
    "signed-6-2": lambda: (synthetic(6, 2, 0.2, "signed-6-2", shift=0.5), 1000),
    "signed-20-5": lambda: (synthetic(20, 5, 0.3, "signed-20-5", shift=0.5), 1000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*DATASETS, *SIGNED])
def test_emt_earns_what_vowpal_wabbit_earns(name):
    dataset, horizon = (DATASETS | SIGNED)[name]()
    assert (dataset.numeric.min() < 0) == (name in SIGNED)
    learner = EMT(cross_terms="signed" if name in SIGNED else "absolute")
    differences, chance = [], 1 / dataset.n_classes
    for seed in range(N_SEEDS):
        environment = Environment(dataset, seed, horizon)
        ours, theirs = evaluate(learner, environment).mean(), evaluate(VWEMT(), environment).mean()
        assert min(ours, theirs) > 1.2 * chance
        differences.append(ours - theirs)
    error = np.std(differences, ddof=1) / np.sqrt(N_SEEDS)
    print(f"{name}: {np.mean(differences):+.4f} +- {error:.4f}")
    assert abs(np.mean(differences)) <= 2 * error
    assert error < 0.02, "the comparison means something"
