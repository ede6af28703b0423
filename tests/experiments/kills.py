"""Studies that are killed again and again, at random moments, and go on: no run may be lost, doubled or changed.

`attack` kills in one of the ways of `KINDS`. Its studies are real commands, forked from a process that has imported
everything, so that a kill costs a second and not five.
"""

from __future__ import annotations

import os
import random
import re
import runpy
import signal
import sys
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import psutil
import pyarrow.parquet as pq

from emt.data import from_arrays, save
from experiments import store

HERE = Path(__file__).parent
LEARNERS = "learners=[{name:toy,_target_:toys.Toy},{name:step,_target_:toys.Stepper},emt]"
STUDY = [LEARNERS, "horizon=60", "suite.datasets=[long,short]", "seeds=100"]
#: The ways to kill, and how each study is run that is killed so: a command for each list of words.
KINDS = {
    "parent": [["engine=serial"]],
    "parent of workers": [["engine.n_jobs=2"]],
    "worker": [["engine.n_jobs=2"]],
    "process group": [["engine.n_jobs=2"]],
    "shard": [["engine=serial", f"shard={part}/3"] for part in (1, 2, 3)],
    "Dask worker or parent": [["engine=dask", "engine.n_jobs=2"]],
    "Ctrl-C or SIGTERM": [["engine=serial"]],
}
#: What of a row is the same however often its study was killed; not how long it took, and where.
SAME = ["id", "key", "task", "dataset", "learner", "params", "seed", "status", "message", "n_steps", "rewards"]
DELAY = 0.01  # seconds that each run of a toy takes
PATIENCE = 600.0  # seconds after which a process that should have ended is taken to hang
OVER = re.compile(r"of [\d,]+ runs are done, ")  # what a command says last: there is nothing left to stop


def attack(folder: Path, kind: str, n_kills: int, seed: int = 0) -> list[str]:
    """Kill studies so many times in one way, let each finish, and return what was wrong with it, a line each."""
    chance, problems, number = random.Random(f"{kind}, {seed}"), [], 0
    expected, at_most = undisturbed(folder), 10 * n_kills
    while n_kills > 0:
        number += 1
        if number > at_most:
            return [*problems, f"{kind}: {n_kills} kills were left after {at_most} studies: all were over too soon"]
        victim = Victim(folder / f"{kind.replace(' ', '-')}-{seed}-{number}", kind, chance, expected)
        n_kills -= victim.kill_and_finish(n_kills)
        problems += victim.problems
    return problems


def undisturbed(folder: Path) -> dict[str, tuple]:
    """Return the rows of the same study when nothing happens to it, by their ids."""
    process = _start(folder / "undisturbed", ["engine=serial"], delay=0.0)
    process.join()
    rows = _rows(folder / "undisturbed" / "unbounded" / "embedded")
    assert process.exitcode == 0, (folder / "undisturbed.txt").read_text()
    assert {row[7] for row in rows.values()} == {"done"}
    return rows


def _rows(folder: Path) -> dict[str, tuple]:
    log = store.read(folder, set_aside=False)
    return {row[0]: row for row in log[SAME].itertuples(index=False, name=None)}


def _start(results: Path, words: list[str], delay: float) -> BaseProcess:
    """Start the command of a study."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE.parents[1])])  # of the server of forks, and workers
    forks = get_context("forkserver")
    forks.set_forkserver_preload(["experiments.run", "toys", "kills"])
    reader, writer = forks.Pipe(duplex=False)
    process = forks.Process(target=_command, args=(results, [*STUDY, *words, f"results={results}"], delay, writer))
    process.start()
    writer.close()
    with reader:
        reader.poll(PATIENCE)  # until it is a command that hears of signals
    return process


def _command(results: Path, words: list[str], delay: float, begun: Connection) -> None:
    """Be the command of a study, in a process that was forked for it."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which the server of forks ignores
    begun.close()
    output, data = results.with_suffix(".txt"), results.parent / "data"
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.environ |= {"TOY_DELAY": str(delay), "EMT_DATA": str(data)}
    if not data.exists():  # sets that need no scikit-learn, which takes a second to load
        features = np.random.default_rng(0).random((150, 3))
        for name, n_rows in (("long", 150), ("short", 50)):
            save(from_arrays(features[:n_rows], np.arange(n_rows) % 3, name=name))
    sys.argv = ["run", *words]
    runpy.run_module("experiments.run", run_name="__main__")


class Victim:
    """One study that is killed in one way until it is done all the same."""

    def __init__(self, results: Path, kind: str, chance: random.Random, expected: dict[str, tuple]):
        self.results, self.kind, self.chance, self.expected = results, kind, chance, expected
        self.folder = results / "unbounded" / "embedded"
        self.output = results.with_suffix(".txt")
        self.problems: list[str] = []
        self.known: set[str] = set()  # runs that the log has had
        self.family: list[psutil.Process] = []

    def kill_and_finish(self, at_most: int) -> int:
        """Kill until all parts have ended by themselves, or so many times; then let it finish. Return the kills."""
        left, kills = list(KINDS[self.kind]), 0
        running: dict[int, BaseProcess] = {}
        while left and kills < at_most and not self.problems:
            for part in range(len(left)):
                if part not in running:
                    running[part] = _start(self.results, [*left[part], "retry=errors"], DELAY)
            part = self.chance.randrange(len(left))
            self._wait_a_moment(running[part])
            if running[part].is_alive():
                kills += self._kill(running[part])
                if not running[part].is_alive():
                    del running[part]
            else:
                self._check_status(running[part])
                left = []  # the other parts end by themselves, too
            self._check_rows()
        for process in running.values():
            self._end(process)
        last = _start(self.results, ["engine=serial", "retry=errors"], delay=0.0)
        self._end(last)
        if last.exitcode:
            self._problem(f"its last command ended with status {last.exitcode}")
        self._check_end()
        return kills

    def _wait_a_moment(self, process: BaseProcess) -> None:
        """Wait for a random moment: of all, or soon after something was written."""
        if self.chance.random() < 0.3:
            process.join(self.chance.uniform(0, 2))
            return
        before = self._files()
        while self._files() == before and process.is_alive():
            process.join(0.02)
        process.join(self.chance.choice([0.0, 0.02, 0.2, 1.0]) * self.chance.random())

    def _files(self) -> set[str]:
        with suppress(FileNotFoundError):
            return set(os.listdir(self.folder / "runs"))
        return set()

    def _kill(self, process: BaseProcess) -> int:
        """Kill what this attack kills; return whether there was something."""
        if self.kind == "Ctrl-C or SIGTERM":
            return self._interrupt(process)
        parent = psutil.Process(process.pid)
        with suppress(psutil.NoSuchProcess):
            self.family += parent.children(recursive=True)
        try:
            if self.kind in ("parent", "parent of workers", "shard"):
                process.kill()
            elif self.kind == "process group":
                os.killpg(parent.pid, signal.SIGKILL)
            else:
                workers = [child for child in parent.children() if "tracker" not in " ".join(child.cmdline())]
                victims = [*workers, parent] if "parent" in self.kind else workers
                if not victims:
                    return 0
                chosen = self.chance.choice(victims)
                chosen.kill()
                if chosen != parent:
                    return 1
        except (ProcessLookupError, psutil.NoSuchProcess):  # it has ended since
            return 0
        self._end(process)
        if process.exitcode == -signal.SIGKILL:
            return 1
        self._check_status(process)  # nothing survives SIGKILL: it had ended already
        return 0

    def _interrupt(self, process: BaseProcess) -> int:
        """Send a command Ctrl-C or SIGTERM, which must stop it; return 0 if it was over already.

        Whether it is over is seen while it is suspended, so that it cannot come to its end between that and the signal.
        """
        command = psutil.Process(process.pid)
        try:
            command.suspend()
            while command.status() not in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE):
                process.join(0.001)
            if OVER.search(self._said()):
                command.resume()
                self._end(process)
                return 0
            number = self.chance.choice([signal.SIGINT, signal.SIGTERM])
            (os.killpg if self.chance.random() < 0.5 else os.kill)(command.pid, number)
            command.resume()
        except (ProcessLookupError, psutil.NoSuchProcess):  # it has ended since
            return 0
        self._end(process)
        if process.exitcode == 0:
            self._problem(f"has swallowed {number.name}: it went on to its end")
        elif process.exitcode not in (130, -number):
            self._problem(f"ended with status {process.exitcode} on {number.name}")
        elif process.exitcode == 130 and "stopped" not in self._said():
            self._problem(f"does not say that it was stopped by {number.name}")
        return 1

    def _end(self, process: BaseProcess) -> None:
        process.join(PATIENCE)
        if process.is_alive():
            self._problem(f"has not ended in {PATIENCE:.0f} seconds")
            process.kill()
            process.join()

    def _check_status(self, process: BaseProcess) -> None:
        allowed = (0, 1) if "worker" in self.kind else (0,)  # 1: a run whose worker was killed twice is a failure
        if process.exitcode not in allowed:
            self._problem(f"ended by itself with status {process.exitcode}")

    def _check_rows(self) -> None:
        """Check that every run that was in the log still is, and that no run is another than it should be."""
        rows = _rows(self.folder)
        if lost := self.known - rows.keys():
            self._problem(f"{len(lost)} runs are lost: {sorted(lost)[:3]}")
        if wrong := [key for key, row in rows.items() if row[7] == "done" and row != self.expected.get(key)]:
            self._problem(f"{len(wrong)} runs are changed: {sorted(wrong)[:3]}")
        self.known |= rows.keys()

    def _check_end(self) -> None:
        """Check that the study has come out, to the bit, as if nothing had happened, and that nothing is left over."""
        self._check_rows()
        if _rows(self.folder) != self.expected:
            self._problem("its log is not that of an undisturbed study")
        n_rows = sum(pq.read_metadata(file).num_rows for file in self.folder.glob("runs/*.parquet"))
        shards = len(KINDS[self.kind]) > 1  # whose files the last command does not merge: a run may be in two
        if n_rows != len(self.expected) and not shards:
            self._problem(f"{n_rows} rows for {len(self.expected)} runs")
        if aside := list(self.results.rglob("*.set-aside*")):
            self._problem(f"files were set aside: {aside}")
        if parts := list(self.folder.rglob("*.part")):
            self._problem(f"half-written files are left: {parts}")
        if alive := psutil.wait_procs(self.family, timeout=PATIENCE)[1]:
            self._problem(f"workers outlive their parent: {alive}")
        if "Traceback" in self._said() and "worker" not in self.kind:
            self._problem("a traceback was shown")

    def _said(self) -> str:
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def _problem(self, what: str) -> None:
        self.problems.append(f"{self.kind}, {self.results.name}: {what}; it said: ...{self._said()[-2000:]}")
