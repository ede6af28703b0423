import numpy as np
import pytest
from oracle import Oracle

from emt import EigenMemoryTree


def grown(X, n_levels=(), codes=(), **options):
    """A tree whose root has just been split over these keys, and its router over the x block."""
    capacity = len(X) - 1 if options.get("variant") != "as_printed" else len(X)
    tree = EigenMemoryTree(X.shape[1], leaf_capacity=capacity, n_levels=n_levels, **options)
    for k, x in enumerate(X):
        tree.learn(x, 0.0, categorical=codes[k] if n_levels else ())
    assert tree.n_leaves == 2
    return tree, tree._tree.nodes.router[int(tree._tree.counts.root)]


@pytest.mark.parametrize("variant", ["as_run", "as_printed"])
@pytest.mark.parametrize(("n", "d"), [(2, 1), (3, 5), (40, 3), (101, 20)])
def test_the_method_in_the_space_of_memories_is_the_method_in_that_of_coordinates(variant, n, d):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d)) * rng.random(d) * 3 + rng.normal(size=d)
    codes = rng.integers(0, 3, (n, 2))
    _, router = grown(X, (3, 4), codes, variant=variant, seed=9)
    oracle = Oracle(d, n_levels=(3, 4), variant=variant, seed=9)
    keys = [oracle.memory(*key) for key in zip(X, codes, strict=True)]
    np.testing.assert_allclose(router, oracle.top_eigen(keys), atol=1e-9)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e4, 1e12])
def test_the_direction_is_that_of_the_first_principal_component(scale):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 8)) @ np.diag([5, 1, 1, 1, 0.5, 0.1, 0.01, 0]) @ np.linalg.qr(rng.normal(size=(8, 8)))[0]
    _, router = grown(X * scale + 3)
    _, vectors = np.linalg.eigh(np.cov(X.T))
    router = router[:8] / np.linalg.norm(router[:8])
    assert np.isfinite(router).all()
    if scale == 1:  # much smaller steps leave the start where it was, much larger ones follow the last memories seen
        assert abs(router @ vectors[:, -1]) > 0.95


def test_constant_columns_and_levels_leave_no_nan_and_no_slowness():
    """Their share of the vector decays to nothing."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=120), np.full((120, 30), 7.0)])
    _, router = grown(X, (5,), np.full((120, 1), 2))
    assert np.isfinite(router).all()
    assert abs(router[0]) > 0.999


def test_the_random_router_is_a_unit_vector_non_negative_as_run():
    X = np.random.default_rng(0).normal(size=(20, 6))
    for variant in ("as_run", "as_printed"):
        routers = np.array([grown(X, variant=variant, router="random", seed=seed)[1] for seed in range(30)])
        np.testing.assert_allclose(np.linalg.norm(routers, axis=1), 1)
        assert (routers >= 0).all() == (variant == "as_run")


def test_a_huge_leaf_is_split_without_a_huge_matrix():
    """The router is fitted to 4,096 memories of it."""
    rng = np.random.default_rng(0)
    tree, router = grown((rng.normal(size=(4200, 3)) * [1, 10, 1]).round(3), dtype="float32")
    assert abs(router[1]) > 0.99
    assert len(tree) == 4200
