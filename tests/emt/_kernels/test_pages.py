"""Large tables take the memory that is written, whatever NumPy asks for."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from emt._kernels.pages import sparse_zeros

RISE = """
import sys
import numpy as np
from emt._kernels.pages import sparse_zeros

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) * 1024

table = sparse_zeros((2**28,), np.float32)
before = resident()
assert table[:: 2**20].sum() == 0
table[:: 2**20] = 1  # 256 pages
print(resident() - before)
"""


@pytest.mark.parametrize("shape", [(0,), (3, 2), (5, 2**20)])
def test_it_is_an_array_of_zeros_to_write_in(shape):
    table = sparse_zeros(shape, np.float32)
    assert table.shape == shape
    assert table.dtype == np.float32
    assert table.flags.c_contiguous
    assert not table.any()
    table += 1
    assert (table == 1).all()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is asked of Linux")
def test_an_entry_takes_a_page_and_not_two_megabytes():
    done = subprocess.run([sys.executable, "-c", RISE], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2**25, "256 pages of 4 KiB, or 64 KiB on some machines"
