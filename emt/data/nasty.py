"""Small sets with everything that goes wrong in real ones, for tests: each loads right or is refused with a reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from emt.data.dataset import Dataset
from emt.data.encode import encode, from_arrays

__all__ = ["NASTY"]

SIZE = 60


def _frame(changes: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Return a sane frame (numbers, a nominal column and a target of two classes), some columns changed."""
    rows = np.arange(SIZE)
    sane = {"x": rows / 7 % 1, "z": rows % 5.0, "colour": np.array(["red", "green", "blue"])[rows % 3]}
    return pd.DataFrame({**sane, "y": np.array(["no", "yes"])[(rows % 5 > 2).astype(int)], **(changes or {})})


def _with(**changes: Any) -> Callable[[str], Dataset]:
    return lambda name: encode(_frame(changes), "y", name=name)


def _duplicate_names(name: str) -> Dataset:
    frame = _frame()
    frame.columns = pd.Index(["x", "x", "colour", "y"])
    return encode(frame, "y", name=name)


def _sparse(name: str) -> Dataset:
    rows = np.arange(SIZE)
    cells = sparse.csr_matrix((rows + 1.0, (rows, rows % 20)), shape=(SIZE, 20))
    return from_arrays(cells, rows % 2, name=name)


def _every_row_drops(name: str) -> Dataset:
    rows = np.arange(SIZE)
    return _with(x=np.where(rows % 2, np.nan, 1.0), z=np.where(rows % 2, 1.0, np.nan))(name)


_LEVELS = np.array(["", " ", "żółć", "数据", "naïve\n", "🌳", '"quoted", with a comma'])

NASTY: dict[str, Callable[[str], Dataset]] = {
    "nasty-one-class": _with(y="yes"),
    "nasty-constant-column": _with(x=3.25),
    "nasty-all-missing-column": _with(x=np.nan),
    "nasty-single-row": lambda name: encode(_frame().head(1), "y", name=name),
    "nasty-1000-classes": lambda name: from_arrays(np.arange(3000.0)[:, None], np.arange(3000) % 1000, name=name),
    "nasty-infinities": _with(z=np.where(np.arange(SIZE) < 2, [np.inf, -np.inf] * (SIZE // 2), np.arange(SIZE) % 5)),
    "nasty-duplicate-names": _duplicate_names,
    "nasty-duplicate-target": lambda name: encode(pd.concat([_frame(), _frame()[["y"]]], axis=1), "y", name=name),
    "nasty-unicode-levels": _with(colour=_LEVELS[np.arange(SIZE) % len(_LEVELS)]),
    "nasty-missing-target": _with(y=_frame()["y"].where(np.arange(SIZE) % 4 > 0)),
    "nasty-integer-nominals": lambda name: encode(
        _frame({"code": np.arange(SIZE) % 4 * 1000 - 7}), "y", name=name, categorical=["code"]
    ),
    "nasty-sparse": _sparse,
    "nasty-rare-level": _with(colour=np.where(np.arange(SIZE) == 17, "gold", "grey")),
    "nasty-every-row-drops": _every_row_drops,
}
