"""SHARDFEED_METRICS: engines that trainers start serve metrics to Prometheus."""

from __future__ import annotations

import json
import logging
import re
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

import shardfeed
from shardfeed.errors import EngineStartError

GIVEN = {"batch_size": 100, "cache": False}


def scraped(url: str) -> dict[str, float]:
    """The values by their name and labels."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))}


def url_of(caplog: pytest.LogCaptureFixture) -> str:
    found = re.search(r"metrics are served at (http://127\.0\.0\.1:[0-9]+/metrics)", caplog.text)
    assert found, caplog.text
    return found.group(1)


def test_rows_and_waits_of_each_rank(shards: Path, job: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("SHARDFEED_METRICS", "127.0.0.1:0")
    caplog.set_level(logging.INFO, "shardfeed")
    streams = [shardfeed.StreamingDataset(shards, rank=rank, world_size=2, **GIVEN) for rank in range(2)]
    rows = [sum(int(batch.row_valid.sum()) for batch in stream) for stream in streams]
    url = url_of(caplog)
    end = time.monotonic() + 60
    while True:  # trainers send their waits once a second
        now = scraped(url)
        waited = {
            rank: sum(value for name, value in now.items() if name.startswith("shardfeed_wait_seconds_total") and f'rank="{rank}"' in name)
            for rank in range(2)
        }
        if all(waited.values()) or time.monotonic() > end:
            break
        time.sleep(0.05)
    for rank, stream in enumerate(streams):
        assert now[f'shardfeed_rows_total{{rank="{rank}"}}'] == rows[rank]
        assert 0 < waited[rank] <= stream.stats()["wait"]["seconds"] + 1e-6
    before = now
    del stream, streams[0]  # its data set closes
    after = scraped(url)
    assert all(after[name] >= value for name, value in before.items() if name.startswith("shardfeed_") and "_total" in name)


def test_a_taken_address_is_a_warning(shards: Path, job: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        monkeypatch.setenv("SHARDFEED_METRICS", address)
        for batch_size in (100, 50):  # two data sets
            rows = sum(int(batch.row_valid.sum()) for batch in shardfeed.StreamingDataset(shards, batch_size=batch_size, cache=False))
            assert rows == 4000
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert f"another engine or program listens at {address}" in warnings[0]


def test_a_wrong_address_is_one_error(shards: Path, job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARDFEED_METRICS", "9464")
    with pytest.raises(EngineStartError, match="SHARDFEED_METRICS must be an address and port"):
        next(iter(shardfeed.StreamingDataset(shards, **GIVEN)))


def test_top_shows_the_loaders_of_a_training(shards: Path, job: str, engine_binary: Path) -> None:
    stream = shardfeed.StreamingDataset(shards, **GIVEN)
    iterator = iter(stream)
    next(iterator)
    program = [engine_binary, "top", "--json", "--every", "100ms"]
    view = json.loads(subprocess.run(program, check=True, stdout=subprocess.PIPE).stdout)
    sessions = [s for e in view["engines"] if e["now"] for s in e["now"]["sessions"] if job in s["job"]]
    assert [(s["rank"], s["world_size"], s["iterating"]) for s in sessions] == [(0, 1, True)]
    assert sessions[0]["addresses"] == [str(shards)]
