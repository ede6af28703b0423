"""No kernel's index leaves its array: a fuzz of trees in a process where every index is checked."""

import os
import subprocess
import sys
from pathlib import Path

from fuzz import bounds_are_checked

HERE = Path(__file__).parent
CODE = "import fuzz; assert fuzz.bounds_are_checked(); fuzz.fuzz(6000, 0, ('float64',)); print('clean')"


def test_random_operations_keep_within_bounds(tmp_path):
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    child = subprocess.run(
        [sys.executable, "-c", CODE], cwd=HERE, env=environment, capture_output=True, text=True, check=False
    )
    assert child.stdout == "clean\n", child.stderr


def test_without_the_check_a_wrong_index_passes_unnoticed():
    """So the fuzz would find nothing in a process that does not check."""
    assert not bounds_are_checked()
