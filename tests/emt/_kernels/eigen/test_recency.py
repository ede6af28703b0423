import inside
import numpy as np

from emt import EigenMemoryTree


def values(tree):
    return [memory.y for memory in tree.memories()]


def test_a_query_moves_what_it_finds_to_the_newest_end():
    tree = EigenMemoryTree(1, budget=10)
    for k in range(5):
        tree.learn([10.0**k], float(k), weight=0)
    before = values(tree)
    for found in (1.0, 3.0, 3.0, 0.0):
        assert tree.query([10.0**found]) == found
        before.remove(found)
        before.append(found)
        assert values(tree) == before


def test_a_query_is_no_use_without_a_budget_or_first_in_first_out():
    for options in ({}, {"budget": 10, "eviction": "fifo"}):
        tree = EigenMemoryTree(1, **options)
        for k in range(5):
            tree.learn([10.0**k], float(k))
        tree.query([1.0])
        assert values(tree) == [0, 1, 2, 3, 4]


def test_an_emptied_leaf_gives_its_place_to_its_sibling():
    """Three clusters come one after the other, and each pushes the one before out."""
    tree = EigenMemoryTree(1, leaf_capacity=8, budget=24, eviction="fifo")
    rng = np.random.default_rng(0)
    shapes = set()
    for centre in (0, 1000, -1000, 5000):
        for _ in range(24):
            tree.learn([centre + rng.normal()], float(centre))
            inside.assert_sound(tree)
            shapes.add((tree.n_leaves, tree.depth))
        assert set(values(tree)) == {centre}
        assert tree.n_leaves <= 24
    assert len(shapes) > 3
