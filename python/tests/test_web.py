"""Tables on a web server, as training reads them."""

from __future__ import annotations

import functools
import http.server
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shardfeed
from shardfeed.torch import DataLoader

ROWS = 4000
TOKEN = "Bearer a-secret"


class Ranges(http.server.SimpleHTTPRequestHandler):
    """Serves ranges of files to those who have the token."""

    asked: list[str | None]

    def do_GET(self) -> None:
        self.asked.append(self.headers.get("Authorization"))
        if self.path.startswith("/closed/") and self.headers.get("Authorization") != TOKEN:
            self.send_error(401)
            return
        file = Path(self.translate_path(self.path))
        if not file.is_file():
            self.send_error(404)
            return
        content = file.read_bytes()
        first, last = map(int, re.findall(r"\d+", self.headers["Range"]))
        part = content[first : last + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Last-Modified", self.date_time_string(int(file.stat().st_mtime)))
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    for directory in ("open", "closed"):
        (tmp_path / directory).mkdir()
        for k, ids in enumerate(np.array_split(np.arange(ROWS), 4)):
            pq.write_table(pa.table({"id": ids, "x": ids * 0.5}), tmp_path / directory / f"part-{k}.parquet", row_group_size=250)
    Ranges.asked = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Ranges, directory=tmp_path))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_each_row_once_and_resumed(runtime: Path, tmp_path: Path, web: str) -> None:
    options: dict[str, Any] = {"batch_size": 64, "shuffle": True, "seed": 3, "cache_dir": tmp_path / "cache"}
    with DataLoader(f"{web}/open/part-{{0..3}}.parquet", **options) as loader:
        whole = [batch["id"].tolist() for batch in loader]
    assert sorted(row for rows in whole for row in rows) == list(range(ROWS))
    with DataLoader([f"{web}/open/part-{k}.parquet" for k in range(4)], **options) as loader:
        batches = iter(loader)
        begin = [next(batches)["id"].tolist() for _ in range(20)]
        state = loader.state_dict()
    asked = len(Ranges.asked)
    with DataLoader(f"{web}/open/part-{{0..3}}.parquet", **options) as loader:
        loader.load_state_dict(state)
        assert begin + [batch["id"].tolist() for batch in loader] == whole
    assert len(Ranges.asked) - asked == 4, "the cache has all bytes: only the files' versions are asked for"


def test_a_header_is_sent(runtime: Path, tmp_path: Path, web: str) -> None:
    options: dict[str, Any] = {"batch_size": 100, "cache_dir": tmp_path / "cache"}
    with pytest.raises(PermissionError, match=r"401.*http\.header\.Authorization"):
        DataLoader(f"{web}/closed/part-0.parquet", **options)
    Ranges.asked = []
    headers = {"http": {"header": {"Authorization": TOKEN}}}
    with DataLoader(f"{web}/closed/part-0.parquet", storage_options=headers, **options) as loader:
        assert sum(len(batch["id"]) for batch in loader) == ROWS // 4
    assert set(Ranges.asked) == {TOKEN}


def test_what_a_web_server_lacks(runtime: Path, web: str) -> None:
    with pytest.raises(FileNotFoundError, match="404"):
        DataLoader(f"{web}/open/part-{{0..4}}.parquet", batch_size=8)
    for address in (f"{web}/open/", f"{web}/open/*.parquet"):
        with pytest.raises(shardfeed.errors.ShardfeedError, match="do not list their files"):
            DataLoader(address, batch_size=8)
    with pytest.raises(shardfeed.errors.OptionError, match=r"http\.max-requests"):
        DataLoader(f"{web}/open/part-0.parquet", batch_size=8, storage_options={"http.max_requests": 3})
