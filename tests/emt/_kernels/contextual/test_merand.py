import numpy as np
import pytest
from compiled import from_python

from emt._kernels.contextual import merand
from emt.reference.contextual import Random

index, uniform = from_python(merand.index), from_python(merand.uniform)


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_the_stream_is_the_plain_one(seed):
    rng, plain = np.array([(seed,)], [("rng", "u8")])[0], Random(seed)
    for n in range(1, 200):
        assert uniform(rng) == plain.uniform()
        assert index(rng, n) == plain.index(n) < n
    assert int(rng["rng"]) == plain.state
