"""Datasets: OpenML by task, embedded sets, and your own arrays and frames.

`Dataset` itself is part of the core; what makes one needs the extra ``emt[data]``.
"""

from typing import Any

from emt.data.dataset import Dataset, DatasetError
from emt.extras import MissingExtra, needs

__all__ = ["Dataset", "DatasetError", "describe", "from_arrays", "from_frame", "load", "save"]

try:
    with needs("data"):
        from emt.data.encode import from_arrays
        from emt.data.frames import describe, from_frame
        from emt.data.load import load, save
except MissingExtra as error:
    _missing = str(error)

    def __getattr__(name: str) -> Any:
        if name in __all__:
            raise MissingExtra(f"emt.data.{name}: {_missing}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
