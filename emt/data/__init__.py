"""Datasets: OpenML by task, embedded sets, and your own arrays and frames."""

from emt.data.dataset import Dataset, DatasetError
from emt.data.encode import from_arrays
from emt.data.frames import describe, from_frame
from emt.data.load import load, save

__all__ = ["Dataset", "DatasetError", "describe", "from_arrays", "from_frame", "load", "save"]
