import numpy as np
import pytest
from compiled import from_python

from emt._kernels import rng as kernels
from emt.reference.eigen import Stream

normal, shuffle, uniform = map(from_python, (kernels.normal, kernels.shuffle, kernels.uniform))

COUNT = [("rng", "u8")]


def stream(seed):
    return np.array([(seed,)], COUNT)[0]


def test_the_stream_is_splitmix64():
    rng = stream(1234567)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [uniform(rng) for _ in published] == [(z >> 11) * 2.0**-53 for z in published]


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
def test_the_oracle_has_the_same_stream(seed):
    rng, plain = stream(seed), Stream(seed)
    for _ in range(100):
        assert uniform(rng) == plain.uniform()
        assert normal(rng) == pytest.approx(plain.normal(), rel=1e-12)
        order = np.arange(7)
        shuffle(order, rng)
        expected = list(range(7))
        plain.shuffle(expected)
        assert order.tolist() == expected
    assert int(rng["rng"]) == plain.state


def test_the_numbers_have_the_moments_of_their_distributions():
    rng = stream(5)
    u, z = np.array([uniform(rng) for _ in range(20000)]), np.array([normal(rng) for _ in range(20000)])
    assert ((u >= 0) & (u < 1)).all()
    assert u.mean() == pytest.approx(0.5, abs=0.01)
    assert u.var() == pytest.approx(1 / 12, abs=0.005)
    assert z.mean() == pytest.approx(0, abs=0.03)
    assert z.var() == pytest.approx(1, abs=0.05)


def test_every_order_is_as_likely_as_another():
    rng, counts = stream(3), {}
    for _ in range(6000):
        order = np.arange(3)
        shuffle(order, rng)
        counts[tuple(order)] = counts.get(tuple(order), 0) + 1
    assert len(counts) == 6
    assert all(850 < count < 1150 for count in counts.values())
