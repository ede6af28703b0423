import subprocess
import sys

import numpy as np
import pytest

from emt.seeds import digest, seed_sequence


def test_a_digest_is_the_same_for_ever():
    """Orders and runs of published results hang on it."""
    assert digest("order", "digits", 0) == "bf1c1cb17a248384da6d9ea85eb04bf9"


def test_a_digest_is_the_same_in_another_process():
    code = "from emt.seeds import digest; print(digest('explore', {'b': 1, 'a': None}, 7))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert other == digest("explore", {"a": None, "b": 1}, 7), "and the order of keys has no part in it"


def test_names_of_other_values_or_types_or_order_are_others():
    names = [("a", 1), ("a", "1"), (1, "a"), ("a1",), ("a", 1.5), ("a", None), ("a", True), ("ä", 1), (["a", 1],), ()]
    assert len({digest(*name) for name in names}) == len(names)


def test_what_has_no_name_is_refused():
    with pytest.raises(TypeError, match="not JSON serializable"):
        digest(object())


def test_sequences_are_independent():
    draws = [np.random.default_rng(seed_sequence("order", "digits", seed)).random(1000) for seed in range(20)]
    correlations = np.corrcoef(draws) - np.eye(20)
    assert np.abs(correlations).max() < 0.15
