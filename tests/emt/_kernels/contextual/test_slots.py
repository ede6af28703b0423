"""Buckets as Vowpal Wabbit has them."""

import numpy as np
import pytest

from emt._kernels.contextual.slots import bucket_bits, make_slots


@pytest.mark.parametrize(("max_nodes", "bits"), [(2000, 14), (500, 16), (9, 21), (2047, 14), (2048, 13), (1, 24)])
def test_the_routers_and_the_scorer_take_their_bits(max_nodes, bits):
    assert bucket_bits(25, max_nodes) == bits


def test_too_few_bits_are_refused():
    with pytest.raises(ValueError, match="11 bits are too few for 2000 nodes; at least 12 are needed"):
        make_slots(3, 2, bits=11, max_nodes=2000)


def test_numbers_are_vowpal_wabbits():
    from vowpalwabbit import Workspace

    with Workspace("-b 25 --quiet") as vw:
        x, a = ([vw.hash_feature(str(i), vw.hash_space(name)) for i in range(40)] for name in "xa")
    numbers = [*x, 11650396] + [n for k in a[:7] for n in [*((16777619 * i) ^ k for i in x), k]]
    buckets = np.array(numbers) % 2**14
    slots = make_slots(40, 7, bits=25, max_nodes=2000).ravel()
    order = np.unique(buckets)
    np.testing.assert_array_equal(order[slots], buckets)


@pytest.mark.parametrize(("n_inputs", "n_actions", "lost"), [(64, 10, 0), (15487, 2, 30080)])
def test_consecutive_numbers_seldom_share_a_bucket(n_inputs, n_actions, lost):
    slots = make_slots(n_inputs, n_actions, bits=25, max_nodes=2000)
    assert slots.size - len(np.unique(slots)) == lost


def test_without_bits_each_feature_has_its_own_slot_in_the_order_of_the_buckets():
    shared, distinct = (make_slots(3000, 3, bits=bits, max_nodes=2000).ravel() for bits in (25, None))
    assert len(np.unique(distinct)) == len(distinct) > len(np.unique(shared))
    assert (np.diff(shared[np.argsort(distinct)]) >= 0).all()
