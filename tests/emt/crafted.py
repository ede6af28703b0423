"""Crafted files of trees: sound ones with wild values in any field, to be loaded and used in a process of their own.

``python tests/emt/crafted.py 5000 [seed]`` makes so many, uses each, and prints what became of them. With
``NUMBA_BOUNDSCHECK=1`` (and a ``NUMBA_CACHE_DIR`` of its own) no index can leave its array unnoticed, either.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from fuzz import operate, random_tree

from emt import EigenMemoryTree
from emt.array_files import load_arrays, save_arrays

WILD = {
    "i": [-(2**63), -(2**31), -2, -1, 0, 1, 7, 2**15, 2**31 - 1, 2**31, 2**62, 2**63 - 1],
    "u": [0, 1, 2, 7, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1],
    "f": [np.nan, np.inf, -np.inf, 0.0, -1.0, 1.0, 1e-320, 1e7, -1e15, 1e30, 1e300, -1e308],
}
WILD_OPTIONS = [-1, 0, 1, 3, 10**3, 10**6, 2**31, 2**63, 10**40, 0.5, 1e300, float("nan"), True, None, "first", "eigen"]
WILD_OPTIONS += ["interaction", "gradient", "float32", "float64", [], [2], [0], [10**9], [1] * 1000, {"a": 1}]
HANGS = 120  # seconds: a file that takes so long to use is taken to never end


def craft(rng: np.random.Generator, path: Path) -> set[str]:
    """Write a file of a tree with one to three wild changes; return the names of the fields that are changed."""
    random_tree(rng).save(path)
    about, arrays = load_arrays(path)
    changed = set()
    for _ in range(rng.integers(1, 4)):
        kind = rng.random()
        if kind < 0.2:
            name = rng.choice(list(about["options"])).item()
            about["options"][name] = WILD_OPTIONS[rng.integers(len(WILD_OPTIONS))]
        else:
            name = rng.choice(list(arrays)).item()
            arrays[name] = change(rng, arrays[name], by_value=kind < 0.85)
        changed.add(name)
    save_arrays(path, about, arrays)
    if rng.random() < 0.1:
        damage(rng, path)
    return changed


def change(rng: np.random.Generator, array: np.ndarray, by_value: bool) -> np.ndarray:
    """Put wild values, or values that might be, into some places of an array; or give it another shape or type."""
    array = array.copy()
    if by_value and array.size and array.dtype.kind in WILD:
        places = rng.integers(array.size, size=rng.choice([1, 1, 1, 2, array.size]))
        flat = array.reshape(-1)
        with np.errstate(all="ignore"):
            if rng.random() < 0.5:
                flat[places] = np.array(WILD[array.dtype.kind])[rng.integers(9)].astype(array.dtype)
            elif rng.random() < 0.5:
                flat[places] = rng.permutation(flat)[: len(places)]
            else:
                flat[places] += rng.choice([1, -1, 2]).astype(array.dtype)
        return array
    others = [array[:0], array[:-1], np.concatenate([array, array]), array[::-1], array.reshape(-1), array[..., None]]
    with np.errstate(all="ignore"):
        others += [array.astype(dtype) for dtype in ("f4", "f8", "i4", "i8", "u8", ">f8", "?", "f2")]
    return others[rng.integers(len(others))]


def damage(rng: np.random.Generator, path: Path) -> None:
    """Change the archive itself: bytes, names, compression, what headers say of sizes."""
    whole, kind = bytearray(path.read_bytes()), rng.integers(4)
    if kind == 0:
        for _ in range(rng.integers(1, 20)):
            whole[rng.integers(len(whole))] = rng.integers(256)
        path.write_bytes(whole)
    elif kind == 1:
        path.write_bytes(whole[: rng.integers(len(whole))])
    else:
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice(list(members)).item()
        members[name] = members[name].replace(b"'shape': (", b"'shape': (99999999999999,"[: rng.integers(11, 26)])
        with zipfile.ZipFile(path, "w", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED][kind - 2]) as archive:
            for name, content in members.items():
                archive.writestr(name, content)


def use(path: Path) -> str:
    """Load a tree and do with it all that can be done; say whether it was refused or used."""
    try:
        tree = EigenMemoryTree.load(path)
    except ValueError:
        return "refused"
    operate(np.random.default_rng(0), tree, 80)
    assert len(list(tree.memories())) == len(tree)
    repr(tree)
    tree.save(path)
    EigenMemoryTree.load(path)
    return "used"


def use_all(paths: list[Path]) -> Counter[str]:
    """Use each file in a child process, and count what became of them; a child that ends or hangs is replaced."""
    outcomes: Counter[str] = Counter()
    while paths:
        child = subprocess.Popen(
            [sys.executable, __file__, "--use", *map(str, paths)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            output, errors = child.communicate(timeout=HANGS + len(paths))
        except subprocess.TimeoutExpired:
            child.kill()
            output, errors = child.communicate()
        lines = output.decode().splitlines()
        outcomes.update(lines)
        if len(lines) < len(paths):
            path = paths[len(lines)]
            outcomes[f"broke: {path.name}, status {child.returncode}, {errors.decode()[-500:]}"] += 1
        paths = paths[len(lines) + 1 :]
    return outcomes


def attack(n_files: int, seed: int, folder: Path, batch: int = 250) -> Counter[str]:
    """Make so many files and use each; return how many were refused, used, or broke the process, and how."""
    rng, outcomes = np.random.default_rng(seed), Counter[str]()
    for start in range(0, n_files, batch):
        paths = [folder / f"{seed}-{number}" for number in range(start, min(start + batch, n_files))]
        for path in paths:
            craft(rng, path)
        outcomes += use_all(paths)
    return outcomes


if __name__ == "__main__":
    if sys.argv[1] == "--use":
        for path in sys.argv[2:]:
            print(use(Path(path)), flush=True)
    else:
        n_files, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(attack(n_files, seed, Path(folder)), indent=1))
