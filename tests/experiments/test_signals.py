"""Ctrl-C and SIGTERM are heeded once, and never lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SCRIPTS = {
    "in the middle of starting a process": """
from experiments.signals import held_back, stop_on_signals
stop_on_signals()
try:
    with held_back():
        threading.Thread(target=os.kill, args=(os.getpid(), number)).start()  # another thread may take it
        time.sleep(0.3)
        print("started", flush=True)
    print("not reached")
except KeyboardInterrupt:
    print("stopped")
""",
    "swallowed": """
from experiments.signals import raise_if_stopped, stop_on_signals
stop_on_signals()
class Swallows:
    def __del__(self):
        os.kill(os.getpid(), number)
        time.sleep(0.3)
Swallows()
print("started", flush=True)
try:
    raise_if_stopped()
except KeyboardInterrupt:
    print("stopped")
""",
}


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("when", SCRIPTS)
def test_a_signal_that_comes_at_a_bad_moment_is_heeded_later(when, number):
    code = f"import os, signal, threading, time\nnumber = signal.{number}\n{SCRIPTS[when]}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["started", "stopped"], done.stderr
    assert done.stderr == ""


def test_ctrl_c_while_all_is_loaded_ends_the_process_at_once():
    code = "import os, signal\nfrom experiments.signals import end_at_once, stop_on_signals\nend_at_once()\n"
    done = subprocess.run([sys.executable, "-c", code + "os.kill(os.getpid(), signal.SIGINT)"], cwd=ROOT, check=False)
    assert done.returncode == -2
    handled = (
        "stop_on_signals()\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept KeyboardInterrupt:\n    os._exit(7)"
    )
    done = subprocess.run([sys.executable, "-c", code + handled], cwd=ROOT, env=os.environ, check=False)
    assert done.returncode == 7
