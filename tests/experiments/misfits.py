"""Learners that do what no learner should: for the tests of the runner, and for the soak."""

import ctypes
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
from toys import Toy

from experiments import store

HERE = Path(__file__).parent


class Unprintable(Exception):
    """An exception whose text ends the process that asks for it."""

    def __str__(self):
        raise SystemExit("no text")


class Stop(BaseException):
    """No Exception."""


class Text(str):
    """A string that is none when it is encoded."""

    def encode(self, *arguments):
        raise ValueError("no bytes")

    def __str__(self):
        raise ValueError("no text")


def _hang_in_c():
    ctypes.PyDLL(None).pause()  # holds the interpreter's lock for ever


def _fork():
    if os.fork() == 0:
        return  # the copy goes on where the original was


def _fork_and_raise():
    if os.fork() == 0:
        raise RuntimeError("a copy")


def _raise(error):
    raise error


def _leave_thread():
    threading.Thread(target=time.sleep, args=(10**6,)).start()


def _recurse():
    _recurse()


#: What each does in its runs on the longer of two datasets, and what comes of it: "done", "error" or "hang".
DEEDS = {
    "raise": (lambda: _raise(RuntimeError("no luck")), "error"),
    "raise-unprintable": (lambda: _raise(Unprintable()), "error"),
    "raise-surrogate": (lambda: _raise(RuntimeError("\ud800")), "error"),
    "raise-20-mb": (lambda: _raise(RuntimeError("x" * 20_000_000)), "error"),
    "raise-base": (lambda: _raise(Stop()), "error"),
    "exit-0": (lambda: sys.exit(0), "error"),
    "exit-text": (lambda: sys.exit("done with it"), "error"),
    "keyboard-interrupt": (lambda: _raise(KeyboardInterrupt()), "error"),
    "generator-exit": (lambda: _raise(GeneratorExit()), "error"),
    "memory-error": (lambda: np.empty(2**60), "error"),
    "recursion": (_recurse, "error"),
    "os-exit-0": (lambda: os._exit(0), "error"),
    "os-exit-3": (lambda: os._exit(3), "error"),
    "abort": (os.abort, "error"),
    "crash": (lambda: ctypes.string_at(0), "error"),
    "kill": (lambda: os.kill(os.getpid(), signal.SIGKILL), "error"),
    "terminate": (lambda: os.kill(os.getpid(), signal.SIGTERM), "error"),
    "alarm": (lambda: (signal.alarm(1), time.sleep(10**6)), "error"),
    "hang": (lambda: time.sleep(10**6), "hang"),
    "hang-busy": (lambda: any(iter(int, 1)), "hang"),
    "hang-in-c": (_hang_in_c, "hang"),
    "fork": (_fork, "done"),
    "fork-and-raise": (_fork_and_raise, "done"),
    "leave-thread": (_leave_thread, "done"),
    "change-folder": (lambda: os.chdir("/"), "done"),
    "close-output": (lambda: (sys.stdout.close(), sys.stderr.close()), "done"),
    "seed-globally": (lambda: np.random.seed(0), "done"),  # noqa: NPY002
    "interrupt-itself": (lambda: os.kill(os.getpid(), signal.SIGINT), "done"),
}

#: What each leaves as its note; its runs are done.
NOTES = {
    "note-number": 7,
    "note-none": None,
    "note-surrogate": "\udcff",
    "note-20-mb": "x" * 20_000_000,
    "note-no-text": Text("x"),
    "note-zero": "\0",
}

#: What each gives as rewards; its runs fail.
REWARDS = {
    "rewards-none": lambda n: None,
    "rewards-text": lambda n: ["1"] * n,
    "rewards-nan": lambda n: np.full(n, np.nan),
    "rewards-short": lambda n: np.ones(n - 1),
    "rewards-flat": lambda n: np.ones((n, 1)),
    "rewards-objects": lambda n: np.array([object()] * n),
    "rewards-two": lambda n: np.full(n, 2),
}

OUTCOMES = (
    {name: outcome for name, (_, outcome) in DEEDS.items()}
    | dict.fromkeys(NOTES, "done")
    | dict.fromkeys(REWARDS, "error")
    | {"note-raises": "done", "spoil-data": "error"}
)


class Misfit(Toy):
    """Does what its name says on the dataset of its name and with its seed; elsewhere it is a toy."""

    def __init__(self, how="raise", where="wine", seed=1):
        self.how, self.where, self.seed = how, where, seed
        self.epsilon, self.fail, self.kill, self.mark = 0.1, "", "", ""

    def play(self, environment, seed):
        rewards = super().play(environment, seed)
        if environment.dataset.name != self.where or environment.seed != self.seed:
            return rewards
        if self.how in DEEDS:
            DEEDS[self.how][0]()
        if self.how in REWARDS:
            return REWARDS[self.how](len(environment))
        if self.how == "spoil-data":
            environment.dataset.labels[:] = 0
        return rewards

    @property
    def note(self):
        if self.how == "note-raises":
            raise RuntimeError("no note")
        return NOTES.get(self.how, "")

    @note.setter
    def note(self, value):
        pass


class First(Toy):
    """Remembers which streams this process has played."""

    streams: ClassVar[list[tuple[str, int]]] = []

    def __init__(self, ridge: bool = True, size: int = 1):
        super().__init__()
        self.ridge, self.size = ridge, size

    def play(self, environment, seed):
        self.streams.append((environment.dataset.name, len(environment)))
        return super().play(environment, seed)


class Swallower(Toy):
    """Is told to stop in its second run, and goes on as if nothing had happened."""

    def play(self, environment, seed):
        if environment.seed == 1:
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(1)
            except KeyboardInterrupt:
                pass
        return super().play(environment, seed)


class Changer(Toy):
    """Is told to stop in its second run, and raises something else."""

    def play(self, environment, seed):
        if environment.seed == 1:
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(1)
            except KeyboardInterrupt as error:
                raise RuntimeError("not now") from error
        return super().play(environment, seed)


#: A study of misfits that takes seconds.
SMALL = ["horizon=120", "seeds=3", "suite.datasets=[wine,iris]"]


def config(*names):
    """The words of a command line that ask for these misfits."""
    entries = ",".join(f"{{name:{name},_target_:misfits.Misfit,how:{name}}}" for name in names)
    return f"learners=[{entries}]"


def outcomes(log):
    """What became of each learner of a study: its runs but the one on wine with seed 1 must be done."""
    other = log[~log["id"].str.endswith("/wine/seed-01")]
    assert (other["status"] == "done").all(), other[other["status"] != "done"]["message"].tolist()
    return log[log["id"].str.endswith("/wine/seed-01")].set_index("learner")["status"].to_dict()


def surprises(folder):
    """What of a study of all misfits, with a timeout, has not come as it should, a line each."""
    log = store.read(folder, set_aside=False).set_index("id")
    problems = []
    for name, outcome in OUTCOMES.items():
        for dataset in ("wine", "iris"):
            for seed in range(3):
                here = dataset == "wine" and seed == 1
                wanted = ("done" if outcome == "done" else "error") if here else "done"
                found = log["status"].get(f"{name}/{dataset}/seed-{seed:02d}", "missing")
                if found != wanted:
                    problems.append(f"{name}/{dataset}/seed-{seed:02d} is {found}, not {wanted}")
    return problems
