"""Digests of what datasets are: the runs of every study hang on them, so no change may move them unseen."""

import io

import numpy as np
import pandas as pd
import pytest
from openml_server import Data, dense_arff

from emt.data import DatasetError, load
from emt.data.load import BUILT_IN
from emt.data.openml_tasks import fetch
from emt.seeds import digest

GOLDEN = {
    "digits": "6c42c3119d9aef690d60fb3e6357fac3",
    "wine": "6085ecaa905bf939f79142b4862ab3f0",
    "iris": "0c142282aa94811698368713b5884ce6",
    "breast-cancer-diagnostic": "afe5887ed65bc2422601ea17e93945d7",
    "tic-tac-toe": "700236239c2672621b8775ac9e8e7369",
    "balance-scale": "ab7125a5f24367ac17c74f8f29423ce9",
    "monks-1-rule": "4b1bd5a9a2cc19b1de5eadafa88d3fc2",
    "monks-2-rule": "f90192bc7c1c6e069b072a772660cb2a",
    "monks-3-rule": "2428af1d2fa6dc538aa62408f7b5de2f",
    "multiplexer-11": "1fb6eda883d001191e089a16a11b4e6f",
    "synthetic-rbf-40000": "8b450658c0d7e6b50d8f238dd177c908",
    "nasty-constant-column": "b1cd17579c00349279f42403eeac57ee",
    "nasty-1000-classes": "c995da75b10a623d3fb01a482d25f026",
    "nasty-infinities": "5371b942a883aea1041fd37487f45ac8",
    "nasty-duplicate-names": "73167ecbe65c1bf46eb31081d95ccde9",
    "nasty-unicode-levels": "d6069976b4a32e45560e927ab8e5bb69",
    "nasty-missing-target": "9668dc966e9a73e17a64a92e2dbb054f",
    "nasty-integer-nominals": "14699bae9e0feba1c7c88e49b01b5d50",
    "nasty-sparse": "818ef74e8de01a23f99c23ef92c694b4",
    "nasty-rare-level": "1de4808392c518e6491de1b7660b03fb",
}
TASKS = {  # of the content, and of the facts
    21: ("da96fa406e72ba22e3822add0341f931", "529a885f7e4ecf49d78ac937cd5ab5de"),
    22: ("33748066bc550896be06437b484acb0c", "0ef3c0cc85ab0ad0f970259a03bd65b1"),
}

N_ROWS = 200
ROWS = np.arange(N_ROWS)
COLUMNS = {  # what a table of one's own would be relieved of, and OpenML's is not: name, kind
    "id": "numeric",
    "word": "nominal",
    "constant": "numeric",
    "always": "nominal",
    "gap": "numeric",
    "day": "nominal",
    "huge": "numeric",
    "code": "nominal",
    "class": "nominal",
}


def frame() -> pd.DataFrame:
    days = (np.datetime64("2020-01-01") + ROWS).astype(str)
    return pd.DataFrame(
        {
            "id": ROWS + 1,
            "word": [f"word {row}" for row in ROWS],
            "constant": 3.25,
            "always": "yes",
            "gap": np.where(ROWS % 7 == 3, np.nan, ROWS / 4),
            "day": days,
            "huge": np.where(ROWS == 9, 1e300, ROWS * 1e3),
            "code": ROWS % 4 * 10,
            "class": pd.Categorical(np.array(["no", "yes", None], dtype=object)[np.where(ROWS == 11, 2, ROWS % 2)]),
        }
    )


def as_parquet() -> Data:
    buffer = io.BytesIO()
    frame().to_parquet(buffer)
    return Data(features=list(COLUMNS.items()), parquet=buffer.getvalue())


def as_arff() -> Data:
    cells = frame().astype(object).where(frame().notna(), "?").astype(str)
    levels = {name: "{" + ",".join(f"'{v}'" for v in dict.fromkeys(cells[name]) if v != "?") + "}" for name in cells}
    kinds = [(name, levels[name] if kind == "nominal" else kind) for name, kind in COLUMNS.items()]
    text = cells.map(lambda cell: cell if cell == "?" else f"'{cell}'")
    return Data(features=list(COLUMNS.items()), arff=dense_arff(kinds, [",".join(row) for row in text.to_numpy()]))


def test_every_built_in_set_has_its_digest_or_is_refused():
    for name in set(BUILT_IN) - set(GOLDEN):
        with pytest.raises(DatasetError, match=name):
            load(name)


@pytest.mark.parametrize("name", GOLDEN)
def test_built_in_sets_do_not_move(name):
    assert load(name).fingerprint == GOLDEN[name]


@pytest.mark.parametrize(("number", "make"), [(21, as_parquet), (22, as_arff)])
def test_openml_tasks_do_not_move(server, number, make):
    server.data[number] = make()
    dataset = fetch(number)
    assert (dataset.fingerprint, digest(dataset.facts)) == TASKS[number]
