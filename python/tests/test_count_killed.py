"""Engines that are killed while they count tokens, and the bytes that later starts read."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

GROUPS = 120  # row groups


class Server(http.server.ThreadingHTTPServer):
    """Serves ranges, and counts their bytes. Reads after the free ones wait for the gate."""

    daemon_threads = True

    def __init__(self, directory: Path) -> None:
        super().__init__(("127.0.0.1", 0), functools.partial(Ranges, directory=directory))
        self.lock, self.sent, self.reads = threading.Lock(), 0, 0
        self.free = 1 << 30  # reads before the gate
        self.gate = threading.Semaphore(0)

    def handle_error(self, *_: Any) -> None:
        """A killed client closes its connections."""


class Ranges(http.server.SimpleHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        content = Path(self.translate_path(self.path)).read_bytes()
        first, last = map(int, re.findall(r"\d+", self.headers["Range"]))
        part = content[first : last + 1]
        with self.server.lock:
            self.server.sent += len(part) if last else 0  # byte 0 alone is asked for to learn the size
            self.server.reads += 1
            late = self.server.reads > self.server.free
        if late:
            self.server.gate.acquire(timeout=60)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Last-Modified", self.date_time_string(0))
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Server]:
    texts = [" ".join(f"word{i * k % 97}" for k in range(400)) for i in range(GROUPS * 4)]
    (tmp_path / "web").mkdir()
    pq.write_table(pa.table({"text": texts}), tmp_path / "web" / "a.parquet", row_group_size=4, use_dictionary=False, compression="none")
    server = Server(tmp_path / "web")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.gate.release(GROUPS)
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = Tokenizer(models.BPE({c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


def test_killed_while_it_counts(engine_binary: Path, web: Server, file: Path, tmp_path: Path) -> None:
    """The next start counts what the killed one has not, and the one after reads no byte of data."""

    def plan(index: str) -> subprocess.Popen[bytes]:
        address = f"http://127.0.0.1:{web.server_port}/a.parquet"
        command = [engine_binary, "plan", address, "--columns", "text", "--tokenize", f"text={file}", "--pack", "text=256"]
        env = os.environ | {"SHARDFEED_CACHE_DIR": str(tmp_path / index)}
        return subprocess.Popen([*command, "--no-cache", "--json"], stdout=subprocess.PIPE, env=env)

    def counted(index: str) -> tuple[Any, int]:
        before = web.sent
        engine = plan(index)
        found = json.loads(engine.communicate(timeout=60)[0])
        return found["tokenizing"][0], web.sent - before

    whole, all_bytes = counted("whole")
    assert whole["count_text_bytes"] > 0 and all_bytes > whole["count_text_bytes"]

    web.free = web.reads + GROUPS // 2
    engine = plan("killed")
    while not list((tmp_path / "killed").glob("**/*.sfc")):  # segments of counts, some seconds apart
        assert engine.poll() is None, "the engine ended before it was killed"
        web.gate.release()
        time.sleep(1)
    engine.kill()
    engine.wait()
    web.free = 1 << 30
    web.gate.release(GROUPS)

    rest, more_bytes = counted("killed")
    assert 0 < rest["count_text_bytes"] < whole["count_text_bytes"] and more_bytes < all_bytes
    assert rest["counted"] == whole["counted"]
    assert counted("killed")[1] == 0
    assert counted("whole")[1] == 0
