"""stats()["waits"]["consumer"]: how long a training waited for its batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import shardfeed  # noqa: E402
from shardfeed.torch import DataLoader, StreamingDataset  # noqa: E402

pytestmark = pytest.mark.usefixtures("runtime")

SLOW = 0.02


def slow(batch: Any) -> Any:
    time.sleep(SLOW)
    return batch


def ids(batch: Any) -> Any:
    return {"id": batch["id"]}


GIVEN: dict[str, Any] = {"batch_size": 100, "columns": ["id"], "cache": False}
ROWS = {**GIVEN, "batch_size": None}

STREAMS: dict[str, Callable[[Path], Any]] = {
    "numpy": lambda shards: shardfeed.StreamingDataset(shards, **GIVEN),
    "numpy, map": lambda shards: shardfeed.StreamingDataset(shards, **GIVEN).map(slow),
    "numpy, rows": lambda shards: shardfeed.StreamingDataset(shards, **ROWS),
    "torch": lambda shards: StreamingDataset(shards, **GIVEN),
    "torch, map": lambda shards: StreamingDataset(shards, **GIVEN).map(slow),
    "torch, rows": lambda shards: StreamingDataset(shards, **ROWS),
    "loader": lambda shards: DataLoader(shards, **GIVEN),
    "loader, collate_fn": lambda shards: DataLoader(shards, collate_fn=slow, **GIVEN),
    "loader, device": lambda shards: DataLoader(shards, device="cpu", **GIVEN),
    "loader, rows": lambda shards: DataLoader(shards, **ROWS),
    "threads": lambda shards: DataLoader(shards, threads=1, collate_fn=slow, **GIVEN),
    "threads, rows": lambda shards: DataLoader(shards, threads=1, collate_fn=ids, **ROWS),
    "workers": lambda shards: DataLoader(shards, num_workers=1, collate_fn=slow, **GIVEN),
}


def waits(stream: Any) -> float:
    return stream.stats()["waits"]["consumer"]


def watched(stream: Any, pause: float) -> Iterator[float]:
    """A training whose steps take so long; it yields what a stopwatch at each next says."""
    begin = time.perf_counter()
    batches = iter(stream)
    for _ in batches:
        yield time.perf_counter() - begin
        time.sleep(pause)
        begin = time.perf_counter()
    yield time.perf_counter() - begin


@pytest.mark.parametrize("kind", STREAMS)
def test_the_wait_is_at_most_that_of_a_stopwatch(shards, kind):
    """Time in which the engine waits for the training is not in it."""
    stream = STREAMS[kind](shards)
    expected = sum(watched(stream, 0 if "rows" in kind else 0.02))
    assert 0 < waits(stream) <= expected
    if kind in ("numpy, map", "torch, map", "loader, collate_fn"):
        assert waits(stream) >= 40 * SLOW
    if hasattr(stream, "close"):
        stream.close()


def test_workers_of_torch_hide_the_wait(shards):
    dataset = StreamingDataset(shards, **GIVEN)
    assert len(list(torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=1))) == 40
    assert waits(dataset) is None
