"""A small HTTP server that speaks OpenML's API: task, data description, features, ARFF and parquet download."""

from __future__ import annotations

import gzip
import hashlib
import os
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from xml.sax.saxutils import escape

XMLNS = 'xmlns:oml="http://openml.org/openml"'


@dataclass
class Data:
    """What the server has for one task; its data has the same number."""

    features: list[tuple[str, str]]  # name, data type; a flag may follow the type: "nominal is_ignore"
    target: str = "class"
    arff: bytes = b""
    parquet: bytes = b""
    md5: str | None = None  # of the ARFF, where it is not the right one
    format: str = "ARFF"
    task_type: int = 1
    status: str = "active"
    extra: str = ""  # more XML for the description


def dense_arff(columns: list[tuple[str, str]], rows: list[str]) -> bytes:
    header = "".join(f"@attribute {name} {kind}\n" for name, kind in columns)
    return ("% made for a test\n@relation made\n" + header + "@data\n" + "".join(f"{row}\n" for row in rows)).encode()


def simple(n_rows: int = 40, shift: float = 0.0) -> Data:
    """A set with a numeric and a nominal column."""
    rows = [f"{row * 0.25 + shift},{'abc'[row % 3]},{'no' if row % 5 < 3 else 'yes'}" for row in range(n_rows)]
    columns = [("x", "numeric"), ("letter", "{a,b,c}"), ("class", "{no,yes}")]
    features = [("x", "numeric"), ("letter", "nominal"), ("class", "nominal")]
    return Data(features=features, arff=dense_arff(columns, rows))


@dataclass
class OpenMLServer:
    """Serve `data` by task id; `faults` of a path's beginning ("/data/v1/download/7") are used up one per request.

    A fault is "503", "truncated" (fewer bytes than promised), or other bytes to send instead.
    """

    data: dict[int, Data] = field(default_factory=dict)
    faults: dict[str, list[str | bytes]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    def __enter__(self) -> OpenMLServer:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"owner": self}))
        self._http.daemon_threads = True
        Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.base}/api/v1/xml"

    def answer(self, path: str) -> bytes | None:
        """Return the body for a path, or None if there is nothing."""
        number = next((int(part) for part in path.replace(".", "/").split("/") if part.isdigit()), -1)
        data = self.data.get(number)
        if path == "/api/v1/xml":
            return b"<oml:api/>"
        if data is None:
            return None
        if path.startswith("/api/v1/xml/task/"):
            return self._task(number, data).encode()
        if path.startswith("/api/v1/xml/data/features/"):
            return self._features(data).encode()
        if path.startswith("/api/v1/xml/data/"):
            return self._description(number, data).encode()
        if path.startswith("/data/v1/download/"):
            return data.arff
        return data.parquet if path.startswith("/datasets/") else None

    def _task(self, number: int, data: Data) -> str:
        kind = {1: "Supervised Classification", 2: "Supervised Regression"}[data.task_type]
        return f"""<oml:task {XMLNS}><oml:task_id>{number}</oml:task_id><oml:task_name>{number}</oml:task_name>
            <oml:task_type_id>{data.task_type}</oml:task_type_id><oml:task_type>{kind}</oml:task_type>
            <oml:input name="source_data"><oml:data_set><oml:data_set_id>{number}</oml:data_set_id>
            <oml:target_feature>{escape(data.target)}</oml:target_feature></oml:data_set></oml:input>
            <oml:input name="estimation_procedure"><oml:estimation_procedure><oml:id>1</oml:id>
            <oml:type>crossvalidation</oml:type><oml:data_splits_url>{self.base}/splits</oml:data_splits_url>
            <oml:parameter name="number_repeats">1</oml:parameter><oml:parameter name="number_folds">10</oml:parameter>
            </oml:estimation_procedure></oml:input><oml:input name="evaluation_measures"><oml:evaluation_measures>
            <oml:evaluation_measure>predictive_accuracy</oml:evaluation_measure></oml:evaluation_measures></oml:input>
            </oml:task>"""

    def _description(self, number: int, data: Data) -> str:
        url = f"<oml:parquet_url>{self.base}/datasets/made/{number}.pq</oml:parquet_url>" if data.parquet else ""
        md5 = data.md5 or hashlib.md5(data.arff).hexdigest()
        kind = "Sparse_ARFF" if b"\n{" in data.arff else data.format
        return f"""<oml:data_set_description {XMLNS}><oml:id>{number}</oml:id><oml:name>made-{number}</oml:name>
            <oml:version>3</oml:version><oml:description>made</oml:description><oml:format>{kind}</oml:format>
            <oml:url>{self.base}/data/v1/download/{number}/made.arff</oml:url>{url}
            <oml:default_target_attribute>another</oml:default_target_attribute><oml:status>{data.status}</oml:status>
            <oml:md5_checksum>{md5}</oml:md5_checksum>{data.extra}</oml:data_set_description>"""

    def _features(self, data: Data) -> str:
        parts = []
        for index, (name, words) in enumerate(data.features):
            kind, *flags = words.split()
            marks = "".join(
                f"<oml:{flag}>{'true' if flag in flags else 'false'}</oml:{flag}>"
                for flag in ("is_target", "is_ignore", "is_row_identifier")
            )
            values = "<oml:nominal_value>v</oml:nominal_value>" if kind == "nominal" else ""
            parts.append(
                f"<oml:feature><oml:index>{index}</oml:index><oml:name>{escape(name)}</oml:name>"
                f"<oml:data_type>{kind}</oml:data_type>{values}{marks}"
                "<oml:number_of_missing_values>0</oml:number_of_missing_values></oml:feature>"
            )
        return f"<oml:data_features {XMLNS}>{''.join(parts)}</oml:data_features>"


class _Handler(BaseHTTPRequestHandler):
    owner: OpenMLServer

    def do_HEAD(self) -> None:
        self._send(200, self.owner.answer(self.path.split("?")[0]) or b"", body=False)

    def do_GET(self) -> None:
        path = self.path.split("?")[0].rstrip("/")
        self.owner.requests.append(path)
        body = self.owner.answer(path)
        waiting = next((faults for start, faults in self.owner.faults.items() if path.startswith(start)), [])
        fault = waiting.pop(0) if waiting else None
        if fault == "503":
            self._send(503, b"Service Unavailable: come back later & be patient")
        elif fault == "truncated":
            self._send(200, body or b"", cut=True)
        elif isinstance(fault, bytes):
            self._send(200, fault)
        elif body is None:
            error = f"<oml:error {XMLNS}><oml:code>111</oml:code><oml:message>Unknown</oml:message></oml:error>"
            self._send(412, error.encode())
        else:
            self._send(200, body)

    def _send(self, status: int, content: bytes, body: bool = True, cut: bool = False) -> None:
        self.send_response(status)
        if not self.path.startswith("/datasets/"):  # OpenML packs all but its bucket of parquet files
            content = gzip.compress(content)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Type", "text/xml; charset=utf-8")
        self.send_header("ETag", f'"{hashlib.md5(content).hexdigest()}"')
        self.send_header("Last-Modified", formatdate(0, usegmt=True))
        self.end_headers()
        if body:
            self.wfile.write(content[: len(content) // 2] if cut else content)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


def prepare_from(url: str, cache: str, store: str, datasets: list[int]) -> None:
    """Prepare datasets with the client set to a server and a cache: the body of a process that tests may kill."""
    import openml

    from experiments.prepare import prepare_all

    os.environ["EMT_DATA"] = store
    openml.config.server = url
    openml.config.set_root_cache_directory(cache)
    prepare_all(datasets)
