import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from emt.data import from_arrays, prepared

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for toys, here and in worker processes


@pytest.fixture
def cli(tmp_path):
    """Run a verb as a user does, with a results folder of the test's own."""

    def call(verb, *overrides, check=True, start=False, delay=0.0, **popen):
        environment = os.environ | {"PYTHONPATH": str(HERE), "TOY_DELAY": str(delay)}
        environment.pop("HYDRA_FULL_ERROR", None)
        command = [sys.executable, "-m", f"experiments.{verb}", *overrides, f"results={tmp_path}/results"]
        popen = {"cwd": HERE.parent.parent, "env": environment, "stderr": subprocess.PIPE, "text": True} | popen
        if start:
            running.append(subprocess.Popen(command, start_new_session=True, **popen))
            return running[-1]
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=300, **popen)
        assert not check or done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done

    running = []
    yield call
    for process in running:
        process.kill()


@pytest.fixture
def dataset_store(store):
    """A store with one prepared task."""
    rng = np.random.default_rng(0)
    prepared.write(from_arrays(rng.random((60, 2)), rng.integers(0, 2, 60), name="task-5", facts={"task": 5}))
    return store
