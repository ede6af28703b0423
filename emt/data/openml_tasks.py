"""The OpenML source: a task id becomes a Dataset. The only part that uses the network.

The `openml` client downloads, into its own cache; we read the files of that cache ourselves. So a task whose files are
all there never needs the client, nor the network: asked while the server is away, the client would delete them. It also
keeps clear of the client's pickled frames, which are slow to make and, after a kill, half written.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import urllib.error
import urllib.request
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import arff
import numpy as np
import openml
import pandas as pd
import pyarrow.parquet

from emt.arguments import check_counts
from emt.data.dataset import Dataset, DatasetError
from emt.data.encode import encode

__all__ = ["MAX_ROWS", "fetch"]

MAX_ROWS = 32_000  # the longest study
CLASSIFICATION = "1"  # OpenML's number of the task type
CHUNK = 1_000  # rows of ARFF turned into arrays at once


class _BrokenCache(Exception):
    """A file of the client's cache cannot be read."""


class _Feature(NamedTuple):
    name: str
    kind: str
    dropped: str


def fetch(task_id: int) -> Dataset:
    """Get, clean and encode an OpenML task, from the client's cache if it is there, else from the server.

    Parameters
    ----------
    task_id : int
        The id of a classification task.

    Returns
    -------
    Dataset
        At most `MAX_ROWS` rows, named ``task-<id>``.

    Raises
    ------
    DatasetError
        If the task cannot be had or cannot be used; the message says why.
    """
    check_counts(1, task_id=task_id)
    broken = False
    try:
        return _read(task_id)
    except FileNotFoundError as error:
        trouble = f"{Path(error.filename).name} is not in the client's cache"
    except _BrokenCache as error:
        broken, trouble = True, str(error)
    except OSError as error:  # which may pass, and is no reason to remove anything
        raise DatasetError(f"task {task_id}: the client's cache cannot be read: {error}") from error
    if not _reachable(openml.config.server):
        raise DatasetError(
            f"task {task_id}: {trouble}, and there is no answer from {openml.config.server}; try again when there is"
        )
    if broken:
        _forget(task_id)
    _download(task_id)
    try:
        return _read(task_id)
    except (FileNotFoundError, _BrokenCache) as error:
        raise DatasetError(f"task {task_id}: the server's copy cannot be used: {error}") from error


@cache
def _reachable(server: str) -> bool:
    """Ask once and remember, so that a suite does not wait for a dead server task by task."""
    try:
        urllib.request.urlopen(server, timeout=10).close()
    except urllib.error.HTTPError:
        return True  # any answer will do: the client knows how to wait for a busy server
    except OSError:
        return False
    return True


def _cache_folder(kind: str, number: int) -> Path:
    return Path(openml.config.get_cache_directory()) / kind / str(number)


def _forget(task_id: int) -> None:
    """Remove what the cache has of a task, or the client would trust a broken file."""
    with contextlib.suppress(FileNotFoundError, _BrokenCache):
        _remove("datasets", _read_task(task_id)[0])
    _remove("tasks", task_id)


def _remove(kind: str, number: int) -> None:
    """Remove a folder of the client's cache, and never anything that a link leads to."""
    folder, root = _cache_folder(kind, number), Path(openml.config.get_cache_directory())
    if folder.resolve() != root.resolve() / kind / str(number):
        raise DatasetError(f"{folder} has a broken file, but is a link to {folder.resolve()}: remove it yourself")
    shutil.rmtree(folder, ignore_errors=True)


def _download(task_id: int) -> None:
    """Let the client fill its cache."""
    # Its own number of tries (connection_n_retries in its config file), spaced out as robots should.
    openml.config.set_retry_policy("robot", openml.config.connection_n_retries)
    try:
        task = openml.tasks.get_task(task_id, download_splits=False)
        if str(task.task_type_id.value) != CLASSIFICATION:
            return
        openml.datasets.get_dataset(task.dataset_id, download_data=True, download_features_meta_data=True)
    except Exception as error:  # the client lets through whatever its many layers raise
        _reachable.cache_clear()  # ask again before the next task
        words = " ".join(str(error).split()) or "no message"
        raise DatasetError(f"task {task_id}: the download failed: {type(error).__name__}: {words[:300]}") from error


def _read(task_id: int) -> Dataset:
    """Read a task from the client's cache."""
    data_id, target = _read_task(task_id)
    folder = _cache_folder("datasets", data_id)
    description = _xml(folder / "description.xml")
    features = _read_features(folder / "features.xml", description, target)
    if target not in [feature.name for feature in features]:
        raise DatasetError(f"task {task_id}: its target {target!r} is not a column of data {data_id}")
    wanted = [feature for feature in features if not feature.dropped]
    parquet, dense = folder / f"dataset_{data_id}.pq", folder / "dataset.arff"
    md5 = description.findtext("{*}md5_checksum")
    if parquet.exists():
        # OpenML's checksum is that of the file in the set's own format, which so far is ARFF for almost all of them.
        own = (description.findtext("{*}format") or "").lower() in ("parquet", "pq")
        frame = _read_parquet(parquet, wanted, md5 if own else None)
    else:
        frame = _read_arff(dense, wanted, md5)
    return encode(
        frame,
        target,
        name=f"task-{task_id}",
        categorical=[feature.name for feature in wanted if feature.kind == "nominal"],
        max_rows=MAX_ROWS,
        facts={
            "name": description.findtext("{*}name"),
            "task": task_id,
            "data_id": data_id,
            "version": int(description.findtext("{*}version") or 1),
            "status": description.findtext("{*}status") or "unknown",
            "dropped_columns": {feature.name: feature.dropped for feature in features if feature.dropped},
        },
    )


def _xml(path: Path) -> ElementTree.Element:
    try:
        return ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise _BrokenCache(f"{path} is not XML ({error})") from error


def _read_task(task_id: int) -> tuple[int, str]:
    """Return the number of a task's data and the name of its target, which need not be the data's default target."""
    path = _cache_folder("tasks", task_id) / "task.xml"
    root = _xml(path)
    if root.findtext("{*}task_type_id") != CLASSIFICATION:
        raise DatasetError(f"task {task_id}: it is not classification but {root.findtext('{*}task_type')}")
    data_id, target = root.findtext(".//{*}data_set_id"), root.findtext(".//{*}target_feature")
    if not data_id or not target:
        raise DatasetError(f"task {task_id}: it names no data or no target")
    if not re.fullmatch(r"\s*[0-9]{1,18}\s*", data_id):
        raise _BrokenCache(f"{path} has the data_set_id {data_id[:100]!r}, which is not a number")
    return int(data_id), target


def _read_features(path: Path, description: ElementTree.Element, target: str) -> list[_Feature]:
    """Return each column's name, its kind as OpenML states it, and why it is dropped, if it is."""
    ignored = {element.text for element in description.findall("{*}ignore_attribute")}
    identifiers = {element.text for element in description.findall("{*}row_id_attribute")}
    features = []
    for element in _xml(path).findall("{*}feature"):
        name, kind = element.findtext("{*}name") or "", (element.findtext("{*}data_type") or "").lower()
        dropped = ""
        if name in identifiers or element.findtext("{*}is_row_identifier") == "true":
            dropped = "row identifier"
        elif name in ignored or element.findtext("{*}is_ignore") == "true":
            dropped = "ignored by OpenML"
        elif kind not in ("numeric", "nominal", "real", "integer"):
            dropped = f"neither numeric nor nominal but {kind}"
        features.append(_Feature(name, kind, "" if name == target else dropped))
    return features


def _read_parquet(path: Path, wanted: list[_Feature], md5: str | None) -> pd.DataFrame:
    _check_md5(path, md5)
    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            _check_columns(path, [feature.name for feature in wanted], file.schema_arrow.names)
            frame: pd.DataFrame = file.read(columns=[feature.name for feature in wanted]).to_pandas()
    except (OSError, pyarrow.ArrowException) as error:
        if isinstance(error, MemoryError) or getattr(error, "errno", None):  # the system's trouble, not the file's
            raise
        raise _BrokenCache(f"{path} is not a readable parquet file ({error})") from error
    for feature in wanted:
        if feature.kind != "nominal" and not pd.api.types.is_numeric_dtype(frame[feature.name].dtype):
            frame[feature.name] = pd.to_numeric(frame[feature.name].astype(object))
    return frame


def _read_arff(path: Path, wanted: list[_Feature], md5: str | None) -> pd.DataFrame:
    """Read an ARFF file, dense or sparse, in chunks: its cells as Python objects would take many times the room."""
    _check_md5(path, md5)
    try:
        with path.open(encoding="utf8") as text:
            sparse = _is_sparse(text)
            text.seek(0)
            decoded = arff.ArffDecoder().decode(
                text, encode_nominal=True, return_type=arff.LOD_GEN if sparse else arff.DENSE_GEN
            )
            levels = {name: kind if isinstance(kind, list) else None for name, kind in decoded["attributes"]}
            names = list(levels)
            _check_columns(path, [feature.name for feature in wanted], names)
            positions = [names.index(feature.name) for feature in wanted]
            blocks = list(_blocks(decoded["data"], positions, sparse))
    except (arff.ArffException, UnicodeDecodeError) as error:
        raise _BrokenCache(f"{path} is not a readable ARFF file ({error})") from error
    cells = np.concatenate(blocks) if blocks else np.empty((0, len(wanted)), np.float32)
    columns: dict[str, Any] = {}
    for j, feature in enumerate(wanted):
        column, categories = cells[:, j], levels[feature.name]
        if categories is None:
            columns[feature.name] = column
        else:
            codes = np.where(np.isnan(column), -1, column).astype(np.int32)
            columns[feature.name] = pd.Categorical.from_codes(codes, categories=pd.Index(categories, dtype=object))
    return pd.DataFrame(columns)


def _is_sparse(lines: Iterator[str]) -> bool:
    """Tell by the first row: sparse rows are in braces."""
    data = False
    for line in lines:
        line = line.strip()
        if data and line and not line.startswith("%"):
            return line.startswith("{")
        data = data or line.lower().startswith("@data")
    return False


def _blocks(rows: Iterator[Any], positions: list[int], sparse: bool) -> Iterator[np.ndarray]:
    """Yield the wanted cells of some rows at a time; a missing cell is NaN, a nominal one its level's number."""
    while chunk := list(islice(rows, CHUNK)):
        if sparse:  # what is not written is 0, which is the first level of a nominal column
            chunk = [[row.get(position, 0) for position in positions] for row in chunk]
        else:
            chunk = [[row[position] for position in positions] for row in chunk]
        with np.errstate(over="ignore"):  # a number beyond float32 is infinite
            block = np.array(chunk, dtype=np.float32)
        yield block


def _check_md5(path: Path, md5: str | None) -> None:
    with path.open("rb") as file:
        if md5 and hashlib.file_digest(file, "md5").hexdigest() != md5:
            raise _BrokenCache(f"{path} does not match its checksum {md5}")


def _check_columns(path: Path, wanted: list[str], there: list[str]) -> None:
    if lacking := [name for name in wanted if name not in there]:
        raise DatasetError(f"{path}: column {lacking[0]!r} of its description is not in the file")
