"""Attack the project for as long as you like: ``make soak``, or ``KILLS=1000 make soak`` for the whole.

Studies are killed in every way, crafted files of trees are loaded and used, trees are fuzzed with every index checked,
and learners misbehave. The numbers of all follow from KILLS, and all that is random from SEED. What broke is printed at
once, and at the end a table: attack, tries, held, broke. A soak that is stopped tells of the tries that were done.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "emt"), str(HERE / "experiments")]

import crafted  # noqa: E402
import kills  # noqa: E402
import misfits  # noqa: E402

#: The share of each kind among the kills; those that start workers take ten times as long as the others.
SHARES = {
    "parent": 0.35,
    "shard": 0.35,
    "Ctrl-C or SIGTERM": 0.18,
    "parent of workers": 0.03,
    "worker": 0.03,
    "process group": 0.03,
    "Dask worker or parent": 0.03,
}
DEFAULTS = {"KILLS": 50, "SEED": 0, "JOBS": 2}
FILES, OPERATIONS = 5, 1000  # for each kill
AT_ONCE = {"kill": 25, "files": 1000, "operations": 200_000}  # tries that are counted, and lost when it is stopped


class Attack(NamedTuple):
    """Some tries of one attack: a function that makes them and returns what broke, a line each."""

    name: str
    tries: int
    make: Callable[[], list[str]]


def attacks(n_kills: int, seed: int, place: Path) -> Iterator[Attack]:
    """Yield all attacks in small parts, those of all kinds in turns."""
    parts: list[list[Attack]] = []
    for kind, share in SHARES.items():
        many = _portions(max(1, round(n_kills * share)), AT_ONCE["kill"])
        parts.append([_kills(kind, n, seed + i, place) for i, n in enumerate(many)])
    parts.append(
        [_files(n, seed + i, place) for i, n in enumerate(_portions(n_kills * FILES, AT_ONCE["files"]))],
    )
    parts.append(
        [_fuzz(n, seed + i, place) for i, n in enumerate(_portions(n_kills * OPERATIONS, AT_ONCE["operations"]))]
    )
    parts.append([_misfits(engine, place) for engine in ("engine.n_jobs=2", "engine.n_jobs=1", "engine=dask")])
    while any(parts):
        for part in parts:
            if part:
                yield part.pop(0)


def _portions(total: int, at_once: int) -> list[int]:
    return [min(at_once, total - start) for start in range(0, total, at_once)]


def _kills(kind: str, n: int, seed: int, place: Path) -> Attack:
    return Attack(f"kill: {kind}", n, partial(_kill, place, kind, n, seed))


def _kill(place: Path, kind: str, n: int, seed: int) -> list[str]:
    return kills.attack(_new(place), kind, n, seed)


def _files(n: int, seed: int, place: Path) -> Attack:
    return Attack("crafted file of a tree, loaded and used", n, partial(_use_files, place, n, seed))


def _use_files(place: Path, n: int, seed: int) -> list[str]:
    return [outcome for outcome in crafted.attack(n, seed, _new(place)) if outcome not in ("refused", "used")]


def _fuzz(n: int, seed: int, place: Path) -> Attack:
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(place / "numba")}
    words = [str(HERE / "emt" / "fuzz.py"), str(n), str(seed)]
    return Attack("operation on a tree, every index checked", n, partial(_call, words, 0, checked))


def _misfits(engine: str, place: Path) -> Attack:
    return Attack(f"misbehaving learner, {engine}", len(misfits.OUTCOMES), partial(_misbehave, place, engine))


def _misbehave(place: Path, engine: str) -> list[str]:
    results = _new(place)
    words = [engine, misfits.config(*misfits.OUTCOMES), *misfits.SMALL, "timeout=10", f"results={results}"]
    said = _call(["-m", "experiments.run", *words], 1, {"PYTHONPATH": str(HERE / "experiments")})
    return said or misfits.surprises(results / "unbounded" / "embedded")


def _call(words: list[str], status: int, environment: dict[str, str]) -> list[str]:
    """Run Python, and return what it said if it did not end with this status."""
    given = os.environ | environment
    done = subprocess.run(
        [sys.executable, *words], cwd=HERE.parent, env=given, capture_output=True, text=True, check=False
    )
    return [] if done.returncode == status else [f"{words[:2]}: status {done.returncode}: {done.stderr[-2000:]}"]


def _new(place: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=place))


def table(tries: Counter[str], broke: Counter[str]) -> str:
    """Return the table of what was tried, in Markdown."""
    rows = [f"| {name} | {n:,} | {n - broke[name]:,} | {broke[name]:,} |" for name, n in sorted(tries.items())]
    return "\n".join(["| attack | tries | held | broke |", "| --- | ---: | ---: | ---: |", *rows])


def soak(n_kills: int, seed: int, n_jobs: int) -> int:
    """Attack, print the table, and return how many tries broke something."""
    tries, broke = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="emt-soak-", ignore_cleanup_errors=True) as place:
        pool = ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn"))
        running = {pool.submit(attack.make): attack for attack in attacks(n_kills, seed, Path(place))}
        try:
            for done in as_completed(running):
                attack, found = running[done], done.result()
                tries[attack.name] += attack.tries
                broke[attack.name] += len(found)
                print(
                    f"{attack.name}: {tries[attack.name]:,} tries, {broke[attack.name]} broke",
                    *found,
                    sep="\n",
                    flush=True,
                )
        except KeyboardInterrupt:
            print("stopped; this is what was done", flush=True)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    print(table(tries, broke), flush=True)
    return broke.total()


if __name__ == "__main__":
    n_kills, seed, n_jobs = (int(os.environ.get(name) or default) for name, default in DEFAULTS.items())
    broken = soak(n_kills, seed, n_jobs)
    os._exit(min(broken, 1))  # an attack that is at work when it is stopped is not waited for
